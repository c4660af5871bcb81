"""
The curve behind the number
===========================

PATE is the area under this curve. It goes through every distinct score, from high to low; thin lines
join points of equal F1.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)
curves = {
    name: pv.pate_curve(sample.labels, scores[name], early=40, delay=40)
    for name in ("nearest window", "seasonal difference", "random")
}
fig, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
pv.plots.precision_recall(curves, ax=ax)
