"""Labels and scores of one detector on one series, as read from a table and checked for the metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pateval.io.event_files import EventIntervals
from pateval.io.source import Column, TableError, is_missing
from pateval.labels.classes import classes, from_words, mark_positive, remedy, without_label
from pateval.time.clocks import FIRST_YEAR, LAST_YEAR, Times, time_numbers, unit_nanoseconds
from pateval.validation.arrays import (
    SIGNED_LABELS,
    BoolArray,
    FloatArray,
    IntArray,
    binary_array,
    exact_array,
    finite_array,
    scores_with_gaps,
)
from pateval.validation.containers import MISSING_LABELS
from pateval.validation.wording import in_words

_MOST_CLASSES = 20  # more distinct values than this are numbers, not classes


def is_time(value: object) -> bool:
    """Whether a value is a date, a date written as ISO 8601 has it, or a finite number."""
    try:
        time_numbers(np.array([value]))
    except (TypeError, ValueError):
        return False
    return True


def why_no_time(value: object) -> str:
    """Say why a value is no time.

    Examples
    --------
    >>> why_no_time("31/01/2024")
    'is neither a date such as 2024-01-31T12:00:00 nor a number'
    >>> why_no_time("9999-12-31")
    'lies outside the years 1678 to 2261'
    """
    year = re.match(r"(\d{4,})-\d\d-\d\d", str(value))
    if year and not FIRST_YEAR <= int(year[1]) <= LAST_YEAR:
        return f"lies outside the years {FIRST_YEAR} to {LAST_YEAR}"
    return "is neither a date such as 2024-01-31T12:00:00 nor a number"


_UNLABELLED = ": fill it in, or leave such steps out with --ignore COLUMN (ignore=...)"
_REMEDY = (
    ": leave such steps out with --missing ignore, or count them as never predicted with --missing normal (missing=...)"
)


@dataclass(frozen=True)
class ScoredSeries:
    """Labels and scores of one detector on one series, as they stand in the table.

    Attributes
    ----------
    detector, series : str
        Names.
    labels, scores : ndarray
        The raw columns; `checked` is what metrics want.
    where : str
        The file, for messages.
    label_column, score_column : str
        Where labels and scores stand.
    time_column, ignore_column : str or None
        Where times and the steps to leave out stand, where there are any.
    time_values, ignore_values : ndarray or None
        The raw columns; `times` and `ignore` are what metrics want.
    unit_of_numbers : str or None
        What one unit of the times is where they are numbers, such as "s".
    first_row : int
        Number of the first row in the file, counted from 0, without the header.
    rows : ndarray of int or None
        The numbers of all rows, where they do not simply follow the first.
    steps : int
        How many rows there are.
    has_series_column : bool
        Whether a column tells series apart.
    positive : tuple of str
        Labels that mean an anomaly, where labels are classes.
    events : EventIntervals or None
        The anomalies, where they do not stand in a column; the labels are then empty.
    run : str
        The run, empty where there is no column of runs.
    """

    detector: str
    series: str
    labels: Column = field(repr=False)
    scores: Column = field(repr=False)
    where: str = ""
    label_column: str = "label"
    score_column: str = "score"
    time_column: str | None = None
    time_values: Column | None = field(default=None, repr=False)
    ignore_column: str | None = None
    ignore_values: Column | None = field(default=None, repr=False)
    unit_of_numbers: str | None = None
    first_row: int = 0
    rows: IntArray | None = field(default=None, repr=False)
    steps: int = 0
    has_series_column: bool = False
    positive: tuple[str, ...] = ()
    events: EventIntervals | None = field(default=None, repr=False)
    run: str = ""

    @property
    def title(self) -> str:
        """Name of the detector, with its run where there are several."""
        return f"{self.detector}, run {self.run}" if self.run else self.detector

    def checked(self, *, allow_missing: bool = False) -> tuple[BoolArray, FloatArray]:
        """Return the labels as booleans and the scores as floats, or integers where floats cannot tell these apart.

        Parameters
        ----------
        allow_missing : bool
            Return NaN where a score is missing; otherwise that is an error, except at steps that are ignored.

        Raises
        ------
        TableError
            If labels are not 0/1, scores not finite numbers, or times not increasing; the message names file, column
            and series.
        """
        if self.labels.ndim == 2:
            return self._checked_channels(allow_missing=allow_missing)
        labels = self.checked_labels()
        ignored = self.ignore
        try:
            if allow_missing:
                return labels, scores_with_gaps(self.scores)
            if ignored is None:
                return labels, exact_array(self.scores, "scores")
            scores = scores_with_gaps(self.scores)
            finite_array(np.where(ignored, 0, scores), "scores")
            return labels, scores
        except (TypeError, ValueError) as error:
            raise self._bad_scores(error) from error

    def _bad_scores(self, error: Exception) -> TableError:
        """Say what is wrong with the scores, and what to do where it is a missing one."""
        found, _, _ = str(error).partition(": pass missing=")
        is_missing_one = "found NaN" in found or "no missing values" in found
        return self._bad(self.score_column, found + _REMEDY if is_missing_one else error)

    def _checked_channels(self, *, allow_missing: bool) -> tuple[BoolArray, FloatArray]:
        """Return labels and scores of steps by channels."""
        _ = self.times
        ignored = None if self.ignore is None else self.ignore[:, None]
        labels = self.labels if ignored is None else np.where(ignored & (self.labels != 1), 0, self.labels)
        try:
            checked = binary_array(labels, "labels", channels=True)
        except (TypeError, ValueError) as error:
            raise self._bad(self.label_column, error) from error
        try:
            if ignored is None and not allow_missing:
                return checked, finite_array(self.scores, "scores", channels=True)
            scores = scores_with_gaps(self.scores, channels=True)
            if ignored is not None and not allow_missing:
                finite_array(np.where(ignored, 0, scores), "scores", channels=True)
            return checked, scores
        except (TypeError, ValueError) as error:
            raise self._bad_scores(error) from error

    def checked_labels(self) -> BoolArray:
        """Return the labels as booleans, whatever the scores are; raises as `checked` does.

        Steps that are ignored need no label; theirs is False.
        """
        times = self.times  # a series out of order is refused, whatever is asked of it
        if self.events is not None:
            return self.events.labels(self.series, self.steps, times)
        labels, ignored = self.labels, self.ignore
        if labels.dtype.kind in "OUT":
            # Words; what is neither a word nor a number stays what it is, and is refused below.
            read = (lambda values: mark_positive(values, self.positive)) if self.positive else from_words
            absent = without_label(labels)
            words = read(labels[~absent])
            if words is not None:
                labels = labels.astype(object)
                labels[~absent], labels[absent] = words, None
        elif self.positive:
            labels = mark_positive(labels, self.positive)
        if ignored is not None:
            labels = np.where(ignored & (labels != 1), 0, labels)  # a label that is known counts an event as left out
        try:
            return binary_array(labels, "labels", other=self.scores if self.scores.size else None)
        except (TypeError, ValueError) as error:
            found = classes(self.labels)
            are_classes = not self.positive and 2 <= len(found) <= _MOST_CLASSES and set(found) != {"0", "1"}
            hint = f"; {remedy(found)}" if are_classes and "swapped" not in str(error) else ""
            found_wrong, is_missing_one, _ = str(error).partition(MISSING_LABELS)
            if is_missing_one:
                hint = _UNLABELLED
            raise self._bad(self.label_column, f"{found_wrong.removesuffix(SIGNED_LABELS)}{hint}") from error

    @cached_property
    def times(self) -> Times | None:
        """When each step was recorded: integers of nanoseconds for dates, numbers as they stand; None without a clock.

        Raises
        ------
        TableError
            If they are neither dates nor numbers, or do not increase; the message names the first such row.
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
        return "ns" if self.has_dates else self.unit_of_numbers

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
        """The steps to leave out; None where no column says so.

        Raises
        ------
        TableError
            If the column holds something else than 0/1.
        """
        if self.ignore_values is None:
            return None
        try:
            return binary_array(self.ignore_values, "the steps to ignore")
        except (TypeError, ValueError) as error:
            raise self._bad(self.ignore_column, error) from error

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
        return replace(
            self,
            labels=self.labels[order] if self.labels.size else self.labels,
            scores=self.scores[order] if self.scores.size else self.scores,
            time_values=None if self.time_values is None else self.time_values[order],
            ignore_values=None if self.ignore_values is None else self.ignore_values[order],
            rows=(self.rows[order] if self.rows is not None else order + self.first_row).astype(np.intp),
        )

    def row(self, index: int) -> int:
        """Return the number of a step's row in the file, counted from 1 without the header."""
        return (self.first_row + index if self.rows is None else int(self.rows[index])) + 1

    @cached_property
    def _clock(self) -> tuple[Times, bool] | None:
        """The times as numbers, in the order of the rows, and whether they are dates."""
        values = self.time_values
        if values is None:
            return None
        if values.dtype.kind == "O":
            absent = [place for place, value in enumerate(values.tolist()) if is_missing(value)]
        else:
            absent = np.flatnonzero(values != values).tolist()  # NaN and NaT differ from themselves
        if absent:
            raise TableError(
                f"{self._place(self.time_column)}: the time in row {self.row(absent[0])} is missing ({len(absent)} "
                f"such {'row' if len(absent) == 1 else 'rows'}); fill it in, or read without times by --time none"
            )
        try:
            times, unit = time_numbers(values)
        except (TypeError, ValueError):
            place = next((place for place, value in enumerate(values) if not is_time(value)), None)
            if place is None:
                raise TableError(
                    f"{self._place(self.time_column)}: some times are dates, and others numbers; write "
                    "all of them alike"
                ) from None
            raise TableError(
                f"{self._place(self.time_column)}: the value in row {self.row(place)}, {in_words(str(values[place]))}, "
                f"{why_no_time(values[place])}; correct it, or read without times by --time none"
            ) from None
        return times, unit is not None

    def _unordered(self, times: Times, wrong: IntArray) -> TableError:
        """Say where times do not increase, and what to do about it."""
        place = int(wrong[0])
        repeated = times[place + 1] == times[place]
        what = "is the same as" if repeated else "lies before"
        decreasing = wrong[times[wrong + 1] < times[wrong]].size
        rows = f"{wrong.size} such {'place' if wrong.size == 1 else 'places'}"
        other_series = "" if self.has_series_column else ", or name the column that tells series apart with --series"
        if decreasing:
            remedy = "sort the rows with --sort (sort=True)" + (other_series if not repeated else "")
        else:
            remedy = f"leave all but one of such rows out{other_series}, or read without times by --time none"
        return TableError(
            f"{self._place(self.time_column)}: the time in row {self.row(place + 1)}, {self._time(place + 1)}, {what} "
            f"the one in row {self.row(place)}, {self._time(place)} ({rows}); {remedy}"
        )

    def _time(self, place: int) -> str:
        value = self.time_values[place] if self.time_values is not None else ""
        return re.sub(r"\.0+$", "", str(value).replace("T", " ")) if self.has_dates else str(value)

    def _place(self, column: str | None) -> str:
        of_series = f", series {self.series!r}" if self.has_series_column else ""
        return f"{self.where}: column {column!r}{of_series}"

    def _bad(self, column: str | None, what: object) -> TableError:
        """Build an error whose step numbers are turned into rows of the file."""
        text = re.sub(r"at (?:index|step) (\d+)", lambda match: f"in row {self.row(int(match[1]))}", str(what))
        return TableError(f"{self._place(column)}: {text}")
