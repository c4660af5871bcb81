"""
If the labels were a little wrong
=================================

Where an event begins and ends is a judgement. Here every edge of every event is moved at random by up to ten steps,
fifty times: the bars are all places that a detector then takes, the dot is its place on the labels as they are.
"""

import matplotlib.pyplot as plt

import pateval as pv
from pateval.demo import detector_scores, make_series

tables = {}
for seed in range(6):
    sample = make_series(seed)
    tables[f"series {seed}"] = {"label": sample.labels.astype(int), **detector_scores(sample, seed)}
names = ["window PCA", "nearest window", "seasonal difference", "moving z-score", "random"]
board = pv.leaderboard(tables, score=names, metrics=["pate_ap"], chance=0, doubt=10, doubt_draws=50, workers=1)
order = board.best_first("pate_ap")
with pv.plots.style():
    fig, ax = plt.subplots(figsize=(4.6, 2.2), layout="constrained")
    for place, name in enumerate(order, start=1):
        found = board.doubt.of(name, "pate_ap")
        ax.plot([found["best_place"], found["worst_place"]], [place, place], color="#74B6E0", linewidth=6)
        ax.plot(place, place, "o", color="#0B3C6F")
    ax.set(yticks=range(1, len(order) + 1), yticklabels=order, xticks=range(1, len(order) + 1), xlabel="place")
    ax.invert_yaxis()
