"""How long a buffer should be, from the series itself."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from pateval._validation import finite_array

_STEPS = 20_000
_SHORTEST, _LONGEST = 3, 400
_FIRST, _LAST = 3, 300
_FALLBACK = 100


def suggest_buffer(values: npt.ArrayLike) -> int:
    """Suggest a buffer length: the period of the series, from its autocorrelation.

    Looks for the highest local maximum of the autocorrelation of the first 20,000 steps, at lags from 3 to 400. Where
    its position, counted from lag 3, lies in 3..300 its lag is the suggestion; otherwise it is 100.

    Parameters
    ----------
    values : array-like of float
        The raw series, one value per time step.

    Returns
    -------
    int
        Buffer length in steps, for `pate` and its kin.

    Raises
    ------
    ValueError, TypeError
        If the values are not finite numbers, or more than one column: pass one of them.

    Warns
    -----
    UserWarning
        If no period is found and 100 is returned.

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> pv.suggest_buffer(np.sin(2 * np.pi * np.arange(2000) / 50))
    50
    """
    if np.ndim(values) == 2:
        raise ValueError(
            f"values must be one-dimensional; got {np.shape(values)}: pass one column, such as values[:, 0]"
        )
    series = finite_array(values, "values")[:_STEPS].astype(np.float64)
    lag = _highest_peak(series)
    if lag is None:
        warnings.warn(
            f"no period found in the first {series.size} steps; the default of {_FALLBACK} is suggested",
            UserWarning,
            stacklevel=2,
        )
        return _FALLBACK
    return lag


def _highest_peak(series: npt.NDArray[np.float64]) -> int | None:
    """Lag of the highest local maximum of the autocorrelation, if it lies where a period is believed."""
    if series.size <= _SHORTEST + 2 or np.ptp(series) == 0:
        return None
    correlation = autocorrelation(series, min(_LONGEST, series.size - 1))[_SHORTEST:]
    peaks = np.flatnonzero((correlation[1:-1] > correlation[:-2]) & (correlation[1:-1] > correlation[2:])) + 1
    if not peaks.size:
        return None
    highest = int(peaks[np.argmax(correlation[peaks])])
    return highest + _SHORTEST if _FIRST <= highest <= _LAST else None


def autocorrelation(series: npt.NDArray[np.float64], longest: int) -> npt.NDArray[np.float64]:
    """Autocorrelation at lags 0 to ``longest``: sums of products of deviations from the mean over their sum of squares.

    Examples
    --------
    >>> autocorrelation(np.array([1.0, -1.0, 1.0, -1.0]), 2).round(6).tolist()
    [1.0, -0.75, 0.5]
    """
    centred = series - series.mean()
    scale = np.abs(centred).max()
    if scale > 0:
        centred /= scale
    length = 1 << (2 * series.size - 1).bit_length()
    spectrum = np.fft.rfft(centred, length)
    products = np.fft.irfft(np.abs(spectrum) ** 2, length)[: longest + 1]
    result: npt.NDArray[np.float64] = products / products[0]
    return result
