"""What a worker does: read a batch of series, compute all that is wanted of each, keep each result as it is finished.

Every series is read once: metrics, chance, coarseness, digests, limits over events and moved labels all come from the
same recording. Nothing raises from here: a series that cannot be read or computed comes back as a result with its
reason.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np

from pateval._version import __version__
from pateval.catalog import MetricLike, default_rank_by
from pateval.catalog.metric import Metric
from pateval.evaluation.buffers import EventSpacing
from pateval.evaluation.chance import chance_key, chance_of, own_and_shared
from pateval.evaluation.files import recording_of
from pateval.evaluation.measures import Measures
from pateval.evaluation.pieces import event_intervals
from pateval.evaluation.threshold_rules import uses_training_scores
from pateval.evaluation.together import MOST_STEPS, computes_together, values_together
from pateval.evaluation.values import Value, values_of
from pateval.io import ScoredSeries, TableError, Unit
from pateval.io.content import has_arrow
from pateval.io.units import CHANCE, LOOK, SCORES, Batch, read_batch
from pateval.kernels.precision_recall import coarseness
from pateval.leaderboards import cache as result_cache
from pateval.leaderboards.doubt import DOUBT_DRAWS, doubt_in_steps, moved_labels, read_doubt
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, StepCounts
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, count, positive_integer, without_gaps
from pateval.validation.wording import in_words, named_error
from pateval.worker_pool import ATTEMPTS, WorkerPool, missing_modules, stopped

# Metrics of the catalogue quick enough to be computed some hundred times for the limits of a single series.
EVENT_METRICS = ("pate", "pate_ap", "auc_roc", "average_precision")


@dataclass(frozen=True)
class Settings:
    """What is computed for every series, the same for all workers."""

    measures: Measures  # metrics with their options, chance and seed
    tokens: dict[str, str | None]  # what results of a metric are kept under, if at all
    rank_by: str  # the metric that orders the detectors
    cache: str | None = None  # folder of finished results
    code: str = ""  # how this package evaluates; a worker that runs other code refuses
    event_draws: int | None = 0  # resamples of events for the limits of a single series; None: as many as is usual
    event_metrics: tuple[str, ...] = ()  # those that get such limits
    doubt: int | str = 0  # how far the edges of events may move, in steps or as a duration
    doubt_draws: int = 0  # how often they are moved
    doubt_metrics: tuple[str, ...] = ()  # those that are computed each time

    @classmethod
    def of(
        cls,
        measures: Measures,
        *,
        rank_by: MetricLike | None = None,
        is_named: bool = True,
        cache: str | os.PathLike[str] | None = None,
        event_draws: int | None = None,
        doubt: int | Duration | None = None,
        doubt_draws: int = DOUBT_DRAWS,
    ) -> Settings:
        """Check what is computed beside the measures; ``is_named`` says whether the caller has named the metrics."""
        if cache is not None and not isinstance(cache, (str, os.PathLike)):
            raise TypeError(f"cache must be the path of a folder; got {in_words(cache)}")
        return cls(
            measures,
            {metric.id: metric.cache_token() for metric in measures.metrics},
            _ranking(rank_by, measures),
            cache=None if cache is None else os.fspath(cache),
            code=result_cache.fingerprint(),
            event_draws=None if event_draws is None else count(event_draws, "event_draws"),
            event_metrics=tuple(metric for metric in measures.ids if is_named or metric in EVENT_METRICS),
            doubt=read_doubt(doubt),
            doubt_draws=count(positive_integer(doubt_draws, "doubt_draws"), "doubt_draws"),
            doubt_metrics=measures.ids if is_named else (),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Metric ids, in the order of the table."""
        return self.measures.ids

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in the order of the table."""
        return self.measures.metrics

    def record(self) -> dict[str, Any]:
        """Plain data that says what was computed; metrics of the user's own with the module they are in."""
        doubt = {"amount": self.doubt, "draws": self.doubt_draws, "metrics": list(self.doubt_metrics)}
        return {
            "measures": self.measures.record() | {"metrics": [_spelling(metric) for metric in self.metrics]},
            "event_draws": self.event_draws,
            "event_metrics": list(self.event_metrics),
            "doubt": doubt if self.doubt else None,
        }

    def restricted(self, metrics: Sequence[Metric]) -> Settings:
        """The same for some of the metrics."""
        ids = {metric.id for metric in metrics}
        return replace(
            self,
            measures=replace(self.measures, metrics=tuple(metrics)),
            event_metrics=tuple(name for name in self.event_metrics if name in ids),
            doubt_metrics=tuple(name for name in self.doubt_metrics if name in ids),
        )


def _ranking(rank_by: MetricLike | None, measures: Measures) -> str:
    """The metric to rank by; one that is not computed is refused."""
    if rank_by is None:
        return default_rank_by(measures.ids)
    metric = measures.id_of(rank_by if isinstance(rank_by, str) else measures.find([rank_by])[0].id)
    if metric not in measures.ids:
        raise ValueError(
            f"rank_by must be one of the metrics computed ({', '.join(measures.ids[:8])}"
            f"{', ...' if len(measures.ids) > 8 else ''}), so add it to them; got {in_words(rank_by)}"
        )
    return metric


def _spelling(metric: Metric) -> str:
    """A text that names a metric to another process: its id, with the module of a user's own where it has one."""
    if metric.in_package:
        return metric.id
    name = metric.name if metric.field is None else metric.name.removesuffix(f"_{metric.field}")
    bare = replace(metric, id=name, field=None, options={}, threshold=None)
    module, written = getattr(metric.function, "__module__", ""), metric.imported_as
    for attribute, item in vars(sys.modules.get(module)).items() if module in sys.modules and not written else ():
        if isinstance(item, Metric) and item == bare:
            written = f"{module}:{attribute}"
    qualified = getattr(metric.function, "__qualname__", "")
    if not written and metric.importable and qualified.rpartition(".")[2] == name:
        written = f"{module}:{qualified}"
    return f"{written}{metric.id[len(name) :]}" if written else metric.id


@dataclass(slots=True)
class SeriesResult:
    """What became of one job."""

    job: int  # its place in the plan
    purpose: str = SCORES
    values: dict[str, Value] = field(default_factory=dict)  # by metric; empty where the job failed as a whole
    chance: dict[str, float] = field(default_factory=dict)  # what random scores reach, as far as it was found out
    own_chance: tuple[str, ...] = ()  # metrics under which that hangs on how many steps the detector predicts
    chance_key: str = ""  # equal where random scores reach the same under all other metrics
    limits: dict[str, list[float]] = field(default_factory=dict)  # over events, where asked for
    doubt: dict[str, list[float]] = field(default_factory=dict)  # values on labels whose edges were moved
    failure: str = ""  # why the job failed
    bad_input: bool = False  # the file is to blame, not the computation
    labels: str = ""  # digest of the labels
    clock: str = ""  # digest of the times, where values hang on them
    content: str = ""  # digest of all that the values were computed from
    spacing: EventSpacing | None = None  # how events lie, for jobs that are the first of their series
    coarse: bool = False  # the scores have at most two distinct values, or one that most steps share
    seconds: float = 0.0  # that the metrics took, now or when they were first computed
    computed: bool = False  # False where everything came from the cache
    records: dict[str, dict[str, Any]] = field(default_factory=dict)  # what is to be kept in the cache, by key
    cache_error: str = ""  # one line where the result could not be written to the cache
    steps: StepCounts | None = None  # how many steps and events were left out, where any were
    absent: BoolArray | None = None  # where scores are missing, for the pass that looks for them


def divided(settings: Settings, pool: WorkerPool) -> tuple[Settings, Settings, list[str]]:
    """Divide the metrics into those that workers can import and those that this process computes, with a note."""
    missing: list[str] = []
    foreign = tuple({metric.function.__module__: None for metric in settings.metrics if not metric.in_package})
    if pool.executor is not None and foreign:  # processes of our own have the same path as we
        for _ in range(ATTEMPTS):
            # A worker that cannot answer fails again, with a message, when it is given a batch.
            with suppress(Exception):
                missing = pool.executor.submit(missing_modules, foreign).result()
                break
    here = [metric for metric in settings.metrics if not metric.importable or metric.function.__module__ in missing]
    if not here or (pool.executor is None and pool.workers == 1):
        return settings, settings.restricted(()), []
    there = [metric for metric in settings.metrics if metric not in here]
    note = f"computed in this process, since workers cannot import them: {', '.join(metric.id for metric in here)}"
    return settings.restricted(there), settings.restricted(here), [note]


def failed(jobs: Iterable[Unit], purpose: str, reason: str, *, bad_input: bool = False) -> list[SeriesResult]:
    """Build the results of jobs that came to nothing."""
    return [SeriesResult(job.number, purpose, failure=reason, bad_input=bad_input) for job in jobs]


def lost(batch: Batch, reason: str) -> list[SeriesResult]:
    """Build the results of a batch that no worker gave back; without a reason, because it killed every one."""
    return failed(batch.jobs, batch.purpose, reason or f"the worker process died {ATTEMPTS} times on this series")


def prepare_worker() -> None:
    """Import what the first batch needs; the rest has been imported with this module."""
    has_arrow()


def iterate_batch(batch: Batch, settings: Settings) -> Iterator[SeriesResult]:
    """Compute the jobs of a batch, short series several at a time; stops in between where the caller asked to stop."""
    if reason := other_code(settings):
        yield from failed(batch.jobs, batch.purpose, reason)
        return
    waiting = {job.number: job for job in batch.jobs}
    try:
        at_once = MOST_STEPS if computes_together(settings.measures) else 1
        for items in _several(read_batch(batch), at_once):
            if stopped():
                return
            for item in items:
                del waiting[item.unit.number]
            yield from _results([SeriesTask(item, batch, settings) for item in items])
    except (TableError, OSError) as error:
        # The file turned out to be damaged while it was read; results of the series before stay valid.
        yield from failed(waiting.values(), batch.purpose, str(error), bad_input=True)


def _several(items: Iterable[ScoredSeries], most_steps: int) -> Iterator[list[ScoredSeries]]:
    """Put short series together; what has been read before a file turns out to be damaged is not lost."""
    together: list[ScoredSeries] = []
    steps = 0
    try:
        for item in items:
            together.append(item)
            steps += len(item.labels)
            if steps >= most_steps:
                yield together
                together, steps = [], 0
    except (TableError, OSError):
        yield together
        raise
    yield together


def _results(tasks: Sequence[SeriesTask]) -> Iterator[SeriesResult]:
    """Take all tasks through their steps side by side: what several of them lack is computed together."""
    while asked := [wanted for task in tasks if (wanted := task.next_step()) is not None]:
        alike: dict[object, list[Wanted]] = {}
        for wanted in asked:
            if wanted.missing.metrics:
                key = wanted.purpose, wanted.missing.ids, wanted.missing.threshold
                alike.setdefault(key, []).append(wanted)
        for several in alike.values():
            _complete(several)
    for task in tasks:
        yield task.result


def _complete(several: Sequence[Wanted]) -> None:
    """Compute the same metrics for several tasks; where that fails for each alone, to see whose fault it is."""
    started = time.perf_counter()
    try:
        computed = _COMPUTE[several[0].purpose]([wanted.task for wanted in several], several[0].missing)
    except Exception as error:
        if len(several) == 1:
            several[0].task.fail(error)
        else:
            for wanted in several:
                _complete([wanted])
        return
    seconds = (time.perf_counter() - started) / len(several)
    for wanted, values in zip(several, computed, strict=True):
        wanted.keep(values, seconds)


def _values(recordings: Sequence[Recording], measures: Measures) -> list[dict[str, Value]]:
    with warnings.catch_warnings():
        # The leaderboard finds from the numbers what evaluate warns about, and says it once for all series.
        warnings.simplefilter("ignore")
        return values_together(recordings, measures, keep_going=True)


def _chance(tasks: Sequence[SeriesTask], measures: Measures) -> list[dict[str, float]]:
    levels = chance_of([(task.recording, task.values) for task in tasks], measures)
    return [{metric: value.value for metric, value in of_task.items()} for of_task in levels]


def other_code(settings: Settings) -> str:
    """Say which code of this process is not that of the process that asks for numbers, or nothing where it is."""
    if settings.code != result_cache.fingerprint():
        return f"a worker has other metric code (pateval {__version__}) than this process"
    for metric in settings.metrics:
        if not metric.in_package and _token(metric) != settings.tokens.get(metric.id):
            return f"a worker has another version of the metric {metric.id} than this process"
    return ""


# A token is read from the file of a metric's module; a process has imported that file once, and reads it once.
_token = lru_cache(maxsize=1024)(Metric.cache_token)


@dataclass
class Wanted:
    """Values that are wanted of a task for one purpose: those that the cache has, and what else must be computed."""

    task: SeriesTask
    purpose: str
    key: str
    missing: Measures
    values: dict[str, Any]

    def keep(self, computed: Mapping[str, Any], seconds: float) -> None:
        """Take in what was computed, and keep it in the cache."""
        result, settings = self.task.result, self.task.settings
        result.seconds += seconds
        result.computed = result.computed or self.purpose != "chance"
        self.values.update(computed)
        sound = {
            token: value
            for metric, value in computed.items()
            # Metrics that broke are tried again.
            if (token := settings.tokens.get(metric)) is not None and not getattr(value, "failed", False)
        }
        if settings.cache is not None and sound:
            result.records[self.key] = {**sound, result_cache.SECONDS: seconds}
            error = result_cache.opened(settings.cache).store(self.key, result.records[self.key])
            result.cache_error = result.cache_error or error


class SeriesTask:
    """One detector on one series: all that is wanted of it and not in the cache yet, computed and kept."""

    recording: Recording
    values: dict[str, Value]

    def __init__(self, item: ScoredSeries, batch: Batch, settings: Settings) -> None:
        self.item, self.job, self.batch, self.settings = item, item.unit, batch, settings
        self.measures = settings.measures.of_detector(self.job.detector)
        self.result = SeriesResult(self.job.number, batch.purpose)
        self._steps = self._all_steps()

    def next_step(self) -> Wanted | None:
        """Say what is wanted next; nothing where all is done, or something has failed."""
        try:
            return None if self.result.failure else next(self._steps, None)
        except Exception as error:
            self.fail(error)
            return None

    def fail(self, error: Exception) -> None:
        """Come to nothing, for a reason."""
        bad_input = isinstance(error, TableError)
        reason = str(error) if bad_input else named_error(error)
        (self.result,) = failed([self.job], self.batch.purpose, reason, bad_input=bad_input)

    def _all_steps(self) -> Iterator[Wanted]:
        """Do what is to be done with the series; what is wanted on the way is there when it goes on."""
        recording = self.recording = self._read()
        result, settings, measures = self.result, self.settings, self.measures
        is_scored = self.batch.purpose == SCORES
        if self.batch.purpose == LOOK:
            result.absent = None if recording.is_mostly_missing else recording.absent
            return
        if is_scored:
            self._look_at_labels()
        # Nothing is computed without a step that counts, or with scores for less than half of them.
        if recording.is_mostly_missing or (recording.is_left_out is not None and recording.is_left_out.all()):
            result.values = values_of(recording, measures) if is_scored else {}
            return
        options = self._options()
        wanted = self._wanted("values", options, measures)
        self.values = wanted.values
        self.values.update({metric: Value(*value) for metric, value in wanted.values.items()})
        yield wanted
        if measures.chance:
            yield from self._chance_step(options)
        if not is_scored:
            return
        if settings.event_draws and settings.event_metrics:
            parameters = [options, settings.event_draws, measures.seed]
            wanted = self._wanted("events", parameters, self._only(settings.event_metrics))
            result.limits = wanted.values
            yield wanted
        if settings.doubt:
            reach = doubt_in_steps(settings.doubt, recording)
            parameters = [options, reach, settings.doubt_draws, measures.seed]
            wanted = self._wanted("doubt", parameters, self._only(settings.doubt_metrics))
            result.doubt = wanted.values
            yield wanted
        result.values = {metric: self.values[metric] for metric in measures.ids}
        scores = recording.counted(recording.scores) if recording.scores is not None else np.empty(0)
        result.coarse = coarseness(without_gaps(scores)) is not None

    def _read(self) -> Recording:
        """The series as it is evaluated: less the steps without a score of others, 0 and 1 as predictions."""
        recording, batch, number = recording_of(self.item, self.settings.measures), self.batch, self.job.number
        if (left_out := batch.left_out.get(number)) is not None:
            of_others = np.unpackbits(left_out, count=len(recording.labels)).astype(np.bool_)
            recording = replace(recording, of_others=of_others)
        if number in batch.binary:
            recording = replace(recording, predictions=np.equal(cast("FloatArray", recording.scores), 1))
        return recording

    def _look_at_labels(self) -> None:
        """What is known of the series beside values: digests, which steps count, and how events lie."""
        recording, result = self.recording, self.result
        result.labels, result.content = result_cache.labels_digest(recording), self.content
        if self.measures.follows_clock:
            result.clock = result_cache.clock_digest(recording)
        if recording.is_left_out is not None or recording.absent is not None:
            result.steps = recording.counts
        if self.job.number in self.batch.first and not recording.has_channels:
            result.spacing = EventSpacing.of(
                self.job.series, recording.labels, nanoseconds=recording.nanoseconds, ignore=recording.ignore
            )

    def _chance_step(self, options: list[Any]) -> Iterator[Wanted]:
        """What random scores reach: under the metrics where it hangs on the detector, and the others where asked."""
        own, shared = own_and_shared(self.recording, self.measures)
        self.result.own_chance = own.ids
        self.result.chance_key = chance_key(self.recording, shared, self.values)
        is_shared = self.batch.purpose == CHANCE or self.job.number in self.batch.first
        measures = self.measures if is_shared else own
        if measures.metrics:
            steps = chance_key(self.recording, measures, self.values)
            wanted = self._wanted("chance", [options, measures.chance, measures.seed], measures, steps)
            self.result.chance = wanted.values
            yield wanted

    @cached_property
    def content(self) -> str:
        """Digest of all that the values are computed from."""
        return result_cache.content_digest(self.recording)

    def limits(self, measures: Measures) -> dict[str, list[float]]:
        """Low and high of each metric over draws of the events."""

        def values_at(steps: IntArray) -> list[float]:
            (by_metric,) = _values([self.recording.drawn(steps)], measures)
            return [value.value for value in by_metric.values()]

        draws, seed = self.settings.event_draws or 0, measures.seed
        limits = event_intervals(self.recording.labels, values_at, draws=draws, seed=seed)
        return dict(zip(measures.ids, limits.tolist(), strict=True))

    def doubt(self, measures: Measures) -> dict[str, list[float]]:
        """Values on moved labels, which are alike for all detectors that have the same labels."""
        reach, labels = doubt_in_steps(self.settings.doubt, self.recording), self.recording.labels
        digest = int(result_cache.labels_digest(self.recording), 16)
        generator = np.random.default_rng([measures.seed, reach, digest])
        moved = [
            _values([replace(self.recording, labels=drawn)], measures)[0]
            for drawn in moved_labels(labels, reach, self.settings.doubt_draws, generator)
        ]
        return {metric: [values[metric].value for values in moved] for metric in measures.ids}

    def _wanted(self, purpose: str, parameters: object, measures: Measures, content: str | None = None) -> Wanted:
        """Take what the cache has, and say what is missing."""
        folder, tokens = self.settings.cache, self.settings.tokens
        key = result_cache.result_key(purpose, parameters, content or self.content, self.recording)
        kept = {} if folder is None else result_cache.opened(folder).load(key)
        values = {metric: kept[token] for metric in measures.ids if (token := tokens.get(metric)) in kept}
        self.result.seconds += kept[result_cache.SECONDS] if values else 0.0
        missing = measures
        if values:
            missing = replace(measures, metrics=tuple(metric for metric in measures.metrics if metric.id not in values))
        return Wanted(self, purpose, key, missing, values)

    def _options(self) -> list[Any]:
        """Options that change numbers, beside those in the metrics' own tokens."""
        measures = self.measures
        levels: list[float] = []
        if measures.needs_predictions and self.recording.predictions is None:
            texts = {measures.rule(metric).text for metric in measures.metrics if metric.needs_threshold}
            chosen = sorted(str(text) for text in texts if uses_training_scores(text))
            levels = [level(text) for text in chosen for level in self.recording.training]
        lengths = [measures.early, measures.delay, measures.window]
        return [*lengths, measures.threshold, measures.max_gap, measures.missing, levels]

    def _only(self, names: Sequence[str]) -> Measures:
        return replace(self.measures, metrics=tuple(self.measures.by_id[name] for name in names))


# How what is wanted for a purpose is computed of several tasks.
_COMPUTE: dict[str, Callable[[Sequence[SeriesTask], Measures], Sequence[Mapping[str, Any]]]] = {
    "values": lambda tasks, measures: _values([task.recording for task in tasks], measures),
    "chance": _chance,
    "events": lambda tasks, measures: [task.limits(measures) for task in tasks],
    "doubt": lambda tasks, measures: [task.doubt(measures) for task in tasks],
}
