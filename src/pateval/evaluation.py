"""All metrics of one detector on one series, or several, with shared work done once."""

from __future__ import annotations

import inspect
import json
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval._validation import (
    BoolArray,
    Buffers,
    FloatArray,
    IntArray,
    UndefinedMetricError,
    binary_array,
    binary_pair,
    buffer_lengths,
    non_negative_integer,
    scored_pair,
    series_starts,
)
from pateval.catalog import MetricLike, canonical_id, find_metrics
from pateval.coarse import CoarseScoresWarning, coarseness
from pateval.metric import Metric
from pateval.option_text import value_text
from pateval.signatures import signature
from pateval.threshold_search import best_threshold
from pateval.thresholds import (
    apply_threshold,
    median_deviation_threshold,
    peaks_over_threshold,
    quantile_threshold,
    standard_deviation_threshold,
)

ORACLE = "oracle"
THRESHOLD_RULES: dict[str, tuple[str, Callable[..., float], str]] = {
    "quantile": ("the highest share of scores", quantile_threshold, "fraction"),
    "standard-deviation": ("standard deviations above the mean", standard_deviation_threshold, "deviations"),
    "median-deviation": ("median absolute deviations above the median", median_deviation_threshold, "deviations"),
    "peaks-over-threshold": ("extreme value theory", peaks_over_threshold, "risk"),
}


@dataclass(frozen=True, repr=False)
class Evaluation(Mapping[str, float]):
    """Metric values by id; NaN where a metric is undefined.

    Attributes
    ----------
    values_by_id : dict
        The values themselves.
    reasons : dict
        For each undefined metric, why.
    threshold : float or None
        The threshold that turned scores into predictions, where one was needed.
    threshold_rule : str or None
        Where it came from. One that begins with "oracle" has used the labels.
    means : frozenset of str
        With several series: the metrics whose value is the mean over the series where they are defined; all others
        are computed over all steps together.
    notes : tuple of str
        What a reader should know, such as scores that are coarse.
    seconds : dict
        Time spent on each metric; work shared by several is booked on the first.
    metrics : tuple of Metric
        What was computed.
    options : dict
        The global options: ``early``, ``delay``, ``window``.
    predictions_from : str or float
        How predictions were made, as signatures say it: "given", a threshold, or a rule.
    several_series : bool
        Whether there was more than one series.
    """

    values_by_id: dict[str, float]
    reasons: dict[str, str]
    threshold: float | None = None
    threshold_rule: str | None = None
    means: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    metrics: tuple[Metric, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    predictions_from: str | float = "given"
    several_series: bool = False

    def __getitem__(self, key: str) -> float:
        return self.values_by_id[self._id(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_id)

    def __len__(self) -> int:
        return len(self.values_by_id)

    def _id(self, key: str) -> str:
        """Find the id that a spelling means, of those that were computed."""
        if key in self.values_by_id or not isinstance(key, str) or "(" not in key:
            return key
        try:
            return canonical_id(key, self.metrics, global_values=self.options)
        except (ValueError, TypeError):
            return key

    @cached_property
    def signatures(self) -> dict[str, str]:
        """For each metric, one line that holds everything that decided its value; `parse_signature` reads it."""
        return {
            metric.id: signature(
                metric,
                self.options,
                predictions=self.predictions_from,
                series=("mean" if metric.id in self.means else "pooled") if self.several_series else None,
            )
            for metric in self.metrics
        }

    def signature(self, metric_id: str) -> str:
        """Everything that decided a metric's value, in one line.

        Parameters
        ----------
        metric_id : str
            Id of a metric that was computed, in any spelling.

        Examples
        --------
        >>> found = evaluate([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.3], metrics="point_f_beta(beta=0.5)")
        >>> found.signature("point_f_beta(beta=0.5)").rpartition("|")[0]
        'point_f_beta|beta:0.5|predictions:oracle:point_f1|definition:1'
        """
        return self.signatures[self._id(metric_id)]

    def label(self, metric: str) -> str:
        """Name of a metric for a table, with "(oracle)" where its threshold has used the labels."""
        uses_labels = (self.threshold_rule or "").startswith(ORACLE)
        needs = any(found.id == self._id(metric) and found.needs_threshold for found in self.metrics)
        return f"{metric} (oracle)" if uses_labels and needs else metric

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined.

        Examples
        --------
        >>> evaluate([0, 0, 0], [0.1, 0.2, 0.3], metrics="auc_roc").to_dict()["metrics"]["auc_roc"]["value"] is None
        True
        """
        metrics = {
            name: {
                "value": _finite(value),
                "reason": self.reasons.get(name),
                "signature": self.signatures.get(name),
                "mean_over_series": name in self.means,
            }
            for name, value in self.items()
        }
        return {
            "metrics": metrics,
            "threshold": self.threshold,
            "threshold_rule": self.threshold_rule,
            "options": {
                name: list(value) if isinstance(value, tuple) else value for name, value in self.options.items()
            },
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON.

        Examples
        --------
        >>> print(evaluate([0, 1, 0], [0.1, 0.9, 0.2], metrics="auc_roc").to_json()[:45])
        {"metrics": {"auc_roc": {"value": 1.0, "reaso
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        width = max(len(self.label(metric)) for metric in self)
        lines = [
            f"{self.label(metric):{width}}  " + self.reasons.get(metric, f"{value:.4f}")
            for metric, value in self.items()
        ]
        if self.threshold is not None:
            lines.append(f"predictions: score >= {self.threshold:.6g} ({self.threshold_rule})")
        if self.means:
            lines.append(f"mean over series: {', '.join(metric for metric in self if metric in self.means)}")
        return "\n".join([*lines, *self.notes])


def evaluate(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike | None = None,
    predictions: npt.ArrayLike | None = None,
    *,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int = 100,
    threshold: float | str = ORACLE,
    series: npt.ArrayLike | None = None,
) -> Evaluation:
    """Compute metrics of one detector, all of them by default.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : array-like of float, optional
        Higher is more anomalous.
    predictions : array-like of 0/1, optional
        Where given, metrics on predictions use them; otherwise they are made from the scores with ``threshold``.
    metrics : str, Metric, function, or iterable of these, optional
        Metric ids, as ``pateval metrics`` lists them, with options or without: ``"pate(early=20,delay=20)"``; functions
        whose second parameter is named ``scores`` or ``predictions``, or ``"package.module:function"``; what
        `define_metric` makes. The whole catalogue by default.
    early, delay : int or iterable of int
        Buffer lengths for PATE and its kin; options in a metric's id win over them.
    window : int
        Largest window of VUS and range-AUC; likewise.
    threshold : float or str
        A number (a step is predicted where its score is at least that), or a rule: "oracle" (the threshold with the
        best point F1: it uses the labels, and tables say so), "quantile", "standard-deviation", "median-deviation" or
        "peaks-over-threshold", each with an optional figure as in "quantile:0.02" or "standard-deviation:3".
    series : array-like, optional
        Which series each step belongs to. Metrics that can be are computed over all steps together; the others are the
        mean over the series where they are defined, and listed in ``means``.

    Returns
    -------
    Evaluation
        A mapping from metric id to value, NaN where undefined, with ``reasons``.

    Raises
    ------
    ValueError, TypeError
        If an input is not of the form described, or a metric is unknown. An undefined metric does not raise.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    >>> scores = [0.1, 0.3, 0.2, 0.6, 0.9, 0.8, 0.5, 0.2, 0.1, 0.7]
    >>> pv.evaluate(labels, scores, metrics=["pate", "auc_roc", "point_f1", "mean_detection_delay"], early=2, delay=2)
    pate                           0.7931
    auc_roc                        0.8750
    point_f1 (oracle)              0.6667
    mean_detection_delay (oracle)  1.0000
    predictions: score >= 0.9 (oracle: best point F1)
    >>> pv.evaluate([0, 0, 0], [0.1, 0.2, 0.3], metrics="pate").reasons
    {'pate': 'the metric is undefined: the labels hold no anomaly'}
    >>> pv.evaluate(labels, scores, metrics=["pate", "pate(early=0,delay=0)", "vus_pr(variant=original)"], window=4)
    pate                      0.7816
    pate(early=0,delay=0)     0.7083
    vus_pr(variant=original)  0.7116
    """
    options: dict[str, Any] = {
        "early": buffer_lengths(early, "early"),
        "delay": buffer_lengths(delay, "delay"),
        "window": non_negative_integer(window, "window"),
    }
    wanted = find_metrics(metrics, global_values=options)
    if scores is None and predictions is None:
        raise ValueError("evaluate needs scores, predictions or both")
    checked_scores: FloatArray | None = None
    checked_predictions: BoolArray | None = None
    if scores is not None:
        labels, checked_scores = scored_pair(labels, scores)
    if predictions is not None:
        labels, checked_predictions = binary_pair(labels, predictions)
    labels = _read_only(binary_array(labels, "labels"))
    starts = series_starts(series, labels.size)
    rule, choose = threshold_rule(threshold)
    origin: str | float = describe_threshold(threshold) if checked_predictions is None else "given"
    used, no_predictions = None, "needs predictions, or scores to make them from"
    if checked_predictions is None and checked_scores is not None and any(metric.needs_threshold for metric in wanted):
        try:
            used = choose(labels, checked_scores)
            checked_predictions = apply_threshold(checked_scores, used)
        except UndefinedMetricError as error:
            no_predictions = str(error)

    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    seconds: dict[str, float] = {}
    means: set[str] = set()
    checked_scores = None if checked_scores is None else _read_only(checked_scores)
    checked_predictions = None if checked_predictions is None else _read_only(checked_predictions)
    whole = _Work(labels, checked_scores, checked_predictions, no_predictions, options, starts)
    parts = _parts(whole) if starts.size > 1 else []
    for metric in wanted:
        begin = time.perf_counter()
        pooled = not parts or metric.pools
        values[metric.id], reason = whole.value(metric) if pooled else _mean(metric, parts)
        seconds[metric.id] = time.perf_counter() - begin
        if reason:
            reasons[metric.id] = reason
        if not pooled:
            means.add(metric.id)
    notes = []
    if checked_scores is not None and (reason := coarseness(checked_scores)):
        notes.append(f"{reason}: the trapezoid rule (pate, auc_pr, ts_auprc) flatters such scores")
    used_rule = None if used is None else rule
    return Evaluation(
        values,
        reasons,
        threshold=used,
        threshold_rule=used_rule,
        means=frozenset(means),
        notes=tuple(notes),
        seconds=seconds,
        metrics=tuple(wanted),
        options=options,
        predictions_from=origin,
        several_series=bool(parts),
    )


def choose_threshold(labels: BoolArray, scores: FloatArray, threshold: float | str) -> tuple[float | None, str | None]:
    """Turn a threshold or the name of a rule into a number and where it came from; None where labels are needed."""
    rule, choose = threshold_rule(threshold)
    if rule.startswith(ORACLE) and not labels.any():
        return None, None
    return choose(labels, scores), rule


def threshold_rule(threshold: float | str) -> tuple[str, Callable[[BoolArray, FloatArray], float]]:
    """Where a threshold comes from, in words, and the function of labels and scores that finds it.

    Examples
    --------
    >>> name, choose = threshold_rule("quantile:0.25")
    >>> name, choose(np.array([False]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    ('quantile:0.25: the highest share of scores', 4.0)
    """
    if not isinstance(threshold, str):
        if isinstance(threshold, bool) or not isinstance(threshold, Real) or not math.isfinite(threshold):
            raise ValueError(f"threshold must be a finite number or the name of a rule; got {threshold!r}")
        number = float(threshold)
        return "given", lambda _labels, _scores: number
    name, _, figure = threshold.partition(":")
    if name == ORACLE and not figure:
        return "oracle: best point F1", lambda labels, scores: best_threshold(labels, scores).threshold
    if name not in THRESHOLD_RULES:
        known = ", ".join(map(repr, (ORACLE, *THRESHOLD_RULES)))
        raise ValueError(f"threshold must be a number or one of {known}; got {threshold!r}")
    what, function, parameter = THRESHOLD_RULES[name]
    try:
        options = {parameter: float(figure)} if figure else {}
    except ValueError:
        raise ValueError(f"the figure of threshold rule {threshold!r} is not a number") from None
    return f"{threshold}: {what}", lambda _labels, scores: function(scores, **options)


def describe_threshold(threshold: float | str) -> str | float:
    """How predictions are made from scores, as signatures say it: a number, or a rule with its figure.

    Examples
    --------
    >>> describe_threshold("quantile"), describe_threshold("oracle"), describe_threshold(0.5)
    ('quantile:0.01', 'oracle:point_f1', 0.5)
    """
    threshold_rule(threshold)  # refuses what is no rule
    if not isinstance(threshold, str):
        return float(threshold)
    name, _, figure = threshold.partition(":")
    if name == ORACLE:
        return f"{ORACLE}:point_f1"
    _, function, parameter = THRESHOLD_RULES[name]
    used = float(figure) if figure else inspect.signature(function).parameters[parameter].default
    return f"{name}:{value_text(float(used))}"


@dataclass(frozen=True)
class _Work:
    """One stretch of steps, and what has been computed on it so far."""

    labels: BoolArray
    scores: FloatArray | None
    predictions: BoolArray | None
    no_predictions: str  # why there are none, where there are none
    options: dict[str, Any]
    starts: IntArray
    results: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def value(self, metric: Metric) -> tuple[float, str | None]:
        """Value of one metric, or NaN and the reason."""
        given = self.scores if metric.takes == "scores" else self.predictions
        if given is None:
            return math.nan, "needs scores" if metric.takes == "scores" else self.no_predictions
        options = metric.effective_options(self.options)
        try:
            value = metric.read(self._result(metric, given, options), options)
        except UndefinedMetricError as error:
            return math.nan, str(error)
        return value, "the metric is undefined for this input" if math.isnan(value) else None

    def _result(self, metric: Metric, given: npt.NDArray[Any], options: dict[str, Any]) -> Any:
        """Do the work of a metric, or take it over from a metric with the same work and options."""
        work = metric.function if metric.shared is None else metric.shared.compute
        key = (work, repr(metric.work_options(options)))
        if key not in self.results:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CoarseScoresWarning)  # noted once, by evaluate
                try:
                    self.results[key] = metric.compute(self.labels, given, options, series=self._series())
                except UndefinedMetricError as error:
                    self.results[key] = error
                except Exception as error:
                    error.add_note(f"raised by the metric {metric.id}")
                    raise
        result = self.results[key]
        if isinstance(result, UndefinedMetricError):
            raise result
        return result

    def _series(self) -> IntArray | None:
        """Number of the series of each step, where there are several."""
        if self.starts.size == 1:
            return None
        return np.repeat(np.arange(self.starts.size), np.diff(np.append(self.starts, self.labels.size)))


def _parts(whole: _Work) -> list[_Work]:
    def cut(array: npt.NDArray[Any] | None, begin: int, stop: int) -> Any:
        return None if array is None else array[begin:stop]

    stops = np.append(whole.starts[1:], whole.labels.size)
    return [
        _Work(
            whole.labels[begin:stop],
            cut(whole.scores, begin, stop),
            cut(whole.predictions, begin, stop),
            whole.no_predictions,
            whole.options,
            np.zeros(1, dtype=np.intp),
        )
        for begin, stop in zip(whole.starts, stops, strict=True)
    ]


def _mean(metric: Metric, parts: list[_Work]) -> tuple[float, str | None]:
    """Mean over the series where the metric is defined."""
    found = [part.value(metric) for part in parts]
    values = [value for value, reason in found if reason is None]
    if values:
        return float(np.mean(values)), None
    ((reason, _),) = Counter(reason for _, reason in found).most_common(1)
    return math.nan, f"undefined on every series: {reason}"


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Protect what several metrics see from a function that writes."""
    view = array.view()
    view.flags.writeable = False
    return view


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
