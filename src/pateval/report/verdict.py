"""Who wins, by how much, and whether that is evidence: in one or two sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pateval.leaderboards.render import leader

if TYPE_CHECKING:
    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.significance import Significance


def verdict(board: Leaderboard, metric: str, tests: Significance | None) -> dict[str, Any]:
    """Say what a metric says of the detectors.

    Returns
    -------
    dict
        ``leader`` (None where nothing orders the detectors), ``tied`` (those not told apart from it), ``claim`` and
        ``evidence``, a sentence each.
    """
    with_value = {row["detector"] for row in board.summary_rows if row["metric"] == metric and row["mean"] is not None}
    first = board.best_first(metric)[0]
    found: dict[str, Any] = {"leader": None, "tied": [], "claim": "", "evidence": ""}
    if not with_value:
        return found | {"claim": f"No detector has a value of {metric}."}
    if len(with_value) == 1:
        claim = f"{first} is the only detector with a value of {metric}."
        return found | {"leader": first, "claim": claim, "evidence": "There is nothing to compare it with."}
    said = leader(board, metric)
    if not said:
        evidence = "There is no series on which all of them have a value."
        return found | {"claim": f"Nothing orders the detectors under {metric}.", "evidence": evidence}
    tied, evidence = ([], "One sample is no evidence for any order.") if tests is None else evidence_of(tests.to_dict())
    return {"leader": first, "tied": tied, "claim": f"{said[0].upper()}{said[1:]}.", "evidence": evidence}


def evidence_of(tests: Mapping[str, Any]) -> tuple[list[str], str]:
    """Who is not told apart from the first, and a sentence on it.

    Parameters
    ----------
    tests : mapping
        What `Significance.to_dict` gives; its detectors come in order of mean ranks, and are at least two.

    Examples
    --------
    >>> tests = {"detectors": ["a", "b"], "series_used": 9, "alpha": 0.05, "wilcoxon_holm_p": [[1, 0.004], [0.004, 1]]}
    >>> evidence_of(tests)
    ([], 'It is told apart from all others (Wilcoxon-Holm, 5 %; against b p = 0.004 on 9 series).')
    """
    ranked, p_values, alpha = tests["detectors"], tests["wilcoxon_holm_p"][0], tests["alpha"]
    tied = [name for name, p in zip(ranked[1:], p_values[1:], strict=True) if p is None or p >= alpha]
    if tests["series_used"] < 2:
        return tied, "On one series there is no evidence for any order."
    from_whom = f"is not told apart from {_listed(tied)}"
    if len(tied) in (0, len(ranked) - 1):
        from_whom = f"is told apart from {'no other detector' if tied else 'all others'}"
    p = "undefined" if p_values[1] is None else f"{p_values[1]:.2g}"
    against = f"against {ranked[1]} p = {p} on {tests['series_used']} series"
    return tied, f"It {from_whom} (Wilcoxon-Holm, {100 * alpha:g} %; {against})."


def _listed(names: Sequence[str], most: int = 4) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
