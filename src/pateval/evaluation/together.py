"""Values of many detectors on short series at once, as chance and boards of very many series need them.

On a hundred steps the calls of NumPy cost more than what they compute. Here all series stand one after the other, and
every distinct score has a level: those of the first series from its highest score down, then those of the second. So
each kernel is called once, and what it finds at the levels becomes a table with a row for each series, in which counts
are summed up. `values_of` is the definition, and computes whatever is out of the ordinary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import BEST, ORACLE
from pateval.evaluation.measures import Bound, Measures, searched
from pateval.evaluation.values import Value, values_of
from pateval.kernels.affiliation_zones import affiliation_of_events
from pateval.kernels.precision_recall import AVERAGE_PRECISION, TRAPEZOID, AreaRule, is_kept
from pateval.kernels.soft_labels import (
    VARIANTS,
    SoftCounts,
    ThresholdSums,
    areas_of,
    cut_window,
    sampled_ranks,
    soft_changes,
)
from pateval.labels.events import count_inside, find_events
from pateval.metrics.affiliation import affiliation
from pateval.metrics.point import point
from pateval.metrics.point_adjusted import point_adjusted
from pateval.metrics.ranking import auc_roc, average_precision
from pateval.metrics.vus import VusAreas, vus_areas
from pateval.pate._counts import rank_steps
from pateval.pate.score import AREA_RULES, pate_f1
from pateval.thresholds.sweeps import sweep_point, sweep_point_adjusted
from pateval.time.clocks import read_buffers
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray, IntArray

Array = npt.NDArray[np.float64]
Counts = list[npt.NDArray[Any]]  # each with a number for every series

_LONGEST = 4_000  # steps of a series; on longer ones what is computed costs more than the calls around it
MOST_STEPS = 12_000  # that are computed together, or about so many, so that their tables stay in the cache


def values_together(
    recordings: Sequence[Recording], measures: Measures, *, keep_going: bool = False
) -> list[dict[str, Value]]:
    """What `values_of` says of each recording, to the last digit; for short ones much sooner."""
    names = [name for name, bound in measures.bound.items() if _is_computed_here(bound)]
    places = [place for place, one in enumerate(recordings) if names and _is_ordinary(one)]
    others = measures.only(name for name in measures.ids if name not in names)
    alone = dict.fromkeys(range(len(recordings)), measures) | dict.fromkeys(places, others)
    by_place: list[dict[str, Value]] = [
        values_of(one, alone[place], keep_going=keep_going) if alone[place].metrics else {}
        for place, one in enumerate(recordings)
    ]
    blocks = round(sum(len(recordings[place].labels) for place in places) / MOST_STEPS)
    for block in np.array_split(places, max(blocks, 1)) if places else []:
        series = ShortSeries([recordings[place] for place in block])
        for name in names:
            for place, value in zip(block, series.values(measures.bound[name]), strict=True):
                by_place[place][name] = value
    return [{name: values[name] for name in measures.ids} for values in by_place]


def computes_together(measures: Measures) -> bool:
    """Whether all metrics are computed for many series at once."""
    return all(map(_is_computed_here, measures.bound.values()))


def _is_ordinary(recording: Recording) -> bool:
    """Whether a recording is a single short series with a score at every step, and anomalous at some of them only."""
    labels, scores = recording.labels, recording.scores
    is_plain = labels.ndim == 1 and scores is not None and recording.predictions is None and recording.starts.size == 1
    has_all_steps = recording.is_left_out is None and recording.absent is None and recording.max_gap is None
    return is_plain and has_all_steps and len(labels) <= _LONGEST and bool(labels.any()) and not labels.all()


def _is_computed_here(bound: Bound) -> bool:
    """Whether a metric, with its options and its threshold, is among those that are computed for many series."""
    metric, options = bound.metric, bound.work_options
    if bound.in_time:
        return False
    if metric.on_timeline in AREA_RULES:
        return options["thresholds"] is None and _has_plain_buffers(options)
    if metric.work is vus_areas:
        # The other variants count all of the slopes, those beyond the thresholds, too.
        has_widths = 0 < options["window"] == cut_window(options["window"], 0)
        return VARIANTS[options["variant"]].positives_follow and str(metric.part).endswith("pr") and has_widths
    if metric.needs_threshold:
        is_swept = bound.rule.kind == ORACLE or (bound.rule.kind == BEST and searched(metric).sweep in _SWEEPS)
        has_buffers = metric.function is not pate_f1 or _has_plain_buffers(options)
        return metric.computation in _COUNTS and is_swept and has_buffers
    return metric.computation in _ON_SCORES


def _has_plain_buffers(options: dict[str, Any]) -> bool:
    """Whether there is at most one buffer and none on either side: of several, short series cut some to one length."""
    given = (options["early"], options["delay"])
    return all(len(set(one if isinstance(one, tuple) else (one,)) - {0}) < 2 for one in given)


class _Rows:
    """A table with a row for each series, of values at its levels or thresholds; short rows end in zeros."""

    def __init__(self, series: IntArray, number: int) -> None:
        counts = np.bincount(series, minlength=number)
        self.series, self.firsts, self.shape = series, np.cumsum(counts) - counts, (number, int(counts.max()))
        self.cells = series * self.shape[1] + np.arange(series.size) - self.firsts[series]

    def filled(self, values: npt.NDArray[Any]) -> Array:
        """Put values into rows."""
        table = np.zeros(self.shape)
        table.reshape(-1)[self.cells] = values
        return table

    def summed(self, values: npt.NDArray[Any]) -> Array:
        """Put values into rows, each added to those before it."""
        table = self.filled(values)
        return np.cumsum(table, axis=1, out=table)

    def flat(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Take the values out of their rows."""
        return table.reshape(-1)[self.cells]


def _sums(values: npt.NDArray[Any], series: IntArray, number: int) -> Array:
    """Sum for each series, to the last digit what it is for the series alone."""
    edges = np.searchsorted(series, np.arange(number + 1)).tolist()
    return np.array([values[start:stop].sum() for start, stop in pairwise(edges)])


class Flagged(NamedTuple):
    """Predictions on all series: at or above a threshold for each of them."""

    steps: BoolArray
    numbers: IntArray  # how many there are on each series
    thresholds: Array


class ShortSeries:
    """Series with scores, one after the other, and what has been found on them."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self.sizes = np.array([len(one.labels) for one in recordings])
        self.number, self.starts = len(recordings), np.cumsum(self.sizes) - self.sizes
        self.series = np.repeat(np.arange(self.number), self.sizes)
        self.labels = np.concatenate([one.labels for one in recordings])
        scores = np.concatenate([np.asarray(one.scores, dtype=np.float64) for one in recordings])
        self.events = find_events(self.labels, self.starts)
        self.series_of_events = self.series[self.events.starts]
        self.anomalous = np.bincount(self.series_of_events, self.events.lengths)

        order = np.argsort(-scores, kind="stable")
        order = order[np.argsort(self.series[order], kind="stable")]
        ordered = scores[order]
        is_new = np.append(True, ordered[1:] != ordered[:-1])
        is_new[self.starts] = True
        self.ranked_levels = np.cumsum(is_new) - 1  # of the steps, series by series, from the highest score down
        self.level = np.empty(order.size, dtype=np.intp)
        self.level[order] = self.ranked_levels
        self.level_scores, self.levels = ordered[is_new], _Rows(self.series[is_new], self.number)
        # Of each series: steps at each level, and anomalous ones; steps that it flags, and anomalous ones.
        self.steps, self.found = np.bincount(self.level), np.bincount(self.level[self.labels], minlength=is_new.sum())
        self.flagged = np.cumsum(self.steps) - self.starts[self.levels.series]
        self.hits = self._summed_on_series(self.found)
        self._pate: dict[str, dict[AreaRule, Array]] = {}
        self._flagged: dict[object, Flagged] = {}

    def _summed_on_series(self, found: IntArray) -> IntArray:
        """Anomalous steps that each level flags, from those that are found there, of its series alone."""
        before = np.cumsum(self.anomalous) - self.anomalous
        return np.cumsum(found) - before[self.levels.series]

    def values(self, bound: Bound) -> list[Value]:
        """The values of a metric on all series."""
        metric, options = bound.metric, bound.work_options
        if not metric.needs_threshold:
            is_pate = metric.on_timeline in AREA_RULES
            results = self.pate(bound) if is_pate else _ON_SCORES[metric.computation](self, **options)
            return [Value(metric.read(result, bound.options)) for result in results]
        flagged = self.predicted(sweep_point if bound.rule.kind == ORACLE else searched(metric).sweep)
        counts = _COUNTS[metric.computation](self, flagged, **options)
        value_of = metric.computation.counts[1]  # type: ignore[attr-defined]  # declared by `adds_up`
        values = [metric.read(value_of(*row), bound.options) for row in np.transpose(counts).tolist()]
        cuts = zip(values, flagged.thresholds.tolist(), flagged.numbers.tolist(), strict=True)
        return [Value(value, threshold=threshold, flagged=number) for value, threshold, number in cuts]

    def predicted(self, sweep: object) -> Flagged:
        """Predictions at the threshold that a sweep finds: the highest with the best F1."""
        if sweep not in self._flagged:
            found, hits = self.found, self.hits
            if sweep is sweep_point_adjusted:  # an event is found as a whole where its highest score is
                inside, lengths = self.level[self.labels], self.events.lengths
                highest = np.minimum.reduceat(inside, np.cumsum(lengths) - lengths)
                found = np.bincount(highest, self.events.lengths, minlength=self.steps.size)
                hits = self._summed_on_series(found)
            flagged = self.flagged - self.hits + hits
            f1 = self.levels.filled(2 * hits / (flagged + self.anomalous[self.levels.series]))
            best = self.levels.firsts + np.argmax(f1, axis=1)
            self._flagged[sweep] = Flagged(self.level <= best[self.series], self.flagged[best], self.level_scores[best])
        return self._flagged[sweep]

    def auc_roc(self, **_: Any) -> Array:
        """Areas under the ROC curve."""
        normal = (self.sizes - self.anomalous)[self.levels.series]
        false = self.flagged - self.hits
        higher = false - (self.steps - self.found)
        shares = self.found / self.anomalous[self.levels.series] * ((higher + false) / (2 * normal))
        at = np.flatnonzero(self.found)
        return 1 - _sums(shares[at], self.levels.series[at], self.number)

    def average_precision(self, **_: Any) -> Array:
        """Average precision."""
        at = np.flatnonzero(self.found)
        hits, flagged, series = self.hits[at], self.flagged[at], self.levels.series[at]
        return self._areas(series, hits / self.anomalous[series], hits, flagged, flagged)[AVERAGE_PRECISION]

    def vus(self, *, window: int, thresholds: int | None, variant: str, **_: Any) -> list[VusAreas]:
        """Areas under the soft precision-recall curves."""
        rules, apart = VARIANTS[variant], window + 3  # so that no event reaches the next series
        thresholds_at = np.arange(self.steps.size)  # levels
        if thresholds is not None:
            ranks = {size: sampled_ranks(size, thresholds) for size in set(self.sizes.tolist())}
            chosen = [start + ranks[size] for start, size in zip(self.starts, self.sizes.tolist(), strict=True)]
            thresholds_at = np.unique(self.ranked_levels[np.concatenate(chosen)])
        rows = _Rows(self.levels.series[thresholds_at], self.number)
        # Behind the last threshold of a series everything stays as it is there.
        flagged, hits = (
            np.maximum.accumulate(rows.filled(one[thresholds_at]), axis=1) for one in (self.flagged, self.hits)
        )
        places = np.arange(self.level.size) + apart * self.series
        labels = np.zeros(places[-1] + 1 + apart, dtype=np.bool_)
        labels[places] = self.labels
        # Every cell of the table is a threshold, so that what soft labels add at each fills the table.
        scores, cells = np.full(labels.size, -np.inf), -np.arange(flagged.size, dtype=np.float64)
        scores[places] = cells[rows.cells[np.searchsorted(thresholds_at, self.level)]]
        areas = []
        for changes in soft_changes(labels, scores, cells, range(window + 1), rules):
            blocks = (np.array(one)[:, :-1].reshape(-1, *rows.shape) for one in changes)
            slope, found = (np.cumsum(block, axis=-1) for block in blocks)
            counts = SoftCounts(slope, slope[..., -1:], found, found[..., -1:])
            sums = ThresholdSums(flagged, hits, self.anomalous[:, None], labels.size)
            areas.append(areas_of(sums, counts, rules, rows.shape[1], only="pr")[1])
        return [VusAreas(np.full(1, np.nan), of_widths) for of_widths in np.concatenate(areas).T]

    def pate(self, bound: Bound) -> Array:
        """Areas under the proximity-weighted curves: means over the pairs of buffers."""
        early, delay = (read_buffers(bound.options[name], name, None, _LONGEST)[0] for name in ("early", "delay"))
        key = repr((early, delay))
        if key not in self._pate:
            self._pate[key] = self._pate_areas(early, delay)
        return self._pate[key][AREA_RULES[bound.metric.on_timeline]]

    def _pate_areas(self, early: tuple[Any, ...], delay: tuple[Any, ...]) -> dict[AreaRule, Array]:
        steps = rank_steps(-self.level.astype(np.float64), self.events, early, delay)
        level = -steps.thresholds.astype(np.intp)
        rows = _Rows(self.levels.series[level], self.number)
        inside = steps.inside_steps
        missed = rows.summed(np.bincount(inside.rank, inside.change, minlength=level.size)) + self.anomalous[:, None]
        detected, before = self.flagged[level], self.flagged[level] - self.steps[level]
        is_sure = before[rows.firsts] == 0
        areas = {rule: np.zeros(self.number) for rule in AREA_RULES.values()}
        shares = Counter(early), Counter(delay)
        for row, column, gains in steps.gains_of_pairs(*map(tuple, shares)):
            share = list(shares[0].values())[row] * list(shares[1].values())[column] / (len(early) * len(delay))
            true_positive = rows.summed(gains)
            recalls = true_positive / (true_positive + missed)
            at = np.flatnonzero(rows.flat(is_kept(recalls, np.maximum.accumulate(recalls, axis=1))))
            points = rows.series[at], rows.flat(recalls)[at], rows.flat(true_positive)[at]
            for rule, values in self._areas(*points, detected[at], np.append(before[1:], 1)[at], is_sure).items():
                areas[rule] += share * values
        return areas

    def _areas(
        self,
        series: IntArray,
        recall: Array,
        counted: npt.NDArray[Any],
        detected: IntArray,
        detected_then: IntArray,
        is_sure: BoolArray | None = None,
    ) -> dict[AreaRule, Array]:
        """Areas as `AreaRule.area` has them, of curves whose points follow one another, series by series.

        Beside the detections at a threshold stand those just before the next, and for each series whether its first
        detection is at the first threshold.
        """
        is_first = np.diff(series, prepend=-1) != 0
        gained = np.where(is_first, recall, np.diff(recall, prepend=0))
        after = counted / np.maximum(detected, 1)
        before = np.append(0, (counted / np.maximum(detected_then, 1))[:-1])
        before[is_first] = 0.0 if is_sure is None else is_sure[series[is_first]]
        sums = [_sums(gained * precision, series, self.number) for precision in (after, before)]
        return {
            rule: np.minimum(rule.after * sums[0] + rule.before * sums[1], 1.0)
            for rule in (TRAPEZOID, AVERAGE_PRECISION)
        }

    def pate_f1_counts(self, flagged: Flagged, *, early: Any, delay: Any) -> Counts:
        """As `pate_f1` counts: detections, weighted misses, and weighted hits for each pair of buffers."""
        lengths = read_buffers(early, "early", None, _LONGEST)[0], read_buffers(delay, "delay", None, _LONGEST)[0]
        only = -np.arange(self.number, dtype=np.float64)  # one threshold for each series
        scores = np.where(flagged.steps, only[self.series], -self.number)
        steps = rank_steps(scores, self.events, *lengths, only)
        inside = steps.inside_steps
        missed = self.anomalous + np.bincount(inside.rank, inside.change, minlength=self.number)
        return [flagged.numbers, missed, *(gains for *_, gains in steps.gains_of_pairs(*lengths))]

    def affiliation_counts(self, flagged: Flagged) -> Counts:
        """As `affiliation` counts: sums and numbers of precisions and recalls of events."""
        precision, recall = affiliation_of_events(self.labels, flagged.steps, self.starts)
        is_defined = ~np.isnan(precision)
        by_event = np.where(is_defined, precision, 0), is_defined, recall, np.ones(recall.size)
        return [_sums(values, self.series_of_events, self.number) for values in by_event]

    def point_counts(self, flagged: Flagged) -> Counts:
        """True positives, false positives and false negatives of single steps."""
        hits = np.bincount(self.series, flagged.steps & self.labels, minlength=self.number)
        return [hits, flagged.numbers - hits, self.anomalous - hits]

    def point_adjusted_counts(self, flagged: Flagged) -> Counts:
        """The same, with events that are hit taken as flagged as a whole."""
        _, false, _ = self.point_counts(flagged)
        is_hit = count_inside(flagged.steps, self.events.starts, self.events.stops) > 0
        hits = np.bincount(self.series_of_events, self.events.lengths * is_hit, minlength=self.number)
        return [hits, false, self.anomalous - hits]


_SWEEPS = (sweep_point, sweep_point_adjusted)
_ON_SCORES: dict[object, Callable[..., Any]] = {
    auc_roc: ShortSeries.auc_roc,
    average_precision: ShortSeries.average_precision,
    vus_areas: ShortSeries.vus,
}
_COUNTS: dict[object, Callable[..., Counts]] = {
    pate_f1: ShortSeries.pate_f1_counts,
    affiliation: ShortSeries.affiliation_counts,
    point: ShortSeries.point_counts,
    point_adjusted: ShortSeries.point_adjusted_counts,
}
