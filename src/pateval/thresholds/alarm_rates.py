"""Thresholds that keep a rate: of all alarms, as the scores alone decide, or of false ones, as the labels tell."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from pateval.kernels.alarm_levels import NEVER, AlarmLevels, bridge_levels
from pateval.kernels.threshold_counts import distinct_descending, run_counts
from pateval.labels.events import find_events
from pateval.time.clocks import Clock, Duration, is_duration, nanoseconds, read_clock
from pateval.time.dates import Times
from pateval.time.timelines import Timeline
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, UndefinedMetricError, finite_array, finite_number
from pateval.validation.arrays import series_starts as starts_of
from pateval.validation.checked import documented
from pateval.validation.wording import in_words

_ROUNDING = Fraction(1, 10**9)  # times that are no whole numbers must not cost an alarm


@documented
def alarm_rate_threshold(
    scores: ArrayLike,
    *,
    alarms: float,
    per: int | Duration,
    series: ArrayLike | None = None,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    r"""Return the lowest threshold that keeps the number of alarms within a rate: an operating point.

    An alarm is a run of neighbouring steps of one series with scores at or above the threshold, however long it is.
    Over all series together, :math:`\lfloor alarms \cdot T / per \rfloor` of them are allowed in the time T that was
    observed. Going down from the highest score, the threshold is the last one before there are more: at it, and at
    every higher one, the number of alarms is allowed. Lower ones may again have few alarms, down to a single one that
    flags everything; they are never chosen, nor is any other that flags every step.

    Parameters
    ----------
    alarms : float
        How many alarms are allowed,
    per : int or duration
        in so many steps, or in so much time: "1d", a timedelta; a duration needs ``times``.
    series : array-like, optional
        Which series each step belongs to; an alarm never goes on into the next one.
    times : array-like, optional
        When each step was recorded: datetimes, or numbers with ``time_unit``. A series is observed from its first to
        its last time and one interval more, the median one of all series: n equal intervals for n steps.
    time_unit : str, optional
        Unit of times that are numbers, such as "s".

    Returns
    -------
    float
        A score; the next number above the highest score where not even that one is allowed.

    Warnings
    --------
    All alarms count, true and false ones: the rule does not see the labels. The rate is that of the very steps it is
    chosen on.

    Examples
    --------
    >>> alarm_rate_threshold([1, 9, 1, 1, 7, 1, 8, 1, 1, 2], alarms=2, per=10)
    8.0
    >>> alarm_rate_threshold([0, 1, 1, 0, 0, 1], alarms=5, per=6)
    1.0
    >>> days = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[D]")
    >>> alarm_rate_threshold([1, 9, 1, 1, 7, 1, 8, 1, 1, 2], alarms=1, per="3d", times=days)
    7.0
    """
    values = finite_array(scores, "scores")
    starts = starts_of(series, values.size)
    clock = None if times is None else read_clock(times, values.size, starts, time_unit)
    return alarm_rate_level(values, alarms, per, starts, clock)


def alarm_rate_level(
    scores: FloatArray,
    alarms: float,
    per: int | Duration,
    starts: IntArray | None = None,
    clock: Clock | None = None,
) -> float:
    """Do the work of `alarm_rate_threshold`; scores of negative infinity are missing and never part of an alarm."""
    starts = np.zeros(1, dtype=np.intp) if starts is None else starts
    allowed = math.floor(_allowed_alarms(alarms, per, scores.size, starts, clock) + _ROUNDING)
    ordered = np.sort(scores)
    levels = distinct_descending(ordered[ordered > -np.inf])
    if not levels.size:
        raise UndefinedMetricError("the threshold is undefined: no score is present")
    tried = levels[:-1] if ordered[0] > -np.inf else levels  # the lowest score flags every step, unless some lack one
    too_many = np.flatnonzero(run_counts(scores, ordered, tried, starts) > allowed)
    last = int(too_many[0]) - 1 if too_many.size else tried.size - 1
    return float(tried[last]) if last >= 0 else float(np.nextafter(np.float64(levels[0]), np.inf))


def read_alarm_rate(text: str, threshold: str) -> tuple[float, int | str]:
    """Read ``2/1d`` or ``2/1000``: how many alarms, in how many steps or how much time."""
    number, slash, per = (part.strip() for part in text.partition("/"))
    try:
        rate = float(number)
    except ValueError:
        rate = math.nan
    if not slash or not math.isfinite(rate) or rate < 0:
        raise ValueError(
            f"an alarm rate must be a number of alarms in a duration or a number of steps, such as alarms:2/1d or "
            f"alarms:2/1000; got {in_words(threshold)}"
        )
    unit = int(per) if per.isdecimal() else per
    _period(unit, f"the unit of threshold {in_words(threshold)}")
    return rate, unit


def _allowed_alarms(alarms: float, per: int | Duration, size: int, starts: IntArray, clock: Clock | None) -> Fraction:
    rate = Fraction(finite_number(alarms, "alarms"))
    if rate < 0:
        raise ValueError(f"alarms must not be negative; got {in_words(alarms)}")
    period = _period(per, "per")
    if not is_duration(per):
        return rate * size / period
    if clock is None:
        raise ValueError(f"alarms in {in_words(per)} need the times of the steps: pass times")
    times, stops = clock.times, np.append(starts[1:], size) - 1
    differences = np.delete(np.diff(times), starts[1:] - 1)
    interval = Fraction(float(np.median(differences))) if differences.size else Fraction(0)
    spans = (times[stops] - times[starts]).tolist()
    observed = sum(map(Fraction, spans), Fraction(0)) + starts.size * interval
    return rate * observed / Fraction(clock.length(period))


def _period(per: int | Duration, name: str) -> Fraction:
    """Check a number of steps or a duration; return the number of steps or nanoseconds."""
    if is_duration(per):
        period = nanoseconds(per, name)
    elif isinstance(per, (int, np.integer)) and not isinstance(per, bool):
        period = Fraction(int(per))
    else:
        raise TypeError(f"{name} must be a number of steps or a duration such as '1d'; got {in_words(per)}")
    if period <= 0:
        raise ValueError(f"{name} must be greater than 0; got {in_words(per)}")
    return period


def false_alarm_level(
    labels: BoolArray, scores: FloatArray, timeline: Timeline, alarms: float, per: int | Duration
) -> float:
    """Threshold of the rule ``false-alarms:2/1d``; the next number above the highest score where none keeps it.

    An alarm is a run of flagged steps, and false if none of them is labelled. Scores of negative infinity are missing
    and never flagged. Where steps are left out, the one before them counts as long as the usual interval: when the
    others were recorded is not known here.
    """
    thresholds: FloatArray = np.unique(scores[scores > -np.inf])
    ranks = np.searchsorted(thresholds, scores)
    ranks[scores == -np.inf] = NEVER
    is_parted = np.zeros(scores.size, dtype=np.bool_)
    is_parted[timeline.stretches] = True
    bridges = bridge_levels(ranks, is_parted)
    events = find_events(labels, timeline.stretches)
    everything = np.ones(len(events), dtype=np.bool_)
    levels = AlarmLevels(
        ranks, thresholds.size, ranks, bridges, events.starts, events.stops - 1, everything, everything
    )
    lowest = 0 if (ranks == NEVER).any() else 1
    rank = lowest_allowed(levels.outside(everything), _allowed_false_alarms(alarms, per, scores.size, timeline), lowest)
    if rank is not None:
        return float(thresholds[rank])
    return float(np.nextafter(np.float64(scores.max()), np.inf))


def lowest_allowed(false_alarms: IntArray, allowed: Fraction, lowest: int) -> int | None:
    """The lowest rank from which on all have at most the allowed number of false alarms; None where not one has."""
    too_many = np.flatnonzero(false_alarms[lowest:] > int(allowed))
    rank = lowest + int(too_many[-1]) + 1 if too_many.size else lowest
    return rank if rank < false_alarms.size else None


def step_lengths(times: Times, is_hole: BoolArray) -> tuple[Times, Fraction]:
    """How long each step of a series counts for: up to the next one, or as long as the usual interval, the median.

    Before a hole it is the usual interval, too. That stands as -1 among the lengths, as it need not be whole.
    """
    intervals = np.diff(times)
    lengths = np.append(np.where(is_hole[1:], -1, intervals), -1)
    if not intervals.size:
        return lengths, Fraction(0)
    low, high = np.sort(intervals)[[(intervals.size - 1) // 2, intervals.size // 2]].tolist()
    return lengths, (Fraction(low) + Fraction(high)) / 2


def _allowed_false_alarms(alarms: float, per: int | Duration, size: int, timeline: Timeline) -> Fraction:
    rate = Fraction(str(alarms))
    if isinstance(per, int):
        return rate * size / per
    if timeline.clock is None:
        raise ValueError(f"alarms in {per!r} need the times of the steps: pass times")
    times, observed = timeline.clock.times, Fraction(0)
    is_apart = np.zeros(size, dtype=np.bool_)
    is_apart[timeline.stretches] = True
    if timeline.step_numbers is not None:
        is_apart[1:] |= np.diff(timeline.step_numbers) > 1
    for start, stop in zip(timeline.starts.tolist(), [*timeline.starts[1:].tolist(), size], strict=True):
        lengths, usual = step_lengths(times[start:stop], is_apart[start:stop])
        is_usual = lengths < 0
        observed += Fraction(lengths[~is_usual].sum().item()) + int(np.count_nonzero(is_usual)) * usual
    return rate * observed / Fraction(timeline.clock.length(nanoseconds(per)))
