"""Detection quality: zones near and far around each event, and what predictions do in them.

Parameters
----------
near : float, default 125
    Steps around an event that are near it; above 0, and well below the gaps between events.

References
----------
.. [1] Y. Li et al., DQE, preprint 2026, arXiv:2603.06131.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pateval.labels.events import runs
from pateval.output.results import Result
from pateval.validation.arrays import BoolArray, FloatArray, UndefinedMetricError, require_anomaly
from pateval.validation.checked import documented, integer_from, number, on_predictions, on_scores, undefined_where

_MOST_THRESHOLDS = 100_000  # each costs a pass over the series
_NEAR = number(counts_steps=True)


class _DetectionQualityFields(NamedTuple):
    quality: float
    capture: float
    near_miss: float
    false_alarm: float


class DetectionQuality(_DetectionQualityFields, Result):
    """Means over the events of the quality and of the three parts it is made of.

    Attributes
    ----------
    quality : float
        Mean over the events of ``sqrt((capture + near_miss) / 2 * false_alarm)``.
    capture, near_miss, false_alarm : float
        Means of the parts; 1 is best for each.
    """

    __slots__ = ()


@on_scores(near=_NEAR, thresholds=integer_from(1, _MOST_THRESHOLDS))
@undefined_where("a score lies outside [0, 1]")
def detection_quality(labels: BoolArray, scores: FloatArray, *, near: float = 125, thresholds: int = 100) -> float:
    r"""Mean detection quality over thresholds (DQE).

    .. math:: \frac1n \sum_{j=1}^{n} Q\Bigl(\text{score} \ge \frac jn\Bigr)

    with n ``thresholds`` and Q of `detection_quality_predictions`.

    Parameters
    ----------
    scores : array-like of float
        From 0 to 1, higher is more anomalous, one value per time step.
    thresholds : int, default 100
        Number of thresholds, equally spaced up to 1.

    Warnings
    --------
    Emerging: a preprint so far. It depends on the values of the scores and not on their order alone, and it inherits
    what is wrong with `detection_quality_predictions`.

    Examples
    --------
    >>> labels, scores = [0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0.1, 0, 0.2, 0, 0.9, 0.7, 0.3, 0, 0, 0.1]
    >>> round(detection_quality(labels, scores, near=2, thresholds=10), 4)
    0.7801
    """
    require_anomaly(labels)
    lowest, highest = float(scores.min()), float(scores.max())
    if lowest < 0 or highest > 1:
        raise UndefinedMetricError(
            f"the metric is undefined: it takes scores from 0 to 1; these lie between {lowest:g} and {highest:g}"
        )
    zones = _Zones.around(labels, near)
    scores = scores.astype(np.float64, copy=False)  # so that a threshold is not rounded
    levels = [level / thresholds for level in range(1, thresholds + 1)]
    return sum(_parts(zones, scores >= level).quality for level in levels if level <= highest) / thresholds


@documented
def detection_quality_predictions(labels: ArrayLike, predictions: ArrayLike, *, near: float = 125) -> float:
    r"""Detection quality of predictions: capture, near misses and false alarms, event by event (DQE).

    Time is continuous and step t is [t, t + 1). Up to ``near`` steps on both sides of an event are near it; what lies
    between the near zones of two events is cut in the middle into a far zone of each, and before the first and after
    the last event all the rest is far. Where near zones overlap, the shared part belongs to the earlier event only.
    Predicted runs are cut at the borders of the zones into pieces. For each event, with n ``near``:

    * capture C: 1 if a piece lies in the event, else 0;
    * near miss N: :math:`(1 - d/n)(1 - D/(2n))` with D the length of the near pieces and d the distance of the nearest
      to the event; without such pieces 1 if the event is captured and there is no far piece, else 0;
    * false alarm A: :math:`\max(0, 1 - 2f / F)` with f the length of the far pieces and F that of both far zones, times
      :math:`1 - \log_2 m / \log_2 K`, with K the length F rounded up and m how many of K equal bins, laid over both far
      zones side by side, hold the middle of a far piece.

    .. math:: Q = \operatorname{mean} \sqrt{\tfrac12 (C + N)\, A}

    Warnings
    --------
    Emerging: a preprint so far. Not monotone: beside a far false alarm, a wrong step next to the event may raise the
    quality from 0.706 to 0.998. In a narrow gap only the earlier event is paid for near misses. A missed event without
    a near piece scores 0 whatever its false alarms. With ``near`` as long as the gaps, flagging everything scores high:
    0.906 on 100 steps.

    Examples
    --------
    >>> detection_quality_predictions([0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0], near=2)
    1.0
    """
    return detection_quality_parts(labels, predictions, near=near).quality


@on_predictions(near=_NEAR)
def detection_quality_parts(labels: BoolArray, predictions: BoolArray, *, near: float = 125) -> DetectionQuality:
    """Detection quality and its three parts, each the mean over the events; see `detection_quality_predictions`.

    Parameters
    ----------
    near : float, default 125
        Steps around an event that are near it; above 0.

    Returns
    -------
    DetectionQuality
        ``quality``, ``capture``, ``near_miss`` and ``false_alarm``, each in [0, 1], higher is better.

    Examples
    --------
    >>> detection_quality_parts([0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], near=2)
    DetectionQuality(quality=0.6123724356957945, capture=0.0, near_miss=0.75, false_alarm=1.0)
    """
    require_anomaly(labels)
    return _parts(_Zones.around(labels, near), predictions)


class _Zones(NamedTuple):
    """Borders around each event: early-far, early-near, the event, late-near and late-far lie between them."""

    early_far: FloatArray
    early_near: FloatArray
    start: FloatArray
    stop: FloatArray
    late_far: FloatArray
    end: FloatArray
    near: float

    @classmethod
    def around(cls, labels: BoolArray, near: float) -> _Zones:
        starts, stops = runs(labels)
        # Ahead of each event, and after it: what the neighbour's near zone leaves.
        taken_before = np.append(0.0, np.minimum(stops[:-1] + near, starts[1:]))
        late_far = np.minimum(stops + near, np.append(starts[1:], labels.size))
        early_near = np.maximum(starts - near, taken_before)
        taken_after = np.maximum(starts[1:] - near, late_far[:-1])
        early_far = np.append(0.0, (taken_before + early_near)[1:] / 2)
        end = np.append((late_far[:-1] + taken_after) / 2, labels.size)
        return cls(early_far, early_near, starts.astype(np.float64), stops.astype(np.float64), late_far, end, near)


def _parts(zones: _Zones, predictions: BoolArray) -> DetectionQuality:
    starts, stops = runs(predictions)
    if not starts.size:
        return DetectionQuality(0.0, 0.0, 0.0, 1.0)
    # For each border: the runs that begin ahead of it, those that end by it, and the predicted length ahead of it.
    borders = np.stack(zones[:6])
    begun, done = np.searchsorted(starts, borders), np.searchsorted(stops, borders, side="right")
    last_begun, first_left = np.maximum(begun - 1, 0), np.minimum(done, starts.size - 1)
    reached = borders - starts[first_left]
    covered = np.append(0, np.cumsum(stops - starts))[done] + np.where(begun > done, reached, 0.0)
    # The pieces between two borders are the runs that begin ahead of the second and do not end by the first.
    pieces = np.where(borders[1:] > borders[:-1], begun[1:] - done[:-1], 0)
    lengths = np.diff(covered, axis=0)
    early_far, early_near, inside, late_near, late_far = pieces
    capture = inside > 0

    distance = np.full(capture.size, np.inf)
    ahead, behind = stops[last_begun[2]], starts[first_left[3]]
    np.minimum(distance, zones.start - np.minimum(ahead, zones.start), out=distance, where=early_near > 0)
    np.minimum(distance, np.maximum(behind, zones.stop) - zones.stop, out=distance, where=late_near > 0)
    near_length = lengths[1] + lengths[3]
    far = early_far + late_far
    near_miss = np.where(
        early_near + late_near > 0,
        (1 - distance / zones.near) * (1 - near_length / (2 * zones.near)),
        capture & (far == 0),
    )

    before, after = zones.early_near - zones.early_far, zones.end - zones.late_far
    room = before + after
    false_alarm = np.maximum(1 - 2 * (lengths[0] + lengths[4]) / np.where(room > 0, room, 1.0), 0.0)
    is_binned = (far > 0) & (room > 1)
    bins = np.ceil(np.where(is_binned, room, 2.0))
    # A bin is at most a step long, so two pieces of one zone, which lie a step apart, never share one; of both zones
    # only the pieces nearest to the event can.
    last, first = last_begun[1], first_left[4]
    early = np.maximum(starts[last], zones.early_far) + np.minimum(stops[last], zones.early_near)
    late = np.maximum(starts[first], zones.late_far) + np.minimum(stops[first], zones.end)
    is_shared = (early_far > 0) & (late_far > 0) & _share_a_bin(zones, early / 2, late / 2, bins)
    held = np.where(is_binned, far - is_shared, 1)
    false_alarm *= 1 - np.log2(held) / np.log2(bins)
    quality = np.sqrt((capture + near_miss) / 2 * false_alarm)
    return DetectionQuality(*(float(np.mean(part)) for part in (quality, capture, near_miss, false_alarm)))


def _share_a_bin(zones: _Zones, early: FloatArray, late: FloatArray, bins: FloatArray) -> BoolArray:
    """Whether places in the early and the late far zone lie in one of the bins of both, side by side."""
    before = zones.early_near - zones.early_far
    room = np.maximum(before + zones.end - zones.late_far, 1.0)
    early_bin = np.floor((early - zones.early_far) * bins / room)
    late_bin = np.floor((late - zones.late_far + before) * bins / room)
    return early_bin == np.minimum(late_bin, bins - 1)
