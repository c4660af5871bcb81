"""Affiliation, event by event: exact integrals over the zone of each."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import find_events, runs, within
from pateval.validation.arrays import BoolArray, FloatArray, IntArray


def affiliation_of_events(
    labels: BoolArray, predictions: BoolArray, series_starts: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Precision of each event, NaN where its zone holds no prediction, and recall; zones end with their series.

    Examples
    --------
    >>> labels, predictions = np.array([0, 1, 1, 0, 0], dtype=bool), np.array([0, 1, 0, 0, 0], dtype=bool)
    >>> precision, recall = affiliation_of_events(labels, predictions)
    >>> precision.tolist(), recall.tolist()
    ([1.0], [0.9])
    """
    starts, stops, borders = _zones(labels, series_starts)
    lows, highs = borders[:-1], borders[1:]
    zone, left, right = _cut(*_doubled(predictions), borders)
    width, length = highs - lows, stops - starts

    before = starts[zone] - np.minimum(left, starts[zone]), starts[zone] - np.minimum(right, starts[zone])
    after = np.maximum(right, stops[zone]) - stops[zone], np.maximum(left, stops[zone]) - stops[zone]
    common = np.maximum(np.minimum(right, stops[zone]) - np.maximum(left, starts[zone]), 0)
    rooms = (starts - lows)[zone], (highs - stops)[zone]
    near = (
        common * width[zone]
        + (_chance_up_to(before[0], *rooms) - _chance_up_to(before[1], *rooms))
        + (_chance_up_to(after[0], *rooms) - _chance_up_to(after[1], *rooms))
    )
    predicted = np.bincount(zone, weights=right - left, minlength=starts.size)
    with np.errstate(invalid="ignore"):
        precision = np.bincount(zone, weights=near, minlength=starts.size) / (width * predicted)

    # Each step of the event looks to the nearest predicted interval: the one it lies in, or one on either side.
    first, last = np.diff(zone, prepend=-1) != 0, np.diff(zone, append=starts.size) != 0
    middle_left = np.where(first, lows[zone], (left + np.roll(right, 1)) / 2)
    middle_right = np.where(last, highs[zone], (right + np.roll(left, -1)) / 2)
    nearness = (
        common * width[zone]
        + _reach(right, middle_right, starts[zone], stops[zone], lows[zone], highs[zone])
        + _reach(-left, -middle_left, -stops[zone], -starts[zone], -highs[zone], -lows[zone])
    )
    recall = np.bincount(zone, weights=nearness, minlength=starts.size) / (width * length)
    return precision, recall


def room_above_chance(labels: BoolArray) -> float:
    """One minus the precision of flagging every step, which is the mean over the zones of ``(1 + q**2) / 2``.

    With q the event's share of its zone, this is the mean of ``(1 - q**2) / 2``, in which nothing cancels.

    Examples
    --------
    >>> room_above_chance(np.array([0, 0, 0, 1, 1, 0, 0, 0], dtype=bool))
    0.46875
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


def _doubled(mask: BoolArray) -> tuple[IntArray, IntArray]:
    starts, stops = runs(mask)
    return 2 * starts, 2 * stops


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
