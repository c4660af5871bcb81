"""The steps of a series that count, as a leaderboard has counted them: without what is ignored, on their clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.labels.events import Events
from pateval.leaderboards.steps import MOSTLY_MISSING
from pateval.report.inputs import Key, SeriesInput, Track
from pateval.time.timelines import read_scores
from pateval.validation.arrays import BoolArray, IntArray


class EvaluatedTrack(NamedTuple):
    """One run of one detector, less the steps that do not count.

    Attributes
    ----------
    labels, scores : ndarray
        At every step that counts; a score that is missing and counts as normal is negative infinity.
    events : Events
        Parted by what is left out and by long holes.
    breaks : list of int
        Steps that no zone reaches from before.
    step_numbers : ndarray of int or None
        Number of each step in the recording, where some are left out.
    times : ndarray or None
        When each step was recorded.
    """

    labels: BoolArray
    scores: npt.NDArray[np.float64]
    events: Events
    breaks: list[int]
    step_numbers: IntArray | None
    times: npt.NDArray[Any] | None


def evaluated_tracks(
    item: SeriesInput, parameters: Mapping[str, Any]
) -> tuple[dict[Key, EvaluatedTrack], dict[Key, str]]:
    """Leave out of every track what the leaderboard has left out; also return why a track cannot be shown."""
    missing = parameters.get("missing", "error")
    left_out = _missing_somewhere(item) if missing == "ignore" else {}
    tracks, reasons = {}, dict(item.missing)
    for key, track in item.tracks.items():
        if missing == "ignore" and _mostly_missing(track):
            reasons[key] = MOSTLY_MISSING
            continue
        mask = track.ignore
        if track.labels.size in left_out:
            mask = left_out[track.labels.size] if mask is None else mask | left_out[track.labels.size]
        try:
            tracks[key] = _evaluated(track, mask, missing, parameters.get("max_gap"))
        except (TypeError, ValueError) as error:
            reasons[key] = str(error)
    return tracks, reasons


def _evaluated(track: Track, mask: BoolArray | None, missing: str, max_gap: Any) -> EvaluatedTrack:
    clock: dict[str, Any] = {}
    if max_gap is not None:
        clock = {"times": track.times, "time_unit": track.time_unit, "max_gap": max_gap}
    labels, scores, timeline = read_scores(track.labels, track.scores, ignore=mask, missing=missing, **clock)
    times = track.times
    if times is not None and timeline.step_numbers is not None:
        times = times[timeline.step_numbers]
    return EvaluatedTrack(
        labels,
        scores.astype(np.float64),
        timeline.events(labels),
        timeline.stretches[1:].tolist(),
        timeline.step_numbers,
        times,
    )


def _missing_somewhere(item: SeriesInput) -> dict[int, BoolArray]:
    """For each length of the series the steps at which some detector has no score."""
    found: dict[int, BoolArray] = {}
    for track in item.tracks.values():
        if not _mostly_missing(track):
            absent = _absent(track)
            found[absent.size] = found[absent.size] | absent if absent.size in found else absent
    return found


def _absent(track: Track) -> BoolArray:
    absent = np.isnan(track.scores)
    return absent if track.ignore is None else absent & ~track.ignore


def _mostly_missing(track: Track) -> bool:
    remaining = track.labels.size - (0 if track.ignore is None else int(np.count_nonzero(track.ignore)))
    return 2 * int(np.count_nonzero(_absent(track))) > remaining
