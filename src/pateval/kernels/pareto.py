"""The tail of a distribution: the generalised Pareto law of peaks over a level, fitted by maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pateval.validation.arrays import FloatArray

_GRID = 200  # points on each side of 0 between which maxima of the likelihood are looked for
_HALVINGS = 60  # enough to pin a maximum down to rounding error


class Tail(NamedTuple):
    """Shape and scale of a generalised Pareto law, ``P(Y > y) = (1 + shape * y / scale) ** (-1 / shape)``."""

    shape: float
    scale: float

    def exceeded_with(self, probability: float) -> float:
        """Return the ``y`` that is exceeded with this probability."""
        if self.shape == 0:
            return float(-self.scale * np.log(probability))
        return float(self.scale * np.expm1(-self.shape * np.log(probability)) / self.shape)


def fit_tail(excesses: FloatArray) -> Tail:
    """Fit a generalised Pareto law to positive excesses by maximum likelihood.

    After Grimshaw (1993): with ``x = shape / scale`` the likeliest shape is ``mean(log(1 + x * excess))``, which leaves
    one unknown. Its local maxima are bracketed on a grid on both sides of 0, found by bisection of the derivative, and
    compared with each other and with the exponential law, the limit at ``x = 0``. The likelihood grows without bound
    at the lower end of ``x``, which is no estimate; only stationary points count.

    Examples
    --------
    >>> quantiles = (np.arange(10_000) + 0.5) / 10_000
    >>> shape, scale = fit_tail(2 * ((1 - quantiles) ** -0.25 - 1) / 0.25)
    >>> round(shape, 2), round(scale, 2)
    (0.25, 2.0)
    """
    mean = float(excesses.mean())
    values = np.asarray(excesses, dtype=np.float64) / mean
    lowest = -1 / values.max()
    grids = lowest * (1 - np.geomspace(1e-9, 1 - 1e-6, _GRID)), np.geomspace(1e-6, 1e6, _GRID)
    best, highest = Tail(0.0, mean), -1.0  # the mean log-likelihood of the exponential law of mean 1
    for grid in grids:
        rising = np.array([_derivative(x, values) > 0 for x in grid])
        for k in np.flatnonzero(rising[:-1] & ~rising[1:]):
            low, high = float(grid[k]), float(grid[k + 1])
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if _derivative(middle, values) > 0 else (low, middle)
            shape = float(np.log1p(low * values).mean())
            likelihood = -float(np.log(shape / low)) - shape - 1
            if likelihood > highest:
                best, highest = Tail(shape, mean * shape / low), likelihood
    return best


def _derivative(x: float, values: FloatArray) -> float:
    """Slope of the mean log-likelihood, maximal over the shape, at ``x = shape / scale``."""
    shape = np.log1p(x * values).mean()
    return float(1 / x - (1 + 1 / shape) * (values / (1 + x * values)).mean())
