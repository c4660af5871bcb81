"""Collects the results of jobs, in whatever order they finish, into arrays in the order of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pateval.evaluation.bootstrap import Interval
from pateval.leaderboards import pooled
from pateval.leaderboards.batches import CHANCE
from pateval.leaderboards.doubt_result import LabelDoubt
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.runs import RunTable
from pateval.leaderboards.summary import ChanceLevels
from pateval.leaderboards.tasks import is_failure
from pateval.leaderboards.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.leaderboards.plan import Plan
    from pateval.leaderboards.summary import MetricFacts
    from pateval.leaderboards.tasks import SeriesResult, Settings
    from pateval.time.timelines import StepCounts


_LINES_PER_FILE = 20  # most series of one file that are named in the failures


@dataclass
class Collector:
    """Runs of detectors by series by metrics, filled in any order; what comes out does not depend on it.

    Everything is held in arrays, or in entries for what is out of the ordinary, so that memory grows by a few hundred
    bytes for each series of a detector.

    Parameters
    ----------
    plan : Plan
        Gives the axes.
    metrics : sequence of str
        The third axis.
    doubt_metrics : sequence of str
        The metrics that are also computed on labels whose edges were moved.
    doubt_draws : int
        How often the edges were moved.

    Attributes
    ----------
    failed : dict
        For jobs that came to nothing: why, and whether the input is to blame.
    steps : dict
        For jobs of which steps were left out, or whose scores are missing in part, how many.
    labels : ndarray
        For each job a number that stands for the digest of its labels, -1 where they are not known.
    """

    plan: Plan
    metrics: Sequence[str]
    doubt_metrics: Sequence[str] = ()
    doubt_draws: int = 0

    def __post_init__(self) -> None:
        jobs = self.plan.jobs
        self.entries = jobs.entries
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
        self.labels = np.full(len(jobs), -1, dtype=np.int32)
        self._levels: dict[int, npt.NDArray[np.float64]] = {}
        self._columns = {metric: m for m, metric in enumerate(self.metrics)}
        self._asked: set[int] = set()
        self.failed: dict[int, tuple[str, bool]] = {}
        self._broken: dict[int, dict[str, str]] = {}  # reason to the first metric that broke for it
        self._counts = pooled.CountsFile()
        self.steps: dict[int, StepCounts] = {}

    def add(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """Store the result of one job under these metrics; its other metrics may come with another result."""
        if result.purpose == CHANCE:
            if result.cells:
                number = self._number(result.labels)
                levels = self._levels.setdefault(number, np.full(len(self.metrics), np.nan))
                for metric, cell in result.cells.items():
                    levels[self._columns[metric]] = cell.value
            return
        job, jobs = result.job, self.plan.jobs
        e, s = int(self.entries.of_job[job]), int(jobs.series_code[job])
        for metric, cell in result.cells.items():
            m = self._columns[metric]
            self._values[e, s, m] = cell.value
            if cell.reason:
                code = self._code(cell.reason)
                self._codes[e, s, m] = code
                if is_failure(cell):
                    self._broken.setdefault(job, {}).setdefault(cell.reason, metric)
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
        self.is_computed[job] |= result.computed
        self._seconds[job] += result.seconds
        for metric, limits in result.limits.items():
            self._limits[job, metric] = Interval(*limits)
        for name, cell in result.doubt.items():
            metric, _, draw = name.rpartition(" draw")
            self._moved[e, s, self.doubt_metrics.index(metric), int(draw)] = cell.value
        for place, counts in enumerate(result.counts):
            self._counts.add(job, place, counts)

    def unknown_labels(self) -> list[int]:
        """Return one job for each distinct labels met since the last call, in the order of the plan."""
        numbers, first = np.unique(self.labels, return_index=True)
        fresh = [
            (int(job), int(n)) for n, job in zip(numbers, first, strict=True) if n >= 0 and int(n) not in self._asked
        ]
        self._asked.update(number for _, number in fresh)
        return sorted(job for job, _ in fresh)

    def known_labels(self) -> list[int]:
        """Return one job for each distinct labels."""
        numbers, first = np.unique(self.labels, return_index=True)
        return sorted(first[numbers >= 0].tolist())

    def pooled(self, settings: Settings) -> dict[tuple[str, str], float]:
        """Return the values over all series of each detector together, series added in the order of the plan.

        Of several runs each is pooled by itself, and the mean over runs is taken.
        """
        found: dict[tuple[str, str], list[float]] = {}
        wanted = pooled.poolable(settings.metrics, settings.parameters, len(self.plan.series))
        for place, buffers in enumerate(settings.pooled_buffers):
            for entry, d in enumerate(self.entries.detector_code.tolist()):
                jobs = np.flatnonzero(self.entries.of_job == entry)
                counts = [of_job for job in jobs if (of_job := self._counts.read(int(job), place)) is not None]
                values = pooled.pooled_values(counts) if counts else {}
                for metric, how in wanted.items():
                    if (how.early, how.delay) == buffers and how.rule in values:
                        found.setdefault((self.plan.detectors[d], metric), []).append(values[how.rule])
        return {key: float(np.mean(values)) for key, values in found.items()}

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
        self, facts: Mapping[str, MetricFacts], settings: Settings, rank_by: str, signatures: Mapping[str, str]
    ) -> Leaderboard:
        """Put the leaderboard together."""
        jobs = self.plan.jobs
        present = np.zeros(self._values.shape[:2], dtype=np.bool_)
        present[self.entries.of_job[self.is_done], jobs.series_code[self.is_done]] = True
        texts = self._number_reasons()
        runs = RunTable(self.entries, self._values, present, self._codes)
        values = self.entries.mean(self._values)
        # A detector that has a value in one of its runs needs no reason.
        reasons = self.entries.first(self._codes, self._codes > 0)
        reasons[~np.isnan(values)] = 0
        return Leaderboard(
            jobs.detectors,
            jobs.series,
            tuple(self.metrics),
            values,
            self.entries.any_run(present),
            reasons,
            texts,
            {metric: facts[metric] for metric in self.metrics},
            rank_by=rank_by,
            signatures=signatures,
            chance=self._chance(),
            pooled=self.pooled(settings),
            coverage=self._coverage() if "missing" in settings.parameters else None,
            intervals=self.intervals(),
            runs=runs if self.entries.has_runs else None,
            doubt=self._doubt(settings, values, facts),
            coarse=tuple(self.coarse_detectors()),
            timings=Timings(
                jobs.detector_code,
                jobs.series_code,
                jobs.steps,
                self._seconds,
                self.is_done & ~self.is_computed,
                tuple(jobs.runs[run] for run in jobs.run_code.tolist()) if self.entries.has_runs else None,
            ),
            contents=self._contents,
            plan=self.plan,
            notes=self.plan.notes,
            failures=tuple(self._failures()),
        )

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

    def close(self) -> None:
        """Delete the temporary file of counts."""
        self._counts.close()

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
        if not self._levels:
            return None
        jobs = self.plan.jobs
        numbers = sorted(self._levels)
        row_of = np.full(len(self._digests) + 1, -1, dtype=np.int32)
        row_of[numbers] = np.arange(len(numbers))
        rows = np.full(self._values.shape[:2], -1, dtype=np.int32)
        rows[self.entries.of_job, jobs.series_code] = row_of[self.labels]  # the last entry stands for no labels
        rows = self.entries.first(rows, rows >= 0).astype(np.int32)
        return ChanceLevels(np.array([self._levels[number] for number in numbers]), rows)

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
            broken = [f"{metric} {reason}" for reason, metric in self._broken.get(job, {}).items()]
            for line in broken if not reason else [] if bad_input else [reason]:
                found = self.plan.jobs[job]
                of_run = f", run {found.run!r}" if found.run else ""
                yield f"detector {found.detector!r}, series {found.series!r}{of_run}: {line}"
