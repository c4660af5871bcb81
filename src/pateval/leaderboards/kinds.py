"""A leaderboard by kind of event: what its detectors get on short and on long events, or on those of a class."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.catalog import find_metrics
from pateval.evaluation.explanation import predicted_steps
from pateval.evaluation.files import binary_detectors, recording_of, series_by_series
from pateval.evaluation.kinds import CLASS, LENGTH, LENGTHS, by_kind, counted_events, kinds_by_class, kinds_by_length
from pateval.io import TableError
from pateval.io.plan import saved_plan
from pateval.io.units import read_jobs
from pateval.output.explanation import EventKind
from pateval.output.results import TableResult, columns_of
from pateval.output.text_table import plain
from pateval.validation.arrays import choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pateval.evaluation.measures import Measures
    from pateval.io.plan import Plan
    from pateval.io.series import ScoredSeries
    from pateval.leaderboards.result import Leaderboard
    from pateval.time.timelines import Recording
    from pateval.validation.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class BoardKind:
    """A detector on the events of one kind: means over the series that have such events."""

    detector: str
    kind: str
    series: int
    events: int
    recall: float
    value: float


@dataclass(frozen=True, repr=False)
class BoardKinds(TableResult):
    """The detectors of a leaderboard on each kind of event, judged as if there were no others.

    Attributes
    ----------
    metric : str
        What ``value`` is of: the metric that ranks.
    by : {"length", "class"}
        What tells events apart.
    rows : tuple of BoardKind
        Of each detector on each kind, the best detector first.
    """

    metric: str
    by: str
    rows: tuple[BoardKind, ...]

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Return a row per detector, with value and recall on each kind."""
        kinds = sorted({row.kind for row in self.rows}, key=_order_of_kind)
        found: dict[str, dict[str, BoardKind]] = {}
        for row in self.rows:
            found.setdefault(row.detector, {})[row.kind] = row
        names = [name for kind in kinds for name in (kind, f"recall {kind.partition(' (')[0]}")]
        nothing = BoardKind("", "", 0, 0, math.nan, math.nan)
        cells = [
            [detector, *(cell for kind in kinds for cell in _cells(own.get(kind, nothing)))]
            for detector, own in found.items()
        ]
        return ["detector", *names], cells

    def remarks(self) -> list[str]:
        """Return what the table means, in sentences."""
        known = sorted({row.kind: row for row in self.rows}.values(), key=lambda row: _order_of_kind(row.kind))
        counts = [f"{row.kind}: {row.events} events on {row.series} series" for row in known]
        what = f"{self.metric}, and recall (share of events found), by {self.by} of events"
        rule = "each kind is judged as if there were no others, whose steps and buffers are left out; means over series"
        return [f"{what}: {rule}", *counts]

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table with a row per detector and kind."""
        names = list(BoardKind.__dataclass_fields__)
        return columns_of(names, [[getattr(row, name) for name in names] for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data that JSON can carry."""
        found: dict[str, Any] = plain({"metric": self.metric, "by": self.by, "rows": self.row_dicts()})
        return found


def _cells(row: BoardKind) -> tuple[float, str]:
    return row.value, "-" if math.isnan(row.recall) else f"{row.recall:.0%}"


def kinds_on_board(board: Leaderboard, by: str = LENGTH) -> BoardKinds:
    """Judge the detectors of a board on each kind of event; its inputs are read again."""
    choice(by, "by", (LENGTH, CLASS))
    plan, measures = _inputs(board)
    binary = binary_detectors(plan)
    lengths = _all_lengths(plan, measures) if by == LENGTH else None
    found: dict[tuple[str, str], list[list[EventKind]]] = {}
    for read in series_by_series(plan, measures, binary):
        runs: dict[tuple[str, str], list[EventKind]] = {}
        for item, recording in read:
            for kind in _judged(recording, item, measures, lengths):
                runs.setdefault((item.detector, kind.name), []).append(kind)
        for key, several in runs.items():
            found.setdefault(key, []).append(several)
    order = board.best_first(board.rank_by)
    rows = [_row(*key, series) for key, series in found.items()]
    rows.sort(key=lambda row: (order.index(row.detector), _order_of_kind(row.kind)))
    return BoardKinds(board.label(board.rank_by), by, tuple(rows))


def _inputs(board: Leaderboard) -> tuple[Plan, Measures]:
    """Where the series of a board are, and the metric that ranks."""
    if board.measures is None or board.pooled:
        what = "values that were computed elsewhere" if board.measures is None else "one sample of all series"
        raise ValueError(f"kinds of events need labels and scores of each series; this board holds {what}")
    plan = board.plan if board.plan is not None else saved_plan(board.run)[0]
    if plan is None:
        raise TableError("kinds of events are judged on the inputs of the board, which are gone; compute it again")
    return plan, replace(board.measures, metrics=(board.measures.by_id[board.rank_by],))


def _all_lengths(plan: Plan, measures: Measures) -> IntArray:
    """Lengths of the events of all series, as the first detector on each has them."""
    _, first = np.unique(plan.jobs.series_code, return_index=True)
    return np.concatenate(
        [counted_events(recording_of(item, measures)).lengths for item in read_jobs(plan, first.tolist())]
    )


def _judged(recording: Recording, item: ScoredSeries, measures: Measures, lengths: IntArray | None) -> list[EventKind]:
    """A run of a detector on one series, by the kinds of events there are."""
    events, own = counted_events(recording), measures.of_detector(item.detector)
    if not len(events) or recording.is_mostly_missing:
        return []
    if lengths is None:
        kinds = kinds_by_class(events, item.label_classes())
    else:
        kinds = kinds_by_length(events.lengths, lengths)
    # A metric on scores says nothing of what is found: the board's rule does.
    judging = own if own.metrics[0].needs_threshold else replace(own, metrics=tuple(find_metrics(["point_f1"])))
    flags, _ = predicted_steps(recording, judging)
    return [kind for kind in by_kind(recording, own, events, kinds, flags) if kind.events]


def _row(detector: str, kind: str, series: list[list[EventKind]]) -> BoardKind:
    """Means over the series, and over the runs on each."""
    values = np.array([_mean([one.value for one in runs]) for runs in series])
    recalls = [_mean([one.recall for one in runs]) for runs in series]
    return BoardKind(detector, kind, len(series), sum(runs[0].events for runs in series), _mean(recalls), _mean(values))


def _mean(values: Sequence[float] | FloatArray) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _order_of_kind(kind: str) -> tuple[int, str]:
    """Short before medium before long; classes by name."""
    first = kind.partition(" (")[0]
    return (LENGTHS.index(first) if first in LENGTHS else len(LENGTHS)), kind
