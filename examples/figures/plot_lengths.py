"""
What a late alarm is worth
==========================

A detection after an event counts less the later it comes, and less after a long event than after a short one. Lines are
the definition, points the events of a series; one below its line has a zone that the next event cuts short.
"""

import matplotlib.pyplot as plt
import numpy as np

import pateval as pv

lengths = [1, 2, 4, 8, 15, 30, 60, 120, 240]
labels = np.concatenate(
    [np.repeat([0, 1], [60 if length % 4 else 30, length]) for length in lengths] + [np.zeros(60, int)]
)
fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
pv.plots.weights_by_length(pv.explain(labels, labels, early=40, delay=40), ax=ax)
