"""Precision and recall of runs over all thresholds, after Wagner et al., and the areas under their curve.

Parameters
----------
weighted : bool, default True
    Weigh predicted runs by their length in the precision, or all alike.

References
----------
.. [1] D. Wagner et al., "TimeSeAD: Benchmarking Deep Multivariate Time-Series Anomaly Detection", Transactions on
   Machine Learning Research, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pateval.kernels.precision_recall import steps, trapezoids, warn_if_coarse
from pateval.labels.events import find_events
from pateval.output.results import Result
from pateval.output.text_table import plain
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, require_anomaly
from pateval.validation.checked import TRUTH_VALUE, on_scores


@dataclass(frozen=True)
class TsCurve(Result):
    """Recall and precision of runs at every distinct score.

    Attributes
    ----------
    thresholds : ndarray of float
        Descending.
    recall, precision : ndarray of float
        At each threshold. The recall never falls: a further piece of an event covers more than its number costs.
    """

    thresholds: FloatArray
    recall: FloatArray
    precision: FloatArray

    @property
    def area(self) -> float:
        """Area by the trapezoid rule, from recall 0 and precision 1."""
        return float(trapezoids(np.append(0.0, self.recall), np.append(1.0, self.precision)))

    @property
    def average_precision(self) -> float:
        """Sum of recall gained times precision."""
        return float(steps(self.recall, self.precision))

    def to_dict(self) -> dict[str, Any]:
        """Return the area, and the columns as lists."""
        return {"area": plain(self.area)} | super().to_dict()


@on_scores(weighted=TRUTH_VALUE)
def ts_auprc(labels: BoolArray, scores: FloatArray, *, weighted: bool = True, missing: str = "error") -> float:
    r"""Area under the precision-recall curve of runs, by the trapezoid rule from recall 0 and precision 1.

    With :math:`\gamma(L, n) = ((L - 1) / L)^{n - 1}`, at each distinct score as threshold

    .. math::

        recall = \frac{1}{|A|} \sum_{a \in A} \gamma(|a|, n_a) \frac{|a \cap \bigcup P|}{|a|}, \qquad
        precision = \frac{1}{|P|} \sum_{p \in P} \gamma(|p|, m_p) \frac{|p \cap \bigcup A|}{|p|}

    where A are the events, P the predicted runs, :math:`n_a` the number of runs that touch the event a (0 gives 0) and
    :math:`m_p` the number of events that the run p touches. The precision is weighted by run length unless told
    otherwise.

    Warnings
    --------
    The straight lines flatter coarse scores: with one event, constant scores get (1 + share of anomalous steps) / 2.
    The reference code (TimeSeAD 0.0.2) leaves all but the first false alarm after the last event out of the weighted
    denominator and so gives up to 0.54 more; here all flagged steps are in it.

    Examples
    --------
    >>> ts_auprc([0, 1, 1, 1, 0, 0], [0.1, 0.9, 0.2, 0.8, 0.3, 0.0])
    0.8379...
    """
    curve = _curve(labels, scores, weighted=weighted)
    warn_if_coarse(scores, "ts_auprc", "ts_average_precision")
    return curve.area


@on_scores(weighted=TRUTH_VALUE)
def ts_average_precision(
    labels: BoolArray, scores: FloatArray, *, weighted: bool = True, missing: str = "error"
) -> float:
    r"""Average precision of runs: the sum, over the thresholds, of recall gained times precision.

    .. math:: \sum_k (R_k - R_{k-1}) P_k

    with the recall and precision of `ts_auprc`, from the highest distinct score to the lowest.

    Warnings
    --------
    The reference code (TimeSeAD 0.0.2) leaves all but the first false alarm after the last event out of the weighted
    denominator; here all flagged steps are in it.

    Examples
    --------
    >>> ts_average_precision([0, 1, 1, 1, 0, 0], [0.1, 0.9, 0.2, 0.8, 0.3, 0.0])
    0.8611...
    """
    return _curve(labels, scores, weighted=weighted).average_precision


@on_scores(weighted=TRUTH_VALUE)
def ts_curve(labels: BoolArray, scores: FloatArray, *, weighted: bool = True, missing: str = "error") -> TsCurve:
    """Recall and precision of runs at every distinct score, as `ts_auprc` defines them.

    Returns
    -------
    TsCurve
        Thresholds (descending), recall, precision; ``.area`` and ``.average_precision``.

    Examples
    --------
    >>> curve = ts_curve([0, 1, 1, 1, 0, 0], [0.1, 0.9, 0.2, 0.8, 0.3, 0.0])
    >>> curve.recall.round(3).tolist()
    [0.333, 0.444, 0.444, 1.0, 1.0, 1.0]
    >>> curve.precision.round(3).tolist()
    [1.0, 1.0, 0.667, 0.75, 0.6, 0.5]
    """
    return _curve(labels, scores, weighted=weighted)


def _curve(labels: BoolArray, scores: FloatArray, *, weighted: bool) -> TsCurve:
    require_anomaly(labels)
    # The level of a step is the number of distinct scores above its own: level k is flagged by the thresholds k, k+1...
    ascending, rank = np.unique(scores, return_inverse=True)
    number = int(ascending.size)
    level = number - 1 - rank
    flagged = np.cumsum(np.bincount(level, minlength=number))
    shares = _run_shares(labels, level, number, weighted=weighted)
    whole = flagged
    if not weighted:
        pairs = np.bincount(np.maximum(level[1:], level[:-1]), minlength=number)
        whole = flagged - np.cumsum(pairs)
    recall, precision = _recall(labels, level, number), np.clip(shares / whole, 0.0, 1.0)
    reached = number - int(ascending[0] == -np.inf)  # a missing score is no threshold
    return TsCurve(ascending[::-1][:reached], recall[:reached], precision[:reached])


def _gamma(lengths: IntArray, pieces: IntArray) -> FloatArray:
    """Reward for few pieces: ((L - 1) / L) ** (n - 1)."""
    return (1 - 1 / lengths) ** (pieces - 1)


def _recall(labels: BoolArray, level: IntArray, number: int) -> FloatArray:
    """Mean over events of the reward times the covered share, at every level.

    A run has one step more than it has pairs of neighbours, so the pieces of an event are its flagged steps less its
    flagged pairs. Both are put in the order in which they get flagged, event by event.
    """
    events = find_events(labels)
    steps_in = np.flatnonzero(labels)
    owner = np.repeat(np.arange(len(events)), events.lengths)
    paired = np.flatnonzero(owner[1:] == owner[:-1])
    pair_level = np.maximum(level[steps_in[paired]], level[steps_in[paired + 1]])
    key = np.concatenate([owner * number + level[steps_in], owner[paired] * number + pair_level])
    order = np.argsort(key)
    key, is_step = key[order], order < owner.size
    covered = np.cumsum(is_step)
    pieces = np.cumsum(np.where(is_step, 1, -1))
    last = np.flatnonzero(np.append(key[1:] != key[:-1], True))
    event, at = np.divmod(key[last], number)
    # Every event ends with all its steps covered in one piece: what earlier events have left in the running sums.
    covered, pieces = covered[last] - (np.cumsum(events.lengths) - events.lengths)[event], pieces[last] - event
    lengths = events.lengths[event]
    value = _gamma(lengths, pieces) * covered / lengths
    gained = np.diff(value, prepend=0.0)
    first = np.flatnonzero(np.diff(event, prepend=-1))
    gained[first] = value[first]
    # The running sum of gains may pass 1 by a rounding error.
    return np.minimum(np.cumsum(np.bincount(at, gained, minlength=number)) / len(events), 1.0)


def _run_shares(labels: BoolArray, level: IntArray, number: int, *, weighted: bool) -> FloatArray:
    """Sum over predicted runs of the reward times the covered share (or covered steps), at every level."""
    born, dies, first, last = _runs_touching_events(labels, level, number)
    before = np.concatenate([[0], np.cumsum(labels)])
    starts = labels & ~np.concatenate([[False], labels[:-1]])
    starts_before = np.concatenate([[0], np.cumsum(starts)])
    covered = before[last + 1] - before[first]
    touched = starts_before[last + 1] - starts_before[first] + (labels[first] & ~starts[first])
    lengths = last + 1 - first
    share = _gamma(lengths, np.maximum(touched, 1)) * covered / (1 if weighted else lengths)
    change = np.bincount(born, share, minlength=number + 1) - np.bincount(dies, share, minlength=number + 1)
    return np.cumsum(change[:-1])


def _runs_touching_events(
    labels: BoolArray, level: IntArray, number: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Every run that some threshold makes: the level at which it is born, at which it grows into another, its ends.

    Runs that touch no event are worth nothing and may be left out. So a step between events matters only from the
    level at which all steps from it to one of the two events are flagged. With these levels, which rise from either
    end of a gap, most steps of a gap share their level with a neighbour and are taken together.
    """
    gap_number = np.cumsum(labels) * number
    from_left = np.maximum.accumulate(level + gap_number) - gap_number
    gap_number = np.cumsum(labels[::-1]) * number
    from_right = (np.maximum.accumulate(level[::-1] + gap_number) - gap_number)[::-1]
    inside = np.flatnonzero(labels)
    from_left[: inside[0]], from_right[inside[-1] + 1 :] = number, number
    joins = np.where(labels, level, np.minimum(from_left, from_right))

    piece = np.concatenate([[0], np.flatnonzero(joins[1:] != joins[:-1]) + 1])
    born, dies, first, after = [], [], [], []
    open_levels, open_starts = [number + 1], [0]  # the levels on this stack fall
    for position, current in zip([*piece.tolist(), labels.size], [*joins[piece].tolist(), number], strict=True):
        start = position
        while open_levels[-1] < current:
            ended, start = open_levels.pop(), open_starts.pop()
            born.append(ended)
            dies.append(min(current, open_levels[-1]))
            first.append(start)
            after.append(position)
        if open_levels[-1] != current:
            open_levels.append(current)
            open_starts.append(start)
    return np.array(born), np.minimum(dies, number), np.array(first), np.array(after) - 1
