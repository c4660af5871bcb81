"""How sure is a mean? Bootstrap intervals over series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
LEVEL = 0.95
_NUMBERS_AT_ONCE = 250_000  # 2 MB of float64
_COLUMNS_AT_ONCE = 256


class Interval(NamedTuple):
    """Confidence limits; NaN where there is too little to resample."""

    low: float
    high: float


class MeanBootstrap:
    """Resamples of a number of series, drawn once and used for as many columns as there are.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987).
    """

    def __init__(self, series: int, *, draws: int = 2000, seed: int = 0) -> None:
        self.series = series
        # How often each series is drawn: more than 255 times does not happen.
        self._times = np.empty((draws if series > 1 else 0, series), dtype=np.uint8)
        generator = np.random.default_rng(seed)
        for rows in self._slices():
            count = rows.stop - rows.start
            chosen = generator.integers(0, series, (count, series)) + series * np.arange(count)[:, None]
            self._times[rows] = np.bincount(chosen.ravel(), minlength=count * series).reshape(count, series)

    def intervals(self, values: FloatArray) -> FloatArray:
        """Bias-corrected and accelerated (BCa) limits of the mean of each column, over series drawn with replacement.

        A row of low and high per column: NaN with fewer than two series, equal where all values are. All columns, which
        hold no NaN, are resampled with the same series.
        """
        limits = np.full((values.shape[1], 2), np.nan)
        for first in range(0, values.shape[1] if self.series > 1 else 0, _COLUMNS_AT_ONCE):
            columns = slice(first, first + _COLUMNS_AT_ONCE)
            limits[columns] = self._intervals(values[:, columns])
        return limits

    def _intervals(self, values: FloatArray) -> FloatArray:
        limits = np.empty((values.shape[1], 2))
        means = np.empty((self._times.shape[0], values.shape[1]))
        for rows in self._slices():
            means[rows] = self._times[rows].astype(np.float64) @ values / self.series
        centre = values.mean(axis=0)
        distance = values - centre
        varied = np.ptp(values, axis=0) > 0
        limits[~varied] = values[0, ~varied, None]
        squares = np.sum(distance[:, varied] ** 2, axis=0)
        acceleration = np.sum(distance[:, varied] ** 3, axis=0) / (6 * squares**1.5)
        limits[varied] = _bca(means[:, varied], centre[varied], acceleration)
        return limits

    def _slices(self) -> Iterator[slice]:
        """Cut the draws into slices of bounded size; what is drawn does not depend on them."""
        draws = self._times.shape[0]
        step = max(1, _NUMBERS_AT_ONCE // max(self.series, 1))
        for start in range(0, draws, step):
            yield slice(start, min(start + step, draws))


def percentile_limits(drawn: FloatArray) -> tuple[float, float]:
    """Low and high of a value, from the draws where it is defined; NaN where it never is."""
    defined = drawn[~np.isnan(drawn)]
    if not defined.size:
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _bca(means: FloatArray, centre: FloatArray, acceleration: FloatArray) -> FloatArray:
    from scipy.special import ndtr, ndtri

    draws = means.shape[0]
    # Half of the draws that hit the centre count as below it, as coarse values need; sums that mean the same number
    # may differ in the last digits.
    near = 1e-12 * np.maximum(np.abs(means).max(axis=0), 1e-300)
    below = ((means < centre - near).sum(axis=0) + (means <= centre + near).sum(axis=0)) / (2 * draws)
    bias = ndtri(np.clip(below, 0.5 / draws, 1 - 0.5 / draws))
    ordered = np.sort(means, axis=0)
    columns = np.arange(means.shape[1])
    limits = []
    for tail in (ndtri((1 - LEVEL) / 2), ndtri((1 + LEVEL) / 2)):
        share = ndtr(bias + (bias + tail) / (1 - acceleration * (bias + tail)))
        place = share * (draws - 1)
        under = np.floor(place).astype(np.intp)
        over = np.minimum(under + 1, draws - 1)
        limits.append(ordered[under, columns] + (place - under) * (ordered[over, columns] - ordered[under, columns]))
    return np.column_stack(limits)
