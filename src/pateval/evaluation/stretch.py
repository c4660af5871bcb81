"""Metrics on one stretch of checked steps; computations that several metrics share are done once."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import Metric
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.time.clocks import Clock
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, UndefinedMetricError
from pateval.validation.wording import in_words

_CHANNELS = "takes one label per step; these labels are steps by channels"
_NO_CHANNELS = "needs labels of steps by channels; these have one per step"
_NEEDS_ALL = "needs a score at every step; missing='ignore' leaves out the steps without one"


@dataclass(frozen=True)
class OnClock:
    """The whole recording, for metrics that measure on a clock and leave steps out themselves.

    Attributes
    ----------
    labels, scores, predictions : ndarray
        At every recorded step; scores are NaN where they are missing.
    data : dict
        What else the functions are told: ``series``, ``times``, ``ignore`` and so on, as `Metric.compute` takes it.
    """

    labels: BoolArray
    scores: FloatArray | None
    predictions: BoolArray | None
    data: dict[str, Any]


@dataclass(frozen=True)
class Stretch:
    """One stretch of steps, and what has been computed on it so far.

    Attributes
    ----------
    labels, scores, predictions : ndarray
        At the steps that count; scores are NaN where a step counts as never predicted.
    no_predictions : str
        Why there are none, where there are none.
    options : dict
        The global options.
    starts : ndarray of int
        Where each series begins.
    clock : Clock or None
        When each step was recorded.
    on_clock : OnClock or None
        The whole recording, where it differs from this.
    """

    labels: BoolArray
    scores: FloatArray | None
    predictions: BoolArray | None
    no_predictions: str
    options: dict[str, Any]
    starts: IntArray
    clock: Clock | None = None
    has_gaps: bool = False
    on_clock: OnClock | None = None
    results: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def value(self, metric: Metric) -> tuple[float, str | None]:
        """Value of one metric, or NaN and the reason."""
        if metric.channels != (self.labels.ndim == 2):
            return math.nan, _NO_CHANNELS if metric.channels else _CHANNELS
        if (self.scores if metric.takes == "scores" else self.predictions) is None:
            return math.nan, "needs scores" if metric.takes == "scores" else self.no_predictions
        if self.has_gaps and metric.takes == "scores" and not metric.takes_missing:
            return math.nan, _NEEDS_ALL
        options = self.step_options(metric)
        try:
            value = metric.read(self._result(metric, options), options)
        except UndefinedMetricError as error:
            return math.nan, str(error)
        return value, "the metric is undefined for this input" if math.isnan(value) else None

    def step_options(self, metric: Metric) -> dict[str, Any]:
        """Options of a metric on these steps: durations become steps, unless it measures on a clock itself."""
        options = metric.effective_options(self.options)
        if metric.on_clock or not metric.durations(options):
            return options
        if self.clock is None:
            name, value = next(iter(metric.durations(options).items()))
            raise ValueError(f"{name}={in_words(value)} is a duration, which needs the times of the steps: pass times")
        interval = self.clock.median_interval(self.starts)
        if interval is None:
            raise UndefinedMetricError("the metric is undefined: a single step has no interval to measure durations by")
        return metric.in_steps(options, interval, self.clock)

    def _result(self, metric: Metric, options: dict[str, Any]) -> Any:
        """Compute a metric, or reuse the result of another one with the same computation and options."""
        compute = metric.function if metric.shared is None else metric.shared.compute
        key = (compute, repr(metric.compute_options(options)))
        if key not in self.results:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CoarseScoresWarning)  # noted once, by evaluate
                try:
                    self.results[key] = self._compute(metric, options)
                except UndefinedMetricError as error:
                    self.results[key] = error
                except Exception as error:
                    error.add_note(f"raised by the metric {metric.id}")
                    raise
        result = self.results[key]
        if isinstance(result, UndefinedMetricError):
            raise result
        return result

    def _compute(self, metric: Metric, options: dict[str, Any]) -> Any:
        steps: OnClock | Stretch = self
        data: dict[str, Any] = {"series": self._series(), "missing": "normal" if self.has_gaps else None}
        if self.on_clock is not None and metric.on_clock:
            steps, data = self.on_clock, self.on_clock.data
        elif self.clock is not None:
            data |= {"times": self.clock.times, "time_unit": self.clock.unit}
        given: Any = steps.scores if metric.takes == "scores" else steps.predictions  # there, as `value` has seen
        return metric.compute(steps.labels, given, options, data=data)

    def _series(self) -> IntArray | None:
        """Number of the series of each step, where there are several."""
        if self.starts.size == 1:
            return None
        return series_numbers(self.starts, len(self.labels))


def series_numbers(starts: IntArray, size: int) -> IntArray:
    """Number of the series of each step.

    Examples
    --------
    >>> series_numbers(np.array([0, 3]), 5).tolist()
    [0, 0, 0, 1, 1]
    """
    return np.repeat(np.arange(starts.size), np.diff(np.append(starts, size)))


def one_per_series(whole: Stretch) -> list[Stretch]:
    """Cut the stretch into its series."""

    def cut(array: npt.NDArray[Any] | None, begin: int, stop: int) -> Any:
        return None if array is None else array[begin:stop]

    stops = np.append(whole.starts[1:], len(whole.labels))
    return [
        Stretch(
            whole.labels[begin:stop],
            cut(whole.scores, begin, stop),
            cut(whole.predictions, begin, stop),
            whole.no_predictions,
            whole.options,
            np.zeros(1, dtype=np.intp),
            None if whole.clock is None else whole.clock.chosen(slice(begin, stop)),
            whole.has_gaps,
        )
        for begin, stop in zip(whole.starts.tolist(), stops.tolist(), strict=True)
    ]


def mean_over(metric: Metric, parts: list[Stretch]) -> tuple[float, str | None]:
    """Mean over the series where the metric is defined."""
    found = [part.value(metric) for part in parts]
    values = [value for value, reason in found if reason is None]
    if values:
        return float(np.mean(values)), None
    ((reason, _),) = Counter(reason for _, reason in found).most_common(1)
    return math.nan, f"undefined on every series: {reason}"
