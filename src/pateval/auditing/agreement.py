"""How far a metric agrees: with a known order, with others on the winner, with itself on halves of the series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pateval.catalog.metric import Metric
from pateval.leaderboards.statistics import kendall, rank_table
from pateval.validation.arrays import BoolArray, FloatArray

MIN_VOTERS = 3  # fewer metrics make no consensus
MIN_SERIES = 4  # fewer cannot be halved
_SPLITS = 100
_TIE = 1e-9


def agreement_with_order(qualities: FloatArray, values: FloatArray) -> FloatArray:
    """Rank correlation of values with the known order: Somers' D, 1 for the same order, -1 for the reverse.

    Over all pairs that differ in quality, the share that the values put in the right order less the share that they put
    in the wrong one; a pair that they leave level counts for neither, so a constant gets 0. Pairs where a value is not
    defined are left out; NaN where none is left. Values are detectors by metrics, higher being better.
    """
    one, other = np.triu_indices(qualities.size, 1)
    truth = np.sign(qualities[one] - qualities[other])
    one, other, truth = one[truth != 0], other[truth != 0], truth[truth != 0]
    with np.errstate(invalid="ignore"):
        gaps = values[one] - values[other]
    defined = ~np.isnan(gaps)
    signs = np.where(np.abs(np.nan_to_num(gaps)) > _TIE, np.sign(np.nan_to_num(gaps)), 0.0)
    pairs = defined.sum(axis=0)
    return np.asarray(np.where(pairs > 0, (signs * truth[:, None]).sum(axis=0) / np.maximum(pairs, 1), np.nan))


def shares_alone(values: FloatArray, voting: Sequence[int]) -> tuple[FloatArray, BoolArray]:
    """How often each metric's winner is not that of the consensus, and who that is, detectors by series.

    Values are detectors by series by metrics, higher being better. The consensus on a series is the detector with the
    lowest median rank over the metrics that vote and that have a value for every detector there. Where several share
    first place, under the metric or in the consensus, the share of the metric's winners that the consensus has counts.
    NaN where a metric has no series with a value for every detector, or fewer than three metrics vote.
    """
    detectors, series, metrics = values.shape
    is_consensus = np.zeros((detectors, series), dtype=np.bool_)
    if detectors < 2 or len(voting) < MIN_VOTERS:
        return np.full(metrics, np.nan), is_consensus
    agreed, counted = np.zeros(metrics), np.zeros(metrics)
    for s in range(series):
        complete = np.asarray(~np.isnan(values[:, s]).any(axis=0))
        ballot = [place for place in voting if complete[place]]
        if len(ballot) < MIN_VOTERS:
            continue
        medians: FloatArray = np.asarray(np.median(rank_table(values[:, s, ballot].T).per_series, axis=0))
        first = medians <= medians.min() + _TIE
        is_consensus[:, s] = first
        with np.errstate(invalid="ignore"):
            wins = values[:, s] >= values[:, s].max(axis=0) - _TIE
        shared = (wins & first[:, None]).sum(axis=0) / np.maximum(wins.sum(axis=0), 1)
        agreed += np.where(complete, shared, 0.0)
        counted += complete
    with np.errstate(invalid="ignore"):
        return np.where(counted > 0, 1 - agreed / np.maximum(counted, 1), np.nan), is_consensus


def halves_agreement(values: FloatArray, *, seed: int = 0) -> FloatArray:
    """How far each metric's ranking of the detectors on one half of the series is that on the other.

    Mean Kendall's tau of the mean ranks over 100 random ways to halve the series, 0 where a half tells no two detectors
    apart; NaN with fewer than four series or two detectors. Values are detectors by series by metrics.
    """
    found = np.full(values.shape[2], np.nan)
    for m in range(values.shape[2]):
        ranks = rank_table(values[:, :, m].T).per_series
        if ranks.shape[0] < MIN_SERIES or ranks.shape[1] < 2:
            continue
        chance = np.random.default_rng(seed)
        half = ranks.shape[0] // 2
        taus = []
        for _ in range(_SPLITS):
            order = chance.permutation(ranks.shape[0])
            both = [ranks[order[:half]].mean(axis=0), ranks[order[half:]].mean(axis=0)]
            taus.append(np.nan_to_num(kendall(np.round(both, 9))[0, 1]))
        found[m] = float(np.mean(taus))
    return found


def voters(metrics: Sequence[Metric]) -> list[int]:
    """Places of the metrics that vote: one for each function, its F1 where it has one."""
    chosen: dict[object, int] = {}
    for place, metric in enumerate(metrics):
        known = chosen.setdefault(metric.function, place)
        if metric.field == "f1" and metrics[known].field != "f1":
            chosen[metric.function] = place
    return sorted(chosen.values())
