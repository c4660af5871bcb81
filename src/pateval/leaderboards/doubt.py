"""Labels in doubt: every edge of every event moved a little, again and again.

Who labels a series decides where an event begins and ends, and another person would have decided otherwise. Metrics
computed on labels whose edges are moved at random say how much of a value, and of a ranking, hangs on that decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation.bootstrap import FloatArray
from pateval.evaluation.values import defined_mean, deviation
from pateval.io import TableError
from pateval.io.content import arrow
from pateval.labels.events import find_events
from pateval.leaderboards.arrays import MetricFacts, mean, rank_detectors, strings
from pateval.output.results import Result, columns_of_records
from pateval.output.text_table import aligned
from pateval.time.clocks import Duration, duration_text, in_steps, is_duration
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray, non_negative_integer
from pateval.validation.wording import counted, in_words, listed

if TYPE_CHECKING:
    from pateval.leaderboards.result import Leaderboard

DOUBT_DRAWS = 100


def read_doubt(value: int | Duration | None) -> int | str:
    """Check how far edges may move: a number of steps, or a duration, which is returned as text; 0 for None."""
    if is_duration(value):
        return duration_text(value, "doubt")
    return 0 if value is None else non_negative_integer(value, "doubt")


def doubt_in_steps(doubt: int | str, recording: Recording) -> int:
    """Return how many steps of a series a duration is, by the median interval; a number of steps is left as it is."""
    if isinstance(doubt, int):
        return doubt
    clock = recording.clock
    interval = None if clock is None else clock.median_interval()
    if clock is None or interval is None:
        raise TableError(
            f"doubt {in_words(doubt)} needs the times of the steps of series {listed(recording.names)}, and their "
            f"unit: name the column (time=..., --time), say the unit of numbers (time_unit=..., --time-unit), or "
            f"give a number of steps"
        )
    try:
        return in_steps(doubt, interval, clock, "doubt")
    except ValueError as error:
        raise TableError(f"series {listed(recording.names)}: {error}") from error


def moved_labels(labels: BoolArray, steps: int, draws: int, generator: np.random.Generator) -> Iterator[BoolArray]:
    """Yield labels with every edge moved by a number of steps drawn uniformly from ``-steps`` to ``steps``.

    An event whose end comes to lie at or before its start is gone; events that meet are one; what would lie outside of
    the series is cut off.
    """
    events = find_events(labels)
    edges = np.array([events.starts, events.stops])
    for _ in range(draws):
        moved = np.clip(edges + generator.integers(-steps, steps + 1, edges.shape), 0, labels.size)
        starts, stops = moved[:, moved[0] < moved[1]]
        changes = np.bincount(starts, minlength=labels.size + 1) - np.bincount(stops, minlength=labels.size + 1)
        yield np.cumsum(changes[:-1]) > 0


LIMITS = (0.025, 0.975)


@dataclass(frozen=True, eq=False, repr=False)
class LabelDoubt(Result):
    """Spread and places over labels whose edges were moved.

    Attributes
    ----------
    amount : int or str
        How far each edge may have moved: steps, or a duration.
    detectors, metrics : tuple of str
        The axes.
    as_labelled : ndarray
        Detectors by series by metrics, on the labels as they are.
    moved : ndarray
        Detectors by series by metrics by draws, NaN where a metric is undefined: where no event is left, for example.
    facts : mapping
        Which way each metric points.
    """

    amount: int | str
    detectors: tuple[str, ...]
    metrics: tuple[str, ...]
    as_labelled: FloatArray
    moved: FloatArray
    facts: Mapping[str, MetricFacts]

    @classmethod
    def on_board(cls, board: Leaderboard, amount: int | str, metrics: Sequence[str], moved: FloatArray) -> LabelDoubt:
        """Take the values on the labels as they are from a board."""
        columns = [board.metrics.index(metric) for metric in metrics]
        return cls(amount, board.detectors, tuple(metrics), board.values[:, :, columns], moved, board.facts)

    @property
    def amount_text(self) -> str:
        """How far each edge may have moved, in words."""
        return counted(self.amount, "step") if isinstance(self.amount, int) else self.amount

    @property
    def draws(self) -> int:
        """How often the edges were moved."""
        return self.moved.shape[3]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One row per metric and detector, the best first.

        ``value``, the mean over series as the labels are; ``draw_mean``, ``draw_std`` (n - 1), ``draw_low`` and
        ``draw_high`` (the middle 95 %) of that mean over the draws; ``place`` by mean rank, 1 is best and ties share
        the better place; ``rank_kept``, the share of draws in which the place is the same; ``best_place`` and
        ``worst_place`` over the draws; ``first``, the share of draws in which no other detector is better.
        """
        rows = []
        for m, metric in enumerate(self.metrics):
            # NaN for detectors without any value.
            place = places_by_rank(self.as_labelled[:, :, m].T, self.facts[metric])
            drawn = [places_by_rank(self.moved[:, :, m, draw].T, self.facts[metric]) for draw in range(self.draws)]
            places, means = np.array(drawn).T, self.draw_means(m)
            for d in np.argsort(np.where(np.isnan(place), np.inf, place), kind="stable").tolist():
                defined, own = means[d][~np.isnan(means[d])], places[d][~np.isnan(places[d])]
                low, high = np.quantile(defined, LIMITS).tolist() if defined.size else (None, None)
                is_ranked = not np.isnan(place[d])
                rows.append(
                    {
                        "metric": metric,
                        "detector": self.detectors[d],
                        "value": mean(self.as_labelled[d, :, m]),
                        "draw_mean": mean(means[d]),
                        "draw_std": deviation(defined),
                        "draw_low": low,
                        "draw_high": high,
                        "place": int(place[d]) if is_ranked else None,
                        "rank_kept": float((places[d] == place[d]).mean()) if is_ranked else None,
                        "best_place": int(own.min()) if own.size else None,
                        "worst_place": int(own.max()) if own.size else None,
                        "first": float((places[d] == 1).mean()),
                    }
                )
        return rows

    def of(self, detector: str, metric: str) -> dict[str, Any] | None:
        """Return the row of a detector under a metric; None where the metric was not asked for."""
        return self._rows_by_name.get((detector, metric))

    @cached_property
    def _rows_by_name(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {(row["detector"], row["metric"]): row for row in self.rows}

    def draw_means(self, metric: int) -> FloatArray:
        """Return the means over series, detectors by draws."""
        return defined_mean(self.moved[:, :, metric], axis=1)

    def value_table(self, series: Sequence[str]) -> Any:
        """Return the value on each series in each draw (pyarrow Table): metric, detector, series, draw, value."""
        values = np.moveaxis(self.moved, 2, 0)
        metrics, detectors, of_series, draws = np.indices(values.shape).reshape(4, -1)
        columns = {
            "metric": strings(metrics, self.metrics),
            "detector": strings(detectors, self.detectors),
            "series": strings(of_series, series),
            "draw": draws,
            "value": arrow().array(values.ravel(), from_pandas=True),
        }
        return arrow().table(columns)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the rows, by name."""
        return columns_of_records(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return amount, draws and rows as plain data."""
        return {"doubt": self.amount, "draws": self.draws, "rows": self.rows}

    def __repr__(self) -> str:
        header = ["metric", "detector", "value", "label sd", "place", "kept", "places", "first"]
        body = [
            [
                row["metric"],
                row["detector"],
                _figure(row["value"]),
                _figure(row["draw_std"]),
                "-" if row["place"] is None else str(row["place"]),
                "-" if row["rank_kept"] is None else f"{row['rank_kept']:.0%}",
                "-" if row["best_place"] is None else f"{row['best_place']}..{row['worst_place']}",
                f"{row['first']:.0%}",
            ]
            for row in self.rows
        ]
        return aligned(header, body, [place > 1 for place in range(len(header))])


def places_by_rank(table: FloatArray, facts: MetricFacts) -> FloatArray:
    """Return the places of detectors by mean rank, from series by detectors; ties share the better place."""
    ranks = rank_detectors(table, facts)
    places = np.full(table.shape[1], np.nan)
    # Mean ranks that mean the same number may differ in the last digits.
    means = np.round(ranks.means[ranks.ranked], 9)
    if ranks.used:
        places[ranks.ranked] = [1 + np.count_nonzero(means < own) for own in means]
    return places


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
