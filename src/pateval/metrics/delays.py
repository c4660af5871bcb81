"""What operators ask: how soon is an anomaly seen, what that is worth, and how often is the alarm false.

Parameters
----------
unit : str, optional
    Measure the delay in this unit of time, such as "s", "min" or "10min", on ``times``, instead of in steps.
times, time_unit
    When each step was recorded: dates, or numbers with ``time_unit``; needed where something is measured in time.
early, delay : int, default 100
    How far before and after the onset an alarm still belongs to it, in steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pateval.labels.events import count_inside, first_inside, runs
from pateval.output.results import PRF
from pateval.time.clocks import Duration, read_clock, steps_of_period, unit_length, unit_text
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly, require_detected
from pateval.validation.checked import PERIOD, POSITIVE_STEPS, STEPS, OptionKind, on_predictions, undefined_where
from pateval.validation.wording import in_words

UNIT = OptionKind(unit_text, is_unit=True).or_word(None, "steps")


@on_predictions(unit=UNIT)
@undefined_where("no event is detected")
def mean_detection_delay(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    unit: str | None = None,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    """Mean delay, in steps, of the detected events (mean time to detect).

    The delay of an event is the distance from its first step to the first predicted step inside it. Events without
    one do not count.

    Returns
    -------
    float
        0 or more, **lower is better**.

    Warnings
    --------
    Missed events are ignored: a detector that finds only the easiest event may well have the best mean. Read it next
    to the recall of `segment`, or take `censored_detection_delay`.

    References
    ----------
    .. [1] A. Bhatnagar et al., "Merlion: a machine learning library for time series", arXiv:2109.09265.

    Examples
    --------
    >>> mean_detection_delay([0, 1, 1, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 0, 0, 0])
    2.0
    >>> mean_detection_delay([0, 1, 1, 1, 0], [0, 0, 0, 1, 0], unit="min", times=[0, 30, 60, 120, 150], time_unit="s")
    1.5
    """
    onsets, delays, lengths = _delays(labels, predictions)
    detected = require_detected(delays < lengths)
    return _mean_delay(labels, onsets[detected], delays[detected], unit, times, time_unit)


@on_predictions(unit=UNIT)
def censored_detection_delay(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    unit: str | None = None,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    """Mean delay, in steps, of all events; a missed one counts its full length.

    The delay of an event is the distance from its first step to the first predicted step inside it. An event that
    passes undetected is cut off at its end: the operator waited all its L steps in vain.

    Returns
    -------
    float
        0 or more, **lower is better**; the mean length of the events where nothing is predicted.

    Warnings
    --------
    Long events dominate the mean. False alarms cost nothing: flagging every step scores 0.

    Examples
    --------
    >>> censored_detection_delay([0, 1, 1, 1, 0, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0, 0])
    2.5
    """
    onsets, delays, lengths = _delays(labels, predictions)
    return _mean_delay(labels, onsets, delays, unit, times, time_unit, is_missed=delays == lengths)


@on_predictions(early=STEPS, delay=STEPS, unit=UNIT)
@undefined_where("no onset has an alarm near it")
def mean_detection_offset(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    early: int = 100,
    delay: int = 100,
    unit: str | None = None,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    """Mean offset, in steps, from the onset of an event to the first alarm near it; negative is ahead of time.

    An alarm is the first step of a predicted run. Of the alarms from ``early`` steps before an event's first step to
    ``delay`` steps after it, the earliest counts; events without one do not.

    Returns
    -------
    float
        From ``-early`` to ``delay``, **lower is better**: a negative mean is lead time.

    Warnings
    --------
    A false alarm shortly before an event is taken for foresight, and alarms may serve several events. Flagging every
    step raises a single alarm, at the first.

    Examples
    --------
    >>> mean_detection_offset([0, 0, 0, 1, 1, 0, 0, 1], [0, 1, 1, 1, 0, 0, 0, 0], early=3, delay=3)
    -2.0
    """
    onsets, offsets = _onset_offsets(labels, predictions, early)
    near = require_detected(offsets <= min(delay, labels.size))
    return _mean_delay(labels, onsets[near], offsets[near], unit, times, time_unit)


@on_predictions(early=STEPS, delay=STEPS)
def onset_detection_rate(labels: BoolArray, predictions: BoolArray, *, early: int = 100, delay: int = 100) -> float:
    """Share of events with an alarm near their onset.

    An alarm is the first step of a predicted run; it is near if it lies from ``early`` steps before the event's first
    step to ``delay`` steps after it.

    Warnings
    --------
    False alarms cost nothing: many short ones reach 1. Read it next to `false_alarm_rate`.

    Examples
    --------
    >>> onset_detection_rate([0, 0, 0, 1, 1, 0, 0, 1], [0, 1, 1, 1, 0, 0, 0, 0], early=3, delay=3)
    0.5
    """
    _, offsets = _onset_offsets(labels, predictions, early)
    return float(np.mean(offsets <= min(delay, labels.size)))


@on_predictions(per=PERIOD.or_word(None, "1"))
def false_alarm_rate(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    per: int | Duration | None = None,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    """Rate of false alarms per unit of time.

    A false alarm is a predicted run that touches no event, however long it is; their number is divided by the length
    of the series.

    Parameters
    ----------
    per : int or duration, optional
        The unit of time, in steps: with one step per second, ``per=3600`` gives false alarms per hour. Or a duration
        such as ``"1d"``, measured by the median interval of ``times``. By default a day where ``times`` and their unit
        are known, and one step without.

    Returns
    -------
    float
        From 0 to ``per / 2`` or so, **lower is better**; 0 where nothing is predicted.

    Warnings
    --------
    Silence scores 0, and so does flagging every step, which is one run. Read it next to a recall.

    Examples
    --------
    >>> false_alarm_rate([0, 0, 0, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 1, 0, 1, 1, 0])
    0.2
    >>> false_alarm_rate([0, 0, 0, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 1, 0, 1, 1, 0], per=60)
    12.0
    >>> hours = np.datetime64("2026-03-01") + np.arange(10) * np.timedelta64(1, "h")
    >>> false_alarm_rate([0, 0, 0, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 1, 1, 0, 1, 1, 0], times=hours)
    4.8
    """
    require_anomaly(labels)
    false_alarms = int(np.count_nonzero(count_inside(labels, *runs(predictions)) == 0))
    steps = steps_of_period(per, labels.size, times, time_unit, name="per", without_clock=1)
    return false_alarms * steps / labels.size


@on_predictions(window=POSITIVE_STEPS)
def latency_sparsity_aware(labels: BoolArray, predictions: BoolArray, *, window: int = 5) -> PRF:
    """Latency- and sparsity-aware precision, recall and F1.

    The series is looked at in windows of ``window`` steps, counted from its start; a window is anomalous, or
    predicted, if any of its steps is. In every run of anomalous windows those from the first predicted one on count
    as detected, those before it as missed; a predicted window outside counts as one false alarm. Then precision,
    recall and F1 of windows.

    Parameters
    ----------
    window : int, default 5
        Steps per window; 1 for none.

    Warnings
    --------
    A single early step pays for the rest of the event. Events closer together than two windows may become one.

    Notes
    -----
    The value depends on where the windows begin. Published code adds 1e-5 to each denominator, and differs where
    events share a window or lie in neighbouring ones.

    References
    ----------
    .. [1] K. Doshi, S. Abudalou, Y. Yilmaz, "Reward once, penalize once: rectifying time series anomaly detection",
       2022, arXiv:2203.05167.

    Examples
    --------
    >>> latency_sparsity_aware([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1, 1], window=1)
    PRF(precision=0.6, recall=0.75, f1=0.6666666666666665)
    >>> latency_sparsity_aware([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1, 1], window=2)
    PRF(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    window = min(window, labels.size)
    require_anomaly(labels)
    labels, predictions = _windows(labels, window), _windows(predictions, window)
    starts, stops = runs(labels)
    detected = int(np.sum(stops - first_inside(predictions, starts, stops)))
    false_alarms = int(np.count_nonzero(predictions & ~labels))
    return PRF.from_counts(detected, false_alarms, int(np.count_nonzero(labels)) - detected)


def _delays(labels: BoolArray, predictions: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """First step of each event, its delay, which is its length where it is missed, and its length."""
    require_anomaly(labels)
    starts, stops = runs(labels)
    return starts, first_inside(predictions, starts, stops) - starts, stops - starts


def _onset_offsets(labels: BoolArray, predictions: BoolArray, early: int) -> tuple[IntArray, IntArray]:
    """Each onset, and from ``early`` steps before it the offset of the first alarm; huge where there is none."""
    require_anomaly(labels)
    onsets, _ = runs(labels)
    alarms, _ = runs(predictions)
    nearest = np.searchsorted(alarms, onsets - min(early, labels.size))
    return onsets, np.append(alarms, np.iinfo(np.intp).max)[nearest] - onsets


def _mean_delay(
    labels: BoolArray,
    onsets: IntArray,
    delays: IntArray,
    unit: str | None,
    times: object,
    time_unit: str | None,
    *,
    is_missed: BoolArray | None = None,
) -> float:
    """Mean of delays from onsets: in steps, as they are, or in a unit of time."""
    if unit is None:
        return float(np.mean(delays))
    if times is None:
        raise ValueError(f"unit={in_words(unit)} needs the times of the steps: pass times")
    clock = read_clock(times, labels.size, np.zeros(1, dtype=np.intp), time_unit)
    length = clock.length(unit_length(unit))
    reached = onsets + delays if is_missed is None else onsets + delays - is_missed
    waited = (clock.times[reached] - clock.times[onsets]).astype(np.float64) / length
    if is_missed is not None:
        # In time a missed event lasts from its first to its last step, and one median interval more.
        waited += (clock.median_interval() or 0.0) / length * is_missed
    return float(np.mean(waited))


def _windows(mask: BoolArray, window: int) -> BoolArray:
    result = np.zeros(-(-mask.size // window), dtype=np.bool_)
    result[np.flatnonzero(mask) // window] = True
    return result
