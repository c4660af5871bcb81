"""What `explain` returns: weights step by step and event by event, and how they print."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval._validation import IntArray
from pateval.clocks import Duration
from pateval.io.frame_builder import build_frame
from pateval.io.text_table import aligned

Array = npt.NDArray[np.float64]

CATEGORIES = ("quiet", "true detection", "early", "delayed", "outside", "partly missed", "totally missed")
QUIET, TRUE, EARLY, DELAYED, OUTSIDE, PARTLY, TOTALLY = range(len(CATEGORIES))
_MARKS = "·█◂▸×▒░"
# Which category a timeline shows where several share a column.
_SHOWN_FIRST = (OUTSIDE, TOTALLY, TRUE, PARTLY, EARLY, DELAYED, QUIET)
_WIDTH = 80
_MOST_ROWS = 20


@dataclass(frozen=True)
class StepWeights:
    """Category and weights of every time step.

    Attributes
    ----------
    step : ndarray of int
        Number of each step in the recording; ignored steps are not there.
    codes : ndarray of int
        Category of each step, as a place in `CATEGORIES`.
    event : ndarray of int
        The event each step belongs to, -1 for none.
    true_positive, false_positive, false_negative : ndarray
        What each step adds to the weighted counts.
    """

    step: IntArray
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
        return build_frame(
            {
                "step": self.step,
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
    early, delay : int or duration
        The buffers, as they were given.
    """

    points: StepWeights
    events: tuple[EventWeights, ...]
    precision: float
    recall: float
    f1: float
    true_positive: float
    false_positive: float
    false_negative: float
    early: int | Duration
    delay: int | Duration

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per event.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        names = EventWeights.__dataclass_fields__
        return build_frame({name: [getattr(event, name) for event in self.events] for name in names}, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, and the events as a list of dictionaries."""
        figures = ("early", "delay", "precision", "recall", "f1", "true_positive", "false_positive", "false_negative")
        plain = {name: getattr(self, name) for name in figures}
        for name in ("early", "delay"):
            plain[name] = plain[name] if isinstance(plain[name], (int, str)) else str(plain[name])
        return plain | {"events": [asdict(event) for event in self.events]}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict())

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
        outside = float(self.points.false_positive[self.points.codes == OUTSIDE].sum())
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
        header = ("event", "found", "cover", "onset", "lead", "TP", "FP", "FN")
        table = aligned(header, rows, [False] + [True] * 7).splitlines()
        if len(shown) < len(self.events):
            table.insert(len(shown) + 2, f"… and {len(self.events) - len(shown)} more events")
        legend = "   ".join(
            f"{_MARKS[code]} {CATEGORIES[code]}"
            for code in (TRUE, EARLY, DELAYED, OUTSIDE, PARTLY, TOTALLY)
            if (self.points.codes == code).any()
        )
        return "\n".join([head, "", self.timeline(), legend, "", *table])
