"""Figures: computed results in, matplotlib axes out.

Every function takes ``ax=None``: axes to draw on, or none for a figure of its own, which is not registered with pyplot
and is reached as ``ax.figure``. It returns the axes, several of them where the figure has several panels. `save` writes
PDF, PNG or SVG. Nothing here changes matplotlib's settings, and matplotlib is imported when the first figure is drawn
(``pip install 'pateval[plot]'``).
"""

from pateval.plots.audits import audit_chart as audit_chart
from pateval.plots.audits import gaming_chart as gaming_chart
from pateval.plots.curves import MeanCurve as MeanCurve
from pateval.plots.curves import pate_by_buffers as pate_by_buffers
from pateval.plots.curves import pate_by_sizes as pate_by_sizes
from pateval.plots.curves import pate_curves as pate_curves
from pateval.plots.curves import precision_recall as precision_recall
from pateval.plots.distribution import score_distribution as score_distribution
from pateval.plots.explained import PotentialWeights as PotentialWeights
from pateval.plots.explained import categories as categories
from pateval.plots.explained import comparison as comparison
from pateval.plots.explained import potential_weights as potential_weights
from pateval.plots.explained import weights_by_length as weights_by_length
from pateval.plots.heat_maps import buffer_heat_map as buffer_heat_map
from pateval.plots.heat_maps import heat_map as heat_map
from pateval.plots.heat_maps import rank_heat_map as rank_heat_map
from pateval.plots.lines import buffer_sizes as buffer_sizes
from pateval.plots.lines import fitted_slope as fitted_slope
from pateval.plots.lines import frontier as frontier
from pateval.plots.lines import line_chart as line_chart
from pateval.plots.lines import shifts as shifts
from pateval.plots.lines import timings as timings
from pateval.plots.rank_diagram import critical_difference as critical_difference
from pateval.plots.series_panels import segments as segments
from pateval.plots.series_panels import series as series
from pateval.plots.styling import panels as panels
from pateval.plots.styling import save as save
from pateval.plots.styling import style as style

__all__ = sorted(name for name, value in globals().items() if callable(value))
