"""Which column is what: labels, scores, series, detector, run, time. Named by the caller, or guessed and announced."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from pateval.io import guesses
from pateval.io.channels import channel_columns
from pateval.io.column_values import check_labels, first_value, is_number, not_numbers
from pateval.io.event_files import EventIntervals, read_events
from pateval.io.parquet import ParquetFiles
from pateval.io.series import is_time, why_no_time
from pateval.io.source import NoScoresError, Table, TableError, missing_column
from pateval.io.step_columns import unordered_steps
from pateval.labels.classes import positive_values
from pateval.time.clocks import is_day_first, unit_nanoseconds
from pateval.validation.wording import in_words, listed

Source = Table | ParquetFiles

NO_TIME = "none"


class ColumnNames(TypedDict, total=False):
    """What a caller says about the columns of a table; see `find_layout`."""

    label: str | None
    score: str | Sequence[str] | None
    series: str | None
    detector: str | None
    run: str | None
    time: str | None
    time_unit: str | None
    ignore: str | None
    sort: bool
    positive: object
    events: object
    closed_events: bool


@dataclass(frozen=True)
class Layout:
    """Which column of one table holds what.

    Attributes
    ----------
    label : str or None
        The truth; None where it stands in a file of its own.
    scores : tuple of str
        One column per detector (wide), or a single one; none where the table is read for its labels alone.
    series, detector : str or None
        Columns that tell series and detectors apart, where there are any.
    named_by_file : bool
        The detector is named by the file's stem, not by its score column.
    guessed : str
        The guesses in a few words, for example ``"label 'y_true', score 'score'"``; empty where all was named.
    notes : tuple of str
        Lines worth showing to a user, among them the guesses with the file's name.
    time, time_unit : str or None
        Column that says when each step was recorded, and what one unit of it is where it holds numbers.
    time_guessed : bool
        The time column was found by its name: it checks the order of rows and gives durations a meaning, no more.
    ignore : str or None
        Column of 0/1 that marks steps to leave out.
    sort : bool
        Rows of a series are put in order of time.
    run : str or None
        Column that tells the runs of a detector apart, with other seeds for example.
    positive : tuple of str
        Labels that mean an anomaly; none where the labels are 0 and 1, or words that say so themselves.
    events : EventIntervals or None
        The truth, where it is not a column.
    channels : tuple of str
        Columns of labels, one for each channel, in the order of the score columns; none where a step has one label.
    """

    label: str | None
    scores: tuple[str, ...]
    series: str | None
    detector: str | None
    named_by_file: bool
    guessed: str = ""
    notes: tuple[str, ...] = ()
    time: str | None = None
    time_unit: str | None = None
    time_guessed: bool = False
    ignore: str | None = None
    sort: bool = False
    run: str | None = None
    positive: tuple[str, ...] = ()
    events: EventIntervals | None = None
    channels: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that split rows into series, detectors and runs."""
        return tuple(name for name in (self.series, self.detector, self.run) if name is not None)


def find_layout(
    source: Source,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    series: str | None = None,
    detector: str | None = None,
    run: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    ignore: str | None = None,
    sort: bool = False,
    positive: object = None,
    events: object = None,
    closed_events: bool = False,
    labels_only: bool = False,
    allow_channels: bool = False,
) -> Layout:
    """Decide which column holds what; what is not named is guessed by name, never by value.

    Scores are guessed as a column called ``score``, ``anomaly_score`` and the like; failing that, as all columns with
    "score" in their names; failing that, every column of numbers without another role, and not called like something
    measured, is taken as one detector's scores (a wide table). Between columns that are as likely as each other
    nothing is guessed.

    Parameters
    ----------
    source : Table or ParquetFiles
        What `open_table` or `as_table` gave.
    label, series, detector, run : str, optional
        Column names. Labels of several channels are named with commas between them, and the scores likewise.
    score : str or sequence of str, optional
        One score column, whose detector is named by the file, or several, each named by its column.
    time : str, optional
        Column that says when each step was recorded; "none" where no column is to be taken for it.
    time_unit : str, optional
        What one unit of the times is, where they are numbers: "s", "ms", "min" and so on.
    ignore : str, optional
        Column of 0/1 that marks steps to leave out; never guessed.
    sort : bool
        Put the rows of each series in order of time. Otherwise rows out of order are an error when they are read.
    positive : label or sequence of labels, optional
        The labels that mean an anomaly, where labels are words or classes.
    events : path, table or EventIntervals, optional
        The anomalies in a table of their own, with columns of start and stop (and of series where there are several).
        Dates are times; numbers are step numbers from 0, or times where a column of numeric times is named.
    closed_events : bool
        Whether the stop of an event belongs to it.
    labels_only : bool
        The scores, if there are any, are of no interest.
    allow_channels : bool
        Whether the caller can do with labels of several channels; otherwise they are refused.

    Returns
    -------
    Layout

    Raises
    ------
    TableError
        If a column is missing, holds text where numbers are needed, or nothing can be guessed.

    Examples
    --------
    >>> from pateval.io import as_table
    >>> layout = find_layout(as_table({"machine": ["a", "a"], "y_true": [0, 1], "score": [0.1, 0.7]}))
    >>> layout.label, layout.scores, layout.series
    ('y_true', ('score',), 'machine')
    >>> layout.notes
    ("the table: guessed label 'y_true', score 'score', series 'machine'",)
    """
    kinds = source.kinds()
    wanted = None if score is None else [score] if isinstance(score, str) else list(score)
    if wanted is not None and not wanted:
        raise TableError(f"{source.where}: at least one score column must be named")
    if label is not None and events is not None:
        raise TableError(f"{source.where}: labels stand in a column or in a file of events; name one of the two")
    named = _Named(source, kinds)
    channels = _named_channels(label, kinds)
    if not channels and label is None and events is None and not guesses.equals(kinds, guesses.LABELS):
        channels, of_scores = channel_columns(kinds)
        if channels:
            wanted = of_scores if wanted is None else wanted
            named.guesses.append(f"labels of {len(channels)} channels {listed(channels, 6)} with {listed(wanted, 6)}")
    if channels:
        label = None
        wanted = _check_channels(source, kinds, channels, wanted, allowed=allow_channels)
        for column in channels:
            named.take("label", column)
    named.take("label", label)
    for column in wanted or ():
        named.take("score", column)
    named.take("series", series)
    named.take("detector", detector)
    named.take("run", run)
    named.take("time", None if time == NO_TIME and NO_TIME not in kinds else time)
    named.take("steps to ignore", ignore)
    if time_unit is not None:
        unit_nanoseconds(time_unit, "time_unit")

    if label is None and events is None and not channels:
        label = named.guess("label", guesses.LABELS)
        if label is None:
            raise TableError(
                f"{source.where}: no column looks like labels; name it (label=..., --label) among "
                f"{listed(named.left(), 20)}"
            )
    place_of_scores = len(named.guesses)
    by_file = isinstance(score, str) or bool(channels) or (wanted is not None and len(wanted) == 1)
    if wanted is None and not labels_only:
        single = named.guess("score", guesses.SCORES)
        wanted, by_file = ([single], True) if single else (None, False)
    if series is None:
        series = named.guess("series", guesses.SERIES) or named.guess("series", (("id",),), kind="text")
    if detector is None:
        detector = named.guess("detector", guesses.DETECTORS, kind="text")
    if run is None:
        run = named.guess("run", guesses.RUNS)
    notes = list(source.notes)
    time_guessed = False
    if time is None:
        time, refused = _guess_time(source, named)
        notes += refused if time is not None else [*refused, *unordered_steps(source, named.roles)]
        time_guessed = time is not None
    elif time == NO_TIME and NO_TIME not in kinds:
        time = None
    if time is not None and is_day_first(first_value(source, time)):
        notes.append(f"{source.where}: dates in {time!r} are taken as day.month.year")
    if sort and time is None:
        raise TableError(f"{source.where}: no column looks like times to sort the rows by; name it with --time")
    if labels_only:
        wanted = []
    elif wanted is None:
        wanted = _guess_scores(source, named)
        by_file = len(wanted) == 1 and wanted[0].isdigit()  # the only column of an array has no name of its own
        named.guesses.insert(place_of_scores, f"score{'s' if len(wanted) > 1 else ''} {listed(wanted, 6)}")
    for column in wanted:
        if kinds[column] != "number":
            raise not_numbers(source, column, kinds[column])
    chosen = positive_values(positive)
    if label is not None:
        check_labels(source, label, kinds[label], chosen)
    guessed = ", ".join(named.guesses)
    if guessed:
        notes.insert(len(source.notes), f"{source.where}: guessed {guessed}")
    if sort:
        notes.append(f"{source.where}: the rows of each series are sorted by {time!r}")
    layout = Layout(
        label,
        tuple(wanted),
        series,
        detector,
        by_file and source.name is not None,
        guessed,
        tuple(notes),
        time=time,
        time_unit=time_unit,
        time_guessed=time_guessed,
        ignore=ignore,
        sort=sort,
        run=run,
        positive=chosen,
        channels=tuple(channels),
    )
    return layout if events is None else _with_events(source, layout, events, closed_events)


def _named_channels(label: str | None, kinds: dict[str, str]) -> list[str]:
    """Split names with commas between them, where they are columns of labels."""
    if label is None or label in kinds or "," not in label:
        return []
    return [name.strip() for name in label.split(",") if name.strip()]


def _check_channels(
    source: Source, kinds: dict[str, str], labels: Sequence[str], scores: Sequence[str] | None, *, allowed: bool
) -> list[str]:
    """Return the score columns of labels of several channels; refuse where these do not belong together."""
    if not allowed:
        raise TableError(
            f"{source.where}: labels of several channels are read by 'pateval score'; name one with --label"
        )
    if scores is None:
        of_labels, of_scores = channel_columns(kinds)
        scores = [of_scores[of_labels.index(label)] for label in labels if label in of_labels]
    if len(scores) != len(labels):
        raise TableError(
            f"{source.where}: {len(labels)} channels have labels and {len(scores)} have scores; name them in the same "
            f"order with --label and --score"
        )
    return list(scores)


class _Named:
    """The columns that have a role so far, and the guesses among them."""

    def __init__(self, source: Source, kinds: dict[str, str]) -> None:
        self._where = source.where
        self.kinds = kinds
        self.roles: dict[str, str] = {}
        self.guesses: list[str] = []

    def take(self, role: str, name: str | None) -> None:
        """Give a column the role that the caller names it for."""
        if name is None:
            return
        if name not in self.kinds:
            raise missing_column(self._where, name, self.kinds, role if role != "steps to ignore" else "ignore")
        if name in self.roles:
            raise TableError(f"{self._where}: column {name!r} is named twice, as {self.roles[name]} and as {role}")
        self.roles[name] = role

    def left(self) -> list[str]:
        """The columns without a role."""
        return [name for name in self.kinds if name not in self.roles]

    def guess(self, role: str, tiers: tuple[tuple[str, ...], ...], *, kind: str | None = None) -> str | None:
        """Give the one column that is called like it a role; several of them are refused."""
        found = guesses.equals((name for name in self.left() if kind in (None, self.kinds[name])), tiers)
        if len(found) > 1:
            which = f"{listed(found[:-1], 6)} and {found[-1]!r}"
            raise TableError(f"{self._where}: {which} look like the {role}; name one ({role}=..., --{role})")
        if not found:
            return None
        self.roles[found[0]] = role
        self.guesses.append(f"{role} {found[0]!r}")
        return found[0]


def _guess_time(source: Source, named: _Named) -> tuple[str | None, list[str]]:
    """Return the one column that is called like times and holds dates or numbers, and a line where there is none."""
    names = [name for name in named.left() if guesses.is_time(name)]
    usable = []
    for name in names:
        value = first_value(source, name)
        if is_time(value):
            usable.append(name)
        elif len(names) == 1:
            why = f"{in_words(str(value))} {why_no_time(value)}"
            return None, [f"{source.where}: column {name!r} is not used as time: {why}"]
    if len(usable) > 1:
        return None, [f"{source.where}: {listed(usable, 6)} look like times, and none is used; name one with --time"]
    if not usable:
        return None, []
    named.roles[usable[0]] = "time"
    named.guesses.append(f"time {usable[0]!r}")
    return usable[0], []


def _guess_scores(source: Source, named: _Named) -> list[str]:
    """Return the columns with "score" in their names, or else all that may be a detector's scores."""
    left = [name for name in named.left() if _may_be_score(source, name, named.kinds[name])]
    found = [name for name in left if guesses.is_score(name)] or [name for name in left if not guesses.is_value(name)]
    if found:
        return found
    predictions = [name for name in named.left() if guesses.plain(name) in guesses.PREDICTIONS]
    hint = f"; 0/1 predictions are read with --score {predictions[0]} --threshold 1" if predictions else ""
    if not hint and named.left() and all(guesses.is_value(name) for name in named.left()):
        hint = "; scores of values are made by 'pateval detect', as in 'pateval detect pca --data FILE -o scores'"
    raise NoScoresError(
        f"{source.where}: no column looks like scores; name it (score=..., --score) among "
        f"{listed(named.left(), 20)}{hint}"
    )


def _may_be_score(source: Source, name: str, kind: str) -> bool:
    if any(test(name) for test in (guesses.is_time, guesses.is_step, guesses.is_prediction, guesses.is_label)):
        return False
    if kind == "text" and isinstance(source, Table):
        # Scores with a word among them are a damaged score column, not a column to pass over in silence.
        values = source.columns[name][:1000]
        return sum(is_number(value) for value in values) > len(values) / 2
    return kind == "number"


def _with_events(source: Source, layout: Layout, events: object, closed: bool) -> Layout:
    """Add the anomalies that stand in a table of their own, and check that they fit the data."""
    from pateval.io.files import read_table
    from pateval.io.frames import as_table
    from pateval.io.units import list_units

    if not isinstance(events, EventIntervals):
        given = as_table(events, name=None if isinstance(events, (str, os.PathLike)) else "the events")
        table = given if isinstance(given, Table) else read_table(given.where)
        events = read_events(table, closed=closed, series=layout.series)
    has_dates = layout.time is not None and not isinstance(first_value(source, layout.time), (int, float, np.number))
    if events.has_dates and not has_dates:
        raise TableError(
            f"{events.where}: events are given as dates, and {source.where} has no column of dates; name it with --time"
        )
    if not events.has_dates and layout.time is not None and not has_dates:
        if layout.time_guessed:
            raise TableError(
                f"{events.where}: events are numbers: say --time none if they count steps, or --time {layout.time} if "
                f"they are times"
            )
        events = replace(events, in_time=True)
    known = {unit.series for unit in list_units(source, layout)}
    named = events.series
    if not named and len(known) > 1:
        raise TableError(
            f"{events.where}: no column names the series of an event, and {source.where} has {len(known)}; "
            "add one called 'series'"
        )
    if named and not named & known and layout.series is None:
        raise TableError(
            f"{events.where}: events are of series {listed(sorted(named), 6)}, and {source.where} has no column of "
            "series; name it with --series, or leave the column out of the events"
        )
    if named and not named & known:
        raise TableError(
            f"{events.where}: its series ({listed(sorted(named), 6)}) are none of {source.where} "
            f"({listed(sorted(known), 6)}); name them alike"
        )
    notes = [*layout.notes, *events.notes, events.describe()]
    if unused := guesses.equals((name for name in source.kinds() if name not in layout.scores), guesses.LABELS):
        notes.append(f"{source.where}: column {unused[0]!r} is not used: the events say what is an anomaly")
    if missing := sorted(named - known):
        notes.append(
            f"{events.where}: {listed(missing, 6)} {'are' if len(missing) > 1 else 'is'} not in {source.where}"
        )
    return replace(layout, events=events, notes=tuple(notes))
