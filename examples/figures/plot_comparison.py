"""
Two detectors, event by event
=============================

What each step counts as for both, and how much of each event they find. Where the two points of an event lie apart, one
of them sees what the other misses.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)
explained = {}
for name in ("nearest window", "window PCA"):
    threshold = pv.best_threshold(sample.labels, scores[name])[0]
    explained[name] = pv.explain(sample.labels, scores[name] >= threshold, early=24, delay=24)
with pv.plots.style():
    fig, axes = plt.subplots(2, figsize=(4.6, 4.6), height_ratios=(1, 1.6), layout="constrained")
pv.plots.comparison(explained, ax=axes)
