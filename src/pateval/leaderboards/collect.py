"""Hands out the work, and collects what comes back, in whatever order, into arrays in the order of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation.bootstrap import FloatArray, Interval
from pateval.evaluation.buffers import EventSpacing
from pateval.evaluation.files import ScoredFiles, binary_note
from pateval.evaluation.measures import Measures
from pateval.evaluation.notes import clock_fields
from pateval.evaluation.run import evaluate_detectors
from pateval.io import TableError
from pateval.io.plan import Plan
from pateval.io.source import Table
from pateval.io.units import CHANCE, LOOK, SCORES, Batch
from pateval.leaderboards import arrays
from pateval.leaderboards import cache as result_cache
from pateval.leaderboards.arrays import ChanceLevels, Entries, MetricFacts, RunTable, cells_of
from pateval.leaderboards.board_files import PartialScores
from pateval.leaderboards.diagnostics import COUNTS, rows_of, series_table, spacings_of, usual_jobs
from pateval.leaderboards.doubt import LabelDoubt
from pateval.leaderboards.result import POOLED, Leaderboard
from pateval.leaderboards.tasks import SeriesResult, Settings, iterate_batch, lost
from pateval.output.progress import Report
from pateval.time.timelines import StepCounts
from pateval.validation.arrays import BoolArray
from pateval.worker_pool import MOST_IN_FLIGHT, WorkerPool

_ChanceKey = tuple[str, tuple[str, ...]]  # of steps, or of one job; and the metrics whose chance hangs on them alone
_LINES_PER_FILE = 20  # most series of one file that are named in the failures
_MOST_CARRYING_BATCHES_IN_FLIGHT = 32
# What is known of a job beside its values; labels and clock are numbers of digests, -1 where they are not known.
_OF_JOB = {"digest": "S32", "labels": "i4", "clock": "i4", "coarse": "?", "seconds": "f8", "done": "?", "computed": "?"}


class Work:
    """Batches go out to workers, with what is known from all files; results go to collector, files and progress."""

    def __init__(
        self, collector: Collector, partial: PartialScores, binary: frozenset[str], keep_going: bool, report: Report
    ) -> None:
        self._collector, self._partial, self._keep_going, self._report = collector, partial, keep_going, report
        self._done: Counter[str] = Counter()
        self._not_kept: Counter[str] = Counter()
        jobs = self._jobs = collector.plan.jobs
        self._binary = np.isin(jobs.detector_code, [d for d, name in enumerate(jobs.detectors) if name in binary])
        first = np.unique(jobs.series_code, return_index=True)[1].tolist()
        self._first = frozenset(job for job in first if jobs.series[jobs.series_code[job]] not in collector.donors)

    def look_for_missing(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Find the steps at which a detector of a series has no score, which are left out for all of them."""
        jobs, absent = self._jobs, self._collector.absent
        known = self._left_out_before()
        for results in self._results((replace(batch, purpose=LOOK) for batch in batches), settings, pool):
            for result in results:
                # A series that cannot be read is reported when its scores are computed.
                if result.absent is not None:
                    key = int(jobs.series_code[result.job]), result.absent.size
                    if key in known and (more := int(np.count_nonzero(result.absent & ~known[key]))):
                        raise TableError(
                            f"detector {jobs[result.job].detector!r} has no score at {more:,} steps of series "
                            f"{jobs[result.job].series!r} that count in the leaderboard; give scores there, or compute "
                            f"the leaderboard again from all files, which leaves them out for all detectors"
                        )
                    absent[key] = result.absent | absent.get(key, np.False_)
            self._done[LOOK] += len(results)
            self._report(LOOK, self._done[LOOK], len(jobs))
        absent |= {key: steps for key, steps in known.items() if steps.any()}

    def _left_out_before(self) -> dict[tuple[int, int], BoolArray]:
        """What is left out of the series that the board has which this is put beside; nothing may be added to it."""
        base, series = self._collector.base, self._jobs.series
        known = {}
        for row in () if base is None else rows_of(base.series_table):
            if row["series"] in series:
                packed = np.frombuffer(bytes.fromhex(row["left_out"] or "00" * (row["recorded"] // 8 + 1)), np.uint8)
                steps = np.unpackbits(packed, count=row["recorded"]).astype(np.bool_)
                known[series.index(row["series"]), row["recorded"]] = steps
        return known

    def compute(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Compute all batches, and hand on every result as it comes."""
        jobs = len(self._jobs)
        if not self._done[SCORES]:
            self._report(SCORES, 0, jobs)
        for results in self._results(map(self._with_what_is_known, batches), settings, pool):
            for result in results:
                if result.bad_input and not self._keep_going:
                    raise TableError(result.failure)
                self._keep(result, settings, pool)
                self._collector.add(result, settings.ids)
                self._partial.add(result, settings.ids)
                self._done[result.purpose] += 1
            for purpose in dict.fromkeys(result.purpose for result in results):
                done = self._done[purpose]
                self._report(purpose, done, max(done, jobs if purpose == SCORES else 0))

    def _results(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> Generator[list[SeriesResult]]:
        """Compute batches somewhere; of those that carry their series, few are under way at a time."""
        in_memory = any(isinstance(source, Table) for source in self._collector.plan.sources)
        most = _MOST_CARRYING_BATCHES_IN_FLIGHT if in_memory else MOST_IN_FLIGHT
        work = partial(iterate_batch, settings=settings)
        with closing(pool.map(work, batches, lost=lost, split=Batch.split, most_in_flight=most)) as arriving:
            yield from arriving

    def _with_what_is_known(self, batch: Batch) -> Batch:
        """Tell a batch what is known of its jobs from all files."""
        numbers = [job.number for job in batch.jobs]
        left_out = ((number, self._collector.left_out(number)) for number in numbers)
        return replace(
            batch,
            left_out={number: np.packbits(steps) for number, steps in left_out if steps is not None},
            binary=frozenset(number for number in numbers if self._binary[number]),
            first=self._first.intersection(numbers),
        )

    def _keep(self, result: SeriesResult, settings: Settings, pool: WorkerPool) -> None:
        """Write a result that was computed on another machine to the cache of this one."""
        line = result.cache_error
        if settings.cache is not None and pool.executor is not None:
            known = result_cache.opened(settings.cache)
            for key, record in result.records.items():
                if record.keys() - known.load(key).keys():
                    line = line or known.store(key, record)
        if line:
            self._not_kept[line] += 1

    def cache_errors(self) -> list[str]:
        """Say what could not be written to the cache."""
        return [f"{line}: {number:,} results are in memory only" for line, number in self._not_kept.items()]


class Collector:
    """Runs of detectors by series by metrics, filled in any order; what comes out does not depend on it.

    Everything is held in arrays, or in entries for what is out of the ordinary, so that memory grows by a few hundred
    bytes for each series of a detector.
    """

    def __init__(self, plan: Plan, settings: Settings, base: Leaderboard | None = None) -> None:
        self.plan, self._settings, self._metrics, self.base = plan, settings, settings.ids, base
        jobs = plan.jobs
        self.entries = Entries.of(jobs.detector_code, jobs.run_code, jobs.runs)
        shape = (len(self.entries.names), len(jobs.series))
        self._moved = np.full((*shape, len(settings.doubt_metrics), settings.doubt_draws), np.nan)
        self._values = np.full((*shape, len(self._metrics)), np.nan)
        self._codes: npt.NDArray[np.integer] = np.zeros(self._values.shape, dtype=np.int16)
        self._texts: dict[str, int] = {"": 0}
        self._columns = {metric: m for m, metric in enumerate(self._metrics)}
        self._known = np.zeros(len(jobs), dtype=list(_OF_JOB.items()))
        self._known[["labels", "clock"]] = -1, -1
        self._digests: dict[str, int] = {}
        self.absent: dict[tuple[int, int], BoolArray] = {}  # steps that are left out for all, by series and its length
        self._levels: dict[_ChanceKey, FloatArray] = {}
        self._chance_keys: dict[int, dict[_ChanceKey, None]] = {}
        self._limits: dict[int, dict[str, list[float]]] = {}
        self._failed: dict[int, tuple[str, bool]] = {}  # why a job came to nothing, and whether the input is to blame
        self._broken: dict[int, dict[str, str]] = {}  # reason to the first metric that broke for it
        self._steps: dict[int, StepCounts] = {}  # of jobs of which steps were left out, or scores are missing
        self._spacings: dict[int, EventSpacing] = {}

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """For each job a number that stands for its labels, -1 where they are not known."""
        return self._known["labels"]

    def left_out(self, job: int) -> BoolArray | None:
        """The steps that are left out for all detectors on the series of a job."""
        jobs = self.plan.jobs
        return self.absent.get((int(jobs.series_code[job]), int(jobs.steps[job])))

    def add(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """Store the result of one job under these metrics; its other metrics may come with another result."""
        job = result.job
        if result.chance_key:
            self._add_chance(result, metrics)
        if result.purpose == CHANCE:
            return
        place, known = (self.entries.of_job[job], self.plan.jobs.series_code[job]), self._known[job]
        for metric, value in result.values.items():
            m = self._columns[metric]
            self._values[*place, m] = value.value
            if value.reason:
                self._codes[*place, m] = self._code(f"failed: {value.reason}" if value.failed else value.reason)
            if value.failed:
                self._broken.setdefault(job, {}).setdefault(value.reason, metric)
        if result.failure:
            self._failed[job] = result.failure, result.bad_input
            code = self._code(result.failure)
            self._codes[*place, [self._columns[metric] for metric in metrics]] = code
        else:
            known["labels"] = self._digests.setdefault(result.labels, len(self._digests))
            known["clock"] = self._digests.setdefault(result.clock, len(self._digests))
            known["digest"] = result.content.encode()
        known["done"], known["coarse"] = True, result.coarse
        known["computed"] |= result.computed
        known["seconds"] += result.seconds
        if result.steps is not None:
            self._steps[job] = result.steps
        if result.spacing is not None:
            self._spacings[job] = result.spacing
        if result.limits:
            self._limits.setdefault(job, {}).update(result.limits)
        for metric, values in result.doubt.items():
            self._moved[*place, self._settings.doubt_metrics.index(metric)] = values

    def _add_chance(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """What random scores reach on the steps is that of all jobs with the same steps; the rest is the job's own.

        Where chance of a metric hangs on one detector and not on another, only the other can tell what is shared.
        """
        shared = tuple(metric for metric in metrics if metric not in result.own_chance)
        for key in ((result.chance_key, shared), (str(result.job), result.own_chance)):
            self._chance_keys.setdefault(result.job, {})[key] = None
            for metric in result.chance.keys() & key[1]:
                levels = self._levels.setdefault(key, np.full(len(self._metrics), np.nan))
                levels[self._columns[metric]] = result.chance[metric]

    def without_chance(self) -> list[int]:
        """Return one job for each of the steps on which it is not known yet what random scores reach."""
        first: dict[_ChanceKey, int] = {}
        for job, keys in sorted(self._chance_keys.items()):
            for key in keys:
                if key[1] and key not in self._levels:
                    first.setdefault(key, job)
        return sorted({*first.values()})

    @cached_property
    def donors(self) -> dict[str, int]:
        """By series of the base a detector whose chance is that of all: no threshold or predictions of its own."""
        base, detectors = self.base, dict[str, int]()
        if base is None or base.chance is None or {*self._metrics} - {*base.metrics}:
            return detectors
        for d in (d for d, name in enumerate(base.detectors) if name not in base.own_signatures):
            for s in np.flatnonzero(base.chance.rows[d] >= 0).tolist():
                detectors.setdefault(base.series[s], d)
        return detectors

    def take_chance(self) -> None:
        """Take what random scores reach from the board that this is put beside, where it hangs on the steps alone."""
        base, jobs = self.base, self.plan.jobs
        if base is None or base.chance is None:
            return
        special = {name for name, _ in self._settings.measures.thresholds}
        columns = [base.metrics.index(metric) for metric in self._metrics if metric in base.metrics]
        for job, keys in self._chance_keys.items():
            series = jobs.series[jobs.series_code[job]]
            if series in self.donors and jobs.detectors[jobs.detector_code[job]] not in special:
                row = base.chance.rows[self.donors[series], base.series.index(series)]
                for key in keys:
                    self._levels.setdefault(key, base.chance.levels[row, columns])

    def counts(self) -> dict[str, int]:
        """How many jobs were computed, came from the cache, and failed."""
        done, computed, failed = int(self._known["done"].sum()), int(self._known["computed"].sum()), len(self._failed)
        return {"computed": computed, "from_cache": done - computed - failed, "failed": failed}

    def _clocks(self) -> list[bool]:
        """Tell of each series of more than one step whether it has a clock whose unit is known."""
        before = [] if self.base is None else spacings_of(self.base.series_table)
        every = (*before, *self._spacings.values())
        return [spacing.interval is not None for spacing in every if spacing.steps > 1]

    def board(self, binary: frozenset[str]) -> Leaderboard:
        """Put the leaderboard together; the scores of the detectors named are predictions."""
        jobs, settings = self.plan.jobs, self._settings
        texts = arrays.number_reasons(self._codes, list(self._texts))
        signatures, own = _signatures(settings, self.plan, binary, self._clocks())
        board = Leaderboard.of_runs(
            (jobs.detectors, jobs.series, self._metrics),
            RunTable(self.entries, self._values, self._by_place(self._known["done"], False), self._codes),
            texts,
            {metric.id: MetricFacts.of(metric) for metric in settings.metrics},
            rank_by=settings.rank_by,
            signatures=signatures,
            own_signatures=own,
            measures=settings.measures,
            chance=self._chance(),
            coverage=self._coverage() if settings.measures.missing != "error" else None,
            intervals=self._intervals(),
            jobs=self._job_columns(),
            series_table=self._series(),
            plan=self.plan,
            notes=self.plan.notes,
            failures=tuple(self._failures()),
        )
        if not settings.doubt:
            return board
        moved = self.entries.mean(self._moved)
        return replace(board, doubt=LabelDoubt.on_board(board, settings.doubt, settings.doubt_metrics, moved))

    def _job_columns(self) -> dict[str, list[Any]]:
        """What is known of each job beside its values, by detector, series and run, as columns."""
        jobs = self.plan.jobs
        order = np.lexsort((jobs.run_code, jobs.series_code, jobs.detector_code))
        known, digests = self._known[order], [*self._digests, None]
        counts = [self._steps.get(job) for job in order.tolist()]
        columns = {
            "detector": [jobs.detectors[code] for code in jobs.detector_code[order].tolist()],
            "series": [jobs.series[code] for code in jobs.series_code[order].tolist()],
            "run": [jobs.runs[code] for code in jobs.run_code[order].tolist()],
            "steps": jobs.steps[order].tolist(),
            "digest": [text or None for text in known["digest"].astype(str).tolist()],
            "labels": [digests[code] for code in known["labels"].tolist()],
            "clock": [digests[code] for code in known["clock"].tolist()],
            "coarse": known["coarse"].tolist(),
            **{name: [steps and getattr(steps, name) for steps in counts] for name in COUNTS},
            "seconds": known["seconds"].round(6).tolist(),
            "cached": (known["done"] & ~known["computed"]).tolist(),
        }
        if not self.entries.has_runs:
            del columns["run"]
        return columns

    def _series(self) -> dict[str, list[Any]]:
        """What all detectors of a series have in common: digests, left-out steps, events; as columns."""
        jobs, digests = self.plan.jobs, list(self._digests)
        spacings = {int(jobs.series_code[job]): asdict(spacing) for job, spacing in self._spacings.items()}
        rows = []
        for s, job in sorted(usual_jobs(self.plan, self.labels).items()):
            left_out = self.left_out(job)
            common = {
                "series": jobs.series[s],
                "recorded": int(jobs.steps[job]),
                "labels": digests[self._known[job]["labels"]],
                "clock": digests[self._known[job]["clock"]],
                "left_out": None if left_out is None else np.packbits(left_out).tobytes().hex(),
            }
            rows.append(spacings.get(s, {}) | common)
        return series_table(rows)

    def _by_place(self, of_job: npt.NDArray[Any], otherwise: Any) -> npt.NDArray[Any]:
        """What jobs have, runs by series; where nothing was done stands something else."""
        placed = np.full(self._values.shape[:2], otherwise, dtype=of_job.dtype)
        done = self._known["done"]
        placed[self.entries.of_job[done], self.plan.jobs.series_code[done]] = of_job[done]
        return placed

    def _intervals(self) -> dict[tuple[str, str], Interval]:
        """Return limits over the events of a single series; of several runs, the mean of their limits."""
        jobs = self.plan.jobs
        by_run: dict[tuple[str, str], list[list[float]]] = {}
        for job, of_metrics in sorted(self._limits.items()):
            for metric, limits in of_metrics.items():
                by_run.setdefault((jobs.detectors[jobs.detector_code[job]], metric), []).append(limits)
        return {key: Interval(*np.mean(limits, axis=0).tolist()) for key, limits in by_run.items()}

    def _coverage(self) -> FloatArray:
        """Share of the steps that were not ignored for which a detector has a score, runs by series."""
        coverage = np.ones(len(self.plan.jobs))
        for job, steps in self._steps.items():
            coverage[job] = steps.coverage
        return self._by_place(coverage, np.nan)

    def _code(self, reason: str) -> int:
        code = self._texts.setdefault(reason, len(self._texts))
        if code > np.iinfo(self._codes.dtype).max:
            self._codes = self._codes.astype(np.int32)
        return code

    def _chance(self) -> ChanceLevels | None:
        """What random scores reach: on the steps, or where it hangs on the detector on those that it predicts."""
        if not self._levels:
            return None
        levels = np.full(self._values.shape, np.nan)
        for job, keys in self._chance_keys.items():
            row = levels[self.entries.of_job[job], self.plan.jobs.series_code[job]]
            for key in keys:
                columns = [self._columns[metric] for metric in key[1]]
                row[columns] = self._levels[key][columns] if key in self._levels else np.nan
        return arrays.levels_of(self.entries.mean(levels))  # averaged over runs like the values

    def _failures(self) -> Iterator[str]:
        """One line per file that cannot be used, and per series that failed."""
        yield from self.plan.failures
        bad: dict[str, list[str]] = {}
        for job, (reason, bad_input) in sorted(self._failed.items()):
            if bad_input:
                bad.setdefault(self.plan.where(job), []).append(reason)
        for lines in bad.values():
            shown, rest = lines[:_LINES_PER_FILE], len(lines) - _LINES_PER_FILE
            if rest > 0:
                shown[-1] += f" (and {rest} more series of this file)"
            yield from shown
        for job in sorted({*self._failed, *self._broken}):
            reason, bad_input = self._failed.get(job, ("", False))
            broken = [f"{metric} failed: {reason}" for reason, metric in self._broken.get(job, {}).items()]
            for line in broken if not reason else [] if bad_input else [reason]:
                unit = self.plan.jobs[job]
                of_run = f", run {unit.run!r}" if unit.run else ""
                yield f"detector {unit.detector!r}, series {unit.series!r}{of_run}: {line}"


def _signatures(
    settings: Settings, plan: Plan, binary: frozenset[str], clocks: Collection[bool]
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What decides a value on one series: by metric, and for detectors with a threshold of their own once more."""
    measures = settings.measures
    is_masked = any(layout.ignore or layout.ignored for layout in plan.layouts)
    steps: dict[str, Any] = {"ignored": "mask"} if is_masked else {}
    steps |= {"missing": measures.missing} if measures.missing != "error" else {}

    def of(own: Measures, given: bool) -> dict[str, str]:
        fields = clock_fields(own, None, clocks)
        return {metric.id: own.signature(metric, given=given, **(steps | fields[metric.id])) for metric in own.metrics}

    special = dict.fromkeys([*dict(measures.thresholds), *sorted(binary)])
    own = {name: of(measures.of_detector(name), name in binary) for name in special}
    return of(measures, False), own


def pooled_board(plan: Plan, settings: Settings) -> Leaderboard:
    """A board whose values go over all steps of a detector's series taken for one sample."""
    recordings = ScoredFiles.read(plan, settings.measures).detectors()
    table = evaluate_detectors(recordings, settings.measures)
    first = next(iter(table.values()))
    names, left_out = settings.ids, first.measures.not_pooled
    cells = [
        (name, POOLED, metric, values[metric], values.reasons.get(metric, ""))
        for name, values in table.items()
        for metric in names
    ]
    levels = np.array([[values.chance.get(metric, np.nan) for metric in names] for values in table.values()])
    return Leaderboard.of_cells(
        cells_of(cells),
        {metric.id: MetricFacts.of(metric) for metric in settings.metrics},
        rank_by=settings.rank_by,
        signatures=first.signatures,
        own_signatures={name: values.signatures for name, values in table.items()},
        measures=settings.measures,
        pooled=len(plan.series),
        chance=ChanceLevels(levels, np.arange(len(table), dtype=np.int32)[:, None])
        if settings.measures.chance
        else None,
        jobs={
            "detector": list(table),
            "series": [POOLED] * len(table),
            "digest": [" ".join(map(result_cache.content_digest, recordings[name])) for name in table],
        },
        plan=plan,
        notes=(
            *plan.notes,
            f"all steps of {len(plan.series)} series are one sample",
            *([f"left out, since series cannot be pooled for them: {', '.join(left_out)}"] if left_out else []),
            *binary_note(frozenset(name for name, values in table.items() if values.given)),
        ),
    )
