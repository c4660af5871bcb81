"""Which metrics disagree with the others on the winner, and whose ranking differs between halves of the series."""

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


def voters(metrics: Sequence[Metric]) -> list[int]:
    """Places of the metrics that vote: one for each function, its F1 where it has one.

    Examples
    --------
    >>> from pateval.catalog import find_metrics
    >>> metrics = find_metrics(["point_precision", "point_f1", "auc_roc", "pate", "pate(early=5)"])
    >>> [metrics[place].id for place in voters(metrics)]
    ['point_f1', 'auc_roc', 'pate']
    """
    chosen: dict[object, int] = {}
    for place, metric in enumerate(metrics):
        known = chosen.setdefault(metric.function, place)
        if metric.field == "f1" and metrics[known].field != "f1":
            chosen[metric.function] = place
    return sorted(chosen.values())


def shares_alone(values: FloatArray, voting: Sequence[int]) -> tuple[FloatArray, BoolArray]:
    """How often each metric's winner is not that of the consensus.

    The consensus on a series is the detector with the lowest median rank over the metrics that vote and that have a
    value for every detector there. Where several share first place, under the metric or in the consensus, the share of
    the metric's winners that the consensus has counts.

    Parameters
    ----------
    values : ndarray of shape (detectors, series, metrics)
        Higher is better; NaN where there is none.
    voting : sequence of int
        Places of the metrics that vote.

    Returns
    -------
    shares : ndarray of shape (metrics,)
        Of the series where the metric has a value for every detector; NaN where there is none, or fewer than three
        metrics vote.
    is_consensus : ndarray of bool, shape (detectors, series)
        The winners of the consensus; none on a series without one.
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
    """How far the ranking of the detectors on one half of the series is that on the other.

    Parameters
    ----------
    values : ndarray of shape (detectors, series, metrics)
        Higher is better; NaN where there is none.
    seed : int
        Of the 100 random ways to halve the series.

    Returns
    -------
    ndarray of shape (metrics,)
        Mean Kendall's tau of the mean ranks on both halves, 0 where a half tells no two detectors apart; NaN with fewer
        than four series or two detectors.
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
