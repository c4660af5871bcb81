"""What ``pateval plot`` draws from: score files, labels, and the folder a leaderboard was written to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from pateval.evaluation.threshold_rules import ThresholdRule
    from pateval.io import ColumnNames, Layout, ScoredSeries, Source


@dataclass(frozen=True)
class Selection:
    """Which columns hold what, and which detectors and series are wanted.

    Attributes
    ----------
    columns : dict
        What the caller says about the columns, as `pateval.io.find_layout` takes it.
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
    values : ndarray or None
        The series itself, where asked for.
    axis : dict
        ``times`` and ``time_unit`` of the horizontal axis, where the files have times.
    notes : tuple of str
        What was guessed in reading, and what is left out.
    steps : dict
        Which steps count and when they were, as PATE takes it: ``times``, ``time_unit``, ``ignore`` and ``missing``.
        With several detectors a step that one of them has no score for is ignored for all, where such are ignored.
    origins : dict
        By detector: the file, series and run of each of its parts.
    """

    labels: npt.NDArray[np.bool_]
    series: npt.NDArray[np.intp] | None
    scores: dict[str, npt.NDArray[Any]]
    values: npt.NDArray[Any] | None
    axis: dict[str, Any]
    notes: tuple[str, ...]
    steps: dict[str, Any]
    origins: dict[str, list[tuple[str, str, str]]]

    def rule(self, detector: str, threshold: float | str) -> ThresholdRule:
        """Return the threshold of a detector as a rule, with what its files know of training scores.

        Raises
        ------
        TableError
            If its fits have thresholds of their own: a figure shows one.
        """
        from pateval.evaluation.threshold_rules import known_level, threshold_rule, uses_training_scores
        from pateval.evaluation.training_thresholds import level_in_file
        from pateval.io import TableError

        if not isinstance(threshold, str) or not uses_training_scores(threshold):
            return threshold_rule(threshold)
        origins = self.origins[detector]
        level, *others = {level_in_file(threshold, path, series=series, run=run) for path, series, run in origins}
        if others:
            raise TableError(
                f"{detector}: {threshold} gives each of its fits a threshold of its own, and a figure shows one; "
                "choose a series with --only-series"
            )
        return known_level(threshold, lambda _steps: level)

    @property
    def labels_that_count(self) -> npt.NDArray[np.bool_]:
        """Truth at the steps that are not left out."""
        return self.labels[~self.steps["ignore"]] if "ignore" in self.steps else self.labels


def read_drawable(files: Sequence[str], selection: Selection) -> Drawable:
    """Read the wanted detectors; they must lie on the same series with the same labels."""
    from pateval.cli.detector_data import clock_and_ignored, layout_of_one
    from pateval.io import TableError, expand, find_layout, open_table, scored_series

    parts: dict[str, list[tuple[str, Any, Any]]] = {}
    items: dict[str, list[ScoredSeries]] = {}
    notes: list[str] = []
    sources: list[tuple[Source, Layout, list[str]]] = []
    found: list[str] = []
    origins: dict[str, list[tuple[str, str, str]]] = {}
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
                origins.setdefault(item.title, []).append((str(path), item.series, item.run))
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
    steps = {"missing": selection.missing, **clock_and_ignored(items[first], selection.needs_times)}
    if selection.missing == "ignore":
        steps, note = _without_missing(scores, steps)
        notes += note
    return Drawable(
        np.concatenate([labels for _, labels, _ in parts[first]]),
        np.repeat(np.arange(len(sizes)), sizes) if len(sizes) > 1 else None,
        scores,
        None if selection.value is None else _extra_column(*sources[0], selection.value, order),
        _axis(items[first]),
        tuple(notes),
        steps,
        origins,
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


def _without_missing(scores: dict[str, npt.NDArray[Any]], steps: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Ignore the steps that some detector has no score for, and say how many they are."""
    size = next(iter(scores.values())).size
    ignored = steps.get("ignore", np.zeros(size, dtype=np.bool_))
    absent = np.zeros(size, dtype=np.bool_)
    for values in scores.values():
        absent |= np.isnan(values.astype(np.float64))
    absent &= ~ignored
    if not absent.any():
        return steps | {"missing": "error"}, []
    for_all = "" if len(scores) == 1 else ", for all detectors"
    note = f"{np.count_nonzero(absent):,} of {size:,} steps have no score: they are left out{for_all}"
    return steps | {"missing": "error", "ignore": ignored | absent}, [note]


def _axis(items: Sequence[ScoredSeries]) -> dict[str, Any]:
    """Times as an axis draws them: dates, or numbers as they stand where all are in the same unit."""
    if any(item.times is None for item in items) or len({(item.has_dates, item.time_unit) for item in items}) > 1:
        return {}
    times = np.concatenate([item.times for item in items])
    if items[0].has_dates:
        return {"times": times.view("datetime64[ns]")}
    return {"times": times, "time_unit": items[0].time_unit}


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
