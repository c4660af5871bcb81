"""What the labels alone give away: how dense events are, where they lie, and whether one of them is all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pateval.checking.faults import DataFault
from pateval.labels.events import find_events
from pateval.validation.arrays import BoolArray, FloatArray

MAX_SHARE = 0.2
"""Share of anomalous steps from which on they are no exception."""
MIN_GAP = 3
"""Normal steps between two events below which they are hardly two."""
DOMINANT_SHARE = 0.8
"""Share of the anomalous steps that one event of several may hold at most."""
END_SHARE, END_PROBABILITY = 0.6, 0.001
"""Share of the events in the last third that is too much, where chance makes it this unlikely."""


def check_labels(name: str, labels: BoolArray) -> Iterator[DataFault]:
    """Yield the faults of one series' labels."""
    events = find_events(labels)
    if not len(events):
        yield DataFault("no-anomaly", name, "no step is labelled", 0.0)
        return
    share = float(labels.mean())
    if share > MAX_SHARE:
        yield DataFault("dense", name, f"{100 * share:.0f} % of the steps are anomalous", share)
    gaps = events.starts[1:] - events.stops[:-1]
    few = int(np.count_nonzero(gaps <= MIN_GAP))
    if few:
        text = f"{few} of {gaps.size} gaps between events have at most {MIN_GAP} normal steps"
        yield DataFault("close", name, text, float(few))
    longest = int(events.lengths.max())
    part = longest / int(events.lengths.sum())
    if len(events) > 2 and part >= DOMINANT_SHARE:
        text = f"one of {len(events)} events, {longest:,} steps long, holds {100 * part:.0f} % of the anomalous steps"
        yield DataFault("dominant", name, text, part)
    yield from check_places(name, event_places(labels))


def event_places(labels: BoolArray) -> FloatArray:
    """Where the middle of each event lies, from 0 at the beginning of the series to 1 at its end."""
    events = find_events(labels)
    return np.asarray((events.starts + events.stops) / (2 * labels.size))


def check_places(name: str, places: Sequence[float] | FloatArray) -> Iterator[DataFault]:
    """Yield a fault where more events lie in the last third than chance explains."""
    from scipy.stats import binom

    late, total = int(np.count_nonzero(np.asarray(places) >= 2 / 3)), len(places)
    if total and late >= END_SHARE * total and binom.sf(late - 1, total, 1 / 3) < END_PROBABILITY:
        yield DataFault("end", name, f"{late} of {total} events lie in the last third", late / total)
