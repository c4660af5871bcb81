"""Why predictions, or scores at a threshold, get the number they get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pateval.evaluation.threshold_rules import ORACLE, ScoredSteps, ThresholdRule, threshold_rule
from pateval.output.explanation import Explanation
from pateval.pate.explain import explain_predictions
from pateval.time.clocks import Duration
from pateval.time.timelines import read_scores
from pateval.validation.arrays import Buffers, require_anomaly
from pateval.validation.indexes import times_of


def explain(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike | None = None,
    *,
    scores: npt.ArrayLike | None = None,
    threshold: float | str | ThresholdRule = ORACLE,
    train_scores: npt.ArrayLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> Explanation:
    """Show what every step and every event adds to the proximity-weighted precision and recall.

    With the same arguments its F1 is the ``pate_f1`` that `evaluate` and ``pateval score`` report.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    predictions : array-like of 0/1, optional
        What was predicted for each time step.
    scores : array-like of float, optional
        Instead of predictions: higher is more anomalous.
    threshold : float or str
        How scores become predictions: a number, or a rule such as "oracle" or "quantile:0.02"; see `evaluate`.
    train_scores : array-like of float, optional
        Scores of the training steps, for the rules whose names begin with "train-".
    early, delay : int or duration, or iterable of these
        Buffer lengths before and after an event, in steps or on ``times``. Of several, all weights and figures are the
        mean over all pairs; the category of a step is that of the longest.
    series : array-like, optional
        Which series each step belongs to; events are named by it and counted from its first step.
    times, time_unit, max_gap, ignore
        As in `pate`; ignored steps have no row.
    missing : {"error", "ignore", "normal"}
        What becomes of scores that are missing, as in `pate`.

    Returns
    -------
    Explanation
        Per step its category and weights, per event a row, and the sums; print it to read it.

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.
    ValueError, TypeError
        If an input is not of the form described, or both or none of predictions and scores are given.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    >>> found = [0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]
    >>> pv.explain(labels, found, early=2, delay=3)
    precision 0.5460   recall 0.7319   F1 0.6255   (early 2, delay 3)
    <BLANKLINE>
    ··◂▒██▒▸··×·
    █ true detection   ◂ early   ▸ delayed   × outside   ▒ partly missed
    <BLANKLINE>
    event    found  cover  onset  lead    TP    FP    FN
    ----------------------------------------------------
    [3, 7)     yes    50%      1     1  2.73  1.27  1.00
    outside                                   1.00
    all                                 2.73  2.27  1.00
    >>> scores = [0.1, 0.2, 0.6, 0.3, 0.9, 0.8, 0.2, 0.7, 0.1, 0.3, 0.6, 0.2]
    >>> explained = pv.explain(labels, scores=scores, threshold="quantile:0.25")
    >>> explained.predictions_from
    'score >= 0.625 (quantile:0.25: the highest share of scores)'
    >>> explained.f1 == pv.evaluate(labels, scores, metrics="pate_f1", threshold="quantile:0.25")["pate_f1"]
    True
    """
    if (predictions is None) == (scores is None):
        raise ValueError("explain needs either predictions or scores with a threshold")
    times = times_of(times, labels=labels, predictions=predictions, scores=scores, series=series, ignore=ignore)
    if predictions is not None:
        return explain_predictions(
            labels,
            predictions,
            early=early,
            delay=delay,
            series=series,
            times=times,
            time_unit=time_unit,
            max_gap=max_gap,
            ignore=ignore,
        )
    rule = threshold_rule(threshold, train_scores)
    truth, values, timeline = read_scores(
        labels, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    )
    require_anomaly(truth)
    level = rule.choose(ScoredSteps.on(timeline, truth, values))
    counted = timeline.original(np.arange(truth.size))
    all_labels, all_predictions = (np.zeros(timeline.size, dtype=np.bool_) for _ in range(2))
    all_labels[counted], all_predictions[counted] = truth, rule.predictions(values, level)
    left_out = np.ones(timeline.size, dtype=np.bool_)
    left_out[counted] = False
    found = explain_predictions(
        all_labels,
        all_predictions,
        early=early,
        delay=delay,
        series=series,
        times=times,
        time_unit=time_unit,
        max_gap=max_gap,
        ignore=left_out if left_out.any() else None,
    )
    at = f"{level:.6g}" if isinstance(level, float) else "a threshold for each fit"
    return replace(found, predictions_from=f"score {rule.sign} {at} ({rule.description})")
