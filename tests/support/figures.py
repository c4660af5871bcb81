"""Looking at what was drawn: pixels, lightness, and the series that figures are drawn from."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

import pateval as pv
from pateval.demo import detector_scores, make_series


def pixels(ax) -> np.ndarray:
    """Render the whole figure of some axes; rows by columns by red, green, blue in 0..255."""
    from PIL import Image

    content = io.BytesIO()
    with pv.plots.style():
        ax.figure.savefig(content, format="png")
    return np.asarray(Image.open(content).convert("RGB"))


def lightness(colour: str) -> float:
    """CIE L* of an sRGB colour: 0 is black, 100 is white."""
    from matplotlib.colors import to_rgb

    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * np.cbrt(luminance) - 16 if luminance > 0.008856 else 903.3 * luminance


def texts(ax) -> list[str]:
    """All names in the legend of some axes, column by column."""
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts() if text.get_text().strip()]


def inside_figure(ax) -> bool:
    """Whether every title, label, tick and legend of some axes lies within the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = ax.figure
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = ax.get_tightbbox(canvas.get_renderer())
    width, height = figure.bbox.size
    return bool(box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1)


@dataclass(frozen=True)
class Scored:
    values: np.ndarray
    labels: np.ndarray
    scores: dict[str, np.ndarray]


def scored_series(seed: int = 0) -> Scored:
    """A series of the demo with the scores of its real detectors."""
    sample = make_series(seed)
    scores = detector_scores(sample, seed)
    kept = ("nearest window", "window PCA", "random")
    return Scored(sample.values, sample.labels, {name: scores[name] for name in kept})
