"""A leaderboard of values that somebody else computed: ranks, groups and tests, whether or not the values are right.

The table is long (a row per series and detector, perhaps a metric column) or wide (a row per series, a column per
detector, perhaps a metric column). Columns that describe a series, such as its length, are no detectors.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.catalog import catalogue
from pateval.io import ParquetFiles, Table, TableError, as_table
from pateval.io.source import is_missing, missing_column
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.result_folders import long_table
from pateval.leaderboards.summary import MetricFacts
from pateval.validation.wording import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
_CELLS_SHOWN = 5
_Cell = tuple[str, str, str, object, str]  # metric, series, detector, what stands there, and where


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
    table, read_notes = (data, []) if folder is None else long_table(folder)
    source = _in_memory(as_table(table))
    if folder is not None:
        source = replace(source, where=str(folder))
    notes = [*read_notes, *source.notes]
    # How a folder was read is said above; that it became a long table on the way is nobody's concern.
    names = _Columns(source, series, detector, value, metric, notes if folder is None else [])
    cells = list(names.long_cells() if names.is_long else names.wide_cells(detectors))
    if not cells:
        raise TableError(f"{source.where}: there is no value in the table")
    metrics = tuple(dict.fromkeys(cell[0] for cell in cells))
    all_series = tuple(dict.fromkeys(cell[1] for cell in cells))
    all_detectors = tuple(dict.fromkeys(cell[2] for cell in cells))
    places = [{name: number for number, name in enumerate(axis)} for axis in (metrics, all_series, all_detectors)]
    shape = len(all_detectors), len(all_series), len(metrics)
    values, present, codes = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int32)
    reasons: list[str] = [""]
    odd: list[str] = []
    for name, one_series, one_detector, cell, where in cells:
        place = places[2][one_detector], places[1][one_series], places[0][name]
        if present[place]:
            raise TableError(
                f"{source.where}: a second value of detector {in_words(one_detector)} on series {in_words(one_series)} "
                f"stands in {where}"
            )
        present[place] = True
        number, reason = _read(cell)
        values[place] = number
        if folder is not None:
            where = f"{name} of {one_detector} on {one_series}"
        if reason:
            odd.append(f"{where} ({reason})")
            codes[place] = len(reasons)
            reasons.append(f"{reason}, {where}")
    if not present.all():
        codes[~present] = len(reasons)
        reasons.append("not in the table")
    if odd:
        more = f" and {len(odd) - _CELLS_SHOWN:,} more" if len(odd) > _CELLS_SHOWN else ""
        notes.append(f"{source.where}: no value in {'; '.join(odd[:_CELLS_SHOWN])}{more}")
    return Leaderboard(
        all_detectors,
        all_series,
        metrics,
        values,
        np.ones(shape[:2], dtype=np.bool_),
        codes,
        tuple(reasons),
        _facts(metrics, higher_is_better, notes, source.where),
        rank_by=rank_by or "",
        notes=tuple(notes),
        warnings=(UNCHECKED,),
        run={"inputs": [source.where], "computed_elsewhere": True},
    )


class _Columns:
    """Which column of a table of values is what."""

    def __init__(
        self,
        source: Table,
        series: str | None,
        detector: str | None,
        value: str | None,
        metric: str | None,
        notes: list[str],
    ) -> None:
        self._source, self._notes = source, notes
        columns = source.columns
        for name in (series, detector, value):
            if name is not None and name not in columns:
                raise missing_column(source.where, name, columns)
        self.detector = detector or self._named(_DETECTORS)
        self.value = value or (self._named(_VALUES) if self.detector else None)
        self.metric = self._named(_METRICS)
        self._one_metric = metric or ("" if self.metric else self._metric_of_file())
        self.series = series or self._named(_SERIES) or self._first_text()
        self.is_long = self.detector is not None and self.value is not None
        if self.series is None:
            raise TableError(f"{source.where}: no column looks like the names of series; name it with --series")
        shape = "long" if self.is_long else "wide"
        notes.append(f"{source.where}: read as a {shape} table of values, with the series in {self.series!r}")

    def long_cells(self) -> Iterator[_Cell]:
        columns = self._source.columns
        for row in range(self._source.rows):
            yield (
                self._metric_in(row),
                str(columns[str(self.series)][row]),
                str(columns[str(self.detector)][row]),
                columns[str(self.value)][row],
                f"row {row + 1}, column {self.value!r}",
            )

    def wide_cells(self, detectors: Sequence[str] | None) -> Iterator[_Cell]:
        columns = self._source.columns
        if detectors is None:
            others = [name for name in columns if name not in (self.series, self.metric)]
            described = [name for name in others if _DESCRIPTOR.fullmatch(name)]
            texts = [name for name in others if name not in described and not _mostly_numbers(columns[name])]
            chosen = [name for name in others if name not in described and name not in texts]
            if described or texts:
                others_said = ", ".join(map(in_words, [*described, *texts]))
                self._notes.append(f"{self._source.where}: no detectors, but descriptions of the series: {others_said}")
        else:
            chosen = list(detectors)
            for name in chosen:
                if name not in columns:
                    raise missing_column(self._source.where, name, columns, "detector")
        if not chosen:
            raise TableError(f"{self._source.where}: no column of numbers is left to be a detector")
        for row in range(self._source.rows):
            for name in chosen:
                yield (
                    self._metric_in(row),
                    str(columns[str(self.series)][row]),
                    name,
                    columns[name][row],
                    f"row {row + 1}, column {name!r}",
                )

    def _metric_in(self, row: int) -> str:
        return self._one_metric or str(self._source.columns[str(self.metric)][row])

    def _named(self, known: tuple[str, ...]) -> str | None:
        by_name = {name.lower(): name for name in self._source.columns}
        return next((by_name[name] for name in known if name in by_name), None)

    def _first_text(self) -> str | None:
        kinds = self._source.kinds()
        return next((name for name, kind in kinds.items() if kind == "text"), None)

    def _metric_of_file(self) -> str:
        """The id of the catalogue that the file is named after, or "value"."""
        stem = re.sub(r"[^a-z0-9]+", "_", (self._source.name or "").lower())
        known = (name for name in catalogue(emerging=True) if re.search(rf"(^|_){name}($|_)", stem))
        found = max(known, key=len, default="")
        if found:
            self._notes.append(f"{self._source.where}: guessed metric {found!r} from the name of the file")
        return found or "value"


def _in_memory(source: Table | ParquetFiles) -> Table:
    if isinstance(source, Table):
        return source
    names = list(source.kinds())
    parts = [columns for _, columns in source.batches(names)]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in names}
    return Table(source.name, joined, source.where)


def _read(cell: object) -> tuple[float, str]:
    """The number of a cell, or NaN and what stands there instead."""
    if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
        return math.nan, "missing"
    try:
        number = float(cell)  # type: ignore[arg-type]  # what cannot be converted raises
    except (TypeError, ValueError):
        return math.nan, f"{in_words(cell)} is no number"
    return (number, "") if math.isfinite(number) else (math.nan, f"{in_words(cell)} is not finite")


def _mostly_numbers(column: Any) -> bool:
    readable = sum(not _read(cell)[1] for cell in column.tolist())
    return 2 * readable > len(column)


def _facts(
    metrics: Sequence[str], higher_is_better: bool | None, notes: list[str], where: str
) -> dict[str, MetricFacts]:
    """Find each metric's direction and best value, and say of which the direction is taken for granted."""
    known = {name: catalogue(emerging=True).get(name.partition("(")[0]) for name in metrics}
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
