"""What ``pateval plot`` draws from: score files, labels, and the folder a leaderboard was written to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from pateval.io import ColumnNames, Layout, ScoredSeries, Source


@dataclass(frozen=True)
class Selection:
    """Which columns hold what, and which detectors and series are wanted.

    Attributes
    ----------
    columns : dict
        What the caller says about the columns, as `pateval.io.find_layout` takes it. A time column that is named, not
        guessed, becomes the axis.
    only : list of str or None
        The detectors wanted.
    only_series : str or None
        The series wanted.
    value : str or None
        Column of the series' own values.
    missing : {"error", "ignore", "normal"}
        What becomes of missing scores.
    needs_times : str
        What is given as a duration, in words; empty where nothing is.
    """

    columns: ColumnNames
    only: list[str] | None
    only_series: str | None
    value: str | None
    missing: str = "error"
    needs_times: str = ""


@dataclass(frozen=True)
class Drawable:
    """Labels and scores of some detectors on the same steps.

    Attributes
    ----------
    labels : ndarray of bool
        Truth.
    series : ndarray of int or None
        Which series each step belongs to, where there are several.
    scores : dict
        Scores by detector.
    values, times : ndarray or None
        The series itself and its clock, where asked for.
    notes : tuple of str
        What was guessed in reading.
    steps : dict
        Which steps count and when they were, as PATE takes it: ``times``, ``time_unit``, ``ignore`` and ``missing``.
    """

    labels: npt.NDArray[np.bool_]
    series: npt.NDArray[np.intp] | None
    scores: dict[str, npt.NDArray[Any]]
    values: npt.NDArray[Any] | None
    times: npt.NDArray[Any] | None
    notes: tuple[str, ...]
    steps: dict[str, Any] = field(default_factory=dict)

    def counted(self, scores: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Mark the steps that count and have a score."""
        present = ~np.isnan(scores.astype(np.float64))
        return present & ~self.steps["ignore"] if "ignore" in self.steps else present


def read_scores(files: Sequence[str], selection: Selection) -> Drawable:
    """Read the wanted detectors; they must lie on the same series with the same labels."""
    from pateval.cli.detector_data import clock_and_ignored, layout_of_one
    from pateval.io import TableError, expand, find_layout, open_table, scored_series

    parts: dict[str, list[tuple[str, Any, Any]]] = {}
    times: dict[str, dict[str, npt.NDArray[Any] | None]] = {}
    items: dict[str, list[ScoredSeries]] = {}
    notes: list[str] = []
    sources: list[tuple[Source, Layout, list[str]]] = []
    found: list[str] = []
    paths = expand(files)
    for path in paths:
        source = open_table(path)
        layout = layout_of_one(find_layout(source, **selection.columns), selection.columns, len(paths))
        notes += layout.notes
        taken: list[str] = []
        for item in scored_series(source, layout):
            found.append(item.title)
            if selection.only is not None and item.title not in selection.only:
                continue
            if selection.only_series in (None, item.series):
                checked = item.checked(allow_missing=selection.missing != "error")
                parts.setdefault(item.title, []).append((item.series, *checked))
                items.setdefault(item.title, []).append(item)
                times.setdefault(item.title, {})[item.series] = None if layout.time_guessed else _axis(item)
                taken.append(item.title)
        if taken:
            sources.append((source, layout, taken))
    missing = [name for name in selection.only or () if name not in found]
    if missing:
        known = ", ".join(dict.fromkeys(found))
        raise TableError(f"there is no detector named {missing[0]!r} in {files[0]}; there are {known}")
    if not parts:
        raise TableError(f"{files[0]} holds no series named {selection.only_series!r}")
    first, *others = parts
    for other in others:
        _check_same_steps(first, parts[first], other, parts[other])
    order = [name for name, _, _ in parts[first]]
    sizes = [labels.size for _, labels, _ in parts[first]]
    by_series = {name: {part: scores for part, _, scores in several} for name, several in parts.items()}
    scores = {name: np.concatenate([known[part] for part in order]) for name, known in by_series.items()}
    clocks = [clock for name in order if (clock := times[first][name]) is not None]
    return Drawable(
        np.concatenate([labels for _, labels, _ in parts[first]]),
        np.repeat(np.arange(len(sizes)), sizes) if len(sizes) > 1 else None,
        scores,
        None if selection.value is None else _extra_column(*sources[0], selection.value, order),
        np.concatenate(clocks) if clocks else None,
        tuple(notes),
        {"missing": selection.missing, **clock_and_ignored(items[first], selection.needs_times)},
    )


def _check_same_steps(first: str, expected: list[tuple[str, Any, Any]], other: str, found: list[Any]) -> None:
    from pateval.io import TableError

    labels = {name: labels for name, labels, _ in found}
    for name, truth, _ in expected:
        if name not in labels or not np.array_equal(labels[name], truth):
            raise TableError(
                f"detectors {first!r} and {other!r} do not have the same labels on series {name!r}; draw one at a time "
                "with --only"
            )


def _extra_column(source: Source, layout: Layout, detectors: list[str], column: str, order: list[str]) -> Any:
    """A further column of the first file, row by row like its scores."""
    from pateval.io import TableError, scored_series

    if column not in source.kinds():
        raise TableError(f"{source.where}: there is no column {column!r}; its columns are {', '.join(source.kinds())}")
    parts = {
        item.series: item.scores
        for item in scored_series(source, replace(layout, scores=(column,), named_by_file=True))
        if layout.detector is None or item.title == detectors[0]
    }
    if layout.series is None:  # one series, which may have another name when it is read for this column
        return next(iter(parts.values()))
    return np.concatenate([parts[name] for name in order])


def _axis(item: ScoredSeries) -> npt.NDArray[Any] | None:
    """Times as an axis draws them: dates, or numbers as they stand."""
    times = item.times
    return times.view("datetime64[ns]") if times is not None and item.has_dates else times


class SavedRanks:
    """Mean ranks from the folder of a leaderboard."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ranks(self, metric: str | None = None) -> Any:
        """Table with the columns metric, detector, mean_rank; all metrics, or one."""
        import pyarrow.compute as pc
        from pyarrow import csv

        table = csv.read_csv(self._path)
        return table if metric is None else table.filter(pc.equal(table["metric"], metric))


def saved_ranks(files: Sequence[str]) -> SavedRanks | None:
    """Ranks that a leaderboard has written, where the one path given is its folder."""
    path = Path(files[0]) / "ranks.csv"
    return SavedRanks(path) if len(files) == 1 and path.is_file() else None


def saved_significance(files: Sequence[str], metric: str | None) -> Any:
    """Tests of one metric that a leaderboard has written, where the one path given is its folder.

    Without a metric they are those of the metric that the leaderboard ranks by.
    """
    from pateval.io import TableError

    path = Path(files[0]) / "significance.json"
    if len(files) != 1 or not path.is_file():
        return None
    tests = json.loads(path.read_text(encoding="utf-8"))
    if metric is None:
        described = Path(files[0]) / "run.json"
        metric = json.loads(described.read_text(encoding="utf-8")).get("rank_by") if described.is_file() else None
        metric = metric or next(iter(tests))
    if metric not in tests:
        raise TableError(f"{path} holds no tests of {metric!r}; it has {', '.join(tests)}")
    found = tests[metric]
    nan = float("nan")
    found["mean_ranks"] = [nan if rank is None else rank for rank in found["mean_ranks"]]
    found["nemenyi_difference"] = nan if found["nemenyi_difference"] is None else found["nemenyi_difference"]
    return SimpleNamespace(**found)
