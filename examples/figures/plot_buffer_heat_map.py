"""
PATE over both buffers
======================

One detector, every pair of an early buffer and a delay. Brighter upwards: it alarms early, and a longer early buffer
rewards that. Brighter to the right: it alarms late.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

sample = make_series(0)
scores = detector_scores(sample, 0)["seasonal difference"]
lengths = [0, 5, 10, 20, 40, 80]
values = pv.plots.pate_by_buffers(sample.labels, scores, early=lengths, delay=lengths)
fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
pv.plots.buffer_heat_map(values, early=lengths, delay=lengths, ax=ax)
