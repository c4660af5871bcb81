"""Time-series aware precision and recall: overlap, detection, and a zone of doubt after each event."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pateval.labels.events import runs, within
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, require_anomaly
from pateval.validation.checked import FRACTION, STEPS, on_predictions

# Longer zones make no difference, and their ends would leave the range of integers.
_LONGEST = 2**61


@on_predictions(theta=FRACTION, delta=STEPS, alpha=FRACTION)
def tapr(labels: BoolArray, predictions: BoolArray, *, theta: float = 0.5, delta: int = 0, alpha: float = 0.5) -> PRF:
    r"""Time-series aware precision, recall and F1 (TaPR).

    With O(e, q) the overlap score of event e and predicted run q, and L their lengths,

    .. math:: r_e = \min\Bigl(1, \sum_q O(e, q) / L_e\Bigr), \qquad p_q = \sum_e O(e, q) / L_q,

    recall is ``alpha`` times the share of events with :math:`r_e \ge \theta` plus ``1 - alpha`` times the mean of
    :math:`r_e`; precision the same of :math:`p_q`. O counts the common steps and adds, for predicted steps of the
    zone of doubt that follows the event, a credit falling from nearly 1 to nearly 0 along a logistic curve.

    Parameters
    ----------
    theta : float, default 0.5
        Share of an event, or of a predicted run, that must overlap for it to count as detected, in [0, 1].
    delta : int, default 0
        Length of the zone of doubt after each event, in steps; 0 for none.
    alpha : float, default 0.5
        Weight of detection against overlap, in [0, 1].

    Returns
    -------
    PRF
        Higher is better. Recall is in [0, 1]; precision may exceed 1 through zones. Where nothing is predicted
        precision is 0 and recall follows the formula: 0, but ``alpha`` at ``theta=0``.

    Warnings
    --------
    ``theta=0`` counts undetected events as detected. Predicted runs weigh the same whatever their length.

    Notes
    -----
    As in the authors' program the zone has ``delta + 1`` steps, is dropped where it has fewer than two, is cut before
    the next event only if it reaches beyond that event's first step, and keeps its slope past the end of the series.

    References
    ----------
    .. [1] W.-S. Hwang et al., "Time-series aware precision and recall for anomaly detection", CIKM 2019,
       doi:10.1145/3357384.3358118.

    Examples
    --------
    >>> tapr([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0])
    PRF(precision=0.75, recall=0.75, f1=0.75)
    """
    require_anomaly(labels)
    starts, _ = runs(labels)
    scores = _overlap_scores(labels, predictions, np.full(starts.size, min(delta, _LONGEST), dtype=np.intp))
    detected = np.minimum(scores.per_event(), 1.0)
    recall = float(alpha * np.mean(detected >= theta) + (1 - alpha) * np.mean(detected))
    if not scores.run_lengths.size:
        return PRF.of(0.0, recall)
    correct = scores.per_run()
    return PRF.of(float(alpha * np.mean(correct >= theta) + (1 - alpha) * np.mean(correct)), recall)


@on_predictions(theta_p=FRACTION, theta_r=FRACTION, delta=FRACTION)
def etapr(
    labels: BoolArray, predictions: BoolArray, *, theta_p: float = 0.5, theta_r: float = 0.1, delta: float = 0.0
) -> PRF:
    r"""Enhanced time-series aware precision, recall and F1 (eTaPR).

    The overlap scores O(e, q) of `tapr` are pruned first: until nothing changes, the scores of every event covered
    for less than ``theta_r`` of its length are set to 0, then those of every predicted run of which less than
    ``theta_p`` is correct. From what is left, with :math:`r_e = \sum_q O(e, q) / L_e` (at most 1) and
    :math:`p_q = \sum_e O(e, q) / L_q`,

    .. math::
       R = \operatorname{mean}_e\; [r_e \ge \theta_r]\, \frac{1 + r_e}{2}, \qquad
       P = \frac{\sum_q \sqrt{L_q}\, [p_q \ge \theta_p]\, (1 + p_q) / 2}{\sum_q \sqrt{L_q}}.

    Parameters
    ----------
    theta_p : float, default 0.5
        Share of a predicted run that must be correct, in [0, 1].
    theta_r : float, default 0.1
        Share of an event that must be covered, in [0, 1]. The tables of the PATE paper use 0.01.
    delta : float, default 0
        Length of the zone of doubt after each event, as a share of the event's length less one, in [0, 1].

    Returns
    -------
    PRF
        Higher is better. Recall is in [0, 1]; precision may exceed 1 through zones. (0, 0, 0) where nothing is
        predicted.

    Warnings
    --------
    The thresholds are cliffs: one step more or less can move an event, and through the pruning its neighbours, from
    full credit to none. ``theta_r=0`` counts undetected events as detected, each worth one half.

    References
    ----------
    .. [1] W.-S. Hwang et al., "Do you know existing accuracy metrics overrate time-series anomaly detections?",
       SAC 2022, doi:10.1145/3477314.3507024.

    Examples
    --------
    >>> etapr([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0])
    PRF(precision=0.75, recall=0.75, f1=0.75)
    """
    require_anomaly(labels)
    if not predictions.any():
        return PRF(0.0, 0.0, 0.0)
    starts, stops = runs(labels)
    scores = _overlap_scores(labels, predictions, (delta * (stops - starts - 1)).astype(np.intp))
    while True:
        covered = scores.per_event()
        scores = scores.without(((covered > 0) & (covered < theta_r))[scores.event])
        correct = scores.per_run()
        wrong = (correct > 0) & (correct < theta_p)
        if not wrong.any():
            break
        scores = scores.without(wrong[scores.run])
    covered = np.minimum(scores.per_event(), 1.0)
    weights = np.sqrt(scores.run_lengths)
    return PRF.of(
        np.sum(weights * (correct >= theta_p) * (1 + correct)) / (2 * np.sum(weights)),
        float(np.mean((covered >= theta_r) * (1 + covered)) / 2),
    )


@dataclass(frozen=True)
class _OverlapScores:
    """The overlap score of each pair of an event and a predicted run that have one."""

    event: IntArray
    run: IntArray
    score: FloatArray
    event_lengths: IntArray
    run_lengths: IntArray

    def per_event(self) -> FloatArray:
        return np.bincount(self.event, weights=self.score, minlength=self.event_lengths.size) / self.event_lengths

    def per_run(self) -> FloatArray:
        return np.bincount(self.run, weights=self.score, minlength=self.run_lengths.size) / self.run_lengths

    def without(self, dropped: BoolArray) -> _OverlapScores:
        return replace(self, score=np.where(dropped, 0.0, self.score))


def _overlap_scores(labels: BoolArray, predictions: BoolArray, spans: IntArray) -> _OverlapScores:
    """Score all pairs; the zone after event k is ``spans[k] + 1`` steps long."""
    event_starts, event_stops = runs(labels)
    run_starts, run_stops = runs(predictions)
    common_starts, common_stops = runs(labels & predictions)
    event = np.searchsorted(event_starts, common_starts, side="right") - 1
    run = np.searchsorted(run_starts, common_starts, side="right") - 1
    score: FloatArray = (common_stops - common_starts).astype(np.float64)
    if spans.any():
        position, zone_event, credit = _zones(event_starts, event_stops, spans, labels.size)
        hit = predictions[position]
        position, zone_event, credit = position[hit], zone_event[hit], credit[hit]
        zone_run = np.searchsorted(run_starts, position, side="right") - 1
        pairs = np.concatenate([event, zone_event]) * run_starts.size + np.concatenate([run, zone_run])
        pairs, slot = np.unique(pairs, return_inverse=True)
        # Zone credits are added up on their own first: each zone's sum then does not depend on the event's length.
        score = np.add(
            np.bincount(slot[: event.size], weights=score, minlength=pairs.size),
            np.bincount(slot[event.size :], weights=credit, minlength=pairs.size),
        )
        event, run = np.divmod(pairs, max(run_starts.size, 1))
    return _OverlapScores(event, run, score, event_stops - event_starts, run_stops - run_starts)


def _zones(starts: IntArray, stops: IntArray, spans: IntArray, length: int) -> tuple[IntArray, IntArray, FloatArray]:
    """List the steps of the zones of doubt inside the series, with the event each follows and its credit."""
    following = np.append(starts[1:], np.iinfo(np.intp).max)
    last = stops + spans
    last = np.where(last > following, following - 1, last)
    rise = last - stops
    inside = np.where(rise > 0, np.minimum(last + 1, length) - stops, 0)
    position = within(stops, inside)
    event = np.repeat(np.arange(starts.size), inside)
    slope = -6 + 12 * (position - stops[event]) / rise[event]
    return position, event, 1 / (1 + np.exp(slope))
