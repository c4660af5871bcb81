"""The figure of score segments: what trained detectors say around a few events, under their numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pateval import plots
from pateval.labels.events import count_inside, find_events
from pateval.metrics import point_adjusted
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
from pateval.paper.inputs import Scored, required_runs, starts_of
from pateval.paper.paper_tables import IMPACT_BUFFER
from pateval.paper.ranks import SPIKY
from pateval.pate.score import pate

# The paper draws SWaT and SMD; SWaT is not public, and MSL stands in for it.
WANTED = ("SWaT", "SMD", "MSL")
DRAWN_IN_PAPER = ("SWaT", "SMD")
LENGTH = 3000
STRETCHES = 2
_LONG = 30  # steps: shorter events cannot be seen in the figure
_CUT = 4.0  # times the threshold
_INSIDE = "share of alarms in events"

Stretches = list[tuple[int, int]]


def segments(settings: ExperimentSettings) -> Report:
    """Choose the stretches with most events and look at them."""
    scored = {
        name: {detector: first for detector, (first, *_) in runs.items()}
        for name, runs in required_runs("segments", settings, WANTED).items()
    }
    limits = {name: choose_stretches(_shortest(detectors)) for name, detectors in scored.items()}
    rows = [_row(run, limits[name]) for name, detectors in scored.items() for run in detectors.values()]
    inside = {name: {row["detector"]: row[_INSIDE] for row in rows if row["data set"] == name} for name in scored}
    drawn = [
        {"data set": name, "first step": start, "last step": stop - 1}
        for name, stretches in limits.items()
        for start, stop in stretches
    ]
    shown = "stretches of the scores of the five detectors"
    return Report(
        "segments",
        {"inside": inside, "length": LENGTH, "long": _LONG, "stretches": STRETCHES, "cut": _CUT},
        tables=[
            PageTable("segments", "The detectors in the stretches drawn", rows, decimals=3),
            PageTable("stretches", "The stretches", drawn),
        ],
        figures=[
            Figure(f"segments-{name.lower()}", f"{name}: {shown}.", partial(draw, detectors, limits[name]))
            for name, detectors in scored.items()
        ],
        verdicts=[_verdict(name, inside[name]) for name in scored],
        missing=[] if "SWaT" in scored else ["SWaT's stretch: the data are given out on request only"],
    )


def _shortest(detectors: dict[str, Scored]) -> Scored:
    """Detectors with other windows drop other tails: the stretches lie where all of them have scores."""
    return min(detectors.values(), key=lambda run: run.labels.size)


def choose_stretches(scored: Scored) -> Stretches:
    """The stretches that hold most whole events of at least 30 steps, one per series, in order of time.

    Each begins a tenth of its length before an event; among equals the first is taken.
    """
    starts = starts_of(scored.series)
    ends = np.append(starts[1:], scored.labels.size)
    candidates = []
    for low, high in zip(starts.tolist(), ends.tolist(), strict=True):
        events = find_events(scored.labels[low:high])
        long = events.lengths >= _LONG
        best = (0, 0)
        for begin in events.starts[long].tolist():
            first = max(0, min(begin - LENGTH // 10, high - low - LENGTH))
            held = int(np.count_nonzero(long & (events.starts >= first) & (events.stops <= first + LENGTH)))
            best = max(best, (held, -first))
        if best[0] and high - low >= LENGTH // 3:
            candidates.append((best[0], low - best[1], min(low - best[1] + LENGTH, high)))
    candidates.sort(key=lambda candidate: (-candidate[0], candidate[1]))
    return sorted((start, stop) for _, start, stop in candidates[:STRETCHES])


def _row(scored: Scored, stretches: Stretches) -> Row:
    """Values of a detector over the stretches drawn: alarms are runs of flagged steps."""
    steps = np.concatenate([np.arange(start, stop) for start, stop in stretches])
    pieces = np.repeat(np.arange(len(stretches)), [stop - start for start, stop in stretches])
    labels = scored.labels[steps]
    events = find_events(labels, starts_of(pieces))
    adjusted = share = length = inside = float("nan")
    touched = 0
    if scored.flagged is not None:
        flagged = scored.flagged[steps]
        alarms = find_events(flagged, starts_of(pieces))
        adjusted, share = point_adjusted(labels, flagged).f1, float(flagged[labels].mean())
        touched = int(np.count_nonzero(count_inside(flagged, events.starts, events.stops)))
        if len(alarms):
            length = float(alarms.lengths.mean())
            inside = float(np.mean(count_inside(labels, alarms.starts, alarms.stops) > 0))
    return {
        "data set": scored.dataset,
        "detector": scored.detector,
        "PATE": pate(labels, scored.scores[steps], early=IMPACT_BUFFER, delay=IMPACT_BUFFER, series=pieces),
        "PA-F1": adjusted,
        "events touched": touched,
        "events": len(events),
        "share of event steps flagged": share,
        "steps per alarm": length,
        _INSIDE: inside,
    }


def _verdict(dataset: str, inside: dict[str, float]) -> Verdict:
    """Whether the alarms of the two spiky detectors miss events more often than those of each other detector."""
    cells = [
        Cell(share, inside[spiky], "below")
        for spiky in SPIKY
        for other, share in inside.items()
        if spiky in inside and other not in SPIKY
    ]
    drawn = dataset in DRAWN_IN_PAPER
    values = {"dataset": dataset, "inside": inside, "spiky": SPIKY, "drawn": drawn}
    return Verdict("aligned", cells if drawn else None, values, one_seed=True)


def draw(detectors: dict[str, Scored], stretches: Stretches) -> Any:
    """Detectors by stretches; scores in units of the threshold, where there is a positive one."""
    first = _shortest(detectors)
    steps = first.labels.size
    scaled = {name: at for name, run in detectors.items() if (at := run.threshold) is not None and at > 0}
    return plots.segments(
        first.labels,
        {
            name: np.minimum(run.scores[:steps] / scaled[name], _CUT) if name in scaled else run.scores[:steps]
            for name, run in detectors.items()
        },
        limits=stretches,
        threshold=dict.fromkeys(scaled, 1.0),
        series=first.series,
    )
