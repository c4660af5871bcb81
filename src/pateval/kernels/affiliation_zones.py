"""Affiliation, event by event: exact integrals over the zone of each."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import find_events, runs, within
from pateval.validation.arrays import BoolArray, FloatArray, IntArray


def affiliation_of_events(
    labels: BoolArray, predictions: BoolArray, series_starts: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Precision of each event, NaN where its zone holds no prediction, and recall; zones end with their series."""
    starts, stops, borders = _zones(labels, series_starts)
    lows, highs = borders[:-1], borders[1:]
    width, length = highs - lows, stops - starts
    run_starts, run_stops = runs(predictions)
    zone, left, right = _cut(2 * run_starts, 2 * run_stops, borders)
    start, stop, low, high = starts[zone], stops[zone], lows[zone], highs[zone]

    before = start - np.minimum(left, start), start - np.minimum(right, start)
    after = np.maximum(right, stop) - stop, np.maximum(left, stop) - stop
    common = np.maximum(np.minimum(right, stop) - np.maximum(left, start), 0)
    rooms = start - low, high - stop
    near = (
        common * width[zone]
        + (_chance_up_to(before[0], *rooms) - _chance_up_to(before[1], *rooms))
        + (_chance_up_to(after[0], *rooms) - _chance_up_to(after[1], *rooms))
    )
    predicted = np.bincount(zone, weights=right - left, minlength=starts.size)
    with np.errstate(invalid="ignore"):
        precision = np.bincount(zone, weights=near, minlength=starts.size) / (width * predicted)

    # Each step of the event looks to the nearest predicted interval: the one it lies in, or one on either side.
    is_first, is_last = np.diff(zone, prepend=-1) != 0, np.diff(zone, append=starts.size) != 0
    middle_left = np.where(is_first, low, (left + np.roll(right, 1)) / 2)
    middle_right = np.where(is_last, high, (right + np.roll(left, -1)) / 2)
    nearness = (
        common * width[zone]
        + _reach(right, middle_right, start, stop, low, high)
        + _reach(-left, -middle_left, -stop, -start, -high, -low)
    )
    recall = np.bincount(zone, weights=nearness, minlength=starts.size) / (width * length)
    return precision, recall


def room_above_chance(labels: BoolArray) -> float:
    """One minus the precision of flagging every step, which is the mean over the zones of ``(1 + q**2) / 2``.

    With q the event's share of its zone, this is the mean of ``(1 - q**2) / 2``, in which nothing cancels.
    """
    starts, stops, borders = _zones(labels)
    width, length = np.diff(borders), stops - starts
    return float(np.mean((width - length) / width * ((width + length) / width)) / 2)


def _zones(labels: BoolArray, series_starts: IntArray | None = None) -> tuple[IntArray, IntArray, IntArray]:
    """Events and the borders of their zones, which lie on half steps: in units of half a step all are integers.

    Every series has an event.
    """
    events = find_events(labels, series_starts)
    starts, stops, ends = 2 * events.starts, 2 * events.stops, 2 * events.highs[:-1]
    middles = np.where(events.lows[1:] == events.lows[:-1], (stops[:-1] + starts[1:]) // 2, ends)
    return starts, stops, np.concatenate([[0], middles, [2 * labels.size]])


def _cut(starts: IntArray, stops: IntArray, borders: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Cut intervals at the zone borders; return each piece's zone, start and stop."""
    first = np.searchsorted(borders, starts, side="right") - 1
    pieces = np.searchsorted(borders, stops, side="left") - first
    zone = within(first, pieces)
    return (
        zone,
        np.maximum(np.repeat(starts, pieces), borders[zone]),
        np.minimum(np.repeat(stops, pieces), borders[zone + 1]),
    )


def _chance_up_to(distance: IntArray, *rooms: IntArray) -> FloatArray:
    """Integrate, from 0 to ``distance``, how much of the rooms beside the event lies at least so far from it."""
    total = np.zeros(distance.size)
    for room in rooms:
        reached = np.minimum(distance, room)
        total += reached * room - reached * reached / 2
    return total


def _reach(
    edge: IntArray, middle: FloatArray, start: IntArray, stop: IntArray, low: IntArray, high: IntArray
) -> FloatArray:
    """Integrate over the event's part in ``[edge, middle]`` how much of the zone is no nearer than ``edge``."""
    begin, end = np.maximum(edge, start), np.minimum(middle, stop)
    end = np.maximum(begin, end)
    far_begin, far_end = np.maximum(high + edge - 2 * begin, 0), np.maximum(high + edge - 2 * end, 0)
    return (edge - low) * (end - begin) + (far_begin * far_begin - far_end * far_end) / 4
