"""What columns are called in the field, by role, and what they hold, looked at before any series is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from pateval.io.content import TableError
from pateval.io.files import Source
from pateval.io.source import Column, is_missing, numpy_column
from pateval.io.text_tables import DECIMAL_COMMA
from pateval.io.units import groups_of_rows
from pateval.labels.classes import as_text, from_words, remedy
from pateval.validation.wording import in_words, listed

# Each role has tiers: a name of an earlier tier is taken before one of a later tier, and two columns of the same tier
# are equals, between which nothing is guessed.
LABELS = (
    ("label", "labels", "is_anomaly", "anomaly_label", "is_outlier", "y_true", "ground_truth", "truth", "gt"),
    ("anomaly", "outlier", "attack", "is_attack", "target", "label_window"),
)
SCORES = (("score", "scores", "anomaly_score", "anomaly_scores", "outlier_score", "outlier_scores", "y_score"),)
SERIES = (
    ("series", "series_id", "series_name", "unique_id", "ts_id", "item_id"),
    ("entity", "machine", "machine_id", "host", "hostname", "device", "device_id", "channel", "chan_id"),
)
DETECTORS = (("detector", "model", "algorithm", "method"),)
RUNS = (("run",),)
KINDS = (("kind", "type", "category", "class", "cause", "art"),)
TIMES = (
    *("timestamp", "timestamps", "time_stamp", "datetime", "date_time", "ds", "time", "times", "date"),
    *("zeit", "zeitpunkt", "zeitstempel", "datum"),
)
# What monitoring systems call the beginning and the end of something.
STARTS = (
    ("start", "starts", "start_time", "starttime", "start_timestamp", "started_at", "starts_at", "startsat"),
    ("begin", "from", "first", "onset", "start_step", "fired_at", "triggered_at", "opened_at", "created_at"),
    ("beginn", "von"),
)
STOPS = (
    ("stop", "stops", "end", "end_time", "endtime", "end_timestamp", "stop_time", "ended_at", "ends_at", "endsat"),
    ("to", "until", "last", "end_step", "resolved_at", "closed_at", "cleared_at"),
    ("ende", "bis"),
)
PREDICTIONS = ("prediction", "predictions", "predicted", "pred", "y_pred")
_RUNNING_NUMBERS = ("step", "index", "t")
# Patterns of plain names by role, for questions that several columns may answer with yes.
_CALLED = {
    role: re.compile("|".join(patterns))
    for role, patterns in {
        "label": (*LABELS[0], *LABELS[1], "label.*"),
        "score": (*SCORES[0], r".*[a-z0-9]_scores?", r"scores?_[a-z0-9].*"),
        "time": (*TIMES, "timestamp.*"),
        # Running numbers, as data frames add them.
        "step": (*_RUNNING_NUMBERS, "row", "id", "run", "seed", "", "unnamed.*", "__.*"),
        # The limits of a forecast count with it.
        "prediction": (
            *(*PREDICTIONS, "yhat", "y_hat", "forecasts?", "threshold_.*", ".*_threshold"),
            r"(yhat|y_hat|forecast|prediction|pred)_(lower|upper|low|high|lo|hi)(_\d+)?",
        ),
        "measured": (
            *("values?", "data", "y", "x", "temperature", "pressure", "humidity"),
            r"(f|x|v|feature|feat|col|column|var|sensor|channel|value|dim)_?\d+",
        ),
        "threshold": ("thresholds?", ".*_threshold"),
    }.items()
}
_LABEL_OF_CHANNEL = re.compile(r"labels?_(?P<before>.+)|(?P<after>.+)_labels?")
_SCORE_OF_CHANNEL = re.compile(r"scores?_(?P<before>.+)|(?P<after>.+)_scores?")
_NOT_CHANNELS = ("window", "anomaly", "is", "y", "outlier")  # what other columns of labels and scores are called


def plain(name: str) -> str:
    """Return a column's name as it is compared: lower case, with one underscore for blanks, dashes and dots."""
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def equals(names: Iterable[str], tiers: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the columns that are the most likely for a role; one where it is clear, several where it is not."""
    columns = list(names)
    for tier in tiers:
        equal = [name for name in columns if plain(name) in tier]
        if equal:
            return equal
    return []


def only(names: Iterable[str], tiers: tuple[tuple[str, ...], ...], where: str, role: str) -> str | None:
    """Return the one column that is called like a role, None where none is; several are refused, by place and role."""
    columns = equals(names, tiers)
    if len(columns) > 1:
        raise TableError(f"{where}: {' and '.join(map(repr, columns))} both look like {role}; take one of them out")
    return columns[0] if columns else None


def is_called(name: str, *roles: str) -> bool:
    """Whether a column is called like one of some roles: label, score, time, step, prediction, measured, threshold."""
    return any(_CALLED[role].fullmatch(plain(name)) for role in roles)


def channel_columns(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return columns of labels and of scores, channel by channel; both empty where there are not several channels."""
    columns = list(names)
    labels, scores = _by_channel(columns, _LABEL_OF_CHANNEL), _by_channel(columns, _SCORE_OF_CHANNEL)
    if len(labels) < 2 or set(labels) - set(scores):
        return [], []
    return list(labels.values()), [scores[channel] for channel in labels]


def _by_channel(names: Iterable[str], pattern: re.Pattern[str]) -> dict[str, str]:
    columns = {}
    for name in names:
        match = pattern.fullmatch(plain(name))
        channel = match and (match["before"] or match["after"])
        if channel and channel not in _NOT_CHANNELS:
            columns[channel] = name
    return columns


def first_value(source: Source, name: str) -> object:
    """Return the first value of a column that is not missing; None where all are."""
    return next(iter(first_entry(source, name)), None)


def first_entry(source: Source, name: str) -> Column:
    """Return the first value of a column that is not missing as an array, empty where all are."""
    entries = (column[at : at + 1] for _, column in _values(source, name) for at in range(column.size))
    return next((entry for entry in entries if not is_missing(entry[0])), np.empty(0))


def not_numbers(source: Source, name: str, kind: str) -> TableError:
    """Say where the first score stands that is not a number."""
    what = {"text": "text", "time": "a date or time"}.get(kind)
    for offset, column in _values(source, name):
        for row, value in enumerate(column, start=offset + 1):
            if kind == "text" and (not isinstance(value, (str, np.str_)) or is_number(value)):
                continue
            advice = "name another column with --score"
            if kind == "text" and DECIMAL_COMMA.fullmatch(str(value).strip()):
                advice = "write decimal points, or separate the columns by semicolons"
            elif kind == "text":
                advice = "correct it, or leave the cell empty and say --missing ignore"
            return TableError(
                f"{source.where}: column {name!r} holds {what or f'a {type(value).__name__}'} in row {row}, "
                f"{in_words(str(value))}; scores are numbers: {advice}"
            )
    return TableError(
        f"{source.where}: column {name!r} holds numbers written as text; scores are numbers: store them as such"
    )


def check_labels(source: Source, label: str, kind: str, positive: tuple[str, ...]) -> None:
    """Refuse words that do not say what is an anomaly, and classes that do not occur."""
    if kind == "number" and not positive:
        return  # looked at when a series is read
    if kind in ("time", "other"):
        what = "dates or times" if kind == "time" else "neither numbers nor words"
        raise TableError(
            f"{source.where}: column {label!r} holds {what}; "
            "labels are 0 or 1, or words: name another column with --label"
        )
    first_rows: dict[str, int] = {}
    for offset, column in _values(source, label):
        values = np.unique(column) if column.dtype.kind in "biuf" else column  # of numbers no row is named
        for row, value in enumerate(values.tolist(), start=offset + 1):
            if not is_missing(value):
                first_rows.setdefault(as_text(value), row)
    if positive:
        absent = [name for name in positive if name not in first_rows]
        if absent:
            raise TableError(
                f"{source.where}: column {label!r} holds no label {in_words(absent[0])}; its labels are "
                f"{listed([*first_rows], 6)}"
            )
        return
    odd = [name for name in first_rows if not source.from_file or from_words(np.array([name])) is None]
    if odd:
        name = next((value for value in odd if not is_number(value)), odd[0])
        raise TableError(
            f"{source.where}: column {label!r} holds text in row {first_rows[name]}, {in_words(name)}; "
            f"{remedy(list(first_rows))}"
        )


def is_number(value: object) -> bool:
    """Whether a value is a number, or text that could be one."""
    try:
        float(value)  # type: ignore[arg-type]  # that is the question
    except (TypeError, ValueError):
        return False
    return True


def _values(source: Source, name: str) -> Iterator[tuple[int, Column]]:
    """Yield one column in pieces, each with the number of its first row."""
    for offset, columns in source.batches([name]):
        yield offset, columns[name]


def unordered_steps(source: Source, roles: Mapping[str, str]) -> list[str]:
    """Say which columns of running numbers, among those without a role, do not increase within a series.

    They are no clock, but where they do not increase the rows may be out of order. Parquet files are read batch by
    batch, and no further than to the first such row.
    """
    kinds = source.kinds()
    keys = [name for name, role in roles.items() if role in ("series", "detector", "run")]
    notes = []
    for name, kind in kinds.items():
        if name in roles or plain(name) not in _RUNNING_NUMBERS or kind != "number":
            continue
        place = _first_not_increasing(source, name, keys)
        if place is not None:
            row, value, before = place
            where, row = source.locate(row, row + 1)
            notes.append(
                f"{where}: column {name!r} does not increase within a series (row {row + 1}: {value} after {before}); "
                f"rows are taken as they stand: sort them with --time {name} --sort, or name the column that tells "
                f"series apart with --series"
            )
    return notes


def _first_not_increasing(source: Source, name: str, keys: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the first row whose number is not above the one before it in its series, with both numbers."""
    last: dict[tuple[str, ...], Column] = {}  # number of the last row so far, by series
    for first_row, columns in source.batches([name, *keys], encoded=True):
        column = columns[name]
        numbers = column if isinstance(column, np.ndarray) else numpy_column(column)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            return None
        before: dict[int, int] = {}
        for group, rows in groups_of_rows(columns, keys, source, first_row, numbers.size).items():
            own = np.concatenate([last.get(group, numbers[:0]), numbers[rows]])
            wrong = np.flatnonzero(own[1:] <= own[:-1])
            if wrong.size:
                place = int(wrong[0])
                before[int(rows[place + 1 + rows.size - own.size])] = int(own[place])
            last[group] = own[-1:]
        if before:
            row = min(before)
            return first_row + row, int(numbers[row]), before[row]
    return None
