"""PATE in darts: a function of the two series that `eval_metric_from_scores` takes, labels and scores."""

import numpy as np
import pandas as pd
from darts import TimeSeries
from darts.ad import KMeansScorer

import pateval as pv


def pate(anomalies: TimeSeries, pred_scores: TimeSeries, early: str = "20min", delay: str = "20min") -> float:
    """PATE with one pair of buffers, in time.

    A scorer with a window gives no score to the first steps, so only the times that have one count.
    """
    labels, scores = (series.values().ravel() for series in (anomalies.slice_intersect(pred_scores), pred_scores))
    return pv.pate_ap(labels, scores, early=early, delay=delay, times=pred_scores.time_index)


times = pd.date_range("2024-01-01", periods=1_000, freq="min")
is_anomaly = np.zeros(1_000)
is_anomaly[700:720] = 1
values = np.random.default_rng(0).normal(size=1_000) + is_anomaly
series, anomalies = (TimeSeries.from_times_and_values(times, column) for column in (values, is_anomaly))

scorer = KMeansScorer(window=10, k=5, random_state=0)
scorer.fit(series[:500])
scores = scorer.score(series[500:])
value = pate(anomalies, scores)
print(f"PATE {value:.4f} of {len(scores)} steps")
assert len(scores) == 491
assert abs(value - pv.pate_ap(is_anomaly[509:], scores.values().ravel(), early=20, delay=20)) < 1e-12
assert value > 0.2
