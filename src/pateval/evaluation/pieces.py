"""Pieces of one series around its events: drawn with replacement, they tell how far a value hangs on its events.

Counts are made once per piece, and a draw is a weighted sum of them wherever a metric is a function of counts: those at
thresholds (PATE, average precision, ROC, VUS) and those of predictions (point and event metrics, affiliation). Pieces
are series of their own there, so that zones and alarms end where they are cut. Whatever is no such function is computed
anew on the pieces of each draw: as several series where it can be pooled, else on the pieces put end to end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import ORACLE, Metric
from pateval.evaluation.bootstrap import percentile_limits
from pateval.evaluation.measures import Measures
from pateval.evaluation.together import values_together
from pateval.evaluation.values import Sample, Value, grouped, values_of
from pateval.kernels.precision_recall import AVERAGE_PRECISION, TRAPEZOID, AreaRule, precision_recall_sums
from pateval.kernels.soft_labels import (
    VARIANTS,
    SoftCounts,
    ThresholdSums,
    areas_of,
    cut_window,
    sampled_levels,
    soft_counts,
)
from pateval.labels.events import find_events
from pateval.metrics.ranking import auc_pr, auc_roc, average_precision
from pateval.metrics.vus import VusAreas, vus_areas
from pateval.pate._counts import rank_steps
from pateval.pate.score import AREA_RULES
from pateval.time.timelines import Recording, joined, read_zone_buffers
from pateval.validation.arrays import BoolArray, Buffers, FloatArray, IntArray, UndefinedMetricError

Array = npt.NDArray[np.float64]

_MAX_CELLS = 2**22  # counts of pieces at widths and thresholds that are held at once: 32 MB
_MAX_PAIRS = 90  # of buffers; from there on PATE is computed on a grid
_PRECISION_RECALL: dict[object, AreaRule] = {auc_pr: TRAPEZOID, average_precision: AVERAGE_PRECISION}
_RANKING = (auc_roc, *_PRECISION_RECALL)


def cuts_between_events(labels: BoolArray) -> IntArray:
    """Steps midway between neighbouring events.

    Events one step apart stay in one piece, so that no two events can meet when pieces are put end to end.
    """
    events = find_events(labels)
    stops, starts = events.stops[:-1], events.starts[1:]
    return ((stops + starts) // 2)[starts - stops >= 2]


def cut(recording: Recording) -> list[slice]:
    """Cut one series midway between its events; events that only left-out steps part stay in one piece."""
    cuts = cuts_between_events(recording.counted(recording.labels))
    return _slices(recording.timeline.original(cuts), len(recording.labels))


def _slices(cuts: IntArray, size: int) -> list[slice]:
    return [slice(*limits) for limits in pairwise([0, *cuts.tolist(), size])]


def draw_pieces(pieces: int, draws: int, seed: int) -> IntArray:
    """How often each piece (column) is drawn in each draw (row)."""
    generator = np.random.default_rng(seed)
    drawn = [np.bincount(generator.integers(0, pieces, pieces), minlength=pieces) for _ in range(draws)]
    return np.array(drawn, dtype=np.intp).reshape(draws, pieces)


def _drawn(limits: Iterable[slice], times: IntArray) -> list[slice]:
    """The pieces of one draw, in the order of time, so that an event at the end never meets one at the start."""
    return [limit for limit, number in zip(limits, times, strict=True) for _ in range(number)]


def event_intervals(
    labels: BoolArray, values_at: Callable[[IntArray], Sequence[float]], *, draws: int, seed: int = 0
) -> FloatArray:
    """Percentile limits of the values of one series over draws of its pieces, which are put end to end.

    NaN where there are fewer than two pieces.

    References
    ----------
    H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics 17 (1989).
    """
    limits = _slices(cuts_between_events(labels), labels.size)
    if len(limits) < 2:
        return np.full((len(values_at(np.arange(labels.size))), 2), np.nan)
    weights = draw_pieces(len(limits), draws, seed)
    values = np.array([values_at(np.r_[tuple(_drawn(limits, times))]) for times in weights])
    return np.array([percentile_limits(column) for column in values.T])


class Pieces:
    """One detector on the pieces of one series, with its predictions fixed: those of the whole series."""

    def __init__(self, recording: Recording, measures: Measures, limits: list[slice]) -> None:
        self._measures, self._limits = measures, limits
        self._sample = Sample(recording, measures)
        self._scores = cast(FloatArray, self._sample.scores)  # there, since detectors are compared by their scores
        self._computed: dict[object, Any] = {}
        self._timeline = replace(recording, starts=np.array([limit.start for limit in limits])).timeline
        self._counted = _slices(self._timeline.starts[1:], len(self._sample.labels))
        self._sizes = np.array([steps.stop - steps.start for steps in self._counted])

    def values(self) -> list[dict[str, Value]]:
        """Values on each piece, a series of its own."""
        by_piece: list[dict[str, Value]] = [{} for _ in self._limits]
        for metrics in grouped((id(self._judged(metric)), metric) for metric in self._measures.metrics).values():
            recording = self._judged(metrics[0])
            parts = [recording.part(limit) for limit in self._limits]
            for values, more in zip(by_piece, values_together(parts, self._only(recording, metrics)), strict=True):
                values |= more
        return by_piece

    def drawn(self, weights: IntArray, tell: Callable[[int, int], None] = lambda *_: None) -> dict[str, FloatArray]:
        """Values on draws, given how often each piece (column) is in each draw (row); NaN where undefined.

        How many of the metrics are done is told.
        """
        metrics, done = self._measures.metrics, 0
        found = {metric.id: np.full(len(weights), math.nan) for metric in metrics}
        if not len(weights) or self._sample.recording.is_mostly_missing:
            return found
        self._computed.clear()
        anew = []
        for metric in metrics:
            values = self._from_counts(metric, weights)
            if values is None:
                anew.append(metric)
            else:
                found[metric.id], done = values, done + 1
                tell(done, len(metrics))
        for draw, times in enumerate(weights if anew else []):
            for metric in anew:
                found[metric.id][draw] = self._anew(metric, _drawn(self._limits, times))
            tell(done + len(anew) * (draw + 1) // len(weights), len(metrics))
        return found

    def _judged(self, metric: Metric) -> Recording:
        """The recording with the predictions that a metric is judged on."""
        flags = self._sample.predicted(metric).flags if metric.needs_threshold else None
        everywhere = None if flags is None else self._sample.timeline.on_all_steps(flags)
        return self._shared(id(flags), lambda: replace(self._sample.recording, predictions=everywhere))

    def _only(self, recording: Recording, metrics: list[Metric]) -> Measures:
        # Metrics that have no predictions here have none on a piece: no rule is applied to it.
        own = replace(self._measures, metrics=tuple(metrics))
        return own if recording.predictions is not None else replace(own, threshold=ORACLE)

    def _anew(self, metric: Metric, chosen: list[slice]) -> float:
        recording = self._judged(metric)
        if metric.pools:
            part = joined([recording.part(limit) for limit in chosen])
        else:
            part = recording.drawn(np.r_[tuple(chosen)])
        return values_of(part, self._only(recording, [metric]))[metric.id].value

    def _from_counts(self, metric: Metric, weights: IntArray) -> FloatArray | None:
        """Values from counts, which metrics share where they can; None where a metric is no function of counts."""
        undefined = np.full(len(weights), math.nan)
        if metric.needs_threshold and self._sample.predicted(metric).flags is None:
            return undefined
        try:
            options = self._sample.step_options(self._measures.bind(metric))
        except UndefinedMetricError:
            return undefined
        if hasattr(metric.computation, "counts"):
            key = metric.computation, id(self._judged(metric)), repr(metric.compute_options(options))
            results = self._shared(key, lambda: self._summed(metric, options, weights))
            return np.array([metric.read(result, options) for result in results])
        if metric.function in _RANKING:
            return self._shared(_RANKING, lambda: self._ranking_areas(weights))[metric.function]
        if metric.on_timeline in AREA_RULES and options["thresholds"] is None:
            lengths = {name: options[name] for name in ("early", "delay")}
            if math.prod(len(given) if isinstance(given, tuple) else 1 for given in lengths.values()) > _MAX_PAIRS:
                return None
            areas = self._shared(("pate", repr(lengths)), lambda: self._pate_areas(weights, **lengths))
            return areas[AREA_RULES[metric.on_timeline]]
        if metric.work is vus_areas and options["thresholds"] is not None:
            volumes = self._shared((vus_areas, repr(options)), lambda: self._vus_areas(weights, **options))
            return np.array([_defined_or_nan(areas, cast(str, metric.part)) for areas in volumes])
        return None

    def _shared(self, key: object, compute: Callable[[], Any]) -> Any:
        if key not in self._computed:
            self._computed[key] = compute()
        return self._computed[key]

    def _summed(self, metric: Metric, options: dict[str, Any], weights: IntArray) -> list[Any]:
        """What a metric on predictions is read from: the counts of all pieces, as often as they are drawn."""
        count, value = metric.computation.counts  # type: ignore[attr-defined]  # declared by `adds_up`
        recording, rows = self._judged(metric), []
        for limit in self._limits:
            part = recording.part(limit)
            given: list[Any] = [part.counted(part.labels), part.counted(cast(BoolArray, part.predictions))]
            if metric.on_timeline is not None:
                given.append(part.timeline)
            rows.append(count(*given, **metric.compute_options(options)))
        return [value(*totals) for totals in (weights @ np.array(rows, dtype=np.float64)).tolist()]

    def _ranking_areas(self, weights: IntArray) -> dict[object, FloatArray]:
        """Areas under the ROC and the precision-recall curve, whose corners are the scores of anomalous steps."""
        labels, scores = self._sample.labels, self._scores
        levels, level = np.unique(scores[labels], return_inverse=True)  # the lowest may be that of missing scores
        levels, level = levels[::-1], levels.size - 1 - level
        reachable = np.arange(levels.size - int(levels[-1] == -np.inf))
        areas: dict[object, FloatArray] = {metric: np.full(len(weights), math.nan) for metric in _RANKING}
        for draw, (detected, before) in enumerate(_detections(scores, levels, self._sizes, weights)):
            times = np.repeat(weights[draw], self._sizes)
            gained = np.bincount(level, times[labels], minlength=levels.size)
            hit, anomalies = np.cumsum(gained), times[labels].sum()
            normal = times.sum() - anomalies
            if normal:
                false = (before - (hit - gained)) + (detected - hit)
                areas[auc_roc][draw] = 1 - (gained / anomalies * (false / (2 * normal))).sum()
            sums = _area_sums(gained[reachable].astype(np.float64), reachable, anomalies - hit, detected, before)
            for metric, rule in _PRECISION_RECALL.items():
                areas[metric][draw] = rule.of_sums(*sums)
        return areas

    def _pate_areas(self, weights: IntArray, *, early: Buffers, delay: Buffers) -> dict[AreaRule, Array]:
        """Areas by both rules: every step of an event or a zone adds its weight times how often its piece is drawn."""
        timeline, scores = self._timeline, self._scores
        early, delay, clock = read_zone_buffers(timeline, early, delay)
        events = timeline.events(self._sample.labels)
        steps = rank_steps(scores, events, early, delay, clock=clock)
        number, inside = steps.thresholds.size, steps.inside_steps
        piece = np.searchsorted(timeline.starts, events.starts, side="right") - 1
        piece_inside = np.repeat(piece, events.lengths)[inside.place]
        ranks = np.concatenate([inside.rank, steps.delayed.rank, steps.early.rank])
        owners = np.concatenate([piece_inside, piece[steps.delayed.event], piece[steps.early.event]])
        order = np.argsort(ranks, kind="stable")
        pairs = []
        for (one_early, one_delay), number_of_times in Counter(product(early, delay)).items():
            after = steps.weights(steps.delayed, steps.limits.delayed_reach(one_delay))
            ahead = steps.weights(steps.early, steps.limits.early_reach(one_early, one_delay))
            gains = np.concatenate([np.ones(inside.rank.size), after, ahead])[order]
            gains, own_ranks, own_pieces = (values[gains > 0] for values in (gains, ranks[order], owners[order]))
            first = np.flatnonzero(np.diff(own_ranks, prepend=-1))  # of the steps that begin to count at each threshold
            pairs.append((number_of_times / (len(early) * len(delay)), gains, own_pieces, first, own_ranks[first]))
        areas: dict[AreaRule, Array] = {rule: np.zeros(len(weights)) for rule in (TRAPEZOID, AVERAGE_PRECISION)}
        detections = _detections(scores, steps.thresholds, self._sizes, weights) if number else ()
        for draw, (detected, before) in enumerate(detections):
            times = weights[draw].astype(np.float64)
            changes = np.bincount(inside.rank, inside.change * times[piece_inside], minlength=number)
            missed = np.cumsum(changes, dtype=np.float64) + times[piece] @ events.lengths
            for share, gains, own_pieces, first, levels in pairs:
                gained = np.add.reduceat(gains * times[own_pieces], first)
                sums = _area_sums(gained, levels, missed, detected, before)
                for rule, values in areas.items():
                    values[draw] += share * rule.of_sums(*sums)
        return areas

    def _vus_areas(self, weights: IntArray, *, window: int, thresholds: int, variant: str) -> list[VusAreas]:
        """Volumes: soft labels and zones of each piece, at the thresholds that the whole series has."""
        rules, scores, window = VARIANTS[variant], self._scores, cut_window(window, len(self._scores))
        ascending = np.sort(scores)
        levels = sampled_levels(ascending[ascending > -np.inf], thresholds)
        reachable = levels.size
        if self._sample.has_gaps:
            levels = np.append(levels, levels.dtype.type(-np.inf))
        totals: list[Any] = [0] * 8
        together = max(1, _MAX_CELLS // (2 * (window + 1) * levels.size))
        for first in range(0, len(self._counted), together):
            rows = []
            for steps in self._counted[first : first + together]:
                labels, own = self._sample.labels[steps], scores[steps]
                blocks = soft_counts(labels, own, levels, range(window + 1), rules)
                by_width = map(np.concatenate, zip(*blocks, strict=True))
                rows.append([*ThresholdSums.of(labels, own, np.sort(own), levels), *by_width])
            drawn = weights[:, first : first + together].astype(np.float64)
            for place, parts in enumerate(zip(*rows, strict=True)):
                # As floats, which hold whole numbers of steps exactly, and whose products BLAS computes.
                totals[place] = totals[place] + np.tensordot(drawn, np.array(parts, dtype=np.float64), 1)
        wanted = {str(metric.part) for metric in self._measures.metrics if metric.work is vus_areas}
        only = None if any(part.endswith("roc") for part in wanted) else "pr"
        areas = []
        for sums in zip(*totals, strict=True):
            flagged = slice(int(np.argmax(sums[0] > 0)), None)  # thresholds above all scores of the draw flag nothing
            counts = SoftCounts(sums[4][:, flagged], sums[5], sums[6][:, flagged], sums[7])
            at = ThresholdSums(sums[0][flagged], sums[1][flagged], float(sums[2]), float(sums[3]))
            areas.append(VusAreas(*areas_of(at, counts, rules, reachable - flagged.start, only=only)))
        return areas


def _defined_or_nan(areas: VusAreas, part: str) -> float:
    try:
        return float(getattr(areas, part))
    except UndefinedMetricError:
        return math.nan


def _area_sums(gained: Array, levels: IntArray, missed: Array, detected: Array, before: Array) -> tuple[float, float]:
    """What areas are made of, where some of the thresholds gain so much; the others are none of this draw."""
    is_reached = gained > 0
    at, counted = levels[is_reached], np.cumsum(gained[is_reached], dtype=np.float64)
    return precision_recall_sums(counted, missed[at], detected[at], np.append(before[at], detected[-1:]))


def _detections(
    scores: FloatArray, thresholds: FloatArray, sizes: IntArray, weights: IntArray
) -> Iterator[tuple[Array, Array]]:
    """For each draw, how many steps have scores at or above each of the falling thresholds, and how many above it."""
    places = [np.searchsorted(thresholds[::-1], scores, side=side) for side in ("right", "left")]
    for times in weights:
        steps = np.repeat(times, sizes)
        reached, exceeded = (np.bincount(place, steps, minlength=thresholds.size + 1) for place in places)
        yield np.cumsum(reached[:0:-1]), np.cumsum(exceeded[:0:-1])
