"""Is a saved leaderboard what its inputs give? Values are computed again from the files it names, some or all of them.

Digests that were stored beside the values only tell which file changed. What decides is the number that comes out of
the inputs now, so a value that was changed by hand is found even where all digests were rewritten to match.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pateval._validation import count, non_negative_integer, positive_integer
from pateval._wording import in_words, one_line
from pateval.io import TableError, open_table, saved_layout
from pateval.io.frame_builder import build_frame
from pateval.io.source import is_missing
from pateval.io.text_table import plain
from pateval.leaderboards.executors import WorkerPool
from pateval.leaderboards.plan import Plan, plan_of
from pateval.leaderboards.run import choose, compute
from pateval.results import Result

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pateval.leaderboards.progress import Report

SAMPLE = 200
_TOLERANCE = 1e-9  # Other versions of NumPy round sums otherwise; a change by hand is larger.
_SURE = 0.95
_SHOWN = 20
Key = tuple[str, str, str]
"""A detector, a series and a run; the run is empty where there is none."""


class Difference(NamedTuple):
    """One thing that is not as the inputs give it: what it is about, and a sentence."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class Verification(Result):
    """What came of computing a leaderboard again.

    Attributes
    ----------
    folder : str
        The leaderboard.
    differences : tuple of Difference
        What does not agree; empty where everything does.
    checked, pairs : int
        How many pairs of a detector and a series were computed again, and how many there are.
    values : int
        How many values that were.
    detectable : float
        The share of wrong pairs from which on the sample would have met one with a probability of 95 %; 0 where all
        were computed again.
    """

    folder: str
    differences: tuple[Difference, ...]
    checked: int
    pairs: int
    values: int
    detectable: float

    @property
    def agrees(self) -> bool:
        """Whether nothing was found to differ."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry."""
        found: dict[str, Any] = plain(
            {
                "folder": self.folder,
                "agrees": self.agrees,
                "checked": self.checked,
                "pairs": self.pairs,
                "values": self.values,
                "detectable_share": self.detectable,
                "differences": [difference._asdict() for difference in self.differences],
            }
        )
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per difference.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        columns = {name: [getattr(difference, name) for difference in self.differences] for name in Difference._fields}
        return build_frame(columns, backend)

    def __repr__(self) -> str:
        lines = [difference.sentence for difference in self.differences[:_SHOWN]]
        if len(self.differences) > _SHOWN:
            lines.append(f"and {len(self.differences) - _SHOWN:,} more")
        how_many = f"{self.checked:,} of {self.pairs:,} pairs of a detector and a series, {self.values:,} values"
        if not self.agrees:
            return "\n".join([*lines, f"{self.folder} is not what its inputs give (computed again: {how_many})"])
        lines.append(f"{self.folder} is what its inputs give, as far as computed again: {how_many}")
        if self.detectable:
            lines.append(
                f"had {100 * self.detectable:.2g} % of the pairs a wrong value, this sample would have met one with a "
                f"probability of {100 * _SURE:.0f} %; --all leaves no doubt"
            )
        return "\n".join(lines)


def verify(
    folder: str | os.PathLike[str],
    *,
    all: bool = False,  # noqa: A002  # as on the command line
    sample: int = SAMPLE,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | Report | None = None,
) -> Verification:
    r"""Compute a saved leaderboard again from the inputs it names, and compare.

    Parameters
    ----------
    folder : path
        What ``leaderboard(..., output=folder)`` or ``pateval leaderboard -o`` wrote.
    all : bool
        Compute everything again instead of a sample.
    sample : int
        How many pairs of a detector and a series to compute again.
    seed : int
        Seed of the sample.
    workers : int, optional
        Processes, as in :func:`pateval.leaderboard`.
    progress : bool or callable, optional
        Likewise.

    Returns
    -------
    Verification
        Values, signatures, digests of the inputs, and the tables that follow from the values.

    Raises
    ------
    TableError
        If the folder holds no leaderboard, or one whose inputs cannot be read again.

    Examples
    --------
    >>> import tempfile
    >>> import pateval as pv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "scores.csv").write_text("label,a,b\n0,0.1,0.3\n1,0.9,0.2\n0,0.2,0.1\n")
    ...     _ = pv.leaderboard(f"{folder}/scores.csv", metrics="auc_roc", chance=0, output=f"{folder}/board")
    ...     found = pv.verify(f"{folder}/board", all=True)
    >>> found.agrees, found.values
    (True, 2)
    """
    target = Path(folder)
    run = _read_run(target)
    saved = _read_scores(target)
    plan, missing = _saved_plan(target, run)
    keys = _keys(plan)
    differences = [Difference("input", sentence) for sentence in missing]
    differences += _compare_pairs(set(saved), set(keys), complete=not missing)
    places = [place for place, key in enumerate(keys) if key in saved]
    chosen = places if all else _sample(places, positive_integer(sample, "sample"), non_negative_integer(seed, "seed"))
    if run["parameters"].get("missing") == "ignore":
        # What is missing in one detector is left out for all of the series, so they are computed together.
        series = {keys[place][1] for place in chosen}
        chosen = [place for place in places if keys[place][1] in series]
    computed: dict[Key, dict[str, Any]] = {}
    if chosen:
        computed, more = _compute(_part(plan, chosen), run, target, workers, progress)
        differences += more
    values = 0
    for key, cells in computed.items():
        values += len(cells)
        differences += _compare_cells(key, saved[key], cells)
    differences += _compare_tables(target, saved)
    wrong = 0.0 if len(chosen) == len(places) else detectable_share(len(places), len(chosen))
    return Verification(str(folder), tuple(differences), len(chosen), len(places), values, wrong)


def detectable_share(pairs: int, checked: int) -> float:
    """Return the smallest share of wrong pairs of which a sample meets one with a probability of 95 %.

    Examples
    --------
    >>> detectable_share(100, 100), round(detectable_share(10_000, 200), 4)
    (0.01, 0.0148)
    """
    if not checked:
        return 1.0
    miss, wrong = 1.0, 0
    while miss > 1 - _SURE and wrong < pairs:
        # Drawn without replacement: the sample misses one more wrong pair with this conditional probability.
        miss *= max(0.0, (pairs - checked - wrong) / (pairs - wrong))
        wrong += 1
    return wrong / pairs


def _read_run(folder: Path) -> dict[str, Any]:
    try:
        run: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise TableError(
            f"{folder}: no leaderboard, which has run.json and scores.parquet; make one with "
            f"'pateval leaderboard FILE... -o {folder}'"
        ) from None
    if run.get("computed_elsewhere"):
        raise TableError(f"{folder}: its values were computed elsewhere, so there are no inputs to compute them from")
    if not run.get("reading") or "parameters" not in run or not run.get("metrics"):
        raise TableError(f"{folder}: run.json does not say how the inputs were read; compute the leaderboard again")
    return run


def _read_scores(folder: Path) -> dict[Key, dict[str, Any]]:
    """Saved values: for each pair, metric to (value, reason, signature)."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        rows = parquet.read_table(folder / "scores.parquet").to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{folder}/scores.parquet: {one_line(error, 150)}") from error
    found: dict[Key, dict[str, Any]] = {}
    for row in rows:
        cells = found.setdefault((row["detector"], row["series"], row.get("run") or ""), {})
        cells[row["metric"]] = (row["value"], row["reason"], row["signature"])
    return found


def _saved_plan(folder: Path, run: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """Open the inputs as they were read before; returns sentences for those that are gone."""
    reading = run["reading"]
    layouts = [saved_layout(layout) for layout in reading["layouts"]]  # with the events that were read from a file then
    places = [Path(reading["directory"]), Path.cwd(), folder.parent, folder]
    opened, problems = [], []
    for path, number in zip(run["inputs"], reading["layout_of_input"], strict=True):
        found = next((place / path for place in places if (place / path).exists()), None)
        if found is None:
            problems.append(f"{path}: the input is gone, or was a table in memory")
            continue
        try:
            opened.append((open_table(found), layouts[number]))
        except TableError as error:
            problems.append(f"{path}: the input can no longer be read: {error}")
    if not opened:
        raise TableError(f"{folder}: none of its inputs can be read again; {problems[0]}")
    try:
        return plan_of(opened), problems
    except (TableError, KeyError) as error:
        raise TableError(f"{folder}: its inputs can no longer be read as they were: {error}") from error


def _keys(plan: Plan) -> list[Key]:
    return [(job.detector, job.series, job.run) for job in plan.jobs]


def _sample(places: Sequence[int], size: int, seed: int) -> list[int]:
    if size >= len(places):
        return list(places)
    drawn = np.random.default_rng(seed).choice(len(places), size, replace=False)
    return [places[place] for place in sorted(drawn.tolist())]


def _part(plan: Plan, chosen: Sequence[int]) -> Plan:
    jobs = plan.jobs
    arrays = {
        field.name: getattr(jobs, field.name)[list(chosen)]
        for field in fields(jobs)
        if isinstance(getattr(jobs, field.name), np.ndarray)
    }
    # Names that no job has any longer would be detectors and series without values.
    names: dict[str, Any] = {}
    for axis, codes in (("detectors", "detector_code"), ("series", "series_code"), ("runs", "run_code")):
        used, numbers = np.unique(arrays[codes], return_inverse=True)
        names[axis] = tuple(getattr(jobs, axis)[code] for code in used)
        arrays[codes] = numbers.astype(np.int32)
    return replace(plan, jobs=replace(jobs, **arrays, **names))


def _compute(
    plan: Plan, run: Mapping[str, Any], folder: Path, workers: int | None, progress: bool | Report | None
) -> tuple[dict[Key, dict[str, Any]], list[Difference]]:
    """Compute the values of a plan with the parameters of a run; also compare the digests of its inputs."""
    parameters = {name: value for name, value in run["parameters"].items() if value is not None}
    try:
        settings = choose(metrics=run["metrics"], chance=0, event_draws=0, **parameters)
    except (TypeError, ValueError) as error:
        raise TableError(f"{folder}: its metrics cannot be computed here: {error}") from error
    with WorkerPool(None, None if workers is None else count(workers, "workers")) as pool:
        board = compute(plan, settings, pool=pool, keep_going=True, progress=progress)
    found: dict[Key, dict[str, Any]] = {}
    for row in board.scores.to_pylist():
        cells = found.setdefault((row["detector"], row["series"], row.get("run") or ""), {})
        cells[row["metric"]] = (row["value"], row["reason"], row["signature"])
    differences = [Difference("input", line) for line in board.failures]
    stored = _read_csv(folder / "contents.csv")
    digests = {(row["detector"], row["series"], row.get("run") or ""): row["digest"] for row in stored}
    for row in board.content_table().to_pylist():
        key = row["detector"], row["series"], row.get("run") or ""
        if digests.get(key) != row["digest"]:
            differences.append(
                Difference("input", f"{_name(key)}: its input is not the one the leaderboard was computed from")
            )
    return found, differences


def _compare_pairs(saved: set[Key], given: set[Key], *, complete: bool) -> list[Difference]:
    """Pairs that only the inputs have, or only the leaderboard."""
    lines = [Difference("pair", f"{_name(key)}: in the inputs, but not in the leaderboard") for key in given - saved]
    if complete:
        lost = "in the leaderboard, but not in the inputs"
        lines += [Difference("pair", f"{_name(key)}: {lost}") for key in saved - given]
    return sorted(lines)


def _compare_cells(key: Key, saved: Mapping[str, Any], computed: Mapping[str, Any]) -> list[Difference]:
    found = []
    for metric, (value, _, signature) in computed.items():
        if metric not in saved:
            found.append(Difference("value", f"{_name(key)}: the leaderboard lacks {metric}"))
            continue
        stored, _, stored_signature = saved[metric]
        if _definition(stored_signature) != _definition(signature):
            found.append(
                Difference(
                    "definition",
                    f"{_name(key)}: {metric} is of another definition, {in_words(_definition(stored_signature))}; "
                    f"here it is {in_words(_definition(signature))}",
                )
            )
        if not _same(stored, value):
            found.append(
                Difference("value", f"{_name(key)}: {metric} is {_text(stored)}; the inputs give {_text(value)}")
            )
    return found


def _compare_tables(folder: Path, saved: Mapping[Key, Mapping[str, Any]]) -> list[Difference]:
    """Whether the tables beside the scores follow from them: scores.csv, and the means of summary.csv."""
    found = []
    rows = {
        (row["detector"], row["series"], row.get("run") or "", row["metric"]): row["value"]
        for row in _read_csv(folder / "scores.csv")
    }
    for key, cells in saved.items():
        for metric, (value, *_) in cells.items():
            written = rows.get((*key, metric), "absent")
            if written == "absent" or not _same(_number(written), value):
                found.append(Difference("table", f"scores.csv: {metric} of {_name(key)} is not that of scores.parquet"))
    by_series: dict[tuple[str, str, str], list[float]] = {}
    for (detector, series, _), cells in saved.items():
        for metric, (value, *_) in cells.items():
            if not is_missing(value):
                by_series.setdefault((detector, metric, series), []).append(value)
    means: dict[tuple[str, str], list[float]] = {}
    for (detector, metric, _), values in by_series.items():
        means.setdefault((detector, metric), []).append(float(np.mean(values)))
    for row in _read_csv(folder / "summary.csv"):
        expected = means.get((row["detector"], row["metric"]))
        if not _same(_number(row["mean"]), float(np.mean(expected)) if expected else None):
            found.append(
                Difference("table", f"summary.csv: the mean {row['metric']} of {row['detector']} is not of the scores")
            )
    return found


def _read_csv(path: Path) -> list[dict[str, str]]:
    import csv

    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same(first: float | None, second: float | None) -> bool:
    first, second = (None if is_missing(value) else value for value in (first, second))
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def _definition(signature: str) -> str:
    """A signature without the version of the package: definitions go up when numbers change."""
    return "|".join(part for part in (signature or "").split("|") if not part.startswith("pateval:"))


def _name(key: Key) -> str:
    detector, series, run = key
    return f"{detector} on {series}" + (f", run {run}" if run else "")


def _text(value: float | None) -> str:
    return "undefined" if is_missing(value) else f"{value:.12g}"
