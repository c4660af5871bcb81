"""Why predictions get the weighted precision and recall they get: step by step and event by event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray, binary_pair, non_negative_integer, require_anomaly, series_starts
from pateval.events import Events, find_events, within
from pateval.pate._missed import miss_weight
from pateval.pate._zones import ZoneLimits, zone_weight
from pateval.prf import PRF

Array = npt.NDArray[np.float64]

CATEGORIES = ("quiet", "true detection", "early", "delayed", "outside", "partly missed", "totally missed")
_QUIET, _TRUE, _EARLY, _DELAYED, _OUTSIDE, _PARTLY, _TOTALLY = range(len(CATEGORIES))
_MARKS = "·█◂▸×▒░"
# Which category a timeline shows where several share a column.
_SHOWN_FIRST = (_OUTSIDE, _TOTALLY, _TRUE, _PARTLY, _EARLY, _DELAYED, _QUIET)
_WIDTH = 80
_MOST_ROWS = 20


@dataclass(frozen=True)
class StepWeights:
    """Category and weights of every time step.

    Attributes
    ----------
    codes : ndarray of int
        Category of each step, as a place in `CATEGORIES`.
    event : ndarray of int
        The event each step belongs to, -1 for none.
    true_positive, false_positive, false_negative : ndarray
        What each step adds to the weighted counts.
    """

    codes: npt.NDArray[np.int8]
    event: IntArray
    true_positive: Array
    false_positive: Array
    false_negative: Array

    @property
    def category(self) -> npt.NDArray[np.str_]:
        """Category of each step, in words."""
        return np.array(CATEGORIES)[self.codes]

    def __len__(self) -> int:
        return int(self.codes.size)

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per time step; see `Explanation.to_frame`."""
        return _frame(
            {
                "step": np.arange(len(self)),
                "category": self.category.tolist(),
                "event": self.event,
                "true_positive": self.true_positive,
                "false_positive": self.false_positive,
                "false_negative": self.false_negative,
            },
            backend,
        )


@dataclass(frozen=True)
class EventWeights:
    """How one event was detected, and what it adds to the weighted counts with its buffers.

    Attributes
    ----------
    start, stop : int
        The event covers the steps ``start <= t < stop``.
    detected : bool
        Whether any step inside was predicted.
    coverage : float
        Share of the steps inside that were predicted.
    onset_delay : int or None
        Steps from the start to the first one predicted inside; None if not detected.
    early_lead : int or None
        Steps from the earliest prediction in the early buffer to the start; None if there is none.
    true_positive, false_positive, false_negative : float
        Weighted counts of the event and its buffers.
    """

    start: int
    stop: int
    detected: bool
    coverage: float
    onset_delay: int | None
    early_lead: int | None
    true_positive: float
    false_positive: float
    false_negative: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `explain` found; prints as a table with a timeline.

    Attributes
    ----------
    points : StepWeights
        Category and weights of every time step.
    events : tuple of EventWeights
        One row per event.
    precision, recall, f1 : float
        The proximity-weighted figures, as `pate_f1` uses them for this pair of buffers.
    true_positive, false_positive, false_negative : float
        The weighted counts in all.
    early, delay : int
        The buffers.
    """

    points: StepWeights
    events: tuple[EventWeights, ...]
    precision: float
    recall: float
    f1: float
    true_positive: float
    false_positive: float
    false_negative: float
    early: int
    delay: int

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per event.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        names = EventWeights.__dataclass_fields__
        return _frame({name: [getattr(event, name) for event in self.events] for name in names}, backend)

    def timeline(self, width: int = _WIDTH) -> str:
        """One line of marks for the whole series; where several categories share a column the gravest is shown.

        Parameters
        ----------
        width : int
            Number of columns at most.
        """
        codes = self.points.codes
        edges = np.linspace(0, codes.size, min(width, codes.size) + 1).astype(int)
        present = np.stack(
            [np.logical_or.reduceat(codes == code, edges[:-1]) for code in _SHOWN_FIRST],
        )
        return "".join(_MARKS[_SHOWN_FIRST[place]] for place in present.argmax(axis=0))

    def __repr__(self) -> str:
        head = (
            f"precision {self.precision:.4f}   recall {self.recall:.4f}   F1 {self.f1:.4f}"
            f"   (early {self.early}, delay {self.delay})"
        )
        outside = float(self.points.false_positive[self.points.codes == _OUTSIDE].sum())
        shown = self.events if len(self.events) <= _MOST_ROWS else self.events[: _MOST_ROWS - 1]
        rows = [
            (
                f"[{event.start}, {event.stop})",
                "yes" if event.detected else "no",
                f"{event.coverage:.0%}",
                *("-" if steps is None else str(steps) for steps in (event.onset_delay, event.early_lead)),
                *(f"{count:.2f}" for count in (event.true_positive, event.false_positive, event.false_negative)),
            )
            for event in shown
        ]
        totals = (f"{count:.2f}" for count in (self.true_positive, self.false_positive, self.false_negative))
        rows += [("outside", *[""] * 5, f"{outside:.2f}", ""), ("all", *[""] * 4, *totals)]
        table = _text_table(("event", "found", "cover", "onset", "lead", "TP", "FP", "FN"), rows)
        if len(shown) < len(self.events):
            table.insert(len(shown) + 1, f"… and {len(self.events) - len(shown)} more events")
        legend = "   ".join(
            f"{_MARKS[code]} {CATEGORIES[code]}"
            for code in (_TRUE, _EARLY, _DELAYED, _OUTSIDE, _PARTLY, _TOTALLY)
            if (self.points.codes == code).any()
        )
        return "\n".join([head, "", self.timeline(), legend, "", *table])


def explain(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    early: int,
    delay: int,
    series: npt.ArrayLike | None = None,
) -> Explanation:
    """Show what every step and every event adds to the proximity-weighted precision and recall.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    predictions : array-like of 0/1
        What was predicted for each time step; for scores, ``scores >= threshold``.
    early, delay : int
        Buffer lengths in steps before and after an event.
    series : array-like, optional
        Which series each step belongs to.

    Returns
    -------
    Explanation
        Per step its category and weights, per event a row, and the sums; print it to read it.

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.
    ValueError, TypeError
        If an input is not of the form described.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    >>> found = [0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]
    >>> pv.explain(labels, found, early=2, delay=3)
    precision 0.5460   recall 0.7319   F1 0.6255   (early 2, delay 3)
    <BLANKLINE>
    ··◂▒██▒▸··×·
    █ true detection   ◂ early   ▸ delayed   × outside   ▒ partly missed
    <BLANKLINE>
    event    found  cover  onset  lead    TP    FP    FN
    [3, 7)     yes    50%      1     1  2.73  1.27  1.00
    outside                                   1.00
    all                                 2.73  2.27  1.00
    """
    labels, predictions = binary_pair(labels, predictions)
    early, delay = non_negative_integer(early, "early"), non_negative_integer(delay, "delay")
    events = find_events(labels, series_starts(series, labels.size))
    require_anomaly(labels)
    points = _weigh(events, labels, predictions, min(early, labels.size), min(delay, labels.size))
    tp, fp, fn = (float(np.sum(w)) for w in (points.true_positive, points.false_positive, points.false_negative))
    return Explanation(
        points, _describe(events, predictions, points), *PRF.from_counts(tp, fp, fn), tp, fp, fn, early, delay
    )


def _weigh(events: Events, labels: BoolArray, predictions: BoolArray, early: int, delay: int) -> StepWeights:
    codes = np.zeros(labels.size, dtype=np.int8)
    owner = np.full(labels.size, -1, dtype=np.intp)
    found, wrong, missed = (np.zeros(labels.size) for _ in range(3))
    lengths = events.lengths
    inside = within(events.starts, lengths)
    event_of = np.repeat(np.arange(len(events)), lengths)
    hit = predictions[inside]
    detected, _, run = _first_runs(events, hit)

    owner[inside] = event_of
    found[inside] = hit
    missed[inside] = np.where(hit, 0.0, miss_weight(inside - events.starts[event_of], lengths[event_of], run[event_of]))
    missed[inside[~detected[event_of]]] = 1.0
    codes[inside] = np.where(hit, _TRUE, np.where(detected[event_of], _PARTLY, _TOTALLY))

    codes[predictions & ~labels] = _OUTSIDE
    wrong[predictions & ~labels] = 1.0
    limits = ZoneLimits(events)
    after, ahead = limits.delayed_reach(delay), limits.early_reach(early, delay)
    zones = ((after, limits.delayed_steps(after), _DELAYED), (ahead, limits.early_steps(ahead), _EARLY))
    for reach, zone, code in zones:
        owner[zone.steps] = zone.events
        codes[zone.steps[predictions[zone.steps]]] = code
        counts = predictions[zone.steps] & ((code == _DELAYED) | detected[zone.events])
        weights = zone_weight(reach[zone.events], zone.distances, limits.half_length[zone.events])
        found[zone.steps] = np.where(counts, weights, 0.0)
        wrong[zone.steps] -= found[zone.steps]
    return StepWeights(codes, owner, found, wrong, missed)


def _first_runs(events: Events, hit: BoolArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Per event: whether it is detected, at which offset first, and how long the run detected there is."""
    lengths = events.lengths
    begins = np.cumsum(lengths) - lengths
    offset = within(np.zeros_like(lengths), lengths)
    event_of = np.repeat(np.arange(len(events)), lengths)
    first = np.minimum.reduceat(np.where(hit, offset, lengths[event_of]), begins)
    behind = ~hit & (offset > first[event_of])
    end = np.minimum.reduceat(np.where(behind, offset, lengths[event_of]), begins)
    return first < lengths, first, end - first


def _describe(events: Events, predictions: BoolArray, points: StepWeights) -> tuple[EventWeights, ...]:
    hit = predictions[within(events.starts, events.lengths)]
    detected, first, _ = _first_runs(events, hit)
    begins = np.cumsum(events.lengths) - events.lengths
    covered = np.add.reduceat(hit.astype(np.float64), begins) / events.lengths
    owned = points.event >= 0
    sums = [
        np.bincount(points.event[owned], weight[owned], minlength=len(events))
        for weight in (points.true_positive, points.false_positive, points.false_negative)
    ]
    lead = np.zeros(len(events), dtype=np.intp)
    ahead = np.flatnonzero(points.codes == _EARLY)
    np.maximum.at(lead, points.event[ahead], events.starts[points.event[ahead]] - ahead)
    return tuple(
        EventWeights(
            int(events.starts[k]),
            int(events.stops[k]),
            bool(detected[k]),
            float(covered[k]),
            int(first[k]) if detected[k] else None,
            int(lead[k]) if lead[k] else None,
            *(float(total[k]) for total in sums),
        )
        for k in range(len(events))
    )


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]


def _frame(columns: dict[str, Any], backend: str | None) -> Any:
    import importlib.util

    import narwhals as nw

    known = ("pandas", "polars", "pyarrow")
    if backend is None:
        backend = next(name for name in known if importlib.util.find_spec(name))
    if backend not in known:
        raise ValueError(f"backend must be one of {', '.join(map(repr, known))}; got {backend!r}")
    return nw.from_dict(columns, backend=cast(Any, backend)).to_native()
