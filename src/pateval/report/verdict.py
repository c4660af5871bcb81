"""Who wins, by how much, and whether that is evidence: in one or two sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def verdict(
    metric: str,
    tests: Mapping[str, Any],
    means: Sequence[float | None],
    detectors: Sequence[str],
    *,
    higher_is_better: bool = True,
) -> dict[str, Any]:
    """Say what a metric says of the detectors.

    Parameters
    ----------
    metric : str
        Its id.
    tests : mapping
        What `Significance.to_dict` gives; its detectors come in order of mean ranks.
    means : sequence of float or None
        Mean of each detector over its series.
    detectors : sequence of str
        Their names, in the order of ``means``.
    higher_is_better : bool
        Direction of the metric.

    Returns
    -------
    dict
        ``leader`` (None where nobody is ranked), ``tied`` (those not told apart from it), ``claim`` and ``evidence``,
        a sentence each.

    Examples
    --------
    >>> tests = {"detectors": ["a", "b"], "mean_ranks": [1.0, 2.0], "series_used": 9, "alpha": 0.05,
    ...          "wilcoxon_holm_p": [[1, 0.004], [0.004, 1]], "wins": [[0, 9], [0, 0]]}
    >>> found = verdict("pate_ap", tests, [0.8, 0.5], ["a", "b"])
    >>> print(found["claim"], found["evidence"].replace("\u00a0", " "))
    a is first under pate_ap: mean 0.800, 0.300 ahead of b. It is told apart from all others (Wilcoxon-Holm, 5 %;
    against b p = 0.004 on 9 series).
    """
    ranked = list(tests["detectors"])
    if not ranked:
        return {"leader": None, "tied": [], "claim": f"No detector has a value of {metric}.", "evidence": ""}
    leader = ranked[0]
    mean = dict(zip(detectors, means, strict=True))
    first = mean[leader]
    if len(ranked) == 1:
        claim = f"{leader} is the only detector with a value of {metric}: mean {_figure(first)}."
        return {"leader": leader, "tied": [], "claim": claim, "evidence": "There is nothing to compare it with."}
    second, used, alpha = ranked[1], tests["series_used"], tests["alpha"]
    ranks = tests["mean_ranks"]
    level = [name for name, rank in zip(ranked, ranks, strict=True) if _close(rank, ranks[0])]
    next_mean, sign = mean[second], 1 if higher_is_better else -1
    gap = None if first is None or next_mean is None else sign * (first - next_mean)
    ahead = "" if gap is None else _distance(gap, second)
    claim = f"{leader} is first under {metric}: mean {_figure(first)}{ahead}."
    if len(level) > 1:
        claim = f"{_listed(level)} share the first place under {metric}: mean {_figure(first)} for {leader}."
    p_values = tests["wilcoxon_holm_p"][0]
    tied = [name for name, p in zip(ranked[1:], p_values[1:], strict=True) if p is None or p >= alpha]
    against = f"against {second} p = {_p(p_values[1])} on {used} series"
    if used < 2:
        evidence = "On one series there is no evidence for any order."
    elif not tied:
        evidence = f"It is told apart from all others (Wilcoxon-Holm, {alpha:.0%}; {against})."
    elif len(tied) == len(ranked) - 1:
        evidence = f"It is told apart from no other detector (Wilcoxon-Holm, {alpha:.0%}; {against})."
    else:
        evidence = f"It is not told apart from {_listed(tied)} (Wilcoxon-Holm, {alpha:.0%}; {against})."
    return {"leader": leader, "tied": tied, "claim": claim, "evidence": evidence.replace("5%", "5\u00a0%")}


def _distance(gap: float, second: str) -> str:
    if abs(gap) < 0.0005:
        return f", level with {second}"
    if gap < 0:
        return f", though the mean of {second} is {_figure(-gap)} away on the other side: ranks and means differ"
    return f", {_figure(gap)} ahead of {second}"


def _figure(value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def _p(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2g}"


def _close(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and math.isclose(one, other, abs_tol=1e-9)


def _listed(names: Sequence[str], most: int = 4) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> _listed(["a", "b", "c"]), _listed(list("abcdef"))
    ('a, b and c', 'a, b, c, d and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
