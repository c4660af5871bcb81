"""Which small faults would no test notice? Put some into a package at random, one at a time, and run the tests.

    python benchmarks/mutants.py PACKAGE [-n 20] [--seed 0] [--seconds 60] [--tests TEST ...] [--results FILE]

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
measure again): all fast tests run with it, or those named by --tests, which takes some 15 minutes; a test that fails
then is left out. Those that reach the line run, as many as --seconds hold: first those of the file of which the largest
share does. For a line that is met at import only, those that are named after the function run, and those that reach the
file; and the doctests of the file where no test does. Every mutant is tried in a process of its own, forked from this
one, which has imported what tests need besides the package.

A mutant is killed where one of its tests fails, or where they take more processor time than they took to measure: it
then runs without end. Survivors are printed at the end: each is a missing test, or an equivalent program. Those that
were looked at and found equivalent are named in equivalent_mutants.txt beside this script, and are not tried. --results
keeps what became of each mutant: another run with it tries only those that are not killed yet.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.etree import ElementTree

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "src" / "pateval"
COPIED = ("src", "tests")  # what lies beside them is linked to
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
# What the processes of all mutants share, so that each does without importing it.
PRELOADED = ("numpy", "scipy.stats", "pandas", "sklearn.metrics", "hypothesis")
PROFILE = "mutants"  # of hypothesis
SLACK = 15.0  # seconds of processor time that a mutant may take beside those that its tests took under coverage
WAITING = 10  # times that processor time, after which a mutant that only waits is ended, too
MEMORY = 8 * 2**30  # bytes that a mutant may take

_COMPARED = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)]
COMPARED = {a: b for pair in _COMPARED for a, b in (pair, pair[::-1])}
CALCULATED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CALCULATED |= dict.fromkeys([ast.FloorDiv, ast.Mod, ast.Pow], ast.Mult)
# Functions for which it makes no difference which argument comes first.
COMMUTATIVE = {"min", "max", "minimum", "maximum", "add", "multiply", "array_equal", "logical_and", "logical_or"}
ANNOTATIONS = ("annotation", "returns")


class Mutant(NamedTuple):
    """A fault: the file, the bytes it replaces, the new text, and how to show it.

    It is none where the new text says the same, or lets `zip` take what is always as long as each other.
    """

    file: Path
    kind: str
    start: int
    stop: int
    text: str
    line: int
    last_line: int
    shown: str
    is_fault: bool


class Outcome(NamedTuple):
    """What became of a mutant: ``killed``, ``endless`` or ``survived``, after how long, and by which of its tests."""

    status: str
    seconds: float
    tests: int
    killer: str


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
        name = ast.unparse(node.func).rpartition(".")[2]
        starred = any(isinstance(one, ast.Starred) for one in node.args[:2])
        if len(node.args) > 1 and not starred and name not in COMMUTATIVE:
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
            is_fault = text not in (ast.unparse(node), ast.unparse(node).replace(", strict=True)", ")"))
            if isinstance(changed, ast.expr):
                text = f"({text})"
            first, last = ends[node.lineno - 1], ends[node.end_lineno]  # type: ignore[attr-defined]
            after = content[first:start].decode() + text + content[stop:last].decode()
            shown = f"- {' '.join(content[first:last].decode().split())}\n+ {' '.join(after.split())}"
            place = node.lineno, node.end_lineno  # type: ignore[attr-defined]
            yield Mutant(file, kind, start, stop, text, *place, shown, is_fault)


def drawn(files: list[Path], number: int, seed: int) -> list[Mutant]:
    """Draw some mutants: the kind first, then the place."""
    by_kind: dict[str, list[Mutant]] = {}
    for file in files:
        for mutant in mutants_of(file):
            by_kind.setdefault(mutant.kind, []).append(mutant)
    generator = random.Random(seed)  # noqa: S311  # no secret
    chosen: dict[Mutant, None] = {}
    while len(chosen) < min(number, sum(mutant.is_fault for mutants in by_kind.values() for mutant in mutants)):
        mutant = generator.choice(by_kind[generator.choice(sorted(by_kind))])
        if mutant.is_fault:
            chosen[mutant] = None
    return list(chosen)


class Reached(NamedTuple):
    """Which tests reach which lines of a file, and how many seconds each test takes."""

    lines: dict[str, dict[str, list[str]]]
    seconds: dict[str, float]

    @classmethod
    def read(cls, path: Path, copy: Path, tests: list[str]) -> Reached:
        """Read the map, after measuring it in a copy where there is none."""
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(measured(copy, tests)._asdict()), encoding="utf-8")
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def tests(self, mutant: Mutant, most_seconds: float) -> list[str]:
        """Tests that reach a mutant, file by file, as many as fit; its doctests where there are none.

        First comes the file of which the largest share of tests reaches it, in a file the fastest test.
        """
        inside = mutant.file.relative_to(CHECKOUT).as_posix()
        by_line = self.lines.get(inside, {})
        lines = range(mutant.line, mutant.last_line + 1)
        tests = {test for line in lines for test in by_line.get(str(line), [])}
        named: set[str] = set()
        if (function := met_at_import(mutant)) is not None:
            # By whichever test comes first: those count that are named after the function, or reach the file.
            named = {test for test in self.seconds if function and function in test}
            tests = named | {test for tests in by_line.values() for test in tests}
        of_file, reaching = Counter(map(file_of, self.seconds)), Counter(map(file_of, tests))
        chosen: list[str] = []
        seconds = 0.0
        for test in sorted(tests, key=lambda test: (test not in named, self.seconds[test], test)):
            seconds += self.seconds[test]
            if seconds > most_seconds and chosen:
                break
            chosen.append(test)
        shares = {file: reaching[file] / of_file[file] for file in reaching}
        return sorted(chosen, key=lambda test: (-shares[file_of(test)], file_of(test))) or [inside]


def met_at_import(mutant: Mutant) -> str | None:
    """The function in whose decorators or signature a mutant lies, "" elsewhere outside functions; None inside one."""
    found = ""
    for node in ast.walk(ast.parse(mutant.file.read_bytes())):
        if isinstance(node, ast.FunctionDef):
            first = min(one.lineno for one in [node, *node.decorator_list] if isinstance(one, (ast.stmt, ast.expr)))
            if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
                return None
            if first <= mutant.line < node.body[0].lineno:
                found = node.name
    return found


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]


def measured(copy: Path, tests: list[str]) -> Reached:
    """Run tests with coverage, and take from it which test reaches which line."""
    with tempfile.TemporaryDirectory() as folder:
        data, junit = Path(folder) / "coverage", Path(folder) / "tests.xml"
        environment = os.environ | in_copy(copy) | {"COVERAGE_FILE": str(data)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "--dist",
            "worksteal",
            f"--junit-xml={junit}",
            *tests,
        ]
        recorded = [f"--cov={copy / 'src' / 'pateval'}", "--cov-report=", "--cov-context=test"]
        subprocess.run([*command, *recorded], cwd=copy, env=environment, check=False)
        return reached_in(copy, data, junit)


def reached_in(copy: Path, data: Path, junit: Path) -> Reached:
    """Read what coverage and pytest have written: lines by the tests that pass, and how long these take."""
    import coverage

    passed: dict[str, float] = {}
    for case in ElementTree.parse(junit).iter("testcase"):  # noqa: S314  # written by pytest, just now
        if not {"failure", "error"} & {child.tag for child in case}:
            passed[f"{case.get('classname')}.{case.get('name')}"] = float(case.get("time", 0))
    recorded = coverage.CoverageData(str(data))
    recorded.read()
    lines: dict[str, dict[str, list[str]]] = {}
    for name in recorded.measured_files():
        by_line = {
            str(line): sorted({context.rpartition("|")[0] for context in contexts if dotted(context) in passed})
            for line, contexts in recorded.contexts_by_lineno(name).items()
        }
        inside = Path(name).resolve().relative_to(copy.resolve()).as_posix()
        lines[inside] = {line: tests for line, tests in by_line.items() if tests}
    reaching = {test for by_line in lines.values() for tests in by_line.values() for test in tests}
    return Reached(lines, {test: passed[dotted(f"{test}|")] for test in reaching})


def dotted(context: str) -> str:
    """A test's name as pytest writes it into XML, from that of its context: the test, and whether it is set up."""
    file, *names = context.rpartition("|")[0].split("::")
    return ".".join([file.removesuffix(".py").replace("/", "."), *names])


class Chosen:
    """For pytest: of all tests of some files, take the chosen ones, in their order, and write down which one fails."""

    def __init__(self, tests: list[str], killer: Path) -> None:
        self._places = {test: place for place, test in enumerate(tests)}
        self._killer = killer

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the chosen tests, in their order; all where a whole file is chosen."""
        if any("::" in test for test in self._places):
            kept = [item for item in items if item.nodeid in self._places]
            items[:] = sorted(kept, key=lambda item: self._places[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Write down the test, or the file of tests, that fails."""
        if report.failed:
            self._killer.write_text(report.nodeid, encoding="utf-8")

    pytest_collectreport = pytest_runtest_logreport


def in_copy(copy: Path) -> dict[str, str]:
    """Return the variables with which tests run in a copy."""
    data = os.environ.get("PATEVAL_DATA", str(CHECKOUT.parent / "shared" / "data"))
    return {"PYTHONPATH": f"{copy / 'src'}:{copy / 'tests'}", "HYPOTHESIS_PROFILE": "ci", "PATEVAL_DATA": data}


def preload() -> None:
    """Import what the processes of all mutants share; examples of failures need not be made small."""
    for name in PRELOADED:
        importlib.import_module(name)
    from hypothesis import HealthCheck, Phase, settings

    phases = (Phase.explicit, Phase.generate)
    checks = [HealthCheck.too_slow]
    settings.register_profile(
        PROFILE, deadline=None, suppress_health_check=checks, max_examples=200, derandomize=True, phases=phases
    )


def run_tests(copy: Path, tests: list[str], cpu_seconds: float) -> NoReturn:
    """Run tests in a copy and end this process, which was forked for it, with pytest's status."""
    status = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        os.setsid()  # so that the processes of tests end with it
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds)))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))  # of addresses a browser reserves far more
        signal.alarm(int(WAITING * cpu_seconds))
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        os.environ.update(in_copy(copy) | {"PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_PROFILE": PROFILE})
        os.chdir(copy)
        sys.path[:0] = [str(copy / "src"), str(copy / "tests")]
        sys.dont_write_bytecode = True
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported already
        for file, own in groupby(tests, file_of):
            status = int(pytest.main([*options, file], plugins=[Chosen(list(own), copy / "killer")]))
            if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                break
    finally:
        os._exit(status)


def tried(mutant: Mutant, copy: Path, tests: list[str], seconds: float) -> Outcome:
    """Put a mutant into the copy, run the tests, which should take so many seconds, and take it out again."""
    inside = mutant.file.relative_to(CHECKOUT)
    content, killer = mutant.file.read_bytes(), copy / "killer"
    killer.unlink(missing_ok=True)
    (copy / inside).write_bytes(content[: mutant.start] + mutant.text.encode() + content[mutant.stop :])
    begin = time.monotonic()
    child = os.fork()
    if not child:
        run_tests(copy, tests, seconds + SLACK)
    try:
        _, waited = os.waitpid(child, 0)
    finally:
        (copy / inside).write_bytes(content)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    if os.WIFSIGNALED(waited):
        found = "endless" if os.WTERMSIG(waited) in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM) else "killed"
    else:
        status = os.WEXITSTATUS(waited)
        if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
            raise RuntimeError(f"pytest could not run {' '.join(tests[:3])}...")
        found = "killed" if status in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED) else "survived"
    failed = killer.read_text(encoding="utf-8") if killer.is_file() else ""
    return Outcome(found, time.monotonic() - begin, len(tests), failed)


def copied(copy: Path, tests: list[str]) -> Path:
    """Lay out a copy of the checkout: what mutants and tests touch is copied, the rest is linked to."""
    copy.mkdir()
    for path in CHECKOUT.iterdir():
        if path.name in COPIED:
            shutil.copytree(path, copy / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif not path.name.startswith(".") and path.name != "build":
            (copy / path.name).symlink_to(path)
    compileall.compile_dir(copy / "src", quiet=2)
    # Files of tests are read once, so that pytest has them at hand.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *tests]
    subprocess.run(command, cwd=copy, env=os.environ | in_copy(copy), check=False, stdout=subprocess.DEVNULL)
    return copy


def where(mutant: Mutant) -> str:
    """File of a mutant, as the list of equivalent ones and the results have it."""
    return mutant.file.relative_to(PACKAGE).as_posix()


def equivalent() -> set[tuple[str, str]]:
    """Read the mutants that were found to be equivalent programs: file, and how the mutant is shown."""
    _, *blocks = EQUIVALENT.read_text(encoding="utf-8").split("\n\n")
    named = (block.split("\n") for block in blocks)
    return {(file, f"{before}\n{after}") for file, before, after, *_ in named}


def main() -> None:
    """Try mutants, and print those that no test has noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", help="packages, folders or files of src/pateval")
    parser.add_argument("-n", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the tests of a mutant may take")
    parser.add_argument("--tests", nargs="+", default=[], help="the tests to measure; by default all fast ones")
    parser.add_argument("--map", type=Path, default=CHECKOUT / "build" / "reached.json", help="which tests reach what")
    parser.add_argument("--results", type=Path, help="keeps what became of each mutant")
    given = parser.parse_args()
    places = [PACKAGE / name for name in given.packages]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    if not files:
        parser.error(f"no file of src/pateval is named by {', '.join(given.packages)}")
    chosen, named = drawn(files, given.n, given.seed), equivalent()
    lines = given.results.read_text(encoding="utf-8").splitlines() if given.results and given.results.is_file() else []
    known = {(one["file"], one["shown"], one["start"]): Outcome(**one["outcome"]) for one in map(json.loads, lines)}
    found: list[tuple[Mutant, Outcome]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder) / "copy", given.tests)
        reached = Reached.read(given.map, copy, given.tests)
        preload()
        for mutant in chosen:
            key = where(mutant), mutant.shown, mutant.start
            outcome = known.get(key)
            if key[:2] in named:
                outcome = Outcome("equivalent", 0.0, 0, "")
            elif outcome is None or outcome.status == "survived":
                tests = reached.tests(mutant, given.seconds)
                seconds = sum(reached.seconds.get(test, 0.0) for test in tests)
                outcome = tried(mutant, copy, tests, seconds)
                if given.results:
                    line = {"file": key[0], "shown": key[1], "start": key[2], "outcome": outcome._asdict()}
                    with given.results.open("a", encoding="utf-8") as results:
                        results.write(json.dumps(line) + "\n")
            found.append((mutant, outcome))
            place = f"{key[0]}:{mutant.line}"
            print(
                f"{outcome.status:10s} {outcome.seconds:4.0f} s  {place}  {mutant.kind}  {outcome.killer}", flush=True
            )
    report(found, f"seed {given.seed}, {' '.join(given.packages)}")


def report(found: list[tuple[Mutant, Outcome]], what: str) -> None:
    """Print how many mutants are killed, and those that are not."""
    statuses = Counter(outcome.status for _, outcome in found)
    killed, judged = statuses["killed"] + statuses["endless"], len(found) - statuses["equivalent"]
    share = 100 * killed / max(judged, 1)
    print(
        f"{killed} of {judged} mutants killed, {share:.1f} %, of which {statuses['endless']} ran without end; "
        f"{statuses['survived']} survived; {statuses['equivalent']} more are equivalent ({what})"
    )
    for mutant, outcome in found:
        if outcome.status == "survived":
            print(f"\n{where(mutant)}:{mutant.line}  {mutant.kind}  ({outcome.tests} tests)\n{mutant.shown}")


if __name__ == "__main__":
    main()
