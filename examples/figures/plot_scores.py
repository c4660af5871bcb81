"""
A series, its events and two detectors
======================================

The first thing to look at. Events are shaded; a million steps would be drawn as the smallest and largest value of each
column of pixels, so that no spike is lost.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)
chosen = {name: scores[name] for name in ("nearest window", "moving z-score")}
fig, axes = plt.subplots(3, figsize=(4.6, 4.2), layout="constrained", sharex=True)
pv.plots.series(sample.labels, chosen, values=sample.values, early=24, delay=24, ax=axes)
