"""Scores and values in few bytes: levels that a slider can stand on, ranks in 16 bits, deflated, as base64.

A score is kept as the number of levels it reaches, and a level as the shortest decimal that flags the same steps. So at
every level the flagged steps are exactly those of the scores themselves; between two levels nothing is known.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.time.clocks import Clock

FloatArray = npt.NDArray[np.float64]

MOST_LEVELS = 1024  # more positions than a slider has pixels, and finer than a panel is high
VALUE_LEVELS = 4095  # of the series itself, which is drawn and never computed with
_MOST_DECIMALS = 17
# Powers of ten are exact up to here, so that a division by one gives the double nearest to the decimal.
_EXACT_POWER = 22
# Scores that lie closer together or further apart than this keep their own decimals.
_SHORTEST_REACH, _LONGEST_REACH = 1e-15, 1e20


class PackedScores(NamedTuple):
    """Scores of one detector on one series."""

    thresholds: list[float]  # ascending; at each exactly the steps are flagged whose score reaches the level it means
    ranks: str  # for each step how many thresholds it reaches, packed
    distinct: int  # how many distinct scores there are; where they are no more than the thresholds, nothing is lost


def pack_scores(scores: FloatArray, keep: tuple[float, ...] = (), most: int = MOST_LEVELS) -> PackedScores:
    """Pack the scores of one detector on one series, with the thresholds to keep among at most so many levels.

    Scores are finite, or negative infinity at steps that no threshold flags.
    """
    distinct = np.unique(scores[scores > -np.inf])
    places = _choose_levels(distinct, keep, most)
    below = np.concatenate([[-np.inf], distinct])[places]
    ranks = np.searchsorted(distinct[places], scores, side="right")
    return PackedScores(_short_decimals(distinct[places], below).tolist(), pack(ranks), int(distinct.size))


def _choose_levels(distinct: FloatArray, keep: tuple[float, ...], most: int) -> npt.NDArray[np.intp]:
    """Choose which distinct scores become levels, by their places: all where they are few.

    Where they are many, a third lies evenly between the lowest and the highest score, so that a drawn score looks
    right; the others lie densest at the top, where thresholds are. The lowest and the highest are among them.
    """
    size = distinct.size
    if size <= most:
        return np.arange(size)
    wanted = np.searchsorted(distinct, np.array(keep, dtype=np.float64))
    room = most - 2 - wanted.size
    by_value = np.searchsorted(distinct, np.linspace(distinct[0], distinct[-1], room // 3))
    from_top = np.geomspace(1, size, room - room // 3).astype(np.intp)
    chosen = np.concatenate([[0, size - 1], wanted, by_value, size - from_top])
    return np.unique(np.clip(chosen, 0, size - 1))


def _short_decimals(levels: FloatArray, below: FloatArray) -> FloatArray:
    """Find for each level the shortest decimal above the next lower score and not above the level itself.

    Examples
    --------
    >>> _short_decimals(np.array([0.3333333333, 0.6666666666]), np.array([0.3333333332, 0.1])).tolist()
    [0.3333333333, 0.6666]
    """
    reach = float(levels[-1] - levels[0]) if levels.size else 0.0
    shortest = levels.copy()
    if not _SHORTEST_REACH < reach < _LONGEST_REACH:
        return shortest
    # Coarser than a two-thousandth of the range would be seen in a drawing.
    first = math.ceil(math.log10(2000 / reach))
    open_places = np.arange(levels.size)
    for decimals in range(first, first + _MOST_DECIMALS):
        level, floor = levels[open_places], below[open_places]
        if abs(decimals) > _EXACT_POWER:
            break
        scale = 10.0 ** abs(decimals)
        with np.errstate(over="ignore"):
            short = np.floor(level * scale) / scale if decimals >= 0 else np.floor(level / scale) * scale
        fits = (short > floor) & (short <= level)
        shortest[open_places[fits]] = short[fits]
        open_places = open_places[~fits]
        if not open_places.size:
            break
    return shortest


def pack(numbers: npt.NDArray[Any]) -> str:
    """Pack whole numbers below 65,536: differences in 16 bits, low bytes after high ones, deflated, as base64."""
    differences = np.diff(numbers.astype(np.uint16), prepend=np.uint16(0)).astype("<u2")
    planes = differences.view(np.uint8).reshape(-1, 2).T[::-1]
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)).decode()


def pack_values(values: FloatArray) -> dict[str, Any]:
    """Pack the series itself for drawing: 4,095 steps between its lowest and highest value, 0 where it is missing."""
    finite = np.isfinite(values)
    low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
    scale = (VALUE_LEVELS - 1) / (high - low) if high > low else 0.0
    numbers = np.where(finite, 1 + np.rint((np.where(finite, values, low) - low) * scale), 0)
    return {"low": low, "high": high, "packed": pack(numbers)}


def pack_numbers(numbers: npt.NDArray[Any]) -> dict[str, Any]:
    """Pack numbers that must come back as they are: a start with an interval or with gaps by their kinds, where it can.

    Examples
    --------
    >>> pack_numbers(np.array([3, 5, 7]))
    {'start': 3, 'interval': 2}
    """
    start = numbers[0].item()
    gaps = np.diff(numbers)
    interval = gaps[0].item() if gaps.size else 1
    if np.array_equal(start + np.arange(numbers.size) * interval, numbers):
        return {"start": start, "interval": interval}
    kinds, codes = np.unique(gaps, return_inverse=True)
    # Sums of floats may differ from the numbers in the last digit; sums of integers do not.
    if kinds.size < 65536 and np.array_equal(np.cumsum(np.concatenate([numbers[:1], gaps])), numbers):
        return {"start": start, "gaps": kinds.tolist(), "packed": pack(np.concatenate([[0], codes]))}
    return {"numbers": numbers.tolist()}


def pack_clock(clock: Clock, *, dates: bool) -> dict[str, Any]:
    """Pack when each step was recorded, exactly: a double holds no nanoseconds since 1970, so offsets are kept.

    ``first`` is the time of the first step: seconds since 1970 and nanoseconds for dates, else a number; ``offsets``
    from it are in ticks; ``tick`` is in nanoseconds for dates, else in units of the times; ``nanoseconds`` of such a
    unit is None where it is not known. Times that are floats are their own offsets, from 0.
    """
    times, shown = clock.times, clock.as_given()
    described: dict[str, Any] = {"dates": dates, "nanoseconds": shown.nanoseconds}
    if times.dtype.kind == "f":
        return described | {"first": 0, "tick": 1, "tolerance": clock.tolerance, "offsets": pack_numbers(times)}
    offsets = times - times[0]
    tick = int(np.gcd.reduce(offsets)) or 1
    first = list(divmod(int(times[0]), 10**9)) if dates else shown.times[0].item()
    described |= {"first": first, "offsets": pack_numbers(offsets // tick)}
    if clock.given is None:
        return described | {"tick": tick, "tolerance": clock.tolerance / tick}
    # Floats that lie on a grid: a tick is no whole number of their unit, and rounding of its own.
    return described | {"tick": tick * (clock.nanoseconds or 1) / clock.given, "tolerance": 1e-9}
