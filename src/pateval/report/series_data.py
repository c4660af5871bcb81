"""The labels and scores behind a leaderboard, series by series, as they were evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.evaluation.files import recording_of
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import MOSTLY_MISSING
from pateval.io import Layout, Source, TableError, Unit, open_table, read_units, saved_plan
from pateval.io.plan import Plan
from pateval.io.series import ScoredSeries
from pateval.io.units import read_jobs
from pateval.leaderboards.cache import content_digest
from pateval.leaderboards.result import Leaderboard
from pateval.time.clocks import Clock
from pateval.time.timelines import Recording, leave_out_for_all

_STEPS_AT_ONCE = 20_000_000  # scores in memory at once; a file of which more are wanted is read several times
_VALUE_NAMES = ("value", "values", "data")

Key = tuple[str, str]
"""A detector and its run; the run is empty where there is none."""


class Track(NamedTuple):
    """One run of one detector on one series."""

    recording: Recording
    measures: Measures  # with the detector's own threshold where it has one
    clock: Clock | None = None  # when each recorded step was, for the axis; its unit may be unknown
    has_dates: bool = False  # whether the clock counts nanoseconds since 1970


@dataclass
class SeriesData:
    """What is known of one series: by detector and run, what to show, or why there is nothing."""

    name: str
    tracks: dict[Key, Track] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)
    values: npt.NDArray[np.float64] | None = None  # the series itself, where a file has it


def plan_of_inputs(board: Leaderboard, folder: Path | None = None) -> tuple[Plan | None, list[str]]:
    """Where the inputs of a leaderboard are, and a sentence for each that is gone.

    Relative paths are looked up from where the board was computed, from here, and from beside its folder.
    """
    reading = board.run.get("reading")
    if board.plan is not None or not reading:
        return board.plan, []
    return saved_plan(board.run, folder)


def read_series(board: Leaderboard, plan: Plan) -> Iterator[SeriesData]:
    """Read series after series, as many in one pass over the files as fit into memory.

    What differs from what the leaderboard was computed from is left out with a reason.
    """
    jobs = plan.jobs
    steps = np.bincount(jobs.series_code, jobs.steps, minlength=len(plan.series))
    places = {name: place for place, name in enumerate(plan.series)}
    group: list[int] = []
    for place in (places[name] for name in board.series if name in places):
        if group and steps[[*group, place]].sum() > _STEPS_AT_ONCE:
            yield from _read_group(board, plan, group)
            group = []
        group.append(place)
    yield from _read_group(board, plan, group)


def _read_group(board: Leaderboard, plan: Plan, places: Sequence[int]) -> Iterator[SeriesData]:
    by_series = {plan.series[place]: SeriesData(plan.series[place]) for place in places}
    wanted = np.flatnonzero(np.isin(plan.jobs.series_code, places))
    first: dict[str, Unit] = {}
    for source in np.unique(plan.jobs.source[wanted]).tolist():
        own = wanted[plan.jobs.source[wanted] == source].tolist()
        try:
            for item in read_jobs(plan, own):
                job = item.unit
                entry, key = by_series[job.series], (job.detector, job.run)
                try:
                    entry.tracks[key] = _track(board, item)
                    first.setdefault(job.series, job)
                except (TableError, ValueError, TypeError) as error:
                    entry.missing[key] = str(error)
            _read_values(plan, [job for job in first.values() if job.source == source], by_series)
        except (TableError, OSError) as error:
            for job in map(plan.jobs.__getitem__, own):
                if (job.detector, job.run) not in by_series[job.series].tracks:
                    by_series[job.series].missing[job.detector, job.run] = str(error)
    for entry in by_series.values():
        yield _on_the_same_steps(entry)


def _track(board: Leaderboard, item: ScoredSeries) -> Track:
    measures = board.measures
    if measures is None:
        raise ValueError("how the values were computed is not known here")
    recording = recording_of(item, measures)
    if recording.has_channels:
        raise ValueError("labels of several channels are not drawn")
    digest = board.digests.get((item.detector, item.series, item.run))
    if digest is not None and digest != content_digest(recording):
        raise ValueError(f"{item.where} has changed since the leaderboard was computed")
    clock = recording.clock
    if clock is None and item.times is not None:
        clock = Clock(item.times, None)
    if item.detector in board.predicting:
        recording = replace(recording, predictions=np.asarray(recording.scores == 1))
    return Track(recording, measures.of_detector(item.detector), clock, item.has_dates)


def _on_the_same_steps(entry: SeriesData) -> SeriesData:
    """Leave out for all detectors what one of them has no score for, where the leaderboard has done so."""
    entry.missing |= {key: MOSTLY_MISSING for key, track in entry.tracks.items() if track.recording.is_mostly_missing}
    recordings = leave_out_for_all([track.recording for track in entry.tracks.values()])
    entry.tracks = {
        key: track._replace(recording=recording)
        for (key, track), recording in zip(entry.tracks.items(), recordings, strict=True)
        if key not in entry.missing
    }
    return entry


def _read_values(plan: Plan, jobs: Sequence[Unit], found: dict[str, SeriesData]) -> None:
    """Read the series itself, where the file has a column for it, from the rows of its first detector."""
    if not jobs:
        return
    layout, opened = plan.layouts[jobs[0].source], plan.sources[jobs[0].source]
    source = open_table(opened) if isinstance(opened, Path) else opened
    column = _value_column(source, layout)
    if column is not None:
        for item in read_units(source, layout, [replace(job, score=column) for job in jobs]):
            with suppress(TypeError, ValueError):
                # None becomes NaN; what is no number leaves the series without values.
                found[item.series].values = item.scores.astype(np.float64)


def _value_column(source: Source, layout: Layout) -> str | None:
    taken = {layout.label, layout.series, layout.detector, layout.time, layout.ignore, *layout.scores}
    for column, kind in source.kinds().items():
        if column.strip().lower() in _VALUE_NAMES and kind == "number" and column not in taken:
            return column
    return None
