"""What the catalogue knows of a metric, for someone who reads its number."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

from pateval.catalog import PROPERTIES

if TYPE_CHECKING:
    from pateval.catalog.metric import Metric
    from pateval.leaderboards.result import Leaderboard


def describe(board: Leaderboard, metric: str) -> dict[str, Any]:
    """Describe a metric of a leaderboard in plain values."""
    measures = board.measures
    found = None if measures is None else measures.by_id.get(metric)
    described: dict[str, Any] = {
        "id": metric,
        "label": board.label(metric),
        "higher": board.facts[metric].higher_is_better,
        "signature": board.signatures.get(metric, ""),
        "threshold": "",
        "uses_labels": False,
    }
    if found is None or measures is None:
        unknown = {"text": "Its values were computed elsewhere.", "rewards": [], "faults": "", "paper": ""}
        return described | unknown | {"range": [None, None]}
    if found.needs_threshold:
        rule = measures.rule(found)
        described |= {"threshold": rule.description, "uses_labels": rule.uses_labels}
    return described | texts_of(found)


def texts_of(metric: Metric) -> dict[str, Any]:
    """What a metric rewards, how it can be fooled, where it comes from.

    Examples
    --------
    >>> from pateval.catalog import find_metrics
    >>> texts_of(find_metrics(["point_f1"])[0])["faults"]
    'every step counts alike: one long event outweighs many short ones'
    """
    part = "" if metric.field is None else f" Shown is its {metric.field.replace('_', ' ')}."
    text = " ".join((inspect.getdoc(metric.function) or "").split("\n\n")[0].split()).replace("`", "").rstrip(".")
    return {
        "text": (f"{text}." if text else "A metric of your own.") + part,
        "rewards": [text for name, text in PROPERTIES.items() if name in metric.properties],
        "faults": metric.faults,
        "paper": "" if metric.paper is None else f"{metric.paper.text} ({metric.paper.link})",
        "range": [value if math.isfinite(value) else None for value in (metric.low, metric.high)],
    }
