"""
The curve behind the number
===========================

PATE is the area under this curve, here the mean over two buffers before and after each event, as in a
table. It goes through every distinct score, from high to low; thin lines join points of equal F1.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)
chosen = {name: scores[name] for name in ("nearest window", "seasonal difference", "random")}
curves = pv.plots.pate_curves(sample.labels, chosen, early=(0, 24), delay=(0, 24))
fig, ax = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
pv.plots.precision_recall(curves, ax=ax)
