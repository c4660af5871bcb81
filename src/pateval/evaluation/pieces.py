"""Pieces of one series around its events: drawn with replacement, they tell how far a value hangs on its events.

Counts are made once per piece, and a draw is a weighted sum of them wherever a metric is a function of counts: those at
thresholds (PATE, average precision, ROC, VUS) and those of predictions (point and event metrics, affiliation). Pieces
are series of their own there, so that zones and alarms end where they are cut. Whatever is no such function is computed
anew on the pieces of each draw: as several series where it can be pooled, else on the pieces put end to end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import ORACLE, Metric
from pateval.evaluation.bootstrap import event_blocks
from pateval.evaluation.measures import Measures
from pateval.evaluation.together import values_together
from pateval.evaluation.values import Sample, Value, values_of
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
from pateval.metrics.ranking import auc_pr, auc_roc, average_precision
from pateval.metrics.vus import VusAreas, vus_areas
from pateval.pate._counts import rank_steps
from pateval.pate.score import AREA_RULES
from pateval.time.timelines import Recording, Timeline, joined, read_zone_buffers
from pateval.validation.arrays import BoolArray, Buffers, FloatArray, IntArray, UndefinedMetricError

Array = npt.NDArray[np.float64]

_MAX_CELLS = 2**22  # counts of pieces or draws at thresholds that are held at once: 32 MB
_MAX_PAIRS = 90  # of buffers; from there on PATE is computed on a grid
_PRECISION_RECALL: dict[object, AreaRule] = {auc_pr: TRAPEZOID, average_precision: AVERAGE_PRECISION}
_RANKING = (auc_roc, *_PRECISION_RECALL)


def cut(recording: Recording) -> list[slice]:
    """Cut one series midway between its events; events that only left-out steps part stay in one piece."""
    found = event_blocks(recording.counted(recording.labels))
    cuts = recording.timeline.original(np.array([start for start, _ in found[1:]], dtype=np.intp))
    return [slice(*limits) for limits in pairwise([0, *cuts.tolist(), len(recording.labels)])]


def draw_pieces(pieces: int, draws: int, seed: int) -> IntArray:
    """How often each piece (column) is drawn in each draw (row)."""
    generator = np.random.default_rng(seed)
    drawn = [np.bincount(generator.integers(0, pieces, pieces), minlength=pieces) for _ in range(draws)]
    return np.array(drawn, dtype=np.intp).reshape(draws, pieces)


class Pieces:
    """One detector on the pieces of one series, with its predictions fixed: those of the whole series."""

    def __init__(self, recording: Recording, measures: Measures, limits: list[slice]) -> None:
        self._measures, self._limits = measures, limits
        self._sample = Sample(recording, measures)
        self._scores = cast(FloatArray, self._sample.scores)  # there, since detectors are compared by their scores
        self._computed: dict[object, Any] = {}
        self._recordings: dict[int | None, Recording] = {None: replace(recording, predictions=None)}
        self._in_pieces = replace(recording, starts=np.array([limit.start for limit in limits]))
        starts = self._in_pieces.timeline.starts
        self._sizes = np.diff([*starts, len(self._sample.labels)])
        self._counted = [slice(*ends) for ends in pairwise([*starts.tolist(), len(self._sample.labels)])]

    def values(self) -> list[dict[str, Value]]:
        """Values on each piece, a series of its own."""
        groups: dict[int, tuple[Recording, list[Metric]]] = {}
        for metric in self._measures.metrics:
            recording = self._judged(metric)
            groups.setdefault(id(recording), (recording, []))[1].append(metric)
        found: list[dict[str, Value]] = [{} for _ in self._limits]
        for recording, metrics in groups.values():
            parts = [recording.part(limit) for limit in self._limits]
            for values, more in zip(found, values_together(parts, self._only(recording, metrics)), strict=True):
                values |= more
        return found

    def drawn(self, weights: IntArray, tell: Callable[[int, int], None] | None = None) -> dict[str, FloatArray]:
        """Values on draws, given how often each piece (column) is in each draw (row); NaN where undefined.

        How many of the metrics are done is told.
        """
        number = len(self._measures.metrics)
        found: dict[str, FloatArray] = {}
        self._computed.clear()
        if not len(weights) or self._sample.recording.is_mostly_missing:
            return dict.fromkeys(self._measures.ids, np.full(len(weights), math.nan))
        anew = []
        for metric in self._measures.metrics:
            if metric.needs_threshold and self._sample.predicted(metric).flags is None:
                found[metric.id] = np.full(len(weights), math.nan)
            elif (values := self._from_counts(metric, weights)) is not None:
                found[metric.id] = values
            else:
                anew.append(metric)
                continue
            if tell is not None:
                tell(len(found), number)
        done = len(found)
        for metric in anew:
            found[metric.id] = np.empty(len(weights))
        for draw, times in enumerate(weights if anew else []):
            for metric_id, value in self._anew(anew, times).items():
                found[metric_id][draw] = value
            if tell is not None:
                tell(done + len(anew) * (draw + 1) // len(weights), number)
        return found

    def _judged(self, metric: Metric) -> Recording:
        """The recording with the predictions that a metric is judged on."""
        flags = self._sample.predicted(metric).flags if metric.needs_threshold else None
        key = None if flags is None else id(flags)
        if flags is not None and key not in self._recordings:
            everywhere = self._sample.timeline.on_all_steps(flags)
            self._recordings[key] = replace(self._sample.recording, predictions=everywhere)
        return self._recordings[key]

    def _only(self, recording: Recording, metrics: list[Metric]) -> Measures:
        # Metrics that have no predictions here have none on a piece: no rule is applied to it.
        own = replace(self._measures, metrics=tuple(metrics))
        return own if recording.predictions is not None else replace(own, threshold=ORACLE)

    def _anew(self, metrics: list[Metric], times: IntArray) -> dict[str, float]:
        chosen = [limit for limit, number in zip(self._limits, times, strict=True) for _ in range(number)]
        found = {}
        for metric in metrics:
            recording = self._judged(metric)
            if metric.pools:
                part = joined([recording.part(limit) for limit in chosen])
            else:
                part = recording.drawn(np.concatenate([np.arange(limit.start, limit.stop) for limit in chosen]))
            found[metric.id] = values_of(part, self._only(recording, [metric]))[metric.id].value
        return found

    def _from_counts(self, metric: Metric, weights: IntArray) -> FloatArray | None:
        """Values from counts, which metrics share where they can; None where a metric is no function of counts."""
        try:
            options = self._sample.step_options(self._measures.bind(metric))
        except UndefinedMetricError:
            return np.full(len(weights), math.nan)
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
            labels, scores = self._sample.labels, self._scores
            timeline = self._in_pieces.timeline
            areas = self._shared(
                ("pate", repr(lengths)), lambda: _pate_areas(labels, scores, timeline, weights, **lengths)
            )
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
        levels = np.unique(scores[labels])[::-1]  # the lowest may be that of missing scores
        anomalous = np.add.reduceat(labels, [limit.start for limit in self._counted], dtype=np.intp)
        everywhere, hits = PieceCounts(scores, levels, self._sizes), PieceCounts(scores[labels], levels, anomalous)
        positives, steps = weights @ anomalous, weights @ self._sizes
        reachable = levels.size - int(levels[-1] == -np.inf)
        found: dict[object, FloatArray] = {metric: np.full(len(weights), math.nan) for metric in _RANKING}
        for draw, ((detected, before), (hit, _)) in enumerate(
            zip(everywhere.of_draws(weights), hits.of_draws(weights), strict=True)
        ):
            gained, anomalies, normal = np.diff(hit, prepend=0), positives[draw], steps[draw] - positives[draw]
            if normal:
                false = (before[:-1] - (hit - gained)) + (detected - hit)
                found[auc_roc][draw] = 1 - (gained / anomalies * (false / (2 * normal))).sum()
            at = np.flatnonzero(gained[:reachable])  # the thresholds of this draw
            sums = (0.0, 0.0)
            if at.size:
                counts = hit[at], anomalies - hit[at], detected[at], np.append(before[at], detected[-1])
                sums = precision_recall_sums(*counts)
            for metric, rule in _PRECISION_RECALL.items():
                found[metric][draw] = rule.of_sums(*sums)
        return found

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


def _pate_areas(
    labels: BoolArray, scores: FloatArray, timeline: Timeline, weights: IntArray, *, early: Buffers, delay: Buffers
) -> dict[AreaRule, Array]:
    """Mean areas by both rules for draws, each (row) with how often it holds each series (column) of the timeline.

    Every step of an event or a zone adds its weight times how often its series is drawn.
    """
    early, delay, clock = read_zone_buffers(timeline, early, delay)
    events = timeline.events(labels)
    steps = rank_steps(scores, events, early, delay, clock=clock)
    number, inside = steps.thresholds.size, steps.inside_steps
    series = np.searchsorted(timeline.starts, events.starts, side="right") - 1
    anomalous = np.bincount(series, events.lengths, minlength=timeline.starts.size)
    inside_series = np.repeat(series, events.lengths)[inside.place]
    ranks = np.concatenate([inside.rank, steps.delayed.rank, steps.early.rank])
    owners = np.concatenate([inside_series, series[steps.delayed.event], series[steps.early.event]])
    order = np.argsort(ranks, kind="stable")
    pairs = []
    for (one_early, one_delay), number_of_times in Counter(product(early, delay)).items():
        after = steps.weights(steps.delayed, steps.limits.delayed_reach(one_delay))
        ahead = steps.weights(steps.early, steps.limits.early_reach(one_early, one_delay))
        gains = np.concatenate([np.ones(inside.rank.size), after, ahead])[order]
        gains, own_ranks, own_series = (values[gains > 0] for values in (gains, ranks[order], owners[order]))
        first = np.flatnonzero(np.diff(own_ranks, prepend=-1))  # of the steps that begin to count at each threshold
        pairs.append((number_of_times / (len(early) * len(delay)), gains, own_series, first, own_ranks[first]))
    areas: dict[AreaRule, Array] = {rule: np.zeros(len(weights)) for rule in (TRAPEZOID, AVERAGE_PRECISION)}
    detections = PieceCounts(scores, steps.thresholds, np.diff([*timeline.starts, scores.size]))
    for draw, (detected, before) in enumerate(detections.of_draws(weights) if number else []):
        times = weights[draw].astype(np.float64)
        changes = np.bincount(inside.rank, inside.change * times[inside_series], minlength=number)
        missed = np.cumsum(changes, dtype=np.float64) + times @ anomalous
        for share, gains, own_series, first, levels in pairs:
            gained = np.add.reduceat(gains * times[own_series], first)
            reached = np.flatnonzero(gained)  # the thresholds of this draw
            at, counted = levels[reached], np.cumsum(gained[reached], dtype=np.float64)
            sums = precision_recall_sums(counted, missed[at], detected[at], np.append(before[at], detected[-1]))
            for rule, values in areas.items():
                values[draw] += share * rule.of_sums(*sums)
    return areas


class PieceCounts:
    """How many steps of each piece of a series have scores at or above the thresholds, and strictly above them.

    Weighted sums of these are the counts of draws, in which a piece comes several times or not at all. The thresholds
    fall; the pieces, of so many steps each, follow one another.
    """

    def __init__(self, scores: FloatArray, thresholds: FloatArray, sizes: IntArray) -> None:
        ascending, self._sizes, self._number = thresholds[::-1], sizes, thresholds.size
        # How many thresholds a step reaches, and how many it exceeds.
        self._places = np.searchsorted(ascending, scores, side="right"), np.searchsorted(ascending, scores, side="left")
        self._by_piece: list[Array] | None = None
        shape = sizes.size, self._number + 1
        if math.prod(shape) <= _MAX_CELLS:
            row = np.repeat(np.arange(sizes.size) * shape[1], sizes)
            cells = [np.bincount(row + place, minlength=math.prod(shape)).reshape(shape) for place in self._places]
            self._by_piece = [np.cumsum(counts[:, :0:-1], axis=1, dtype=np.float64) for counts in cells]

    def of_draws(self, weights: IntArray) -> Iterator[tuple[Array, Array]]:
        """For each draw, a row of how often each piece comes, the steps at each threshold, and those just before each.

        The latter have one entry more: the steps after the last threshold.
        """
        together = max(1, _MAX_CELLS // (self._number + 1))
        for first in range(0, len(weights), together):
            block = weights[first : first + together].astype(np.float64)
            # The counts of all pieces at all thresholds may be too many to hold.
            products = None if self._by_piece is None else [block @ counts for counts in self._by_piece]
            for draw, times in enumerate(block):
                reached, exceeded = self._of_draw(times) if products is None else (each[draw] for each in products)
                yield reached, np.append(exceeded, reached[-1:])

    def _of_draw(self, times: Array) -> Iterator[Array]:
        often = np.repeat(times, self._sizes)
        for place in self._places:
            yield np.cumsum(np.bincount(place, often, minlength=self._number + 1)[:0:-1])
