"""What a worker does: read a batch of series, compute all that is wanted of each, keep each result as it is finished.

Every series is read once: metrics, chance, coarseness, digests, limits over events and moved labels all come from the
same recording. Nothing raises from here: a series that cannot be read or computed comes back as a result with its
reason.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

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

    Compute = Callable[[Measures], Mapping[str, Any]]


@dataclass(frozen=True)
class Settings:
    """What is computed for every series, the same for all workers.

    Attributes
    ----------
    measures : Measures
        Metrics with their options, chance and seed.
    tokens : dict of str to str or None
        What each metric's results are kept under, by its id; None where they cannot be kept.
    cache : str or None
        Folder of finished results.
    code : str
        How this package evaluates; a worker that runs other code refuses.
    event_draws : int
        Resamples of events for the confidence limits of a single series; 0 for none.
    event_metrics : tuple of str
        The metrics that get such limits.
    doubt : int or str
        How far the edges of events may move, in steps or as a duration; 0 where labels are not in doubt.
    doubt_draws : int
        How often they are moved.
    doubt_metrics : tuple of str
        The metrics that are computed each time.
    """

    measures: Measures
    tokens: dict[str, str | None] = field(default_factory=dict)
    cache: str | None = None
    code: str = ""
    event_draws: int = 0
    event_metrics: tuple[str, ...] = ()
    doubt: int | str = 0
    doubt_draws: int = 0
    doubt_metrics: tuple[str, ...] = ()

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
    """What became of one job.

    Attributes
    ----------
    job : int
        Its place in the plan.
    purpose : str
        ``scores``, ``chance`` where only what random scores reach was wanted, or ``missing scores``.
    values : dict of str to Value
        By metric; empty where the job failed as a whole.
    chance : dict of str to float
        What random scores reach under each metric, as far as it was found out; NaN where that is undefined.
    own_chance : tuple of str
        Metrics under which that hangs on how many steps the detector predicts.
    chance_key : str
        Equal where random scores reach the same under all other metrics.
    limits : dict of str to tuple
        Confidence limits over events, where asked for.
    doubt : dict of str to list
        By metric its values on labels whose edges were moved.
    failure : str
        Why the job failed, or empty.
    bad_input : bool
        The file is to blame, not the computation.
    labels : str
        Digest of the labels.
    content : str
        Digest of all that the values were computed from.
    spacing : EventSpacing or None
        How events lie, for jobs that are the first of their series.
    coarse : bool
        The scores have at most two distinct values, or one that most steps share.
    seconds : float
        Time the metrics took, now or when they were first computed.
    computed : bool
        False where everything came from the cache.
    records : dict
        What is to be kept in the cache, by key.
    cache_error : str
        One line where the result could not be written to the cache.
    steps : StepCounts or None
        How many steps and events were left out, where any were.
    absent : ndarray of bool or None
        Where scores are missing, for the pass that looks for them.
    """

    job: int
    purpose: str = SCORES
    values: dict[str, Value] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    own_chance: tuple[str, ...] = ()
    chance_key: str = ""
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    doubt: dict[str, list[float]] = field(default_factory=dict)
    failure: str = ""
    bad_input: bool = False
    labels: str = ""
    content: str = ""
    spacing: EventSpacing | None = None
    coarse: bool = False
    seconds: float = 0.0
    computed: bool = False
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    cache_error: str = ""
    steps: StepCounts | None = None
    absent: BoolArray | None = None


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
        return f"a worker has other metric code (pateval {cache.package_version()}) than this process"
    for metric in settings.metrics:
        if not metric.in_package and _token(metric) != settings.tokens.get(metric.id):
            return f"a worker has another version of the metric {metric.id} than this process"
    return ""


# A token is read from the file of a metric's module; a process has imported that file once, and reads it once.
_token = lru_cache(maxsize=1024)(Metric.cache_token)


class SeriesTask:
    """One detector on one series: all that is wanted of it and not in the cache yet, computed and kept.

    Parameters
    ----------
    job : Job
        Its place in the plan.
    recording : Recording
        The series.
    settings : Settings
        What is wanted, with the threshold of this detector.
    """

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
        chance = self.chance(values, shared=with_chance) if self.measures.chance else {}
        limits = self.limits() if settings.event_draws and settings.event_metrics else {}
        doubt = self.on_moved_labels() if settings.doubt else {}
        scores = recording.counted(recording.scores) if recording.scores is not None else np.empty(0)
        return replace(
            result,
            values=values,
            chance=chance,
            own_chance=self._shared(own=True).ids,
            chance_key=self.chance_key(values) if self.measures.chance else "",
            limits=limits,
            doubt=doubt,
            content=self.content,
            spacing=spacing,
            coarse=coarseness(without_gaps(scores)) is not None,
            seconds=self.seconds,
            computed=self.computed,
            records=self.records,
            cache_error=self.cache_error,
        )

    def chance_alone(self) -> SeriesResult:
        """What random scores reach on the steps of the series."""
        values = self.values()
        chance = self.chance(values, shared=True)
        return SeriesResult(
            self.job.number,
            CHANCE,
            chance=chance,
            own_chance=self._shared(own=True).ids,
            chance_key=self.chance_key(values),
            cache_error=self.cache_error,
        )

    def values(self) -> dict[str, Value]:
        """Value or reason of each metric."""
        found = self._completed("values", self._parameters(), self.measures, self._evaluated, _plain_value)
        return {metric: Value(*payload) if isinstance(payload, list) else payload for metric, payload in found.items()}

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

        found = self._completed("chance", parameters, measures, drawn, _plain_number, content)
        return {metric: math.nan if level is None else float(level) for metric, level in found.items()}

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
        found = self._completed("events", [self._parameters(), draws, seed], wanted, computed, _plain_numbers)
        return {metric: (_number(low), _number(high)) for metric, (low, high) in found.items()}

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
        parameters = [self._parameters(), reach, draws, seed]
        found = self._completed("doubt", parameters, wanted, computed, _plain_numbers)
        return {metric: [_number(value) for value in values] for metric, values in found.items()}

    def _evaluated(self, wanted: Measures, recording: Recording | None = None) -> dict[str, Value]:
        with warnings.catch_warnings():
            # The leaderboard finds from the numbers what evaluate warns about, and says it once for all series.
            warnings.simplefilter("ignore")
            return values_of(recording or self.recording, wanted, keep_going=True)

    def _completed(
        self,
        purpose: str,
        parameters: object,
        wanted: Measures,
        compute: Compute,
        plain: Callable[[Any], Any],
        content: str | None = None,
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
                token: plain(value)
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


def _plain_value(value: Value) -> list[Any]:
    return [_plain_number(value.value), value.reason, value.threshold, value.flagged]


def _plain_number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _plain_numbers(values: Sequence[float]) -> list[float | None]:
    return [_plain_number(value) for value in values]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
