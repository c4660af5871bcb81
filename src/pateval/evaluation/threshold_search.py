"""The best threshold of any metric: what a detector could reach if somebody told it where to cut."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from pateval.catalog.metric import KINDS, Metric
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Sample, search, unchangeable
from pateval.output.results import PRF
from pateval.thresholds.sweeps import BestThreshold
from pateval.time.clocks import Duration
from pateval.time.timelines import read_recording
from pateval.validation.arrays import Buffers, positive_integer, require_anomaly


def best_threshold(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    metric: str | Metric | Callable[..., Any] = "point_f1",
    candidates: int | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    missing: str = "error",
) -> BestThreshold:
    """Find the threshold with the best value of a metric; the highest such threshold if there are several.

    All distinct scores are tried, a step being predicted where its score is at least the threshold. For `pate_f1` and
    the F1 of `point`, `point_adjusted`, `point_adjusted_k`, `delay_adjusted`, `composite` and `segment` that costs no
    more than a few sorts. Any other metric is computed once per distinct score, which on long series of fine-grained
    scores takes minutes; ``candidates`` bounds their number.

    Parameters
    ----------
    labels : array-like of 0 and 1
        The truth, one value per time step.
    scores : array-like of float
        The detector's scores, one per time step, higher is more anomalous.
    metric : str, Metric or callable, default "point_f1"
        A metric on predictions: its id, with options or without, or ``"package.module:function"``; a `Metric` made with
        `define_metric`; one where lower is better is minimised. Or a function of labels and predictions, whose result,
        a number or the F1 of a `PRF`, is maximised.
    candidates : int, optional
        Try at most this many of the distinct scores, evenly spaced by rank, the highest and the lowest among them. The
        result is then a lower bound of the best. The seven metrics above are always searched in full.
    early, delay, window
        Lengths for the metrics that take them, as in `evaluate`.
    missing : {"error", "ignore", "normal"}
        What to do where a score is NaN or null: refuse it, leave the step out, or count it as never predicted.

    Returns
    -------
    BestThreshold
        The pair ``(threshold, value)``. Thresholds at which the metric is undefined are passed over.

    Raises
    ------
    UndefinedMetricError
        If no step is anomalous, or if the metric is undefined at every threshold.
    ValueError
        If the metric is unknown or needs no threshold.

    Warnings
    --------
    The search uses the labels, so the value is that of an oracle: an upper bound that no detector in use can count on.
    Metrics that false alarms cost nothing have their best at the lowest score, where everything is flagged.

    References
    ----------
    .. [1] S. Kim et al., "Towards a Rigorous Evaluation of Time-Series Anomaly Detection", AAAI 2022, on what the best
       threshold hides; arXiv:2109.05257.

    Examples
    --------
    >>> best_threshold([0, 1, 1, 0, 0], [0.1, 0.9, 0.3, 0.5, 0.2])
    BestThreshold(threshold=0.3, value=0.8)
    >>> best_threshold([0, 1, 1, 0, 0], [0.1, 0.9, 0.3, 0.5, 0.2], metric="point_adjusted_f1")
    BestThreshold(threshold=0.9, value=1.0)
    >>> best_threshold([0, 1, 1, 0, 0], [0.1, 0.4, 0.9, 0.5, 0.2], metric="mean_detection_delay")
    BestThreshold(threshold=0.4, value=0.0)
    """
    number = None if candidates is None else positive_integer(candidates, "candidates")
    recording = read_recording(labels, scores, missing=missing)
    if callable(metric) and not _names_what_it_takes(metric):
        function, sample = metric, Sample(recording, Measures(()))
        require_anomaly(sample.labels)
        truth: Any = unchangeable(sample.labels)
        reached: Any = sample.scores  # there, since scores were given
        return search(reached, lambda flags: _number(function(truth, flags)), number, sign=1)
    measures = Measures.of(metrics=[metric], early=early, delay=delay, window=window)
    (wanted,) = measures.metrics
    if not wanted.needs_threshold:
        raise ValueError(f"{wanted.id} is computed from scores and needs no threshold; name a metric on predictions")
    sample = Sample(recording, measures)
    require_anomaly(sample.labels)
    return sample.best(wanted, number)


def _names_what_it_takes(function: Callable[..., Any]) -> bool:
    """Whether a function can stand for a metric by itself; if not, only its value counts here."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    named = len(parameters) > 1 and parameters[1] in KINDS
    return named and getattr(function, "__name__", "").isidentifier()


def _number(result: Any) -> float:
    return float(result.f1 if isinstance(result, PRF) else result)
