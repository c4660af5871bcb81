"""Every metric's time beside scikit-learn's average precision, on 10**5 steps with 5 % anomalies."""

from __future__ import annotations

import numpy as np
from side_by_side import cpu_seconds, labelled_scores, table
from sklearn.metrics import average_precision_score

import pateval as pv
from pateval.catalog import catalogue

LAST_OF_THE_FIRST = "latency_sparsity_aware_f1"  # the newer metrics come after it
CHANNELS = 10


def main() -> None:
    """Print the tables."""
    labels, scores = labelled_scores(10**5)
    scores /= scores.max()  # one metric takes scores from 0 to 1 only
    everything = list(catalogue(emerging=True))
    first = everything[: everything.index(LAST_OF_THE_FIRST) + 1]
    of_channels = [metric.id for metric in catalogue(channels=True).values() if metric.channels]
    wide = [np.stack([np.roll(part, 1000 * place) for place in range(CHANNELS)], axis=1) for part in (labels, scores)]
    reference, default, old, listed, whole, channels, *vus = cpu_seconds(
        lambda: average_precision_score(labels, scores),
        lambda: pv.evaluate(labels, scores),
        lambda: pv.evaluate(labels, scores, metrics=first),
        lambda: pv.evaluate(labels, scores, metrics="all"),
        lambda: pv.evaluate(labels, scores, metrics=everything),
        lambda: pv.evaluate(*wide, metrics=of_channels, threshold=0.9),
        lambda: pv.vus_pr(labels, scores),
        lambda: pv.vus_pr(labels, scores, variant="original"),
        rounds=5,
    )
    every = cpu_seconds(
        lambda: pv.vus_pr(labels, scores, thresholds=None),
        lambda: pv.vus_pr(labels, scores, thresholds=None, variant="original"),
        rounds=2,
    )
    rows = [
        [
            f"`evaluate`, the {len(pv.DEFAULT_METRICS)} metrics that are computed by default",
            f"{default / reference:.1f} x",
        ],
        [f"`evaluate`, the first {len(first)} metrics", f"{old / reference:.1f} x"],
        [f'`evaluate`, `metrics="all"`: {len(catalogue())} metrics', f"{listed / reference:.1f} x"],
        [f"`evaluate`, with the emerging ones: {len(everything)} metrics", f"{whole / reference:.1f} x"],
        [f"`evaluate`, the {len(of_channels)} on channels, {CHANNELS} of them", f"{channels / reference:.1f} x"],
        ["`vus_pr`, window 100, 250 thresholds", f"{vus[0] / reference:.2f} x"],
        ['`vus_pr`, `variant="original"`', f"{vus[1] / reference:.2f} x"],
        ["`vus_pr`, all thresholds", f"{every[0] / reference:.1f} x"],
        ['`vus_pr`, all thresholds, `variant="original"`', f"{every[1] / reference:.1f} x"],
    ]
    print(table(["10⁵ steps, 5 % anomalies, CPU", "scikit-learn's average precision"], rows))
    few = labelled_scores(10**4)
    (search,) = cpu_seconds(lambda: pv.best_threshold(*few, metric="pate_f1"), rounds=3)
    print()
    print(f'`best_threshold(metric="pate_f1")`, 10⁴ steps: {search:.2f} s')
    found = pv.evaluate(labels, scores, metrics=everything)
    print()
    slowest = sorted(found.seconds.items(), key=lambda item: -item[1])
    print(
        table(
            ["metric (work shared by several is booked on the first)", "ms"],
            [[name, f"{1000 * seconds:.2f}"] for name, seconds in slowest],
        )
    )


if __name__ == "__main__":
    main()
