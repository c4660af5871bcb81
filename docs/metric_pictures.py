"""The two pictures of a metric's page: what it gives to detections one can see, and what it gives to fakes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pateval import Audit, CoarseScoresWarning, plots
from pateval.auditing import BATTERY

mpl.use("Agg")

Mask = npt.NDArray[np.bool_]

STEPS = 200
EVENTS = ((30, 60), (105, 111), (150, 170))
MOST_PANELS = 3  # More than three ids of one function do not fit beside each other on a phone.
NAMES = {
    "random": "random scores",
    "constant": "constant score",
    "always_on": "everything flagged",
    "one_per_length": "random steps",
    "periodic": "regular steps",
    "inverted": "labels inverted",
    "one_point": "one step per event",
    "shifted_early": "events moved ahead",
    "shifted_late": "events moved back",
    "fragmented": "real, every other step",
    "real": "real detector",
    "perfect": "perfect detector",
}
DETECTION, VALUE, BEATEN, REAL = "#33556e", "#7f9db3", "#a8320a", "#0b3c6f"


@contextmanager
def coarse_scores_allowed() -> Iterator[None]:
    """Silence the warning about coarse scores: the examples are coarse on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        yield


def example_labels() -> Mask:
    """Return 200 steps with a long, a short and a middling event."""
    labels = np.zeros(STEPS, dtype=bool)
    for start, stop in EVENTS:
        labels[start:stop] = True
    return labels


def example_detections(labels: Mask) -> dict[str, Mask]:
    """Return detections that do well, that do badly, and that have no skill at all."""
    shifted = {name: np.zeros(STEPS, dtype=bool) for name in ("8 steps late", "8 steps early", "one step per event")}
    half = np.zeros(STEPS, dtype=bool)
    for start, stop in EVENTS:
        shifted["8 steps late"][start + 8 : stop + 8] = True
        shifted["8 steps early"][start - 8 : stop - 8] = True
        shifted["one step per event"][(start + stop) // 2] = True
        half[start : (start + stop + 1) // 2] = True
    regular = np.zeros(STEPS, dtype=bool)
    regular[::12] = True
    return {
        "exact": labels.copy(),
        "first half": half,
        **shifted,
        "with false alarms": labels | (np.arange(STEPS) % 40 < 4),
        "random tenth": np.random.default_rng(3).random(STEPS) < 0.1,
        "every 12th step": regular,
        "everything": np.ones(STEPS, dtype=bool),
    }


def draw_example(shown: Sequence[str], values: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Draw the example detections as strips, and beside them what the metrics give."""
    detections = example_detections(example_labels())
    with plots.style():
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        axes = figure.subplots(1, 1 + len(shown), width_ratios=[2.2, *[1.0] * len(shown)], sharey=True)
        rows = np.arange(len(detections))
        for start, stop in EVENTS:
            axes[0].axvspan(start, stop, color="#c44e52", alpha=0.22, lw=0)
        for row, mask in zip(rows, detections.values(), strict=True):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
            axes[0].broken_barh(
                [(a, b - a) for a, b in edges.reshape(-1, 2).tolist()], (row - 0.3, 0.6), color=DETECTION, lw=0
            )
        axes[0].set(xlim=(0, STEPS), xlabel="step (events shaded)", yticks=rows, yticklabels=list(detections))
        axes[0].invert_yaxis()
        for ax, each in zip(axes[1:], shown, strict=True):
            draw_values(ax, np.array([values[name][each] for name in detections]), [VALUE] * len(rows))
            ax.set_title(each, fontsize=9 if len(each) < 20 else 7)
        figure.savefig(path, dpi=110)


def draw_audit(shown: Sequence[str], audit: Audit, path: Path) -> None:
    """Draw what the metrics give to the fakes of an audit, beside a real and a perfect detector."""
    with plots.style():
        figure = Figure(figsize=(8.4, 3.8), layout="constrained")
        axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for ax, each in zip(axes, shown, strict=True):
            row = audit[each]
            numbers = np.array([row.values[detector.name] for detector in BATTERY])
            colours = [
                BEATEN if detector.name in row.beaten_by else REAL if detector.kind == "real" else VALUE
                for detector in BATTERY
            ]
            draw_values(ax, numbers, colours)
            if np.isfinite(row.values["real"]):
                ax.axvline(row.values["real"], color=REAL, lw=0.9, ls=(0, (3, 2)))
            ax.set_title(each, fontsize=9 if len(each) < 24 else 7)
        axes[0].set_yticks(np.arange(len(BATTERY)), [NAMES[detector.name] for detector in BATTERY])
        axes[0].invert_yaxis()
        figure.savefig(path, dpi=110)


def draw_values(ax: Axes, numbers: npt.NDArray[np.float64], colours: Sequence[str]) -> None:
    """Draw numbers as horizontal bars with their values beside them."""
    rows = np.arange(numbers.size)
    ax.barh(rows, np.nan_to_num(numbers), height=0.6, color=list(colours), lw=0)
    for row, number in zip(rows, numbers, strict=True):
        text = "undefined" if np.isnan(number) else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
        place = (max(0.0, np.nan_to_num(number)), row)
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        ax.annotate(text, place, (4, 0), textcoords="offset points", va="center", fontsize=8, bbox=behind, zorder=4)
    finite = numbers[np.isfinite(numbers)]
    low, high = min(0.0, *finite, 0.0), max(1e-9, *finite, 0.0)
    ax.set_xlim(low, high + 0.42 * (high - low))
    ax.set_xticks([])
    ax.tick_params(length=0)


def channel_labels() -> Mask:
    """Return 60 steps of six channels with two anomalies: one in channels 1 and 2, one in channels 4 to 6."""
    labels = np.zeros((60, 6), dtype=bool)
    labels[10:22, 0:2] = True
    labels[38:48, 3:6] = True
    return labels


def channel_detections(labels: Mask) -> dict[str, Mask]:
    """Return detections that find the right channels, some of them, others, or all."""
    one, wrong = np.zeros_like(labels), np.zeros_like(labels)
    one[10:22, 0] = one[38:48, 4] = True
    wrong[10:22, 4:6] = wrong[38:48, 0:2] = True
    chance = np.random.default_rng(5).random(labels.shape) < 0.2
    return {
        "exact": labels.copy(),
        "one channel each": one,
        "wrong channels": wrong,
        "random fifth": chance,
        "everything": np.ones_like(labels),
    }


def draw_channels(values: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Draw the detections of several channels as maps, with the values of the metrics below each."""
    labels = channel_labels()
    detections = channel_detections(labels)
    with plots.style():
        figure = Figure(figsize=(8.4, 2.5), layout="constrained")
        for ax, (name, detection) in zip(
            figure.subplots(1, len(detections), sharey=True), detections.items(), strict=True
        ):
            shades = np.where(labels, 0.35, 0.0) + np.where(detection, 0.65, 0.0)
            ax.imshow(shades.T, aspect="auto", cmap="Blues", vmin=0, vmax=1.1, interpolation="nearest")
            ax.set_title(name, fontsize=9)
            short = {each.removeprefix(f"{path.stem}_"): value for each, value in values[name].items()}
            ax.set_xlabel("\n".join(f"{each} {value:.3g}" for each, value in short.items()), fontsize=8)
            ax.grid(visible=False)
            ax.set_xticks([])
            ax.set_yticks(range(6), [str(number) for number in range(1, 7)])
        figure.axes[0].set_ylabel("channel")
        figure.savefig(path, dpi=110)
