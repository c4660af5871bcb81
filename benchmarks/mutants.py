"""Which small faults would no test notice? Put some into a package at random, one at a time, and run the tests.

    python benchmarks/mutants.py PACKAGE [-n 20] [--seed 0] [--limit 300] [--seconds 60] [--map FILE] [--workers 1]

PACKAGE is a package, a module or a folder of `src/pateval`: ``metrics``, ``evaluation/chance.py``; several are mutated
together. A mutant is a kind of fault, drawn first, at a place drawn among all where it can be put:

comparison    ``<`` for ``<=``, ``==`` for ``!=``, ``is`` for ``is not``, ``in`` for ``not in``, and the other way round
arithmetic    ``+`` for ``-``, ``*`` for ``/``, ``*`` for ``//``, ``%`` and ``**``, and a minus sign dropped
boolean       ``and`` for ``or``, and a ``not`` dropped
constant      a number one higher, True for False
return        None in place of what is returned
argument      a keyword argument dropped, the first two arguments exchanged

Texts, annotations and what only type checkers read are left alone. The working tree is not touched: the mutants live
in a copy. Which tests reach a line is measured, once, by coverage, and kept in --map (build/reached.json; remove it to
measure again): all fast tests run with it, which takes some 15 minutes. Those that reach the line run, the fastest
first, as many as --seconds hold; for a line that is met at import only, those that reach the file; and the doctests of
the file where no test does. A mutant is killed where one of them fails. Survivors are printed at the end: each is a
missing test, or an equivalent program. Mutants that run into the limit are counted by themselves, since a loop without
end and slow tests look alike.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple
from xml.etree import ElementTree

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "src" / "pateval"
COPIED = ("src", "tests")  # what lies beside them is linked to

_COMPARED = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)]
COMPARED = {a: b for pair in _COMPARED for a, b in (pair, pair[::-1])}
CALCULATED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CALCULATED |= dict.fromkeys([ast.FloorDiv, ast.Mod, ast.Pow], ast.Mult)
ANNOTATIONS = ("annotation", "returns")


class Mutant(NamedTuple):
    """A fault: the file, the bytes it replaces, the new text, and how to show it."""

    file: Path
    kind: str
    start: int
    stop: int
    text: str
    line: int
    last_line: int
    shown: str


class Outcome(NamedTuple):
    """What became of a mutant: ``killed``, ``survived`` or ``limit``, after how long, and by how many tests."""

    status: str
    seconds: float
    tests: int


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes that a running program meets; what lies in f-strings has no place in the file."""
    yield node
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.orelse:
            yield from nodes(child)
        return
    for name, value in ast.iter_fields(node):
        if name not in ANNOTATIONS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from nodes(child)


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what can be put in place of a node: the kind of fault, and the new node."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in COMPARED:
                ops = [*node.ops[:place], COMPARED[type(operator)](), *node.ops[place + 1 :]]
                yield "comparison", ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        yield "arithmetic", ast.BinOp(node.left, CALCULATED[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in CALCULATED:
        yield "arithmetic", ast.AugAssign(node.target, CALCULATED[type(node.op)](), node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield "arithmetic" if isinstance(node.op, ast.USub) else "boolean", node.operand
    elif isinstance(node, ast.BoolOp):
        yield "boolean", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Call):
        for place, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                yield "argument", ast.Call(node.func, node.args, node.keywords[:place] + node.keywords[place + 1 :])
        if len(node.args) > 1 and not any(isinstance(one, ast.Starred) for one in node.args[:2]):
            yield "argument", ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    content = file.read_bytes()
    ends = [0]
    for line in content.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    for node in nodes(ast.parse(content)):
        for kind, changed in changes(node):
            start = ends[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            stop = ends[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            text = ast.unparse(ast.fix_missing_locations(changed))
            if isinstance(changed, ast.expr):
                text = f"({text})"
            shown = f"{' '.join(content[start:stop].decode().split())}  ->  {text}"
            yield Mutant(file, kind, start, stop, text, node.lineno, node.end_lineno, shown)  # type: ignore[attr-defined]


def drawn(files: list[Path], number: int, seed: int) -> list[Mutant]:
    """Draw some mutants: the kind first, then the place."""
    by_kind: dict[str, list[Mutant]] = {}
    for file in files:
        for mutant in mutants_of(file):
            by_kind.setdefault(mutant.kind, []).append(mutant)
    generator = random.Random(seed)  # noqa: S311  # no secret
    chosen: dict[Mutant, None] = {}
    while len(chosen) < min(number, sum(map(len, by_kind.values()))):
        chosen[generator.choice(by_kind[generator.choice(sorted(by_kind))])] = None
    return list(chosen)


class Reached(NamedTuple):
    """Which tests reach which lines of a file, and how many seconds each test takes."""

    lines: dict[str, dict[str, list[str]]]
    seconds: dict[str, float]

    @classmethod
    def read(cls, path: Path) -> Reached:
        """Read the map, after measuring it where there is none."""
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(measured()._asdict()), encoding="utf-8")
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def tests(self, mutant: Mutant, most_seconds: float) -> list[str]:
        """Tests that reach a mutant, the fastest first, as many as fit; the file's doctests where there are none."""
        inside = mutant.file.relative_to(CHECKOUT).as_posix()
        by_line = self.lines.get(inside, {})
        lines = range(mutant.line, mutant.last_line + 1)
        tests = {test for line in lines for test in by_line.get(str(line), [])}
        tests = tests or {test for tests in by_line.values() for test in tests}
        chosen, seconds = [], 0.0
        for test in sorted(tests, key=lambda test: (self.seconds.get(test, 0.0), test)):
            seconds += self.seconds.get(test, 0.0)
            if seconds > most_seconds and chosen:
                break
            chosen.append(test)
        return chosen or [inside]


def measured() -> Reached:
    """Run all fast tests with coverage, and take from it which test reaches which line."""
    import coverage

    with tempfile.TemporaryDirectory() as folder:
        data, junit = Path(folder) / "coverage", Path(folder) / "tests.xml"
        environment = os.environ | {"COVERAGE_FILE": str(data), "HYPOTHESIS_PROFILE": "ci"}
        tests = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", f"--junit-xml={junit}"]
        recorded = ["--cov=pateval", "--cov-report=", "--cov-context=test"]
        subprocess.run([*tests, *recorded], cwd=CHECKOUT, env=environment, check=False)
        kept = coverage.CoverageData(str(data))
        kept.read()
        lines: dict[str, dict[str, list[str]]] = {}
        for name in kept.measured_files():
            by_line = {
                str(line): sorted({context.split("|")[0] for context in contexts if context})
                for line, contexts in kept.contexts_by_lineno(name).items()
            }
            inside = Path(name).resolve().relative_to(CHECKOUT).as_posix()
            lines[inside] = {line: tests for line, tests in by_line.items() if tests}
        seconds: dict[str, float] = {}
        for case in ElementTree.parse(junit).iter("testcase"):  # noqa: S314  # written by pytest, just now
            seconds[f"{case.get('classname')}.{case.get('name')}"] = float(case.get("time", 0))
    reaching = {test for by_line in lines.values() for tests in by_line.values() for test in tests}
    return Reached(lines, {test: seconds.get(dotted(test), 0.0) for test in reaching})


def dotted(test: str) -> str:
    """A test's name as pytest writes it into XML, from the one that it is called by."""
    file, *names = test.split("::")
    return ".".join([file.removesuffix(".py").replace("/", "."), *names])


def tried(mutant: Mutant, copy: Path, tests: list[str], limit: float) -> Outcome:
    """Put a mutant into the copy, run the tests, and take it out again."""
    inside = mutant.file.relative_to(CHECKOUT)
    content = mutant.file.read_bytes()
    (copy / inside).write_bytes(content[: mutant.start] + mutant.text.encode() + content[mutant.stop :])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}:{copy / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["HYPOTHESIS_PROFILE"] = "ci"
    begin = time.monotonic()
    # In a group of its own, so that the processes of tests end with it.
    process = subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        status = "survived" if process.wait(limit) == 0 else "killed"
    except subprocess.TimeoutExpired:
        status = "limit"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        (copy / inside).write_bytes(content)
    return Outcome(status, time.monotonic() - begin, len(tests))


def copied(copy: Path) -> Path:
    """Lay out a copy of the checkout: what mutants and tests touch is copied, the rest is linked to."""
    copy.mkdir()
    for path in CHECKOUT.iterdir():
        if path.name in COPIED:
            shutil.copytree(path, copy / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif not path.name.startswith(".") and path.name != "build":
            (copy / path.name).symlink_to(path)
    return copy


def main() -> None:
    """Try mutants, and print those that no test has noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", help="packages, folders or files of src/pateval")
    parser.add_argument("-n", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each mutant")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the tests of a mutant may take")
    parser.add_argument("--map", type=Path, default=CHECKOUT / "build" / "reached.json", help="which tests reach what")
    parser.add_argument("--workers", type=int, default=1, help="mutants tried at a time")
    given = parser.parse_args()
    places = [PACKAGE / name for name in given.packages]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    if not files:
        parser.error(f"no file of src/pateval is named by {', '.join(given.packages)}")
    chosen = drawn(files, given.n, given.seed)
    reached = Reached.read(given.map)

    def outcome_of(mutant: Mutant) -> Outcome:
        copy = copies.get()
        try:
            outcome = tried(mutant, copy, reached.tests(mutant, given.seconds), given.limit)
        finally:
            copies.put(copy)
        where = f"{mutant.file.relative_to(PACKAGE)}:{mutant.line}"
        print(f"{outcome.status:8s} {outcome.seconds:4.0f} s  {where}  {mutant.kind}", flush=True)
        return outcome

    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.workers):
            copies.put(copied(Path(folder) / str(number)))
        with ThreadPoolExecutor(given.workers) as pool:
            outcomes = list(zip(chosen, pool.map(outcome_of, chosen), strict=True))
    killed, survived, limit = (
        [mutant for mutant in outcomes if mutant[1].status == status] for status in ("killed", "survived", "limit")
    )
    print(
        f"{len(killed)} of {len(outcomes)} mutants killed, {len(survived)} survived, {len(limit)} ran into the limit "
        f"(seed {given.seed}, {' '.join(given.packages)})"
    )
    for mutant, outcome in survived:
        where = f"{mutant.file.relative_to(CHECKOUT)}:{mutant.line}"
        print(f"\n{where}  {mutant.kind}  ({outcome.tests} tests)\n    {mutant.shown}")


if __name__ == "__main__":
    main()
