"""
Does the metric decide the winner?
==================================

The mean rank of every detector under every metric. Rows that are alike agree; where they differ, the choice of the
metric chooses the winner.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import demo_board

board = demo_board(series=6)
fig, ax = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
pv.plots.rank_heat_map(board, metrics=board.metrics[:10], ax=ax)
