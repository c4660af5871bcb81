"""Why predictions, or scores at a threshold, get the number they get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import ORACLE
from pateval.evaluation.kinds import by_kind, counted_events, kinds_of, predicted_steps
from pateval.evaluation.measures import Measures
from pateval.evaluation.run import with_training
from pateval.evaluation.values import with_predictions
from pateval.output.explanation import EventKind, Explanation
from pateval.pate.explain import buffers_as_given, explain_on
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, read_recording
from pateval.validation.arrays import Buffers, require_anomaly


def explain(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike | None = None,
    *,
    scores: npt.ArrayLike | None = None,
    threshold: float | str = ORACLE,
    train_scores: npt.ArrayLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    by: str | npt.ArrayLike | None = None,
) -> Explanation:
    """Show what every step and every event adds to the proximity-weighted precision and recall.

    With the same arguments its F1 is the ``pate_f1`` that `evaluate` and ``pateval score`` report of one series.
    Several series are taken together: one threshold for all steps, and what steps and events add is summed, as
    ``pooled=True`` and ``--pooled`` have it.

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
    by : "length" or array-like, optional
        Also judge each kind of event as if there were no others (``kinds``): "length" tells the shortest third from the
        longest; an array has the class of each step, and an event is of the class that most of its steps have. Steps
        inside events of other kinds, and within their buffers, are left out.

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
    steps: dict[str, Any] = {"series": series, "times": times, "time_unit": time_unit}
    steps |= {"max_gap": max_gap, "ignore": ignore}
    early, delay = buffers_as_given(early, "early"), buffers_as_given(delay, "delay")
    measures = Measures.of_keywords(locals(), metrics="pate_f1", pooled=True)
    missing = missing if predictions is None else "error"
    recording = read_recording(labels, scores, predictions, **steps, missing=missing)
    if scores is None:
        return replace(explain_recording(recording, measures, series=series, by=by), predictions_from="")
    return explain_recording(with_training(recording, train_scores, measures), measures, series=series, by=by)


def explain_recording(
    recording: Recording, measures: Measures, *, series: object = None, names: bool = False, by: object = None
) -> Explanation:
    """Explain the predictions of one detector, as the first metric is judged on.

    Tables show ``series`` of each step as the caller gave it, or with ``names`` the names of the series; ``by`` is as
    in `explain`.
    """
    (recording,) = with_predictions([recording])
    truth = recording.counted(recording.labels)
    require_anomaly(truth)
    flags, made = predicted_steps(recording, measures)
    if series is None and names:
        series = np.repeat(np.array(recording.names, dtype=object), np.diff([*recording.starts, len(recording.labels)]))
    early, delay = (one[0] if len(one) == 1 else one for one in (measures.early, measures.delay))
    series = recording.series_of_steps if series is None else series
    predicted = recording.counted(flags)
    explanation = explain_on(truth, predicted, recording.timeline, early=early, delay=delay, series=series)
    kinds: list[EventKind] = []
    if by is not None:
        events = counted_events(recording)
        kinds = by_kind(recording, measures, events, kinds_of(recording, events, by), flags)
    return replace(explanation, predictions_from=made, kinds=tuple(kinds))
