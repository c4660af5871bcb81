"""
Does the buffer decide the winner?
==================================

PATE of each detector at every buffer size. Where lines cross, another buffer would choose another winner.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(1)
scores = detector_scores(sample, 1)
sizes = range(0, 101, 5)
chosen = {name: scores[name] for name in ("nearest window", "window PCA", "seasonal difference", "random")}
values = pv.plots.pate_by_sizes(sample.labels, chosen, sizes=sizes)
fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
pv.plots.buffer_sizes(sizes, values, random="random", ax=ax)
