"""Figures: computed results in, matplotlib axes out.

Every function takes ``ax=None``: axes to draw on, or none for a figure of its own, which is not registered with pyplot
and is reached as ``ax.figure``. It returns the axes, several of them where the figure has several panels. `save` writes
PDF, PNG or SVG. Nothing here changes matplotlib's settings, and matplotlib is imported when the first figure is drawn
(``pip install 'pateval[plot]'``).
"""

from pateval.plots.audits import audit_chart, gaming_chart
from pateval.plots.curves import MeanCurve, pate_by_buffers, pate_by_sizes, pate_curves, precision_recall
from pateval.plots.distribution import score_distribution
from pateval.plots.explained import PotentialWeights, categories, comparison, potential_weights, weights_by_length
from pateval.plots.heat_maps import buffer_heat_map, heat_map, rank_heat_map
from pateval.plots.lines import buffer_sizes, fitted_slope, frontier, line_chart, shifts, timings
from pateval.plots.rank_diagram import critical_difference
from pateval.plots.series_panels import segments, series
from pateval.plots.styling import panels, save, style

__all__ = [
    "MeanCurve",
    "PotentialWeights",
    "audit_chart",
    "buffer_heat_map",
    "buffer_sizes",
    "categories",
    "comparison",
    "critical_difference",
    "fitted_slope",
    "frontier",
    "gaming_chart",
    "heat_map",
    "line_chart",
    "panels",
    "pate_by_buffers",
    "pate_by_sizes",
    "pate_curves",
    "potential_weights",
    "precision_recall",
    "rank_heat_map",
    "save",
    "score_distribution",
    "segments",
    "series",
    "shifts",
    "style",
    "timings",
    "weights_by_length",
]
