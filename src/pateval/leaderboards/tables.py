"""What follows from the values of a leaderboard: scores, means, ranks and tests, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pateval.catalog import canonical_id, default_rank_by
from pateval.evaluation.bootstrap import FloatArray, Interval
from pateval.evaluation.measures import Measures
from pateval.evaluation.paired import ALPHA
from pateval.evaluation.values import is_above_chance
from pateval.io.content import arrow, has_arrow
from pateval.io.plan import Plan
from pateval.leaderboards import arrays
from pateval.leaderboards.arrays import ChanceLevels, MetricFacts, MetricRanks, RunTable, mean, number, table_of
from pateval.leaderboards.diagnostics import BoardCheck
from pateval.leaderboards.doubt import LabelDoubt
from pateval.leaderboards.significance import Significance, compare_detectors, kendall, known_detector
from pateval.output.results import Result, columns_of_records

if TYPE_CHECKING:
    from pateval.leaderboards.result import Leaderboard

ROWS_AT_ONCE = 100_000
_RANKS = ("metric", "detector", "mean_rank", "series_used", "series_dropped")


@dataclass(frozen=True, repr=False)
class BoardValues(Result):
    """All values of a board with their reasons, with ranks and tests; `Leaderboard` describes the fields."""

    detectors: tuple[str, ...]
    series: tuple[str, ...]
    metrics: tuple[str, ...]
    values: FloatArray
    present: npt.NDArray[np.bool_]
    reason_codes: npt.NDArray[np.integer[Any]]
    reason_texts: tuple[str, ...]
    facts: Mapping[str, MetricFacts]
    rank_by: str = ""
    signatures: Mapping[str, str] = field(default_factory=dict)
    chance: ChanceLevels | None = None
    own_signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    measures: Measures | None = None
    pooled: int = 0
    intervals: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    runs: RunTable | None = None
    doubt: LabelDoubt | None = None
    coverage: FloatArray | None = None
    coarse: tuple[str, ...] = ()
    jobs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    series_table: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: tuple[BoardCheck, ...] = ()
    failures: tuple[str, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    plan: Plan | None = None
    one_liners: Leaderboard | None = None
    control: str = ""

    @classmethod
    def of_cells(
        cls,
        cells: Any,
        facts: Mapping[str, MetricFacts],
        *,
        axes: Sequence[Sequence[str]] | None = None,
        where: object = "",
        **fields: Any,
    ) -> Self:
        """Make one of rows (pyarrow Table) with the columns of `scores`, and perhaps of chance, by `arrange`."""
        names, runs, reasons, coverage, chance = arrays.arrange(cells, axes, where)
        if chance is not None:
            fields["chance"] = arrays.levels_of(runs.entries.mean(chance))
        return cls.of_runs(names, runs, reasons, facts, coverage=coverage, **fields)

    @classmethod
    def of_runs(
        cls, axes: Any, runs: RunTable, reason_texts: tuple[str, ...], facts: Mapping[str, MetricFacts], **fields: Any
    ) -> Self:
        """Make one of the values of every run; the axes are detectors, series and metrics."""
        detectors, series, metrics = axes
        values, present, codes = runs.of_detectors()
        fields["runs"] = runs if runs.entries.has_runs else None
        return cls(detectors, series, metrics, values, present, codes, reason_texts, facts, **fields)

    def __post_init__(self) -> None:
        rank_by = self.rank_by or default_rank_by(self.metrics)
        object.__setattr__(self, "rank_by", self._id(rank_by))

    @cached_property
    def scores(self) -> Any:
        """One row per detector, series and metric (pyarrow Table): detector, series, metric, value, reason, signature.

        ``reason`` is null where there is a value. The order is that of the axes. Where there are runs, each has rows of
        its own, and ``run`` follows ``series``.
        """
        return self.score_table()

    def score_table(self, *, chance: bool = False) -> Any:
        """The same, with ``chance``, what random scores reach, beside each where that is known."""
        return arrow().concat_tables(self.score_parts(chance=chance)).combine_chunks()

    def score_parts(self, *, chance: bool = False) -> Iterator[Any]:
        """Yield the scores some detectors at a time, not to hold them twice; without pyarrow as columns by name."""
        metrics, cells = len(self.metrics), self if self.runs is None else self.runs
        detector_code = np.arange(len(self.detectors)) if self.runs is None else self.runs.entries.detector_code
        own = (self.own_signatures.get(name, self.signatures) for name in self.detectors)
        signatures = [of_metrics.get(metric, "") for of_metrics in own for metric in self.metrics]
        texts, numbers = np.unique(signatures, return_inverse=True)
        places = np.argwhere(cells.present)
        step = max(1, ROWS_AT_ONCE // max(metrics, 1))
        for first in range(0, len(places), step):
            e, s = np.repeat(places[first : first + step], metrics, axis=0).T
            m = np.arange(e.size) % metrics
            codes = cells.reason_codes[e, s, m]
            columns = {
                "detector": arrays.strings(detector_code[e], self.detectors),
                "series": arrays.strings(s, self.series),
                "run": None if self.runs is None else arrays.strings(e, self.runs.entries.names),
                "metric": arrays.strings(m, self.metrics),
                "value": cells.values[e, s, m],
                "reason": arrays.strings(codes, self.reason_texts, nulls=codes == 0),
                "signature": arrays.strings(numbers[detector_code[e] * metrics + m], texts.tolist()),
                "coverage": None if self.coverage is None else self.coverage[e, s],
                "chance": self.chance.at(detector_code[e], s, m) if chance and self.chance is not None else None,
            }
            known = {name: column for name, column in columns.items() if column is not None}
            yield arrow().table(known) if has_arrow() else known

    def summary(self, control: str | None = None) -> Any:
        """One row per detector and metric (pyarrow Table).

        Columns: ``n`` series with a value and ``undefined`` ones; ``mean`` and ``median`` over series; ``low`` and
        ``high``, 95 % bootstrap limits of the mean over series, or over the events of the only series; ``chance``, the
        mean of what random scores reach on the same series, and ``skill``, the mean share of the way from chance to
        perfect; ``mean_rank`` over the series where all detectors have a value. Where there are runs also ``runs``, how
        many, and ``run_std``, the standard deviation over them of the mean over series; all else is of the means over
        runs. Where scores may be missing also ``coverage``, the mean share of steps for which the detector has one.
        Where labels are in doubt also ``doubt_std``, the standard deviation of the mean over labels with moved edges,
        and ``rank_kept``, the share of these in which the detector has the same place.

        Parameters
        ----------
        control : str, optional
            Adds ``control_p``: the p-value against this detector, corrected for as many comparisons as there are others
            (see `significance`). By default as the board says.
        """
        return table_of(columns_of_records(self._summary(control)))

    def _summary(self, control: str | None = None) -> list[dict[str, Any]]:
        rows = self.summary_rows
        if self._control(control):
            p_values = {metric: self.significance(metric, control=control).against_control() for metric in self.metrics}
            rows = [row | {"control_p": p_values[row["metric"]].get(row["detector"])} for row in rows]
        return rows

    @cached_property
    def summary_rows(self) -> list[dict[str, Any]]:
        """The rows of `summary`."""
        limits = arrays.mean_limits(self.values)
        present = self.present.sum(axis=1)
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for m, metric in enumerate(self.metrics):
            values = self.values[:, :, m]
            chance = None if self.chance is None else self.chance.of_metric(m)
            above_chance = None if chance is None else arrays.skill(values, chance, best=self.facts[metric].best)
            ranks = self._ranks(metric)
            for d, detector in enumerate(self.detectors):
                defined = ~np.isnan(values[d])
                low, high = self.intervals.get((detector, metric), limits[d, m])
                rows[d, m] = {
                    "detector": detector,
                    "metric": metric,
                    "n": int(defined.sum()),
                    "undefined": int(present[d] - defined.sum()),
                    "mean": mean(values[d]),
                    "median": float(np.median(values[d, defined])) if defined.any() else None,
                    "low": number(low),
                    "high": number(high),
                    "chance": None if chance is None else mean(chance[d, defined]),
                    "skill": None if above_chance is None else mean(above_chance[d]),
                    "mean_rank": None if self.pooled else number(ranks.means[d]),
                }
                if self.runs is not None:
                    rows[d, m] |= {"runs": self.runs.number(d), "run_std": self.runs.spread(d, m)}
                if self.coverage is not None:
                    entries = d if self.runs is None else self.runs.entries.detector_code == d
                    rows[d, m]["coverage"] = mean(self.coverage[entries].ravel())
                if self.doubt is not None:
                    doubted = self.doubt.of(detector, metric) or {}
                    rows[d, m] |= {"doubt_std": doubted.get("draw_std"), "rank_kept": doubted.get("rank_kept")}
        return [rows[place] for place in sorted(rows)]

    def ranks(self, metric: str | None = None) -> Any:
        """Mean ranks (pyarrow Table), best first: metric, detector, mean_rank, series_used, series_dropped.

        Parameters
        ----------
        metric : str, optional
            One metric; all of them by default.
        """
        rows = self.rank_rows(metric)
        return table_of({name: [row[name] for row in rows] for name in _RANKS})

    def rank_rows(self, metric: str | None = None) -> list[dict[str, Any]]:
        """The rows of `ranks`."""
        self._require_series()
        rows: list[dict[str, Any]] = []
        for id_ in self.metrics if metric is None else [self._id(metric)]:
            ranks = self._ranks(id_)
            for d in ranks.best_first():
                row = (id_, self.detectors[d], number(ranks.means[d]), ranks.used, ranks.dropped)
                rows.append(dict(zip(_RANKS, row, strict=True)))
        return rows

    def significance(
        self, metric: str | None = None, *, alpha: float = ALPHA, control: str | None = None
    ) -> Significance:
        """Test whether detectors differ under a metric, and how much.

        Parameters
        ----------
        metric : str, optional
            Metric id; `rank_by` by default.
        alpha : float
            Significance level of the critical difference and of the groups.
        control : str, optional
            Compare the others with this detector alone: as many tests as there are others, so that Holm's correction
            costs less than for every two. By default as the board says; empty for every two.

        Returns
        -------
        Significance
        """
        self._require_series()
        metric = self.rank_by if metric is None else self._id(metric)
        order = self._ranks(metric).best_first()
        names = [self.detectors[d] for d in order]
        return compare_detectors(
            metric,
            names,
            self.by_series(metric)[:, order],
            higher_is_better=self.facts[metric].higher_is_better,
            left_out=[name for d, name in enumerate(self.detectors) if d not in set(order)],
            alpha=alpha,
            control=self._control(control),
        )

    def agreement(self) -> Any:
        """Kendall's tau between the mean ranks under every two metrics (pyarrow Table, one row and column each).

        1: the metrics order the detectors alike; 0: unrelated; -1: reversed. Null where a metric does not order them.
        """
        pa, rows = arrow(), self.agreement_rows
        columns = {metric: pa.array([row[metric] for row in rows.values()], pa.float64()) for metric in self.metrics}
        return pa.table({"metric": list(rows)} | columns)

    @cached_property
    def agreement_rows(self) -> dict[str, dict[str, float | None]]:
        """The rows of `agreement` by metric."""
        tau = kendall([self._ranks(metric).means for metric in self.metrics]).tolist()
        return {
            metric: dict(zip(self.metrics, map(number, row), strict=True))
            for metric, row in zip(self.metrics, tau, strict=True)
        }

    def by_series(self, metric: str) -> FloatArray:
        """Return the values under a metric, series by detectors."""
        return self.values[:, :, self.metrics.index(metric)].T

    def reasons(self) -> Counter[tuple[str, str]]:
        """Count the missing values by metric and reason."""
        missing: Counter[tuple[str, str]] = Counter()
        for m, metric in enumerate(self.metrics):
            codes, counts = np.unique(self.reason_codes[:, :, m][self.present], return_counts=True)
            missing.update({(metric, self.reason_texts[c]): int(n) for c, n in zip(codes, counts, strict=True) if c})
        return missing

    @cached_property
    def predicting(self) -> frozenset[str]:
        """Detectors whose scores are 0 and 1 only, and so are taken for predictions."""
        own = self.own_signatures.items()
        return frozenset(name for name, texts in own if any("|predictions:given|" in text for text in texts.values()))

    def best_first(self, metric: str) -> list[str]:
        """Detectors in the order of their mean ranks, or of their values where there are no ranks; the others last."""
        if self.pooled:
            values = self.values[:, 0, self.metrics.index(metric)]
            sign = -1 if self.facts[metric].higher_is_better else 1
            order = np.argsort(np.where(np.isnan(values), np.inf, sign * values), kind="stable").tolist()
        else:
            order = self._ranks(metric).best_first()
        first = dict.fromkeys(self.detectors[d] for d in order)
        return [*first, *(name for name in self.detectors if name not in first)]

    def label(self, metric: str) -> str:
        """Name of a metric for tables: "(oracle)" or "(best)" where labels chose its threshold, and a rate's unit."""
        if self.measures is None or metric not in self.measures.labels:
            return metric
        return f"{self.measures.labels[metric]}{self.measures.unit(metric, self.signatures.get(metric, ''))}"

    def is_above_chance(self, row: Mapping[str, Any]) -> bool | None:
        """Whether the mean in a row of the summary is better than what random scores reach; None where not known."""
        higher_is_better = self.facts[row["metric"]].higher_is_better
        return is_above_chance(row["mean"], row["chance"], higher_is_better=higher_is_better)

    def _id(self, metric: str) -> str:
        """Return the id of a metric of this leaderboard, however it is spelled."""
        if metric in self.metrics:
            return metric
        with suppress(ValueError, TypeError):
            known = canonical_id(metric) if self.measures is None else self.measures.id_of(metric)
            if known in self.metrics:
                return known
        raise ValueError(f"metric {metric!r} is not in this leaderboard; it has {', '.join(self.metrics)}")

    def _control(self, control: str | None) -> str:
        return known_detector(control, self.detectors) if control else self.control if control is None else ""

    def _require_series(self) -> None:
        if self.pooled:
            raise ValueError("a pooled board has one value for each detector, and so no ranks and no tests over series")

    def _ranks(self, metric: str) -> MetricRanks:
        if metric not in self._known_ranks:
            self._known_ranks[metric] = arrays.rank_detectors(self.by_series(metric), self.facts[metric])
        return self._known_ranks[metric]

    @cached_property
    def _known_ranks(self) -> dict[str, MetricRanks]:
        return {}
