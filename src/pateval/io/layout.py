"""Which column is what: labels, scores, series, detector, run, time. Named by the caller, or guessed and announced."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pateval.io import guesses
from pateval.io.content import NoScoresError, TableError
from pateval.io.event_files import EventIntervals, read_events
from pateval.io.files import FILE_COLUMN, Source, as_table, read_table
from pateval.io.source import Column, Table, missing_column
from pateval.io.units import list_units
from pateval.labels.classes import positive_values
from pateval.time.clocks import unit_nanoseconds
from pateval.time.dates import ZONE_REMEDY, date_text, has_zone, is_day_first, is_time, require_zone, why_no_time
from pateval.validation.arrays import choice, flag
from pateval.validation.wording import in_words, listed

NO_TIME = "none"
LAYOUTS = ("detector/series", "series/detector")
# What columns and files of scores are called beside the name of their detector.
_AFFIXES = ("anomaly_score_", "score_", "_anomaly_score", "_score")


@dataclass(frozen=True)
class Reading:
    """How to read a table: what a caller says about its columns, and what is wanted of it."""

    label: str | None = None  # labels of several channels have commas between them, and the scores likewise
    score: str | Sequence[str] | None = None  # one, whose detector is named by the file, or one for each detector
    series: str | None = None
    detector: str | None = None
    run: str | None = None
    time: str | None = None  # "none" where no column is to be taken for it
    time_unit: str | None = None  # what one unit of times is that are numbers: "s", "ms", "min" and so on
    time_zone: str | None = None  # where dates without a time zone were recorded, in the data and in the events
    ignore: object = None  # column of 0/1 that marks steps to leave out, or a table of intervals; never guessed
    sort: bool = False  # put the rows of each series in order of time, and do not refuse them when they are read
    positive: object = None  # the label or labels that mean an anomaly, where labels are words or classes
    # The anomalies in a table of their own, with columns of start and stop (and of series where there are several).
    # Dates are times; numbers are steps from 0, or times where a column of numeric times is named.
    events: object = None
    closed_events: bool = False  # whether the stop of an event belongs to it
    layout: str | None = None  # what sub-folders and files name: one of `LAYOUTS`
    labels: str | os.PathLike[str] | None = None  # the folder where labels lie, apart from the scores
    labels_only: bool = False  # the scores, if there are any, are of no interest
    allow_channels: bool = False  # whether the caller can do with labels of several channels
    defaults: bool = False  # "label" and "score" are only where columns usually are; others are guessed without these

    def __post_init__(self) -> None:
        for role in ("label", "score", "series", "detector", "run", "time"):
            name = getattr(self, role)
            several = role == "score" and isinstance(name, Sequence) and all(isinstance(one, str) for one in name)
            if name is not None and not isinstance(name, str) and not several:
                wanted = "the name of a column" + (", or a list of names" if role == "score" else "")
                raise TypeError(f"{role} must be {wanted}; got {in_words(name)}")
        if self.layout is not None:
            choice(self.layout, "layout", LAYOUTS)
        if self.time_zone is not None:
            require_zone(self.time_zone)
        flag(self.sort, "sort")
        flag(self.closed_events, "closed_events")

    @property
    def ignored_column(self) -> str | None:
        """The column that marks steps to ignore; a name that is a file's is that of a table of intervals."""
        return self.ignore if isinstance(self.ignore, str) and not os.path.isfile(self.ignore) else None


@dataclass(frozen=True)
class Layout:
    """Which column of one table holds what.

    There is a score column per detector (wide), or a single one; none where the table is read for its labels alone.
    The label is None where the events stand in a file of their own, or each channel has labels; the channels are in the
    order of the score columns. What was guessed is said in a few words, such as ``"label 'y_true', score 'score'"``,
    and again in the notes, with the file's name. A time column that was guessed checks the order of rows and gives
    durations a meaning, no more.
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
    time_zone: str | None = None
    ignored: EventIntervals | None = None
    folder_layout: str = ""  # what sub-folders and files name, where a whole folder was read
    labels_folder: str | None = None  # where its labels lie
    values: tuple[str, ...] = ()  # what was measured, called like that and without another role
    one_liners: bool = False  # the scores are `pateval.rules.ONE_LINERS` of these values, and no columns
    affix: str = ""  # what the columns or files of all detectors begin or end with, and detectors are named without

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that split rows into series, detectors and runs."""
        return tuple(name for name in (self.series, self.detector, self.run) if name is not None)

    def detector_name(self, name: str) -> str:
        """Name the detector of a column or file of scores."""
        return name.removeprefix(self.affix) if self.affix.endswith("_") else name.removesuffix(self.affix)


def common_affix(names: Sequence[str]) -> str:
    """Find what all names begin or end with that says no more than that they are scores; the rest must hold a letter.

    >>> common_affix(["score_lstm", "score_pca"]), common_affix(["lstm_score"]), common_affix(["score_lstm", "pca"])
    ('score_', '_score', '')
    """

    def is_part(affix: str, name: str) -> bool:
        is_there = name.startswith(affix) if affix.endswith("_") else name.endswith(affix)
        return is_there and any(map(str.isalpha, name.replace(affix, "", 1)))

    return next((affix for affix in _AFFIXES if names and all(is_part(affix, name) for name in names)), "")


def find_layout(source: Source, reading: Reading | None = None) -> Layout:
    """Decide which column holds what; what is not named is guessed by name, never by value.

    Scores are guessed as a column called ``score``, ``anomaly_score`` and the like; failing that, as all columns with
    "score" in their names; failing that, every column of numbers without another role, and not called like something
    measured, is taken as one detector's scores (a wide table). Between columns that are as likely as each other
    nothing is guessed. A column that is missing, or holds text where numbers are needed, is a TableError.

    Examples
    --------
    >>> from pateval.io import as_table
    >>> layout = find_layout(as_table({"machine": ["a", "a"], "y_true": [0, 1], "score": [0.1, 0.7]}))
    >>> layout.label, layout.scores, layout.series
    ('y_true', ('score',), 'machine')
    >>> layout.notes
    ("the table: guessed label 'y_true', score 'score', series 'machine'",)
    """
    reading = reading or Reading()
    if reading.label is not None and reading.events is not None:
        raise TableError(f"{source.where}: labels stand in a column or in a file of events; name one of the two")
    if reading.time_unit is not None:
        unit_nanoseconds(reading.time_unit, "time_unit")
    roles = _Roles(source)
    channels, scores = _find_channels(roles, reading)
    is_without_time = reading.time == NO_TIME and NO_TIME not in roles.kinds
    named = [("label", name) for name in channels or (reading.label,)]
    named += [("score", name) for name in scores or ()]
    named += [(role, getattr(reading, role)) for role in ("series", "detector", "run")]
    named += [("time", None if is_without_time else reading.time), ("steps to ignore", reading.ignored_column)]
    for role, name in named:
        roles.take(role, name)
    label = _find_label(roles, reading, channels)
    if scores is None and not reading.labels_only and (single := roles.guess("score", guesses.SCORES)):
        scores = [single]
    named_by_file = bool(channels) or (scores is not None and len(scores) == 1)
    series = reading.series or roles.guess("series", guesses.SERIES) or roles.guess("series", (("id",),), kind="text")
    detector = reading.detector or roles.guess("detector", guesses.DETECTORS, kind="text")
    run = reading.run or roles.guess("run", guesses.RUNS)
    notes = []
    if series is None and _series_are_files(source, detector, run):
        series = FILE_COLUMN
        notes.append(
            f"{source.where}: each of its {len(source.pieces)} files is taken as a series of its own; name the column "
            f"that tells series apart with --series where that is not so"
        )
    time, time_notes = _find_time(roles, reading)
    if reading.labels_only:
        scores = []
    elif scores is None:
        scores = _guess_scores(roles)
        named_by_file = len(scores) == 1 and scores[0].isdigit()  # the only column of an array has no name of its own
    for column in scores:
        if roles.kinds[column] != "number":
            raise guesses.not_numbers(source, column, roles.kinds[column])
    positive: tuple[str, ...] = positive_values(reading.positive)
    if label is not None:
        of_booleans = bool(positive) and isinstance(guesses.first_value(source, label), (bool, np.bool_))
        positive = positive_values(reading.positive, of_booleans=of_booleans)
        guesses.check_labels(source, label, roles.kinds[label], positive)
    guessed = roles.guessed()
    layout = Layout(
        label,
        tuple(scores),
        series,
        detector,
        named_by_file and source.name is not None,
        guessed,
        (*source.notes, *([f"{source.where}: guessed {guessed}"] if guessed else []), *notes, *time_notes),
        time=time,
        time_unit=reading.time_unit,
        time_guessed=time is not None and reading.time is None,
        ignore=reading.ignored_column,
        sort=reading.sort,
        run=run,
        positive=positive,
        channels=tuple(channels),
        time_zone=reading.time_zone,
        folder_layout=source.folder_layout,
        labels_folder=None if reading.labels is None else os.fspath(reading.labels),
        values=tuple(
            name
            for name in roles.left()
            if name not in scores and roles.kinds[name] == "number" and guesses.is_called(name, "measured")
        ),
    )
    layout = layout if reading.events is None else _with_events(source, layout, reading)
    is_column = reading.ignore is None or reading.ignored_column is not None
    return layout if is_column else _with_ignored(source, layout, reading)


class _Roles:
    """The columns that have a role so far, and the guesses among them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.kinds = source.kinds()
        self.roles: dict[str, str] = {}
        self.guesses: dict[str, str] = {}

    def take(self, role: str, name: str | None) -> None:
        """Give a column the role that the caller names it for."""
        if name is None:
            return
        if name not in self.kinds:
            if role == "steps to ignore":
                missing = missing_column(self.source.where, name, self.kinds, "ignore")
                raise TableError(f"{missing}, and there is no file of that name")
            raise missing_column(self.source.where, name, self.kinds, role)
        if name in self.roles:
            raise TableError(
                f"{self.source.where}: column {name!r} is named twice, as {self.roles[name]} and as {role}"
            )
        self.roles[name] = role

    def left(self) -> list[str]:
        """The columns without a role."""
        return [name for name in self.kinds if name not in self.roles and name != FILE_COLUMN]

    def guess(self, role: str, tiers: tuple[tuple[str, ...], ...], *, kind: str | None = None) -> str | None:
        """Give the one column that is called like it a role; several of them are refused."""
        columns = guesses.equals((name for name in self.left() if kind in (None, self.kinds[name])), tiers)
        if len(columns) > 1:
            which = f"{listed(columns[:-1], 6)} and {columns[-1]!r}"
            raise TableError(f"{self.source.where}: {which} look like the {role}; name one ({role}=..., --{role})")
        if not columns:
            return None
        self.roles[columns[0]] = role
        self.guesses[role] = f"{role} {columns[0]!r}"
        return columns[0]

    def guessed(self) -> str:
        """All guesses in a few words, in an order of their own."""
        order = ("label", "score", "series", "detector", "run", "time")
        return ", ".join(self.guesses[role] for role in order if role in self.guesses)

    def not_found(self, role: str) -> str:
        """Say that no column has a role, and which could be named."""
        among = f"name it ({role}=..., --{role}) among {listed(self.left(), 20)}"
        return f"{self.source.where}: no column looks like {role}s; {among if self.left() else 'all have another role'}"


def _find_channels(roles: _Roles, reading: Reading) -> tuple[list[str], list[str] | None]:
    """Return the columns of labels by channel, none where a step has one label, and the score columns as far as known.

    Labels of several channels are named with commas between them, or guessed where no column looks like one label.
    """
    where, kinds, label, score = roles.source.where, roles.kinds, reading.label, reading.score
    scores = None if score is None else [score] if isinstance(score, str) else list(score)
    if scores is not None and not scores:
        raise TableError(f"{where}: at least one score column must be named")
    of_labels, of_scores = guesses.channel_columns(kinds)
    channels: list[str] = []
    if label is not None and label not in kinds and "," in label:
        channels = [name.strip() for name in label.split(",") if name.strip()]
    elif label is None and reading.events is None and not guesses.equals(kinds, guesses.LABELS):
        channels = of_labels
    if not channels:
        return [], scores
    if not reading.allow_channels:
        raise TableError(f"{where}: labels of several channels are read by 'pateval score'; name one with --label")
    if scores is None:
        scores = [of_scores[of_labels.index(name)] for name in channels if name in of_labels]
    if len(scores) != len(channels):
        raise TableError(
            f"{where}: {len(channels)} channels have labels and {len(scores)} have scores; name them in the same "
            f"order with --label and --score"
        )
    if label is None:
        roles.guesses["label"] = f"labels of {len(channels)} channels {listed(channels, 6)} with {listed(scores, 6)}"
    return channels, scores


def _find_label(roles: _Roles, reading: Reading, channels: Sequence[str]) -> str | None:
    if channels or reading.events is not None:
        return None
    label = reading.label or roles.guess("label", guesses.LABELS)
    if label is None:
        remedy = ", or give the anomalies in a file of their own with --events FILE (events=...)"
        if roles.source.folder_layout:
            remedy += ", or labels in a folder of their own with --labels FOLDER (labels=...)"
        raise TableError(roles.not_found("label") + remedy)
    return label


def _series_are_files(source: Source, detector: str | None, run: str | None) -> bool:
    """Whether a detector has several files, in one run, of a table in which no column tells series apart."""
    files: dict[tuple[str, ...], dict[str, str]] = {}
    for path, constants in source.pieces:
        group = tuple(constants[key] for key in (detector, run) if key in constants)
        known = files.setdefault(group, {})
        name = constants.get(FILE_COLUMN, "")
        if name in known:
            raise TableError(
                f"{source.where}: no column tells series apart, and {known[name]} and {path} have the same name; name "
                f"the column with --series, or rename one of the files"
            )
        known[name] = str(path)
    return any(len(names) > 1 for names in files.values())


def _find_time(roles: _Roles, reading: Reading) -> tuple[str | None, list[str]]:
    """Return the column of times that is named or guessed, and what there is to say about times and order."""
    source, time = roles.source, reading.time
    notes: list[str] = []
    if time is None:
        time, notes = _guess_time(roles)
        if time is None:
            notes += guesses.unordered_steps(source, roles.roles)
    elif roles.roles.get(time) != "time":  # "none" is no column
        time = None
    if time is not None and is_day_first(guesses.first_value(source, time)):
        notes.append(f"{source.where}: dates in {time!r} are taken as day.month.year")
    if reading.sort and time is None:
        raise TableError(f"{source.where}: no column looks like times to sort the rows by; name it with --time")
    if reading.sort:
        notes.append(f"{source.where}: the rows of each series are sorted by {time!r}")
    return time, notes


def _guess_time(roles: _Roles) -> tuple[str | None, list[str]]:
    """Return the one column that is called like times and holds dates or numbers, and a line where there is none."""
    source = roles.source
    names = [name for name in roles.left() if guesses.is_called(name, "time")]
    usable = []
    for name in names:
        value = guesses.first_value(source, name)
        if is_time(value):
            usable.append(name)
        elif len(names) == 1:
            why = f"{in_words(str(value))} {why_no_time(value)}"
            return None, [f"{source.where}: column {name!r} is not used as time: {why}"]
    if len(usable) > 1:
        return None, [f"{source.where}: {listed(usable, 6)} look like times, and none is used; name one with --time"]
    if not usable:
        return None, []
    roles.roles[usable[0]] = "time"
    roles.guesses["time"] = f"time {usable[0]!r}"
    return usable[0], []


def _guess_scores(roles: _Roles) -> list[str]:
    """Return the columns with "score" in their names, or else all that may be a detector's scores."""
    left = [name for name in roles.left() if _may_be_score(roles.source, name, roles.kinds[name])]
    scores = [name for name in left if guesses.is_called(name, "score")]
    scores = scores or [name for name in left if not guesses.is_called(name, "measured", "threshold")]
    if scores:
        roles.guesses["score"] = f"score{'s' if len(scores) > 1 else ''} {listed(scores, 3)}"
        return scores
    predictions = [name for name in roles.left() if guesses.plain(name) in guesses.PREDICTIONS]
    hint = f"; 0/1 predictions are read with --score {predictions[0]} --threshold 1" if predictions else ""
    others = [name for name in roles.left() if not guesses.is_called(name, "label")]
    if not hint and others and all(guesses.is_called(name, "measured", "threshold") for name in others):
        hint = "; scores of values are made by 'pateval detect', as in 'pateval detect pca --data FILE -o scores'"
    raise NoScoresError(roles.not_found("score") + hint)


def _may_be_score(source: Source, name: str, kind: str) -> bool:
    if guesses.is_called(name, "time", "step", "prediction", "label"):
        return False
    if kind == "text" and isinstance(source, Table):
        # Scores with a word among them are a damaged score column, not a column to pass over in silence.
        values = source.columns[name][:1000]
        return sum(guesses.is_number(value) for value in values) > len(values) / 2
    return kind == "number"


def _with_events(source: Source, layout: Layout, reading: Reading) -> Layout:
    """Add the anomalies that stand in a table of their own, and check that they fit the data."""
    events = _intervals(source, layout, reading.events, "event", closed=reading.closed_events)
    known, named = {unit.series for unit in list_units(source, layout)}, events.series
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


def _with_ignored(source: Source, layout: Layout, reading: Reading) -> Layout:
    """Add the steps to ignore that stand as intervals in a table of their own."""
    ignored = _intervals(source, layout, reading.ignore, "ignored interval")
    known, named = {unit.series for unit in list_units(source, layout)}, ignored.series
    notes = [*layout.notes, *ignored.notes, ignored.describe()]
    if named and not named & known:
        notes.append(f"{ignored.where}: its series ({listed(sorted(named), 6)}) are none of {source.where}")
    return replace(layout, ignored=ignored, notes=tuple(notes))


def _intervals(source: Source, layout: Layout, given: object, word: str, *, closed: bool = False) -> EventIntervals:
    """Read intervals, and check that they are on the clock of the data."""
    opened = as_table(given, name=None if isinstance(given, (str, os.PathLike)) else f"the {word}s")
    table = opened if isinstance(opened, Table) else read_table(opened.where)
    intervals = read_events(table, word, closed=closed, series=layout.series, time_zone=layout.time_zone)
    time = None if layout.time is None else guesses.first_entry(source, layout.time)
    has_dates = time is not None and not _holds_numbers(time)
    if intervals.has_dates and not has_dates:
        raise TableError(
            f"{table.where}: {word}s are given as dates, and {source.where} has no column of dates; name it with --time"
        )
    if intervals.has_dates and layout.time_zone is None and time is not None:
        intervals.require_zone_of(time, source.where)
    if intervals.has_dates or has_dates or time is None:
        return intervals
    if layout.time_guessed:
        raise TableError(
            f"{table.where}: {word}s are numbers: say --time none if they count steps, or --time {layout.time} if "
            f"they are times"
        )
    return replace(intervals, in_time=True)


def _holds_numbers(entry: Column) -> bool:
    """Whether the first value of a column is a number, and no date; of an empty one it is neither."""
    return bool(entry.size) and isinstance(entry[0], (int, float, np.number))


def require_zones_alike(
    source: Source, layout: Layout, series: Iterable[str], known: dict[str, tuple[bool, str]]
) -> None:
    """Refuse dates without a time zone beside dates with one on a series that is in ``known`` from another source."""
    entry = None if layout.time is None or layout.time_zone is not None else guesses.first_entry(source, layout.time)
    if entry is None or not entry.size or _holds_numbers(entry):
        return
    here = has_zone(entry), f"in {source.where} {date_text(entry)}"
    for name in series:
        if known.setdefault(name, here)[0] != here[0]:
            without, with_zone = (text for _, text in sorted([here, known[name]]))
            raise TableError(
                f"{source.where}: on series {in_words(name)} some dates have a time zone and others have none, "
                f"{with_zone} and {without} for example; {ZONE_REMEDY}"
            )
