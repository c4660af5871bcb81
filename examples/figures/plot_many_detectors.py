"""
Forty detectors at once
=======================

The bars of so many would hide each other, so more than fifteen detectors are a matrix: a row for each, best on top, and
dark the places of those that it is not told apart from. The values are made: each detector is a little worse than the
one before.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import pateval as pv

noise = np.random.default_rng(0).normal(scale=0.1, size=(60, 40))
values = (np.linspace(0.75, 0.35, 40) + noise).clip(0, 1)
table = pd.DataFrame(values, columns=[f"detector {number}" for number in range(1, 41)])
table.insert(0, "series", [f"series {number}" for number in range(60)])
board = pv.leaderboard_from_results(table, metric="vus_pr")
fig, ax = plt.subplots(figsize=(4.6, 6.6), layout="constrained")
pv.plots.critical_difference(board.significance(), ax=ax)
