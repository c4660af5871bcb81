"""The values of a board as arrays: runs of detectors by series by metrics, and what they are of whole detectors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import Metric
from pateval.evaluation.bootstrap import FloatArray, MeanBootstrap
from pateval.evaluation.values import deviation
from pateval.io import TableError
from pateval.io.content import arrow, has_arrow
from pateval.io.plan import Plan
from pateval.leaderboards.significance import rank_table
from pateval.output.results import columns_of
from pateval.validation.arrays import IntArray
from pateval.validation.wording import in_words

Codes = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]

AXES = ("detector", "series", "metric")


@dataclass(frozen=True, eq=False)
class Entries:
    """Every run of every detector, those of a detector together."""

    detector_code: Codes  # number of the detector of each entry, ascending
    names: tuple[str, ...]  # of the run of each entry; empty where a detector has no column of runs
    of_job: Codes  # for each job, or row of a table, the number of its entry

    @classmethod
    def of(cls, detector_code: Codes, run_code: Codes, runs: Sequence[str]) -> Entries:
        """Number the runs of each detector, in the order of their names' numbers."""
        combined = detector_code.astype(np.int64) * len(runs) + run_code
        known, of_job = np.unique(combined, return_inverse=True)
        names = tuple(runs[run] for run in (known % max(len(runs), 1)).tolist())
        return cls(known // max(len(runs), 1), names, of_job)

    @property
    def has_runs(self) -> bool:
        """Whether there is a column of runs."""
        return any(self.names)

    @cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where the entries of each detector begin."""
        return np.flatnonzero(np.diff(self.detector_code, prepend=-1))

    def any_run(self, flags: Flags) -> Flags:
        """Tell for each detector whether something holds in one of its runs; the first axis is that of entries."""
        return np.asarray(np.logical_or.reduceat(flags, self.starts, axis=0))

    def first(self, codes: Codes) -> Codes:
        """Return for each detector the code of its first run that has one."""
        codes_of_detectors = codes[self.starts]
        for entry, d in enumerate(self.detector_code.tolist()):
            np.copyto(codes_of_detectors[d], codes[entry], where=codes_of_detectors[d] == 0)
        return codes_of_detectors

    def mean(self, values: FloatArray) -> FloatArray:
        """Average over the runs of each detector that have a value."""
        defined = ~np.isnan(values)
        counts = np.add.reduceat(defined, self.starts, axis=0, dtype=np.intp)
        sums = np.add.reduceat(np.where(defined, values, 0.0), self.starts, axis=0)
        means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        low, high = (limit.reduceat(values, self.starts, axis=0) for limit in (np.fmin, np.fmax))
        return np.where(low == high, low, means)  # without rounding where all are the same

    def of_detector(self, detector: int) -> slice:
        """Return the entries of one detector."""
        stops = np.append(self.starts[1:], self.detector_code.size)
        return slice(int(self.starts[detector]), int(stops[detector]))


@dataclass(frozen=True, eq=False)
class RunTable:
    """What every run of every detector has."""

    entries: Entries  # which run of which detector
    values: FloatArray  # entries by series by metrics; NaN where undefined, failed or absent
    present: Flags  # entries by series
    reason_codes: Codes  # as values; 0 where there is no reason

    def of_detectors(self) -> tuple[FloatArray, Flags, Codes]:
        """The same of whole detectors: means, where there is a run, and the first reason where no run has a value."""
        means = self.entries.mean(self.values)
        reasons = self.entries.first(self.reason_codes)
        reasons[~np.isnan(means)] = 0
        return means, self.entries.any_run(self.present), reasons

    def number(self, detector: int) -> int:
        """Return how many runs a detector has."""
        own = self.entries.of_detector(detector)
        return own.stop - own.start

    def spread(self, detector: int, metric: int) -> float | None:
        """Return the standard deviation over runs (n - 1), if there are two, of the mean over the series they share."""
        values = self.values[self.entries.of_detector(detector), :, metric]
        common = values[:, ~np.isnan(values).any(axis=0)]
        return deviation(common.mean(axis=1)) if common.shape[1] else None

    def partly_defined(self) -> Flags:
        """Tell for detectors by series by metrics where only some of the runs that are there have a value."""
        missing = np.isnan(self.values) & self.present[:, :, None]
        return self.entries.any_run(missing) & self.entries.any_run(~np.isnan(self.values))


@dataclass(frozen=True)
class MetricFacts:
    """Which way a metric points, what a perfect detector gets (None where nothing is best), and what it takes."""

    higher_is_better: bool = True
    best: float | None = 1.0
    needs_threshold: bool = False

    @classmethod
    def of(cls, metric: Metric) -> MetricFacts:
        """Take them from the catalogue."""
        return cls(metric.higher_is_better, metric.best, metric.needs_threshold)


@dataclass(frozen=True)
class ChanceLevels:
    """What random scores reach, once for each distinct labels."""

    levels: FloatArray  # distinct labels by metrics
    rows: npt.NDArray[np.int32]  # detectors by series: the row of levels of their labels, -1 where there is none

    def at(self, detectors: Any, series: Any, metrics: Any) -> FloatArray:
        """Return the levels at some places."""
        rows = self.rows[detectors, series]
        return np.asarray(np.where(rows >= 0, self.levels[rows, metrics], np.nan))

    def of_metric(self, metric: int) -> FloatArray:
        """Return the levels of one metric, detectors by series."""
        return self.at(slice(None), slice(None), metric)


@dataclass(frozen=True)
class MetricRanks:
    """Mean ranks of the detectors that have any value of a metric; others would leave no series to compare on."""

    ranked: IntArray  # their numbers, in the order of the leaderboard
    means: FloatArray  # of all detectors, NaN for the others
    used: int  # series where all of them have a value
    dropped: int

    def best_first(self) -> list[int]:
        """Return the detectors in the order of their mean ranks, then of the leaderboard."""
        order: list[int] = self.ranked[np.argsort(self.means[self.ranked], kind="stable")].tolist()
        return order


def rank_detectors(table: FloatArray, facts: MetricFacts) -> MetricRanks:
    """Rank the detectors by the values of one metric, given as series by detectors."""
    ranked = np.flatnonzero(~np.isnan(table).all(axis=0))
    ranks = rank_table(table[:, ranked], higher_is_better=facts.higher_is_better)
    means = np.full(table.shape[1], np.nan)
    means[ranked] = ranks.mean
    return MetricRanks(ranked, means, ranks.used, ranks.dropped)


def mean_limits(values: FloatArray) -> FloatArray:
    """Return bootstrap limits of means over series, as (low, high); columns defined alike share their resamples."""
    detectors, series, metrics = values.shape
    limits = np.full((detectors, metrics, 2), np.nan)
    defined_alike: dict[bytes, list[tuple[int, int]]] = {}
    for d in range(detectors):
        packed = np.packbits(~np.isnan(values[d]), axis=0)
        for m in range(metrics):
            defined_alike.setdefault(packed[:, m].tobytes(), []).append((d, m))
    for pattern, columns in defined_alike.items():
        defined = np.unpackbits(np.frombuffer(pattern, dtype=np.uint8), count=series).astype(np.bool_)
        bootstrap = MeanBootstrap(int(defined.sum()))
        for first in range(0, len(columns), 128):
            d, m = np.array(columns[first : first + 128]).T
            limits[d, m] = bootstrap.intervals(values[d[None, :], np.flatnonzero(defined)[:, None], m[None, :]])
    return limits


def mean(values: FloatArray) -> float | None:
    """Return the mean of the defined values, None where there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def number(value: float) -> float | None:
    """Return a number, or None for NaN."""
    return None if math.isnan(value) else float(value)


def skill(value: npt.ArrayLike, chance: npt.ArrayLike, *, best: float | None = 1.0) -> Any:
    r"""Share of the way from chance to perfection, :math:`(value - chance) / (best - chance)`.

    0 is what random scores reach, 1 is perfect, below 0 is worse than chance. NaN where chance is already perfect, or
    nothing is best.
    """
    values, level = np.asarray(value, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    room = (math.nan if best is None else best) - level
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(room) > 1e-12, (values - level) / room, np.nan)


def arrange(
    table: Any, axes: Sequence[Sequence[str]] | None = None, where: object = ""
) -> tuple[tuple[tuple[str, ...], ...], RunTable, tuple[str, ...], FloatArray | None, FloatArray | None]:
    """Put rows of a table (of pyarrow) in the places of their names: axes, runs, texts of reasons, coverage and chance.

    Without ``axes`` names are in order of appearance; with them others are refused.
    """
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    names = tuple(tuple(axis) for axis in axes or (columns[name].unique().to_pylist() for name in AXES))
    d, s, m = (codes_of(columns[name], axis, where) for name, axis in zip(AXES, names, strict=True))
    if names[0] and (missing := np.setdiff1d(np.arange(len(names[0])), d)).size:
        name = in_words(names[0][missing[0]])
        raise TableError(f"{where}: {name} is in run.json and not in scores.parquet; compute the leaderboard again")
    run_names = in_order(columns["run"].unique().to_pylist()) if "run" in columns else ("",)
    run_code = codes_of(columns["run"], run_names, where) if "run" in columns else np.zeros_like(d)
    entries = Entries.of(d, run_code, run_names)
    places, shape = (entries.of_job, s, m), (len(entries.names), len(names[1]), len(names[2]))

    def numbers(name: str, axes: int = 3) -> FloatArray | None:
        if name not in columns:
            return None
        placed = np.full(shape[:axes], np.nan)
        placed[places[:axes]] = columns[name].to_numpy(zero_copy_only=False)
        return placed

    present, codes = np.zeros(shape[:2], dtype=np.bool_), np.zeros(shape, dtype=np.int32)
    present[places[:2]] = True
    texts = ("", *(text for text in columns["reason"].unique().to_pylist() if text is not None))
    codes[places] = codes_of(columns["reason"].fill_null(""), texts, where)
    reasons = number_reasons(codes, texts)
    runs = RunTable(entries, np.asarray(numbers("value")), present, codes)
    return names, runs, reasons, numbers("coverage", 2), numbers("chance")


def number_reasons(codes: Codes, texts: Sequence[str]) -> tuple[str, ...]:
    """Number reasons in the order in which they stand in an array, and return them; the first is that of none."""
    order, known = [0], {0}
    for part in codes:
        codes_there, first = np.unique(part, return_index=True)
        order += [code for code in codes_there[np.argsort(first)].tolist() if code not in known]
        known.update(order)
    new = np.zeros(len(texts), dtype=codes.dtype)
    new[order] = np.arange(len(order))
    for part in codes:
        part[...] = new[part]
    return tuple(texts[code] for code in order)


def levels_of(chance: FloatArray) -> ChanceLevels | None:
    """What random scores reach, given as the values are, once for each distinct steps."""
    rows: dict[bytes, int] = {}
    places = np.full(chance.shape[:2], -1, dtype=np.int32)
    for d, s in np.argwhere(~np.isnan(chance).all(axis=2)).tolist():
        places[d, s] = rows.setdefault(chance[d, s].tobytes(), len(rows))
    if not rows:
        return None
    levels = np.frombuffer(b"".join(rows), dtype=np.float64).reshape(len(rows), chance.shape[2])
    return ChanceLevels(levels, places)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names as people count, "s2" before "s10", so that the order does not depend on who came first."""

    def key(name: str) -> tuple[Any, ...]:
        parts = re.split("([0-9]+)", name)
        parts[1::2] = [f"{len(digits.lstrip('0')):09}{digits.lstrip('0')}" for digits in parts[1::2]]
        return tuple(parts), name

    return tuple(sorted(set(names), key=key))


def by_name(plan: Plan, jobs: npt.NDArray[Any] | None = None) -> Plan:
    """A plan, or the part of it with some jobs, with the names that these have, in order."""
    table = plan.jobs
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    changed: dict[str, Any] = {
        name: array if jobs is None else array[jobs] for name, array in columns.items() if isinstance(array, np.ndarray)
    }
    for axis, codes in (("detectors", "detector_code"), ("series", "series_code"), ("runs", "run_code")):
        used, of_job = np.unique(changed[codes], return_inverse=True)
        names = [columns[axis][code] for code in used]
        changed[axis] = in_order(names)
        places = {name: place for place, name in enumerate(changed[axis])}
        changed[codes] = np.array([places[name] for name in names], dtype=np.int32)[of_job]
    return replace(plan, jobs=replace(table, **changed))


def cells_of(rows: Iterable[Sequence[Any]], names: Sequence[str] = (*AXES, "value", "reason")) -> Any:
    """A table of values with their reasons, null where there is none (pyarrow Table)."""
    columns = columns_of(names, rows)
    columns["reason"] = [reason or None for reason in columns["reason"]]
    return table_of(columns)


_FLAGS = ("coarse", "cached")
_FLOATS = (
    *("value", "seconds", "mean", "median", "low", "high", "chance", "skill", "mean_rank", "run_std", "coverage"),
    *("doubt_std", "rank_kept", "control_p"),
)
_COUNTS = (
    *("n", "undefined", "runs", "series_used", "series_dropped"),
    *("steps", "recorded", "ignored", "missing", "evaluated", "events", "events_left_out"),
    *("shortest", "typical", "longest", "gap", "period", "suggested"),
)


def table_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A table (of pyarrow) whose columns are texts, numbers or flags by their names, whatever they hold."""
    pa = arrow()
    kinds = dict.fromkeys(_FLOATS, pa.float64()) | dict.fromkeys(_FLAGS, pa.bool_())
    kinds |= dict.fromkeys(_COUNTS, pa.int64())
    return pa.table({name: pa.array(column, kinds.get(name, pa.string())) for name, column in columns.items()})


def written_columns(table: Any) -> dict[str, list[Any]]:
    """Columns of a table that `table_of` made; refused where they are of other kinds by now."""
    columns: dict[str, list[Any]] = table.to_pydict()
    if not table_of(columns).schema.equals(table.schema):
        raise TypeError(f"columns of other kinds than were written: {', '.join(map(str, table.schema.types))}")
    return columns


def codes_of(column: Any, names: Sequence[str], where: object) -> npt.NDArray[np.intp]:
    """Numbers of the names in a column."""
    encoded = column.dictionary_encode()
    places = {name: place for place, name in enumerate(names)}
    known = encoded.dictionary.to_pylist()
    for name in known:
        if name not in places:
            raise TableError(
                f"{where}: {in_words(name)} is in its tables and not in run.json; compute the leaderboard again"
            )
    return np.array([places[name] for name in known], dtype=np.intp)[encoded.indices.to_numpy()]


def strings(codes: npt.NDArray[Any], names: Sequence[str], nulls: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return names by their numbers, as a column of texts (of pyarrow, where that is); null where asked for."""
    if not has_arrow():
        texts = np.array([*names, None], dtype=object)
        return texts[codes if nulls is None else np.where(nulls, len(names), codes)]
    pa = arrow()
    indices = pa.array(codes.astype(np.int32), mask=nulls)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())
