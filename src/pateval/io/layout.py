"""Which column is what: labels, scores, series, detector. Named by the caller, or guessed and announced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pateval.io.parquet import ParquetFiles
from pateval.io.source import Table, TableError, missing_column

if TYPE_CHECKING:
    from collections.abc import Sequence

Source = Table | ParquetFiles

LABELS = (
    "label",
    "labels",
    "is_anomaly",
    "anomaly",
    "anomaly_label",
    "is_outlier",
    "y_true",
    "ground_truth",
    "truth",
    "target",
    "label_window",
    "gt",
)
SCORES = ("score", "scores", "anomaly_score", "anomaly_scores", "outlier_score", "y_score")
SERIES = (
    "series",
    "series_id",
    "series_name",
    "unique_id",
    "ts_id",
    "item_id",
    "entity",
    "machine",
    "channel",
    "chan_id",
)
DETECTORS = ("detector", "model", "algorithm", "method")
PREDICTIONS = ("prediction", "predictions", "predicted", "pred", "y_pred")
_TIMES = ("time", "date", "datetime", "step", "index", "t", "row", "")
_RAW_VALUES = ("value", "values", "data")


@dataclass(frozen=True)
class Layout:
    """Which column of one table holds what.

    Attributes
    ----------
    label : str
        The truth.
    scores : tuple of str
        One column per detector (wide), or a single one.
    series, detector : str or None
        Columns that tell series and detectors apart, where there are any.
    named_by_file : bool
        The detector is named by the file's stem, not by its score column.
    guessed : str
        The guesses in a few words, for example ``"label 'y_true', score 'score'"``; empty where all was named.
    notes : tuple of str
        Lines worth showing to a user, among them the guesses with the file's name.
    """

    label: str
    scores: tuple[str, ...]
    series: str | None
    detector: str | None
    named_by_file: bool
    guessed: str = ""
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that split rows into series and detectors."""
        return tuple(name for name in (self.series, self.detector) if name is not None)


def find_layout(
    source: Source,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    series: str | None = None,
    detector: str | None = None,
) -> Layout:
    """Decide which column holds what; what is not named is guessed by name, never by value.

    Scores are guessed as a column called ``score``, ``anomaly_score`` and the like; failing that, every column of
    numbers without another role is taken as one detector's scores (a wide table).

    Parameters
    ----------
    source : Table or ParquetFiles
        What `open_table` or `as_table` gave.
    label, series, detector : str, optional
        Column names.
    score : str or sequence of str, optional
        One score column, whose detector is named by the file, or several, each named by its column.

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
    for role, name in [
        ("label", label),
        *(("score", each) for each in wanted or ()),
        ("series", series),
        ("detector", detector),
    ]:
        if name is not None and name not in kinds:
            raise missing_column(source.where, name, kinds, role)
    taken = {name for name in (label, series, detector, *(wanted or ())) if name is not None}
    guesses: list[str] = []

    def guess(role: str, names: Sequence[str], kind: str | None = None) -> str | None:
        for candidate in names:
            for name in kinds:
                if _plain(name) == candidate and name not in taken and (kind is None or kinds[name] == kind):
                    taken.add(name)
                    guesses.append(f"{role} {name!r}")
                    return name
        return None

    if label is None:
        label = guess("label", LABELS)
        if label is None:
            raise TableError(
                f"{source.where}: no column looks like labels; name it (label=..., --label) among "
                f"{', '.join(map(repr, kinds))}"
            )
    if wanted is None:
        single = guess("score", SCORES)
        wanted = [single] if single else None
        by_file = True
    else:
        by_file = isinstance(score, str) or len(wanted) == 1
    if series is None:
        series = guess("series", SERIES) or guess("series", ("id",), "text")
    if detector is None:
        detector = guess("detector", DETECTORS, "text")
    if wanted is None:
        wanted = [name for name in kinds if name not in taken and _may_be_score(source, name, kinds[name])]
        by_file = False
        if not wanted:
            raise TableError(
                f"{source.where}: no column looks like scores; name it (score=..., --score) among "
                f"{', '.join(map(repr, kinds))}"
            )
        guesses.insert(1, f"score{'s' if len(wanted) > 1 else ''} {_shortened(wanted)}")
    _refuse_double_use(source, label, wanted, series, detector)
    for role, name in [("label", label), *(("score", each) for each in wanted)]:
        if kinds[name] != "number":
            raise _not_numbers(source, name, role, kinds[name])
    guessed = ", ".join(guesses)
    notes = source.notes + ((f"{source.where}: guessed {guessed}",) if guessed else ())
    return Layout(label, tuple(wanted), series, detector, by_file and source.name is not None, guessed, notes)


def _plain(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def _may_be_score(source: Source, name: str, kind: str) -> bool:
    plain = _plain(name)
    if plain in (*_TIMES, *_RAW_VALUES, *PREDICTIONS, *LABELS, "id"):
        return False
    if plain.startswith(("timestamp", "label", "__", "unnamed")):
        return False
    if kind == "text" and isinstance(source, Table):
        # Scores with a word among them are a damaged score column, not a column to pass over in silence.
        values = source.columns[name][:1000]
        return sum(_is_number(value) for value in values) > len(values) / 2
    return kind == "number"


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]  # that is the question
    except (TypeError, ValueError):
        return False
    return True


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:6]))
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def _refuse_double_use(
    source: Source, label: str, scores: Sequence[str], series: str | None, detector: str | None
) -> None:
    seen: dict[str, str] = {}
    for role, name in [
        ("labels", label),
        *(("scores", each) for each in scores),
        ("series", series),
        ("detector", detector),
    ]:
        if name is not None and name in seen:
            raise TableError(f"{source.where}: column {name!r} is named twice, as {seen[name]} and as {role}")
        if name is not None:
            seen[name] = role


def _not_numbers(source: Source, name: str, role: str, kind: str) -> TableError:
    """Say where the first value stands that is not a number."""
    batches = [(0, source.columns)] if isinstance(source, Table) else source.batches([name])
    for offset, columns in batches:
        for row, value in enumerate(columns[name], start=offset + 1):
            if (isinstance(value, (str, np.str_)) and not _is_number(value)) or kind != "text":
                shown = repr(str(value)) if len(str(value)) <= 40 else repr(f"{str(value)[:37]}...")
                what = {"text": "text", "time": "a date or time"}.get(kind, f"a {type(value).__name__}")
                return TableError(
                    f"{source.where}: column {name!r} holds {what} in row {row}, {shown}; {role}s are numbers"
                )
    return TableError(f"{source.where}: column {name!r} holds numbers written as text; {role}s are numbers")
