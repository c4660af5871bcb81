"""What moving the edges of events does to a leaderboard: the spread of its means, and who keeps their place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.leaderboards.summary import MetricFacts, mean, rank_detectors
from pateval.output.frame_builder import build_frame
from pateval.output.results import Result
from pateval.output.text_table import aligned, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Values = npt.NDArray[np.float64]

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
    as_labelled: Values
    moved: Values
    facts: Mapping[str, MetricFacts]

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
        found = []
        for m, metric in enumerate(self.metrics):
            place, places = self._places(m)
            values = [mean(self.as_labelled[d, :, m]) for d in range(len(self.detectors))]
            found += doubt_rows(metric, self.detectors, values, place, self.draw_means(m), places)
        return found

    def of(self, detector: str, metric: str) -> dict[str, Any] | None:
        """Return the row of a detector under a metric; None where the metric was not asked for."""
        return self._rows_by_name.get((detector, metric))

    @cached_property
    def _rows_by_name(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {(row["detector"], row["metric"]): row for row in self.rows}

    def draw_means(self, metric: int) -> Values:
        """Return the means over series, detectors by draws."""
        values = self.moved[:, :, metric]
        defined = ~np.isnan(values)
        counts = defined.sum(axis=1)
        sums = np.where(defined, values, 0.0).sum(axis=1)
        return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)

    @cached_property
    def _all_places(self) -> list[tuple[Values, Values]]:
        found = []
        for m, metric in enumerate(self.metrics):
            drawn = [places_by_rank(self.moved[:, :, m, draw].T, self.facts[metric]) for draw in range(self.draws)]
            found.append((places_by_rank(self.as_labelled[:, :, m].T, self.facts[metric]), np.array(drawn).T))
        return found

    def _places(self, metric: int) -> tuple[Values, Values]:
        """Places as labelled, and detectors by draws; NaN for detectors without any value."""
        return self._all_places[metric]

    def draw_table(self) -> Any:
        """Return mean over series and place in each draw (pyarrow Table): metric, detector, draw, mean, place."""
        import pyarrow as pa

        size = len(self.detectors) * self.draws
        columns: dict[str, list[Any]] = {"metric": [], "detector": [], "draw": [], "mean": [], "place": []}
        for m, metric in enumerate(self.metrics):
            columns["metric"] += [metric] * size
            columns["detector"] += [name for name in self.detectors for _ in range(self.draws)]
            columns["draw"] += list(range(self.draws)) * len(self.detectors)
            columns["mean"] += plain(self.draw_means(m).ravel().tolist())
            columns["place"] += plain(self._places(m)[1].ravel().tolist())
        types = (pa.string(), pa.string(), pa.int64(), pa.float64(), pa.float64())
        return pa.table({name: pa.array(columns[name], kind) for name, kind in zip(columns, types, strict=True)})

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        return build_frame({name: [row[name] for row in self.rows] for name in self.rows[0]}, backend)

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


def doubt_rows(
    metric: str, detectors: Sequence[str], values: Sequence[float | None], place: Values, means: Values, places: Values
) -> list[dict[str, Any]]:
    """Put the rows of one metric together, as `LabelDoubt.rows` describes them.

    Parameters
    ----------
    metric : str
        Metric id.
    detectors : sequence of str
        Names.
    values, place : sequences
        Mean over series, and place, on the labels as they are.
    means, places : ndarray
        The same in each draw, detectors by draws.
    """
    found = []
    for d in np.argsort(np.where(np.isnan(place), np.inf, place), kind="stable").tolist():
        defined = means[d][~np.isnan(means[d])]
        own = places[d][~np.isnan(places[d])]
        low, high = np.quantile(defined, LIMITS).tolist() if defined.size else (None, None)
        found.append(
            {
                "metric": metric,
                "detector": detectors[d],
                "value": values[d],
                "draw_mean": mean(means[d]),
                "draw_std": float(defined.std(ddof=1)) if defined.size > 1 else None,
                "draw_low": low,
                "draw_high": high,
                "place": None if np.isnan(place[d]) else int(place[d]),
                "rank_kept": None if np.isnan(place[d]) else float((places[d] == place[d]).mean()),
                "best_place": int(own.min()) if own.size else None,
                "worst_place": int(own.max()) if own.size else None,
                "first": float((places[d] == 1).mean()),
            }
        )
    return found


def places_by_rank(table: Values, facts: MetricFacts) -> Values:
    """Return the places of detectors by mean rank, from series by detectors; ties share the better place."""
    found = rank_detectors(table, facts)
    places = np.full(table.shape[1], np.nan)
    # Mean ranks that mean the same number may differ in the last digits.
    means = np.round(found.means, 9)
    places[found.ranked] = [1 + np.count_nonzero(means < own) for own in means]
    if found.used == 0:
        places[:] = np.nan
    return places


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
