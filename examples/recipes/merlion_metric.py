"""PATE in Merlion: an evaluator that returns it, with the buffers that Merlion's configuration already has.

Merlion needs NumPy 1; pateval runs with NumPy 1.26, so ``pip install pateval`` is enough.
"""

import numpy as np
import pandas as pd
from merlion.evaluate.anomaly import TSADEvaluator, TSADEvaluatorConfig, TSADMetric
from merlion.models.anomaly.forecast_based.arima import ArimaDetector, ArimaDetectorConfig
from merlion.utils import TimeSeries

import pateval as pv


class PateEvaluator(TSADEvaluator):
    """Merlion's evaluator, which returns PATE where no metric of Merlion is named."""

    def evaluate(self, ground_truth: TimeSeries, predict: TimeSeries, metric: TSADMetric | None = None) -> float:
        """Compare labels with scores at the times that have a score.

        Merlion's scores carry a sign, below or above what is expected, so their size is what counts.
        """
        if metric is not None:
            return super().evaluate(ground_truth, predict, metric)
        scores = predict.to_pd().iloc[:, 0].abs()
        labels = ground_truth.to_pd().iloc[:, 0].loc[scores.index]
        early, delay = (pd.Timedelta(seconds=seconds) for seconds in (self.max_early_sec, self.max_delay_sec))
        return pv.pate_ap(labels, scores, early=early, delay=delay, times=scores.index)


times = pd.date_range("2024-01-01", periods=1_000, freq="min")
is_anomaly = np.zeros(1_000)
is_anomaly[700:720] = 1
values = np.random.default_rng(0).normal(size=1_000) - 3 * is_anomaly
series, truth = (TimeSeries.from_pd(pd.Series(column, times)) for column in (values, is_anomaly))
train, test = series.bisect(times[500])

model = ArimaDetector(ArimaDetectorConfig(order=(1, 0, 0), max_forecast_steps=None))
evaluator = PateEvaluator(model, TSADEvaluatorConfig(max_early_sec=20 * 60, max_delay_sec=20 * 60))
# Without the post-processing, which sets all scores below a threshold to zero.
_, scores = evaluator.get_predict(train, test, post_process=False)
value = evaluator.evaluate(truth, scores)
print(f"PATE {value:.4f} of {len(scores)} steps")
size = np.abs(scores.to_pd().to_numpy().ravel())
assert abs(value - pv.pate_ap(is_anomaly[500:], size, early=20, delay=20)) < 1e-12
assert value > 0.5
