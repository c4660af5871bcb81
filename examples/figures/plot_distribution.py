"""
Do scores tell events from the rest?
====================================

How scores are distributed inside and outside events, each adding up to 1. What lies to the right of the threshold is
flagged: the hatched part rightly, the grey part as a false alarm.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)["nearest window"]
threshold = pv.best_threshold(sample.labels, scores)[0]
fig, ax = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
pv.plots.score_distribution(sample.labels, scores, threshold=threshold, log=True, ax=ax)
