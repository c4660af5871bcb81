"""The leaderboard: all values with their reasons, and what follows from them as tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.catalog import canonical_id
from pateval.evaluation import ORACLE
from pateval.io.atomic import write_text
from pateval.io.frame_builder import choose_backend
from pateval.io.table_files import write_csv, write_parquet
from pateval.io.text_table import plain
from pateval.leaderboards import render, statistics
from pateval.leaderboards.significance import ALPHA, Significance, compare_detectors
from pateval.leaderboards.summary import MetricFacts, MetricRanks, mean, mean_limits, number, rank_detectors, skill

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.leaderboards.bootstrap import Interval

    Values = npt.NDArray[np.float64]

ROWS_AT_ONCE = 100_000
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


@dataclass(frozen=True)
class Timings:
    """How long each job took, in the order of the plan.

    Attributes
    ----------
    detector_code, series_code : ndarray of int32
        Numbers of its detector and its series.
    steps : ndarray of int64
        Length of the series.
    seconds : ndarray of float64
        Time its metrics took, now or when they were first computed.
    cached : ndarray of bool
        Whether all came from the cache.
    """

    detector_code: npt.NDArray[np.int32]
    series_code: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    cached: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ChanceLevels:
    """What random scores reach, once for each distinct labels.

    Attributes
    ----------
    levels : ndarray
        Distinct labels by metrics.
    rows : ndarray of int32
        Detectors by series: the row of ``levels`` that belongs to their labels, -1 where there is none.
    """

    levels: Values
    rows: npt.NDArray[np.int32]

    def of_metric(self, metric: int) -> Values:
        """Return the levels of one metric, detectors by series."""
        return np.asarray(np.where(self.rows >= 0, self.levels[self.rows, metric], np.nan))


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """Detectors x series x metrics, with reasons for what is undefined.

    Attributes
    ----------
    detectors, series, metrics : tuple of str
        The three axes, in the order of the input.
    values : ndarray
        Detectors by series by metrics; NaN where undefined, failed or absent.
    rank_by : str
        The metric that orders the detectors: `pate_ap` where it is there, else the first one, unless another was named.
    signatures : mapping of str to str
        Of each metric, everything that decided its values, in one line; `pateval.parse_signature` reads it.
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
    reason_codes: npt.NDArray[np.integer[Any]]
    reason_texts: tuple[str, ...]
    facts: Mapping[str, MetricFacts]
    rank_by: str = ""
    signatures: Mapping[str, str] = field(default_factory=dict)
    chance: ChanceLevels | None = None
    pooled: Mapping[tuple[str, str], float] = field(default_factory=dict)
    intervals: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    coarse: tuple[str, ...] = ()
    timings: Timings | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rank_by = self.rank_by or default_rank_by(self.metrics)
        object.__setattr__(self, "rank_by", self._id(rank_by))

    @cached_property
    def scores(self) -> Any:
        """One row per detector, series and metric (pyarrow Table): detector, series, metric, value, reason, signature.

        ``reason`` is null where there is a value. The order is that of the axes.
        """
        import pyarrow as pa

        return pa.concat_tables(self.score_parts()).combine_chunks()

    def score_parts(self) -> Iterator[Any]:
        """Yield the scores some detectors at a time, so that they can be written without being held twice."""
        import pyarrow as pa

        metrics = len(self.metrics)
        signatures = [self.signatures.get(metric, "") for metric in self.metrics]
        d, s = np.nonzero(self.present)
        step = max(1, ROWS_AT_ONCE // max(metrics, 1))
        for first in range(0, d.size, step):
            rows, columns = d[first : first + step], s[first : first + step]
            codes = self.reason_codes[rows, columns].ravel()
            names = np.tile(np.arange(metrics), rows.size)
            yield pa.table(
                {
                    "detector": _strings(np.repeat(rows, metrics), self.detectors),
                    "series": _strings(np.repeat(columns, metrics), self.series),
                    "metric": _strings(names, self.metrics),
                    "value": pa.array(self.values[rows, columns].ravel(), pa.float64()),
                    "reason": _strings(codes, self.reason_texts, nulls=codes == 0),
                    "signature": _strings(names, signatures),
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
        limits = mean_limits(self.values)
        present = self.present.sum(axis=1)
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for m, metric in enumerate(self.metrics):
            values = self.values[:, :, m]
            chance = None if self.chance is None else self.chance.of_metric(m)
            skills = skill(values, chance, self.facts[metric])
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
                    "pooled": number(self.pooled.get((detector, metric), math.nan)),
                    "chance": None if chance is None else mean(chance[d, defined]),
                    "skill": None if skills is None else mean(skills[d]),
                    "mean_rank": ranks.mean_rank(d),
                }
        return [rows[place] for place in sorted(rows)]

    def ranks(self, metric: str | None = None) -> Any:
        """Mean ranks (pyarrow Table), best first: metric, detector, mean_rank, series_used, series_dropped.

        Parameters
        ----------
        metric : str, optional
            One metric; all of them by default.
        """
        import pyarrow as pa

        rows = []
        for each in self.metrics if metric is None else [self._id(metric)]:
            found = self._ranks(each)
            rows += [
                {
                    "metric": each,
                    "detector": self.detectors[d],
                    "mean_rank": found.mean_rank(d),
                    "series_used": found.used,
                    "series_dropped": found.dropped,
                }
                for d in found.best_first()
            ]
        return pa.Table.from_pylist(rows, schema=_schema(_RANKS))

    def significance(self, metric: str | None = None, *, alpha: float = ALPHA) -> Significance:
        """Test whether detectors differ under a metric, and how much.

        Parameters
        ----------
        metric : str, optional
            Metric id; `rank_by` by default.
        alpha : float
            Significance level of the critical difference and of the groups.

        Returns
        -------
        Significance
        """
        metric = self.rank_by if metric is None else self._id(metric)
        order = self._ranks(metric).best_first()
        names = [self.detectors[d] for d in order]
        return compare_detectors(
            metric,
            names,
            self._table(metric)[:, order],
            higher_is_better=self.facts[metric].higher_is_better,
            left_out=[name for name in self.detectors if name not in names],
            alpha=alpha,
        )

    def agreement(self) -> Any:
        """Kendall's tau between the mean ranks under every two metrics (pyarrow Table, one row and column each).

        1: the metrics order the detectors alike; 0: unrelated; -1: reversed. Null where a metric does not order them.
        """
        import pyarrow as pa

        rankings = np.full((len(self.metrics), len(self.detectors)), np.nan)
        for m, metric in enumerate(self.metrics):
            found = self._ranks(metric)
            rankings[m, found.ranked] = found.means
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

    def overview(self) -> render.Overview:
        """Return the table for people: one row per detector, the best under `rank_by` first, and remarks on it."""
        oracle = dict(self.run.get("parameters", {})).get("threshold") == ORACLE
        return render.make_overview(
            self.significance(),
            self._summary_rows,
            metrics=self.metrics,
            uses_oracle={metric for metric in self.metrics if oracle and self.facts[metric].needs_threshold},
            coarse=self.coarse,
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the scores as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        chosen = choose_backend(backend)
        if chosen == "pyarrow":
            return self.scores
        return self.to_pandas() if chosen == "pandas" else self.to_polars()

    def to_pandas(self) -> Any:
        """Return the scores as a pandas data frame."""
        return self.scores.to_pandas()

    def to_polars(self) -> Any:
        """Return the scores as a polars data frame."""
        import polars

        return polars.from_arrow(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return summary, tests of `rank_by`, warnings, failures and notes as plain lists and numbers."""
        return {
            "rank_by": self.rank_by,
            "signatures": dict(self.signatures),
            "summary": self.summary().to_pylist(),
            "significance": self.significance().to_dict(),
            "warnings": list(self.warnings),
            "failures": list(self.failures),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as CSV."""
        write_csv(self.score_parts(), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as Parquet."""
        write_parquet(self.score_parts(), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the tables as one HTML page without outside references, and write it where a path is given."""
        size = f"{len(self.detectors)} detectors, {len(self.series)} series, {len(self.metrics)} metrics"
        page = render.page(self._repr_html_(), size, self._summary_rows)
        if path is not None:
            write_text(page, path)
        return page

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into a folder, each file whole or not at all.

        ``scores.parquet``, ``scores.csv``, ``summary.csv``, ``ranks.csv``, ``significance.json``, ``agreement.csv``,
        ``timings.csv`` and ``run.json``. The scores hold no times, so equal results are equal bytes.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        self.to_parquet(target / "scores.parquet")
        self.to_csv(target / "scores.csv")
        write_csv([self.summary()], target / "summary.csv")
        write_csv([self.ranks()], target / "ranks.csv")
        write_csv([self.agreement()], target / "agreement.csv")
        write_csv([self.timing_table()], target / "timings.csv")
        tests = (f"{json.dumps(metric)}: {self.significance(metric).to_json()}" for metric in self.metrics)
        write_text("{" + ", ".join(tests) + "}", target / "significance.json")
        described = dict(self.run) | {
            "rank_by": self.rank_by,
            "signatures": dict(self.signatures),
            "detectors": list(self.detectors),
            "series": list(self.series),
            "metrics": list(self.metrics),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "failures": list(self.failures),
        }
        write_text(json.dumps(plain(described), indent=1, default=str), target / "run.json")

    def timing_table(self) -> Any:
        """Return how long each job took (pyarrow Table)."""
        import pyarrow as pa

        none = np.empty(0, dtype=np.int32)
        found = self.timings or Timings(none, none, none.astype(np.int64), none.astype(float), none.astype(bool))
        return pa.table(
            {
                "detector": _strings(found.detector_code, self.detectors),
                "series": _strings(found.series_code, self.series),
                "steps": found.steps,
                "seconds": found.seconds.round(6),
                "cached": found.cached,
            }
        )

    def _repr_html_(self) -> str:
        return render.fragment(self.overview(), (*self.failures, *self.warnings))

    def __repr__(self) -> str:
        return render.text(self.overview())

    def _id(self, metric: str) -> str:
        """Return the id of a metric of this leaderboard, however it is spelled."""
        if metric in self.metrics:
            return metric
        with suppress(ValueError, TypeError):
            found = canonical_id(metric, global_values=dict(self.run.get("parameters", {})))
            if found in self.metrics:
                return found
        raise ValueError(f"metric {metric!r} is not in this leaderboard; it has {', '.join(self.metrics)}")

    def _table(self, metric: str) -> Values:
        return self.values[:, :, self.metrics.index(metric)].T

    def _ranks(self, metric: str) -> MetricRanks:
        if metric not in self._known_ranks:
            self._known_ranks[metric] = rank_detectors(self._table(metric), self.facts[metric])
        return self._known_ranks[metric]

    @cached_property
    def _known_ranks(self) -> dict[str, MetricRanks]:
        return {}


def default_rank_by(metrics: Sequence[str]) -> str:
    """Return the metric to rank by where none is named: one that coarse scores do not fool.

    Examples
    --------
    >>> default_rank_by(["pate", "pate_ap"]), default_rank_by(["auc_roc", "pate"])
    ('pate_ap', 'auc_roc')
    """
    return next((metric for metric in metrics if metric.partition("(")[0] == "pate_ap"), metrics[0])


def _schema(columns: Mapping[str, str]) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


def _strings(codes: npt.NDArray[Any], names: Sequence[str], nulls: npt.NDArray[np.bool_] | None = None) -> Any:
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=nulls)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())
