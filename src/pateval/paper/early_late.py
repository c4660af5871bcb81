"""The appendix figure on early and delayed detections: three detectors, one event, and a detection moved through it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.kernels.coarse import CoarseScoresWarning
from pateval.metrics import auc_pr, vus_pr
from pateval.paper.document import DIFFERS, REPRODUCES, ExperimentSettings, Figure, Report, ReportTable, Verdict
from pateval.paper.paper_tables import flagged
from pateval.pate.score import pate, pate_f1

STEPS = 400
EVENT = (180, 220)
BUFFER = 40
FLAGGED_ABOVE = 0.5
# Where the peaks of each detector stand: centre, height.
PEAKS = {
    "model 1": ((165, 0.75), (200, 1.0)),
    "model 2": ((165, 0.9),),
    "model 3": ((235, 0.9),),
}
_WIDTH = 6.0
SHIFTS = tuple(range(-100, 101, 5))


@dataclass(frozen=True)
class EarlyLate:
    """Scores and values of the three detectors, and of a detection moved in time.

    Attributes
    ----------
    labels : ndarray of bool
        One event.
    scores : dict of str to ndarray
        Of the three detectors.
    values : dict of str to dict of str to float
        PATE, PATE-F1 and PATE's neighbours, by detector.
    moved : dict of str to ndarray
        Value of a detection as long as the event, at each shift, by metric.
    """

    labels: npt.NDArray[np.bool_]
    scores: dict[str, npt.NDArray[np.float64]]
    values: dict[str, dict[str, float]]
    moved: dict[str, npt.NDArray[np.float64]]


def compute(settings: ExperimentSettings) -> EarlyLate:
    """Score the detectors and the moved detection."""
    del settings
    labels = flagged(EVENT, steps=STEPS)
    time = np.arange(STEPS)
    noise = 0.08 * np.random.default_rng(0).random(STEPS)
    scores = {
        name: noise + sum(height * np.exp(-(((time - centre) / _WIDTH) ** 2)) for centre, height in peaks)
        for name, peaks in PEAKS.items()
    }
    values = {
        name: {
            "PATE": pate(labels, curve, early=BUFFER, delay=BUFFER),
            "PATE-F1": pate_f1(labels, curve > FLAGGED_ABOVE, early=BUFFER, delay=BUFFER),
            "VUS-PR": vus_pr(labels, curve, window=2 * BUFFER),
            "AUC-PR": auc_pr(labels, curve),
        }
        for name, curve in scores.items()
    }
    moved: dict[str, list[float]] = {"PATE": [], "PATE-F1": [], "VUS-PR": [], "AUC-PR": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        for shift in SHIFTS:
            detection = flagged((EVENT[0] + shift, EVENT[1] + shift), steps=STEPS)
            moved["PATE"].append(pate(labels, detection, early=BUFFER, delay=BUFFER))
            moved["PATE-F1"].append(pate_f1(labels, detection, early=BUFFER, delay=BUFFER))
            moved["VUS-PR"].append(vus_pr(labels, detection, window=2 * BUFFER))
            moved["AUC-PR"].append(auc_pr(labels, detection))
    return EarlyLate(labels, scores, values, {name: np.array(curve) for name, curve in moved.items()})


def report(found: EarlyLate) -> Report:
    """Both figures and the values of the three detectors."""
    first, second, third = (found.values[name]["PATE"] for name in PEAKS)
    shift = SHIFTS.index(EVENT[1] - EVENT[0])
    early, late = found.moved["PATE"][SHIFTS.index(EVENT[0] - EVENT[1])], found.moved["PATE"][shift]
    return Report(
        "Too early and too late",
        f"An early alarm that never finds the event gets {second:.2f}, a late one {third:.2f}, an early one that does "
        f"find it {first:.2f}.",
        (
            (
                "Three detectors meet one event. The first gives an early alarm and then finds the event, the second "
                "gives the early alarm only, the third a late one. PATE takes an early alarm without the event for a "
                "false one and a late one for a response."
            ),
            (
                "The second figure moves a detection as long as the event from far too early to far too late. Where "
                f"it no longer touches the event, PATE falls to chance on the early side at once ({early:.2f} at a "
                f"shift of minus its length) and little by little on the late side ({late:.2f} at plus its length). "
                "VUS-PR and AUC-PR are the same on both sides."
            ),
        ),
        tables=(
            ReportTable(
                "values",
                "The three detectors",
                ["detector", *next(iter(found.values.values()))],
                [[name, *values.values()] for name, values in found.values.items()],
            ),
            ReportTable(
                "moved",
                "A detection moved in time",
                ["shift", *found.moved],
                [[step, *(float(curve[place]) for curve in found.moved.values())] for place, step in enumerate(SHIFTS)],
                in_page=False,
            ),
        ),
        figures=(
            Figure("detectors", "Early with the event, early without it, late.", lambda: draw_detectors(found)),
            Figure("shifts", "A detection as long as the event, moved through it.", lambda: draw_shifts(found)),
        ),
        verdicts=(
            Verdict(
                "late alone above early alone",
                "stated",
                f"{third:.2f} against {second:.2f}",
                REPRODUCES if third > second else DIFFERS,
                "The paper prints no values for this figure; the order follows from the definition.",
            ),
        ),
    )


def draw_detectors(found: EarlyLate) -> Any:
    """Scores of the three detectors with the event, its zones and the threshold."""
    from pateval import plots

    named = {f"{name}\nPATE {found.values[name]['PATE']:.2f}": curve for name, curve in found.scores.items()}
    return plots.series(found.labels, named, early=BUFFER, delay=BUFFER, threshold=FLAGGED_ABOVE, limits=(100, 300))


def draw_shifts(found: EarlyLate) -> Any:
    """Values against the shift."""
    from pateval import plots

    return plots.shifts(SHIFTS, found.moved, y_label="value of the metric")
