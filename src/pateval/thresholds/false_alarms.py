"""The lowest threshold that keeps a budget of false alarms: it sees the labels, whose runs are the incidents."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pateval.kernels.alarm_levels import NEVER, AlarmLevels, bridge_levels
from pateval.labels.events import find_events
from pateval.time.clocks import Duration, nanoseconds
from pateval.time.dates import Times
from pateval.time.timelines import Timeline
from pateval.validation.arrays import BoolArray, FloatArray, IntArray


def false_alarm_level(
    labels: BoolArray, scores: FloatArray, timeline: Timeline, alarms: float, per: int | Duration
) -> float:
    """Threshold of the rule ``false-alarms:2/1d``; the next number above the highest score where none keeps it.

    An alarm is a run of flagged steps, and false if none of them is labelled. Scores of negative infinity are missing
    and never flagged. Where steps are left out, the one before them counts as long as the usual interval: when the
    others were recorded is not known here.

    Examples
    --------
    >>> labels, scores = np.array([0, 0, 1, 0, 0], dtype=bool), np.array([1.0, 4.0, 5.0, 1.0, 3.0])
    >>> start = np.zeros(1, dtype=np.intp)
    >>> false_alarm_level(labels, scores, Timeline(5, start, start), alarms=0, per=5)
    4.0
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
    rank = lowest_allowed(levels.outside(everything), _allowed(alarms, per, scores.size, timeline), lowest)
    if rank is not None:
        return float(thresholds[rank])
    return float(np.nextafter(np.float64(scores.max()), np.inf))


def lowest_allowed(false_alarms: IntArray, allowed: Fraction, lowest: int) -> int | None:
    """The lowest rank from which on all have at most the allowed number of false alarms; None where not one has.

    Examples
    --------
    >>> lowest_allowed(np.array([0, 1, 4, 2, 1]), Fraction(2), 1), lowest_allowed(np.array([1, 3]), Fraction(2), 1)
    (3, None)
    """
    too_many = np.flatnonzero(false_alarms[lowest:] > int(allowed))
    rank = lowest + int(too_many[-1]) + 1 if too_many.size else lowest
    return rank if rank < false_alarms.size else None


def step_lengths(times: Times, is_hole: BoolArray) -> tuple[Times, Fraction]:
    """How long each step of a series counts for: up to the next one, or as long as the usual interval, the median.

    Parameters
    ----------
    times : ndarray
        When each step was recorded.
    is_hole : ndarray of bool
        Whether a hole lies before each step, so that the one before it counts for the usual interval.

    Returns
    -------
    lengths : ndarray
        -1 stands for the usual interval, which need not be whole.
    usual : Fraction

    Examples
    --------
    >>> step_lengths(np.array([0, 1, 3, 30]), np.array([False, False, False, True]))
    (array([ 1,  2, -1, -1]), Fraction(2, 1))
    """
    intervals = np.diff(times)
    lengths = np.append(np.where(is_hole[1:], -1, intervals), -1)
    if not intervals.size:
        return lengths, Fraction(0)
    low, high = np.sort(intervals)[[(intervals.size - 1) // 2, intervals.size // 2]].tolist()
    return lengths, (Fraction(low) + Fraction(high)) / 2


def _allowed(alarms: float, per: int | Duration, size: int, timeline: Timeline) -> Fraction:
    """How many false alarms are allowed in the time that was observed."""
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
