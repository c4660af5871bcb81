"""
Which metrics can be fooled
===========================

Each metric judges detectors without skill on the labels of the demo. A metric that ranks one of them above a real
detector is fooled.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import make_series

audit = pv.audit(
    make_series(0).labels, metrics=["pate_ap", "vus_pr", "point_f1", "point_adjusted_f1", "affiliation_f1"]
)
fig, ax = plt.subplots(figsize=(4.6, 2.6), layout="constrained")
pv.plots.audit_chart(audit, ax=ax)
