"""From a recording to numbers: the one way, which evaluations, boards, comparisons, audits and reports all take."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import Metric
from pateval.evaluation.measures import CANDIDATES, Bound, Measures, searched
from pateval.evaluation.threshold_rules import TRAINING, ThresholdRule
from pateval.kernels.precision_recall import CoarseScoresWarning
from pateval.kernels.threshold_counts import distinct_descending
from pateval.thresholds.sweeps import BestThreshold
from pateval.time.timelines import Recording
from pateval.validation.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    UndefinedMetricError,
    require_anomaly,
    without_gaps,
)
from pateval.validation.wording import in_words, named_error, one_line

Key = TypeVar("Key")
Item = TypeVar("Item")

_CHANNELS = "takes one label per step; these labels are steps by channels"
_NO_CHANNELS = "needs labels of steps by channels; these have one per step"
_NEEDS_ALL = "needs a score at every step; missing='ignore' leaves out the steps without one"
_NO_PREDICTIONS = "needs predictions, or scores to make them from"
MOSTLY_MISSING = "the detector has no score for more than half of the steps"


class Value(NamedTuple):
    """One number, or why there is none."""

    value: float  # NaN where the metric is undefined
    reason: str = ""  # why; empty where it is defined
    threshold: float | None = None  # what turned scores into predictions, where that was needed
    flagged: int | None = None  # how many of the steps that count were predicted, where predictions were needed
    failed: bool = False  # whether the metric broke, and is not just undefined


class Predicted(NamedTuple):
    """Predictions at the steps that count, the threshold that made them, and their number; or why there are none."""

    flags: BoolArray | None
    level: float | None = None
    number: int = 0
    reason: str = ""

    @classmethod
    def of(cls, flags: BoolArray, level: float | None = None) -> Predicted:
        """Count predictions, and protect them."""
        return cls(_read_only(flags), level, int(np.count_nonzero(flags)))


def values_of(
    recording: Recording, measures: Measures, *, keep_going: bool = False, seconds: dict[str, float] | None = None
) -> dict[str, Value]:
    """Compute all that is wanted of one series, or of several taken together.

    A metric of a user that breaks has a sentence about it for a reason, and the others stand. With ``keep_going`` so
    does one of the package, with the bare error for all; otherwise its error is raised. ``seconds`` is where the time
    spent on each metric is added; work shared by several is booked on the first.
    """
    if recording.is_mostly_missing:
        return dict.fromkeys(measures.ids, Value(math.nan, MOSTLY_MISSING))
    try:
        sample = Sample(recording, measures)
    except UndefinedMetricError as error:  # no step is left
        return dict.fromkeys(measures.ids, Value(math.nan, str(error)))
    values = {}
    for metric in measures.metrics:
        begin = time.perf_counter()
        try:
            values[metric.id] = sample.value(metric)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a user's function may raise anything
            if metric.in_package and not keep_going:
                raise
            values[metric.id] = Value(math.nan, _failure(error, metric, keep_going=keep_going), failed=True)
        if seconds is not None:
            seconds[metric.id] = seconds.get(metric.id, 0.0) + time.perf_counter() - begin
    return values


def _failure(error: BaseException, metric: Metric, *, keep_going: bool) -> str:
    """The error for boards, which name the metric themselves; else a sentence that does."""
    if keep_going:
        return named_error(error)
    named = f"the metric {metric.id} "
    said = one_line(error, 1_000)
    return said if said.startswith(named) else f"{named}failed: {named_error(error)}"


def mean_value(values: Sequence[Value]) -> Value:
    """Mean over the series where a metric is defined: what every value over several series is."""
    if len(values) == 1:
        return values[0]
    defined = [one.value for one in values if not one.reason]
    if defined:
        return Value(float(np.mean(defined)))
    ((reason, _),) = Counter(one.reason for one in values).most_common(1)
    return Value(math.nan, f"undefined on every series: {reason}")


def mean_values(several: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """The mean of every metric over runs or series; of one its values as they are."""
    if len(several) == 1:
        return dict(several[0])
    return {metric: mean_value([values[metric] for values in several]) for metric in several[0]}


def parts_by_series(runs: Sequence[Recording]) -> dict[object, list[Recording]]:
    """All runs of a detector on each of its series, by the name or the place of the series."""
    return grouped((part.names or place, part) for run in runs for place, part in enumerate(run.parts()))


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Items by their keys, in the order in which these come."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def defined_mean(values: npt.ArrayLike, axis: int = 0) -> npt.NDArray[np.float64]:
    """Mean along an axis over what is defined; NaN where nothing is."""
    numbers = np.asarray(values, dtype=np.float64)
    counts = np.count_nonzero(~np.isnan(numbers), axis=axis)
    sums = np.nansum(numbers, axis=axis)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def deviation(values: npt.ArrayLike) -> float | None:
    """Standard deviation (n - 1) of the values that are defined; None of fewer than two."""
    numbers = np.asarray(values, dtype=np.float64)
    defined = numbers[~np.isnan(numbers)]
    return float(defined.std(ddof=1)) if defined.size > 1 else None


def with_predictions(runs: Sequence[Recording]) -> list[Recording]:
    """Take a detector's scores for predictions where they are 0 and 1 only, and both, on all its series and runs."""
    scores = [run.scores for run in runs if run.scores is not None and run.predictions is None]
    if len(scores) < len(runs):
        return list(runs)
    every = np.concatenate(scores)
    zeros, ones, gaps = (int(np.count_nonzero(are)) for are in (every == 0, every == 1, np.isnan(every)))
    if not zeros or not ones or zeros + ones + gaps < every.size:
        return list(runs)
    return [replace(run, predictions=np.equal(cast(FloatArray, run.scores), 1)) for run in runs]


class Sample:
    """The steps of one recording that count, and what has been computed on them so far."""

    def __init__(self, recording: Recording, measures: Measures) -> None:
        self.recording, self.measures = recording, measures
        self.timeline = recording.timeline
        self.has_channels, self.has_gaps = recording.has_channels, recording.has_gaps
        self.labels = _read_only(recording.counted(recording.labels))
        scores = None if recording.scores is None else recording.counted(recording.scores)
        # Scores as thresholds see them: none reaches a step whose score is missing.
        self.scores = None if scores is None else _read_only(without_gaps(scores) if self.has_gaps else scores)
        self._predicted: dict[object, Predicted] = {}
        self._results: dict[tuple[Any, ...], Any] = {}

    def value(self, metric: Metric) -> Value:
        """Value of one metric, or NaN and the reason."""
        bound = self._bound(metric)
        level, flagged, given = None, None, self.scores
        if metric.channels != self.has_channels:
            return Value(math.nan, _NO_CHANNELS if metric.channels else _CHANNELS)
        if metric.needs_threshold:
            predicted = self.predicted(metric)
            if predicted.flags is None:
                return Value(math.nan, predicted.reason)
            level, flagged, given = predicted.level, predicted.number, predicted.flags
        elif given is None:
            return Value(math.nan, "needs scores")
        elif self.has_gaps and not metric.takes_missing:
            return Value(math.nan, _NEEDS_ALL)
        try:
            value = self._value(bound, given)
        except UndefinedMetricError as error:
            return Value(math.nan, str(error), level, flagged)
        return Value(value, "the metric is undefined for this input" if math.isnan(value) else "", level, flagged)

    def _bound(self, metric: Metric) -> Bound:
        return self.measures.bound.get(metric.id) or self.measures.bind(metric)

    def predicted(self, metric: Metric) -> Predicted:
        """Predictions for a metric, at the steps that count: those given, or made by its threshold."""
        bound = self._bound(metric)
        key = "given" if self.recording.predictions is not None else bound.predictions_key
        if key not in self._predicted:
            self._predicted[key] = self._made(bound)
        return self._predicted[key]

    def _made(self, bound: Bound) -> Predicted:
        if self.recording.predictions is not None:
            return Predicted.of(self.recording.counted(self.recording.predictions))
        if self.scores is None:
            return Predicted(None, reason=_NO_PREDICTIONS)
        rule = bound.rule
        try:
            if rule.kind == TRAINING:
                return self._trained(rule, self.scores)
            if rule.choose is None:
                level = self.best(searched(bound.metric)).threshold
            else:
                level = rule.choose(self.labels, self.scores, self.timeline)
        except UndefinedMetricError as error:
            return Predicted(None, reason=str(error))
        return Predicted.of(rule.predictions(self.scores, level), level)

    @property
    def _series_of_steps(self) -> IntArray:
        starts = self.timeline.starts
        return np.repeat(np.arange(starts.size), np.diff(np.append(starts, len(self.labels))))

    def _trained(self, rule: ThresholdRule, scores: FloatArray) -> Predicted:
        """Predictions by a rule on training scores; fits keep their own levels, also where their series are pooled."""
        if not self.recording.training:
            raise ValueError(
                f"threshold {in_words(rule.text)} needs the scores of the training steps: pass train_scores, or use a "
                "score file that `pateval detect` wrote"
            )
        levels = [level(str(rule.text)) for level in self.recording.training]
        if len(set(levels)) > 1:
            return Predicted.of(scores > np.array(levels)[self._series_of_steps])
        return Predicted.of(rule.predictions(scores, levels[0]), levels[0])

    def best(self, metric: Metric, candidates: int | None = CANDIDATES) -> BestThreshold:
        """The threshold with the best value of a metric; the highest such threshold if there are several.

        Metrics with a sweep try all distinct scores; any other at most ``candidates`` of them, evenly spaced by rank.
        """
        bound, scores = self.measures.bind(metric), cast(FloatArray, self.scores)
        if metric.sweep is not None:
            require_anomaly(self.labels)
            options = self.step_options(bound)
            if metric.on_timeline is not None:
                return metric.sweep(self.labels, scores, timeline=self.timeline, **options)
            return metric.sweep(self.labels, scores, **options)
        sign = 1 if metric.higher_is_better else -1
        return search(scores, lambda flags: self._read(bound, self._result(bound, flags)), candidates, sign)

    def step_options(self, bound: Bound) -> dict[str, Any]:
        """Options of a metric on these steps: durations become steps, unless it measures on a clock itself."""
        clock, options = self.timeline.clock, bound.options
        if bound.by_clock and clock is not None and clock.nanoseconds is not None:
            options = {**options, **bound.by_clock}
        elif not bound.durations:
            return options
        if clock is None:
            name, value = next(iter(bound.durations.items()))
            raise ValueError(f"{name}={in_words(value)} is a duration, which needs the times of the steps: pass times")
        interval = clock.median_interval(self.timeline.starts)
        if interval is None:
            raise UndefinedMetricError("the metric is undefined: a single step has no interval to measure durations by")
        return bound.metric.in_steps(options, interval, clock)

    def _value(self, bound: Bound, given: FloatArray | BoolArray) -> float:
        """Compute a metric, or read the result of another one with the same computation, options and predictions."""
        key = (*bound.key, id(given))  # of scores or predictions that are kept as long as the sample is
        if key not in self._results:
            self._results[key] = self._result(bound, given)
        return self._read(bound, self._results[key])

    def _result(self, bound: Bound, given: FloatArray | BoolArray) -> Any:
        """What a metric computes, or the error that says why it is undefined."""
        options = bound.work_options
        if bound.durations or bound.by_clock:
            options = bound.metric.compute_options(self.step_options(bound))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoarseScoresWarning)  # noted once, by evaluate
            try:
                return self._compute(bound, given, options)
            except UndefinedMetricError as error:
                return error

    def _read(self, bound: Bound, result: Any) -> float:
        if isinstance(result, UndefinedMetricError):
            raise result
        return bound.metric.read(result, bound.options)

    def _compute(self, bound: Bound, given: FloatArray | BoolArray, options: dict[str, Any]) -> Any:
        metric = bound.metric
        if metric.on_timeline is not None:
            return metric.on_timeline(self.labels, given, self.timeline, **options)
        data = {name: self._data[name] for name in bound.data_taken if name in self._data}
        if metric.in_package:
            return bound.compute(self.labels, given, **options, **data)
        labels: Any = self.labels
        scores: Any = given
        if self.has_gaps and not metric.needs_threshold:
            scores = np.where(given == -np.inf, np.nan, given)
        if metric.on_clock and (self.recording.clock is not None or self.timeline.step_numbers is not None):
            # It leaves steps out itself, so that it gets the whole recording.
            labels, data = self.recording.labels, self._whole_data(bound)
            scores = self.timeline.on_all_steps(given) if metric.needs_threshold else self.recording.scores
        if self.has_gaps and "missing" in bound.data_taken:
            data["missing"] = "normal"
        arrays = {name: unchangeable(value) for name, value in data.items()}
        return bound.compute(unchangeable(labels), unchangeable(scores), **options, **arrays)

    def _whole_data(self, bound: Bound) -> dict[str, Any]:
        """What a user's function is told of all recorded steps beside labels and scores."""
        recording, clock = self.recording, self.recording.clock
        data = {
            "series": recording.series_of_steps,
            "times": None if clock is None else clock.times,
            "time_unit": None if clock is None else clock.unit,
            "max_gap": recording.max_gap,
            "ignore": recording.is_left_out,
        }
        return {name: value for name, value in data.items() if name in bound.data_taken and value is not None}

    @cached_property
    def _data(self) -> dict[str, Any]:
        """What functions are told beside labels and scores, where there is such a thing."""
        data: dict[str, Any] = {}
        clock, starts = self.timeline.clock, self.timeline.starts
        if clock is not None:
            data = {"times": clock.times, "time_unit": clock.unit}
        if starts.size > 1:
            data["series"] = self._series_of_steps
        return data


def search(
    scores: FloatArray, value_of: Callable[[BoolArray], float], candidates: int | None, sign: int
) -> BestThreshold:
    """Try the distinct scores, or so many of them, from the highest down."""
    levels = distinct_descending(np.sort(scores[scores > -np.inf], axis=None))
    if candidates is not None and levels.size > candidates:
        levels = levels[np.linspace(0, levels.size - 1, candidates).astype(np.intp)]
    best: BestThreshold | None = None
    for level in levels:
        try:
            value = value_of(scores >= level)
        except UndefinedMetricError:
            continue
        if value == value and (best is None or sign * value > sign * best.value):
            best = BestThreshold(float(level), value)
    if best is None:
        raise UndefinedMetricError("the best threshold is undefined: the metric is undefined at every threshold")
    return best


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Protect what several metrics see from a function that writes."""
    view = array.view()
    view.flags.writeable = False
    return view


def unchangeable(value: Any) -> Any:
    """A copy of an array for a user's function, which cannot be made writable; anything else as it is."""
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    return np.frombuffer(value.tobytes(), dtype=value.dtype).reshape(value.shape)


def is_above_chance(value: float | None, level: float | None, *, higher_is_better: bool) -> bool | None:
    """Whether a value is better than what random scores reach; None where that is not known."""
    if value is None or level is None or math.isnan(level) or math.isnan(value):
        return None
    return value > level if higher_is_better else value < level
