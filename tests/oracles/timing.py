"""When the first alarm of an event comes, and what that is worth; None where no event is detected."""

from __future__ import annotations

import math

from oracles.runs import runs_of


def timing_quality_events(labels, predictions, exponent=math.e):
    """Offset and quality of each event, NaN where it is missed."""
    events, offsets, qualities = runs_of(labels), [], []
    for i, event in enumerate(events):
        touching = [run for run in runs_of(predictions) if set(run) & set(event)]
        length = len(event)
        reach = min(length, event[0] - events[i - 1][0]) if i else length
        x = touching[0][0] - event[0] if touching else math.nan
        offsets.append(x)
        if not touching:
            qualities.append(math.nan)
        elif x <= -reach:
            qualities.append(0.0)
        elif x <= 0:
            qualities.append(((x + reach) / reach) ** exponent)
        else:
            qualities.append(1 / (1 + (x / (length - x)) ** exponent))
    return offsets, qualities


def timing_quality(labels, predictions):
    found = [quality for quality in timing_quality_events(labels, predictions)[1] if not math.isnan(quality)]
    return sum(found) / len(found) if found else None


def timing_after_rate(labels, predictions):
    found = [offset for offset in timing_quality_events(labels, predictions)[0] if not math.isnan(offset)]
    return sum(offset >= 0 for offset in found) / len(found) if found else None
