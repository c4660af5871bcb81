"""Is a saved leaderboard what its inputs give? Values are computed again from the files it names, some or all of them.

Digests that were stored beside the values only tell which file changed. What decides is the number that comes out of
the inputs now, so a value that was changed by hand is found even where all digests were rewritten to match. What
follows from the values, such as ranks and tests, is made again from them always; see
`pateval.leaderboards.saved_tables`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io import TableError, open_table, saved_layout
from pateval.io.source import is_missing
from pateval.leaderboards.executors import WorkerPool
from pateval.leaderboards.plan import Plan, plan_of
from pateval.leaderboards.run import choose, compute, facts_of
from pateval.leaderboards.saved_tables import (
    Difference,
    Key,
    SavedCell,
    cell_number,
    cells_of,
    compare_tables,
    first_difference,
    read_chance,
    read_csv,
    read_parquet,
    same,
)
from pateval.output.frame_builder import build_frame
from pateval.output.results import Result
from pateval.output.text_table import plain
from pateval.validation.arrays import count, non_negative_integer, positive_integer
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pateval.leaderboards.progress import Report
    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.tasks import Settings

SAMPLE = 200
_SURE = 0.95
_SHOWN = 20


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
                f"probability of {100 * _SURE:.0f} %; --all leaves no doubt, and also computes pooled values and moved "
                f"labels again"
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
        Values, signatures, chance and the digests of the inputs, of the sample or of everything; and all tables that
        follow from the values. Pooled values and moved labels are computed again with ``all`` only.

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
    scores = read_parquet(target / "scores.parquet", "detector", "series", "metric", "value", "reason", "signature")
    saved = cells_of(scores)
    settings = _settings(target, run, everything=all)
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
    values = 0
    if chosen:
        with WorkerPool(None, None if workers is None else count(workers, "workers")) as pool:
            board = compute(
                _part(plan, chosen), settings, pool=pool, rank_by=run["rank_by"], keep_going=True, progress=progress
            )
        computed = cells_of(board.scores)
        values = sum(map(len, computed.values()))
        differences += [Difference("input", line) for line in board.failures]
        differences += _compare_digests(target, board)
        for key, cells in computed.items():
            differences += _compare_cells(key, saved[key], cells)
        differences += _compare_chance(target, board)
        differences += _compare_whole(target, board, complete=all and not missing and computed.keys() == saved.keys())
    differences += compare_tables(target, run, scores, facts_of(settings))
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
    needed = ("reading", "parameters", "metrics", "chance_draws", "event_draws")
    if not run.get("metrics") or not run.get("reading") or any(name not in run for name in needed):
        raise TableError(f"{folder}: run.json does not say how the inputs were read; compute the leaderboard again")
    return run


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


def _settings(folder: Path, run: Mapping[str, Any], *, everything: bool) -> Settings:
    """Return what was computed; doubt about the labels takes as long as all the rest, and is left out of a sample."""
    parameters = {name: value for name, value in run["parameters"].items() if value is not None}
    doubt = (run.get("doubt") if everything else None) or {}
    if doubt:
        parameters |= {"doubt": doubt["amount"], "doubt_draws": doubt["draws"]}
    try:
        settings = choose(
            metrics=run["metrics"],
            chance=run["chance_draws"],
            event_draws=run["event_draws"],
            seed=run["seed"],
            **parameters,
        )
    except (TypeError, ValueError) as error:
        raise TableError(f"{folder}: its metrics cannot be computed here: {error}") from error
    return replace(settings, event_metrics=tuple(run["event_metrics"]), doubt_metrics=tuple(doubt.get("metrics", ())))


def _compare_digests(folder: Path, board: Leaderboard) -> list[Difference]:
    stored = read_csv(folder / "contents.csv")
    digests = {(row["detector"], row["series"], row.get("run") or ""): row["digest"] for row in stored}
    differences = []
    for row in board.content_table().to_pylist():
        key = row["detector"], row["series"], row.get("run") or ""
        if digests.get(key) != row["digest"]:
            differences.append(
                Difference("input", f"{_name(key)}: its input is not the one the leaderboard was computed from")
            )
    return differences


def _compare_pairs(saved: set[Key], given: set[Key], *, complete: bool) -> list[Difference]:
    """Pairs that only the inputs have, or only the leaderboard."""
    lines = [Difference("pair", f"{_name(key)}: in the inputs, but not in the leaderboard") for key in given - saved]
    if complete:
        lost = "in the leaderboard, but not in the inputs"
        lines += [Difference("pair", f"{_name(key)}: {lost}") for key in saved - given]
    return sorted(lines)


def _compare_cells(key: Key, saved: Mapping[str, SavedCell], computed: Mapping[str, SavedCell]) -> list[Difference]:
    found = []
    for metric, cell in computed.items():
        if metric not in saved:
            found.append(Difference("value", f"{_name(key)}: the leaderboard lacks {metric}"))
            continue
        stored = saved[metric]
        if _definition(stored.signature) != _definition(cell.signature):
            found.append(
                Difference(
                    "definition",
                    f"{_name(key)}: {metric} is of another definition, {in_words(_definition(stored.signature))}; "
                    f"here it is {in_words(_definition(cell.signature))}",
                )
            )
        for what, old, new in ((metric, stored.value, cell.value), ("coverage", stored.coverage, cell.coverage)):
            if not same(old, new):
                found.append(Difference("value", f"{_name(key)}: {what} is {_text(old)}; the inputs give {_text(new)}"))
    return found


def _compare_chance(folder: Path, board: Leaderboard) -> list[Difference]:
    """Compare what random scores reach on the series that were computed again."""
    saved = read_chance(folder)
    if saved is None or board.chance is None:  # a file that is missing is told with the other tables
        return []
    found: dict[str, None] = {}
    for d, s in np.argwhere(board.chance.rows >= 0).tolist():
        detector, series = board.detectors[d], board.series[s]
        stored = saved.get((detector, series)) or saved.get(("", series)) or {}
        for metric, level in zip(board.metrics, board.chance.levels[board.chance.rows[d, s]].tolist(), strict=True):
            if not same(stored.get(metric), level):
                written = _text(stored.get(metric))
                found[f"chance.parquet: {metric} on {series} is {written}; the inputs give {_text(level)}"] = None
    return [Difference("chance", sentence) for sentence in found]


def _compare_whole(folder: Path, board: Leaderboard, *, complete: bool) -> list[Difference]:
    """Compare what does not follow from the values of single series.

    Limits over the events of a single series need its detector alone; values over all series together, and moved
    labels, need everything.
    """
    summary = read_csv(folder / "summary.csv")
    lines: list[str] = []
    for row in summary:
        key = row.get("detector", ""), row.get("metric", "")
        given: dict[str, float | None] = {}
        if key in board.intervals:
            given |= dict(zip(("low", "high"), board.intervals[key], strict=True))
        if complete:
            given["pooled"] = board.pooled.get(key)
        for column, value in given.items():
            written = cell_number(row.get(column) or "")
            if not same(written, value):
                lines.append(
                    f"summary.csv: {column} of {key[0]} under {key[1]} is {_text(written)}; the inputs "
                    f"give {_text(value)}"
                )
    if complete and board.doubt is not None and (folder / "doubt.parquet").is_file():
        drawn, saved = board.doubt.draw_table().to_pylist(), read_parquet(folder / "doubt.parquet").to_pylist()
        lines += first_difference("doubt.parquet", "the inputs give", drawn, saved, ("metric", "detector", "draw"))
    return [Difference("value", line) for line in lines]


def _definition(signature: str) -> str:
    """A signature without the version of the package: definitions go up when numbers change."""
    return "|".join(part for part in (signature or "").split("|") if not part.startswith("pateval:"))


def _name(key: Key) -> str:
    detector, series, run = key
    return f"{detector} on {series}" + (f", run {run}" if run else "")


def _text(value: float | None) -> str:
    return "undefined" if is_missing(value) else f"{value:.12g}"
