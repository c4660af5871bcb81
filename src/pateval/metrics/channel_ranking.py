"""Whether the channels with the highest scores are those that an anomaly affects.

Parameters
----------
labels : array-like of 0 and 1, steps by channels
    The truth.
scores : array-like of float, steps by channels
    Higher is more anomalous.
percent : float, default 100
    How many channels are looked at, in percent of those labelled; 100 or more.
missing : {"error", "ignore", "normal"}
    What to do where the score of a channel is NaN or null: refuse it, leave out the step, or tie it below all
    others of its step.

References
----------
.. [1] Y. Su et al., "Robust anomaly detection for multivariate time series through stochastic recurrent neural
   network", KDD 2019, doi:10.1145/3292500.3330672.
.. [2] S. Tuli, G. Casale, N. R. Jennings, "TranAD: deep transformer networks for anomaly detection in multivariate
   time series data", PVLDB 15(6), 2022, arXiv:2201.07284.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pateval.output.results import Result
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, require_anomaly
from pateval.validation.checked import documented, number, on_scores


class _ChannelRankingFields(NamedTuple):
    hit_rate: float
    ndcg: float


class ChannelRanking(_ChannelRankingFields, Result):
    """Hit rate and NDCG, each the mean over the steps with a labelled channel."""

    __slots__ = ()


@documented
def channel_hit_rate(labels: ArrayLike, scores: ArrayLike, *, percent: float = 100, missing: str = "error") -> float:
    r"""Mean share of the affected channels that are among those with the highest scores (HitRate@P%).

    At a step with g labelled channels the k highest scores are looked at, k being ``percent`` of g, rounded to the
    nearest whole number, halves to even, and at most all channels:

    .. math:: \frac{\text{labelled channels among the } k \text{ highest scores}}{g}

    and the mean over the steps with a labelled channel. Where scores are tied it is the mean over all their orders.

    Warnings
    --------
    A step counts fully whatever the scores where all channels are labelled or looked at. Only anomalous steps are
    judged, and only the order of the channels at a step: false alarms cost nothing.

    Notes
    -----
    The program of TranAD breaks ties by one arbitrary order.

    Examples
    --------
    >>> labels = [[0, 0, 0], [1, 1, 0], [1, 0, 0]]
    >>> scores = [[0.1, 0.2, 0.3], [0.9, 0.1, 0.5], [0.8, 0.2, 0.3]]
    >>> channel_hit_rate(labels, scores)
    0.75
    >>> channel_hit_rate(labels, scores, percent=150)
    1.0
    """
    return channel_ranking(labels, scores, percent=percent, missing=missing).hit_rate


@documented
def channel_ndcg(labels: ArrayLike, scores: ArrayLike, *, percent: float = 100, missing: str = "error") -> float:
    r"""Mean normalised discounted cumulative gain of the channels ranked by their scores (NDCG@P%).

    At a step with labelled channels, with k as in `channel_hit_rate` and :math:`y_r` the label at rank r,

    .. math:: \frac{\sum_{r=1}^{k} y_r / \log_2(r + 1)}{\sum_{r=1}^{g} 1 / \log_2(r + 1)}

    and the mean over these steps. Where scores are tied, every rank of the tie carries its mean label.

    Warnings
    --------
    A step with all channels labelled counts fully whatever the scores. Only anomalous steps are judged, and only the
    order of the channels at a step: false alarms cost nothing.

    Examples
    --------
    >>> labels = [[0, 0, 0], [1, 1, 0], [1, 0, 0]]
    >>> scores = [[0.1, 0.2, 0.3], [0.9, 0.1, 0.5], [0.8, 0.2, 0.3]]
    >>> round(channel_ndcg(labels, scores), 4)
    0.8066
    """
    return channel_ranking(labels, scores, percent=percent, missing=missing).ndcg


@on_scores("channels", percent=number(100.0))
def channel_ranking(
    labels: BoolArray, scores: FloatArray, *, percent: float = 100, missing: str = "error"
) -> ChannelRanking:
    """Both `channel_hit_rate` and `channel_ndcg`, from one ranking.

    Returns
    -------
    ChannelRanking
        ``hit_rate`` and ``ndcg``.

    Examples
    --------
    >>> channel_ranking([[1, 0], [0, 1]], [[0.9, 0.1], [0.5, 0.5]]).hit_rate
    0.75
    """
    share = Fraction(percent)
    require_anomaly(labels)
    affected = labels.any(axis=1)
    labels, scores = labels[affected], scores[affected]
    channels = labels.shape[1]
    cutoffs = np.array([min(round(share * count / 100), channels) for count in range(channels + 1)])
    count = np.count_nonzero(labels, axis=1)
    counted = np.arange(channels) < cutoffs[count][:, None]
    ranked = np.where(counted, _labels_by_rank(labels, scores), 0.0)
    discount = 1 / np.log2(np.arange(2, channels + 2))
    ideal = np.cumsum(discount)[count - 1]
    return ChannelRanking(float(np.mean(ranked.sum(axis=1) / count)), float(np.mean(ranked @ discount / ideal)))


def _labels_by_rank(labels: BoolArray, scores: FloatArray) -> FloatArray:
    """Label at each rank of each step; every rank of a tie carries its mean label."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    begins = np.ones(labels.shape, dtype=np.bool_)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    tie: IntArray = np.cumsum(begins.ravel()) - 1
    tie_means = np.bincount(tie, weights=np.take_along_axis(labels, order, axis=1).ravel()) / np.bincount(tie)
    return tie_means[tie].reshape(labels.shape)
