"""How inputs were read, as a leaderboard writes it into ``run.json``, read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pateval.io.event_files import EventIntervals, read_events
from pateval.io.files import open_table, read_table
from pateval.io.layout import Layout
from pateval.io.plan import Plan, plan_of
from pateval.io.source import TableError
from pateval.validation.wording import named_error


def saved_plan(run: Mapping[str, Any], folder: Path | None = None) -> tuple[Plan | None, list[str]]:
    """Open the inputs of a leaderboard as they were read when it was computed.

    Parameters
    ----------
    run : mapping
        Its run.json.
    folder : Path, optional
        Where it is: a relative path is looked up from where the board was computed, from here, and from beside it.

    Returns
    -------
    plan : Plan or None
        What can still be read; None where nothing can.
    problems : list of str
        A sentence for each input that is gone or cannot be read, and for events that are not those of then.

    Raises
    ------
    TableError
        If it does not say how the inputs were read.
    """
    try:
        reading = run["reading"]
        layouts = [saved_layout(layout) for layout in reading["layouts"]]
        places = [Path(reading["directory"]), Path.cwd(), *([] if folder is None else [folder.parent, folder])]
        numbers = zip(run["inputs"], reading["layout_of_input"], strict=True)
        inputs = [(str(path), layouts[number]) for path, number in numbers]
        event_files = list(reading["event_files"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        where = "" if folder is None else f"{folder}: "
        raise TableError(
            f"{where}run.json does not say how the inputs were read ({named_error(error)}); compute the leaderboard "
            f"again"
        ) from error
    problems = [line for layout in dict.fromkeys(layouts) for line in _changed_events(layout, event_files, places)]
    opened = []
    for path, layout in inputs:
        try:
            source = open_table(_found(path, places))
            plan_of([(source, layout)])  # says what is wrong with it
            opened.append((source, layout))
        except (TableError, KeyError) as error:
            problems.append(f"{path}: the input can no longer be read: {error}")
    return plan_of(opened) if opened else None, problems


def _changed_events(layout: Layout, event_files: Sequence[str], places: Sequence[Path]) -> Iterator[str]:
    """Say whether the file of events is what it was when labels were made of it; the layout has the events of then."""
    events = layout.events
    if events is None or events.where not in event_files:
        return
    try:
        now = read_events(read_table(_found(events.where, places)), closed=events.closed, series=layout.series)
        if (now.by_series, now.has_dates) != (events.by_series, events.has_dates):
            yield f"{events.where}: the events are not those that the leaderboard was computed from"
    except TableError as error:
        yield f"{events.where}: the events can no longer be read: {error}"


def _found(path: str, places: Sequence[Path]) -> Path:
    for place in places:
        if (place / path).exists():
            return place / path
    raise TableError("it is gone, or was a table in memory")


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
