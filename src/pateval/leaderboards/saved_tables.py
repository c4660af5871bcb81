"""Whether the tables of a saved leaderboard follow from its values, cell by cell.

Means, ranks, groups, tests and agreement are cheap, so all of them are made again from the values in scores.parquet,
the chance levels in chance.parquet and the draws in doubt.parquet. Whether these three are right, the inputs decide;
see `pateval.leaderboards.verification`. A difference is told once for each file, with the first cell that differs.
"""

from __future__ import annotations

import csv
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pateval.evaluation.bootstrap import Interval
from pateval.io import TableError
from pateval.io.source import is_missing
from pateval.leaderboards.doubt_result import doubt_rows, places_by_rank
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.runs import Entries, RunTable
from pateval.leaderboards.summary import ChanceLevels, mean
from pateval.validation.wording import in_words, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pateval.leaderboards.summary import MetricFacts

_TOLERANCE = 1e-9  # Other versions of NumPy round sums otherwise; a change by hand is larger.
_LISTS_OF_NAMES = ("detectors", "left_out", "nemenyi_groups", "wilcoxon_groups")  # all others are by detectors
_FROM_VALUES = "the values in scores.parquet give"
Key = tuple[str, str, str]
"""A detector, a series and a run; the run is empty where there is none."""


class Difference(NamedTuple):
    """One thing that is not as the inputs give it: what it is about, and a sentence."""

    kind: str
    sentence: str


class SavedCell(NamedTuple):
    """One value of a detector on a series, as scores.parquet has it."""

    value: float | None
    reason: str | None
    signature: str
    coverage: float | None


Cells = dict[Key, dict[str, SavedCell]]
"""For each pair of a detector and a series, metric to what is saved of it."""


def cells_of(table: Any) -> Cells:
    """Read the scores of a leaderboard from its table."""
    found: Cells = {}
    for row in table.to_pylist():
        cells = found.setdefault((row["detector"], row["series"], row.get("run") or ""), {})
        cells[row["metric"]] = SavedCell(row["value"], row["reason"], row["signature"], row.get("coverage"))
    return found


def read_parquet(path: Path, *columns: str) -> Any:
    """Read a table of the leaderboard, or refuse a file that is damaged, no longer there, or lacks a column."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: {one_line(error, 150)}") from error
    for name in columns:
        if name not in table.column_names:
            raise TableError(f"{path}: the column {name!r} is missing; compute the leaderboard again")
    return table


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read the rows of a table; none where there is no such file."""
    if not path.is_file():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: it cannot be read ({one_line(error, 100)})") from error


def read_chance(folder: Path) -> dict[tuple[str, str], dict[str, float | None]] | None:
    """Read chance.parquet: for a detector, or "" for all, and a series, metric to level; None without a file."""
    path = folder / "chance.parquet"
    if not path.is_file():
        return None
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in read_parquet(path, "series", "detector", "metric", "chance").to_pylist():
        found.setdefault((row["detector"] or "", row["series"]), {})[row["metric"]] = row["chance"]
    return found


def compare_tables(
    folder: Path, run: Mapping[str, Any], scores: Any, facts: Mapping[str, MetricFacts]
) -> list[Difference]:
    """Compare all tables of a folder with what follows from its values.

    Parameters
    ----------
    folder : Path
        The saved leaderboard.
    run : mapping
        Its run.json.
    scores : pyarrow.Table
        Its scores.parquet.
    facts : mapping
        Its metrics, and which way each points.

    Returns
    -------
    list of Difference
        At most one for each file.
    """
    saved = cells_of(scores)
    lines = [*_run_differences(run, saved, facts)]
    if lines:
        return [Difference("table", f"run.json: {line}") for line in lines]
    summary = read_csv(folder / "summary.csv")
    board = _board(folder, run, saved, facts, summary)
    expected = {
        "scores.csv": ("scores.parquet has", scores.to_pylist(), ("detector", "series", "metric")),
        "summary.csv": (_FROM_VALUES, board.summary().to_pylist(), ("detector", "metric")),
        "ranks.csv": (_FROM_VALUES, board.ranks().to_pylist(), ("metric", "detector")),
        "agreement.csv": (_FROM_VALUES, board.agreement().to_pylist(), ("metric",)),
    }
    if run.get("doubt"):
        doubted = _doubt(folder, board)
        if not (folder / "doubt.parquet").is_file():
            lines.append("doubt.parquet: it is not there, so nothing says what moved labels give")
        expected["doubt.csv"] = ("doubt.parquet and the values give", list(doubted.values()), ("metric", "detector"))
        for row in expected["summary.csv"][1]:
            known = doubted.get((row["metric"], row["detector"]), {})
            row |= {"doubt_std": known.get("draw_std"), "rank_kept": known.get("rank_kept")}
    if run.get("chance_draws") and board.chance is None:
        lines.append("chance.parquet: it is not there, so nothing says what chance is on each series")
    for name, (source, rows, keys) in expected.items():
        if (folder / name).is_file():
            lines += first_difference(name, source, rows, read_csv(folder / name), keys)
        else:
            lines.append(f"{name}: it is not there")
    lines += _significance_differences(folder / "significance.json", board)
    return [Difference("table", line) for line in lines]


def _run_differences(run: Mapping[str, Any], saved: Cells, facts: Mapping[str, MetricFacts]) -> Iterator[str]:
    """Say where run.json names other detectors, series or metrics than there are, or describes these otherwise."""
    known = {
        "detectors": {key[0] for key in saved},
        "series": {key[1] for key in saved},
        "metrics": {metric for cells in saved.values() for metric in cells},
    }
    for axis, names in known.items():
        others = sorted(names ^ set(run[axis]))
        if others:
            where = "scores.parquet" if others[0] in names else "run.json"
            yield f"its {axis} are not those of scores.parquet: {in_words(others[0])} is in {where} only"
    for metric, higher in run.get("directions", {}).items():
        if metric in facts and higher != facts[metric].higher_is_better:
            yield f"it says that {metric} is better where it is {'higher' if higher else 'lower'}, which it is not"
    for metric, text in run.get("signatures", {}).items():
        if any(cells[metric].signature != text for cells in saved.values() if metric in cells):
            yield f"its signature of {metric} is not that of scores.parquet"


def _board(
    folder: Path,
    run: Mapping[str, Any],
    saved: Cells,
    facts: Mapping[str, MetricFacts],
    summary: Sequence[Mapping[str, str]],
) -> Leaderboard:
    """Make the leaderboard again from what is saved.

    Values over all series together, and limits over the events of a single series, do not follow from the values of
    single series: they are taken as they are, and the inputs decide.
    """
    detectors, series, metrics = (tuple(run[axis]) for axis in ("detectors", "series", "metrics"))
    names = tuple(dict.fromkeys(key[2] for key in saved))
    places = [{name: place for place, name in enumerate(axis)} for axis in (detectors, series, metrics, names)]
    codes = np.array([[places[0][key[0]], places[1][key[1]], places[3][key[2]]] for key in saved])
    entries = Entries.of(codes[:, 0], codes[:, 2], names)
    shape = len(entries.names), len(series)
    values, present = np.full((*shape, len(metrics)), np.nan), np.zeros(shape, dtype=np.bool_)
    coverage = np.full(shape, np.nan)
    for entry, s, cells in zip(entries.of_job.tolist(), codes[:, 1].tolist(), saved.values(), strict=True):
        present[entry, s] = True
        for metric, cell in cells.items():
            values[entry, s, places[2][metric]] = math.nan if is_missing(cell.value) else cell.value
            coverage[entry, s] = math.nan if is_missing(cell.coverage) else cell.coverage
    has_coverage = any(cell.coverage is not None for cells in saved.values() for cell in cells.values())
    reasons = np.zeros(values.shape, dtype=np.int16)
    by_name = {(row.get("detector", ""), row.get("metric", "")): row for row in summary}
    return Leaderboard(
        detectors,
        series,
        metrics,
        entries.mean(values),
        entries.any_run(present),
        entries.first(reasons, reasons > 0),
        ("",),
        {metric: facts[metric] for metric in metrics},
        rank_by=run["rank_by"],
        chance=_chance_levels(folder, detectors, series, metrics),
        pooled={key: _nan_or(row.get("pooled")) for key, row in by_name.items()},
        intervals={key: Interval(_nan_or(row.get("low")), _nan_or(row.get("high"))) for key, row in by_name.items()}
        if len(series) == 1
        else {},
        coverage=coverage if has_coverage else None,
        runs=RunTable(entries, values, present, reasons) if entries.has_runs else None,
    )


def _chance_levels(
    folder: Path, detectors: Sequence[str], series: Sequence[str], metrics: Sequence[str]
) -> ChanceLevels | None:
    saved = read_chance(folder)
    if not saved:
        return None
    levels = np.array([[_nan_or(cells.get(metric)) for metric in metrics] for cells in saved.values()])
    row_of = {key: row for row, key in enumerate(saved)}
    rows = [[row_of.get((name, one), row_of.get(("", one), -1)) for one in series] for name in detectors]
    return ChanceLevels(levels, np.array(rows, dtype=np.int32))


def _doubt(folder: Path, board: Leaderboard) -> dict[tuple[str, str], dict[str, Any]]:
    """Make the rows of doubt.csv again from the draws and the values."""
    path = folder / "doubt.parquet"
    if not path.is_file():
        return {}
    drawn: dict[str, dict[str, list[Any]]] = {}
    for row in read_parquet(path, "metric", "detector", "draw", "mean", "place").to_pylist():
        drawn.setdefault(row["metric"], {}).setdefault(row["detector"], []).append((row["mean"], row["place"]))
    found = {}
    for metric, by_detector in drawn.items():
        if metric not in board.metrics or set(by_detector) != set(board.detectors):
            continue
        values = board.values[:, :, board.metrics.index(metric)]
        means, places = (
            np.array([[_nan_or(draw[place]) for draw in by_detector[name]] for name in board.detectors])
            for place in (0, 1)
        )
        place = places_by_rank(values.T, board.facts[metric])
        for row in doubt_rows(metric, board.detectors, list(map(mean, values)), place, means, places):
            found[metric, row["detector"]] = row
    return found


def first_difference(
    name: str,
    source: str,
    expected: Sequence[Mapping[str, Any]],
    written: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
) -> list[str]:
    """Compare a table with what it should be.

    Parameters
    ----------
    name : str
        The file.
    source : str
        Who says what it should be, with a verb.
    expected, written : sequences of mappings
        The rows; those of a CSV file hold text.
    keys : sequence of str
        Columns that tell people which row it is.

    Returns
    -------
    list of str
        Nothing, or one sentence with the first cell that differs.

    Examples
    --------
    >>> right = [{"name": "a", "mean": 0.5}, {"name": "b", "mean": None}]
    >>> written = [{"name": "a", "mean": "0.50"}, {"name": "b", "mean": ""}]
    >>> first_difference("t.csv", "the values give", right, written, ["name"])
    []
    >>> first_difference("t.csv", "the values give", right[:1], [{"name": "a", "mean": "0.6"}], ["name"])
    ['t.csv: mean in row 1 (a) is 0.6; the values give 0.5']
    """
    if len(expected) != len(written):
        return [f"{name}: it has {len(written):,} rows; {source} {len(expected):,}"]
    found, others = "", 0
    for place, (right, row) in enumerate(zip(expected, written, strict=True), start=1):
        if right.keys() != row.keys():
            odd = sorted(map(str, right.keys() ^ row.keys()))[0]
            return [f"{name}: the column {in_words(odd)} is {'missing' if odd in right else 'too many'}"]
        wrong = [column for column in right if not _agrees(right[column], row[column])]
        others += len(wrong)
        if wrong and not found:
            which, column = ", ".join(str(right[key]) for key in keys), wrong[0]
            found = (
                f"{name}: {column} in row {place} ({which}) is {_text(row[column])}; {source} {_text(right[column])}"
            )
    more = others - 1
    return [f"{found} (and {more:,} more cell{'s' if more > 1 else ''})" if more > 0 else found] if found else []


def _significance_differences(path: Path, board: Leaderboard) -> list[str]:
    """Compare the tests with those of the values; one sentence with the first figure that differs."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{path.name}: it cannot be read ({one_line(error, 100)})"]
    for metric in board.metrics:
        found = written.get(metric) if isinstance(written, dict) else None
        if not isinstance(found, dict):
            return [f"{path.name}: the tests of {metric} are not there"]
        right = board.significance(metric).to_dict()
        for field, figures in right.items():
            for where, expected, given in _unequal(figures, found.get(field)):
                what = " ".join([field, *(key for key in where if isinstance(key, str))])
                if field not in _LISTS_OF_NAMES:
                    of = [right["detectors"][place] for place in where if isinstance(place, int)]
                    what += f" of {' and '.join(of)}" if of else ""
                return [f"{path.name}: {what} under {metric} is {_text(given)}; {_FROM_VALUES} {_text(expected)}"]
    return []


def _unequal(expected: Any, given: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Yield where two structures of lists, mappings and plain values differ, and what stands there."""
    if isinstance(expected, dict) and isinstance(given, dict) and expected.keys() == given.keys():
        for key, value in expected.items():
            yield from _unequal(value, given[key], (*where, key))
    elif isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        for place, (value, other) in enumerate(zip(expected, given, strict=True)):
            yield from _unequal(value, other, (*where, place))
    elif isinstance(expected, (dict, list)) or isinstance(given, (dict, list)):
        if expected != given:
            yield where, expected, given
    elif not (expected == given or same(expected, given)):
        yield where, expected, given


def _agrees(expected: Any, written: Any) -> bool:
    """Tell whether a cell is the value; in a CSV file it is text, and empty where the value is missing."""
    if isinstance(expected, str) or not isinstance(written, str):
        return bool(expected == written) or same(expected, written)
    return is_missing(expected) if not written else same(expected, cell_number(written))


def same(first: Any, second: Any) -> bool:
    """Tell whether two numbers are the same but for rounding; missing ones are the same."""
    first, second = (None if is_missing(value) else value for value in (first, second))
    numbers = (int, float)
    if not isinstance(first, numbers) or not isinstance(second, numbers):
        return first is second
    return math.isclose(first, second, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def cell_number(text: str) -> float | None:
    """Read a cell of a CSV file; None where it is empty or no number."""
    try:
        return float(text)
    except ValueError:
        return None


def _nan_or(value: Any) -> float:
    given: Any = cell_number(value) if isinstance(value, str) else value
    return math.nan if is_missing(given) else float(given)


def _text(value: Any) -> str:
    return "empty" if is_missing(value) else shortened(str(value))
