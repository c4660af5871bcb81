"""How scores are distributed inside and outside events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pateval.plots.styling import ALARM, CATEGORY_COLOURS, QUIET, Axes, figure, legend_above, one_axes
from pateval.time.timelines import read_recording
from pateval.validation.arrays import BoolArray, FloatArray, positive_integer, require_anomaly


@figure
def score_distribution(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    threshold: float | None = None,
    series: npt.ArrayLike | None = None,
    pooled: bool = False,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    bins: int = 50,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the shares of steps by score, inside events and outside, each adding up to 1.

    With several series both are means over the series. Where steps without a score count as normal, each adds up to the
    share of its steps that have one.

    Parameters
    ----------
    threshold : float, optional
        The threshold in use.
    series : array-like, optional
        Which series each step belongs to.
    pooled : bool
        Take all series for one sample instead of the mean over them.
    ignore, missing
        Steps to leave out, and what becomes of missing scores, as in `pate`.
    bins : int
        Number of intervals of the scores.
    log : bool
        Draw shares on a logarithmic scale, where a few high scores matter.

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.score_distribution([0, 0, 1, 1, 0], [0.1, 0.2, 0.9, 0.4, 0.3], threshold=0.35)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('anomaly score', 'share of steps')
    """
    recording = read_recording(labels, scores, series=series, ignore=ignore, missing=missing)
    samples = [  # truth and scores at the steps that count, NaN where there is no score
        (part.counted(part.labels), part.counted(cast(FloatArray, part.scores)))
        for part in ([recording] if pooled else recording.parts())
    ]
    truth, values = (np.concatenate(columns) for columns in zip(*samples, strict=True))
    require_anomaly(truth)
    present = values[~np.isnan(values)]
    if not present.size:
        raise ValueError("there is nothing to draw: every score is missing")
    bins = positive_integer(bins, "bins")
    ax = one_axes(ax, (5.2, 3.2))
    low, high = float(present.min()), float(present.max())
    edges = np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.5, low + 0.5])
    outside, inside = (_shares([(values, labels == side) for labels, values in samples], edges) for side in (0, 1))
    grey: dict[str, Any] = {"facecolor": "#D9D9D9", "edgecolor": QUIET, "linewidth": 0.8}
    ax.stairs(outside, edges, fill=True, label=f"outside events ({_in_words(~truth, values)})", **grey)
    blue = CATEGORY_COLOURS["true detection"]
    hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": blue, "hatch": "////", "linewidth": 1.2}
    ax.stairs(inside, edges, fill=True, label=f"inside events ({_in_words(truth, values)})", zorder=3, **hatched)
    if threshold is not None:
        ax.axvline(threshold, color=ALARM, linestyle=(0, (5, 2)), linewidth=1.0, label="threshold", zorder=4)
        low, high = min(low, threshold), max(high, threshold)
    margin = 0.01 * (high - low) or 0.5
    ax.set_xlim(low - margin, high + margin)
    if log:
        ax.set_yscale("log")
        shares = np.concatenate([outside, inside])
        ax.set_ylim(shares[shares > 0].min() / 2, min(2.0, 1.5 * float(shares.max())))
    over = f", mean of {len(samples)} series" if len(samples) > 1 else ""
    ax.set(xlabel="anomaly score", ylabel=f"share of steps{over}" + (" (log scale)" if log else ""))
    legend_above(ax)
    return ax


def _shares(samples: Sequence[tuple[FloatArray, BoolArray]], edges: FloatArray) -> FloatArray:
    """Shares of the masked steps in each interval, the mean over the samples that have such steps."""
    shares = [np.histogram(values[mask], edges)[0] / np.count_nonzero(mask) for values, mask in samples if mask.any()]
    return np.mean(shares, axis=0) if shares else np.zeros(edges.size - 1)


def _in_words(mask: BoolArray, values: FloatArray) -> str:
    absent = int(np.count_nonzero(mask & np.isnan(values)))
    return f"{int(np.count_nonzero(mask)):,} steps" + (f", {absent:,} without a score" if absent else "")
