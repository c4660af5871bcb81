"""Which small faults would no test notice? Put some into a package at random, one at a time, and run the tests.

    python benchmarks/mutants.py PACKAGE [-n 20] [--seed 0] [--limit 300] [--tests 12] [--more-tests FILE ...]

PACKAGE is a package, a module or a folder of `src/pateval`: ``metrics``, ``evaluation/chance.py``; several are mutated
together. A mutant is a kind of fault, drawn first, at a place drawn among all where it can be put:

comparison    ``<`` for ``<=``, ``==`` for ``!=``, ``is`` for ``is not``, ``in`` for ``not in``, and the other way round
arithmetic    ``+`` for ``-``, ``*`` for ``/``, ``*`` for ``//``, ``%`` and ``**``, and a minus sign dropped
boolean       ``and`` for ``or``, and a ``not`` dropped
constant      a number one higher, True for False
return        None in place of what is returned
argument      a keyword argument dropped, the first two arguments exchanged

Texts, annotations and what only type checkers read are left alone. The working tree is not touched: the mutants live
in a copy. Which tests reach a file is guessed, without coverage: the doctests of the file itself, and the test files
that have its name, or speak of it or of a function or class that it defines; those that speak of it most come first,
and --more-tests adds others, such as tests/test_one_answer.py.
A mutant is killed where one of them fails. Survivors are printed at the end: each is a missing test, or an equivalent
program. Mutants that run into the limit are counted by themselves, since a loop without end and slow tests look alike.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
    shown: str


class Outcome(NamedTuple):
    """What became of a mutant: ``killed``, ``survived`` or ``limit``, after how long, and by how many test files."""

    status: str
    seconds: float
    test_files: int


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
            yield Mutant(file, kind, start, stop, text, node.lineno, shown)  # type: ignore[attr-defined]


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


def tests_of(file: Path, most: int) -> list[str]:
    """Name the test files that seem to reach a file, those that speak of it most first."""
    tree = ast.parse(file.read_bytes())
    defined = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    stem = file.parent.name if file.stem == "__init__" else file.stem.strip("_")
    names = [module, stem, *(name for name in defined if not name.startswith("_"))]
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((CHECKOUT / "tests").rglob("test_*.py"))}
    weights = {
        path: 1000 * (f"_{stem.rstrip('s')}" in path.stem) + 100 * (f"_{file.parent.name.rstrip('s')}" in path.stem)
        for path in texts
    }
    for name in names:
        spoken = {path: len(re.findall(rf"\b{re.escape(name)}\b", text)) for path, text in texts.items()}
        everywhere = sum(map(bool, spoken.values()))  # a word that many files use says little about each
        for path, number in spoken.items():
            weights[path] += number / max(everywhere, 1)
    found = sorted((path for path, weight in weights.items() if weight), key=lambda path: -weights[path])
    return [path.relative_to(CHECKOUT).as_posix() for path in found[:most]]


def tried(mutant: Mutant, copy: Path, tests: list[str], limit: float) -> Outcome:
    """Put a mutant into the copy, run the tests, and take it out again."""
    inside = mutant.file.relative_to(CHECKOUT)
    content = mutant.file.read_bytes()
    (copy / inside).write_bytes(content[: mutant.start] + mutant.text.encode() + content[mutant.stop :])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(inside), *tests]
    environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}:{copy / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
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


def main() -> None:
    """Try mutants, and print those that no test has noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", help="packages, folders or files of src/pateval")
    parser.add_argument("-n", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each mutant")
    parser.add_argument("--tests", type=int, default=12, help="at most so many test files for each mutant")
    parser.add_argument("--more-tests", nargs="*", default=[], help="test files to run besides, after the others")
    given = parser.parse_args()
    places = [PACKAGE / name for name in given.packages]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    if not files:
        parser.error(f"no file of src/pateval is named by {', '.join(given.packages)}")
    chosen = drawn(files, given.n, given.seed)
    outcomes: list[tuple[Mutant, Outcome]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for path in CHECKOUT.iterdir():
            if path.name in COPIED:
                shutil.copytree(path, copy / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif not path.name.startswith(".") and path.name != "build":
                (copy / path.name).symlink_to(path)
        for number, mutant in enumerate(chosen, start=1):
            tests = list(dict.fromkeys([*tests_of(mutant.file, given.tests), *given.more_tests]))
            outcome = tried(mutant, copy, tests, given.limit)
            outcomes.append((mutant, outcome))
            where = f"{mutant.file.relative_to(PACKAGE)}:{mutant.line}"
            print(f"{number:4d} {outcome.status:8s} {outcome.seconds:4.0f} s  {where}  {mutant.kind}", flush=True)
    killed, survived, limit = (
        [mutant for mutant in outcomes if mutant[1].status == status] for status in ("killed", "survived", "limit")
    )
    print(
        f"{len(killed)} of {len(outcomes)} mutants killed, {len(survived)} survived, {len(limit)} ran into the limit "
        f"(seed {given.seed}, {' '.join(given.packages)})"
    )
    for mutant, outcome in survived:
        where = f"{mutant.file.relative_to(CHECKOUT)}:{mutant.line}"
        print(f"\n{where}  {mutant.kind}  ({outcome.test_files} test files)\n    {mutant.shown}")


if __name__ == "__main__":
    main()
