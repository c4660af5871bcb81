"""Times of steps, and durations: what turns "10min" into a number on the clock of a series."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pateval.time.dates import Times, time_numbers
from pateval.validation.arrays import IntArray, UndefinedMetricError, buffer_lengths, non_negative_integer, require_few
from pateval.validation.checked import Duration as Duration
from pateval.validation.checked import is_duration as is_duration
from pateval.validation.containers import to_numpy
from pateval.validation.wording import counted, in_words

Lengths = tuple[int, ...] | tuple[float, ...]

# Nanoseconds of each unit, by all its names.
_UNITS = {
    name: nanoseconds
    for names, nanoseconds in (
        (("ns", "nanosecond"), 1),
        (("us", "µs", "μs", "microsecond"), 10**3),
        (("ms", "millisecond"), 10**6),
        (("s", "sec", "second"), 10**9),
        (("min", "minute"), 60 * 10**9),
        (("h", "hr", "hour"), 3600 * 10**9),
        (("d", "day"), 86400 * 10**9),
        (("w", "week"), 7 * 86400 * 10**9),
    )
    for name in names
}
WRITTEN_UNITS = {unit: _UNITS[unit] for unit in ("d", "h", "min", "s", "ms", "us", "ns")}
_NUMPY_UNITS = _UNITS | {"m": _UNITS["min"], "D": _UNITS["d"], "W": _UNITS["w"]}
_SHORTER_UNITS = {"ps": 10**3, "fs": 10**6, "as": 10**9}  # NumPy's, as parts of a nanosecond
_PIECE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµμ]+)")
_A_YEAR = 366 * 86_400 * 10**9
LONG_HOLE = 10  # usual intervals; a longer time between two steps is pointed out
_LONGEST = 2**63  # nanoseconds, some 292 years
_ROUNDING = 1e-9  # of the median interval: a clock of 0.1-second floats must not lose a step
_GRIDS = tuple(_UNITS[name] for name in ("ns", "us", "ms", "s"))


@dataclass(frozen=True)
class Clock:
    """When each step was recorded."""

    times: Times  # increasing within a series; integers of nanoseconds for dates, numbers as given otherwise
    nanoseconds: int | None  # length of one unit of the times; where it is not known no duration can be measured
    tolerance: float = 0.0  # differences below this are rounding
    given: int | None = None  # nanoseconds of the unit of times that were floats, and are counted on a grid here

    @property
    def unit(self) -> str | None:
        """What one unit of the times is, as ``time_unit`` takes it."""
        if self.nanoseconds is None:
            return None
        return next(name for name, size in _UNITS.items() if size == self.nanoseconds)

    def median_interval(self, series_starts: IntArray | None = None) -> float | None:
        """Median time from one step to the next within a series; None where no series has two steps."""
        differences = np.diff(self.times)
        if series_starts is not None and series_starts.size > 1:
            differences = np.delete(differences, series_starts[1:] - 1)
        return float(np.median(differences)) if differences.size else None

    def chosen(self, steps: IntArray) -> Clock:
        """Some of the steps."""
        return replace(self, times=self.times[steps])

    def of_series(self, steps: slice) -> Clock:
        """The clock of one of several series, as if that had been read alone."""
        times = self.times[steps]
        return replace(self, times=times, tolerance=_tolerance(times, np.diff(times)))

    def as_given(self) -> Clock:
        """The clock in the unit of its times as they were given, to show them or hold others against them."""
        if self.given is None or self.nanoseconds is None:
            return self
        is_finer = self.nanoseconds < self.given
        scale = self.given // self.nanoseconds if is_finer else self.nanoseconds // self.given
        times = self.times / scale if is_finer else self.times * float(scale)
        return Clock(times, self.given, _tolerance(times, np.diff(times)))

    @property
    def in_nanoseconds(self) -> Times | None:
        """Times in nanoseconds, as floats where 64 bits cannot count them; None where their unit is not known."""
        if self.nanoseconds is None:
            return None
        is_countable = int(np.abs(self.times).max(initial=0)) * self.nanoseconds < _LONGEST
        return self.times * (self.nanoseconds if is_countable else float(self.nanoseconds))

    def length(self, nanoseconds: Fraction) -> float:
        """Turn a duration into units of this clock."""
        if self.nanoseconds is None:
            raise ValueError("a duration needs to know the unit of times: pass time_unit, such as time_unit='s'")
        length = nanoseconds / self.nanoseconds
        # Whole numbers stay whole on a clock of integers, so that they compare exactly.
        return int(length) if self.times.dtype.kind == "i" and length.denominator == 1 else float(length)


def read_clock(times: object, size: int, series_starts: IntArray, time_unit: str | None = None) -> Clock:
    """Check times, dates or numbers of ``time_unit``: one for each of ``size`` steps, increasing within each series."""
    array = to_numpy(times, "times")
    if array.ndim != 1:
        raise ValueError(f"times must be one-dimensional, one value per time step; got an array of shape {array.shape}")
    if array.size != size:
        raise ValueError(f"times and labels must have the same length; got {array.size} and {size}")
    unit = None if time_unit is None else unit_nanoseconds(time_unit, "time_unit")
    numbers, unit = time_numbers(array, unit)
    differences = np.diff(numbers)
    is_inside = np.ones(differences.size, dtype=np.bool_)
    is_inside[series_starts[1:] - 1] = False
    wrong = np.flatnonzero(is_inside & ~(differences > 0))
    if wrong.size:
        place = int(wrong[0])
        what = "is the same as" if differences[place] == 0 else "lies before"
        raise ValueError(
            f"times must increase within a series; the time at index {place + 1}, {array[place + 1]}, {what} the one "
            f"before it, {array[place]} ({counted(wrong.size, 'such place')}): sort the steps by time and leave out "
            f"repeated ones"
        )
    on_grid = _on_grid(array, unit) if numbers.dtype.kind == "f" and unit is not None else None
    if on_grid is not None and (np.diff(on_grid[0])[is_inside] > 0).all():
        return Clock(*on_grid, given=unit)
    return Clock(numbers, unit, _tolerance(numbers, differences[is_inside], array))


def _on_grid(array: Times, unit: int) -> tuple[Times, int] | None:
    """Count float times on the finest grid they lie on, of nanoseconds, us, ms or s; None where they lie on none.

    Floats have a spacing, 0.24 us for seconds since 1970, and differ from the times that were meant by half of it, or
    by all where they were added up. What lies that close to a grid is taken to lie on it, so that such a clock is as
    exact as one of integers.
    """
    spacing, times = float(np.spacing(np.abs(array).max(initial=0))), array.astype(np.float64)
    for grid in _GRIDS:
        if grid < spacing * unit:
            continue  # more than these floats can carry
        scale = unit // grid if unit >= grid else grid // unit
        counts = np.rint(times * scale if unit >= grid else times / scale)
        carried = counts / scale if unit >= grid else counts * scale
        # On a grid hardly wider than the spacing a whole one would take in anything.
        if (np.abs(carried - times) <= (spacing if grid >= 8 * spacing * unit else spacing / 2)).all():
            return counts.astype(np.int64), grid
    return None


def _tolerance(times: Times, intervals: Times, given: Times | None = None) -> float:
    """What differences of float times may be off by: rounding of the clock, and twice the spacing of its floats."""
    if times.dtype.kind != "f" or not intervals.size:
        return 0.0
    spacing = float(np.spacing(np.abs(times if given is None else given).max()))
    return max(_ROUNDING * float(np.median(intervals)), 2 * spacing)


def nanoseconds(value: Duration, name: str = "the duration", *, endless: bool = False) -> Fraction:
    """Length of a duration; unless it may be endless, one that 64 bits can count."""
    if isinstance(value, np.timedelta64):
        if np.isnat(value) or np.datetime_data(value.dtype)[0] in ("generic", "M", "Y"):
            raise ValueError(f"{name} must have a unit of fixed length, such as seconds; got {in_words(value)}")
        unit, number = np.datetime_data(value.dtype)
        total = Fraction(int(value.astype(np.int64)) * number * _NUMPY_UNITS.get(unit, 1), _SHORTER_UNITS.get(unit, 1))
    elif isinstance(value, datetime.timedelta):
        days = value.days * 86400 + value.seconds
        total = Fraction(days * 10**9 + value.microseconds * 1000 + getattr(value, "nanoseconds", 0))
    elif isinstance(value, str):
        total = _parsed(value, name)
    else:
        raise TypeError(f"{name} must be a duration such as '10min'; got {in_words(value)}")
    if total < 0:
        raise ValueError(f"{name} must not be negative; got {in_words(value)}")
    if total >= _LONGEST and not endless:
        raise ValueError(f"{name} must be shorter than 292 years; got {in_words(value)}")
    return total


def duration_text(value: Duration, name: str = "the duration") -> str:
    """Write a duration in its one form: a number of the largest unit, up to days, that divides it."""
    length = nanoseconds(value, name)
    if not length:
        return "0s"
    for unit, size in WRITTEN_UNITS.items():
        if (length / size).denominator == 1:
            return f"{length / size}{unit}"
    return f"{float(length):.9g}ns"


def gap_length(max_gap: Duration) -> Fraction:
    """Check the longest hole in time that parts nothing; return its length in nanoseconds."""
    length = nanoseconds(max_gap, "max_gap")
    if not length:
        raise ValueError(f"max_gap must be above 0, which parts every step from the next; got {in_words(max_gap)}")
    return length


def unit_text(value: Any, name: str = "unit") -> str:
    """Check what lengths of time are counted in, a unit or a multiple of one, and write it in its one form."""
    if isinstance(value, str) and not value.strip()[:1].isdigit():
        value = f"1{value.strip()}"
    text = duration_text(value, name)
    if text == "0s":
        raise ValueError(f"{name} must be longer than nothing; got {in_words(value)}")
    return text[1:] if text[0] == "1" and text[1:2].isalpha() else text


def unit_length(unit: str) -> Fraction:
    """Nanoseconds of what `unit_text` wrote."""
    return nanoseconds(unit if unit[0].isdigit() else f"1{unit}")


def readable_unit(length: float) -> tuple[str, int]:
    """Name and nanoseconds of the longest unit, up to days, that is not longer than a length in nanoseconds."""
    return next(((unit, size) for unit, size in WRITTEN_UNITS.items() if size <= length), ("ns", 1))


def canonical_lengths(value: Any, name: str) -> tuple[int, ...] | tuple[str, ...]:
    """Check one length or a collection of them: numbers of steps as they are, durations in their one form."""
    given, durations = _durations(value, name)
    if durations is None:
        return buffer_lengths(given, name)
    return tuple(duration_text(length, name) for length in durations)


def _durations(value: Any, name: str) -> tuple[Any, list[Any] | None]:
    """Return one length or a list of them as given, and as durations; None in place of these where they are steps."""
    if is_duration(value) or not isinstance(value, Iterable):
        values = [value]
    else:
        require_few(value, name)
        values = value = list(value)
    if not any(is_duration(length) for length in values):
        return value, None
    steps = [length for length in values if not is_duration(length)]
    if any(isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step for step in steps):
        raise TypeError(f"{name} must be all numbers of steps or all durations such as '10min'; got {in_words(value)}")
    return value, [length if is_duration(length) else "0s" for length in values]


def require_one_measure(early: Any, delay: Any) -> None:
    """Refuse buffers of which one is in steps and the other in time; zero is both."""
    buffers = {"early": _durations(early, "early"), "delay": _durations(delay, "delay")}
    in_steps_alone = all(durations is None for _, durations in buffers.values())
    for name, (lengths, durations) in buffers.items():
        if not in_steps_alone and durations is None and any(buffer_lengths(lengths, name)):
            raise TypeError(f"{name} must be a duration such as '10min' too where the other buffer is one")


def length_order(value: Any) -> Any:
    """What to sort lengths by: steps by their number, durations by how long they are."""
    return nanoseconds(value) if isinstance(value, str) else value


def in_steps(value: Duration, interval: float, clock: Clock, name: str = "the duration") -> int:
    """Number of steps nearest to a duration, at least one unless it is zero; halves are rounded up."""
    length = Fraction(clock.length(nanoseconds(value, name)))
    # Up to rounding a half is a half in every unit.
    return max(1, math.floor(length / Fraction(interval) + Fraction(1, 2) + Fraction(_ROUNDING))) if length else 0


def steps_of_period(
    value: int | Duration | None, size: int, times: Any, time_unit: str | None, *, name: str, without_clock: int
) -> int:
    """A number of steps as it is; a duration as the nearest number of median intervals between so many times.

    None is a day where times and their unit are known, and so many steps without.
    """
    if isinstance(value, int):
        return value
    if times is None:
        if value is None:
            return without_clock
        raise ValueError(f"{name}={in_words(value)} is a duration, which needs the times of the steps: pass times")
    clock = read_clock(times, size, np.zeros(1, dtype=np.intp), time_unit)
    if value is None and clock.nanoseconds is None:
        return without_clock
    value = "1d" if value is None else value
    interval = clock.median_interval()
    if interval is None:
        raise UndefinedMetricError("the metric is undefined: a single step has no interval to measure durations by")
    return in_steps(value, interval, clock, name)


def single(value: Any, name: str) -> int | Duration:
    """Check that a buffer is one number of steps or one duration."""
    return value if is_duration(value) else non_negative_integer(value, name)


def read_buffers(value: Any, name: str, clock: Clock | None, longest: int) -> tuple[Lengths, bool]:
    """Check one buffer or a collection of them; return lengths, and whether they were given as durations.

    They are in steps, none longer than ``longest``, or in units of the clock.
    """
    given, durations = _durations(value, name)
    if durations is None:
        return buffer_lengths(given, name, longest=longest), False
    lengths = [nanoseconds(length, name) for length in durations]
    if clock is None:
        raise ValueError(f"{name}={in_words(given)} is a duration, which needs the times of the steps: pass times")
    return tuple(clock.length(length) for length in lengths), True


def _parsed(text: str, name: str) -> Fraction:
    total, place = Fraction(0), 0
    while piece := _PIECE.match(text, place):
        total += Fraction(piece[1]) * unit_nanoseconds(piece[2], name)
        place = piece.end()
    if not place or text[place:].strip():
        raise ValueError(f"{name} as text must be a number with a unit, such as '10min', '2h'; got {in_words(text)}")
    return total


def unit_nanoseconds(text: object, name: str) -> int:
    """Length of a unit of time, by any of its names."""
    if isinstance(text, str):
        for word in (text, text.lower(), text.lower().removesuffix("s")):
            if word in _UNITS:
                return _UNITS[word]
    raise ValueError(f"{name} must have a unit of ns, us, ms, s, min, h, d or w; got {in_words(text)}")


def duration_words(length: float | Fraction) -> str:
    """A length of time in the largest sensible unit, and the next one where that says more.

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
    """A date, as short as it can be written: seconds and fractions only where there are some."""
    date = np.datetime64(int(time), "ns")
    for unit in ("m", "s", "ms", "us", "ns"):
        written = date.astype(f"datetime64[{unit}]")
        if written == date:
            break
    return str(written).replace("T", " ")


def interval_words(start: int, stop: int) -> str:
    """Two dates; the day is said once where it is the same.

    >>> interval_words(4 * 3600 * 10**9, 5 * 3600 * 10**9)
    '1970-01-01 04:00 to 05:00'
    """
    first, last = moment_words(start), moment_words(stop)
    if first == last:
        return first
    return f"{first} to {last[11:] if first[:10] == last[:10] else last}"


def clock_words(clock: Clock, start: Any, stop: Any) -> str:
    """Two times of a clock that has a unit: dates, or numbers as they were given, with the unit.

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
