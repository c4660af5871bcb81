"""Labels in doubt: every edge of every event moved a little, again and again.

Who labels a series decides where an event begins and ends, and another person would have decided otherwise. Metrics
computed on labels whose edges are moved at random say how much of a value, and of a ranking, hangs on that decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pateval.io import TableError
from pateval.labels.events import find_events
from pateval.time.clocks import Clock, Duration, duration_text, in_steps, is_duration, read_clock
from pateval.validation.arrays import BoolArray, non_negative_integer
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pateval.io import ScoredSeries

DOUBT_DRAWS = 100


def read_doubt(value: int | Duration | None) -> int | str:
    """Check how far edges may move: a number of steps, or a duration, which is returned as text; 0 for None.

    Examples
    --------
    >>> read_doubt(None), read_doubt(5), read_doubt("60min")
    (0, 5, '1h')
    """
    if value is None:
        return 0
    if is_duration(value):
        return duration_text(value, "doubt")
    return non_negative_integer(value, "doubt")


def doubt_in_steps(doubt: int | str, item: ScoredSeries) -> int:
    """Return how many steps of a series a duration is, by the median interval; a number of steps is left as it is.

    Raises
    ------
    TableError
        If the duration cannot be measured: there is no column of times, or no unit for its numbers.
    """
    if isinstance(doubt, int):
        return doubt
    clock = _clock(item)
    interval = None if clock is None else clock.median_interval()
    if clock is None or interval is None:
        raise TableError(
            f"{item.where}: doubt {in_words(doubt)} needs the times of the steps of series {item.series!r}; name their "
            f"column (time=..., --time), or give a number of steps"
        )
    try:
        return in_steps(doubt, interval, clock, "doubt")
    except ValueError as error:
        raise TableError(f"{item.where}: {error}") from error


def moved_labels(labels: BoolArray, steps: int, draws: int, generator: np.random.Generator) -> Iterator[BoolArray]:
    """Yield labels with every edge moved by a number of steps drawn uniformly from ``-steps`` to ``steps``.

    An event whose end comes to lie at or before its start is gone; events that meet are one; what would lie outside of
    the series is cut off.

    Parameters
    ----------
    labels : ndarray of bool
        Of one series.
    steps : int
        How far an edge may move.
    draws : int
        How many labels to yield.
    generator : Generator
        Where chance comes from.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 1, 1, 0, 0, 0], dtype=bool)
    >>> for moved in moved_labels(labels, 1, 3, np.random.default_rng(2)):
    ...     print("".join(map(str, moved.astype(int))))
    00000000
    00110000
    00011100
    """
    events = find_events(labels)
    edges = np.array([events.starts, events.stops])
    for _ in range(draws):
        moved = np.clip(edges + generator.integers(-steps, steps + 1, edges.shape), 0, labels.size)
        starts, stops = moved[:, moved[0] < moved[1]]
        changes = np.bincount(starts, minlength=labels.size + 1) - np.bincount(stops, minlength=labels.size + 1)
        yield np.cumsum(changes[:-1]) > 0


def _clock(item: ScoredSeries) -> Clock | None:
    times = item.times
    if times is None:
        return None
    return read_clock(times, times.size, np.zeros(1, dtype=np.intp), item.time_unit)
