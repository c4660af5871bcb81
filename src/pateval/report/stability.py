"""How steady an order of detectors is: what halves of the series, or other labels, would have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.leaderboards.statistics import complete_rows

HALVES = 400
_FEWEST_SERIES = 4


class Stability(NamedTuple):
    """Places of the detectors over random halves of the series.

    Attributes
    ----------
    first : ndarray
        Share of the halves in which each detector is first, alone or with others.
    low, high : ndarray
        Between these places it is in nine of ten halves.
    series : int
        How many series there are to halve.
    """

    first: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    series: int


def over_halves(table: npt.NDArray[np.float64], *, higher_is_better: bool) -> Stability | None:
    """Rank the detectors on random halves of the series.

    Parameters
    ----------
    table : ndarray
        Series by detectors; rows with a NaN are left out.
    higher_is_better : bool
        Direction of the metric.

    Returns
    -------
    Stability or None
        None where there are fewer than four series.

    Examples
    --------
    >>> table = np.array([[0.9, 0.5], [0.8, 0.7], [0.7, 0.4], [0.6, 0.5]])
    >>> over_halves(table, higher_is_better=True).first.tolist()
    [1.0, 0.0]
    """
    from scipy.stats import rankdata

    values, _ = complete_rows(table)
    series = values.shape[0]
    if series < _FEWEST_SERIES or values.shape[1] < 2:
        return None
    ranks = rankdata(-values if higher_is_better else values, axis=1)
    generator = np.random.default_rng(0)
    chosen = np.zeros((HALVES, series))
    for row in chosen:
        row[generator.permutation(series)[: series // 2]] = 1.0
    places = rankdata(np.round(chosen @ ranks / (series // 2), 12), axis=1, method="min")
    low, high = np.quantile(places, [0.05, 0.95], axis=0, method="nearest")
    return Stability((places == 1).mean(axis=0), low, high, series)


def as_plain(stability: Stability | None) -> dict[str, Any] | None:
    """Return plain lists, for JSON."""
    if stability is None:
        return None
    return {
        "first": np.round(stability.first, 4).tolist(),
        "low": stability.low.tolist(),
        "high": stability.high.tolist(),
        "series": stability.series,
        "halves": HALVES,
    }


def under_doubt(doubt: Mapping[str, Any] | None, detectors: Sequence[str]) -> dict[str, Any]:
    """Return for each metric the places of the detectors when the edges of events are moved, as plain lists.

    Parameters
    ----------
    doubt : mapping or None
        What `LabelDoubt.to_dict` gives; nothing comes of None.
    detectors : sequence of str
        The order of the lists.
    """
    if doubt is None:
        return {}
    steps = f"{doubt['doubt']} {'step' if doubt['doubt'] == 1 else 'steps'}"
    amount = steps if isinstance(doubt["doubt"], int) else str(doubt["doubt"])
    found: dict[str, dict[str, Any]] = {}
    for row in doubt["rows"]:
        found.setdefault(row["metric"], {})[row["detector"]] = row
    return {
        metric: {
            "amount": amount,
            "draws": doubt["draws"],
            "first": [rows.get(name, {}).get("first") for name in detectors],
            "low": [rows.get(name, {}).get("best_place") for name in detectors],
            "high": [rows.get(name, {}).get("worst_place") for name in detectors],
            "kept": [rows.get(name, {}).get("rank_kept") for name in detectors],
            "deviation": [rows.get(name, {}).get("draw_std") for name in detectors],
        }
        for metric, rows in found.items()
    }
