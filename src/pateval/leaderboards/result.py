"""The leaderboard: all values with their reasons, and what follows from them as tables."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.catalog import canonical_id
from pateval.io.atomic import as_csv, write_csv, write_parquet
from pateval.leaderboards import board_files, render, statistics
from pateval.leaderboards.significance import ALPHA, Significance, compare_detectors
from pateval.leaderboards.statistics import ChanceLevels, MetricFacts, MetricRanks, default_rank_by, mean, number
from pateval.output.results import Result, choose_backend
from pateval.output.text_table import TERMINAL_WIDTH, plain

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.evaluation.bootstrap import Interval
    from pateval.evaluation.measures import Measures
    from pateval.io.plan import Plan
    from pateval.leaderboards.collect import RunTable
    from pateval.leaderboards.diagnostics import BoardCheck
    from pateval.leaderboards.doubt import LabelDoubt
    from pateval.report import Written

    Values = npt.NDArray[np.float64]

ROWS_AT_ONCE = 100_000
POOLED = "pooled"
"""What stands in place of a series where all series are one sample."""
_RANKS = ("metric", "detector", "mean_rank", "series_used", "series_dropped")


@dataclass(frozen=True, repr=False)
class Leaderboard(Result):
    """Detectors x series x metrics, with reasons for what is undefined.

    Attributes
    ----------
    detectors, series, metrics : tuple of str
        The three axes, in the order of the input.
    values : ndarray
        Detectors by series by metrics; NaN where undefined, failed or absent. Of several runs the mean of those that
        have a value: a series counts once, however often a detector was run on it.
    runs : RunTable or None
        The values of every run, where there is a column of runs.
    doubt : LabelDoubt or None
        What moving the edges of events does to means and places, where labels are in doubt.
    rank_by : str
        The metric that orders the detectors: `pate_ap` where it is there, else the first one, unless another was named.
    signatures : mapping of str to str
        Of each metric, everything that decided its values on one series, in one line; `pateval.parse_signature` reads
        it.
    own_signatures : mapping of str to mapping
        The same for detectors with a threshold of their own, or with scores of 0 and 1, by their names.
    measures : Measures or None
        What was computed; None where the values were computed elsewhere.
    pooled : int
        How many series were taken for one sample; 0 where values are those of single series.
    coverage : ndarray or None
        Detectors, or their runs, by series: share of the steps that have a score, where some may be missing.
    coarse : tuple of str
        Detectors whose scores are coarse on most series: `pate` flatters them, `pate_ap` does not.
    notes : tuple of str
        What was guessed or put together in reading.
    warnings : tuple of str
        What stands against reading too much into the numbers.
    checks : tuple of BoardCheck
        The same with a code and a remedy each, as far as they are about the numbers.
    failures : tuple of str
        Files and series that could not be evaluated, one line each.
    run : dict
        What was run: versions, parameters, inputs, counts.
    digests : mapping
        For each detector, series and run (empty where there are none) a digest of what its values were computed from.
    plan : Plan or None
        Where those are, for a report that shows them.
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
    own_signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    measures: Measures | None = None
    pooled: int = 0
    intervals: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    runs: RunTable | None = None
    doubt: LabelDoubt | None = None
    coverage: Values | None = None
    coarse: tuple[str, ...] = ()
    timings: Any = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: tuple[BoardCheck, ...] = ()
    failures: tuple[str, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    plan: Plan | None = None

    def __post_init__(self) -> None:
        rank_by = self.rank_by or default_rank_by(self.metrics)
        object.__setattr__(self, "rank_by", self._id(rank_by))

    @cached_property
    def scores(self) -> Any:
        """One row per detector, series and metric (pyarrow Table): detector, series, metric, value, reason, signature.

        ``reason`` is null where there is a value. The order is that of the axes. Where there are runs, each has rows of
        its own, and ``run`` follows ``series``.
        """
        import pyarrow as pa

        return pa.concat_tables(self.score_parts()).combine_chunks()

    def score_parts(self) -> Iterator[Any]:
        """Yield the scores some detectors at a time, so that they can be written without being held twice."""
        import pyarrow as pa

        metrics = len(self.metrics)
        signatures = {
            name: [self.own_signatures.get(name, self.signatures).get(metric, "") for metric in self.metrics]
            for name in self.detectors
        }
        texts = list(dict.fromkeys(text for several in signatures.values() for text in several))
        places = {text: place for place, text in enumerate(texts)}
        numbers = np.array([[places[text] for text in several] for several in signatures.values()])
        table = self if self.runs is None else self.runs
        e, s = np.nonzero(table.present)
        step = max(1, ROWS_AT_ONCE // max(metrics, 1))
        for first in range(0, e.size, step):
            rows, columns = e[first : first + step], s[first : first + step]
            codes = table.reason_codes[rows, columns].ravel()
            names = np.tile(np.arange(metrics), rows.size)
            covered = {}
            if self.coverage is not None:
                covered["coverage"] = pa.array(np.repeat(self.coverage[rows, columns], metrics), pa.float64())
            detectors: npt.NDArray[Any] = rows
            run = {}
            if self.runs is not None:
                detectors = self.runs.entries.detector_code[rows]
                run["run"] = board_files.strings(np.repeat(rows, metrics), self.runs.entries.names)
            yield pa.table(
                {
                    "detector": board_files.strings(np.repeat(detectors, metrics), self.detectors),
                    "series": board_files.strings(np.repeat(columns, metrics), self.series),
                    **run,
                    "metric": board_files.strings(names, self.metrics),
                    "value": pa.array(table.values[rows, columns].ravel(), pa.float64()),
                    "reason": board_files.strings(codes, self.reason_texts, nulls=codes == 0),
                    "signature": board_files.strings(numbers[detectors].ravel(), texts),
                }
                | covered
            )

    def summary(self) -> Any:
        """One row per detector and metric (pyarrow Table).

        Columns: ``n`` series with a value and ``undefined`` ones; ``mean`` and ``median`` over series; ``low`` and
        ``high``, 95 % bootstrap limits of the mean over series, or over the events of the only series; ``chance``, the
        mean of what random scores reach on the same series, and ``skill``, the mean share of the way from chance to
        perfect; ``mean_rank`` over the series where all detectors have a value. Where there are runs also ``runs``, how
        many, and ``run_std``, the standard deviation over them of the mean over series; all else is of the means over
        runs. Where scores may be missing also ``coverage``, the mean share of steps for which the detector has one.
        Where labels are in doubt also ``doubt_std``, the standard deviation of the mean over labels with moved edges,
        and ``rank_kept``, the share of these in which the detector has the same place.
        """
        return _typed(self.summary_rows, tuple(self.summary_rows[0]))

    @cached_property
    def summary_rows(self) -> list[dict[str, Any]]:
        """The rows of `summary`."""
        limits = statistics.mean_limits(self.values)
        present = self.present.sum(axis=1)
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for m, metric in enumerate(self.metrics):
            values = self.values[:, :, m]
            chance = None if self.chance is None else self.chance.of_metric(m)
            above_chance = None if chance is None else statistics.skill(values, chance, best=self.facts[metric].best)
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
                    "mean_rank": None if self.pooled else ranks.mean_rank(d),
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
        self._require_series()
        rows: list[dict[str, Any]] = []
        for id_ in self.metrics if metric is None else [self._id(metric)]:
            found = self._ranks(id_)
            for d in found.best_first():
                row = (id_, self.detectors[d], found.mean_rank(d), found.used, found.dropped)
                rows.append(dict(zip(_RANKS, row, strict=True)))
        return _typed(rows, _RANKS)

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
        self._require_series()
        metric = self.rank_by if metric is None else self._id(metric)
        order = self._ranks(metric).best_first()
        names = [self.detectors[d] for d in order]
        return compare_detectors(
            metric,
            names,
            self._table(metric)[:, order],
            higher_is_better=self.facts[metric].higher_is_better,
            left_out=[name for d, name in enumerate(self.detectors) if d not in set(order)],
            alpha=alpha,
        )

    def agreement(self) -> Any:
        """Kendall's tau between the mean ranks under every two metrics (pyarrow Table, one row and column each).

        1: the metrics order the detectors alike; 0: unrelated; -1: reversed. Null where a metric does not order them.
        """
        import pyarrow as pa

        tau = statistics.kendall([self._ranks(metric).means for metric in self.metrics])
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
        return render.make_overview(self)

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
        if row["chance"] is None or row["mean"] is None or row["metric"] not in self.facts:
            return None
        gain: float = row["mean"] - row["chance"]
        return gain > 0 if self.facts[row["metric"]].higher_is_better else gain < 0

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the scores as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        chosen = choose_backend(backend)
        return self.scores if chosen == "pyarrow" else getattr(self, f"to_{chosen}")()

    def to_pandas(self) -> Any:
        """Return the scores as a pandas data frame."""
        return self.scores.to_pandas()

    def to_polars(self) -> Any:
        """Return the scores as a polars data frame."""
        import polars

        return polars.from_arrow(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return summary, tests of `rank_by`, warnings, failures and notes as plain lists and numbers."""
        found: dict[str, Any] = {
            "rank_by": self.rank_by,
            "signatures": dict(self.signatures),
            "summary": self.summary_rows,
            **({} if self.pooled else {"significance": self.significance().to_dict()}),
            **({} if self.doubt is None else {"doubt": self.doubt.to_dict()}),
        }
        found |= {name: getattr(self, name) for name in ("warnings", "failures", "notes")}
        return dict(plain(found))

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def rendered(self, style: str, width: int | None = TERMINAL_WIDTH) -> str:
        """Return the overview for people, summary or everything for programs, in a format of the command line."""
        if style == "json":
            return self.to_json()
        if style == "csv":
            return as_csv(self.summary()).removesuffix("\n")
        if style == "table":
            return render.text(self.overview(), width)
        return self.to_latex() if style == "latex" else render.as_markdown(self.overview())

    def to_latex(
        self,
        *,
        metrics: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        caption: str | None = None,
        label: str = "",
    ) -> str:
        r"""Return a table for a paper, for the package booktabs: detectors, best first, by metrics.

        The best of a column is bold, the second underlined; limits or standard deviations stand behind every mean, what
        random scores reach in the last row. A star marks what is not above chance, letters who is not told apart.

        Parameters
        ----------
        metrics : sequence of str, optional
            Which of the metrics computed; by default those of the overview.
        names : mapping of str to str, optional
            What to call detectors and metrics, as in ``{"lstm_v2": "LSTM", "pate_ap": "PATE-AP"}``.
        caption : str, optional
            Its first sentence, without a full stop. What marks mean, and the signatures, follow it.
        label : str
            For references, such as ``"tab:main"``.

        Examples
        --------
        >>> import pateval as pv
        >>> data = {"label": [0, 1, 0, 0], "a": [0.1, 0.9, 0.2, 0.1], "b": [0.5, 0.2, 0.1, 0.9]}
        >>> board = pv.leaderboard(data, metrics="auc_roc", chance=0, event_draws=0)
        >>> print(board.to_latex(names={"a": "LSTM"}).splitlines()[8])
        LSTM & \textbf{1.00} & \textbf{1.000}\textsuperscript{a} \\
        """
        chosen = None if metrics is None else [self._id(metric) for metric in metrics]
        return render.as_latex(self, chosen, names, caption, label)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as CSV."""
        write_csv(self.score_parts(), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as Parquet."""
        write_parquet(self.score_parts(), path)

    def to_report(self, path: str | os.PathLike[str], *, budget: float = 25.0, title: str = "Leaderboard") -> Written:
        """Write the report: an HTML page in which every number can be opened up to the events behind it.

        Parameters
        ----------
        path : path
            A file, or a folder where it ends in a slash or is one already. A folder gets a data file per series, so
            that a board of any size can be opened from a disk.
        budget : float
            Megabytes that a single file may have; timelines that do not fit are left out, the least telling first.
        title : str
            What to call it.

        Returns
        -------
        pateval.report.Written
            Where it is, how large, and what was left out.
        """
        from pateval.report import report_of_board

        return report_of_board(self, path, budget=budget, title=title)

    to_html = to_report

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Leaderboard:
        """Read what `save` wrote.

        Parameters
        ----------
        folder : path
            The folder of a leaderboard.

        Raises
        ------
        TableError
            If it holds no leaderboard, one of another release, or one that was not written whole; the sentence says
            what to do.
        """
        return board_files.load(folder)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write everything into a folder, each file whole or not at all.

        A folder that holds a leaderboard with other options, or with metrics or rows that this one lacks, is refused
        unless it is to be overwritten.

        ``scores.parquet``, ``scores.csv``, ``summary.csv``, ``ranks.csv``, ``significance.json``, ``agreement.csv``,
        ``timings.csv``, ``contents.csv`` (a digest of what each value was computed from) and ``run.json``. The scores
        hold no times, so equal results are equal bytes. Where chance was computed also ``chance.parquet``, with its
        level on each series. Where labels are in doubt also ``doubt.csv``, and ``doubt.parquet`` with the values of
        every draw. ``run.json`` is written last, with a digest of every file.
        """
        board_files.save(self, folder, overwrite=overwrite)

    def timing_table(self) -> Any:
        """Return how long each job took (pyarrow Table)."""
        return board_files.timing_table(self)

    def content_table(self) -> Any:
        """Return the digest of what each detector's values on each series were computed from (pyarrow Table)."""
        return board_files.content_table(self)

    def _repr_html_(self) -> str:
        return render.as_html(self.overview(), (*self.failures, *self.warnings))

    def __repr__(self) -> str:
        return render.text(self.overview())

    def _id(self, metric: str) -> str:
        """Return the id of a metric of this leaderboard, however it is spelled."""
        if metric in self.metrics:
            return metric
        with suppress(ValueError, TypeError):
            found = canonical_id(metric) if self.measures is None else self.measures.id_of(metric)
            if found in self.metrics:
                return found
        raise ValueError(f"metric {metric!r} is not in this leaderboard; it has {', '.join(self.metrics)}")

    def _require_series(self) -> None:
        if self.pooled:
            raise ValueError("a pooled board has one value for each detector, and so no ranks and no tests over series")

    def _table(self, metric: str) -> Values:
        return self.values[:, :, self.metrics.index(metric)].T

    def _ranks(self, metric: str) -> MetricRanks:
        if metric not in self._known_ranks:
            self._known_ranks[metric] = statistics.rank_detectors(self._table(metric), self.facts[metric])
        return self._known_ranks[metric]

    @cached_property
    def _known_ranks(self) -> dict[str, MetricRanks]:
        return {}


_TEXTS = ("detector", "metric")
_COUNTS = ("n", "undefined", "runs", "series_used", "series_dropped")


def _typed(rows: list[dict[str, Any]], columns: Sequence[str]) -> Any:
    """A table whose columns are texts, counts or numbers by their names, whatever the rows hold (pyarrow Table)."""
    import pyarrow as pa

    kinds = {name: pa.string() for name in _TEXTS} | {name: pa.int64() for name in _COUNTS}
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, kinds.get(name, pa.float64())) for name in columns]))
