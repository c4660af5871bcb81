"""Range-AUC and VUS: areas under curves whose labels are softened around events, at one width or over many.

Parameters
----------
window : int, default 100
    The width, or the largest width W of a mean over widths; at width w the labels are softened over w // 2 steps on
    each side of an event. The argument z of the papers' "zone" is W = 2 z. One of more than 1,000 steps that is longer
    than the series is cut at its length.
thresholds : int or None, default 250
    How many thresholds to take from the sorted scores, evenly spaced by rank; None takes every distinct score.
variant : {"tsb-ad", "original", "timeeval"}, default "tsb-ad"
    Whose reading of the definition; the notes of `vus_roc` define it.

References
----------
.. [1] J. Paparrizos et al., "Volume Under the Surface: A New Accuracy Evaluation Measure for Time-Series Anomaly
   Detection", PVLDB 15(11), 2022, doi:10.14778/3551793.3551830.
.. [2] Q. Liu, J. Paparrizos, "The Elephant in the Room: Towards A Reliable Time-Series Anomaly Detection Benchmark",
   NeurIPS 2024.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pateval.kernels.precision_recall import warn_if_coarse
from pateval.kernels.soft_labels import (
    VARIANTS,
    ThresholdSums,
    areas_of,
    cut_window,
    sampled_levels,
    soft_counts,
    soft_recall,
)
from pateval.kernels.threshold_counts import above, distinct_descending
from pateval.labels.events import runs
from pateval.output.results import PRF, Result
from pateval.validation.arrays import BoolArray, FloatArray, UndefinedMetricError, require_anomaly
from pateval.validation.checked import POSITIVE_INTEGER, WINDOW, on_predictions, on_scores, word_of

_OPTIONS = {"window": WINDOW, "thresholds": POSITIVE_INTEGER.or_word(None, "all"), "variant": word_of(VARIANTS)}


class _VusAreasFields(NamedTuple):
    roc: FloatArray
    pr: FloatArray


class VusAreas(_VusAreasFields, Result):
    """Areas under the ROC and the precision-recall curve, one entry per width from 0 to the window."""

    __slots__ = ()

    @property
    def vus_roc(self) -> float:
        """Mean area under the ROC curve."""
        return float(_defined(self.roc).mean())

    @property
    def vus_pr(self) -> float:
        """Mean area under the precision-recall curve."""
        return float(self.pr.mean())

    @property
    def range_auc_roc(self) -> float:
        """Area under the ROC curve at the largest width."""
        return float(_defined(self.roc)[-1])

    @property
    def range_auc_pr(self) -> float:
        """Area under the precision-recall curve at the largest width."""
        return float(self.pr[-1])


def _defined(areas: FloatArray) -> FloatArray:
    if np.isnan(areas).any():
        raise UndefinedMetricError("the metric is undefined: every step is anomalous, so no alarm can be false")
    return areas


@on_scores(**_OPTIONS)
def vus_roc(
    labels: BoolArray,
    scores: FloatArray,
    *,
    window: int = 100,
    thresholds: int | None = 250,
    variant: str = "tsb-ad",
    missing: str = "error",
) -> float:
    r"""Volume under the surface of ROC curves: the mean of `range_auc_roc` over the widths 0 to ``window``.

    .. math:: \text{VUS-ROC} = \frac{1}{W + 1} \sum_{w=0}^{W} \text{Range-AUC-ROC}(w)

    Raises
    ------
    UndefinedMetricError
        If no step is anomalous, or if all are.

    Warnings
    --------
    Larger windows give higher values, so only values with the same window compare. Early and late detections count the
    same. A perfect detector reaches 1 only with ``variant="tsb-ad"``.

    Notes
    -----
    At width w, h = w // 2, an event [a, b] gives the step at distance d <= h the soft label :math:`\sqrt{1 - d/w}`;
    labels of neighbouring events add, up to 1. With p the flagged steps, l the soft and y the hard labels, and E the
    share of zones (events with h steps on both sides, merged where they overlap) that hold a flagged step, the recall,
    the precision and the false positive rate are

    .. math:: TP = \sum_t l_t p_t, \quad recall = \min(TP / P, 1) \, E, \quad
              precision = TP / \sum_t p_t, \quad rate = (\sum_t p_t - TP) / (T - P).

    ``"tsb-ad"``
        The code of TSB-AD and of the authors' later repository: P = sum(y) + half of the *flagged* soft mass outside
        events; the PR area is a sum of steps.
    ``"original"``
        The first code, also behind the tables of the PATE paper: P = (sum(y) + sum(l)) / 2 whatever is flagged; the
        slope after an event is one step shorter; the PR area is made of trapezoids from (0, 1).
    ``"timeeval"``
        TimeEval's default: slopes fall linearly from 1 to :math:`1/\sqrt 2`, the higher one holds where two meet,
        zones are never merged; P and PR area as in ``"original"``.

    Examples
    --------
    >>> vus_roc([0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0], window=4)
    0.9557...
    """
    return _areas(labels, scores, window, thresholds, variant, only="roc").vus_roc


@on_scores(**_OPTIONS)
def vus_pr(
    labels: BoolArray,
    scores: FloatArray,
    *,
    window: int = 100,
    thresholds: int | None = 250,
    variant: str = "tsb-ad",
    missing: str = "error",
) -> float:
    r"""Volume under the surface of precision-recall curves: the mean of `range_auc_pr` over the widths 0 to ``window``.

    .. math:: \text{VUS-PR} = \frac{1}{W + 1} \sum_{w=0}^{W} \text{Range-AUC-PR}(w)

    Returns
    -------
    float
        In [0, 1]; 1 is best. 1 if every step is anomalous.

    Warnings
    --------
    The variants differ widely on the same input (0.67 against 0.49 has been seen): name the one you report. Larger
    windows give higher values. In the variants ``"original"`` and ``"timeeval"``, whose area is made of trapezoids,
    constant scores get more than half the area.

    Examples
    --------
    >>> labels, scores = [0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0]
    >>> vus_pr(labels, scores, window=4)
    0.8259...
    >>> vus_pr(labels, scores, window=4, variant="original")
    0.9080...
    """
    areas = _areas(labels, scores, window, thresholds, variant, only="pr")
    if not VARIANTS[variant].precision_steps:
        warn_if_coarse(scores, f"vus_pr with variant={variant!r}", "variant='tsb-ad'")
    return areas.vus_pr


@on_scores(**_OPTIONS)
def range_auc_roc(
    labels: BoolArray,
    scores: FloatArray,
    *,
    window: int = 100,
    thresholds: int | None = 250,
    variant: str = "tsb-ad",
    missing: str = "error",
) -> float:
    """Area under the ROC curve of labels softened at the single width ``window``.

    The notes of `vus_roc` define the curve; the area is made of trapezoids from (0, 0) to (1, 1).

    Raises
    ------
    UndefinedMetricError
        If no step is anomalous, or if all are.

    Warnings
    --------
    The value depends strongly on the window, which is why `vus_roc` averages over it.

    Examples
    --------
    >>> range_auc_roc([0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0], window=4)
    0.9879...
    """
    return _areas(labels, scores, window, thresholds, variant, only="roc", single=True).range_auc_roc


@on_scores(**_OPTIONS)
def range_auc_pr(
    labels: BoolArray,
    scores: FloatArray,
    *,
    window: int = 100,
    thresholds: int | None = 250,
    variant: str = "tsb-ad",
    missing: str = "error",
) -> float:
    """Area under the precision-recall curve of labels softened at the single width ``window``.

    The notes of `vus_roc` define the curve and its area.

    Returns
    -------
    float
        In [0, 1]; 1 is best. 1 if every step is anomalous.

    Warnings
    --------
    The value depends strongly on the window, which is why `vus_pr` averages over it; the variants differ as there.

    Examples
    --------
    >>> range_auc_pr([0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0], window=4)
    0.9553...
    """
    areas = _areas(labels, scores, window, thresholds, variant, only="pr", single=True)
    if not VARIANTS[variant].precision_steps:
        warn_if_coarse(scores, f"range_auc_pr with variant={variant!r}", "variant='tsb-ad'")
    return areas.range_auc_pr


@on_scores(**_OPTIONS)
def vus_areas(
    labels: BoolArray,
    scores: FloatArray,
    *,
    window: int = 100,
    thresholds: int | None = 250,
    variant: str = "tsb-ad",
    missing: str = "error",
) -> VusAreas:
    """Areas of both curves at every width from 0 to ``window``, for little more than the price of one volume.

    Their means are `vus_roc` and `vus_pr`; their last entries are `range_auc_roc` and `range_auc_pr`.

    Returns
    -------
    VusAreas
        Two arrays, ``roc`` and ``pr``. If every step is anomalous, ``roc`` is undefined and holds NaN.

    Examples
    --------
    >>> areas = vus_areas([0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0], window=4)
    >>> areas.roc.round(3).tolist()
    [0.917, 0.917, 0.974, 0.984, 0.988]
    """
    return _areas(labels, scores, window, thresholds, variant)


@on_predictions(window=WINDOW, variant=_OPTIONS["variant"])
def vus_predictions(labels: BoolArray, predictions: BoolArray, *, window: int = 100, variant: str = "tsb-ad") -> PRF:
    """Precision and recall of VUS for 0/1 predictions: their means over the widths 0 to ``window``, and F1 of these.

    The predictions are the one threshold of the surface; the notes of `vus_roc` define both quantities.

    Returns
    -------
    PRF
        Each in [0, 1]; 1 is best. All 0 if nothing is predicted.

    Warnings
    --------
    TSB-AD prints numbers of the same name, but lets the soft labels of one width grow on those of the width before and
    leaves out the existence factor of the recall; its numbers do not compare with these.

    Examples
    --------
    >>> vus_predictions([0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0], window=4)
    PRF(precision=0.8259..., recall=1.0, f1=0.9046...)
    """
    rules, window = VARIANTS[variant], cut_window(window, labels.size)
    require_anomaly(labels)
    if not predictions.any():
        return PRF(0.0, 0.0, 0.0)
    scores, only_level = predictions.astype(np.float64), np.ones(1)
    flagged, hit = (np.array([np.count_nonzero(mask)]) for mask in (predictions, labels & predictions))
    sums = ThresholdSums(flagged, hit, int(np.count_nonzero(labels)), labels.size)
    precisions, recalls = [], []
    for counts in soft_counts(labels, scores, only_level, range(window + 1), rules):
        true_positive, _, recall = soft_recall(sums, counts, rules)
        precisions.append(true_positive / flagged)
        recalls.append(recall)
    return PRF.of(np.concatenate(precisions).mean(), np.concatenate(recalls).mean())


def _areas(
    labels: BoolArray,
    scores: FloatArray,
    window: int,
    thresholds: int | None,
    variant: str,
    *,
    only: str | None = None,
    single: bool = False,
) -> VusAreas:
    """Areas per width: of both curves or ``only`` one (the other is NaN), at all widths or the ``single`` largest."""
    rules, window = VARIANTS[variant], cut_window(window, labels.size)
    require_anomaly(labels)
    ascending = np.sort(scores)
    present = ascending[ascending > -np.inf]
    levels = (
        _corners(labels, scores, present, window // 2) if thresholds is None else sampled_levels(present, thresholds)
    )
    reachable = levels.size
    if present.size < ascending.size:
        # Missing scores tie below all others in the ROC curve; that of precision and recall ends above them.
        levels = np.append(levels, levels.dtype.type(-np.inf))
    sums = ThresholdSums.of(labels, scores, ascending, levels)
    widths = range(window if single else 0, window + 1)
    blocks = soft_counts(labels, scores, levels, widths, rules)
    areas = [areas_of(sums, counts, rules, reachable, only=only) for counts in blocks]
    roc, pr = (np.concatenate(curve) for curve in zip(*areas, strict=True))
    return VusAreas(roc, pr)


def _corners(labels: BoolArray, scores: FloatArray, ascending: FloatArray, half: int) -> FloatArray:
    """Every threshold at which a curve can turn: the scores within reach of events, and those just above them.

    All other thresholds only add false alarms, along a straight line whose ends are kept.
    """
    starts, stops = runs(labels)
    edges = np.zeros(labels.size + 1, dtype=np.intp)
    np.add.at(edges, np.maximum(starts - half, 0), 1)
    np.add.at(edges, np.minimum(stops + half, labels.size), -1)
    within_reach = distinct_descending(np.sort(scores[(np.cumsum(edges[:-1]) > 0) & (scores > -np.inf)]))
    higher = above(ascending, within_reach)
    just_above = ascending[ascending.size - higher[higher > 0]]
    return distinct_descending(np.sort(np.concatenate([within_reach, just_above, ascending[:1]])))
