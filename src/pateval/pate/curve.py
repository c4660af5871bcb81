"""The proximity-weighted precision-recall curve of one pair of buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import TRAPEZOID
from pateval.kernels.threshold_counts import at_least
from pateval.output.results import Result
from pateval.output.text_table import plain
from pateval.pate._counts import rank_steps
from pateval.time.clocks import Duration, single
from pateval.time.timelines import Timeline, read_scores, read_zone_buffers
from pateval.validation.arrays import BoolArray, FloatArray, require_anomaly
from pateval.validation.checked import documented


@dataclass(frozen=True)
class PateCurve(Result):
    """Weighted counts, precision and recall at every distinct score, from high to low.

    Attributes
    ----------
    thresholds : ndarray
        The distinct scores, descending. A step is predicted where its score is at least the threshold. They are floats,
        or the integers given where these are too large for floats to tell apart.
    precision, recall : ndarray
        ``TP / (TP + FP)`` and ``TP / (TP + FN)`` at each threshold. Nothing is dropped and no anchor is added.
    true_positive, false_positive, false_negative : ndarray
        The weighted counts.
    area : float
        Area under the curve by the trapezoid rule, from (recall 0, precision 1), leaving out points whose recall is
        below an earlier one: what `pate` returns for this pair of buffers.
    """

    thresholds: npt.NDArray[Any]
    precision: npt.NDArray[np.float64]
    recall: npt.NDArray[np.float64]
    true_positive: npt.NDArray[np.float64]
    false_positive: npt.NDArray[np.float64]
    false_negative: npt.NDArray[np.float64]
    area: float

    def columns(self) -> dict[str, Any]:
        """Return the columns, a row per threshold."""
        return {name: values for name, values in super().columns().items() if name != "area"}

    def to_dict(self) -> dict[str, Any]:
        """Return the area, and the columns as lists."""
        return {"area": plain(self.area)} | super().to_dict()

    def _repr_html_(self) -> str:
        from pateval.output.html import curve_picture, fragment

        thresholds = f"{self.thresholds.size:,} thresholds"
        picture = curve_picture(self.recall, self.precision)
        return fragment(f"PATE curve: area {self.area:.4f} at {thresholds}", pictures=[picture])

    def __repr__(self) -> str:
        return f"PateCurve({self.thresholds.size} thresholds, area={self.area:.4f})"


@documented
def pate_curve(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    early: int | Duration,
    delay: int | Duration,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> PateCurve:
    """Proximity-weighted precision and recall at every distinct score.

    Parameters
    ----------
    early, delay : int or duration
        One buffer length before and after an event, in steps or on ``times``.

    Returns
    -------
    PateCurve
        Thresholds (descending), weighted counts, precision, recall and the area.

    See Also
    --------
    pate : the area, averaged over buffers.
    explain : why a single threshold gives the counts it gives.

    Examples
    --------
    >>> import pateval as pv
    >>> curve = pv.pate_curve([0, 0, 1, 1, 0, 0], [0.1, 0.6, 0.9, 0.4, 0.5, 0.2], early=2, delay=2)
    >>> curve.thresholds.tolist()
    [0.9, 0.6, 0.5, 0.4, 0.2, 0.1]
    >>> curve.recall.round(3).tolist()
    [0.5, 0.583, 0.643, 1.0, 1.0, 1.0]
    >>> curve
    PateCurve(6 thresholds, area=0.8417)
    """
    truth, values, timeline = read_scores(
        labels, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    )
    return curve_on(truth, values, timeline, early=single(early, "early"), delay=single(delay, "delay"))


def curve_on(labels: BoolArray, scores: FloatArray, timeline: Timeline, *, early: Any, delay: Any) -> PateCurve:
    """The curve of checked scores at the steps of a timeline; missing ones are negative infinity."""
    one_early, one_delay, clock = read_zone_buffers(timeline, early, delay)
    require_anomaly(labels)
    steps = rank_steps(scores, timeline.events(labels), one_early, one_delay, clock=clock)
    ((*_, counted),) = steps.true_positives(one_early, one_delay)
    ascending = np.sort(scores)
    first = np.concatenate([[0], np.flatnonzero(ascending[1:] != ascending[:-1]) + 1])
    first = first[ascending[first] > -np.inf]  # A missing score is no threshold.
    thresholds = ascending[first][::-1]
    detected = (scores.size - first)[::-1].astype(np.float64)
    # Scores outside all zones change nothing but the number of detections.
    reached = at_least(steps.thresholds[::-1], thresholds)
    true_positive = np.concatenate([[0.0], counted])[reached]
    missed = np.concatenate([[float(np.count_nonzero(labels))], steps.missed])[reached]
    return PateCurve(
        thresholds=thresholds,
        precision=true_positive / detected,
        recall=true_positive / (true_positive + missed),
        true_positive=true_positive,
        false_positive=detected - true_positive,
        false_negative=missed,
        area=steps.area(counted, TRAPEZOID),
    )
