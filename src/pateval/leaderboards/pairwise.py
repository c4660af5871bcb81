"""Every detector against every other: signed ranks, effect sizes, wins and ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.leaderboards.statistics import FloatArray, IntArray, complete_rows

_MOST_SERIES_EXACT_WITH_TIES = 13  # as scipy has it
_NUMBERS_AT_ONCE = 200_000  # differences in memory at once; the tests need about ten times as much beside them


@dataclass(frozen=True)
class Pairwise:
    """Every detector against every other; row minus column, so a positive effect speaks for the row.

    Attributes
    ----------
    p_raw, p_holm : ndarray
        Wilcoxon signed-rank p-values, as they are and corrected by Holm for all pairs; 1 on the diagonal.
    rank_biserial : ndarray
        Matched-pairs rank-biserial correlation, in [-1, 1].
    cliffs_delta : ndarray
        Cliff's delta, in [-1, 1]: how often a value of the row beats one of the column, over all pairs of series.
    wins, ties : ndarray
        Number of series where the row beats the column, and where they are level. Losses are ``wins.T``.
    """

    p_raw: FloatArray
    p_holm: FloatArray
    rank_biserial: FloatArray
    cliffs_delta: FloatArray
    wins: IntArray
    ties: IntArray


def pairwise(table: npt.ArrayLike, *, higher_is_better: bool = True) -> Pairwise:
    """Compare every two detectors over the series where all have a value.

    The Wilcoxon signed-rank test leaves level series out; its p-values are corrected by Holm for all pairs.

    Parameters
    ----------
    table : array_like
        Series by detectors; rows with a NaN are left out.
    higher_is_better : bool
        Direction of the metric; effects are positive where the row is *better*.

    Returns
    -------
    Pairwise

    Examples
    --------
    >>> result = pairwise([[0.9, 0.5], [0.8, 0.7], [0.7, 0.4], [0.6, 0.6], [0.9, 0.2]])
    >>> result.wins.tolist(), result.ties.tolist()
    ([[0, 4], [0, 0]], [[5, 1], [1, 5]])
    >>> result.rank_biserial[0, 1]
    np.float64(1.0)
    """
    values, _ = complete_rows(table)
    values = values if higher_is_better else -values
    detectors = values.shape[1]
    one, other = np.triu_indices(detectors, 1)
    raw = np.ones((detectors, detectors))
    corrected = raw.copy()
    biserial, delta = np.zeros((detectors, detectors)), np.zeros((detectors, detectors))
    if values.size and one.size:
        step = max(1, _NUMBERS_AT_ONCE // values.shape[0])
        for first in range(0, one.size, step):
            i, j = one[first : first + step], other[first : first + step]
            raw[i, j], biserial[i, j] = signed_ranks((values[:, i] - values[:, j]).T)
        delta[one, other] = [cliffs_delta(values[:, i], values[:, j]) for i, j in zip(one, other, strict=True)]
        corrected[one, other] = holm(raw[one, other])
    wins = np.array([(values[:, [i]] > values).sum(axis=0) for i in range(detectors)], dtype=np.intp)
    ties = np.array([(values[:, [i]] == values).sum(axis=0) for i in range(detectors)], dtype=np.intp)
    # A difference rather than a sign turned around: no negative zeros in printed tables.
    return Pairwise(
        np.minimum(raw, raw.T),
        np.minimum(corrected, corrected.T),
        biserial - biserial.T,
        delta - delta.T,
        wins.reshape(detectors, detectors),
        ties.reshape(detectors, detectors),
    )


def signed_ranks(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilcoxon's signed-rank test and its effect size for each row of paired differences.

    Differences of zero are left out. Exact or normal by the rule of scipy's "auto", and by scipy, except for the exact
    distribution with ties or zeros (up to 13 series): scipy runs through all sign patterns there, which took 6.2 s for
    15 pairs on 12 series, and counting them takes 0.5 ms.

    Returns
    -------
    p_values : ndarray
        Two-sided; 1 where nothing differs, since then nothing speaks against equality.
    rank_biserial : ndarray
        Matched-pairs rank-biserial correlation: favourable minus unfavourable rank sum, as a share of both; 0 where
        nothing differs.

    References
    ----------
    D. S. Kerby, "The simple difference formula", Comprehensive Psychology 3 (2014).

    Examples
    --------
    Differences 1, 2 and -3 have ranks 1, 2 and 3: (1 + 2 - 3) / 6. Three wins of three are one of eight patterns.

    >>> signed_ranks(np.array([[1.0, 2.0, -3.0], [1.0, 2.0, 3.0]]))
    (array([1.  , 0.25]), array([0., 1.]))
    """
    from scipy.stats import rankdata, wilcoxon

    pairs, series = differences.shape
    zeros = differences == 0
    # Zeros come first in the ranking: without them everything moves up.
    ranks = np.where(zeros, 0, rankdata(np.abs(differences), axis=1) - zeros.sum(axis=1, keepdims=True))
    size = (~zeros).sum(axis=1)
    favourable, total = (ranks * (differences > 0)).sum(axis=1), size * (size + 1) / 2
    effects = np.divide(2 * favourable - total, total, out=np.zeros(pairs), where=total > 0)
    p_values = np.ones(pairs)
    if series <= _MOST_SERIES_EXACT_WITH_TIES:
        for row in np.flatnonzero(size):
            p_values[row] = _exact_signed_rank(ranks[row], differences[row] > 0)
    else:
        # scipy chooses one distribution for all rows it is given, so rows with ties or zeros go apart.
        untied = (np.sort(ranks, axis=1) == np.arange(1, series + 1)).all(axis=1)
        for rows in (untied, ~untied & (size > 0)):
            if rows.any():
                p_values[rows] = wilcoxon(differences[rows], axis=1).pvalue
    return p_values, effects


def _exact_signed_rank(ranks: FloatArray, positive: npt.NDArray[np.bool_]) -> float:
    """Count the sign patterns with a rank sum at least as extreme; ranks are doubled, so that shared ones are whole."""
    positive, ranks = positive[ranks > 0], ranks[ranks > 0]
    doubled = np.rint(2 * ranks).astype(np.intp)
    total = int(doubled.sum())
    patterns = np.zeros(total + 1)
    patterns[0] = 1.0
    for rank in doubled:
        patterns[rank:] += patterns[: total + 1 - rank].copy()
    observed = int(doubled[positive].sum())
    extreme = min(patterns[: observed + 1].sum(), patterns[observed:].sum())
    return min(1.0, float(2 * extreme / 2.0**ranks.size))


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Correct p-values of a family of tests by Holm's step-down procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)), 1.0)
    return corrected


def cliffs_delta(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Cliff's delta: share of pairs where ``first`` is larger, minus the share where it is smaller.

    Examples
    --------
    >>> cliffs_delta([1, 2, 3], [0, 1, 2])
    0.5555555555555556
    """
    left = np.asarray(first, dtype=np.float64)
    right = np.sort(np.asarray(second, dtype=np.float64))
    above = int(np.searchsorted(right, left, side="left").sum())
    below = left.size * right.size - int(np.searchsorted(right, left, side="right").sum())
    return (above - below) / (left.size * right.size)
