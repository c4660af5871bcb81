"""
How often fakes get near real detectors
=======================================

The audit with scores. Fakes without skill should not reach 90 % of the best real detector; under the metrics at the
bottom they do on most series.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

tables = {}
for seed in range(4):
    sample = make_series(seed)
    tables[f"series {seed}"] = {"label": sample.labels.astype(int), **detector_scores(sample, seed)}
names = ["window PCA", "nearest window", "seasonal difference", "moving z-score"]
metrics = ["pate_ap", "vus_pr", "average_precision", "point_f1", "point_adjusted_f1", "segment_f1", "affiliation_f1"]
found = pv.audit_scores(tables, score=names, metrics=metrics, early=24, delay=24, seeds=3, workers=1)
fig, ax = plt.subplots(figsize=(4.6, 2.6), layout="constrained")
pv.plots.gaming_chart(found, ax=ax)
