"""Layouts as a leaderboard writes them into ``run.json``, read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pateval.io.event_files import EventIntervals
from pateval.io.layout import Layout


def saved_layout(record: Mapping[str, Any]) -> Layout:
    """Make the layout that ``dataclasses.asdict`` and JSON have made plain data of.

    Fields of other releases are passed over. Events that came from a file of their own are in the record.

    Examples
    --------
    >>> import json
    >>> from dataclasses import asdict
    >>> events = EventIntervals("e.csv", (("a", ((3, 5, 1),)),), in_time=False, has_dates=False, closed=False)
    >>> layout = Layout(None, ("score",), None, None, True, "", (), events=events)
    >>> saved_layout(json.loads(json.dumps(asdict(layout)))) == layout
    True
    """
    values = _known(Layout, record)
    if values.get("events") is not None:
        values["events"] = EventIntervals(**_known(EventIntervals, record["events"]))
    return Layout(**values)


def _known(kind: type[Any], record: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: _frozen(value) for name, value in record.items() if name in names}


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
