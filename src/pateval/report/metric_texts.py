"""What the catalogue knows of a metric, for someone who reads its number."""

from __future__ import annotations

import inspect
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pateval.catalog import PROPERTIES, find_metrics

if TYPE_CHECKING:
    from pateval.catalog.metric import Metric


def known_metric(metric: str) -> Metric | None:
    """Look a metric up; None for a user's own that is not at hand."""
    with suppress(ValueError, TypeError, ImportError, LookupError):
        return find_metrics([metric])[0]
    return None


def describe(metric: str, *, higher_is_better: bool, signature: str = "", oracle: bool = False) -> dict[str, Any]:
    """Describe a metric in plain values.

    Examples
    --------
    >>> describe("point_f1", higher_is_better=True)["faults"]
    'every step counts alike: one long event outweighs many short ones'
    """
    described: dict[str, Any] = {
        "id": metric,
        "higher": higher_is_better,
        "text": "",
        "rewards": [],
        "faults": "",
        "paper": "",
        "range": [None, None],
        "oracle": False,
        "signature": signature,
    }
    found = known_metric(metric)
    if found is None:
        return described | {"text": "A metric of your own."}
    part = "" if found.field is None else f" Shown is its {found.field.replace('_', ' ')}."
    return described | {
        "text": _first_sentence(found.function) + part,
        "rewards": [text for name, text in PROPERTIES.items() if name in found.properties],
        "faults": found.faults,
        "paper": "" if found.paper is None else f"{found.paper.text} ({found.paper.link})",
        "range": [value if math.isfinite(value) else None for value in (found.low, found.high)],
        "oracle": oracle and found.needs_threshold,
    }


def _first_sentence(function: Any) -> str:
    """The first sentence of the docstring, without its markup."""
    text = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    return text.replace("`", "").rstrip(".") + "." if text else ""
