"""The figure of score segments: what trained detectors say around a few events, under their numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pateval.kernels.coarse import CoarseScoresWarning
from pateval.labels.events import find_events
from pateval.metrics import point_adjusted
from pateval.paper.document import (
    ADDED,
    DIFFERS,
    OPEN,
    REPRODUCES,
    ExperimentSettings,
    Figure,
    MissingInputError,
    Report,
    ReportTable,
    Verdict,
)
from pateval.paper.paper_tables import IMPACT_BUFFER
from pateval.paper.score_folders import Scored, datasets_in, read_dataset, score_folder
from pateval.pate.score import pate

# The paper draws SWaT and SMD; SWaT is not public, and MSL stands in for it.
WANTED = ("SWaT", "SMD", "MSL")
DRAWN_IN_PAPER = ("SWaT", "SMD")
SPIKY = ("AnomalyTrans", "DCDetector")
LENGTH = 3000
STRETCHES = 2
_LONG = 30  # steps: shorter events cannot be seen in the figure
_CUT = 4.0  # times the threshold


@dataclass(frozen=True)
class SegmentRow:
    """A detector in the stretches drawn of one data set.

    Attributes
    ----------
    dataset, detector : str
        Whose scores.
    pate, point_adjusted_f1 : float
        Over the stretches drawn.
    touched, events : int
        Events with at least one flagged step, and all of them.
    covered : float
        Share of anomalous steps that are flagged.
    alarm_steps : float
        Mean length of an alarm, a run of flagged steps.
    alarms_inside : float
        Share of the alarms that touch an event.
    """

    dataset: str
    detector: str
    pate: float
    point_adjusted_f1: float
    touched: int
    events: int
    covered: float
    alarm_steps: float
    alarms_inside: float


@dataclass(frozen=True)
class Segments:
    """Stretches by data set, the scores, and a row per detector."""

    limits: dict[str, list[tuple[int, int]]]
    scored: dict[str, dict[str, Scored]]
    rows: tuple[SegmentRow, ...]


def compute(settings: ExperimentSettings) -> Segments:
    """Choose the stretches with most events and look at them."""
    folder = score_folder(settings, "segments")
    scored = {name: read_dataset(folder, name) for name in WANTED if name in datasets_in(folder)}
    scored = {name: detectors for name, detectors in scored.items() if detectors}
    if not scored:
        raise MissingInputError(f"segments needs score files of {', '.join(WANTED)}; the folder has none of them")
    limits, rows = {}, []
    for name, detectors in scored.items():
        # Detectors with other windows drop other tails: the stretches lie where all of them have scores.
        first = min(detectors.values(), key=lambda detector: detector.labels.size)
        limits[name] = choose_stretches(first)
        inside = np.zeros(first.labels.size, dtype=np.bool_)
        for start, stop in limits[name]:
            inside[start:stop] = True
        pieces = np.repeat(np.arange(len(limits[name])), [stop - start for start, stop in limits[name]])
        rows += [_row(detector, inside, pieces) for detector in detectors.values()]
    return Segments(limits, scored, tuple(rows))


def choose_stretches(scored: Scored) -> list[tuple[int, int]]:
    """The stretches that hold most whole events of at least 30 steps, one per series, in order of time.

    Each begins a tenth of its length before an event; among equals the first is taken.
    """
    starts = np.flatnonzero(np.r_[True, scored.series[1:] != scored.series[:-1]])
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


def _row(scored: Scored, inside: Any, pieces: Any) -> SegmentRow:
    inside = np.flatnonzero(inside)
    labels, scores = scored.labels[inside], scored.scores[inside]
    flagged = None if scored.flagged is None else scored.flagged[inside]
    events = find_events(labels, np.flatnonzero(np.r_[True, pieces[1:] != pieces[:-1]]))
    touched, covered, adjusted, alarm_steps, alarms_inside = 0, *[float("nan")] * 4
    if flagged is not None:
        touched = sum(bool(flagged[start:stop].any()) for start, stop in zip(events.starts, events.stops, strict=True))
        covered = float(flagged[labels].mean())
        adjusted = point_adjusted(labels, flagged).f1
        alarms = find_events(flagged, np.flatnonzero(np.r_[True, pieces[1:] != pieces[:-1]]))
        if len(alarms):
            alarm_steps = float(alarms.lengths.mean())
            counted = np.append(0, np.cumsum(labels))
            alarms_inside = float(np.mean(counted[alarms.stops] > counted[alarms.starts]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        value = pate(labels, scores, early=IMPACT_BUFFER, delay=IMPACT_BUFFER, series=pieces)
    return SegmentRow(
        scored.dataset, scored.detector, value, adjusted, touched, len(events), covered, alarm_steps, alarms_inside
    )


def report(found: Segments) -> Report:
    """A figure per data set, and what the stretches hold."""
    return Report(
        "Segments of scores",
        "Alarms that touch an event: "
        + "; ".join(
            f"{name} "
            + ", ".join(f"{row.detector} {100 * row.alarms_inside:.0f} %" for row in found.rows if row.dataset == name)
            for name in found.limits
        )
        + ".",
        (
            (
                "The paper shows stretches of the scores on SWaT and SMD without saying which. Here they are chosen "
                f"by rule: in each series the {LENGTH:,} steps with most whole events of at least {_LONG} steps, and "
                f"of those the {STRETCHES} fullest. SWaT needs a request to its owners; MSL stands in for it. Scores "
                "are those of one seed, trained with the paper's protocol, divided by the paper's threshold and cut "
                f"off at {_CUT:.0f} times it; the dashed line is the threshold."
            ),
            (
                "What to see: AnomalyTrans and DCDetector give spikes at nearly even intervals, inside events and "
                "outside. Point adjustment turns one spike in an event into the whole event; PATE does not."
            ),
        ),
        tables=(
            ReportTable(
                "segments",
                "The detectors in the stretches drawn",
                [
                    "data set",
                    "detector",
                    "PATE",
                    "PA-F1",
                    "events touched",
                    "events",
                    "share of event steps flagged",
                    "steps per alarm",
                    "share of alarms in events",
                ],
                [list(vars(row).values()) for row in found.rows],
                decimals=3,
            ),
            ReportTable(
                "stretches",
                "The stretches",
                ["data set", "first step", "last step"],
                [[name, start, stop - 1] for name, limits in found.limits.items() for start, stop in limits],
            ),
        ),
        figures=[
            Figure(
                f"segments-{name.lower()}",
                f"{name}: stretches of the scores of the five detectors.",
                partial(draw, found, name),
            )
            for name in found.limits
        ],
        verdicts=[
            *(_verdict(found, name) for name in found.limits),
            *(
                [Verdict("SWaT's stretch", "figure", "not here", OPEN, "The data are given out on request only.")]
                if "SWaT" not in found.limits
                else []
            ),
        ],
    )


def _verdict(found: Segments, dataset: str) -> Verdict:
    """Whether the alarms of the two spiky detectors miss events more often than those of all others."""
    shares = {row.detector: row.alarms_inside for row in found.rows if row.dataset == dataset}
    spiky = [share for detector, share in shares.items() if detector in SPIKY]
    others = [share for detector, share in shares.items() if detector not in SPIKY]
    apart = bool(spiky and others) and max(spiky) < min(others)
    status = ADDED if dataset not in DRAWN_IN_PAPER else REPRODUCES if apart else DIFFERS
    listed = ", ".join(f"{detector} {100 * share:.0f} %" for detector, share in shares.items())
    return Verdict(
        f"{dataset}: alarms of {' and '.join(SPIKY)} hardly align with events",
        "figure" if dataset in DRAWN_IN_PAPER else "not drawn",
        f"alarms that touch an event: {listed}",
        status,
        "Same protocol, our training, at the paper's threshold. The stretches are ours, since the paper does not say "
        "which " + ("it drew." if apart else "it drew; here the two are not told apart from all others by this share."),
    )


def draw(found: Segments, dataset: str) -> Any:
    """Detectors by stretches; scores in units of the threshold, where there is a positive one."""
    from pateval import plots

    detectors = found.scored[dataset]
    # Detectors with other windows drop other tails; the stretches lie where all of them have scores.
    first = min(detectors.values(), key=lambda detector: detector.labels.size)
    steps = first.labels.size
    scaled = {name: at for name, detector in detectors.items() if (at := detector.threshold) is not None and at > 0}
    return plots.segments(
        first.labels,
        {
            name: np.minimum(detector.scores[:steps] / scaled[name], _CUT)
            if name in scaled
            else detector.scores[:steps]
            for name, detector in detectors.items()
        },
        limits=found.limits[dataset],
        threshold=dict.fromkeys(scaled, 1.0),
        series=first.series,
    )
