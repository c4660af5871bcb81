"""
Where the alarms lie
====================

Every step is inside an event, shortly before it, shortly after it, or far away. The band shows what each step counts
as, the lines what it weighs: solid where the weight is active, dotted where a detection or a miss there would have it.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)["nearest window"]
threshold = pv.quantile_threshold(scores, fraction=0.05)
explained = pv.explain(sample.labels, scores >= threshold, early=24, delay=24)
fig, ax = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
pv.plots.categories(explained, ax=ax)
