"""
Who is really ahead?
====================

Mean ranks over the series, best on the left. A bar joins detectors that the series do not tell apart (Wilcoxon's
signed-rank test with Holm's correction), with a mark on each of them.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import demo_board

board = demo_board(series=12)
fig, ax = plt.subplots(figsize=(4.6, 2.4), layout="constrained")
pv.plots.critical_difference(board.significance("pate_ap"), ax=ax)
