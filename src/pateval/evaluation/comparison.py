"""Two detectors side by side: which is better under each metric, by how much, and whether that is more than luck."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog import MetricLike, find_metrics
from pateval.catalog.metric import Metric
from pateval.evaluation import evaluate
from pateval.evaluation.bootstrap import mean_intervals
from pateval.evaluation.compared_detectors import ComparedDetector, ComparedSteps, read_compared_steps
from pateval.evaluation.threshold_rules import ORACLE, ThresholdRule, threshold_rule
from pateval.labels.events import find_events
from pateval.output.frame_builder import frame_of_rows
from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, aligned, cut_in_the_middle, fitted, folded, plain
from pateval.time.clocks import Duration
from pateval.validation.arrays import Buffers, non_negative_integer
from pateval.validation.wording import in_words

DEFAULT_METRICS = (
    "pate_ap",
    "pate",
    "vus_pr",
    "average_precision",
    "auc_roc",
    "pate_f1",
    "point_f1",
    "affiliation_f1",
)
LEVEL = 0.95
_LONGEST_NAME, _LONGEST_HEADER = 60, 24  # characters of a detector's name; detectors often differ at the end of it
_MIN_UNITS_FOR_LIMITS = 5  # pieces or series; fewer say too little about others like them for an interval
_DRAWS_OF_PIECES = 200  # each computes all metrics anew
_DRAWS_OF_SERIES = 2000
_TIE = 1e-12
TIE = "tie"


@dataclass(frozen=True)
class MetricDifference:
    """Two detectors under one metric.

    Attributes
    ----------
    metric : str
        Its id.
    label : str
        The id for a table, with "(oracle)" where the threshold has used the labels.
    first, second : float
        Values of the two detectors; NaN where the metric is undefined.
    difference : float
        The first less the second.
    low, high : float
        Limits of the difference; NaN where there are too few pieces or series.
    wins, ties, losses : int
        On how many of the pieces or series the first detector is better, equal, worse.
    better : str
        Name of the detector that is better beyond the limits, "tie" where the limits hold zero, empty without limits.
    reason : str
        Why the metric is undefined; empty where it is not.
    """

    metric: str
    label: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    better: str
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """What `compare` found; prints as a table.

    Attributes
    ----------
    names : tuple of str
        The two detectors.
    rows : tuple of MetricDifference
        One per metric.
    unit : {"piece", "series"}
        What was resampled: pieces of one series around its events, or whole series.
    units : int
        How many of them there are.
    draws, seed : int
        How often they were drawn, and from which seed; no draws where there are fewer than five.
    notes : tuple of str
        What a reader should know.
    """

    names: tuple[str, str]
    rows: tuple[MetricDifference, ...]
    unit: str
    units: int
    draws: int
    seed: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> MetricDifference:
        """Row of one metric."""
        for row in self.rows:
            if row.metric == metric:
                return row
        raise KeyError(metric)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows for people; a star marks the value that is better beyond the limits."""
        first, second = self.names
        limits = any(not math.isnan(row.low) for row in self.rows)
        columns = ["metric", first, second, "difference", *(["95 %"] if limits else []), "w/t/l"]
        return columns, [
            [
                row.label,
                _starred(row.first, row.better == first),
                _starred(row.second, row.better == second),
                "-" if math.isnan(row.difference) else f"{row.difference:+.4f}",
                *(["" if math.isnan(row.low) else f"[{row.low:.3f}, {row.high:.3f}]"] if limits else []),
                f"{row.wins}/{row.ties}/{row.losses}",
            ]
            for row in self.rows
        ]

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """The table and what it means, in lines of at most ``width`` characters; None is any width."""
        columns, rows = self.table()
        sides = [False] + [True] * (len(columns) - 1)
        if width is not None:
            columns[1:3] = [cut_in_the_middle(name, _LONGEST_HEADER) for name in self.names]
        table = aligned(columns, rows, sides) if width is None else fitted(columns, rows, sides, width)
        return "\n".join([table, "", *(folded(line, width) for line in self.remarks())])

    def records(self) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for programs: one metric each, at full precision, detectors named in every row."""
        columns = ["metric", "a", "b", "value_a", "value_b", "difference", "low", "high"]
        columns += ["wins", "ties", "losses", "better", "reason"]
        return columns, [
            [
                row.metric,
                *self.names,
                *(row.first, row.second, row.difference, row.low, row.high),
                *(row.wins, row.ties, row.losses, row.better or None, row.reason or None),
            ]
            for row in self.rows
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per metric.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        return frame_of_rows(*self.records(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        columns, rows = self.records()
        found: dict[str, Any] = plain(
            {
                "a": self.names[0],
                "b": self.names[1],
                "unit": self.unit,
                "units": self.units,
                "level": LEVEL,
                "draws": self.draws,
                "seed": self.seed,
                "metrics": [dict(zip(columns, row, strict=True)) for row in rows],
                "notes": self.notes,
            }
        )
        return found

    def remarks(self) -> list[str]:
        """What the table means, in sentences."""
        first, second = self.names
        units = f"the {self.units} pieces around events" if self.unit == "piece" else f"the {self.units} series"
        lines = [f"difference: {first} less {second}; w/t/l: wins, ties and losses of {first}, over {units}"]
        if self.draws:
            star = "*: the better one, where these limits leave out 0"
            lines.append(f"95 %: bootstrap over {units}, both detectors on the same draws; {star}")
        return [*lines, *self.notes, *(f"{row.metric}: {row.reason}" for row in self.rows if row.reason)]

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        columns, rows = self.table()
        sides = [False] + [True] * (len(columns) - 1)
        headline = f"{self.names[0]} against {self.names[1]}"
        return fragment(headline, tables=[FragmentTable(columns, rows, sides)], lines=self.remarks())

    def __repr__(self) -> str:
        return self.text()


def compare(
    labels: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: float | str | ThresholdRule | tuple[Any, Any] = ORACLE,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    names: tuple[str, str] = ("a", "b"),
    draws: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two detectors on the same labels.

    One series is cut midway between its events, and the pieces are drawn with replacement and put end to end again in
    the order of time, for both detectors alike; the limits are percentiles of the differences (Künsch 1989). With
    several series each has its value, the difference is the mean over those where both detectors have one, and series
    are drawn (BCa limits, Efron 1987). There are no limits with fewer than five pieces or series.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    a, b : array-like of float
        Scores of the two detectors, higher is more anomalous.
    metrics : str, Metric, function, or iterable of these, optional
        As in `evaluate`; by default the best known eight.
    early, delay, window
        As in `evaluate`.
    threshold : float or str, or a pair of these
        How scores become predictions, as in `evaluate`; a pair has one for each detector. It is chosen once, on all
        steps, and kept in the draws.
    series : array-like, optional
        Which series each step belongs to.
    times, time_unit, max_gap, ignore
        The clock, and steps to leave out, as in `evaluate`. In the draws each step comes as long after the one before
        it as it did.
    missing : {"error", "ignore", "normal"}
        What to do where a score is NaN or null, as in `evaluate`; "ignore" leaves out, for both detectors, steps at
        which one of them has no score.
    names : pair of str
        What to call the detectors.
    draws : int, optional
        Number of resamples: 200 of pieces, 2,000 of series by default; 0 for no limits.
    seed : int
        Seed of the resampling.

    Returns
    -------
    Comparison
        A row per metric: values, difference with limits, wins, ties and losses.

    Raises
    ------
    ValueError, TypeError
        If an input is not of the form described, or a metric is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> labels = np.tile([0] * 20 + [1] * 5, 8)
    >>> noise = np.random.default_rng(0).random(labels.size)
    >>> pv.compare(labels, labels + noise, 0.3 * labels + noise, metrics=["auc_roc"], names=("sharp", "dull"))
    metric     sharp     dull  difference            95 %  w/t/l
    ------------------------------------------------------------
    auc_roc  1.0000*  0.7778      +0.2222  [0.170, 0.269]  8/0/0
    <BLANKLINE>
    difference: sharp less dull; w/t/l: wins, ties and losses of sharp, over the 8
    pieces around events
    95 %: bootstrap over the 8 pieces around events, both detectors on the same
    draws; *: the better one, where these limits leave out 0
    """
    first, second = (
        cut_in_the_middle(str(name), _LONGEST_NAME) if isinstance(name, (str, int)) else in_words(name)
        for name in names
    )
    seed = non_negative_integer(seed, "seed")
    on_steps: dict[str, Any] = {"series": series, "times": times, "time_unit": time_unit, "max_gap": max_gap}
    steps = read_compared_steps(labels, (a, b), missing, {**on_steps, "ignore": ignore})
    truth, starts = steps.recording.labels, steps.recording.starts
    wanted = find_metrics(
        DEFAULT_METRICS if metrics is None else metrics,
        global_values={"early": early, "delay": delay, "window": window},
    )
    rules = threshold if isinstance(threshold, tuple) else (threshold, threshold)
    detectors = [
        ComparedDetector(scores, threshold_rule(rule), steps) for scores, rule in zip(steps.scores, rules, strict=True)
    ]
    given: dict[str, Any] = {"chance": 0, "metrics": wanted, "early": early, "delay": delay, "window": window}
    given |= {"missing": steps.missing, "max_gap": max_gap}
    several = starts.size > 1
    units = list(pairwise([*starts.tolist(), truth.size])) if several else steps.pieces()
    counted, timeline = steps.recording.closed_up(truth), steps.recording.timeline
    events = len(find_events(counted, timeline.starts))
    tables = [detector.values_of(units, steps, given) for detector in detectors]
    number = len(units)
    enough = number >= _MIN_UNITS_FOR_LIMITS and (several or events >= _MIN_UNITS_FOR_LIMITS)
    default = _DRAWS_OF_SERIES if several else _DRAWS_OF_PIECES
    count = (default if draws is None else non_negative_integer(draws, "draws")) if enough else 0
    if several:
        whole, reasons, limits = _means(tables, count, seed)
    else:
        found = [
            evaluate(truth, detector.scores, detector.predictions, **given, **steps.data) for detector in detectors
        ]
        whole = np.array([[evaluation[metric.id] for metric in wanted] for evaluation in found])
        reasons = [
            next((evaluation.reasons[m.id] for evaluation in found if m.id in evaluation.reasons), "") for m in wanted
        ]
        limits = _piece_limits(detectors, units, steps, given, count, seed)
    rows = [
        _row(metric, whole[:, m], limits[m], tables[0][:, m], tables[1][:, m], reasons[m], (first, second), detectors)
        for m, metric in enumerate(wanted)
    ]
    notes = [*_notes(enough, several, number, events, count), *steps.notes(wanted, (first, second), max_gap)]
    unit = "series" if several else "piece"
    return Comparison((first, second), tuple(rows), unit, number, count, seed, tuple(notes))


def _means(tables: Sequence[Any], draws: int, seed: int) -> tuple[Any, list[str], Any]:
    """Means over the series where both have a value, and the limits of their difference."""
    both = ~np.isnan(tables[0]) & ~np.isnan(tables[1])
    metrics = both.shape[1]
    whole, limits = np.full((2, metrics), np.nan), np.full((metrics, 2), np.nan)
    for m in range(metrics):
        defined = both[:, m]
        if defined.any():
            whole[:, m] = [table[defined, m].mean() for table in tables]
        if draws and np.count_nonzero(defined) >= _MIN_UNITS_FOR_LIMITS:
            difference = tables[0][defined, m] - tables[1][defined, m]
            limits[m] = mean_intervals(difference[:, None], draws=draws, level=LEVEL, seed=seed)[0]
    return whole, ["" if is_defined else "undefined on every series" for is_defined in both.any(axis=0)], limits


def _piece_limits(
    detectors: Sequence[ComparedDetector],
    units: Sequence[tuple[int, int]],
    steps: ComparedSteps,
    given: dict[str, Any],
    draws: int,
    seed: int,
) -> Any:
    """Percentiles of the differences on series put together from pieces that were drawn."""
    limits = np.full((len(given["metrics"]), 2), np.nan)
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        # In the order of time: a last piece that ends in an event never comes before a first that begins with one.
        chosen = np.sort(generator.integers(0, len(units), len(units)))
        drawn = np.concatenate([np.arange(*units[piece]) for piece in chosen])
        one, other = (np.array(detector.values_at(drawn, steps, given)) for detector in detectors)
        found.append(one - other)
    for m, column in enumerate(np.array(found).T):
        defined = column[~np.isnan(column)]
        if defined.size:
            limits[m] = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return limits


def _row(
    metric: Metric,
    values: Any,
    limits: Any,
    one: Any,
    other: Any,
    reason: str,
    names: tuple[str, str],
    detectors: Sequence[ComparedDetector],
) -> MetricDifference:
    sign = 1 if metric.higher_is_better else -1
    low, high = (float(limit) for limit in limits)
    gains = sign * (one - other)
    gains = gains[~np.isnan(gains)]
    better = ""
    if not math.isnan(low):
        beyond = (low > _TIE) - (high < -_TIE)
        better = TIE if not beyond else names[0] if sign * beyond > 0 else names[1]
    oracle = metric.needs_threshold and any(detector.uses_labels for detector in detectors)
    return MetricDifference(
        metric.id,
        f"{metric.id} (oracle)" if oracle else metric.id,
        float(values[0]),
        float(values[1]),
        float(values[0] - values[1]),
        low,
        high,
        int(np.count_nonzero(gains > _TIE)),
        int(np.count_nonzero(np.abs(gains) <= _TIE)),
        int(np.count_nonzero(gains < -_TIE)),
        better,
        reason,
    )


def _notes(enough: bool, several: bool, number: int, events: int, draws: int) -> Iterable[str]:
    if not enough:
        what = f"{number} series" if several else f"{events} event{'s' if events != 1 else ''}"
        if not several and events >= _MIN_UNITS_FOR_LIMITS:
            what = f"{number} pieces, since events that are one step apart are not parted"
        yield f"no limits: {what} are too few, five are needed"
    elif several and draws:
        yield "values are means over the series where both detectors have one"


def _starred(value: float, better: bool) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}{'*' if better else ' '}"
