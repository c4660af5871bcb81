"""
Too early, in time, too late
============================

One detection as long as its event, moved from forty steps too early to forty too late. PATE tells the two apart; the
point F1 knows no nearness, and affiliation hardly any distance.
"""

import matplotlib.pyplot as plt
import numpy as np

import pateval as pv

labels = np.zeros(500, dtype=int)
labels[240:260] = 1
moves = range(-40, 41, 2)
moved = [np.roll(labels, move) for move in moves]
values = {
    "PATE-F1": [pv.pate_f1(labels, found, early=20, delay=20) for found in moved],
    "point F1": [pv.point(labels, found).f1 for found in moved],
    "affiliation F1": [pv.affiliation(labels, found).f1 for found in moved],
}
fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
pv.plots.shifts(list(moves), values, y_label="value", ax=ax)
