"""Small pictures in SVG: a strip of categories, a precision-recall curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pateval.templates.rendering import asset, render_template

_COLUMNS = 800
_POINTS = 400  # of a curve; more than it has pixels
_SIZE = 240


def category_strip(codes: npt.NDArray[np.integer], categories: Sequence[str], gravest_first: Sequence[int]) -> str:
    """Draw the category of every step in one line; where several share a column the gravest is shown.

    Parameters
    ----------
    codes : ndarray of int
        Category of each step.
    categories : sequence of str
        Their names; the first is for quiet steps, which are not drawn.
    gravest_first : sequence of int
        All codes, in the order in which they hide each other.
    """
    width = min(_COLUMNS, codes.size)
    edges = np.linspace(0, codes.size, width + 1).astype(int)[:-1]
    present = np.stack([np.logical_or.reduceat(codes == code, edges) for code in gravest_first])
    shown = np.asarray(gravest_first)[present.argmax(axis=0)]
    changes = np.flatnonzero(np.diff(shown, prepend=-1, append=-1))
    bars = [
        (start, stop - start, categories[shown[start]].replace(" ", "-"))
        for start, stop in pairwise(changes.tolist())
        if shown[start]
    ]
    counts = [
        (name, name.replace(" ", "-"), int(np.count_nonzero(codes == code))) for code, name in enumerate(categories)
    ]
    return render_template(asset("strip.html"), width=width, bars=bars, counts=counts[1:])


def curve_picture(recall: npt.NDArray[np.float64], precision: npt.NDArray[np.float64]) -> str:
    """Draw a precision-recall curve."""
    chosen = np.unique(np.linspace(0, recall.size - 1, min(_POINTS, recall.size)).astype(int))
    x, y = 34 + recall[chosen] * (_SIZE - 44), _SIZE - 30 - precision[chosen] * (_SIZE - 40)
    points = " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x.tolist(), y.tolist(), strict=True))
    return render_template(asset("curve.html"), size=_SIZE, points=points)
