"""Limits and tests of counts: shares, rates, and two alarm systems on the same incidents."""

from __future__ import annotations

import math
from statistics import NormalDist

from pateval.validation.arrays import FloatArray

LEVEL = 0.95
LimitPair = tuple[float, float]
UNDEFINED: LimitPair = (math.nan, math.nan)


def wilson_limits(successes: int, trials: int) -> LimitPair:
    """Wilson's limits of a share at 95 %; NaN without trials.

    Examples
    --------
    >>> [round(limit, 3) for limit in wilson_limits(8, 10)]
    [0.49, 0.943]
    """
    if not trials:
        return UNDEFINED
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def poisson_limits(events: int, length: float) -> LimitPair:
    """Garwood's exact limits of a rate at 95 %: events in a length of time; NaN where the length is 0.

    Examples
    --------
    >>> [round(limit, 3) for limit in poisson_limits(0, 2.0)]
    [0.0, 1.844]
    """
    if not length:
        return UNDEFINED
    from scipy.special import gammaincinv  # half a quantile of chi-squared; scipy.stats takes longer to import

    tail = (1 - LEVEL) / 2
    low = float(gammaincinv(events, tail)) if events else 0.0
    return low / length, float(gammaincinv(events + 1, 1 - tail)) / length


def binomial_p_value(successes: int, trials: int) -> float:
    """Exact two-sided test of a share of one half; 1 without trials.

    Examples
    --------
    >>> binomial_p_value(0, 5), binomial_p_value(0, 0)
    (0.0625, 1.0)
    """
    if not trials:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(successes, trials).pvalue)


def signed_rank_p_value(differences: FloatArray) -> float:
    """Wilcoxon's signed-rank test of paired differences, two-sided, without those of zero; 1 where nothing differs.

    Examples
    --------
    >>> import numpy as np
    >>> signed_rank_p_value(np.array([1.0, 2.0, 3.0, 0.0]))
    0.25
    """
    from scipy.stats import wilcoxon

    unequal = differences[differences != 0]
    return float(wilcoxon(unequal).pvalue) if unequal.size else 1.0
