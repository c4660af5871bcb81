"""What `explain` returns: weights step by step and event by event, and how they print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.output.results import Result
from pateval.output.text_table import aligned, beside_names, cut_in_the_middle, plain
from pateval.time.clocks import Duration, clock_words, duration_words
from pateval.time.timelines import Timeline
from pateval.validation.arrays import IntArray

Array = npt.NDArray[np.float64]

CATEGORIES = ("quiet", "true detection", "early", "delayed", "outside", "partly missed", "totally missed")
QUIET, TRUE, EARLY, DELAYED, OUTSIDE, PARTLY, TOTALLY = range(len(CATEGORIES))
_MARKS = "·█◂▸×▒░"
# Which category a picture shows where several share a column: what speaks against the detector comes first.
GRAVEST_FIRST = (OUTSIDE, TOTALLY, TRUE, PARTLY, EARLY, DELAYED, QUIET)
_WIDTH = 80
_PICTURE_WIDTH = 800
_MOST_ROWS = 20
_LEAST_COLUMNS = 6  # of the strip for one event


@dataclass(frozen=True)
class StepWeights(Result):
    """Category and weights of every time step.

    Attributes
    ----------
    step : ndarray of int
        Number of each step in its series; ignored steps are not there.
    codes : ndarray of int
        Category of each step, as a place in `CATEGORIES`.
    event : ndarray of int
        The event each step belongs to, -1 for none.
    true_positive, false_positive, false_negative : ndarray
        What each step adds to the weighted counts; with several pairs of buffers the mean over them.
    worth : ndarray
        What a detection at each step weighs, or would weigh, all other predictions as they are: 1 inside events,
        falling off in the delayed zone, rising in the early zone of an event that is detected, 0 elsewhere.
    series : ndarray or None
        The series each step belongs to, where they were named.
    """

    step: IntArray
    codes: npt.NDArray[np.int8]
    event: IntArray
    true_positive: Array
    false_positive: Array
    false_negative: Array
    worth: Array
    series: npt.NDArray[Any] | None = None

    @property
    def category(self) -> npt.NDArray[np.str_]:
        """Category of each step, in words."""
        return np.array(CATEGORIES)[self.codes]

    def __len__(self) -> int:
        return int(self.codes.size)

    def columns(self) -> dict[str, Any]:
        """Return the weights as columns, a row per time step, with the series first where they were named."""
        named = {} if self.series is None else {"series": self.series.tolist()}
        return named | {
            "step": self.step,
            "category": self.category.tolist(),
            "event": self.event,
            "true_positive": self.true_positive,
            "false_positive": self.false_positive,
            "false_negative": self.false_negative,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as lists, by name."""
        return plain(self.columns())


@dataclass(frozen=True)
class EventWeights(Result):
    """How one event was detected, and what it adds to the weighted counts with its buffers.

    Attributes
    ----------
    series : object or None
        The series it lies in, where they were named.
    start, stop : int
        The event covers the steps ``start <= t < stop`` of its series.
    detected : bool
        Whether any step inside was predicted.
    coverage : float
        Share of the steps inside that were predicted.
    onset_delay : int or None
        Steps from the start to the first one predicted inside; None if not detected.
    early_lead : int or None
        Steps from the earliest prediction in the early buffer to the start; None if there is none.
    true_positive, false_positive, false_negative : float
        Weighted counts of the event and its buffers; with several pairs of buffers the mean over them.
    """

    series: Any
    start: int
    stop: int
    detected: bool
    coverage: float
    onset_delay: int | None
    early_lead: int | None
    true_positive: float
    false_positive: float
    false_negative: float


@dataclass(frozen=True)
class EventKind(Result):
    """What a detector gets on the events of one kind.

    Attributes
    ----------
    name : str
        The class, or "short", "medium" or "long" with the lengths in steps.
    events, found : int
        How many events there are of which a step counts, and in how many of them a step is predicted.
    recall : float
        The latter as a share of the former.
    value : float
        Of the metric, with the events of other kinds left out.
    """

    name: str
    events: int
    found: int
    recall: float
    value: float


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What `explain` found; prints as a table with a timeline.

    Attributes
    ----------
    points : StepWeights
        Category and weights of every time step.
    events : tuple of EventWeights
        One row per event.
    precision, recall, f1 : float
        The proximity-weighted figures, as `pate_f1` uses them; with several pairs of buffers the mean over them, so
        that ``f1`` is what `pate_f1` returns.
    true_positive, false_positive, false_negative : float
        The weighted counts in all; likewise.
    early, delay : int or duration, or tuple of these
        The buffers, as they were given.
    explained_steps : Timeline
        Which of the recorded steps are explained, and how they lie in time.
    predictions_from : str
        How scores became predictions, in words; empty where predictions were given.
    kinds : tuple of EventKind
        The kinds of events, each judged as if there were no others, where they were asked for: recall and `pate_f1`.
    """

    points: StepWeights
    events: tuple[EventWeights, ...]
    precision: float
    recall: float
    f1: float
    true_positive: float
    false_positive: float
    false_negative: float
    early: int | Duration | tuple[int | Duration, ...]
    delay: int | Duration | tuple[int | Duration, ...]
    explained_steps: Timeline
    predictions_from: str = ""
    kinds: tuple[EventKind, ...] = ()

    def event_places(self) -> tuple[IntArray, IntArray]:
        """Where the events begin and end among all steps that are explained, whatever their series.

        Examples
        --------
        >>> import pateval as pv
        >>> found = pv.explain([0, 1, 0, 1], [0, 1, 0, 0], early=1, delay=1, series=["a", "a", "b", "b"])
        >>> [(event.series, event.start, event.stop) for event in found.events], found.event_places()
        ([('a', 1, 2), ('b', 1, 2)], (array([1, 3]), array([2, 4])))
        """
        owner = np.pad(np.where(self.is_inside(), self.points.event, -1), 1, constant_values=-1)
        changes = np.flatnonzero(np.diff(owner))
        return changes[owner[changes + 1] >= 0], changes[owner[changes] >= 0]

    def is_inside(self) -> npt.NDArray[np.bool_]:
        """Mark the explained steps that lie inside an event."""
        return np.isin(self.points.codes, (TRUE, PARTLY, TOTALLY))

    def columns(self) -> dict[str, Any]:
        """Return the events as columns, a row per event; the series is among them where it was named."""
        names = [name for name in EventWeights.__dataclass_fields__ if self._is_named or name != "series"]
        return {name: [getattr(event, name) for event in self.events] for name in names}

    @property
    def _is_named(self) -> bool:
        return self.points.series is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, and the events as a list of dictionaries."""
        found: dict[str, Any] = {
            name: list(map(_buffer, given)) if isinstance(given, tuple) else _buffer(given)
            for name, given in (("early", self.early), ("delay", self.delay))
        }
        figures = ("precision", "recall", "f1", "true_positive", "false_positive", "false_negative")
        found |= {name: getattr(self, name) for name in figures}
        found |= {"predictions": self.predictions_from or "given", "events": self.row_dicts()}
        found |= {"kinds": [kind.to_dict() for kind in self.kinds]} if self.kinds else {}
        return plain(found)

    def timeline(self, width: int = _WIDTH) -> str:
        """One line of marks for the whole series; where several categories share a column the gravest is shown.

        Parameters
        ----------
        width : int
            Number of columns at most.
        """
        return _marks(self.points.codes, width)

    def strip(self, width: int = _WIDTH) -> str:
        """One line of marks for the neighbourhood of the first events; "…" stands for what lies between.

        A neighbourhood is an event with its buffers and a little more. All of a series that is no longer than the line
        is shown.

        Parameters
        ----------
        width : int
            Number of columns at most.
        """
        codes = self.points.codes
        if codes.size <= width:
            return _marks(codes, width)
        lengths = np.bincount(self.points.event[self.points.event >= 0], minlength=len(self.events))
        margin = max(2, int(np.median(lengths)) // 10)
        places = np.flatnonzero(np.concatenate([[True], self.points.event[1:] != self.points.event[:-1], [True]]))
        stretches: list[list[int]] = []
        for start, stop in pairwise(places.tolist()):
            if self.points.event[start] >= 0:
                first, last = max(start - margin, 0), min(stop + margin, codes.size)
                if stretches and first <= stretches[-1][1]:
                    stretches[-1][1] = last
                elif len(stretches) * (_LEAST_COLUMNS + 1) + _LEAST_COLUMNS + 2 > width:
                    break
                else:
                    stretches.append([first, last])
        gaps = len(stretches) - 1 + (stretches[0][0] > 0) + (stretches[-1][1] < codes.size)
        spare = width - gaps - _LEAST_COLUMNS * len(stretches)
        total = sum(stop - start for start, stop in stretches)
        parts = [
            _marks(codes[start:stop], _LEAST_COLUMNS + spare * (stop - start) // total) for start, stop in stretches
        ]
        return ("…" if stretches[0][0] else "") + "…".join(parts) + ("…" if stretches[-1][1] < codes.size else "")

    def _places_in_words(self) -> list[tuple[str, str, str]]:
        """Where each event lies, its onset and its lead: on the clock, or in steps where it has no unit of time."""
        steps, clock = self.explained_steps, self.explained_steps.clock
        if clock is None or clock.nanoseconds is None:
            return [
                (f"[{event.start}, {event.stop})", _steps_or_dash(event.onset_delay), _steps_or_dash(event.early_lead))
                for event in self.events
            ]
        usual, unit = clock.median_interval(steps.starts) or 0.0, clock.nanoseconds
        ends = set(steps.starts[1:].tolist()) | {len(clock.times)}

        def place(recorded: int) -> int:
            return recorded if steps.step_numbers is None else int(np.searchsorted(steps.step_numbers, recorded))

        def waited(first: int, last: int) -> str:
            return duration_words(float(clock.times[last] - clock.times[first]) * unit)

        places = []
        for event, start, stop in zip(self.events, *self.event_places(), strict=True):
            recorded = int(steps.original(np.array([start]))[0])
            is_last = stop in ends or int(np.diff(steps.original(np.array([stop - 1, stop])))[0]) > 1
            until = clock.times[stop - 1] + round(usual) if is_last else clock.times[stop]
            onset = "-" if event.onset_delay is None else waited(start, place(recorded + event.onset_delay))
            lead = "-" if event.early_lead is None else waited(place(recorded - event.early_lead), start)
            places.append((f"[{clock_words(clock, clock.times[start], until)})", onset, lead))
        return places

    def _event_cells(self, most: int) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of the first events, for people; the series comes first where it was named."""
        named = ["series"] if self._is_named else []
        columns = [*named, "event", "found", "cover", "onset", "lead", "TP", "FP", "FN"]
        rows = []
        for event, (place, onset, lead) in zip(self.events[:most], self._places_in_words(), strict=False):
            detected = ["yes" if event.detected else "no", f"{event.coverage:.0%}"]
            counts = map(_count, (event.true_positive, event.false_positive, event.false_negative))
            rows.append([*(str(event.series) for _ in named), place, *detected, onset, lead, *counts])
        return columns, rows

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, category_strip, fragment

        codes = self.points.codes
        columns, rows = self._event_cells(_MOST_ROWS)
        more = len(self.events) - len(rows)
        predictions = f"; predictions: {self.predictions_from}" if self.predictions_from else ""
        return fragment(
            f"precision {self.precision:.4f} · recall {self.recall:.4f} · F1 {self.f1:.4f}",
            pictures=[category_strip(in_columns(codes, _PICTURE_WIDTH)[1], codes, CATEGORIES)],
            tables=[FragmentTable(columns, rows, [name not in ("series", "event", "found") for name in columns])],
            lines=[f"{self._buffers()}{predictions}", *([f"and {more} more events"] if more else [])],
        )

    def _buffers(self) -> str:
        return f"early {_buffer_text(self.early)}, delay {_buffer_text(self.delay)}"

    def __repr__(self) -> str:
        buffers = self._buffers()
        head = f"precision {self.precision:.4f}   recall {self.recall:.4f}   F1 {self.f1:.4f}"
        head = f"{head}   ({buffers})" if len(head) + len(buffers) + 5 <= _WIDTH else f"{head}\n({buffers})"
        if self.predictions_from:
            head += f"\npredictions: {self.predictions_from}"
        columns, rows = self._event_cells(_MOST_ROWS if len(self.events) <= _MOST_ROWS else _MOST_ROWS - 1)
        shown = len(rows)
        outside = float(self.points.false_positive[self.points.codes == OUTSIDE].sum())
        totals = [_count(count) for count in (self.true_positive, self.false_positive, self.false_negative)]
        for name, counts in (("outside", ["", _count(outside), ""]), ("all", totals)):
            rows.append([name, *[""] * (len(columns) - 4), *counts])
        if self._is_named:
            taken = len(aligned(columns[1:], [row[1:] for row in rows], [True] * (len(columns) - 1)).splitlines()[1])
            rows = [[cut_in_the_middle(row[0], max(_WIDTH - 2 - taken, _LEAST_COLUMNS)), *row[1:]] for row in rows]
        table = aligned(columns, rows, [name not in ("series", "event") for name in columns]).splitlines()
        if shown < len(self.events):
            table.insert(shown + 2, f"… and {len(self.events) - shown} more events")
        legend = _in_lines(
            f"{_MARKS[code]} {CATEGORIES[code]}"
            for code in (TRUE, EARLY, DELAYED, OUTSIDE, PARTLY, TOTALLY)
            if (self.points.codes == code).any()
        )
        if self.kinds:
            kinds = [[kind.name, kind.events, kind.found, f"{kind.recall:.0%}", kind.value] for kind in self.kinds]
            table += ["", beside_names(["kind of event", "events", "found", "recall", "pate_f1"], kinds, width=_WIDTH)]
        return "\n".join([head, "", self.strip(), legend, "", *table])


def _marks(codes: npt.NDArray[np.int8], width: int) -> str:
    return "".join(_MARKS[code] for code in in_columns(codes, width)[1])


def in_columns(codes: npt.NDArray[np.int8], width: int) -> tuple[IntArray, IntArray]:
    """Where each of at most ``width`` columns begins, and which category it shows: the gravest of its steps."""
    begins = np.linspace(0, codes.size, min(width, codes.size) + 1).astype(np.intp)[:-1]
    present = np.stack([np.logical_or.reduceat(codes == code, begins) for code in GRAVEST_FIRST])
    return begins, np.array(GRAVEST_FIRST)[present.argmax(axis=0)]


def _count(count: float) -> str:
    return f"{count:.2f}" if count < 1000 else f"{count:,.0f}"


def _steps_or_dash(steps: int | None) -> str:
    return "-" if steps is None else str(steps)


def _buffer(value: int | Duration) -> int | str:
    return value if isinstance(value, (int, str)) else str(value)


def _buffer_text(value: int | Duration | tuple[int | Duration, ...]) -> str:
    """A buffer, or a set of them: ``{0, 100}``, ``{0..100}``."""
    if not isinstance(value, tuple):
        return str(_buffer(value))
    steps = [length for length in value if isinstance(length, int)]
    if len(steps) > 2 and steps == list(range(steps[0], steps[0] + len(value))):
        return f"{{{steps[0]}..{steps[-1]}}}"
    return "{" + ", ".join(str(_buffer(length)) for length in value) + "}"


def _in_lines(entries: Iterable[str]) -> str:
    """Put the entries of a legend into lines that a terminal has room for."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= _WIDTH:
            lines[-1] += f"   {entry}"
        else:
            lines.append(entry)
    return "\n".join(lines)
