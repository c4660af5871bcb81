"""What the commands that look at single files read: the detectors in them, and labels alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.cli.messages import tell

if TYPE_CHECKING:
    import numpy.typing as npt

    from pateval.evaluation.threshold_rules import ThresholdRule
    from pateval.io import ColumnNames, Layout, ScoredSeries
    from pateval.validation.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class DetectorData:
    """One detector, or one of its runs, on its series.

    Attributes
    ----------
    name : str
        Of the detector, with its run where there are several, and with the path before it where two files have
        detectors of that name.
    path : str
        Of the file, the first where its series lie in several.
    items : tuple of ScoredSeries
        Its series, as they stand in the file.
    missing : {"error", "ignore", "normal"}
        What becomes of missing scores.
    """

    name: str
    path: str
    items: tuple[ScoredSeries, ...]
    missing: str = "error"

    @cached_property
    def checked(self) -> list[tuple[BoolArray, FloatArray]]:
        """Labels and scores of each series, as metrics want them."""
        return [item.checked(allow_missing=self.missing != "error") for item in self.items]

    @property
    def labels(self) -> BoolArray:
        """Labels of all series, one after the other."""
        return np.concatenate([labels for labels, _ in self.checked])

    @property
    def scores(self) -> FloatArray:
        """Scores, likewise."""
        return np.concatenate([scores for _, scores in self.checked])

    @property
    def has_channels(self) -> bool:
        """Whether labels are steps by channels."""
        return self.items[0].labels.ndim == 2

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series."""
        return tuple(item.series for item in self.items)

    @property
    def run(self) -> str:
        """The run, empty where the file has only one."""
        return self.items[0].run

    @property
    def sizes(self) -> list[int]:
        """Number of steps of each series."""
        return [len(labels) for labels, _ in self.checked]

    @property
    def series_of_steps(self) -> npt.NDArray[Any]:
        """Name of the series of each step."""
        return np.repeat(np.array(self.series, dtype=object), self.sizes)

    def steps(self, needs_times: str) -> dict[str, Any]:
        """Say which steps count and when they were, as `pateval.evaluate` takes it.

        Parameters
        ----------
        needs_times : str
            What is given as a duration, in words; empty where nothing is.

        Raises
        ------
        TableError
            If times are needed and not known.
        """
        return {"missing": self.missing} | clock_and_ignored(self.items, needs_times)

    def on(self, series: Sequence[str]) -> DetectorData:
        """The detector on some of its series, in their order."""
        return replace(self, items=tuple(self.items[self.series.index(name)] for name in series))

    def rule(self, threshold: float | str) -> float | str | ThresholdRule:
        """The threshold, with what the file knows of training scores."""
        from pateval.evaluation.training_thresholds import rule_for_file

        return rule_for_file(threshold, self.path, self.series, self.sizes, run=self.run)


def read_detectors(
    files: Sequence[str],
    columns: ColumnNames,
    *,
    only: Sequence[str] | None = None,
    only_series: str | None = None,
    missing: str = "error",
    allow_channels: bool = False,
    tell: Callable[[str], None] = tell,
) -> list[DetectorData]:
    """Read the detectors in files, in their order.

    A detector that several files have, on other series in each, is one detector on all of these series.

    Parameters
    ----------
    files : sequence of str
        Files, folders or globs.
    columns : ColumnNames
        What the user said about columns.
    only, only_series
        Detectors and the series wanted; all of them by default.
    missing : {"error", "ignore", "normal"}
        What becomes of missing scores.
    allow_channels : bool
        Read labels of several channels, too.
    tell : callable
        Takes the notes on what was guessed.

    Raises
    ------
    TableError
        If a file cannot be read, or does not hold what is wanted.
    """
    from pateval.io import TableError, expand, find_layout, open_table, scored_series
    from pateval.io.source import merged_notes

    found: dict[str, DetectorData] = {}
    known: list[str] = []
    series: list[str] = []
    notes: list[str] = []
    paths = expand(files)
    for path in paths:
        source = open_table(path)
        layout = layout_of_one(find_layout(source, **columns, allow_channels=allow_channels), columns, len(paths))
        notes += layout.notes
        items: dict[str, list[ScoredSeries]] = {}
        for item in scored_series(source, layout):
            known += [item.detector, item.title]
            if only is None or item.detector in only or item.title in only:
                series.append(item.series)
                if only_series in (None, item.series):
                    items.setdefault(item.title, []).append(item)
        before = dict(found)
        for name, several in items.items():
            first = before.get(name)
            if first is None or layout.named_by_file or not set(first.series).isdisjoint(one.series for one in several):
                title = name if first is None else f"{path}:{name}"
                found[title] = DetectorData(title, str(path), tuple(several), missing)
            else:
                found[name] = replace(first, items=(*first.items, *several))
    for note in merged_notes(notes):
        tell(note)
    where = files[0] if len(files) == 1 else f"{len(files)} files"
    absent = next((name for name in only or () if name not in known), None)
    if absent is not None:
        raise TableError(f"{where}: there is no detector named {absent!r}; its detectors are {_listed(known)}")
    if not found:
        raise TableError(f"{where}: there is no series named {only_series!r}; its series are {_listed(series)}")
    return list(found.values())


def layout_of_one(layout: Layout, columns: ColumnNames, files: int) -> Layout:
    """Let the one score column that the user names in the one file name its detector, unless it says only "score"."""
    from pateval.io import guesses

    says_something = columns.get("score") is not None and guesses.plain(layout.scores[0]) not in guesses.SCORES[0]
    by_column = files == 1 and layout.named_by_file and not layout.channels and says_something
    return replace(layout, named_by_file=False) if by_column else layout


def read_labels(
    files: Sequence[str], columns: ColumnNames, *, tell: Callable[[str], None] | None = None
) -> list[ScoredSeries]:
    """Read the labels of each series; a file needs no scores, and one with several detectors counts once."""
    from pateval.io import expand, find_layout, labelled_series, open_table

    found: list[ScoredSeries] = []
    for path in expand(files):
        source = open_table(path)
        layout = find_layout(source, **columns, labels_only=True)
        for note in layout.notes if tell is not None else ():
            tell(note)  # type: ignore[misc]  # it is there where the loop has a round
        found += labelled_series(source, layout)
    return found


def labelled_steps(items: Sequence[ScoredSeries], needs_times: str) -> dict[str, Any]:
    """Labels of all series, which series each step belongs to, which steps count and when they were.

    Parameters
    ----------
    items : sequence of ScoredSeries
        As read.
    needs_times : str
        What is given as a duration, in words; empty where nothing is.
    """
    labels = [item.checked_labels() for item in items]
    return {
        "labels": np.concatenate(labels),
        "series": np.repeat(np.arange(len(items)), [truth.size for truth in labels]),
        **clock_and_ignored(items, needs_times),
    }


def clock_and_ignored(items: Sequence[ScoredSeries], needs_times: str) -> dict[str, Any]:
    """Say which steps of some series are ignored, and, where something is a duration, when they were."""
    from pateval.io import TableError

    first, found = items[0], {}
    if any(item.ignore_values is not None for item in items):
        masks = [(item.ignore, item.steps) for item in items]
        found["ignore"] = np.concatenate([np.zeros(size, np.bool_) if mask is None else mask for mask, size in masks])
    if not needs_times:
        return found
    for item in items:
        if item.time_column is None:
            raise TableError(
                f"{item.where}: {needs_times} is a duration, which needs a column of times; name it with --time"
            )
        if item.time_unit is None:
            raise TableError(
                f"{item.where}: column {item.time_column!r}: {needs_times} needs the unit of times that are numbers; "
                f"give it with --time-unit"
            )
    units = {item.time_unit for item in items}
    if len(units) > 1:
        return found | {"times": np.concatenate([item.nanoseconds for item in items]), "time_unit": "ns"}
    return found | {"times": np.concatenate([item.times for item in items]), "time_unit": first.time_unit}


def _listed(names: Sequence[str]) -> str:
    from pateval.validation.wording import in_words

    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return ", ".join(map(in_words, shown[:12])) + more
