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

from pateval.coarse import coarseness
from pateval.evaluation import evaluate
from pateval.io import TableError
from pateval.leaderboards import cache, pooled
from pateval.leaderboards.batches import CHANCE, SCORES, Batch, read_batch
from pateval.leaderboards.bootstrap import event_intervals
from pateval.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval._validation import BoolArray, FloatArray
    from pateval.leaderboards.plan import Job

    Compute = Callable[[Sequence[str]], dict[str, "Cell"]]


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
    pooled_buffers : tuple
        Sets of early and delay buffers for which each series is counted, for values over all series together.
    pooled_thresholds : int
        At how many thresholds it is counted.
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
    pooled_buffers: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    pooled_thresholds: int = 0

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
    counts : tuple of ndarray
        Weighted counts for pooling, one for each set of buffers asked for.
    failure : str
        Why the job failed, or empty.
    bad_input : bool
        The file is to blame, not the computation.
    labels : str
        Digest of the labels.
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
    """

    job: int
    purpose: str = SCORES
    cells: dict[str, Cell] = field(default_factory=dict)
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    counts: tuple[npt.NDArray[np.float64], ...] = ()
    failure: str = ""
    bad_input: bool = False
    labels: str = ""
    coarse: bool = False
    seconds: float = 0.0
    computed: bool = False
    key: str = ""
    cache_error: str = ""


def failed(job: Job, purpose: str, reason: str, *, bad_input: bool = False) -> SeriesResult:
    """Build the result of a job that came to nothing."""
    return SeriesResult(job.number, purpose, failure=reason, bad_input=bad_input)


def run_batch(batch: Batch, settings: Settings) -> list[SeriesResult]:
    """Compute every job of a batch; stops between two jobs where the caller asked to stop."""
    return list(iterate_batch(batch, settings))


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
                if batch.purpose == CHANCE:
                    yield chance_of_series(item.checked_labels(), job, settings)
                else:
                    yield score_series(*item.checked(), job, settings)
            except TableError as error:
                yield failed(job, batch.purpose, str(error), bad_input=True)
            except Exception as error:
                yield failed(job, batch.purpose, f"{type(error).__name__}: {_line(error)}")
    except (TableError, OSError) as error:
        # The file broke off while it was read: what came before stands.
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


def score_series(labels: BoolArray, scores: FloatArray, job: Job, settings: Settings) -> SeriesResult:
    """Compute all that is wanted of one series and not in the cache yet, and keep it."""
    key = cache.content_key("unit", settings.parameters, settings.code, labels, scores)
    result = _completed(job, key, settings.ids, settings, lambda missing: _evaluated(labels, scores, missing, settings))
    limits, cache_error = result.limits, result.cache_error
    if settings.event_draws:
        limits, cache_error = _limits_over_events(labels, scores, job, settings)
    counts: tuple[npt.NDArray[np.float64], ...] = ()
    if settings.pooled_buffers:
        thresholds = pooled.choose_thresholds(np.sort(scores), settings.pooled_thresholds)
        counts = tuple(
            pooled.count_series(labels, scores, early, delay, thresholds) for early, delay in settings.pooled_buffers
        )
    return replace(
        result,
        limits=limits,
        counts=counts,
        labels=cache.labels_digest(labels),
        coarse=coarseness(scores) is not None,
        cache_error=result.cache_error or cache_error,
    )


def chance_of_series(labels: BoolArray, job: Job, settings: Settings) -> SeriesResult:
    """Average the metrics over random scores, drawn alike for the same labels whoever asks."""
    digest = cache.labels_digest(labels)
    parameters = settings.parameters | {"draws": settings.draws, "seed": settings.seed}
    key = cache.content_key("chance", parameters, settings.code, digest)

    def compute(missing: Sequence[str]) -> dict[str, Cell]:
        generator = np.random.default_rng([settings.seed, int(digest, 16)])
        draws = [_evaluated(labels, generator.random(labels.size), missing, settings) for _ in range(settings.draws)]
        cells = {}
        for metric in missing:
            values = np.array([draw[metric].value for draw in draws])
            defined = values[~np.isnan(values)]
            reason = next((draw[metric].reason for draw in draws if draw[metric].reason), "")
            cells[metric] = Cell(float(defined.mean())) if defined.size else Cell(math.nan, reason)
        return cells

    return replace(_completed(job, key, settings.ids, settings, compute), purpose=CHANCE, labels=digest)


def _limits_over_events(
    labels: BoolArray, scores: FloatArray, job: Job, settings: Settings
) -> tuple[dict[str, tuple[float, float]], str]:
    """Compute confidence limits over the events of one series, kept in the cache as ``pate low`` and ``pate high``."""
    parameters = settings.parameters | {"draws": settings.event_draws, "seed": settings.seed}
    key = cache.content_key("events", parameters, settings.code, labels, scores)

    def compute(missing: Sequence[str]) -> dict[str, Cell]:
        metrics = list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in missing))

        def values(truth: BoolArray, resampled: FloatArray) -> list[float]:
            return [cell.value for cell in _evaluated(truth, resampled, metrics, settings).values()]

        found = event_intervals(labels, scores, values, draws=settings.event_draws, seed=settings.seed)
        cells: dict[str, Cell] = {}
        for metric, (low, high) in zip(metrics, found, strict=True):
            reason = "too few events to resample" if math.isnan(low) else ""
            cells |= {f"{metric} low": Cell(float(low), reason), f"{metric} high": Cell(float(high), reason)}
        return cells

    wanted = [f"{metric} {end}" for metric in settings.event_metrics for end in ("low", "high")]
    result = _completed(job, key, wanted, settings, compute)
    cells = result.cells
    limits = {each: (cells[f"{each} low"].value, cells[f"{each} high"].value) for each in settings.event_metrics}
    return limits, result.cache_error


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


def _evaluated(labels: BoolArray, scores: FloatArray, metrics: Sequence[str], settings: Settings) -> dict[str, Cell]:
    """Evaluate, and where something breaks, metric by metric, so that one does not take the others with it."""
    if not metrics:
        return {}
    with warnings.catch_warnings():
        # What evaluate warns about, the leaderboard sees in the numbers, and says once.
        warnings.simplefilter("ignore")
        try:
            chosen = [metric for metric in settings.metrics if metric.id in metrics]
            found = evaluate(labels, scores, metrics=chosen, **settings.parameters)
        except Exception as error:
            if len(metrics) == 1:
                return {metrics[0]: Cell(math.nan, f"{_FAILED}{type(error).__name__}: {_line(error)}")}
            alone = [_evaluated(labels, scores, [metric], settings) for metric in metrics]
            return {metric: cell for each in alone for metric, cell in each.items()}
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


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


_stop: Any = None


def set_stop(event: Any) -> None:
    """Give this process the event that tells it to stop after the series in hand."""
    global _stop  # one per worker process
    _stop = event


def stopped() -> bool:
    """Tell whether the run was interrupted."""
    return _stop is not None and bool(_stop.is_set())
