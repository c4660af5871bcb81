"""
What a threshold finds and costs
================================

Every threshold of a detector: the incidents it finds against its false alarms per day, coloured by how early or late
they are found. Two budgets of false alarms are marked, with the thresholds that keep them.
"""

import matplotlib.pyplot as plt
import numpy as np

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(1)
scores = detector_scores(sample, 1)["window PCA"]
times = np.datetime64("2026-03-01T00:00") + 10 * np.arange(sample.labels.size).astype("timedelta64[m]")
found = pv.alarm_frontier(sample.labels, scores, times=times, early="1h", delay="2h", budgets=["1/7d", "1/1d"])
fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
pv.plots.frontier(found, ax=ax)
