"""What a worker does: read a batch of series, compute all that is wanted of each, keep each result as it is finished.

Every series is read once: metrics, coarseness, the digest of the labels, limits over events and counts for pooling all
come from the same arrays. Nothing raises from here: a series that cannot be read or computed comes back as a result
with its reason.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pateval.catalog.metric import Metric
from pateval.evaluation import evaluate
from pateval.evaluation.bootstrap import event_intervals
from pateval.evaluation.threshold_rules import share_of, uses_training_scores
from pateval.evaluation.training_thresholds import level_in_file
from pateval.io import TableError
from pateval.kernels.coarse import coarseness
from pateval.leaderboards import cache, pooled
from pateval.leaderboards.batches import CHANCE, MISSING, SCORES, Batch, read_batch
from pateval.leaderboards.doubt import doubt_in_steps, moved_labels
from pateval.leaderboards.steps import MOSTLY_MISSING, MissingSteps, SeriesSteps, missing_steps, read_steps
from pateval.time.timelines import StepCounts
from pateval.validation.arrays import without_gaps
from pateval.validation.large_integers import ordered_floats
from pateval.validation.wording import named_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.io import ScoredSeries
    from pateval.leaderboards.plan import Job
    from pateval.validation.arrays import BoolArray

    Compute = Callable[[Sequence[str]], dict[str, "Cell"]]
    Iterate = Callable[[Batch, "Settings"], Iterator[Any]]


class Cell(NamedTuple):
    """One value of one metric, or the reason why there is none."""

    value: float
    reason: str = ""


@dataclass(frozen=True)
class Settings:
    """What is computed for every series, the same for all workers.

    Attributes
    ----------
    metrics : tuple of Metric
        In the order of the table.
    parameters : dict
        Options handed to `evaluate`.
    tokens : dict of str to str or None
        What each metric's results are kept under, by its id; None where they cannot be kept.
    cache : str or None
        Folder of finished results.
    code : str
        Fingerprint of the metrics' code; a worker that runs other code refuses.
    draws, seed : int
        Random score vectors per series for the chance level, and their seed.
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
    pooled_buffers : tuple
        Sets of early and delay buffers for which each series is counted, for values over all series together.
    pooled_thresholds : int
        At how many thresholds it is counted.
    needs_times : str
        What is given as a duration and so needs the times of the steps, in words; empty where nothing is.
    """

    metrics: tuple[Metric, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, str | None] = field(default_factory=dict)
    cache: str | None = None
    code: str = ""
    draws: int = 0
    seed: int = 0
    event_draws: int = 0
    event_metrics: tuple[str, ...] = ()
    doubt: int | str = 0
    doubt_draws: int = 0
    doubt_metrics: tuple[str, ...] = ()
    pooled_buffers: tuple[tuple[tuple[int, ...] | tuple[str, ...], tuple[int, ...] | tuple[str, ...]], ...] = ()
    pooled_thresholds: int = 0
    needs_times: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """Metric ids, in the order of the table."""
        return tuple(metric.id for metric in self.metrics)


@dataclass(frozen=True, slots=True)
class SeriesResult:
    """What became of one job.

    Attributes
    ----------
    job : int
        Its place in the plan.
    purpose : str
        ``scores``, or ``chance`` where the cells are what random scores reach.
    cells : dict of str to Cell
        Value or reason per metric; empty where the job failed as a whole.
    limits : dict of str to tuple
        Confidence limits over events, where asked for.
    doubt : dict of str to Cell
        Values on labels whose edges were moved, by metric and number of the draw; and the name they are kept under.
    counts : tuple of ndarray
        Weighted counts for pooling, one for each set of buffers asked for.
    failure : str
        Why the job failed, or empty.
    bad_input : bool
        The file is to blame, not the computation.
    labels : str
        Digest of the labels.
    content : str
        Digest of labels and scores.
    coarse : bool
        The scores have at most two distinct values, or one that most steps share.
    seconds : float
        Time the metrics took, now or when they were first computed.
    computed : bool
        False where everything came from the cache.
    key : str
        Name in the cache.
    cache_error : str
        One line where the result could not be written to the cache.
    steps : StepCounts or None
        How many steps and events were left out, where any were.
    missing : MissingSteps or None
        Where scores are missing, for the pass that looks for them.
    """

    job: int
    purpose: str = SCORES
    cells: dict[str, Cell] = field(default_factory=dict)
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    doubt: dict[str, Cell] = field(default_factory=dict)
    doubt_key: str = ""
    counts: tuple[npt.NDArray[np.float64], ...] = ()
    failure: str = ""
    bad_input: bool = False
    labels: str = ""
    content: str = ""
    coarse: bool = False
    seconds: float = 0.0
    computed: bool = False
    key: str = ""
    cache_error: str = ""
    steps: StepCounts | None = None
    missing: MissingSteps | None = None


def failed(job: Job, purpose: str, reason: str, *, bad_input: bool = False) -> SeriesResult:
    """Build the result of a job that came to nothing."""
    return SeriesResult(job.number, purpose, failure=reason, bad_input=bad_input)


def run_batch(batch: Batch, settings: Settings, iterate: Iterate | None = None) -> list[Any]:
    """Compute every job of a batch; stops between two jobs where the caller asked to stop."""
    return list((iterate or iterate_batch)(batch, settings))


def iterate_batch(batch: Batch, settings: Settings) -> Iterator[SeriesResult]:
    """Compute the jobs of a batch one by one."""
    if reason := other_code(settings):
        for job in batch.jobs:
            yield failed(job, batch.purpose, reason)
        return
    waiting = {job.number: job for job in batch.jobs}
    try:
        for job, item in read_batch(batch):
            if stopped():
                return
            del waiting[job.number]
            try:
                if batch.purpose == MISSING:
                    yield SeriesResult(job.number, MISSING, missing=missing_steps(item))
                    continue
                steps = read_steps(
                    item,
                    missing=settings.parameters.get("missing", "error"),
                    needs_times=settings.needs_times,
                    with_scores=batch.purpose == SCORES,
                    left_out=batch.left_out.get(job.number),
                )
                if batch.purpose == CHANCE:
                    yield chance_of_series(steps, job, settings)
                else:
                    yield score_series(steps, job, _for_series(settings, item))
            except TableError as error:
                yield failed(job, batch.purpose, str(error), bad_input=True)
            except Exception as error:
                yield failed(job, batch.purpose, named_error(error))
    except (TableError, OSError) as error:
        # The file turned out to be damaged while it was read; results of the series before stay valid.
        for job in waiting.values():
            yield failed(job, batch.purpose, str(error), bad_input=True)


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


def score_series(steps: SeriesSteps, job: Job, settings: Settings) -> SeriesResult:
    """Compute all that is wanted of one series and not in the cache yet, and keep it."""
    labels, scores = steps.labels, steps.scores
    if steps.is_mostly_missing:
        nothing = Cell(math.nan, MOSTLY_MISSING)
        cells = dict.fromkeys(settings.ids, nothing)
        return SeriesResult(job.number, cells=cells, labels=steps.labels_digest(), steps=steps.counts)
    key = cache.content_key("unit", settings.parameters, settings.code, *steps.content())
    result = _completed(job, key, settings.ids, settings, lambda missing: _evaluated(steps, missing, settings))
    limits, cache_error = result.limits, result.cache_error
    if settings.event_draws:
        limits, cache_error = _limits_over_events(steps, job, settings)
    counts: tuple[npt.NDArray[np.float64], ...] = ()
    if settings.pooled_buffers:
        # Series are compared with each other by their values, so integers beyond 2**53 are rounded here.
        floats = scores if scores.dtype.kind == "f" else ordered_floats(scores)
        if scores.dtype.kind in "iu":
            floats = scores.astype(np.float64)
        thresholds = pooled.choose_thresholds(np.sort(floats[~np.isnan(floats)]), settings.pooled_thresholds)
        others = {name: settings.parameters[name] for name in ("missing", "max_gap") if name in settings.parameters}
        counts = tuple(
            pooled.count_series(labels, floats, early, delay, thresholds, steps.data | others)
            for early, delay in settings.pooled_buffers
        )
    doubted = _on_moved_labels(steps, job, settings) if settings.doubt else result
    return replace(
        result,
        limits=limits,
        doubt=doubted.cells if settings.doubt else {},
        doubt_key=doubted.key if settings.doubt else "",
        computed=result.computed or doubted.computed,
        counts=counts,
        labels=steps.labels_digest(),
        content=cache.content_digest(labels, scores),
        coarse=coarseness(without_gaps(scores) if scores.dtype.kind == "f" else scores) is not None,
        steps=steps.counts,
        cache_error=result.cache_error or cache_error or doubted.cache_error,
    )


def _on_moved_labels(steps: SeriesSteps, job: Job, settings: Settings) -> SeriesResult:
    """Compute metrics on labels whose edges were moved, alike for all detectors that have the same labels."""
    reach, draws = int(settings.doubt), settings.doubt_draws
    parameters = settings.parameters | {"doubt": reach, "draws": draws, "seed": settings.seed}
    key = cache.content_key("doubt", parameters, settings.code, *steps.content())

    def compute(missing: Sequence[str]) -> dict[str, Cell]:
        metrics = list(dict.fromkeys(name.rpartition(" ")[0] for name in missing))
        generator = np.random.default_rng([settings.seed, reach, int(cache.labels_digest(steps.labels), 16)])
        return {
            draw_name(metric, draw): cell
            for draw, moved in enumerate(moved_labels(steps.labels, reach, draws, generator))
            for metric, cell in _evaluated(replace(steps, labels=moved), metrics, settings).items()
        }

    wanted = [draw_name(metric, draw) for metric in settings.doubt_metrics for draw in range(draws)]
    return _completed(job, key, wanted, settings, compute)


def draw_name(metric: str, draw: int) -> str:
    """Name a value on moved labels; `token_of` takes the metric before the space."""
    return f"{metric} draw{draw}"


def chance_of_series(steps: SeriesSteps, job: Job, settings: Settings) -> SeriesResult:
    """Average the metrics over random scores, drawn alike for the same labels whoever asks."""
    digest, size = steps.labels_digest(), steps.labels.size
    settings = _with_own_quantile(settings)
    parameters = settings.parameters | {"draws": settings.draws, "seed": settings.seed}
    key = cache.content_key("chance", parameters, settings.code, digest)

    def compute(missing: Sequence[str]) -> dict[str, Cell]:
        generator = np.random.default_rng([settings.seed, int(digest, 16)])
        draws = [
            _evaluated(replace(steps, scores=generator.random(size)), missing, settings) for _ in range(settings.draws)
        ]
        cells = {}
        for metric in missing:
            values = np.array([draw[metric].value for draw in draws])
            defined = values[~np.isnan(values)]
            reason = next((draw[metric].reason for draw in draws if draw[metric].reason), "")
            cells[metric] = Cell(float(defined.mean())) if defined.size else Cell(math.nan, reason)
        return cells

    return replace(_completed(job, key, settings.ids, settings, compute), purpose=CHANCE, labels=digest)


def _limits_over_events(steps: SeriesSteps, job: Job, settings: Settings) -> tuple[dict[str, tuple[float, float]], str]:
    """Compute confidence limits over the events of one series, kept in the cache as ``pate low`` and ``pate high``."""
    parameters = settings.parameters | {"draws": settings.event_draws, "seed": settings.seed}
    key = cache.content_key("events", parameters, settings.code, *steps.content())

    def compute(missing: Sequence[str]) -> dict[str, Cell]:
        metrics = list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in missing))

        def values(truth: BoolArray, drawn: npt.NDArray[Any]) -> list[float]:
            scores, data = steps.drawn(drawn)
            return [cell.value for cell in _evaluated(SeriesSteps(truth, scores, data), metrics, settings).values()]

        everywhere: npt.NDArray[Any] = np.arange(steps.labels.size)
        found = event_intervals(steps.labels, everywhere, values, draws=settings.event_draws, seed=settings.seed)
        cells: dict[str, Cell] = {}
        for metric, (low, high) in zip(metrics, found, strict=True):
            reason = "too few events to resample" if math.isnan(low) else ""
            cells |= {f"{metric} low": Cell(float(low), reason), f"{metric} high": Cell(float(high), reason)}
        return cells

    wanted = [f"{metric} {end}" for metric in settings.event_metrics for end in ("low", "high")]
    result = _completed(job, key, wanted, settings, compute)
    cells = result.cells
    limits = {
        metric: (cells[f"{metric} low"].value, cells[f"{metric} high"].value) for metric in settings.event_metrics
    }
    return limits, result.cache_error


def _for_series(settings: Settings, item: ScoredSeries) -> Settings:
    """Replace what depends on the series by numbers."""
    if settings.doubt:
        settings = replace(settings, doubt=doubt_in_steps(settings.doubt, item))
    return _with_level(settings, item)


def _with_level(settings: Settings, item: ScoredSeries) -> Settings:
    """Replace a rule on training scores, which stand in the score file, by its threshold."""
    threshold = settings.parameters.get("threshold")
    if not uses_training_scores(threshold) or not any(metric.needs_threshold for metric in settings.metrics):
        return settings
    level = level_in_file(str(threshold), item.where, series=item.series, run=item.run)
    # Strictly above the level is at or above the next number; it is part of the key that the result is kept under.
    return replace(settings, parameters=settings.parameters | {"threshold": float(np.nextafter(level, np.inf))})


def _with_own_quantile(settings: Settings) -> Settings:
    """Let random scores be cut at their own quantile: those of training steps would be alike."""
    threshold = settings.parameters.get("threshold")
    if not uses_training_scores(threshold):
        return settings
    _, share = share_of(str(threshold))
    return replace(settings, parameters=settings.parameters | {"threshold": f"quantile:{share}"})


def _completed(job: Job, key: str, wanted: Sequence[str], settings: Settings, compute: Compute) -> SeriesResult:
    """Take what the cache has, compute what is missing, and keep both."""
    tokens = {name: token for name in wanted if (token := token_of(name, settings)) is not None}
    cells, seconds, record = _recalled(settings, key, tokens)
    missing = [name for name in wanted if name not in cells]
    cache_error = ""
    if missing:
        started = time.perf_counter()
        cells |= compute(missing)
        seconds += time.perf_counter() - started
        cache_error = cache.store(settings.cache, key, record_of(cells, tokens, seconds, record))
    return SeriesResult(
        job.number,
        cells={name: cells[name] for name in wanted},
        seconds=seconds,
        computed=bool(missing),
        key=key,
        cache_error=cache_error,
    )


_FAILED = "failed: "


def is_failure(cell: Cell) -> bool:
    """Tell a metric that broke from one that is undefined."""
    return cell.reason.startswith(_FAILED)


def _evaluated(steps: SeriesSteps, metrics: Sequence[str], settings: Settings) -> dict[str, Cell]:
    """Evaluate all metrics together; where one raises, each by itself, so that the others keep their values."""
    if not metrics:
        return {}
    with warnings.catch_warnings():
        # The leaderboard finds from the numbers what evaluate warns about, and says it once for all series.
        warnings.simplefilter("ignore")
        try:
            chosen = [metric for metric in settings.metrics if metric.id in metrics]
            found = evaluate(steps.labels, steps.scores, metrics=chosen, chance=0, **settings.parameters, **steps.data)
        except Exception as error:
            if len(metrics) == 1:
                return {metrics[0]: Cell(math.nan, f"{_FAILED}{named_error(error)}")}
            alone = [_evaluated(steps, [metric], settings) for metric in metrics]
            return {metric: cell for cells in alone for metric, cell in cells.items()}
    return {metric: Cell(found.values_by_id[metric], found.reasons.get(metric, "")) for metric in metrics}


def token_of(name: str, settings: Settings) -> str | None:
    """Return what a value is kept under: the token of its metric, with the end of an interval where it is one."""
    metric, space, end = name.rpartition(" ")
    if not space:
        return settings.tokens.get(name)
    token = settings.tokens.get(metric)
    return None if token is None else f"{token} {end}"


def _recalled(settings: Settings, key: str, tokens: Mapping[str, str]) -> tuple[dict[str, Cell], float, dict[str, Any]]:
    """Take a result back from the cache; an entry that makes no sense counts as absent."""
    record = cache.load(settings.cache, key) or {}
    try:
        values, reasons = record.get("values", {}), record.get("reasons", {})
        cells = {
            name: Cell(math.nan if values[token] is None else float(values[token]), str(reasons.get(token, "")))
            for name, token in tokens.items()
            if token in values
        }
        return cells, float(record.get("seconds", 0.0)), record
    except (AttributeError, TypeError, ValueError):
        return {}, 0.0, {}


def record_of(
    cells: Mapping[str, Cell], tokens: Mapping[str, str], seconds: float, before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Put a result in the form it is kept in, beside what is kept already.

    Metrics that broke are left out, so that they are tried again, and so are those that have no token.
    """
    sound = {tokens[name]: cell for name, cell in cells.items() if name in tokens and not is_failure(cell)}
    values = {token: None if math.isnan(cell.value) else cell.value for token, cell in sound.items()}
    reasons = {token: cell.reason for token, cell in sound.items() if cell.reason}
    before = before or {}
    return {
        "values": {**before.get("values", {}), **values},
        "reasons": {**before.get("reasons", {}), **reasons},
        "seconds": seconds,
    }


_stop: Any = None


def set_stop(event: Any) -> None:
    """Give this process the event that tells it to stop after the series in hand."""
    global _stop  # one per worker process
    _stop = event


def stopped() -> bool:
    """Tell whether the run was interrupted."""
    return _stop is not None and bool(_stop.is_set())
