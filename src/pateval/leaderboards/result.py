"""The leaderboard: all values with their reasons, and what follows from them as tables."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.leaderboards import statistics
from pateval.leaderboards.bootstrap import mean_intervals
from pateval.leaderboards.pairs import pairwise

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.leaderboards.bootstrap import Interval

    Values = npt.NDArray[np.float64]

ALPHA = 0.05
ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class MetricFacts:
    """Which way a metric points, what a perfect detector gets (None where nothing is best), and what it takes."""

    higher_is_better: bool = True
    best: float | None = 1.0
    needs_threshold: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one job took."""

    detector: str
    series: str
    steps: int
    seconds: float
    cached: bool


@dataclass(frozen=True)
class Significance:
    """Whether there is evidence of a difference under one metric.

    Attributes
    ----------
    metric : str
        Metric id.
    detectors : tuple of str
        Those compared, best mean rank first; rows and columns of the matrices are in this order.
    left_out : tuple of str
        Detectors without any value of this metric.
    series_used, series_dropped : int
        Series where all compared detectors have a value, and the others.
    mean_ranks : list of float
        1 is best; ties share the mean of their places.
    friedman : dict
        ``chi_square``, ``p_value``, and Iman and Davenport's ``f_statistic``, ``f_p_value``.
    nemenyi_difference : float
        Critical difference of mean ranks at ``alpha``.
    nemenyi_p, wilcoxon_p, wilcoxon_holm_p : list of lists
        p-values of all pairs.
    rank_biserial, cliffs_delta : list of lists
        Effect sizes, positive where the row is better.
    wins, ties, losses : list of lists
        Series on which the row beats, equals and is beaten by the column.
    nemenyi_groups, wilcoxon_groups : list of lists of str
        Largest sets of detectors that do not differ significantly.
    alpha : float
        Significance level.
    """

    metric: str
    detectors: tuple[str, ...]
    left_out: tuple[str, ...]
    series_used: int
    series_dropped: int
    mean_ranks: list[float]
    friedman: dict[str, float]
    nemenyi_difference: float
    nemenyi_p: list[list[float]]
    wilcoxon_p: list[list[float]]
    wilcoxon_holm_p: list[list[float]]
    rank_biserial: list[list[float]]
    cliffs_delta: list[list[float]]
    wins: list[list[int]]
    ties: list[list[int]]
    losses: list[list[int]]
    nemenyi_groups: list[list[str]]
    wilcoxon_groups: list[list[str]]
    alpha: float = ALPHA

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, None where a number is undefined, ready for JSON."""
        plain: dict[str, Any] = without_nan(vars(self))
        return plain


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """Detectors x series x metrics, with reasons for what is undefined.

    Attributes
    ----------
    detectors, series, metrics : tuple of str
        The three axes, in the order of the input.
    values : ndarray
        Detectors by series by metrics; NaN where undefined, failed or absent.
    coarse : tuple of str
        Detectors whose scores are coarse on most series: `pate` flatters them, `pate_ap` does not.
    notes : tuple of str
        What was guessed or put together in reading.
    warnings : tuple of str
        What stands against reading too much into the numbers.
    failures : tuple of str
        Files and series that could not be evaluated, one line each.
    run : dict
        What was run: versions, parameters, inputs, counts.
    """

    detectors: tuple[str, ...]
    series: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Values
    present: npt.NDArray[np.bool_]
    reason_codes: npt.NDArray[np.int32]
    reason_texts: tuple[str, ...]
    facts: Mapping[str, MetricFacts]
    chance: Values | None = None
    pooled: Mapping[tuple[str, str], float] = field(default_factory=dict)
    intervals: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    coarse: tuple[str, ...] = ()
    timings: Sequence[Timing] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def scores(self) -> Any:
        """One row per detector, series and metric (pyarrow Table): detector, series, metric, value, reason.

        ``reason`` is null where there is a value. The order is that of the axes.
        """
        import pyarrow as pa

        return pa.concat_tables(self.score_parts()).combine_chunks()

    def score_parts(self) -> Iterator[Any]:
        """Yield the scores some detectors at a time, so that they can be written without being held twice."""
        import pyarrow as pa

        per_detector = max(1, len(self.series) * len(self.metrics))
        step = max(1, ROWS_AT_ONCE // per_detector)
        for first in range(0, len(self.detectors), step):
            rows = slice(first, first + step)
            where = np.nonzero(np.repeat(self.present[rows, :, None], len(self.metrics), axis=2))
            codes = self.reason_codes[rows][where]
            yield pa.table(
                {
                    "detector": _strings(where[0] + first, self.detectors),
                    "series": _strings(where[1], self.series),
                    "metric": _strings(where[2], self.metrics),
                    "value": pa.array(self.values[rows][where], pa.float64()),
                    "reason": _strings(codes, self.reason_texts, nulls=codes == 0),
                }
            )

    def summary(self) -> Any:
        """One row per detector and metric (pyarrow Table).

        Columns: ``n`` series with a value and ``undefined`` ones; ``mean`` and ``median`` over series (macro); ``low``
        and ``high``, 95 % bootstrap limits of the mean over series, or over the events of the only series; ``pooled``,
        the value over all series together (micro), where the metric can be pooled; ``chance``, the mean of what random
        scores reach on the same series, and ``skill``, the mean share of the way from chance to perfect; ``mean_rank``
        over the series where all detectors have a value.
        """
        import pyarrow as pa

        return pa.Table.from_pylist(self._summary_rows, schema=_schema(_SUMMARY))

    @cached_property
    def _summary_rows(self) -> list[dict[str, Any]]:
        limits = self._mean_limits()
        skills = self._skills()
        ranks = {metric: self._ranks(metric) for metric in self.metrics}
        rows = []
        for d, detector in enumerate(self.detectors):
            for m, metric in enumerate(self.metrics):
                column = self.values[d, :, m]
                defined = ~np.isnan(column)
                low, high = self.intervals.get((detector, metric), limits[d, m])
                kept, place = ranks[metric]
                rows.append(
                    {
                        "detector": detector,
                        "metric": metric,
                        "n": int(defined.sum()),
                        "undefined": int(self.present[d].sum() - defined.sum()),
                        "mean": _mean(column),
                        "median": float(np.median(column[defined])) if defined.any() else None,
                        "low": _number(low),
                        "high": _number(high),
                        "pooled": _number(self.pooled.get((detector, metric), math.nan)),
                        "chance": None if self.chance is None else _mean(self.chance[d, :, m][defined]),
                        "skill": None if skills is None else _mean(skills[d, :, m]),
                        "mean_rank": _number(float(place.mean[kept.index(d)])) if d in kept else None,
                    }
                )
        return rows

    def ranks(self, metric: str | None = None) -> Any:
        """Mean ranks (pyarrow Table), best first: metric, detector, mean_rank, series_used, series_dropped.

        Parameters
        ----------
        metric : str, optional
            One metric; all of them by default.
        """
        import pyarrow as pa

        rows = []
        for each in self.metrics if metric is None else [metric]:
            kept, ranks = self._ranks(each)
            rows += [
                {
                    "metric": each,
                    "detector": self.detectors[kept[index]],
                    "mean_rank": _number(float(ranks.mean[index])),
                    "series_used": ranks.used,
                    "series_dropped": ranks.dropped,
                }
                for index in _best_first(ranks, kept)
            ]
        return pa.Table.from_pylist(rows, schema=_schema(_RANKS))

    def significance(self, metric: str, *, alpha: float = ALPHA) -> Significance:
        """Test whether detectors differ under a metric, and how much.

        Parameters
        ----------
        metric : str
            Metric id.
        alpha : float
            Significance level of the critical difference and of the groups.

        Returns
        -------
        Significance
        """
        kept, ranks = self._ranks(metric)
        kept = [kept[index] for index in _best_first(ranks, kept)]
        table = self._table(metric)[:, kept]
        facts = self.facts[metric]
        ranks = statistics.rank_table(table, higher_is_better=facts.higher_is_better)
        pairs = pairwise(table, higher_is_better=facts.higher_is_better)
        nemenyi = statistics.nemenyi(ranks)
        names = [self.detectors[d] for d in kept]

        def groups(p_values: Values) -> list[list[str]]:
            found = statistics.groups_alike(p_values, ranks.mean, alpha=alpha) if names else []
            return [[names[i] for i in group] for group in found]

        return Significance(
            metric,
            tuple(names),
            tuple(name for name in self.detectors if name not in names),
            ranks.used,
            ranks.dropped,
            ranks.mean.tolist(),
            asdict(statistics.friedman(ranks)),
            statistics.nemenyi_difference(len(names), ranks.used, alpha=alpha),
            nemenyi.tolist(),
            pairs.p_raw.tolist(),
            pairs.p_holm.tolist(),
            pairs.rank_biserial.tolist(),
            pairs.cliffs_delta.tolist(),
            pairs.wins.tolist(),
            pairs.ties.tolist(),
            pairs.wins.T.tolist(),
            groups(nemenyi),
            groups(pairs.p_holm),
            alpha,
        )

    def agreement(self) -> Any:
        """Kendall's tau between the mean ranks under every two metrics (pyarrow Table, one row and column each).

        1: the metrics order the detectors alike; 0: unrelated; -1: reversed. Null where a metric does not order them.
        """
        import pyarrow as pa

        rankings = np.full((len(self.metrics), len(self.detectors)), np.nan)
        for m, metric in enumerate(self.metrics):
            kept, ranks = self._ranks(metric)
            rankings[m, kept] = ranks.mean
        tau = statistics.kendall(rankings)
        columns = {metric: pa.array(tau[:, m], from_pandas=True) for m, metric in enumerate(self.metrics)}
        return pa.table({"metric": list(self.metrics)} | columns)

    def reasons(self) -> Counter[tuple[str, str]]:
        """Count the missing values by metric and reason."""
        found: Counter[tuple[str, str]] = Counter()
        for m, metric in enumerate(self.metrics):
            codes, counts = np.unique(self.reason_codes[:, :, m][self.present], return_counts=True)
            found.update({(metric, self.reason_texts[c]): int(n) for c, n in zip(codes, counts, strict=True) if c})
        return found

    def to_pandas(self) -> Any:
        """Return the scores as a pandas data frame."""
        return self.scores.to_pandas()

    def to_polars(self) -> Any:
        """Return the scores as a polars data frame."""
        import polars

        return polars.from_arrow(self.scores)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as CSV."""
        from pateval.leaderboards import render

        render.write_csv(self.score_parts(), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as Parquet."""
        from pateval.leaderboards import render

        render.write_parquet(self.score_parts(), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the tables as one HTML page without outside references, and write it where a path is given."""
        from pateval.leaderboards import render

        page = render.page(self)
        if path is not None:
            render.write_text(page, path)
        return page

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into a folder.

        ``scores.parquet``, ``scores.csv``, ``summary.csv``, ``ranks.csv``, ``significance.json``, ``agreement.csv``,
        ``timings.csv`` and ``run.json``. The scores hold no times, so equal results are equal bytes.
        """
        from pateval.leaderboards import render

        render.save(self, folder)

    def _repr_html_(self) -> str:
        from pateval.leaderboards import render

        return render.fragment(self)

    def __repr__(self) -> str:
        from pateval.leaderboards import render

        return render.text(self)

    def _table(self, metric: str) -> Values:
        if metric not in self.metrics:
            raise ValueError(f"metric {metric!r} is not in this leaderboard; it has {', '.join(self.metrics)}")
        return self.values[:, :, self.metrics.index(metric)].T

    def _ranks(self, metric: str) -> tuple[list[int], statistics.Ranks]:
        """Rank the detectors that have any value; one that has none would leave no series to compare on."""
        table = self._table(metric)
        kept = np.flatnonzero(~np.isnan(table).all(axis=0)).tolist()
        ranks = statistics.rank_table(table[:, kept], higher_is_better=self.facts[metric].higher_is_better)
        return kept, ranks

    def _mean_limits(self) -> Values:
        """Bootstrap limits of all means; columns defined on the same series share their resamples."""
        limits = np.full((len(self.detectors), len(self.metrics), 2), np.nan)
        columns = self.values.transpose(1, 0, 2).reshape(len(self.series), -1)
        flat = limits.reshape(-1, 2)
        defined = ~np.isnan(columns)
        alike: dict[bytes, list[int]] = {}
        for index in range(columns.shape[1]):
            alike.setdefault(defined[:, index].tobytes(), []).append(index)
        for indices in alike.values():
            flat[indices] = mean_intervals(columns[defined[:, indices[0]]][:, indices])
        return limits

    def _skills(self) -> Values | None:
        if self.chance is None:
            return None
        skills = np.full(self.values.shape, np.nan)
        for m, metric in enumerate(self.metrics):
            best = self.facts[metric].best
            if best is not None:
                skills[:, :, m] = statistics.skill(self.values[:, :, m], self.chance[:, :, m], best=best)
        return skills


_SUMMARY = {
    "detector": "string",
    "metric": "string",
    "n": "int64",
    "undefined": "int64",
    "mean": "float64",
    "median": "float64",
    "low": "float64",
    "high": "float64",
    "pooled": "float64",
    "chance": "float64",
    "skill": "float64",
    "mean_rank": "float64",
}
_RANKS = {
    "metric": "string",
    "detector": "string",
    "mean_rank": "float64",
    "series_used": "int64",
    "series_dropped": "int64",
}


def _schema(columns: Mapping[str, str]) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


def _strings(codes: npt.NDArray[Any], names: Sequence[str], nulls: npt.NDArray[np.bool_] | None = None) -> Any:
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=nulls)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())


def _best_first(ranks: statistics.Ranks, kept: Sequence[int]) -> list[int]:
    return sorted(range(len(kept)), key=lambda index: (float(ranks.mean[index]), kept[index]))


def _mean(values: Values) -> float | None:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def without_nan(value: Any) -> Any:
    """Replace NaN and infinite numbers by None and ``"inf"``, which JSON can hold."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
