"""Is a saved leaderboard what its inputs give? It is loaded, computed again, and compared.

Digests tell which file is not as it was written. What decides is the number that comes out of the inputs now, so a
value that was changed by hand is found even where all digests were rewritten to match; and what follows from the
values, such as ranks and tests, is made again from them. What cannot be made again is covered by digests alone: times,
counts of what came from the cache, versions, where the work was done, and notes on how the inputs were read.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pateval.evaluation.files import binary_detectors
from pateval.io import TableError, saved_plan
from pateval.io.atomic import as_csv
from pateval.io.content import arrow
from pateval.io.plan import Plan
from pateval.leaderboards import board_files
from pateval.leaderboards.arrays import by_name
from pateval.leaderboards.growth import settings_of
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.run import bare, compute
from pateval.leaderboards.tasks import prepare_worker
from pateval.output.progress import Report
from pateval.output.results import Result, columns_of
from pateval.output.text_table import plain
from pateval.validation.arrays import non_negative_integer, positive_integer
from pateval.validation.wording import named_error, one_line, shortened
from pateval.worker_pool import WorkerPool

SAMPLE = 200
_SURE = 0.95
_SHOWN = 20
_TOLERANCE = 1e-9  # Other versions of NumPy round sums otherwise; a change by hand is larger.
# What content of the wrong kind ends in, somewhere.
_NONSENSE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, NotImplementedError)
_FROM_VALUES = "the values in scores.parquet give"
_FROM_INPUTS = "the inputs give"
# What run.json says of the board and can be found out again.
_FOUND_AGAIN = (
    *("measures", "event_draws", "event_metrics", "doubt", "units"),
    *(name for name in board_files.DESCRIBED if name not in ("notes", "warnings", "failures")),
)


class Difference(NamedTuple):
    """One thing that is not as it should be: what it is about, and a sentence.

    The kinds are ``file`` (not as it was written), ``table`` (does not follow from the values), ``input`` (gone, or
    not the one that was evaluated), ``pair`` (of a detector and a series, on one side only), ``value``, ``chance``,
    ``definition`` (of a metric), and ``record`` (what the board says of itself).
    """

    kind: str
    sentence: str


@dataclass(frozen=True)
class Verification(Result):
    """What came of computing a leaderboard again.

    Attributes
    ----------
    folder : str
        The leaderboard.
    differences : tuple of Difference
        What does not agree; empty where everything does.
    checked, pairs : int
        How many pairs of a detector and a series were computed again, and how many there are.
    values : int
        How many values that were.
    detectable : float
        The share of wrong pairs from which on the sample would have met one with a probability of 95 %; 0 where all
        were computed again.
    """

    folder: str
    differences: tuple[Difference, ...]
    checked: int = 0
    pairs: int = 0
    values: int = 0
    detectable: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether nothing was found to differ."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry."""
        return plain(
            {
                "folder": self.folder,
                "agrees": self.agrees,
                "checked": self.checked,
                "pairs": self.pairs,
                "values": self.values,
                "detectable_share": self.detectable,
                "differences": [difference._asdict() for difference in self.differences],
            }
        )

    def columns(self) -> dict[str, Any]:
        """Columns of the differences, a row each."""
        return columns_of(Difference._fields, self.differences)

    def __repr__(self) -> str:
        lines = [difference.sentence for difference in self.differences[:_SHOWN]]
        if len(self.differences) > _SHOWN:
            lines.append(f"and {len(self.differences) - _SHOWN:,} more")
        how_many = f"{self.checked:,} of {self.pairs:,} pairs of a detector and a series, {self.values:,} values"
        if not self.agrees:
            return "\n".join([*lines, f"{self.folder} is not what its inputs give (computed again: {how_many})"])
        lines.append(f"{self.folder} is what its inputs give, as far as computed again: {how_many}")
        if self.detectable:
            lines.append(
                f"had {100 * self.detectable:.2g} % of the pairs a wrong value, this sample would have met one with a "
                f"probability of {100 * _SURE:.0f} %; --all leaves no doubt, and also computes moved labels and "
                f"warnings again"
            )
        return "\n".join(lines)


def verify(
    folder: str | os.PathLike[str],
    *,
    all: bool = False,  # noqa: A002  # as on the command line
    sample: int = SAMPLE,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | Report | None = None,
) -> Verification:
    r"""Compute a saved leaderboard again from the inputs it names, and compare.

    Parameters
    ----------
    folder : path
        What ``leaderboard(..., output=folder)`` or ``pateval leaderboard -o`` wrote.
    all : bool
        Compute everything again instead of a sample. A pooled board is always computed again as a whole.
    sample : int
        How many pairs of a detector and a series to compute again.
    seed : int
        Seed of the sample.
    workers : int, optional
        Processes, as in :func:`pateval.leaderboard`.
    progress : bool or callable, optional
        Likewise.

    Returns
    -------
    Verification
        Values, reasons, signatures, chance and the digests of the inputs, of the sample or of everything; every file
        against its digest; and all tables that follow from the values. Moved labels, warnings and what else the board
        says of itself are computed again with ``all`` only. Times, counts of what came from the cache, versions, where
        the work was done, and notes on how the inputs were read are covered by digests alone.

    Raises
    ------
    TableError
        If the folder holds no leaderboard, or one whose inputs cannot be read again.

    Examples
    --------
    >>> import tempfile
    >>> import pateval as pv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "scores.csv").write_text("label,a,b\n0,0.1,0.3\n1,0.9,0.2\n0,0.2,0.1\n")
    ...     _ = pv.leaderboard(f"{folder}/scores.csv", metrics="auc_roc", chance=0, output=f"{folder}/board")
    ...     found = pv.verify(f"{folder}/board", all=True)
    >>> found.agrees, found.values
    (True, 2)
    """
    options: dict[str, Any] = {"all": all, "seed": seed, "sample": sample, "workers": workers, "progress": progress}
    found = _verified(Path(folder), None, **options)
    beside = Path(folder) / board_files.ONE_LINERS
    if not (beside / board_files.RUN).is_file():
        return found
    try:  # they were computed on the steps that count for the detectors, and have their chance
        other = _verified(beside, board_files.load(folder, check=False), **options)
    except TableError as error:
        return replace(found, differences=(*found.differences, Difference("file", str(error))))
    more = (Difference(kind, f"{beside.name}: {sentence}") for kind, sentence in other.differences)
    return replace(
        found,
        differences=(*found.differences, *more),
        checked=found.checked + other.checked,
        pairs=found.pairs + other.pairs,
        values=found.values + other.values,
        detectable=max(found.detectable, other.detectable),
    )


def _verified(
    target: Path,
    base: Leaderboard | None,
    *,
    all: bool,  # noqa: A002  # as in `verify`
    sample: int,
    seed: int,
    workers: int | None,
    progress: bool | Report | None,
) -> Verification:
    """Verify one folder, that of the detectors or, beside these (the base), that of what needs no training."""
    sample, seed = positive_integer(sample, "sample"), non_negative_integer(seed, "seed")
    run = board_files.read_run(target)
    changed = board_files.changed_files(target, run)
    differences: list[Difference] = []
    counts: dict[str, Any] = {}
    try:
        saved = board_files.load(target, check=False)
        differences += _table_differences(target, saved)
        if run.get("computed_elsewhere"):
            raise TableError(
                f"{target}: its values were computed elsewhere, so there are no inputs to compute them from"
            )
        plan, problems = saved_plan(run, target)
        if plan is None:
            raise TableError(f"{target}: none of its inputs can be read again; {problems[-1]}")
        pairs, chosen = _chosen_pairs(plan, saved, 0 if all else sample, seed)
        whole, part = chosen.size == pairs.size, by_name(plan, np.isin(_pair_of_job(plan), chosen))
        settings = replace(settings_of(run, part.detectors, target, with_doubt=whole), rank_by=saved.rank_by)
        with WorkerPool(None, workers, prepare=prepare_worker) as pool:
            binary = binary_detectors(plan) if settings.measures.needs_predictions else frozenset()
            how: dict[str, Any] = {"pool": pool, "progress": progress, "binary": binary, "base": base}
            board = compute(part, settings, **how, keep_going=True, overwrite=base is not None)
        board = board if base is None else bare(board)
        computed = [Difference("input", line) for line in problems]
        computed += _cell_differences(saved, board, run, complete=whole and not problems)
        if whole and not problems:
            computed += _whole_differences(saved, board, run)
        differences = [*computed, *differences]
        counts = {"checked": chosen.size, "pairs": pairs.size, "values": board.scores.num_rows}
        counts["detectable"] = 0.0 if whole else detectable_share(pairs.size, chosen.size)
    except Exception as error:
        is_nonsense = isinstance(error, _NONSENSE) and not isinstance(error, TableError)
        if not (changed or differences or is_nonsense):
            raise
        # Files that were changed may no longer make sense, also where their digests were rewritten.
        sentence = str(error) if isinstance(error, TableError) else f"{target}: {shortened(named_error(error), 200)}"
        differences.append(Difference("file", sentence))
    named = {difference.sentence.partition(":")[0] for difference in differences}
    files = (Difference("file", f"{name}: it {what}") for name, what in changed.items() if name not in named)
    return Verification(str(target), (*files, *differences), **counts)


def detectable_share(pairs: int, checked: int) -> float:
    """Return the smallest share of wrong pairs of which a sample meets one with a probability of 95 %."""
    if not checked:
        return 1.0
    miss, wrong = 1.0, 0
    while miss > 1 - _SURE and wrong < pairs:
        # Drawn without replacement: the sample misses one more wrong pair with this conditional probability.
        miss *= max(0.0, (pairs - checked - wrong) / (pairs - wrong))
        wrong += 1
    return wrong / pairs


def _chosen_pairs(plan: Plan, saved: Leaderboard, sample: int, seed: int) -> tuple[Any, Any]:
    """All pairs of a detector and a series in the plan, as numbers, and those to compute again (a sample of 0: all)."""
    pairs = np.unique(_pair_of_job(plan))
    if saved.pooled or not 0 < sample < pairs.size:
        return pairs, pairs
    chosen = np.sort(np.random.default_rng(seed).choice(pairs, sample, replace=False))
    if saved.measures is not None and saved.measures.missing == "ignore":
        # What is missing in one detector is left out for all of the series, so they are computed together.
        chosen = pairs[np.isin(pairs % len(plan.series), chosen % len(plan.series))]
    return pairs, chosen


def _pair_of_job(plan: Plan) -> Any:
    return plan.jobs.detector_code.astype(np.int64) * len(plan.series) + plan.jobs.series_code


def _cell_differences(
    saved: Leaderboard, board: Leaderboard, run: Mapping[str, Any], *, complete: bool
) -> Iterator[Difference]:
    """Compare values, reasons, signatures, coverage, chance and digests of what was computed again."""
    known = _cells(saved, board.series)
    differences: dict[Difference, None] = {}
    for key, row in _cells(board, board.series).items():
        old, where, metric = known.pop(key, None), _name(row), row["metric"]
        if old is None:
            differences[Difference("pair", f"{where}: in the inputs, but not in the leaderboard")] = None
            continue
        if not _same(old["digest"], row["digest"]):
            sentence = f"{where}: its input is not the one the leaderboard was computed from"
            differences[Difference("input", sentence)] = None
        for kind, what, name in (
            ("definition", f"{metric} is of the definition", "signature"),
            ("value", f"{metric} is", "value"),
            ("value", f"{metric} has the reason", "reason"),
            ("value", "coverage is", "coverage"),
            ("chance", f"chance of {metric} is", "chance"),
        ):
            written, right = (_comparable(cells.get(name), run) for cells in (old, row))
            if not _same(written, right):
                sentence = f"{where}: {what} {_text(written)}; {_FROM_INPUTS} {_text(right)}"
                differences[Difference(kind, sentence)] = None
    if complete:
        differences |= {
            Difference("pair", f"{_name(row)}: in the leaderboard, but not in the inputs"): None
            for row in known.values()
        }
    yield from differences


def _cells(board: Leaderboard, series: Sequence[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of a board's scores on some series, with chance and the digest of the input in each."""
    pa, pc = arrow(), arrow("compute")
    table, cells = board.score_table(chance=True), dict[tuple[str, ...], dict[str, Any]]()
    for row in table.filter(pc.is_in(table["series"], pa.array(series))).to_pylist():
        names = row["detector"], row["series"], row.get("run") or ""
        cells[*names, row["metric"]] = row | {"digest": board.digests.get(names)}
    return cells


def _whole_differences(saved: Leaderboard, board: Leaderboard, run: Mapping[str, Any]) -> Iterator[Difference]:
    """Compare what only all pairs together tell: moved labels, warnings, and what the board says of itself."""
    right, written = map(board_files.tables_of, (board, saved))
    for name, kind in ((board_files.DOUBT, "value"), (board_files.JOBS, "record"), (board_files.SERIES, "record")):
        if name in right and (name in written or kind == "record"):
            here = [column for column in right[name].column_names if column != "digest"]  # compared pair by pair
            ours, theirs = (as_csv(tables[name].select(here)) for tables in (right, written))
            if sentence := first_difference(ours, theirs, _FROM_INPUTS):
                yield Difference(kind, f"{name}: {sentence}")
    described, recorded = (_comparable(record, run) for record in (board_files.describe(board), dict(run)))
    for name in _FOUND_AGAIN:
        for where, ours, theirs in _unequal(described.get(name), recorded.get(name)):
            yield Difference("record", f"run.json: {name}{where} is {_text(theirs)}; {_FROM_INPUTS} {_text(ours)}")
            break
    for name in ("warnings", "failures"):
        for line in described[name]:
            if line not in recorded.get(name):
                yield Difference("record", f"run.json: {name} lack a line; {_FROM_INPUTS} {_text(line)}")
                break


def _table_differences(folder: Path, board: Leaderboard) -> Iterator[Difference]:
    """Compare the tables of a folder with what follows from its values, at most one difference for each file."""
    of_scores = board.scores, "scores.parquet has"
    tables = dict.fromkeys((board_files.SCORES, board_files.SCORES_AS_TEXT), of_scores)
    tables |= {name: (table, _FROM_VALUES) for name, table in board_files.tables_of(board).items()}
    for name, (table, source) in tables.items():
        try:
            is_text = name.endswith(".csv")
            written = (folder / name).read_text("utf-8") if is_text else as_csv(board_files.read_parquet(folder / name))
            sentence = first_difference(as_csv(table), written, source)
        except (OSError, ValueError, csv.Error) as error:
            sentence = f"it cannot be read ({one_line(error, 100)})" if (folder / name).exists() else "it is not there"
        if sentence:
            yield Difference("table", f"{name}: {sentence}")
    if board.pooled:
        return
    path = folder / board_files.SIGNIFICANCE
    try:
        tests = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        yield Difference("table", f"{path.name}: it cannot be read ({one_line(error, 100)})")
        return
    right = {metric: board.significance(metric).to_dict() for metric in board.metrics}
    for where, expected, written in _unequal(right, tests):
        sentence = f"{where.lstrip('.')} is {_text(written)}; {_FROM_VALUES} {_text(expected)}"
        yield Difference("table", f"{path.name}: {sentence}")
        break


def first_difference(expected: str, written: str, source: str) -> str:
    """Compare a table with what it should be, both as CSV: nothing, or a sentence with the first cell that differs."""
    if expected == written:
        return ""
    (header, *right), (names, *rows) = (
        [*csv.reader(io.StringIO(text, newline=""))] or [[]] for text in (expected, written)
    )
    if names != header:
        return f"its columns are {', '.join(names)}; {source} {', '.join(header)}"
    if len(rows) != len(right):
        return f"it has {len(rows):,} rows; {source} {len(right):,}"
    wrong = [
        (row, column, old, true)
        for row, (cells, expected_cells) in enumerate(zip(rows, right, strict=True))
        for column, (old, true) in enumerate(zip_longest(cells, expected_cells, fillvalue=""))
        if not _same_text(old, true)
    ]
    if not wrong:
        return ""
    row, column, old, true = wrong[0]
    name = header[column] if column < len(header) else "a further cell"
    keys = (place for place, title in enumerate(header) if title in ("metric", "detector", "series", "run", "draw"))
    which = ", ".join(right[row][place] for place in keys)
    more = f" (and {len(wrong) - 1:,} more cell{'s' if len(wrong) > 2 else ''})" if len(wrong) > 1 else ""
    return (
        f"{name} in row {row + 1} ({which}) is {shortened(old) or 'empty'}; {source} {shortened(true) or 'empty'}{more}"
    )


def _unequal(expected: Any, given: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two structures of lists, mappings and plain values differ, and what stands there."""
    if isinstance(expected, dict) and isinstance(given, dict):
        for key in {**expected, **given}:
            yield from _unequal(expected.get(key), given.get(key), f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        for place, (value, other) in enumerate(zip(expected, given, strict=True)):
            yield from _unequal(value, other, f"{where}[{place}]")
    elif not _same(expected, given):
        yield where, expected, given


def _comparable(value: Any, run: Mapping[str, Any]) -> Any:
    """A value without what may differ: the version in signatures, and the folder that relative paths are in."""
    if value is None or isinstance(value, float):
        return value
    text = json.dumps(value)
    for folder in (run["reading"]["directory"], Path.cwd()):
        text = text.replace(json.dumps(f"{folder}{os.sep}")[1:-1], "")
    # Definitions go up when numbers change; the version does not matter.
    return json.loads(re.sub(r"\|pateval:[^|\"]*", "", text))


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['detector']} on {row['series']}" + (f", run {row['run']}" if row.get("run") else "")


def _same(first: Any, second: Any) -> bool:
    """Tell whether two plain values are the same, numbers but for rounding; what is missing is the same."""
    first, second = (None if isinstance(value, float) and math.isnan(value) else value for value in (first, second))
    if isinstance(first, float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(first == second) and isinstance(first, bool) == isinstance(second, bool)


def _same_text(first: str, second: str) -> bool:
    try:
        return first == second or _same(float(first), float(second))
    except ValueError:
        return False


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "undefined"
    return f"{value:.12g}" if isinstance(value, float) else shortened(str(value), 200)
