"""Who wins, by how much, and whether that is evidence: in sentences, on halves of the series, and under doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.leaderboards.doubt import LabelDoubt
from pateval.leaderboards.render import baseline_of, lead_of, leader, mean_of_rules
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.significance import Significance, rank_table

HALVES = 400
_FEWEST_SERIES = 4


def verdict(board: Leaderboard, metric: str, tests: Significance | None) -> dict[str, Any]:
    """Say what a metric says of the detectors.

    ``leader`` is None where nothing orders them; ``against`` is the control, or else the leader, and ``tied`` are those
    not told apart from it; ``rules`` has the means of what needs no training, and who beats the best of it. ``claim``,
    ``evidence`` and ``power`` are a sentence each, or empty.
    """
    with_value = {row["detector"] for row in board.summary_rows if row["metric"] == metric and row["mean"] is not None}
    first = board.best_first(metric)[0]
    nothing: dict[str, Any] = {"leader": None, "against": None, "tied": [], "claim": "", "evidence": "", "power": ""}
    if not with_value:
        return nothing | {"claim": f"No detector has a value of {metric}."}
    if len(with_value) == 1:
        claim = f"{first} is the only detector with a value of {metric}."
        evidence = "There is nothing to compare it with."
        return nothing | {"leader": first, "against": first, "claim": claim, "evidence": evidence}
    said = leader(board, metric)
    if not said:
        evidence = "There is no series on which all of them have a value."
        return nothing | {"claim": f"Nothing orders the detectors under {metric}.", "evidence": evidence}
    tied, evidence = ([], "One sample is no evidence for any order.") if tests is None else evidence_of(tests.to_dict())
    clause = lead.clause() if tests is not None and (lead := lead_of(board, tests)) else ""
    best = baseline_of(board, metric)
    rules = None
    if best is not None:
        rules = {"best": best.name, "beaten_by": best.beaten_by, "means": mean_of_rules(board, metric)}
    said = said if best is None else f"{said}; {best.clause()}"
    claim, power = (f"{text[:1].upper()}{text[1:]}{text and '.'}" for text in (said, clause))
    about = {"leader": first, "against": board.control or first, "tied": tied, "rules": rules}
    return about | {"claim": claim, "evidence": evidence, "power": power}


def evidence_of(tests: Mapping[str, Any]) -> tuple[list[str], str]:
    """Who is not told apart from the first of at least two, or from the control, and a sentence on it.

    The tests are those of `Significance.to_dict`.

    Examples
    --------
    >>> tests = {"detectors": ["a", "b"], "series_used": 9, "alpha": 0.05, "wilcoxon_holm_p": [[1, 0.004], [0.004, 1]]}
    >>> evidence_of(tests)
    ([], 'It is told apart from all others (Wilcoxon-Holm, 5 %; against b p = 0.004 on 9 series).')
    """
    if tests.get("control"):
        return _evidence_of_control(tests)
    ranked, alpha = tests["detectors"], tests["alpha"]
    if tests["wilcoxon_holm_p"]:
        p_values = tests["wilcoxon_holm_p"][0]
        tied = [name for name, p in zip(ranked[1:], p_values[1:], strict=True) if p is None or p >= alpha]
        against = f"against {ranked[1]} p = {'undefined' if p_values[1] is None else f'{p_values[1]:.2g}'} "
    else:  # of very many detectors the groups are known, not the pairs
        alike = {name for group in tests["wilcoxon_groups"] if ranked[0] in group for name in group}
        tied, against = [name for name in ranked[1:] if name in alike], ""
    if tests["series_used"] < 2:
        return tied, "On one series there is no evidence for any order."
    from_whom = f"is not told apart from {_listed(tied)}"
    if len(tied) in (0, len(ranked) - 1):
        from_whom = f"is told apart from {'no other detector' if tied else 'all others'}"
    return tied, f"It {from_whom} (Wilcoxon-Holm, {100 * alpha:g} %; {against}on {tests['series_used']} series)."


def _evidence_of_control(tests: Mapping[str, Any]) -> tuple[list[str], str]:
    """Who is not told apart from the control, and who is: those behind it and ahead of it by mean rank."""
    ranked, control, series = tests["detectors"], tests["control"], tests["series_used"]
    if control not in ranked:
        return [], f"{control} has no value here, so nobody is compared with it."
    (group,) = tests["wilcoxon_groups"]
    tied, place = [name for name in group if name != control], ranked.index(control)
    if series < 2:
        return tied, "On one series there is no evidence for any order."
    beside = {"behind": ranked[place + 1 :], "ahead of": ranked[:place]}
    apart = {side: _listed([name for name in names if name not in group]) for side, names in beside.items()}
    from_whom = (
        " and ".join(f"from {names} {side} it" for side, names in apart.items() if names) or "from no other detector"
    )
    more = f"; not from {_listed(tied)}" if tied and len(tied) < len(ranked) - 1 else ""
    test = f"Wilcoxon-Holm over {len(ranked) - 1} comparisons, {100 * tests['alpha']:g} %; on {series} series"
    return tied, f"{control} is told apart {from_whom}{more} ({test})."


def _listed(names: Sequence[str], most: int = 4) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def over_halves(table: npt.NDArray[np.float64], *, higher_is_better: bool) -> dict[str, Any] | None:
    """Rank the detectors on random halves of the series, from a table of series by detectors.

    Plain lists with a number for each detector: ``first``, the share of the halves in which it is first, alone or with
    others; ``low`` and ``high``, between which its place is in nine of ten halves; and how many ``series`` without a
    missing value and ``halves`` there are. None where there are fewer than four series.

    Examples
    --------
    >>> table = np.array([[0.9, 0.5], [0.8, 0.7], [0.7, 0.4], [0.6, 0.5]])
    >>> over_halves(table, higher_is_better=True)["first"]
    [1.0, 0.0]
    """
    from scipy.stats import rankdata

    ranks = rank_table(table, higher_is_better=higher_is_better).per_series
    series, detectors = ranks.shape
    if series < _FEWEST_SERIES or detectors < 2:
        return None
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
    columns = {"first": "first", "low": "best_place", "high": "worst_place", "kept": "rank_kept"}
    return {
        metric: {"amount": doubt.amount_text, "draws": doubt.draws}
        | {
            name: [(doubt.of(detector, metric) or {}).get(column) for detector in doubt.detectors]
            for name, column in columns.items()
        }
        for metric in doubt.metrics
    }
