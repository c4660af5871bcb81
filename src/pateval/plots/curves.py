"""PATE over many buffers and its precision-recall curves: the values, means over series as in every table, drawn.

Parameters
----------
scores : mapping of str to array-like
    Scores by detector, higher is more anomalous.
series : array-like, optional
    Which series each step belongs to; values are means over the series where PATE is defined.
pooled : bool
    Take all series for one sample instead.
**on_clock
    ``times``, ``time_unit``, ``max_gap``, ``ignore`` and ``missing`` as `pate` takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pateval.evaluation.measures import Measures
from pateval.evaluation.run import evaluate_runs
from pateval.output.results import PRF
from pateval.pate.curve import PateCurve, pate_curve
from pateval.pate.score import pate_at_sizes
from pateval.plots import styling as look
from pateval.plots.styling import Axes, figure
from pateval.plots.time_axis import envelope
from pateval.time.clocks import Duration, canonical_lengths
from pateval.time.timelines import Recording, leave_out_for_all, read_recording
from pateval.validation.arrays import Buffers, UndefinedMetricError
from pateval.validation.checked import documented

Array = npt.NDArray[np.float64]
Found = TypeVar("Found")
_EQUAL_F1 = (0.2, 0.4, 0.6, 0.8)


@documented
def pate_by_buffers(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    early: Sequence[int | Duration],
    delay: Sequence[int | Duration],
    series: npt.ArrayLike | None = None,
    pooled: bool = False,
    **on_clock: Any,
) -> Array:
    """PATE of every pair of an early buffer and a delay.

    Parameters
    ----------
    scores : array-like of float
        Those of one detector, higher is more anomalous.
    early, delay : sequence of int or of durations
        Buffer lengths in steps or in time.

    Returns
    -------
    ndarray
        One row per early buffer, one column per delay.

    Examples
    --------
    >>> pate_by_buffers([0, 0, 1, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.2], early=[0, 2], delay=[0]).round(3).tolist()
    [[0.792], [0.883]]
    """
    recording = read_recording(labels, scores, series=series, **on_clock)
    buffers, delays = canonical_lengths(early, "early"), canonical_lengths(delay, "delay")
    pairs = [[f"pate(early={buffer},delay={after})" for after in delays] for buffer in buffers]
    measures = Measures.of(
        metrics=list(dict.fromkeys(metric for row in pairs for metric in row)),
        max_gap=recording.max_gap,
        missing=recording.missing,
        pooled=pooled,
        chance=0,
    )
    evaluation = evaluate_runs([recording], measures)
    for reason in evaluation.reasons.values():
        raise UndefinedMetricError(reason)
    return np.array([[evaluation[metric] for metric in row] for row in pairs])


@documented
def pate_by_sizes(
    labels: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    sizes: Sequence[int | Duration],
    series: npt.ArrayLike | None = None,
    pooled: bool = False,
    **on_clock: Any,
) -> dict[str, Array]:
    """PATE of each detector with buffers of each size, early and delay alike.

    Parameters
    ----------
    sizes : sequence of int or of durations
        Buffer lengths in steps or in time.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> found = pate_by_sizes([0, 0, 1, 1, 0], {"a": [0.1, 0.7, 0.9, 0.4, 0.2]}, sizes=[0, 2])
    >>> found["a"].round(3).tolist()
    [0.792, 0.883]
    """
    recordings = _recordings(labels, scores, series=series, **on_clock)
    compute = partial(pate_at_sizes, sizes=sizes)
    return {name: np.mean(_over_series(one, compute, pooled=pooled), axis=0) for name, one in recordings.items()}


@dataclass(frozen=True)
class MeanCurve:
    """The mean of precision-recall curves at equal recall: over series, and over pairs of buffers.

    Attributes
    ----------
    curves : tuple of PateCurve
        Those of each series with each pair of buffers.
    series : int
        Over how many series.
    """

    curves: tuple[PateCurve, ...]
    series: int

    @property
    def area(self) -> float:
        """Mean of the areas, which is what tables print as ``pate``."""
        return float(np.mean([curve.area for curve in self.curves]))

    def points(self) -> tuple[Array, Array]:
        """Recall and mean precision; that of a curve is 0 beyond the recall it reaches."""
        lines = []
        for curve in self.curves:  # the points that PATE integrates, with the anchor before them
            is_kept = curve.recall >= np.maximum.accumulate(curve.recall)
            lines.append((np.append(0.0, curve.recall[is_kept]), np.append(1.0, curve.precision[is_kept])))
        if len(lines) == 1:
            return lines[0]
        recall = np.linspace(0, 1, 2001)
        return recall, np.mean([np.interp(recall, *line, right=0.0) for line in lines], axis=0)


@documented
def pate_curves(
    labels: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    series: npt.ArrayLike | None = None,
    pooled: bool = False,
    **on_clock: Any,
) -> dict[str, MeanCurve]:
    """Precision-recall curves of detectors whose areas are the PATE that tables print.

    Parameters
    ----------
    early, delay : int or duration, or sequence of them
        Buffer lengths; with several the mean over all pairs, as in `pate`.

    Returns
    -------
    dict of str to MeanCurve

    Examples
    --------
    >>> labels, scores = [0, 0, 1, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.2]
    >>> import pateval as pv
    >>> round(pate_curves(labels, {"a": scores}, early=[0, 2], delay=0)["a"].area, 6)
    0.8375
    >>> round(pv.pate(labels, scores, early=[0, 2], delay=0), 6)
    0.8375
    """
    pairs = [(one, other) for one in canonical_lengths(early, "early") for other in canonical_lengths(delay, "delay")]

    def compute(**steps: Any) -> list[PateCurve]:
        return [pate_curve(early=one, delay=other, **steps) for one, other in pairs]

    curves = {}
    for name, recording in _recordings(labels, scores, series=series, **on_clock).items():
        by_series = _over_series(recording, compute, pooled=pooled)
        curves[name] = MeanCurve(tuple(curve for curves in by_series for curve in curves), len(by_series))
    return curves


def _recordings(labels: Any, scores: Mapping[str, Any], **steps: Any) -> dict[str, Recording]:
    recordings = leave_out_for_all([read_recording(labels, values, **steps) for values in scores.values()])
    return dict(zip(scores, recordings, strict=True))


def _over_series(recording: Recording, compute: Callable[..., Found], *, pooled: bool) -> list[Found]:
    """What is found on each series where PATE is defined, or on all of them taken together."""
    values, undefined = [], UndefinedMetricError("the detector has no score for more than half of the steps")
    for part in [recording] if pooled else recording.parts():
        counted = {"ignore": part.is_left_out, "missing": "normal" if part.has_gaps else "error"}
        try:
            if not part.is_mostly_missing:
                values.append(compute(labels=part.labels, scores=part.scores, **steps_of(part), **counted))
        except UndefinedMetricError as error:
            undefined = error
    if not values:
        raise undefined
    return values


def steps_of(recording: Recording) -> dict[str, Any]:
    """When the steps of a recording were, and which series they belong to, as functions on PATE take it."""
    steps: dict[str, Any] = {"series": recording.series_of_steps, "max_gap": recording.max_gap}
    if recording.clock is not None:
        clock = recording.clock.as_given()
        steps |= {"times": clock.times, "time_unit": clock.unit}
    return steps


@figure
def precision_recall(
    curve: PateCurve | MeanCurve | Mapping[str, PateCurve | MeanCurve],
    *,
    threshold: float | Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one or several precision-recall curves as PATE integrates them.

    Each begins at (recall 0, precision 1) and leaves out points whose recall is below an earlier one, so that the area
    under the line is the PATE in the legend. The mean of several curves, over series or pairs of buffers, is taken at
    equal recall. Thin lines join points of equal F1.

    Parameters
    ----------
    curve : PateCurve or MeanCurve, or mapping of str to these
        What `pateval.pate_curve` returned, for one detector or several by name, or what `pate_curves` did.
    threshold : float, or mapping of str to float, optional
        The threshold in use, for all detectors or by name: its point is marked, with several series or pairs of buffers
        the mean of their points. A step is predicted where its score is at least the threshold.

    Examples
    --------
    >>> import pateval as pv
    >>> curve = pv.pate_curve([0, 0, 1, 1, 0], [0.1, 0.6, 0.9, 0.4, 0.2], early=1, delay=1)
    >>> ax = pv.plots.precision_recall(curve, threshold=0.4)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('recall (weighted)', 'precision (weighted)')
    """
    given = dict(curve) if isinstance(curve, Mapping) else {"": curve}
    if not given:
        raise ValueError("there is nothing to draw: give at least one curve")
    curves = {name: one if isinstance(one, MeanCurve) else MeanCurve((one,), 1) for name, one in given.items()}
    series = max(one.series for one in curves.values())
    ax = look.one_axes(ax, (4.4, 3.8 + 0.17 * len(curves)))
    _equal_f1_lines(ax)
    for place, (name, drawn) in enumerate(curves.items()):
        looks = look.line_style(place)
        label = f"{name} (PATE {drawn.area:.3f})" if name else f"PATE {drawn.area:.3f}"
        points = envelope(*drawn.points())
        ax.plot(*points, label=label, zorder=3, **looks.line())
        at = look.threshold_of(threshold, name)
        if at is not None:
            _mark_threshold(ax, drawn, at, looks, named=len(curves) == 1)
    if threshold is not None and len(curves) > 1:
        ax.plot([], [], linestyle="none", marker="o", color=look.QUIET, label="threshold in use")
    precision = "precision (weighted)" if series == 1 else f"precision (weighted, mean of {series} series)"
    ax.set(xlim=(0, 1.0), ylim=(0, 1.02), xlabel="recall (weighted)", ylabel=precision)
    ax.set_aspect("equal", adjustable="box")
    ax.grid(visible=False)
    look.legend_above(ax)
    return ax


def _equal_f1_lines(ax: Axes) -> None:
    for value in _EQUAL_F1:
        recall = np.linspace(value / (2 - value), 1, 200)
        ax.plot(recall, value * recall / (2 * recall - value), color="#CFCFCF", linewidth=0.8, zorder=1)
        beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(f"F1 {value:.1f}", (1.0, value / (2 - value)), va="center", fontsize=7, color=look.QUIET, **beside)


def _mark_threshold(ax: Axes, drawn: MeanCurve, threshold: float, looks: look.LineStyle, *, named: bool) -> None:
    """Mark where the curve stands at a threshold: at the lowest distinct score that still reaches it."""
    points = []
    for curve in drawn.curves:
        reached = int(np.count_nonzero(curve.thresholds >= threshold))
        points.append((curve.recall[reached - 1], curve.precision[reached - 1]) if reached else (0.0, 0.0))
    recall, precision = np.mean(points, axis=0).tolist()
    f1 = PRF.of(precision, recall).f1
    text = f"threshold {threshold:.4g}: precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}"
    dots = looks.points(7) | ({"color": look.ALARM} if named else {})
    ax.plot([recall], [precision], zorder=5, label=text if named else None, **dots)
