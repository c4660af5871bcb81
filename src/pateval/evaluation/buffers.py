"""How long a buffer should be, from the series itself and from its events."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import find_events
from pateval.output.results import Rows, TableResult
from pateval.output.text_table import TERMINAL_WIDTH, cut_in_the_middle, folded, render
from pateval.time.clocks import LONG_HOLE, duration_text, duration_words, length_order, nanoseconds, readable_unit
from pateval.validation.arrays import BoolArray, finite_array
from pateval.validation.containers import to_numpy
from pateval.validation.wording import counted

_STEPS = 20_000
_SHORTEST, _LONGEST = 3, 400
_FIRST, _LAST = 3, 300
_FALLBACK = 100
_LARGEST = 1e300  # Sums and differences of larger values overflow.


def suggest_buffer(values: npt.ArrayLike) -> int:
    """Suggest a buffer length: the period of the series, from its autocorrelation.

    Looks for the highest local maximum of the autocorrelation of the first 20,000 steps, at lags from 3 to 400. Where
    its position, counted from lag 3, lies in 3..300 its lag is the suggestion; otherwise it is 100.

    Parameters
    ----------
    values : array-like of float
        The raw series, one value per time step.

    Returns
    -------
    int
        Buffer length in steps, for `pate` and its kin.

    Raises
    ------
    ValueError, TypeError
        If the values are not finite numbers, or more than one column: pass one of them.

    Warns
    -----
    UserWarning
        If no period is found and 100 is returned.

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> pv.suggest_buffer(np.sin(2 * np.pi * np.arange(2000) / 50))
    50
    """
    shape = to_numpy(values, "values").shape
    if len(shape) == 2:
        raise ValueError(f"values must be one-dimensional; got {shape}: pass one column, such as values[:, 0]")
    series = finite_array(values, "values")[:_STEPS].astype(np.float64)
    series /= max(1.0, float(np.abs(series).max()) / _LARGEST)  # The suggestion depends on no unit of the values.
    lag = _highest_peak(series)
    if lag is None:
        warnings.warn(
            f"no period found in the first {series.size} steps; the default of {_FALLBACK} is suggested",
            UserWarning,
            stacklevel=2,
        )
        return _FALLBACK
    return lag


def _highest_peak(series: npt.NDArray[np.float64]) -> int | None:
    """Lag of the highest local maximum of the autocorrelation, if it lies where a period is believed."""
    if series.size <= _SHORTEST + 2 or np.ptp(series) == 0:
        return None
    correlation = autocorrelation(series, min(_LONGEST, series.size - 1))[_SHORTEST:]
    peaks = np.flatnonzero((correlation[1:-1] > correlation[:-2]) & (correlation[1:-1] > correlation[2:])) + 1
    if not peaks.size:
        return None
    highest = int(peaks[np.argmax(correlation[peaks])])
    return highest + _SHORTEST if _FIRST <= highest <= _LAST else None


def autocorrelation(series: npt.NDArray[np.float64], longest: int) -> npt.NDArray[np.float64]:
    """Autocorrelation at lags 0 to ``longest``: sums of products of deviations over the sum of their squares."""
    centred = series - series.mean()
    scale = np.abs(centred).max()
    if scale > 0:
        centred /= scale
    length = 1 << (2 * series.size - 1).bit_length()
    spectrum = np.fft.rfft(centred, length)
    products = np.fft.irfft(np.abs(spectrum) ** 2, length)[: longest + 1]
    result: npt.NDArray[np.float64] = products / products[0]
    return result


@dataclass(frozen=True)
class EventSpacing:
    """How long the events of a series are, how far apart, and what buffer that suggests; steps unless it says time."""

    series: str  # its name
    steps: int  # how many there are, less those that are left out
    events: int
    shortest: int | None = None  # lengths of events; None without events
    typical: int | None = None  # the median
    longest: int | None = None
    gap: int | None = None  # median number of steps between two events; None with fewer than two
    interval: str | None = None  # median time between two steps, where times are known
    hole: str | None = None  # the longest time between two steps, where it is far longer
    period: int | None = None  # what `suggest_buffer` finds in the values of the series, where they are known
    suggested: int | None = None  # the period, but no longer than the typical event and half the gap
    suggested_time: str | None = None  # the same as a duration, rounded down to one that people say

    @classmethod
    def of(
        cls,
        series: str,
        labels: BoolArray,
        *,
        nanoseconds: npt.NDArray[Any] | None = None,
        values: npt.ArrayLike | None = None,
        ignore: BoolArray | None = None,
    ) -> EventSpacing:
        """Measure one series.

        Steps to ``ignore`` keep their place in time, as in PATE, and part events. Their values, which may be missing,
        are taken to lie between those around them.
        """
        interval, hole = None, None
        if nanoseconds is not None and nanoseconds.size > 1:
            between = np.diff(nanoseconds)
            interval, longest = round(float(np.median(between))), between.max()
            hole = duration_words(int(longest)) if longest > LONG_HOLE * interval else None
        shown = None if interval is None else duration_text(np.timedelta64(interval, "ns"))
        steps = labels.size
        if ignore is not None:
            kept = np.flatnonzero(~ignore)
            labels, steps = labels & ~ignore, kept.size
            if values is not None:  # straight lines across ignored steps, so that the others keep their distance
                known = np.asarray(values, dtype=np.float64)[kept]
                values = np.interp(np.arange(ignore.size), kept, known) if steps else None
        period = None if values is None else _highest_peak(finite_array(values, "values")[:_STEPS].astype(np.float64))
        events = find_events(labels)
        if not len(events):
            return cls(series, steps, 0, interval=shown, hole=hole, period=period)
        lengths = events.lengths
        gaps = np.asarray(events.starts)[1:] - np.asarray(events.stops)[:-1]
        typical = int(np.median(lengths))
        gap = int(np.median(gaps)) if gaps.size else None
        bounds = typical, period, None if gap is None else gap // 2
        suggested = max(1, min(bound for bound in bounds if bound is not None))
        in_time = None if interval is None else round_duration(suggested * interval)
        sizes = int(lengths.min()), typical, int(lengths.max()), gap
        return cls(series, steps, len(events), *sizes, shown, hole, period, suggested, in_time)

    def exceeded_by(self, length: int | str) -> dict[str, int]:
        """What a buffer is longer than, in steps: the typical event, the gap between events, both or neither.

        Durations are passed over where the interval between steps is not known.
        """
        steps: float = 0
        if not isinstance(length, str):
            steps = length
        elif self.interval is not None:
            steps = float(nanoseconds(length) / nanoseconds(self.interval))
        limits = {"the typical event": self.typical, "the gap between events": self.gap}
        return {what: size for what, size in limits.items() if size is not None and steps > size}


_SHOWN_AS = {
    "series": "series",
    "steps": "steps",
    "interval": "interval",
    "events": "events",
    "shortest": "shortest event",
    "typical": "typical event",
    "longest": "longest event",
    "gap": "gap",
    "period": "period",
    "suggested": "suggested buffer",
    "suggested_time": "as time",
}
_ONLY_WIDE = ("steps", "shortest", "longest")
_LONGEST_NAME = 28  # characters of a series on a terminal


@dataclass(frozen=True)
class BufferAdvice(TableResult):
    """What `pateval buffer` found: a row per series."""

    rows: tuple[EventSpacing, ...]

    @property
    def suggested(self) -> int | None:
        """Median of what the series suggest, in steps; None where there are no events."""
        lengths = [row.suggested for row in self.rows if row.suggested is not None]
        return int(np.median(lengths)) if lengths else None

    @property
    def suggested_time(self) -> str | None:
        """The same as a duration that people say, where all series have the same interval."""
        interval, *others = dict.fromkeys(row.interval for row in self.rows)
        if interval is None or others or self.suggested is None:
            return None
        return round_duration(round(self.suggested * nanoseconds(interval)))

    def warnings(self, early: Iterable[Any], delay: Iterable[Any]) -> list[str]:
        """Say which buffers are too long; never those that are suggested."""
        return list(long_buffers(self.rows, early, delay, remedy=""))

    def columns(self) -> dict[str, Any]:
        """Return the columns of the rows, by name."""
        return {name: [getattr(row, name) for row in self.rows] for name in _SHOWN_AS}

    def table(self, left_out: Collection[str] = ()) -> Rows:
        """Columns that hold something, and rows, for people."""
        filled = [name for name in _SHOWN_AS if any(getattr(row, name) is not None for row in self.rows)]
        shown = [name for name in filled if name not in left_out]
        return [_SHOWN_AS[name] for name in shown], [[getattr(row, name) for name in shown] for row in self.rows]

    def remarks(self) -> list[str]:
        """The options to use."""
        if self.suggested is None:
            return ["no events: no buffer to suggest"]
        in_time = self.suggested_time and f", or in time --early {self.suggested_time} --delay {self.suggested_time}"
        return [f"--early {self.suggested} --delay {self.suggested} fits these events{in_time or ''}"]

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """Facts of one series below each other, or of several as a table; and the options to use."""
        columns, rows = self.table(() if width is None else _ONLY_WIDE)
        if len(rows) == 1:
            columns, (facts,) = self.table()
            shown = "\n".join(f"{name:<18}{fact}" for name, fact in zip(columns, facts, strict=True))
        else:
            if width is not None:
                rows = [[cut_in_the_middle(row[0], _LONGEST_NAME), *row[1:]] for row in rows]
            shown = render(columns, rows, width=width)
        return f"{shown}\n\n{folded(self.remarks()[0], width)}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "suggested": self.suggested,
            "suggested_time": self.suggested_time,
            "series": [asdict(row) for row in self.rows],
        }


def long_buffers(
    rows: Sequence[EventSpacing],
    early: Iterable[Any],
    delay: Iterable[Any],
    *,
    remedy: str = "; `pateval buffer` suggests one",
) -> Iterator[str]:
    """Say which buffers are too long: the one rule, for all commands.

    A buffer is too long where it is longer than the typical event, or than the gap between events, in more than half of
    the series that have events. What `BufferAdvice` suggests is never so: at least half of the series suggest as much
    or more, and no series suggests more than its typical event or half of its gap. Durations are measured by the median
    interval of each series, and passed over where it is not known. Each sentence ends with the remedy.
    """
    known = [row for row in rows if row.typical is not None]
    named_by_excess: dict[str, list[str]] = {}
    for name, given in (("early", early), ("delay", delay)):
        longest = max(given, key=length_order, default=0)
        exceeded = [limits for row in known if (limits := row.exceeded_by(longest))]
        if 2 * len(exceeded) <= len(known):
            continue
        excesses = []
        for what in dict.fromkeys(what for limits in exceeded for what in limits):
            sizes = [limits[what] for limits in exceeded if what in limits]
            where = "" if len(known) == 1 else f" in {len(sizes)} of {len(known)} series"
            typical = round(float(np.median(sizes)))
            excesses.append(f"than {what}{where} ({counted(typical, 'step')})")
        named_by_excess.setdefault(" and ".join(excesses), []).append(f"{name} {longest}")
    for excess, named in named_by_excess.items():
        buffers = f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'}"
        yield f"{buffers} longer {excess}: a buffer then counts for more than what it surrounds{remedy}"


def round_duration(length: int) -> str:
    """Write nanoseconds as people say them, rounded down: whole units of the longest of which there are at least two.

    Durations with a number below 100 are said as they are.
    """
    exact = duration_text(np.timedelta64(length, "ns"))
    if float(exact.rstrip("dhminsu")) < 100:
        return exact
    unit, size = readable_unit(length / 2)
    return f"{length // size}{unit}"
