"""What a worker does: read a batch of series, compute all that is wanted of each, keep each result as it is finished.

Every series is read once: metrics, chance, coarseness, digests, limits over events and moved labels all come from the
same recording. Nothing raises from here: a series that cannot be read or computed comes back as a result with its
reason.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pateval._version import __version__
from pateval.catalog.metric import Metric
from pateval.evaluation.bootstrap import event_intervals
from pateval.evaluation.buffers import EventSpacing
from pateval.evaluation.chance import chance_key, chance_of, has_own_chance
from pateval.evaluation.files import recording_of
from pateval.evaluation.measures import Measures
from pateval.evaluation.threshold_rules import uses_training_scores
from pateval.evaluation.values import Value, values_of
from pateval.io import TableError
from pateval.io.batches import CHANCE, LOOK, SCORES, Batch, read_batch
from pateval.kernels.coarse import coarseness
from pateval.leaderboards import cache
from pateval.leaderboards.doubt import doubt_in_steps, moved_labels
from pateval.validation.arrays import without_gaps
from pateval.validation.wording import named_error
from pateval.worker_pool import ATTEMPTS, stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.io.plan import Job
    from pateval.time.timelines import Recording, StepCounts
    from pateval.validation.arrays import BoolArray, FloatArray
    from pateval.worker_pool import WorkerPool

    Compute = Callable[[Measures], Mapping[str, Any]]


@dataclass(frozen=True)
class Settings:
    """What is computed for every series, the same for all workers."""

    measures: Measures  # metrics with their options, chance and seed
    tokens: dict[str, str | None] = field(default_factory=dict)  # what results of a metric are kept under, if at all
    cache: str | None = None  # folder of finished results
    code: str = ""  # how this package evaluates; a worker that runs other code refuses
    event_draws: int = 0  # resamples of events for the confidence limits of a single series
    most_resampled: int | None = None  # detectors up to which that is done
    event_metrics: tuple[str, ...] = ()  # those that get such limits
    doubt: int | str = 0  # how far the edges of events may move, in steps or as a duration
    doubt_draws: int = 0  # how often they are moved
    doubt_metrics: tuple[str, ...] = ()  # those that are computed each time

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


def _spelling(metric: Metric) -> str:
    """A text that names a metric to another process: its id, with the module of a user's own where it has one."""
    if metric.in_package:
        return metric.id
    module = getattr(metric.function, "__module__", "")
    ending = "" if metric.field is None else f"_{metric.field}"
    name = metric.name.removesuffix(ending)
    for attribute, item in vars(sys.modules.get(module)).items() if module in sys.modules else ():
        if item is metric.function or (isinstance(item, Metric) and item.function is metric.function):
            known = item.name if isinstance(item, Metric) else getattr(item, "__name__", "")
            if known == name:
                return f"{module}:{attribute}{metric.id[len(name) :]}"
    return metric.id


@dataclass(frozen=True, slots=True)
class SeriesResult:
    """What became of one job."""

    job: int  # its place in the plan
    purpose: str = SCORES
    values: dict[str, Value] = field(default_factory=dict)  # by metric; empty where the job failed as a whole
    chance: dict[str, float] = field(default_factory=dict)  # what random scores reach, as far as it was found out
    own_chance: tuple[str, ...] = ()  # metrics under which that hangs on how many steps the detector predicts
    chance_key: str = ""  # equal where random scores reach the same under all other metrics
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)  # over events, where asked for
    doubt: dict[str, list[float]] = field(default_factory=dict)  # values on labels whose edges were moved
    failure: str = ""  # why the job failed
    bad_input: bool = False  # the file is to blame, not the computation
    labels: str = ""  # digest of the labels
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
    nothing = settings.restricted(())
    if pool.executor is None and pool.workers == 1:
        return settings, nothing, []
    missing: list[str] = []
    foreign = tuple({metric.function.__module__: None for metric in settings.metrics if not metric.in_package})
    if pool.executor is not None and foreign:  # processes of our own have the same path as we
        for _ in range(ATTEMPTS):
            # A worker that cannot answer fails again, with a message, when it is given a batch.
            with suppress(Exception):
                missing = pool.executor.submit(missing_modules, foreign).result()
                break
    here = [metric for metric in settings.metrics if not metric.importable or metric.function.__module__ in missing]
    if not here:
        return settings, nothing, []
    others = [metric for metric in settings.metrics if metric not in here]
    note = f"computed in this process, since workers cannot import them: {', '.join(metric.id for metric in here)}"
    return settings.restricted(others), settings.restricted(here), [note]


def missing_modules(modules: tuple[str, ...]) -> list[str]:
    """Return those modules that this process cannot import.

    Examples
    --------
    >>> missing_modules(("json", "no_such_module"))
    ['no_such_module']
    """
    missing = []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # whatever a user's file may raise when it is run
            missing.append(module)
    return missing


def failed(jobs: Iterable[Job], purpose: str, reason: str, *, bad_input: bool = False) -> list[SeriesResult]:
    """Build the results of jobs that came to nothing."""
    return [SeriesResult(job.number, purpose, failure=reason, bad_input=bad_input) for job in jobs]


def lost(batch: Batch, reason: str) -> list[SeriesResult]:
    """Build the results of a batch that no worker gave back; without a reason, because it killed every one."""
    return failed(batch.jobs, batch.purpose, reason or f"the worker process died {ATTEMPTS} times on this series")


def prepare_worker() -> None:
    """Import what the first batch needs; the rest has been imported with this module."""
    import pyarrow  # noqa: F401


def iterate_batch(batch: Batch, settings: Settings) -> Iterator[SeriesResult]:
    """Compute the jobs of a batch one by one; stops between two jobs where the caller asked to stop."""
    if reason := other_code(settings):
        yield from failed(batch.jobs, batch.purpose, reason)
        return
    waiting = {job.number: job for job in batch.jobs}
    try:
        for job, item in read_batch(batch):
            if stopped():
                return
            del waiting[job.number]
            try:
                yield _result(job, _prepared(job, item, batch, settings), batch, settings)
            except TableError as error:
                yield from failed([job], batch.purpose, str(error), bad_input=True)
            except Exception as error:
                yield from failed([job], batch.purpose, named_error(error))
    except (TableError, OSError) as error:
        # The file turned out to be damaged while it was read; results of the series before stay valid.
        yield from failed(waiting.values(), batch.purpose, str(error), bad_input=True)


def _prepared(job: Job, item: Any, batch: Batch, settings: Settings) -> Recording:
    """One series as it is evaluated: less the steps that other detectors have no score for, 0 and 1 as predictions."""
    recording = recording_of(item, settings.measures)
    left_out = batch.left_out.get(job.number)
    if left_out is not None:
        recording = replace(recording, of_others=np.unpackbits(left_out, count=len(recording.labels)).astype(np.bool_))
    if job.number in batch.binary:
        recording = replace(recording, predictions=np.equal(cast("FloatArray", recording.scores), 1))
    return recording


def _result(job: Job, recording: Recording, batch: Batch, settings: Settings) -> SeriesResult:
    if batch.purpose == LOOK:
        has_say = recording.absent is not None and not recording.is_mostly_missing
        return SeriesResult(job.number, LOOK, absent=recording.absent if has_say else None)
    task = SeriesTask(job, recording, replace(settings, measures=settings.measures.of_detector(job.detector)))
    if batch.purpose == CHANCE:
        return task.chance_alone()
    return task.result(with_chance=job.number in batch.first)


def other_code(settings: Settings) -> str:
    """Say which code of this process is not that of the process that asks for numbers, or nothing where it is."""
    if settings.code != cache.fingerprint():
        return f"a worker has other metric code (pateval {__version__}) than this process"
    for metric in settings.metrics:
        if not metric.in_package and _token(metric) != settings.tokens.get(metric.id):
            return f"a worker has another version of the metric {metric.id} than this process"
    return ""


# A token is read from the file of a metric's module; a process has imported that file once, and reads it once.
_token = lru_cache(maxsize=1024)(Metric.cache_token)


class SeriesTask:
    """One detector on one series: all that is wanted of it and not in the cache yet, computed and kept."""

    def __init__(self, job: Job, recording: Recording, settings: Settings) -> None:
        self.job, self.recording, self.settings = job, recording, settings
        self.measures = settings.measures
        self.content = cache.content_digest(recording)
        self.seconds = 0.0
        self.records: dict[str, dict[str, Any]] = {}
        self.cache_error = ""
        self.computed = False

    def result(self, *, with_chance: bool) -> SeriesResult:
        """All that is wanted; what random scores reach on the steps alone only where asked for."""
        recording, settings = self.recording, self.settings
        result = SeriesResult(self.job.number, labels=cache.labels_digest(recording), steps=self._left_out())
        spacing = None
        if with_chance and recording.labels.ndim == 1:
            spacing = EventSpacing.of(
                self.job.series, recording.labels, nanoseconds=recording.nanoseconds, ignore=recording.ignore
            )
        if recording.is_mostly_missing or (recording.is_left_out is not None and recording.is_left_out.all()):
            return replace(result, values=values_of(recording, self.measures), content=self.content, spacing=spacing)
        values = self.values()
        has_chance = self.measures.chance > 0
        scores = recording.counted(recording.scores) if recording.scores is not None else np.empty(0)
        result = replace(
            result,
            values=values,
            chance=self.chance(values, shared=with_chance) if has_chance else {},
            own_chance=self._shared(own=True).ids,
            chance_key=self.chance_key(values) if has_chance else "",
            limits=self.limits() if settings.event_draws and settings.event_metrics else {},
            doubt=self.on_moved_labels() if settings.doubt else {},
            content=self.content,
            spacing=spacing,
            coarse=coarseness(without_gaps(scores)) is not None,
        )
        # What was computed and kept on the way.
        return replace(
            result,
            seconds=self.seconds,
            computed=self.computed,
            records=self.records,
            cache_error=self.cache_error,
        )

    def chance_alone(self) -> SeriesResult:
        """What random scores reach on the steps of the series."""
        values = self.values()
        return SeriesResult(
            self.job.number,
            CHANCE,
            chance=self.chance(values, shared=True),
            own_chance=self._shared(own=True).ids,
            chance_key=self.chance_key(values),
            cache_error=self.cache_error,
        )

    def values(self) -> dict[str, Value]:
        """Value or reason of each metric."""
        found = self._completed("values", self._parameters(), self.measures, self._evaluated)
        return {metric: Value(*value) if isinstance(value, list) else value for metric, value in found.items()}

    def chance_key(self, values: Mapping[str, Value]) -> str:
        """Equal where random scores reach the same under all metrics whose chance does not depend on the detector."""
        return chance_key(self.recording, self._shared(own=False), values)

    def chance(self, values: Mapping[str, Value], *, shared: bool) -> dict[str, float]:
        """What random scores reach: under the metrics where it hangs on the detector, and the others where asked."""
        measures = self.measures if shared else self._shared(own=True)
        if not measures.metrics:
            return {}
        parameters = [self._parameters(), measures.chance, measures.seed]
        content = chance_key(self.recording, measures, values)

        def drawn(wanted: Measures) -> dict[str, float]:
            return {metric: value.value for metric, value in chance_of(self.recording, wanted, values).items()}

        return self._completed("chance", parameters, measures, drawn, content)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Confidence limits over the events of the series."""
        draws, seed = self.settings.event_draws, self.measures.seed

        def computed(wanted: Measures) -> dict[str, list[float]]:
            def values(_: BoolArray, drawn: npt.NDArray[Any]) -> list[float]:
                return [value.value for value in self._evaluated(wanted, self.recording.drawn(drawn)).values()]

            everywhere: npt.NDArray[Any] = np.arange(len(self.recording.labels))
            found = event_intervals(self.recording.labels, everywhere, values, draws=draws, seed=seed)
            return {metric: [float(low), float(high)] for metric, (low, high) in zip(wanted.ids, found, strict=True)}

        wanted = self._only(self.settings.event_metrics)
        found = self._completed("events", [self._parameters(), draws, seed], wanted, computed)
        return {metric: (low, high) for metric, (low, high) in found.items()}

    def on_moved_labels(self) -> dict[str, list[float]]:
        """Values on labels whose edges were moved, alike for all detectors that have the same labels."""
        reach = doubt_in_steps(self.settings.doubt, self.recording)
        draws, seed = self.settings.doubt_draws, self.measures.seed

        def computed(wanted: Measures) -> dict[str, list[float]]:
            generator = np.random.default_rng([seed, reach, int(cache.labels_digest(self.recording), 16)])
            moved = [
                self._evaluated(wanted, replace(self.recording, labels=labels))
                for labels in moved_labels(self.recording.labels, reach, draws, generator)
            ]
            return {metric: [values[metric].value for values in moved] for metric in wanted.ids}

        wanted = self._only(self.settings.doubt_metrics)
        return self._completed("doubt", [self._parameters(), reach, draws, seed], wanted, computed)

    def _evaluated(self, wanted: Measures, recording: Recording | None = None) -> dict[str, Value]:
        with warnings.catch_warnings():
            # The leaderboard finds from the numbers what evaluate warns about, and says it once for all series.
            warnings.simplefilter("ignore")
            return values_of(recording or self.recording, wanted, keep_going=True)

    def _completed(
        self, purpose: str, parameters: object, wanted: Measures, compute: Compute, content: str | None = None
    ) -> dict[str, Any]:
        """Take what the cache has, compute what is missing, and keep both."""
        folder, tokens = self.settings.cache, self.settings.tokens
        key = cache.result_key(purpose, parameters, content or self.content, self.recording)
        kept = {} if folder is None else cache.opened(folder).load(key)
        found = {
            metric: kept[token] for metric in wanted.ids if (token := tokens.get(metric)) is not None and token in kept
        }
        missing = tuple(metric for metric in wanted.metrics if metric.id not in found)
        self.seconds += kept[cache.SECONDS] if found else 0.0
        if missing:
            started = time.perf_counter()
            computed = compute(replace(wanted, metrics=missing))
            seconds = time.perf_counter() - started
            self.seconds += seconds
            self.computed = self.computed or purpose != "chance"
            found |= computed
            sound = {
                token: value
                for metric, value in computed.items()
                # Metrics that broke are tried again.
                if (token := tokens.get(metric)) is not None and not getattr(value, "failed", False)
            }
            if folder is not None and sound:
                self.records[key] = {**sound, cache.SECONDS: seconds}
                self.cache_error = self.cache_error or cache.opened(folder).store(key, self.records[key])
        return {metric: found[metric] for metric in wanted.ids if metric in found}

    def _parameters(self) -> list[Any]:
        """Options that change numbers, beside those in the metrics' own tokens."""
        measures = self.measures
        levels: list[float] = []
        if measures.needs_predictions and self.recording.predictions is None:
            texts = {measures.rule(metric).text for metric in measures.metrics if metric.needs_threshold}
            chosen = sorted(str(text) for text in texts if uses_training_scores(text))
            levels = [level(text) for text in chosen for level in self.recording.training]
        lengths = [measures.early, measures.delay, measures.window]
        return [*lengths, measures.threshold, measures.max_gap, measures.missing, levels]

    def _shared(self, *, own: bool) -> Measures:
        """The metrics whose chance hangs on the detector, or the others."""
        metrics = self.measures.metrics
        chosen = (one for one in metrics if has_own_chance(one, self.recording, self.measures) == own)
        return replace(self.measures, metrics=tuple(chosen))

    def _only(self, names: Sequence[str]) -> Measures:
        return replace(self.measures, metrics=tuple(self.measures.by_id[name] for name in names))

    def _left_out(self) -> StepCounts | None:
        recording = self.recording
        return None if recording.is_left_out is None and recording.absent is None else recording.counts
