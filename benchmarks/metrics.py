"""Every metric's time beside scikit-learn's average precision, on 10**5 steps with 5 % anomalies."""

from __future__ import annotations

from side_by_side import cpu_seconds, labelled_scores, table
from sklearn.metrics import average_precision_score

import pateval as pv


def main() -> None:
    """Print the tables."""
    labels, scores = labelled_scores(10**5)
    reference, whole, *vus = cpu_seconds(
        lambda: average_precision_score(labels, scores),
        lambda: pv.evaluate(labels, scores),
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
        ["`evaluate`, the whole catalogue", f"{whole / reference:.1f} x"],
        ["`vus_pr`, window 100, 250 thresholds", f"{vus[0] / reference:.2f} x"],
        ['`vus_pr`, `variant="original"`', f"{vus[1] / reference:.2f} x"],
        ["`vus_pr`, all thresholds", f"{every[0] / reference:.1f} x"],
        ['`vus_pr`, all thresholds, `variant="original"`', f"{every[1] / reference:.1f} x"],
    ]
    print(table(["10⁵ steps, 5 % anomalies, CPU", "scikit-learn's average precision"], rows))
    found = pv.evaluate(labels, scores)
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
