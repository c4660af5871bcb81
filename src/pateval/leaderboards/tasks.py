"""What a worker does: read a batch of series, compute their metrics, keep each result as it is finished.

Nothing raises from here: a series that cannot be read or computed comes back as an outcome with its reason.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pateval.io import TableError
from pateval.leaderboards import cache
from pateval.leaderboards.bootstrap import event_intervals
from pateval.leaderboards.plan import Batch, Job, read_batch
from pateval.leaderboards.pooled import score_sample
from pateval.pate.accumulator import PateAccumulator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval._validation import BoolArray, FloatArray

    Evaluate = Callable[..., Mapping[str, float]]


class Cell(NamedTuple):
    """One value of one metric, or the reason why there is none."""

    value: float
    reason: str = ""


@dataclass(frozen=True)
class Settings:
    """What is computed for every series, the same for all workers.

    Attributes
    ----------
    metrics : tuple of str
        Metric ids, in the order of the table.
    parameters : dict
        Options handed to `evaluate`.
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
    evaluate : callable, optional
        Stands in for :func:`pateval.evaluation`, in tests.
    """

    metrics: tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    cache: str | None = None
    code: str = ""
    draws: int = 0
    seed: int = 0
    event_draws: int = 0
    event_metrics: tuple[str, ...] = ()
    evaluate: Evaluate | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one job.

    Attributes
    ----------
    detector, series : str
        Which job.
    cells : dict of str to Cell
        Value or reason per metric; empty where the job failed as a whole.
    failure : str
        Why the job failed, or empty.
    bad_input : bool
        The file is to blame, not the computation.
    labels : str
        Digest of the labels.
    steps, anomalies : int
        Length of the series, and its anomalous steps.
    distinct, top_share
        Number of distinct scores, and the share of steps that hold the commonest one.
    sample : ndarray, optional
        A few of the scores, which stand for all.
    counts : PateAccumulator, optional
        Weighted counts at the thresholds of the detector, where asked for.
    seconds : float
        Time the metrics took, now or when they were first computed.
    computed : bool
        False where everything came from the cache.
    key : str
        Name in the cache.
    trouble : str
        One line where the result could not be written to the cache.
    """

    detector: str
    series: str
    cells: dict[str, Cell] = field(default_factory=dict)
    failure: str = ""
    bad_input: bool = False
    labels: str = ""
    steps: int = 0
    anomalies: int = 0
    distinct: int = 0
    top_share: float = math.nan
    sample: npt.NDArray[np.float64] | None = None
    counts: PateAccumulator | None = None
    seconds: float = 0.0
    computed: bool = False
    key: str = ""
    trouble: str = ""

    def slim(self) -> Outcome:
        """Return the outcome without what has been handed on, which would add up over many series."""
        return replace(self, cells={}, sample=None, counts=None)


def failed(job: Job, reason: str, *, bad_input: bool = False) -> Outcome:
    """Build the outcome of a job that came to nothing."""
    return Outcome(job.detector, job.series, failure=reason, bad_input=bad_input, steps=job.unit.steps)


def run_batch(batch: Batch, settings: Settings) -> list[Outcome]:
    """Compute all metrics of every job of a batch; stops between two jobs where the caller asked to stop."""
    return list(_each(batch, settings, lambda labels, scores, job: score_series(labels, scores, job, settings)))


def run_chance(batch: Batch, settings: Settings) -> list[Outcome]:
    """Compute what random scores reach on the labels of every job of a batch."""
    return list(_each(batch, settings, lambda labels, _, job: chance_of_series(labels, job, settings)))


def run_events(batch: Batch, settings: Settings) -> list[Outcome]:
    """Compute confidence limits over the events of every job of a batch."""
    return list(_each(batch, settings, lambda labels, scores, job: limits_of_series(labels, scores, job, settings)))


def run_pooled(batch: Batch, settings: Settings) -> list[Outcome]:
    """Count every job of a batch at the thresholds of its detector, for values over all series together."""
    thresholds = batch.thresholds or {}

    def count(labels: BoolArray, scores: FloatArray, job: Job) -> Outcome:
        counts = PateAccumulator(settings.parameters["early"], settings.parameters["delay"], thresholds[job.detector])
        return Outcome(job.detector, job.series, counts=counts.update(labels, scores))

    return list(_each(batch, settings, count))


def _each(
    batch: Batch, settings: Settings, compute: Callable[[BoolArray, FloatArray, Job], Outcome]
) -> Iterator[Outcome]:
    if settings.code != cache.fingerprint():
        for job in batch.jobs:
            yield failed(job, f"a worker has other metric code (pateval {cache.package_version()}) than this process")
        return
    waiting = {(job.detector, job.series): job for job in batch.jobs}
    try:
        for job, item in read_batch(batch):
            if stopped():
                return
            del waiting[job.detector, job.series]
            try:
                labels, scores = item.checked()
            except TableError as error:
                yield failed(job, str(error), bad_input=True)
                continue
            try:
                yield compute(labels, scores, job)
            except Exception as error:
                yield failed(job, f"{type(error).__name__}: {_line(error)}")
    except (TableError, OSError) as error:
        # The file broke off while it was read: what came before stands.
        for job in waiting.values():
            yield failed(job, str(error), bad_input=True)


def score_series(labels: BoolArray, scores: FloatArray, job: Job, settings: Settings) -> Outcome:
    """Compute the metrics of one series that are not in the cache yet, and keep them."""
    key = cache.content_key("unit", settings.parameters, settings.code, labels, scores)
    outcome = _completed(
        job, key, settings.metrics, settings, lambda missing: _evaluated(labels, scores, missing, settings)
    )
    ordered = np.sort(scores)
    distinct, counts = np.unique(ordered, return_counts=True)
    return replace(
        outcome,
        labels=cache.labels_digest(labels),
        steps=labels.size,
        anomalies=int(np.count_nonzero(labels)),
        distinct=distinct.size,
        top_share=float(counts.max()) / labels.size,
        sample=score_sample(ordered, distinct),
    )


def chance_of_series(labels: BoolArray, job: Job, settings: Settings) -> Outcome:
    """Average the metrics over random scores, drawn alike for the same labels whoever asks."""
    digest = cache.labels_digest(labels)
    parameters = settings.parameters | {"draws": settings.draws, "seed": settings.seed}
    key = cache.content_key("chance", parameters, settings.code, digest)

    def compute(missing: Sequence[str]) -> dict[str, Cell]:
        generator = np.random.default_rng([settings.seed, int(digest, 16)])
        found = [_evaluated(labels, generator.random(labels.size), missing, settings) for _ in range(settings.draws)]
        cells = {}
        for metric in missing:
            values = np.array([each[metric].value for each in found])
            defined = values[~np.isnan(values)]
            reason = next((each[metric].reason for each in found if each[metric].reason), "")
            cells[metric] = Cell(float(defined.mean())) if defined.size else Cell(math.nan, reason)
        return cells

    return replace(_completed(job, key, settings.metrics, settings, compute), labels=digest, steps=labels.size)


def limits_of_series(labels: BoolArray, scores: FloatArray, job: Job, settings: Settings) -> Outcome:
    """Compute confidence limits of the metrics over the events of one series, as cells ``pate low``, ``pate high``."""
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
    return _completed(job, key, wanted, settings, compute)


def _completed(
    job: Job,
    key: str,
    wanted: Sequence[str],
    settings: Settings,
    compute: Callable[[Sequence[str]], dict[str, Cell]],
) -> Outcome:
    """Take what the cache has, compute what is missing, and keep both."""
    cells, seconds = _recalled(settings, key)
    missing = [name for name in wanted if name not in cells]
    trouble = ""
    if missing:
        started = time.perf_counter()
        cells |= compute(missing)
        seconds += time.perf_counter() - started
        trouble = cache.store(settings.cache, key, record_of(cells, seconds))
    return Outcome(
        job.detector,
        job.series,
        {name: cells[name] for name in wanted},
        seconds=seconds,
        computed=bool(missing),
        key=key,
        trouble=trouble,
    )


_FAILED = "failed: "


def is_failure(cell: Cell) -> bool:
    """Tell a metric that broke from one that is undefined."""
    return cell.reason.startswith(_FAILED)


def _evaluated(labels: BoolArray, scores: FloatArray, metrics: Sequence[str], settings: Settings) -> dict[str, Cell]:
    """Evaluate, and where something breaks, metric by metric, so that one does not take the others with it."""
    if not metrics:
        return {}
    evaluate = settings.evaluate or _real_evaluate()
    with warnings.catch_warnings():
        # What evaluate warns about, the leaderboard sees in the numbers, and says once.
        warnings.simplefilter("ignore")
        try:
            found = evaluate(labels, scores, metrics=list(metrics), **settings.parameters)
        except Exception as error:
            if len(metrics) == 1:
                return {metrics[0]: Cell(math.nan, f"{_FAILED}{type(error).__name__}: {_line(error)}")}
            alone = [_evaluated(labels, scores, [metric], settings) for metric in metrics]
            return {metric: cell for each in alone for metric, cell in each.items()}
    reasons: Mapping[str, str] = getattr(found, "reasons", {})
    return {
        metric: Cell(float(found[metric]), reasons.get(metric, "undefined") if math.isnan(found[metric]) else "")
        for metric in metrics
    }


def _real_evaluate() -> Evaluate:
    from pateval.evaluation import evaluate

    return evaluate


def _recalled(settings: Settings, key: str) -> tuple[dict[str, Cell], float]:
    """Take a result back from the cache; an entry that makes no sense counts as absent."""
    record = cache.load(settings.cache, key) or {}
    try:
        reasons = record.get("reasons", {})
        cells = {
            str(metric): Cell(math.nan if value is None else float(value), str(reasons.get(metric, "")))
            for metric, value in record.get("values", {}).items()
        }
        return cells, float(record.get("seconds", 0.0))
    except (AttributeError, TypeError, ValueError):
        return {}, 0.0


def record_of(cells: Mapping[str, Cell], seconds: float) -> dict[str, Any]:
    """Put a result in the form it is kept in; metrics that broke are left out, so that they are tried again."""
    sound = {metric: cell for metric, cell in cells.items() if not is_failure(cell)}
    return {
        "values": {metric: None if math.isnan(cell.value) else cell.value for metric, cell in sound.items()},
        "reasons": {metric: cell.reason for metric, cell in sound.items() if cell.reason},
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
