"""Collects the results of jobs, in whatever order they finish, into arrays in the order of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation.bootstrap import Interval
from pateval.io.batches import CHANCE
from pateval.leaderboards.board_files import strings
from pateval.leaderboards.doubt import LabelDoubt
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.statistics import ChanceLevels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pateval.evaluation.buffers import EventSpacing
    from pateval.io.plan import Plan
    from pateval.leaderboards.statistics import MetricFacts
    from pateval.leaderboards.tasks import SeriesResult, Settings
    from pateval.time.timelines import StepCounts

    Codes = npt.NDArray[np.integer[Any]]
    Flags = npt.NDArray[np.bool_]
    Values = npt.NDArray[np.float64]


_ChanceKey = tuple[str, tuple[str, ...]]  # what tells the steps apart, and the metrics whose chance hangs on them alone
_LINES_PER_FILE = 20  # most series of one file that are named in the failures


@dataclass
class Collector:
    """Runs of detectors by series by metrics, filled in any order; what comes out does not depend on it.

    Everything is held in arrays, or in entries for what is out of the ordinary, so that memory grows by a few hundred
    bytes for each series of a detector.
    """

    plan: Plan  # gives the axes
    metrics: Sequence[str]  # the third axis
    doubt_metrics: Sequence[str] = ()  # those that are also computed on labels whose edges were moved
    doubt_draws: int = 0  # how often the edges were moved

    def __post_init__(self) -> None:
        jobs = self.plan.jobs
        self.entries = Entries.of(jobs.detector_code, jobs.run_code, jobs.runs)
        shape = (len(self.entries.names), len(jobs.series))
        self._moved = np.full((*shape, len(self.doubt_metrics), self.doubt_draws), np.nan)
        self._limits: dict[tuple[int, str], Interval] = {}
        self._values = np.full((*shape, len(self.metrics)), np.nan)
        self._codes: npt.NDArray[np.integer] = np.zeros(self._values.shape, dtype=np.int16)
        self._texts: dict[str, int] = {"": 0}
        self.is_done = np.zeros(len(jobs), dtype=np.bool_)
        self.is_computed = np.zeros(len(jobs), dtype=np.bool_)
        self.is_coarse = np.zeros(len(jobs), dtype=np.bool_)
        self._seconds = np.zeros(len(jobs))
        self._contents = np.zeros(len(jobs), dtype="S32")
        self._digests: dict[str, int] = {}
        self.labels = np.full(len(jobs), -1, dtype=np.int32)  # a number for each truth, -1 where it is not known
        self._levels: dict[_ChanceKey, Values] = {}
        self._own_levels: dict[int, dict[str, float]] = {}
        self._chance_keys: dict[int, tuple[_ChanceKey, ...]] = {}
        self._columns = {metric: m for m, metric in enumerate(self.metrics)}
        self.failed: dict[int, tuple[str, bool]] = {}  # why a job came to nothing, and whether the input is to blame
        self._broken: dict[int, dict[str, str]] = {}  # reason to the first metric that broke for it
        self.steps: dict[int, StepCounts] = {}  # of jobs of which steps were left out, or scores are missing
        self.spacings: dict[int, EventSpacing] = {}

    def add(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """Store the result of one job under these metrics; its other metrics may come with another result."""
        self._add_chance(result, metrics)
        if result.purpose == CHANCE:
            return
        job, jobs = result.job, self.plan.jobs
        e, s = int(self.entries.of_job[job]), int(jobs.series_code[job])
        for metric, value in result.values.items():
            m = self._columns[metric]
            self._values[e, s, m] = value.value
            if value.reason:
                self._codes[e, s, m] = self._code(f"failed: {value.reason}" if value.failed else value.reason)
            if value.failed:
                self._broken.setdefault(job, {}).setdefault(value.reason, metric)
        if result.failure:
            self.failed[job] = result.failure, result.bad_input
            code = self._code(result.failure)
            self._codes[e, s, [self._columns[metric] for metric in metrics]] = code
        else:
            self.labels[job] = self._number(result.labels)
            self._contents[job] = result.content.encode()
        self.is_done[job], self.is_coarse[job] = True, result.coarse
        if result.steps is not None:
            self.steps[job] = result.steps
        if result.spacing is not None:
            self.spacings[job] = result.spacing
        self.is_computed[job] |= result.computed
        self._seconds[job] += result.seconds
        for metric, limits in result.limits.items():
            self._limits[job, metric] = Interval(*limits)
        for metric, values in result.doubt.items():
            self._moved[e, s, self.doubt_metrics.index(metric)] = values

    def _add_chance(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """What random scores reach on the steps is that of all jobs with the same steps; the rest is the job's own.

        Where chance of a metric hangs on one detector and not on another, only the other can tell what is shared.
        """
        if not result.chance_key:
            return
        key = result.chance_key, tuple(metric for metric in metrics if metric not in result.own_chance)
        self._chance_keys[result.job] = tuple(dict.fromkeys([*self._chance_keys.get(result.job, ()), key]))
        for metric, level in result.chance.items():
            if metric in result.own_chance:
                self._own_levels.setdefault(result.job, {})[metric] = level
            else:
                levels = self._levels.setdefault(key, np.full(len(self.metrics), np.nan))
                levels[self._columns[metric]] = level

    def without_chance(self) -> list[int]:
        """Return one job for each of the steps on which it is not known yet what random scores reach."""
        first: dict[_ChanceKey, int] = {}
        for job, keys in sorted(self._chance_keys.items()):
            for key in keys:
                if key[1] and key not in self._levels:
                    first.setdefault(key, job)
        return sorted({*first.values()})

    def intervals(self) -> dict[tuple[str, str], Interval]:
        """Return limits over the events of a single series; of several runs, the mean of their limits."""
        jobs = self.plan.jobs
        found: dict[tuple[str, str], list[Interval]] = {}
        for job, metric in sorted(self._limits):
            detector = jobs.detectors[jobs.detector_code[job]]
            found.setdefault((detector, metric), []).append(self._limits[job, metric])
        return {key: Interval(*np.mean(limits, axis=0).tolist()) for key, limits in found.items()}

    def coarse_detectors(self) -> dict[str, tuple[int, int]]:
        """Return the detectors whose scores are coarse on most series: on how many, and on how many there are."""
        jobs = self.plan.jobs
        scored = self.labels >= 0
        has = np.zeros((2, *self._values.shape[:2]), dtype=np.bool_)
        for flags, chosen in zip(has, (scored & self.is_coarse, scored), strict=True):
            flags[self.entries.of_job[chosen], jobs.series_code[chosen]] = True
        coarse, total = (self.entries.any_run(flags).sum(axis=1).tolist() for flags in has)
        counts = dict(zip(jobs.detectors, zip(coarse, total, strict=True), strict=True))
        return {name: (few, every) for name, (few, every) in counts.items() if few > every / 2}

    def board(
        self,
        facts: Mapping[str, MetricFacts],
        settings: Settings,
        rank_by: str,
        signatures: Mapping[str, str],
        own_signatures: Mapping[str, Mapping[str, str]],
    ) -> Leaderboard:
        """Put the leaderboard together."""
        jobs = self.plan.jobs
        present = np.zeros(self._values.shape[:2], dtype=np.bool_)
        present[self.entries.of_job[self.is_done], jobs.series_code[self.is_done]] = True
        texts = self._number_reasons()
        runs = RunTable(self.entries, self._values, present, self._codes)
        values, is_there, reasons = runs.of_detectors()
        return Leaderboard(
            jobs.detectors,
            jobs.series,
            tuple(self.metrics),
            values,
            is_there,
            reasons,
            texts,
            {metric: facts[metric] for metric in self.metrics},
            rank_by=rank_by,
            signatures=signatures,
            own_signatures=own_signatures,
            measures=settings.measures,
            chance=self._chance(),
            coverage=self._coverage() if settings.measures.missing != "error" else None,
            intervals=self.intervals(),
            runs=runs if self.entries.has_runs else None,
            doubt=self._doubt(settings, values, facts),
            coarse=tuple(self.coarse_detectors()),
            timings=self._timings(),
            digests=self._digests_of_jobs(),
            plan=self.plan,
            notes=self.plan.notes,
            failures=tuple(self._failures()),
        )

    def _timings(self) -> Any:
        """How long each job took, in the order of the plan (pyarrow Table)."""
        import pyarrow as pa

        jobs = self.plan.jobs
        return pa.table(
            {
                "detector": strings(jobs.detector_code, jobs.detectors),
                "series": strings(jobs.series_code, jobs.series),
                **({"run": strings(jobs.run_code, jobs.runs)} if self.entries.has_runs else {}),
                "steps": jobs.steps,
                "seconds": self._seconds.round(6),
                "cached": self.is_done & ~self.is_computed,
            }
        )

    def _digests_of_jobs(self) -> dict[tuple[str, str, str], str]:
        jobs = self.plan.jobs
        names = ((jobs.detectors, jobs.detector_code), (jobs.series, jobs.series_code), (jobs.runs, jobs.run_code))
        columns = [[axis[code] for code in codes.tolist()] for axis, codes in names]
        texts = self._contents.astype(str).tolist()
        return {(d, s, r): text for d, s, r, text in zip(*columns, texts, strict=True) if text}

    def _doubt(
        self, settings: Settings, values: npt.NDArray[np.float64], facts: Mapping[str, MetricFacts]
    ) -> LabelDoubt | None:
        if not settings.doubt:
            return None
        columns = [self._columns[metric] for metric in self.doubt_metrics]
        return LabelDoubt(
            settings.doubt,
            self.plan.detectors,
            tuple(self.doubt_metrics),
            values[:, :, columns],
            self.entries.mean(self._moved),
            {metric: facts[metric] for metric in self.doubt_metrics},
        )

    def _coverage(self) -> npt.NDArray[np.float64]:
        """Share of the steps that were not ignored for which a detector has a score, runs by series."""
        entry, series = self.entries.of_job, self.plan.jobs.series_code
        found = np.full(self._values.shape[:2], np.nan)
        found[entry[self.is_done], series[self.is_done]] = 1.0
        for job, steps in self.steps.items():
            found[entry[job], series[job]] = steps.coverage
        return found

    def _code(self, reason: str) -> int:
        code = self._texts.setdefault(reason, len(self._texts))
        if code > np.iinfo(self._codes.dtype).max:
            self._codes = self._codes.astype(np.int32)
        return code

    def _number(self, digest: str) -> int:
        return self._digests.setdefault(digest, len(self._digests))

    def _number_reasons(self) -> tuple[str, ...]:
        """Number the reasons in the order of the table instead of that of arrival."""
        texts, order, known = list(self._texts), [0], {0}
        for codes in self._codes:
            found, first = np.unique(codes, return_index=True)
            order += [code for code in found[np.argsort(first)].tolist() if code not in known]
            known.update(order)
        new = np.zeros(len(texts), dtype=self._codes.dtype)
        new[order] = np.arange(len(order))
        for codes in self._codes:
            codes[...] = new[codes]
        return tuple(texts[code] for code in order)

    def _chance(self) -> ChanceLevels | None:
        """What random scores reach: a row for each distinct steps, or for a job where it hangs on the detector."""
        if not self._levels and not self._own_levels:
            return None
        jobs = self.plan.jobs
        rows: dict[bytes, int] = {}
        levels: list[npt.NDArray[np.float64]] = []
        found = np.full(self._values.shape[:2], -1, dtype=np.int32)
        for job, keys in sorted(self._chance_keys.items()):
            row = np.full(len(self.metrics), np.nan)
            for key in keys:
                shared = [self._columns[metric] for metric in key[1]]
                row[shared] = self._levels[key][shared] if key in self._levels else np.nan
            for metric, level in self._own_levels.get(job, {}).items():
                row[self._columns[metric]] = level
            number = rows.setdefault(row.tobytes(), len(levels))
            if number == len(levels):
                levels.append(row)
            found[self.entries.of_job[job], jobs.series_code[job]] = number
        if not self.entries.has_runs:
            return ChanceLevels(np.array(levels), found)
        # With runs, chance is averaged over them like the values.
        by_run = np.where(found[:, :, None] >= 0, np.array(levels)[found], np.nan)
        means = self.entries.mean(by_run)
        flat = means.reshape(-1, len(self.metrics))
        numbers = np.arange(flat.shape[0], dtype=np.int32).reshape(means.shape[:2])
        return ChanceLevels(flat, np.where(self.entries.any_run(found >= 0), numbers, -1).astype(np.int32))

    def _failures(self) -> Iterator[str]:
        """One line per file that cannot be used, and per series that failed."""
        for failure in self.plan.failures:
            yield failure.reason
        bad: dict[str, list[str]] = {}
        for job in sorted(self.failed):
            reason, bad_input = self.failed[job]
            if bad_input:
                bad.setdefault(self.plan.where(job), []).append(reason)
        for lines in bad.values():
            yield from lines[: _LINES_PER_FILE - 1]
            rest = len(lines) - _LINES_PER_FILE
            for line in lines[_LINES_PER_FILE - 1 : _LINES_PER_FILE]:
                yield line + (f" (and {rest} more series of this file)" if rest > 0 else "")
        for job in sorted({*self.failed, *self._broken}):
            reason, bad_input = self.failed.get(job, ("", False))
            broken = [f"{metric} failed: {reason}" for reason, metric in self._broken.get(job, {}).items()]
            for line in broken if not reason else [] if bad_input else [reason]:
                found = self.plan.jobs[job]
                of_run = f", run {found.run!r}" if found.run else ""
                yield f"detector {found.detector!r}, series {found.series!r}{of_run}: {line}"


@dataclass(frozen=True, eq=False)
class Entries:
    """Every run of every detector, those of a detector together."""

    detector_code: Codes  # number of the detector of each entry, ascending
    names: tuple[str, ...]  # of the run of each entry; empty where a detector has no column of runs
    of_job: Codes  # for each job the number of its entry

    @classmethod
    def of(cls, detector_code: Codes, run_code: Codes, runs: Sequence[str]) -> Entries:
        """Number the runs of each detector, in their order of appearance.

        Examples
        --------
        >>> entries = Entries.of(np.array([0, 0, 1, 0]), np.array([0, 1, 0, 0]), ["a", "b"])
        >>> entries.detector_code.tolist(), entries.names, entries.of_job.tolist()
        ([0, 0, 1], ('a', 'b', 'a'), [0, 1, 2, 0])
        """
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

    def first(self, codes: Codes, usable: Flags) -> Codes:
        """Take for each detector what its first run has where that is usable, else the next; else that of the first."""
        found = codes[self.starts].copy()
        done = usable[self.starts].copy()
        for entry, d in enumerate(self.detector_code.tolist()):
            fresh = usable[entry] & ~done[d]
            found[d][fresh] = codes[entry][fresh]
            done[d] |= fresh
        return found

    def mean(self, values: Values) -> Values:
        """Average over the runs of each detector that have a value.

        Examples
        --------
        >>> entries = Entries.of(np.array([0, 0, 1]), np.array([0, 1, 0]), ["a", "b"])
        >>> entries.mean(np.array([[0.2, 0.4], [0.4, np.nan], [np.nan, 1.0]]))
        array([[0.3, 0.4],
               [nan, 1. ]])
        """
        defined = ~np.isnan(values)
        counts = np.add.reduceat(defined, self.starts, axis=0, dtype=np.intp)
        sums = np.add.reduceat(np.where(defined, values, 0.0), self.starts, axis=0)
        return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)

    def of_detector(self, detector: int) -> slice:
        """Return the entries of one detector."""
        stops = np.append(self.starts[1:], self.detector_code.size)
        return slice(int(self.starts[detector]), int(stops[detector]))


@dataclass(frozen=True, eq=False)
class RunTable:
    """What every run of every detector has."""

    entries: Entries  # which run of which detector
    values: Values  # entries by series by metrics; NaN where undefined, failed or absent
    present: Flags  # entries by series
    reason_codes: Codes  # as values; 0 where there is no reason

    def of_detectors(self) -> tuple[Values, Flags, Codes]:
        """The same of whole detectors: means, where there is a run, and the first reason where no run has a value."""
        means = self.entries.mean(self.values)
        reasons = self.entries.first(self.reason_codes, self.reason_codes > 0)
        reasons[~np.isnan(means)] = 0
        return means, self.entries.any_run(self.present), reasons

    def number(self, detector: int) -> int:
        """Return how many runs a detector has."""
        own = self.entries.of_detector(detector)
        return own.stop - own.start

    def spread(self, detector: int, metric: int) -> float | None:
        """Return the standard deviation over runs (n - 1) of the mean over the series that all its runs have.

        None where there are fewer than two runs, or no such series.
        """
        values = self.values[self.entries.of_detector(detector), :, metric]
        common = values[:, ~np.isnan(values).any(axis=0)]
        if len(common) < 2 or not common.shape[1]:
            return None
        return float(np.std(common.mean(axis=1), ddof=1))

    def partly_defined(self) -> Flags:
        """Tell for detectors by series by metrics where only some of the runs that are there have a value."""
        missing = np.isnan(self.values) & self.present[:, :, None]
        return self.entries.any_run(missing) & self.entries.any_run(~np.isnan(self.values))
