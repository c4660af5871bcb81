"""Labels and scores of one detector on one series, as read from a table and checked for the metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io.content import TableError
from pateval.io.source import Column, missing_places, without_times
from pateval.labels.classes import classes, from_words, mark_positive, remedy, without_label
from pateval.time.clocks import read_clock, unit_nanoseconds
from pateval.time.dates import MixedZonesError, Times, is_time, time_numbers, why_no_time
from pateval.time.timelines import Recording, steps_marked
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, binary_array, finite_array, scores_with_gaps
from pateval.validation.wording import InputError, InputTypeError, counted, in_words

if TYPE_CHECKING:
    from pateval.io.layout import Layout
    from pateval.io.units import Unit

_MOST_CLASSES = 20  # more distinct values than this are numbers, not classes
_LONGEST_CLASS = 30  # characters
_UNLABELLED = ": fill it in, or leave such steps out with --ignore COLUMN (ignore=...)"
_REMEDY = (
    ": leave such steps out with --missing ignore, or count them as never predicted with --missing normal (missing=...)"
)


@dataclass(frozen=True)
class ScoredSeries:
    """Labels and scores of one detector on one series, as they stand in the table.

    The columns are raw: `checked`, `times` and `ignore` are what metrics want. Labels are empty where they stand in a
    file of events, and scores where labels alone were read; both have a column per channel where there are several.
    ``first_row`` counts from 0, without the header; ``rows`` has the numbers of all rows where they do not simply
    follow the first.
    """

    unit: Unit
    layout: Layout = field(repr=False)
    where: str
    first_row: int
    labels: Column = field(repr=False)
    scores: Column = field(repr=False)
    time_values: Column | None = field(default=None, repr=False)
    ignore_values: Column | None = field(default=None, repr=False)
    rows: IntArray | None = field(default=None, repr=False)

    @property
    def detector(self) -> str:
        """Name of the detector."""
        return self.unit.detector

    @property
    def series(self) -> str:
        """Name of the series."""
        return self.unit.series

    @property
    def run(self) -> str:
        """Name of the run, empty where there is no column of runs."""
        return self.unit.run

    @property
    def title(self) -> str:
        """Name of the detector, with its run where there are several."""
        return f"{self.detector}, run {self.run}" if self.run else self.detector

    def checked(self, *, allow_missing: bool = False) -> tuple[BoolArray, FloatArray]:
        """Return the labels as booleans and the scores as floats; what is wrong with them names file, column, series.

        Where scores may be missing, they are NaN there; otherwise that is an error, except at steps that are ignored.
        """
        labels, channels = self.checked_labels(), self.labels.ndim == 2
        try:
            if self.ignore is None and not allow_missing:
                return labels, finite_array(self.scores, "scores", channels=channels)
            scores = scores_with_gaps(self.scores, channels=channels)
            if not allow_missing:
                finite_array(np.where(self._ignored, 0, scores), "scores", channels=channels)
            return labels, scores
        except (TypeError, ValueError) as error:
            column = ", ".join(self.layout.scores) if self.layout.channels else self.unit.score
            raise self._bad(column, error, {"missing": _REMEDY}) from error

    def recording(self, *, missing: str = "error", max_gap: str | None = None, needs_times: str = "") -> Recording:
        """Check the series, and find the steps that count; on its clock, where the unit of its times is known.

        The options are those of `pateval.evaluate`; what is given as a duration, in words, needs times.
        """
        labels, scores = self.checked(allow_missing=missing != "error")
        start = np.zeros(1, dtype=np.intp)
        clock = None
        if self.times is not None and self.time_unit is not None:
            clock = read_clock(self.times, len(labels), start, self.time_unit)
        elif needs_times:
            self.require_times(needs_times)
        ignore = self.ignore if self.ignore is not None and self.ignore.any() else None
        absent = None
        if missing != "error":
            absent = steps_marked(np.isnan(scores))
            absent = absent if ignore is None else absent & ~ignore
            absent = absent if absent.any() else None
        return Recording(labels, scores, None, start, clock, max_gap, ignore, absent, missing)

    def require_times(self, needs_times: str) -> None:
        """Refuse a series whose steps cannot be measured in time, where something is given as a duration."""
        if self.layout.time is None:
            raise without_times(self.where, needs_times)
        if self.time_unit is None:
            raise TableError(
                f"{self.where}: column {self.layout.time!r}: {needs_times} needs the unit of times that are numbers; "
                f"give it with --time-unit (time_unit='s')"
            )

    def checked_labels(self) -> BoolArray:
        """Return the labels as booleans, whatever the scores are; raises as `checked` does.

        Steps that are ignored need no label; theirs is False.
        """
        times = self.times  # a series out of order is refused, whatever is asked of it
        if self.layout.events is not None:
            return self.layout.events.labels(self.series, self.unit.steps, times)
        labels, channels = self.labels, self.labels.ndim == 2
        # Words and classes are not read where there are several channels.
        if labels.dtype.kind in "OUT" and not channels:
            # What is neither a word nor a number stays what it is, and is refused below.
            absent = without_label(labels)
            known = labels[~absent]
            words = mark_positive(known, self.layout.positive) if self.layout.positive else from_words(known)
            if words is not None:
                labels = labels.astype(object)
                labels[~absent], labels[absent] = words, None
        elif self.layout.positive and not channels:
            labels = mark_positive(labels, self.layout.positive)
        if self.ignore is not None:
            labels = np.where(self._ignored & (labels != 1), 0, labels)  # a known label counts an event as left out
        other = self.scores if self.scores.size and not channels else None
        try:
            return binary_array(labels, "labels", other=other, channels=channels)
        except (TypeError, ValueError) as error:
            column = ", ".join(self.layout.channels) or self.layout.label
            raise self._bad(column, error, self._advice_on_labels()) from error

    def _advice_on_labels(self) -> dict[str, str | None]:
        """What to do about labels that are not 0 and 1, by the kind of what is wrong with them; "" is any other."""
        labels = classes(self.labels) if self.labels.ndim == 1 else []
        are_classes = not self.layout.positive and 2 <= len(labels) <= _MOST_CLASSES and set(labels) != {"0", "1"}
        are_classes = are_classes and max(map(len, labels)) <= _LONGEST_CLASS
        of_classes = f"; {remedy(labels)}" if are_classes else None
        return {"swapped": None, "missing": _UNLABELLED, "signs": of_classes or "", "": of_classes}

    def label_classes(self) -> Column:
        """The class of each step: its label, where some of them mean an anomaly, or the kind of the event it is in."""
        if self.layout.events is not None:
            return self.layout.events.classes(self.series, self.unit.steps, self.times)
        if not self.layout.positive or self.labels.ndim == 2:
            raise TableError(
                f"{self.where}: labels have no classes to tell events apart by; say which of them mean an anomaly with "
                "--positive (positive=...)"
            )
        return self.labels

    @cached_property
    def times(self) -> Times | None:
        """When each step was recorded: integers of nanoseconds for dates, numbers as they stand; None without a clock.

        The first row that holds neither, or where they do not increase, is refused.
        """
        if self._clock is None:
            return None
        times = self._clock[0]
        wrong = np.flatnonzero(~(np.diff(times) > 0))
        if wrong.size:
            raise self._unordered(times, wrong)
        return times

    @property
    def time_unit(self) -> str | None:
        """What one unit of `times` is, as ``time_unit=`` wants it; None where that is not known."""
        return "ns" if self.has_dates else self.layout.time_unit

    @property
    def nanoseconds(self) -> Times | None:
        """`times` in nanoseconds; None where there are none, or their unit is not known."""
        if self.times is None or self.time_unit is None:
            return None
        return self.times * unit_nanoseconds(self.time_unit, "the unit of times")

    @property
    def has_dates(self) -> bool:
        """Whether `times` count nanoseconds since 1970."""
        return self._clock is not None and self._clock[1]

    @cached_property
    def ignore(self) -> BoolArray | None:
        """The steps to leave out; None where no column says so, and no intervals do."""
        if self.layout.ignored is not None:
            return self.layout.ignored.ignored(self.series, self.unit.steps, self.times)
        if self.ignore_values is None:
            return None
        try:
            return binary_array(self.ignore_values, "the steps to ignore")
        except (TypeError, ValueError) as error:
            raise self._bad(self.layout.ignore, error) from error

    @property
    def _ignored(self) -> BoolArray:
        """`ignore` as it is held against the columns: for all channels of a step."""
        ignored = np.zeros(self.unit.steps, dtype=np.bool_) if self.ignore is None else self.ignore
        return ignored if self.labels.ndim == 1 else ignored[:, None]

    def sorted_by_time(self) -> ScoredSeries:
        """Return the series with its rows in order of time; rows of equal times keep theirs.

        Times that cannot be read stay as they are, so that `checked` says what is wrong with them.
        """
        try:
            clock = self._clock
        except TableError:
            return self
        if clock is None:
            return self
        order = np.argsort(clock[0], kind="stable")
        columns = {name: getattr(self, name) for name in ("labels", "scores", "time_values", "ignore_values")}
        moved: Any = {name: one if one is None or not one.size else one[order] for name, one in columns.items()}
        rows = order + self.first_row if self.rows is None else self.rows[order]
        return replace(self, rows=rows.astype(np.intp), **moved)

    def row(self, index: int) -> int:
        """Return the number of a step's row in the file, counted from 1 without the header."""
        return (self.first_row + index if self.rows is None else int(self.rows[index])) + 1

    @cached_property
    def _clock(self) -> tuple[Times, bool] | None:
        """The times as numbers, in the order of the rows, and whether they are dates."""
        values = self.time_values
        if values is None:
            return None
        where, absent = self._place(self.layout.time), missing_places(values)
        if absent.size:
            raise TableError(
                f"{where}: the time in row {self.row(int(absent[0]))} is missing ({counted(absent.size, 'such row')}); "
                "fill it in, or read without times by --time none"
            )
        try:
            times, unit = time_numbers(values, zone=self.layout.time_zone)
        except MixedZonesError as error:
            raise TableError(f"{where}: {error.in_rows(self.row)}") from error
        except (TypeError, ValueError):
            place = next((place for place, value in enumerate(values) if not is_time(value)), None)
            if place is None:
                raise TableError(
                    f"{where}: some times are dates, and others numbers; write all of them alike"
                ) from None
            raise TableError(
                f"{where}: the value in row {self.row(place)}, {in_words(str(values[place]))}, "
                f"{why_no_time(values[place])}; correct it, or read without times by --time none"
            ) from None
        if self.layout.time_zone is None:
            for intervals in (self.layout.events, self.layout.ignored):
                if intervals is not None:
                    intervals.require_zone_of(values, where)
        return times, unit is not None

    def _unordered(self, times: Times, wrong: IntArray) -> TableError:
        """Say where times do not increase, and what to do about it."""
        place = int(wrong[0])
        what = "is the same as" if times[place + 1] == times[place] else "lies before"
        again = times.size - np.unique(times).size
        ways = ["sort the rows with --sort (sort=True)"] if (times[wrong + 1] < times[wrong]).any() else []
        if again:
            ways.append(f"leave out all but one of the rows with the same time ({again} too many)")
        remedy = " and ".join(ways)
        if self.layout.series is None:
            remedy += ", name the column that tells series apart with --series"
        remedy += ", or read without times by --time none"
        return TableError(
            f"{self._place(self.layout.time)}: the time in row {self.row(place + 1)}, {self._time(place + 1)}, {what} "
            f"the one in row {self.row(place)}, {self._time(place)} ({counted(wrong.size, 'such place')}); {remedy}"
        )

    def _time(self, place: int) -> str:
        value = str(np.asarray(self.time_values)[place])
        return re.sub(r"\.0+$", "", value.replace("T", " ")) if self.has_dates else value

    def _place(self, column: str | None) -> str:
        of_series = "" if self.layout.series is None else f", series {self.series!r}"
        return f"{self.where}: column {column!r}{of_series}"

    def _bad(self, column: str | None, error: Exception, advice: Mapping[str, str | None] | None = None) -> TableError:
        """Say what is wrong with a column, by rows of the file instead of steps, and with advice by its kind."""
        text = str(error)
        if isinstance(error, (InputError, InputTypeError)):
            place = None
            if error.step is not None:
                of_channel = "" if error.channel is None else f", channel {error.channel}"
                place = f"in row {self.row(error.step)}{of_channel}"
            text = error.sentence(place=place, remedy=(advice or {}).get(error.kind))
        return TableError(f"{self._place(column)}: {text}")


@dataclass(frozen=True)
class LabelledSeries:
    """The labels of some series, without scores; ``needs_times`` says in words what is given as a duration."""

    items: tuple[ScoredSeries, ...]
    notes: tuple[str, ...]
    needs_times: str = ""

    @property
    def steps(self) -> dict[str, Any]:
        """Labels of all series, which series each step belongs to, which count and when they were."""
        labels = [item.checked_labels() for item in self.items]
        sizes, masks = [truth.size for truth in labels], [item.ignore for item in self.items]
        steps = {"labels": np.concatenate(labels), "series": np.repeat(np.arange(len(sizes)), sizes)}
        if any(mask is not None for mask in masks):
            nothing = [np.zeros(size, np.bool_) for size in sizes]
            pairs = zip(masks, nothing, strict=True)
            steps["ignore"] = np.concatenate([empty if mask is None else mask for mask, empty in pairs])
        if not self.needs_times:
            return steps
        for item in self.items:
            item.require_times(self.needs_times)
        return steps | {"times": np.concatenate([item.nanoseconds for item in self.items]), "time_unit": "ns"}
