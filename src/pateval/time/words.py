"""Moments and lengths of time as people write them; all in nanoseconds, moments since 1970."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pateval.time.clocks import WRITTEN_UNITS, Clock

_A_YEAR = 366 * 86_400 * 10**9


def duration_words(length: float | Fraction) -> str:
    """A length of time in the largest sensible unit, and the next one where that says more.

    Examples
    --------
    >>> [duration_words(seconds * 10**9) for seconds in (7800, 35 * 60, 45, 0, 200_000)]
    ['2 h 10 min', '35 min', '45 s', '0 s', '2 d 8 h']
    """
    units, left = list(WRITTEN_UNITS.items()), round(abs(Fraction(length)))
    place = next((place for place, (_, size) in enumerate(units) if left >= size), None)
    if place is None:
        return "0 s"
    unit, size = units[place]
    if size <= 10**9:
        return f"{left / size:.3g} {unit}"
    if unit == "min" and left >= 10 * size:
        return f"{round(left / size)} {unit}"
    smaller, smaller_size = units[place + 1]
    whole, rest = divmod(round(left / smaller_size), size // smaller_size)
    return f"{whole} {unit}" + (f" {rest} {smaller}" if rest else "")


def moment_words(time: int) -> str:
    """A date, as short as it can be written: seconds and fractions only where there are some.

    Examples
    --------
    >>> moment_words(4 * 3600 * 10**9), moment_words(1)
    ('1970-01-01 04:00', '1970-01-01 00:00:00.000000001')
    """
    date = np.datetime64(int(time), "ns")
    for unit in ("m", "s", "ms", "us", "ns"):
        written = date.astype(f"datetime64[{unit}]")
        if written == date:
            break
    return str(written).replace("T", " ")


def interval_words(start: int, stop: int, between: str = " to ") -> str:
    """Two dates; the day is said once where it is the same.

    Examples
    --------
    >>> interval_words(4 * 3600 * 10**9, 5 * 3600 * 10**9)
    '1970-01-01 04:00 to 05:00'
    """
    first, last = moment_words(start), moment_words(stop)
    if first == last:
        return first
    return f"{first}{between}{last[11:] if first[:10] == last[:10] else last}"


def clock_words(clock: Clock, start: Any, stop: Any) -> str:
    """Two times of a clock that has a unit: dates, or numbers as they were given, with the unit.

    Examples
    --------
    >>> clock_words(Clock(np.array([0, 60, 120]), 10**9), 60, 120)
    '60, 120 s'
    >>> days = Clock(np.array([19_000, 19_001]) * 86_400 * 10**9, 1)
    >>> [clock_words(days, days.times[0], days.times[0] + seconds * 10**9) for seconds in (4_200, 90_000)]
    ['2022-01-08 00:00, 01:10', '2022-01-08 00:00, 01-09 01:00']
    """
    if clock.nanoseconds == 1 and clock.given is None and start > _A_YEAR:  # smaller numbers are no dates
        first, last = moment_words(int(start)), moment_words(int(stop))
        said = 11 if first[:10] == last[:10] else 5 if first[:4] == last[:4] else 0  # day or year, of the first
        return f"{first}, {last[said:]}"
    low, high = replace(clock, times=np.array([start, stop])).as_given().times.tolist()
    return f"{low:.10g}, {high:.10g} {clock.as_given().unit}"
