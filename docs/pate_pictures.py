"""Draw the pictures of the page "How PATE works"; every number in them is computed here.

    python docs/pate_pictures.py [FOLDER]

They are made, not kept: `make docs` writes them to docs/pictures/ before it builds the site.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from metric_pictures import DETECTION, VALUE, coarse_scores_allowed, draw_values

import pateval as pv
from pateval import plots

mpl.use("Agg")

HERE = Path(__file__).resolve().parent
STEPS, START, STOP, BUFFER = 180, 100, 130, 20
METRICS = ("point_f1", "point_adjusted_f1", "pate_f1")
EVENT, FALSE, MISSED = "#f0cfa6", "#a8320a", "#c26d0d"


def pump() -> npt.NDArray[np.int64]:
    """Return the labels of the page: a pump that fails from step 100 to step 129."""
    labels = np.zeros(STEPS, dtype=np.int64)
    labels[START:STOP] = 1
    return labels


def detectors() -> dict[str, npt.NDArray[np.int64]]:
    """Return what the page's detectors flag."""
    spans = {"early": (98, 130), "first half": (100, 115), "late": (110, 140), "one flash": (117, 118)}
    flagged = {name: np.zeros(STEPS, dtype=np.int64) for name in (*spans, "flashes everywhere")}
    for name, (start, stop) in spans.items():
        flagged[name][start:stop] = 1
    flagged["flashes everywhere"][7::20] = 1
    return flagged


def draw_detectors(path: Path) -> None:
    """Draw the detectors as strips, and what three metrics make of them."""
    labels, flagged = pump(), detectors()
    with plots.style():
        figure = Figure(figsize=(8.4, 2.4), layout="constrained")
        axes = figure.subplots(1, 1 + len(METRICS), width_ratios=[2.2, *[1.0] * len(METRICS)], sharey=True)
        rows = np.arange(len(flagged))
        axes[0].axvspan(START, STOP, color=EVENT, lw=0)
        for row, mask in zip(rows, flagged.values(), strict=True):
            spans = [(start, stop - start) for start, stop in pv.intervals_from_labels(mask).tolist()]
            axes[0].broken_barh(spans, (row - 0.3, 0.6), color=DETECTION, lw=0)
        axes[0].set(xlim=(0, STEPS), xlabel="step (the failure is shaded)", yticks=rows, yticklabels=list(flagged))
        axes[0].invert_yaxis()
        for ax, metric in zip(axes[1:], METRICS, strict=True):
            numbers = [
                pv.evaluate(labels, mask, predictions=mask, metrics=[metric], early=BUFFER, delay=BUFFER)[metric]
                for mask in flagged.values()
            ]
            draw_values(ax, np.array(numbers, dtype=float), [VALUE] * len(rows))
            ax.set_title(metric, fontsize=9)
        figure.savefig(path, dpi=110)


def draw_weights(path: Path) -> None:
    """Draw what a detection weighs at every step around the event, and what a miss weighs inside it."""
    labels = pump()
    with plots.style():
        figure = Figure(figsize=(8.4, 3.0), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
        detection = np.zeros(STEPS, dtype=np.int64)
        detection[START] = 1
        weights = plots.potential_weights(pv.explain(labels, detection, early=BUFFER, delay=BUFFER))
        shown = np.arange(START - BUFFER - 12, STOP + BUFFER + 12)
        for ax in (left, right):
            ax.axvspan(START - 0.5, STOP - 0.5, color=EVENT, lw=0)
        left.step(shown, weights.true_positive[shown], where="mid", color=DETECTION, label="counts as true")
        left.step(shown, 1 - weights.true_positive[shown], where="mid", color=FALSE, ls=(0, (4, 2)), label="as false")
        left.set(xlabel="step", ylabel="weight of a detection", ylim=(-0.03, 1.08))
        left.legend(loc="upper left", bbox_to_anchor=(0.0, 1.17), ncols=2, frameon=False)
        for length, dashes in ((1, (0, (1, 1))), (5, (0, (4, 2))), (15, "solid")):
            found = np.zeros(STEPS, dtype=np.int64)
            found[START : START + length] = 1
            missed = plots.potential_weights(pv.explain(labels, found, early=BUFFER, delay=BUFFER)).false_negative
            rest = np.arange(START + length, STOP)
            label = f"{length} step{'s' * (length > 1)} found first"
            right.plot(rest, missed[rest], color=MISSED, ls=dashes, label=label)
        right.set(xlabel="step", ylabel="weight of a miss", ylim=(-0.03, 1.08), xlim=(START - 4, STOP + 3))
        right.legend(loc="lower left", frameon=False, fontsize=8)
        figure.savefig(path, dpi=110)


def draw_areas(path: Path) -> None:
    """Draw the two areas under the curves of graded scores and of a constant score."""
    labels = pump()
    graded = np.random.default_rng(1).random(STEPS) + 0.7 * np.roll(labels, 4)
    with plots.style():
        figure = Figure(figsize=(8.4, 2.9), layout="constrained")
        panels = zip(
            figure.subplots(1, 2, sharey=True), (("graded scores", graded), ("constant", 0 * graded)), strict=True
        )
        for ax, (name, scores) in panels:
            curve = pv.pate_curve(labels, scores, early=BUFFER, delay=BUFFER)
            recall, precision = np.append(0.0, curve.recall), np.append(1.0, curve.precision)
            ax.fill_between(
                recall, 0, np.append(precision[1:], precision[-1]), step="post", color=VALUE, alpha=0.6, lw=0
            )
            ax.plot(recall, precision, color=FALSE, lw=1.2, marker="o" if recall.size < 5 else None, ms=4)
            values = [rule(labels, scores, early=BUFFER, delay=BUFFER) for rule in (pv.pate, pv.pate_ap)]
            ax.set_title(f"{name}: pate {values[0]:.3f}, pate_ap {values[1]:.3f}", fontsize=9)
            ax.set(xlabel="recall", xlim=(0, 1), ylim=(0, 1.03))
        figure.axes[0].set_ylabel("precision")
        figure.savefig(path, dpi=110)


def main(arguments: Iterable[str]) -> None:
    """Draw all of them."""
    folder = Path(next(iter(arguments), HERE / "pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    draw_detectors(folder / "four-detectors.png")
    draw_weights(folder / "weights.png")
    with coarse_scores_allowed():
        draw_areas(folder / "areas.png")
    print(f"3 pictures in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
