"""A leaderboard of values that somebody else computed: ranks, groups and tests, whether or not the values are right.

The table is long (a row per series and detector, perhaps a metric column) or wide (a row per series, a column per
detector, perhaps a metric column). Columns that describe a series, such as its length, are no detectors. Folders are
read as benchmarks write them: TSB-AD's scripts write a CSV file per detector, named after it, with a row per series
(``file``) and a column per metric, and a row of zeros where the detector failed. TimeEval writes ``results.csv`` with a
row per algorithm, settings, data set and repetition, and a column per metric, empty where an experiment failed.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from pateval.catalog import catalogue
from pateval.catalog.metric import Metric
from pateval.io import Table, TableError, as_table
from pateval.io.files import read_table
from pateval.io.source import is_missing, missing_column
from pateval.leaderboards.arrays import MetricFacts, cells_of
from pateval.leaderboards.result import Leaderboard
from pateval.output.results import columns_of
from pateval.validation.wording import in_words, listed, shortened

UNCHECKED = (
    "the values were computed elsewhere: ranks, groups and tests follow from them, but whether they are right could "
    "not be checked"
)
_SERIES = ("series", "file", "dataset", "series_id", "series_name", "unique_id", "ts_id", "name")
_DETECTORS = ("detector", "model", "algorithm", "method")
_METRICS = ("metric", "measure")
_VALUES = ("value", "score", "result")
# Names that describe a series: its length, how many anomalies it has, and so on.
_DESCRIPTOR = re.compile(
    r"(ts|series|train|test)?_?(len|length|size|steps|id)|(num|n|avg|mean|max|min|total)_\w+"
    r"|\w+_(len|length|ratio|count|anomaly|anomalies)|contamination|period|frequency|domain|dataset",
    re.IGNORECASE,
)
# The index of a frame that was written with it, which is no detector.
_INDEX = re.compile(r"|index|unnamed: ?\d+|__index_level_\d+__", re.IGNORECASE)
_LARGEST = 1e100  # larger numbers cannot be squared
_ROUNDING = 1e-9
_CELLS_SHOWN = 5
_Cell = tuple[str, str, str, object, str]  # detector, series, metric, what stands there, and where


def leaderboard_from_results(
    data: object,
    *,
    metric: str | None = None,
    series: str | None = None,
    detector: str | None = None,
    value: str | None = None,
    detectors: Sequence[str] | None = None,
    higher_is_better: bool | None = None,
    rank_by: str | None = None,
    beside: Sequence[Leaderboard] = (),
) -> Leaderboard:
    """Rank detectors by values that were computed elsewhere, and say which of them can be told apart.

    Parameters
    ----------
    data : path, frame or mapping
        A table of values, or a folder of results as TimeEval (``results.csv``) or the scripts of TSB-AD (a CSV file per
        detector) write them. Wide: a row per series, a column per detector. Long: a row per series and detector, with a
        detector and a value column. Both may have a metric column.
    metric : str, optional
        What the values are, where no column says so; by default guessed from the name of the file, or "value".
    series, detector, value : str, optional
        Columns, which are guessed by name and announced otherwise.
    detectors : sequence of str, optional
        The columns of a wide table that are detectors; by default all columns of numbers but those that describe a
        series by their name, such as ``ts_len`` or ``anomaly_ratio``.
    higher_is_better : bool, optional
        Direction of the metric; by default the catalogue's, and True for metrics that are not in it.
    rank_by : str, optional
        The metric that orders the detectors; by default as in :func:`pateval.leaderboard`.
    beside : sequence of Leaderboard, optional
        Boards of other detectors, such as one's own, whose values are set beside those of the table, on its series and
        its metrics; ``warnings`` say which detectors' numbers are the table's.

    Returns
    -------
    Leaderboard
        Missing cells and cells that are no numbers have no value; ``notes`` and the reasons of ``scores`` name them by
        row and column.

    Raises
    ------
    TableError
        If the table has no such columns, no detectors, or two values for the same series and detector.

    Examples
    --------
    >>> table = {"file": ["a", "b", "c"], "first": [0.9, 0.8, 0.7], "second": [0.1, 0.2, None], "ts_len": [9, 8, 7]}
    >>> board = leaderboard_from_results(table, metric="auc_roc")
    >>> board.detectors, board.ranks("auc_roc").column("mean_rank").to_pylist()
    (('first', 'second'), [1.0, 2.0])
    >>> board.notes[-1]
    "the table: no value in row 3, column 'second' (missing)"
    """
    folder = Path(data) if isinstance(data, str | os.PathLike) and Path(data).is_dir() else None
    notes: list[str] = []
    if folder is not None:
        table, notes = long_table(folder)
        source = replace(cast("Table", as_table(table)), where=str(folder))
    else:
        source = read_table(data) if isinstance(data, str | os.PathLike) else cast("Table", as_table(data))
    notes += source.notes
    # How a folder was read is said above; that it became a long table on the way is nobody's concern.
    columns = _Columns(source, series, detector, value, metric=metric, notes=notes if folder is None else [])
    values: dict[tuple[str, ...], tuple[float, str]] = {}
    odd: list[str] = []
    for *names, cell, where in columns.cells(detectors):
        if tuple(names) in values:
            raise TableError(
                f"{source.where}: a second value of detector {in_words(names[0])} on series {in_words(names[1])} "
                f"stands in {where}"
            )
        number, reason = _read(cell)
        if folder is not None:
            where = "{2} of {0} on {1}".format(*names)
        known = _known(names[2])
        if known is not None and not reason and not known.low - _ROUNDING <= number <= known.high + _ROUNDING:
            raise TableError(
                f"{source.where}: {where} is {number:g}, and {names[2]} is between {known.low:g} and {known.high:g}; "
                f"divide percentages by 100, or say what the values are (--metrics, metric=...)"
            )
        if reason:
            odd.append(f"{where} ({reason})")
        values[tuple(names)] = number, reason and f"{reason}, {where}"
    if not values:
        raise TableError(f"{source.where}: there is no value in the table")
    if odd:
        more = f" and {len(odd) - _CELLS_SHOWN:,} more" if len(odd) > _CELLS_SHOWN else ""
        notes.append(f"{source.where}: no value in {'; '.join(odd[:_CELLS_SHOWN])}{more}")
    axes = [tuple(dict.fromkeys(axis)) for axis in zip(*values, strict=True)]
    absent = math.nan, "not in the table"
    board = Leaderboard.of_cells(
        cells_of((*names, *values.get(names, absent)) for names in product(*axes)),
        _facts({name: _known(name) for name in axes[2]}, higher_is_better, notes, source.where),
        rank_by=rank_by or "",
        notes=tuple(notes),
        warnings=(UNCHECKED,),
        run={"inputs": [source.where], "computed_elsewhere": True},
    )
    for other in beside:
        board = _set_beside(board, other)
    return board


def _set_beside(board: Leaderboard, other: Leaderboard) -> Leaderboard:
    """Add the detectors of another board to those of a table, on the table's series and metrics."""
    where = board.run["inputs"][0]
    twice = next((name for name in other.detectors if name in board.detectors), None)
    if twice is not None:
        raise TableError(f"{where}: there is a detector {in_words(twice)} already; give yours another name")
    metrics = [
        next((m for m, own in enumerate(other.metrics) if _alike(own, published)), None) for published in board.metrics
    ]
    if all(place is None for place in metrics):
        raise TableError(
            f"{where}: its values are {listed(board.metrics, 4)}, and those to be set beside them "
            f"{listed(other.metrics, 4)}: name the table's metric (--metrics)"
        )
    known = {_without_suffix(name): place for place, name in enumerate(other.series)}
    shared = [place for place, name in enumerate(board.series) if _without_suffix(name) in known]
    if not shared:
        raise TableError(
            f"{where}: no series of {in_words(other.detectors[0])}, such as {in_words(other.series[0])}, is in it; it "
            f"has {in_words(board.series[0])}, for example"
        )
    series = [board.series[place] for place in shared]
    own = [known[_without_suffix(name)] for name in series]
    shape = len(other.detectors), len(series), len(board.metrics)
    values, codes = np.full(shape, np.nan), np.full(shape, len(board.reason_texts))
    for m, own_metric in enumerate(metrics):
        if own_metric is not None:
            values[:, :, m] = other.values[:, own, own_metric]
            own_codes = other.reason_codes[:, own, own_metric]
            codes[:, :, m] = np.where(own_codes > 0, own_codes + len(board.reason_texts) + 1, 0)
    notes = []
    if len(shared) < len(board.series):
        are = "is" if len(shared) == 1 else "are"
        said = f"{len(shared)} of its {len(board.series)} series {are} those of {listed(other.detectors, 4)}"
        notes.append(f"{where}: {said}; the others are left out for all")
    if len(shared) < len(other.series):
        unused = f"{len(other.series) - len(shared)} series of {listed(other.detectors, 4)}"
        are = "is" if len(other.series) - len(shared) == 1 else "are"
        notes.append(f"{where}: {unused} {are} not in it, and left out")
    elsewhere = other.run.get("computed_elsewhere", False)
    evaluated = [*board.run.get("evaluated_here", []), *(() if elsewhere else other.detectors)]
    given = [name for name in (*board.detectors, *(other.detectors if elsewhere else ())) if name not in evaluated]
    said = f"the numbers of {listed(given, 4)} are published ones, not computed again, and could not be checked"
    return replace(
        board,
        detectors=(*board.detectors, *other.detectors),
        series=tuple(series),
        values=np.concatenate([board.values[:, shared], values]),
        present=np.concatenate([board.present[:, shared], np.ones(shape[:2], dtype=np.bool_)]),
        reason_codes=np.concatenate([board.reason_codes[:, shared], codes]),
        reason_texts=(*board.reason_texts, "not evaluated", *other.reason_texts),
        notes=(*board.notes, *other.notes, *notes),
        failures=(*board.failures, *other.failures),
        warnings=(f"{said}; computed here: {listed(evaluated, 4)}" if evaluated else said,),
        run={
            "inputs": [*board.run["inputs"], *other.run.get("inputs", [])],
            "computed_elsewhere": True,
            "evaluated_here": evaluated,
        },
    )


def _alike(own: str, published: str) -> bool:
    """Whether a metric, perhaps with options, is the published one, however that is written: VUS-PR, vus_pr."""
    plain = [re.sub(r"[^a-z0-9]+", "_", name.lower()) for name in (own, own.partition("(")[0], published)]
    return plain[2] in plain[:2]


def _without_suffix(series: str) -> str:
    """Name of a series that is called like its file, as TSB-AD's tables have it, or without the suffix."""
    return series.removesuffix(".csv")


def _known(name: str) -> Metric | None:
    return catalogue(emerging=True).get(name.partition("(")[0])


class _Columns:
    """Which column of a table of values is what."""

    def __init__(self, source: Table, *names: str | None, metric: str | None, notes: list[str]) -> None:
        self._source, self._notes = source, notes
        columns = source.columns
        for name in names:
            if name is not None and name not in columns:
                raise missing_column(source.where, name, columns)
        series, detector, value = names
        self.detector = detector or self._named(_DETECTORS)
        self.value = value or (self._named(_VALUES) if self.detector else None)
        self.metric = self._named(_METRICS)
        self._one_metric = metric or ("" if self.metric else self._metric_of_file())
        first_text = next((name for name, kind in source.kinds().items() if kind == "text"), None)
        self.series = series or self._named(_SERIES) or first_text
        self.is_long = self.detector is not None and self.value is not None
        if self.series is None:
            raise TableError(f"{source.where}: no column looks like the names of series; name it with --series")
        shape = "long" if self.is_long else "wide"
        notes.append(f"{source.where}: read as a {shape} table of values, with the series in {self.series!r}")

    def cells(self, detectors: Sequence[str] | None) -> Iterator[_Cell]:
        """All cells that hold a value, row by row."""
        columns = self._source.columns
        chosen = [str(self.value)] if self.is_long else self._detector_columns(detectors)
        for row in range(self._source.rows):
            for name in chosen:
                yield (
                    str(columns[str(self.detector)][row]) if self.is_long else name,
                    str(columns[str(self.series)][row]),
                    self._one_metric or str(columns[str(self.metric)][row]),
                    columns[name][row],
                    f"row {row + 1}, column {name!r}",
                )

    def _detector_columns(self, named: Sequence[str] | None) -> list[str]:
        """The columns of a wide table that are detectors: those named, or those of numbers that are no description."""
        columns = self._source.columns
        for name in named or ():
            if name not in columns:
                raise missing_column(self._source.where, name, columns, "detector")
        chosen = list(named or ())
        if named is None:
            others = [name for name in columns if name not in (self.series, self.metric)]
            described = [name for name in others if _DESCRIPTOR.fullmatch(name) or _INDEX.fullmatch(name)]
            texts = [name for name in others if name not in described and not _mostly_numbers(columns[name])]
            chosen = [name for name in others if name not in described and name not in texts]
            if described or texts:
                others_said = ", ".join(map(in_words, [*described, *texts]))
                self._notes.append(f"{self._source.where}: no detectors, but descriptions of the series: {others_said}")
        if not chosen:
            raise TableError(f"{self._source.where}: no column of numbers is left to be a detector")
        return chosen

    def _named(self, known: tuple[str, ...]) -> str | None:
        by_name = {name.lower(): name for name in self._source.columns}
        return next((by_name[name] for name in known if name in by_name), None)

    def _metric_of_file(self) -> str:
        """The id of the catalogue that the file is named after, or "value"."""
        stem = re.sub(r"[^a-z0-9]+", "_", (self._source.name or "").lower())
        known = (name for name in catalogue(emerging=True) if re.search(rf"(^|_){name}($|_)", stem))
        longest = max(known, key=len, default="")
        if longest:
            self._notes.append(f"{self._source.where}: guessed metric {longest!r} from the name of the file")
        return longest or "value"


def _read(cell: object) -> tuple[float, str]:
    """The number of a cell, or NaN and what stands there instead."""
    if is_missing(cell):
        return math.nan, "missing"
    try:
        number = float(cell)  # type: ignore[arg-type]  # what cannot be converted raises
    except (TypeError, ValueError):
        return math.nan, f"{in_words(cell)} is no number"
    if abs(number) <= _LARGEST:
        return number, ""
    said = in_words(cell if isinstance(cell, str) else number)
    return math.nan, f"{said} is {'too large' if math.isfinite(number) else 'not finite'}"


def _mostly_numbers(column: Any) -> bool:
    readable = sum(not _read(cell)[1] for cell in column.tolist())
    return 2 * readable > len(column)


def _facts(
    known: Mapping[str, Metric | None], higher_is_better: bool | None, notes: list[str], where: str
) -> dict[str, MetricFacts]:
    """Find each metric's direction and best value, and say of which the direction is taken for granted."""
    unknown = [name for name, metric in known.items() if metric is None]
    if unknown and higher_is_better is None:
        are = "is" if len(unknown) == 1 else "are"
        notes.append(f"{where}: {listed(unknown, 8)} {are} not in the catalogue; higher values are taken as better")
    return {
        name: MetricFacts(higher_is_better is not False, None)
        if metric is None
        else MetricFacts(metric.higher_is_better if higher_is_better is None else higher_is_better, metric.best)
        for name, metric in known.items()
    }


_TIMEEVAL_KEYS = ("algorithm", "collection", "dataset")
# What TimeEval and TSB-AD note beside the metrics.
_NO_METRIC = re.compile(
    r"(.*_)?time|repetition|status|.*message|.*type|.*params.*|hyper.*|algo_.*|dataset_.*", re.IGNORECASE
)
# TSB-AD publishes its values in one table per metric, under such a name.
_MERGED = re.compile(r".*merged_?table.*", re.IGNORECASE)


def long_table(folder: Path) -> tuple[dict[str, list[Any]], list[str]]:
    """Read a folder of results of TimeEval or TSB-AD: series, detector, metric and value, and notes on the reading."""
    if (folder / "results.csv").is_file():
        return _timeeval(folder / "results.csv")
    files = sorted(folder.glob("*.csv"))
    if not files:
        runs = sorted(path.parent.name for path in folder.glob("*/results.csv"))
        hint = f"; give the folder of one run, such as {in_words(runs[-1])}" if runs else ""
        raise TableError(
            f"{folder}: there is no results.csv, as TimeEval writes it, nor a CSV file per detector, as TSB-AD does"
            + hint
        )
    return _tsb_ad(folder, files)


def _tsb_ad(folder: Path, files: list[Path]) -> tuple[dict[str, list[Any]], list[str]]:
    rows: list[tuple[str, str, str, Any]] = []
    notes = [f"{folder}: read as results of TSB-AD, {len(files)} detectors, named after their files"]
    for path in files:
        if _MERGED.fullmatch(path.stem):
            raise TableError(
                f"{path}: this is a table with a column per detector, not the results of one: give the file instead of "
                "the folder, with --from-results TABLE"
            )
        columns = read_table(path).columns
        if "file" not in columns:
            raise TableError(
                f"{path}: there is no column 'file' with the names of the series, as TSB-AD's scripts write it"
            )
        metrics = [name for name in columns if name != "file" and not _NO_METRIC.fullmatch(name)]
        failed = []
        for place, name in enumerate(columns["file"].tolist()):
            values = [columns[metric][place] for metric in metrics]
            if len(values) > 1 and all(_read(value) == (0.0, "") for value in values):
                failed.append(place + 1)
                values = [None] * len(values)
            rows += [(str(name), path.stem, metric, value) for metric, value in zip(metrics, values, strict=True)]
        if failed:
            rows_said = f"{'row' if len(failed) == 1 else 'rows'} {listed(failed, 5)}"
            notes.append(
                f"{path}: every metric is 0 in {rows_said}, which TSB-AD's scripts write where a detector failed; it "
                "counts as missing"
            )
    return _columns(rows), notes


def _timeeval(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    columns = read_table(path).columns
    missing = [name for name in _TIMEEVAL_KEYS if name not in columns]
    if missing:
        raise TableError(f"{path}: there is no column {missing[0]!r}, which the results of TimeEval have")
    metrics = [name for name in columns if name not in _TIMEEVAL_KEYS and not _NO_METRIC.fullmatch(name)]
    values: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    detectors = _names_with_settings(columns)
    for place, detector in enumerate(detectors):
        series = f"{columns['collection'][place]}/{columns['dataset'][place]}"
        for metric in metrics:
            values[series, detector, metric].append(columns[metric][place])
    notes = [f"{path}: read as results of TimeEval, metrics {', '.join(metrics)}", *_failures(path, columns, detectors)]
    most = max(map(len, values.values()), default=0)
    if most > 1:
        notes.append(
            f"{path}: up to {most} repetitions, of which the mean counts; one without a value makes it missing"
        )
    return _columns([(*key, _mean(repetitions)) for key, repetitions in values.items()]), notes


def _names_with_settings(columns: Mapping[str, Any]) -> list[str]:
    """Name each row's algorithm, with its settings where it was run with several."""
    algorithms = [str(name) for name in columns["algorithm"].tolist()]
    if "hyper_params_id" not in columns:
        return algorithms
    setting_ids = [str(number) for number in columns["hyper_params_id"].tolist()]
    settings = columns.get("hyper_params")
    ids_of = defaultdict(set)
    for name, setting_id in zip(algorithms, setting_ids, strict=True):
        ids_of[name].add(setting_id)
    return [
        f"{name} ({_settings_in_words(setting_id if settings is None else settings[row], setting_id)})"
        if len(ids_of[name]) > 1
        else name
        for row, (name, setting_id) in enumerate(zip(algorithms, setting_ids, strict=True))
    ]


def _settings_in_words(text: Any, otherwise: str) -> str:
    """Write ``{"lag": 1}`` as ``lag=1``; what is no such text is named by TimeEval's number for it."""
    try:
        settings = json.loads(str(text))
        return ", ".join(f"{name}={value}" for name, value in settings.items()) or "defaults"
    except (ValueError, AttributeError):
        return otherwise


def _failures(path: Path, columns: Mapping[str, Any], detectors: list[str]) -> list[str]:
    """Say how many experiments failed, and why the first one did."""
    if "status" not in columns:
        return []
    states = [str(state) for state in columns["status"].tolist()]
    failed = [place for place, state in enumerate(states) if not state.upper().endswith("OK")]
    if not failed:
        return []
    first = failed[0]
    why = columns["error_message"][first] if "error_message" in columns else None
    reason = states[first] if is_missing(why) else shortened(str(why))
    where = f"{detectors[first]} on {columns['collection'][first]}/{columns['dataset'][first]}"
    counts = f"{len(failed)} of {len(states)} experiments failed and {'has' if len(failed) == 1 else 'have'} no value"
    return [f"{path}: {counts}, the first in row {first + 1}: {where} ({reason})"]


def _mean(values: list[Any]) -> Any:
    """The mean of repetitions; what is no number stands for all of them, so that it is named."""
    read = [_read(value) for value in values]
    odd = [value for value, (_, reason) in zip(values, read, strict=True) if reason]
    return odd[0] if odd else sum(number for number, _ in read) / len(read)


def _columns(rows: list[tuple[str, str, str, Any]]) -> dict[str, list[Any]]:
    plain = ((*names, None if is_missing(value) else value) for *names, value in rows)
    return columns_of(("series", "detector", "metric", "value"), plain)
