"""Dates in: datetime64, text, objects of Python and pandas, with time zones or without, as counts of nanoseconds."""

from __future__ import annotations

import datetime
import re
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import is_real
from pateval.validation.containers import missing_mask, numbers_from_objects
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

Times = npt.NDArray[Any]

ZONE_REMEDY = "say where the latter were recorded with --time-zone ZONE (time_zone=...), or strip the others of it"
FIRST_YEAR, LAST_YEAR = 1678, 2261  # whole years that 64 bits can count in nanoseconds
# Dates with dots have the day first wherever they are written; with slashes it depends on the country.
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ T]+(\d{1,2})(?=:))?(?=$|:)")
_NANOSECONDS = re.compile(r"(?<=[.,]\d{6})(\d{1,3})(\d*)")  # Python reads microseconds, and drops the rest
# Behind a time of day, whose colons and minutes may be left out; a hyphen also parts the year from the month.
_ZONE = re.compile(
    r"(?::\d\d|\d[^\d-]\d[\d:]+)(?:[.,]\d+)?\s*[+-]\d\d(?::?\d\d){0,2}(?:[.,]\d+)?$|\d\s*Z$", re.IGNORECASE
)


def time_numbers(array: Times, unit: int | None = None, zone: str | None = None) -> tuple[Times, int | None]:
    """Integers of nanoseconds for dates, and otherwise the numbers themselves, with the length of their unit.

    Dates with a time zone are moved to universal time; those without one were recorded in ``zone``, where that is
    given, and are refused beside others that have one where it is not.
    """
    values = array.tolist() if array.dtype.kind == "O" else []
    if all(map(is_real, values)) and not all(isinstance(value, Integral) for value in values):
        array = numbers_from_objects(array, "times", allow_missing=False)  # as lists of large floats come
    if array.dtype.kind == "O" or array.dtype.kind in "UST":
        array = _dates(array, zone)
    elif array.dtype.kind == "M" and zone is not None and not has_zone(array):
        array = _from_zone(array, zone)
    if array.dtype.kind in "mM" and np.isnat(array).any():
        raise ValueError(f"times must hold no missing values; found one at index {int(np.argmax(np.isnat(array)))}")
    if array.dtype.kind == "M":
        if unit is not None:
            raise ValueError("time_unit is for times that are numbers; dates have a unit of their own")
        return _whole_nanoseconds(array, "datetime64[ns]"), 1
    if array.dtype.kind == "m":
        return _whole_nanoseconds(array, "timedelta64[ns]"), 1
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
            raise ValueError(f"times must be below 2**63 where they are integers; found {array.max()}")
        return array.astype(np.int64), unit
    if array.dtype.kind != "f":
        raise TypeError(f"times must be dates or numbers; got {array.dtype} values")
    if not np.isfinite(array).all():
        raise ValueError(
            f"times must be finite; found {array[~np.isfinite(array)][0]} at index "
            f"{int(np.argmax(~np.isfinite(array)))}"
        )
    with np.errstate(over="ignore"):
        times = array.astype(np.float64)
    if not np.isfinite(times).all():
        raise ValueError("times must be numbers that double precision can hold")
    return times, unit


def is_time(value: object) -> bool:
    """Whether a value is a date, a date written as ISO 8601 has it, or a finite number."""
    try:
        time_numbers(np.array([value]))
    except (TypeError, ValueError):
        return False
    return True


def why_no_time(value: object) -> str:
    """Say why a value is no time."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return "is more than 64 bits can count"
    is_date = isinstance(value, (str, datetime.date, np.datetime64)) or hasattr(value, "to_timestamp")
    text = str(value) if is_date else ""  # other objects may have none
    year = re.match(r"(\d{4,})-\d\d-\d\d", text)
    if year and not FIRST_YEAR <= int(year[1]) <= LAST_YEAR:
        return f"lies outside the years {FIRST_YEAR} to {LAST_YEAR}"
    if re.match(r"\d{4}-\d\d-\d\d.*[.,]\d{10}", text):
        return "has more digits than nanoseconds"
    return "is neither a date such as 2024-01-31T12:00:00 nor a number"


def _whole_nanoseconds(array: Times, dtype: str) -> Times:
    """Dates or differences as integers; NumPy would wrap around what 64 bits cannot count in nanoseconds."""
    converted = array.astype(dtype)
    wrapped = converted.astype(array.dtype) != array
    if wrapped.any():
        place = int(np.argmax(wrapped))
        years = (
            f"lie between the years {FIRST_YEAR} and {LAST_YEAR}" if array.dtype.kind == "M" else "be below 292 years"
        )
        raise ValueError(f"times must {years}; found {array[place]} at index {place}")
    return converted.astype(np.int64)


class MixedZonesError(ValueError):
    """Some dates have a time zone and others have none, so that nobody knows how they lie to each other."""

    def __init__(self, zoned: int, naive: int, examples: tuple[object, object]) -> None:
        self.places = zoned, naive
        self.examples = in_words(str(examples[0])), in_words(str(examples[1]))
        super().__init__(
            f"times must all have a time zone, or all none; found {self.examples[0]} at index {zoned} and "
            f"{self.examples[1]} at index {naive}: give all of them a zone, or none"
        )

    def in_rows(self, numbers: Callable[[int], int]) -> str:
        """Say it of the rows of a file, with what to do."""
        return (
            f"some dates have a time zone, {self.examples[0]} in row {numbers(self.places[0])}, and others have none, "
            f"{self.examples[1]} in row {numbers(self.places[1])}; {ZONE_REMEDY}"
        )


def has_zone(array: npt.NDArray[Any]) -> bool:
    """Whether dates were written with a time zone; where only some of them were, they are refused."""
    if array.dtype.kind == "M":
        return "zone" in (array.dtype.metadata or ())
    if array.dtype.kind not in "OUST":
        return False
    zoned = np.array(
        [
            _ZONE.search(value) is not None if isinstance(value, str) else getattr(value, "tzinfo", None) is not None
            for value in array.tolist()
        ],
        dtype=np.bool_,
    )
    if not zoned.any() or zoned.all():
        return bool(zoned.any())
    places = int(np.argmax(zoned)), int(np.argmin(zoned))
    raise MixedZonesError(*places, (array[places[0]], array[places[1]]))


def date_text(array: npt.NDArray[Any]) -> str:
    """The first of some dates as messages show it; those whose type tells that they have a time zone are in UTC."""
    return in_words(f"{array[0]} UTC" if array.dtype.kind == "M" and has_zone(array) else str(array[0]))


def _dates(array: npt.NDArray[Any], zone: str | None) -> npt.NDArray[Any]:
    """Dates of an array of text or objects, in universal time where they have a zone."""
    missing = missing_mask(array)
    if missing.any():
        raise ValueError(f"times must hold no missing values; found one at index {int(np.argmax(missing))}")
    dates, zoned = [], []
    for place, value in enumerate(array.tolist()):
        try:
            date, offset = _date(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"times must be dates from {FIRST_YEAR} to {LAST_YEAR}, such as datetime64 values, or numbers; "
                f"got {in_words(value)} at index {place}"
            ) from None
        dates.append(date)
        zoned.append(offset)
    found, is_zoned = np.array(dates, dtype="datetime64[ns]"), np.array(zoned, dtype=np.bool_)
    if zone is None:
        if is_zoned.any() and not is_zoned.all():
            has_zone(array)  # which says which of them
        return found
    found[~is_zoned] = _from_zone(found[~is_zoned], zone)
    return found


def require_zone(zone: str) -> ZoneInfo:
    """Find a time zone by its name."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(zone)
    except Exception:  # what is no key raises anything, down to errors of the file system
        raise ValueError(
            f"time_zone must be a time zone such as 'UTC' or 'Europe/Berlin'; got {in_words(zone)}"
        ) from None


def _from_zone(dates: npt.NDArray[Any], zone: str) -> npt.NDArray[Any]:
    """Move dates that were recorded in a zone to universal time; of an hour that comes twice they are the first."""
    where = require_zone(zone)
    # No zone changes its offset within a quarter of an hour.
    blocks, inverse = np.unique(dates.astype("datetime64[m]").astype(np.int64) // 15, return_inverse=True)
    begin = datetime.datetime(1970, 1, 1)
    starts = [(begin + datetime.timedelta(minutes=15 * block)).replace(tzinfo=where) for block in blocks.tolist()]
    offsets = [int((start.utcoffset() or datetime.timedelta()).total_seconds()) for start in starts]
    return dates - np.array(offsets, dtype="timedelta64[s]")[inverse]


def is_day_first(value: object) -> bool:
    """Whether a text is a date with dots, day before month."""
    return isinstance(value, str) and _DAY_FIRST.match(value) is not None


def _year_first(found: re.Match[str]) -> str:
    day, month, year, hour = found.groups()
    return f"{year}-{month:0>2}-{day:0>2}" + (f"T{hour:0>2}" if hour else "")


def _date(value: Any) -> tuple[np.datetime64, bool]:
    """A date, and whether it has a time zone; one that has is moved to universal time."""
    if hasattr(value, "to_timestamp"):  # a period of pandas, of which NumPy would take the day alone
        value = value.to_timestamp()
    below_microsecond = getattr(value, "nanosecond", 0)  # pandas has this
    if isinstance(value, str):
        text = _DAY_FIRST.sub(_year_first, value)
        if fine := _NANOSECONDS.search(text):
            if fine[2].strip("0"):
                raise ValueError("finer than nanoseconds")
            below_microsecond = int(fine[1].ljust(3, "0"))
            text = text[: fine.start(1)] + text[fine.end() :]
        value = datetime.datetime.fromisoformat(text)
    if isinstance(value, datetime.date) and not FIRST_YEAR <= value.year <= LAST_YEAR:
        raise ValueError("NumPy would wrap around what 64 bits cannot count in nanoseconds")
    if not isinstance(value, (datetime.date, np.datetime64)):
        raise TypeError("numbers are no dates, and what else has a year, a month and a day may have more")
    zoned = False
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        zoned = True
        value = datetime.datetime(*value.utctimetuple()[:6], value.microsecond)  # as NumPy wants it
    return np.datetime64(value, "ns") + np.timedelta64(below_microsecond, "ns"), zoned
