"""How steady an order of detectors is: what halves of the series, or other labels, would have said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.leaderboards.statistics import complete_rows

if TYPE_CHECKING:
    from pateval.leaderboards.doubt import LabelDoubt

HALVES = 400
_FEWEST_SERIES = 4


def over_halves(table: npt.NDArray[np.float64], *, higher_is_better: bool) -> dict[str, Any] | None:
    """Rank the detectors on random halves of the series.

    Parameters
    ----------
    table : ndarray
        Series by detectors; rows with a NaN are left out.
    higher_is_better : bool
        Direction of the metric.

    Returns
    -------
    dict or None
        Plain lists with a number for each detector: ``first``, the share of the halves in which it is first, alone or
        with others; ``low`` and ``high``, between which its place is in nine of ten halves; and how many ``series`` and
        ``halves`` there are. None where there are fewer than four series.

    Examples
    --------
    >>> table = np.array([[0.9, 0.5], [0.8, 0.7], [0.7, 0.4], [0.6, 0.5]])
    >>> over_halves(table, higher_is_better=True)["first"]
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
    low, high = np.quantile(places, [0.05, 0.95], axis=0, method="nearest").tolist()
    first = np.round((places == 1).mean(axis=0), 4).tolist()
    return {"first": first, "low": low, "high": high, "series": series, "halves": HALVES}


def under_doubt(doubt: LabelDoubt | None) -> dict[str, Any]:
    """Return for each metric the places of the detectors when the edges of events are moved, as plain lists."""
    if doubt is None:
        return {}
    amount = str(doubt.amount)
    if isinstance(doubt.amount, int):
        amount = f"{doubt.amount} {'step' if doubt.amount == 1 else 'steps'}"
    columns = {"first": "first", "low": "best_place", "high": "worst_place", "kept": "rank_kept"}
    return {
        metric: {"amount": amount, "draws": doubt.draws}
        | {
            name: [(doubt.of(detector, metric) or {}).get(column) for detector in doubt.detectors]
            for name, column in columns.items()
        }
        for metric in doubt.metrics
    }
