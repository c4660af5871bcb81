"""The labels and scores behind a leaderboard, read again, and checked to be the same."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pateval.io import Layout, Source, Table, TableError, Unit, list_units, open_table, read_units, saved_layout
from pateval.leaderboards.cache import content_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.leaderboards.plan import Plan
    from pateval.validation.arrays import BoolArray

_STEPS_AT_ONCE = 20_000_000  # scores in memory at once; a file of which more are wanted is read several times
_VALUE_NAMES = ("value", "values", "data")


class Input(NamedTuple):
    """One file or table, how it is read, and which series of which detectors it holds."""

    source: Source | Path
    layout: Layout
    units: tuple[Unit, ...]


class Track(NamedTuple):
    """Labels and scores of one run of one detector on one series, as they were recorded.

    Attributes
    ----------
    labels, scores : ndarray
        At every step; scores are NaN where they are missing.
    ignore : ndarray of bool or None
        Steps to leave out.
    times : ndarray or None
        When each step was recorded: dates, or numbers.
    time_unit : str or None
        What one unit of times that are numbers is.
    """

    labels: BoolArray
    scores: npt.NDArray[np.float64]
    ignore: BoolArray | None = None
    times: npt.NDArray[Any] | None = None
    time_unit: str | None = None


Key = tuple[str, str]
"""A detector and its run; the run is empty where there is none."""
Digests = dict[tuple[str, Key], str]
"""A series, with a detector and its run, to what the content must be."""


@dataclass
class SeriesInput:
    """What is known of one series.

    Attributes
    ----------
    name : str
        Of the series.
    tracks : dict
        Detector and run to labels and scores.
    missing : dict
        Detector and run to the reason why there is nothing to show of it.
    values : ndarray or None
        The series itself, where a file has it.
    """

    name: str
    tracks: dict[Key, Track] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)
    values: npt.NDArray[np.float64] | None = None


def inputs_of_plan(plan: Plan) -> list[Input]:
    """Inputs of a leaderboard that was computed in this process."""
    units: dict[int, list[Unit]] = {}
    for job in plan.jobs:
        units.setdefault(job.source, []).append(job.unit)
    return [Input(plan.sources[number], plan.layouts[number], tuple(found)) for number, found in units.items()]


def inputs_of_folder(folder: Path, run: Mapping[str, Any]) -> tuple[list[Input], list[str]]:
    """Inputs that a saved leaderboard names, and a sentence for each that is gone.

    Parameters
    ----------
    folder : Path
        Where the leaderboard was saved; a relative path is looked up from where it was computed, from here, and from
        beside the folder.
    run : mapping
        The content of ``run.json``.
    """
    reading = run.get("reading")
    paths = run.get("inputs", [])
    if run.get("computed_elsewhere"):
        return [], []
    if not reading:
        return [], ["the leaderboard does not say how its inputs were read; compute it again to see them here"]
    layouts = [saved_layout(layout) for layout in reading["layouts"]]
    places = [Path(reading["directory"]), Path.cwd(), folder.parent, folder]
    inputs, problems = [], []
    for path, number in zip(paths, reading["layout_of_input"], strict=True):
        found = next((place / path for place in places if (place / path).exists()), None)
        if found is None:
            problems.append(f"{path} is gone, or was a table in memory")
            continue
        try:
            source = open_table(found)
            units = tuple(list_units(source, layouts[number]))
        except (TableError, KeyError) as error:
            problems.append(f"{path} can no longer be read: {error}")
            continue
        inputs.append(Input(found if isinstance(source, Table) else source, layouts[number], units))
    return inputs, problems


def saved_digests(folder: Path) -> Digests:
    """Read what each value of a saved leaderboard was computed from."""
    import pyarrow as pa
    from pyarrow import csv

    path = folder / "contents.csv"
    if not path.is_file():
        return {}
    names = ("detector", "series", "run", "digest")
    texts = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    rows = csv.read_csv(path, convert_options=texts).to_pylist()
    return {(row["series"], (row["detector"], row.get("run", ""))): row["digest"] for row in rows}


def read_inputs(
    inputs: Sequence[Input], series: Sequence[str], digests: Digests | None = None
) -> Iterator[SeriesInput]:
    """Read series after series, as many in one pass over the files as fit into memory.

    Parameters
    ----------
    inputs : sequence of Input
        Where they are.
    series : sequence of str
        Their names, in the order wanted.
    digests : mapping, optional
        For each detector and series what its content must be; whatever differs is left out with a reason.
    """
    steps = dict.fromkeys(series, 0)
    for of_source in inputs:
        for unit in of_source.units:
            if unit.series in steps:
                steps[unit.series] += unit.steps
    group: list[str] = []
    total = 0
    for name in series:
        if group and total + steps[name] > _STEPS_AT_ONCE:
            yield from _read_group(inputs, group, digests)
            group, total = [], 0
        group.append(name)
        total += steps[name]
    if group:
        yield from _read_group(inputs, group, digests)


def _read_group(inputs: Sequence[Input], names: Sequence[str], digests: Digests | None) -> Iterator[SeriesInput]:
    found = {name: SeriesInput(name) for name in names}
    for of_source in inputs:
        units = [unit for unit in of_source.units if unit.series in found]
        if not units:
            continue
        try:
            source = open_table(of_source.source) if isinstance(of_source.source, Path) else of_source.source
            for item in read_units(source, of_source.layout, units):
                entry, key = found[item.series], (item.detector, item.run)
                try:
                    labels, scores = item.checked(allow_missing=True)
                    ignore, times = item.ignore, item.times
                except TableError as error:
                    entry.missing[key] = str(error)
                    continue
                if labels.ndim != 1:
                    entry.missing[key] = "labels of several channels are not drawn"
                    continue
                if digests is not None and digests.get((item.series, key)) != content_digest(labels, scores):
                    entry.missing[key] = f"{item.where} has changed since the leaderboard was computed"
                    continue
                if times is not None and item.has_dates:
                    times = times.astype("datetime64[ns]")
                entry.tracks[key] = Track(labels, scores.astype(np.float64), ignore, times, item.unit_of_numbers)
            _read_values(source, of_source.layout, units, found)
        except (TableError, OSError) as error:
            for unit in units:
                if (unit.detector, unit.run) not in found[unit.series].tracks:
                    found[unit.series].missing[unit.detector, unit.run] = str(error)
    yield from found.values()


def _read_values(source: Source, layout: Layout, units: Sequence[Unit], found: Mapping[str, SeriesInput]) -> None:
    """Read the series itself, where the file has a column for it, from its first detector's rows."""
    column = _value_column(source, layout)
    if column is None:
        return
    first: dict[str, Unit] = {}
    for unit in units:
        entry = found[unit.series]
        if (unit.detector, unit.run) in entry.tracks and entry.values is None and unit.series not in first:
            first[unit.series] = replace(unit, score=column)
    for item in read_units(source, layout, list(first.values())):
        with suppress(TypeError, ValueError):
            # None becomes NaN; what is no number leaves the series without values.
            found[item.series].values = item.scores.astype(np.float64)


def _value_column(source: Source, layout: Layout) -> str | None:
    taken = {layout.label, layout.series, layout.detector, layout.time, layout.ignore, *layout.scores}
    for column, kind in source.kinds().items():
        if column.strip().lower() in _VALUE_NAMES and kind == "number" and column not in taken:
            return column
    return None


def read_run(folder: Path) -> dict[str, Any]:
    """Read what a saved leaderboard says of itself."""
    path = folder / "run.json"
    if not path.is_file() or not (folder / "scores.parquet").is_file():
        raise TableError(
            f"{folder}: not a leaderboard folder, which has run.json and scores.parquet; make one with "
            f"'pateval leaderboard FILE... -o {folder}'"
        )
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TableError(f"{path}: not readable as JSON ({error})") from error
    return found
