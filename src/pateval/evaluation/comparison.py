"""Two detectors side by side: which is better under each metric, by how much, and whether that is more than luck."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog import default_rank_by
from pateval.catalog.metric import ORACLE, Metric
from pateval.evaluation.bootstrap import LEVEL, MeanBootstrap, percentile_limits
from pateval.evaluation.measures import Measures, Metrics, Threshold
from pateval.evaluation.notes import circumstances, left_out_notes, require_clock
from pateval.evaluation.paired import Power, power_of, signed_ranks
from pateval.evaluation.pieces import Pieces, cut, draw_pieces
from pateval.evaluation.result import BINARY
from pateval.evaluation.values import (
    Value,
    defined_mean,
    mean_values,
    parts_by_series,
    values_of,
    with_predictions,
)
from pateval.labels.events import find_events
from pateval.output.results import TableResult, columns_of
from pateval.output.text_table import TERMINAL_WIDTH, beside_names, cut_in_the_middle, folded, plain
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, joined, leave_out_for_all, read_recording
from pateval.validation.arrays import Buffers, FloatArray, IntArray, non_negative_integer
from pateval.validation.wording import counted, in_words

_ARROW = "<"  # points to the value it stands behind
_LONGEST_NAME, _LONGEST_HEADER = 60, 24  # characters of a detector's name; detectors often differ at the end of it
_MIN_UNITS_FOR_LIMITS = 5  # pieces or series; fewer say too little about others like them for an interval
_DRAWS_OF_PIECES = 200
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
        Values of the two detectors, with several series the mean over those where each is defined; NaN where there is
        none.
    difference : float
        The first less the second, with several series on those where both are defined.
    low, high : float
        Limits of the difference; NaN where there are too few pieces or series.
    wins, ties, losses : int
        On how many of the pieces or series the first detector is better, equal, worse.
    better : str
        Name of the detector that is better beyond the limits, "tie" where the limits hold zero, empty without limits.
    units : int
        How many pieces or series both have a value on: what limits, wins, ties and losses go over.
    reason : str
        Why the metric is undefined; empty where it is not.
    p_value : float
        Of Wilcoxon's signed-rank test over several series; NaN on one series or sample, which is no sample of series.
    test : Power or None
        What that test can show on so many series; None where there is none.
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
    units: int
    reason: str = ""
    p_value: float = math.nan
    test: Power | None = None


@dataclass(frozen=True, repr=False)
class Comparison(TableResult):
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
        """Columns and rows for people; an arrow points to the value that is better beyond the limits."""
        first, second = self.names
        limits, tested = any(not math.isnan(row.low) for row in self.rows), any(row.test for row in self.rows)
        more = [*(["95 %"] if limits else []), "w/t/l", *(["p"] if tested else [])]
        return ["metric", first, second, "difference", *more], [
            [
                row.label,
                _pointed(row.first, row.better == first),
                _pointed(row.second, row.better == second),
                "-" if math.isnan(row.difference) else f"{row.difference:+.4f}",
                *(["" if math.isnan(row.low) else f"[{row.low:.3f}, {row.high:.3f}]"] if limits else []),
                f"{row.wins}/{row.ties}/{row.losses}",
                *(["" if math.isnan(row.p_value) else f"{row.p_value:.2g}"] if tested else []),
            ]
            for row in self.rows
        ]

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """The table and what it means, in lines of at most ``width`` characters; None is any width."""
        columns, rows = self.table()
        if width is not None:
            columns[1:3] = [cut_in_the_middle(name, _LONGEST_HEADER) for name in self.names]
        table = beside_names(columns, rows, width=width)
        return "\n".join([table, "", *(folded(line, width) for line in self.remarks())])

    def columns(self) -> dict[str, Any]:
        """Columns for programs: a row per metric, at full precision, detectors named in every row."""
        held = ("difference", "low", "high", "wins", "ties", "losses", "better", "units", "reason", "p_value")
        of_test = ("power", "series_needed")
        return columns_of(
            ["metric", "a", "b", "value_a", "value_b", *held, *of_test],
            [
                [row.metric, *self.names, row.first, row.second]
                + [None if (value := getattr(row, name)) == "" else value for name in held]
                + [None if row.test is None else getattr(row.test, name) for name in of_test]
                for row in self.rows
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        facts = {"unit": self.unit, "units": self.units, "level": LEVEL, "draws": self.draws, "seed": self.seed}
        names = dict(zip("ab", self.names, strict=True))
        return plain({**names, **facts, "metrics": self.row_dicts(), "notes": self.notes})

    def remarks(self) -> list[str]:
        """What the table means, in sentences."""
        first, second = self.names
        what = "pieces around events" if self.unit == "piece" else "series"
        counts = sorted({row.units for row in self.rows})
        units = f"the {self.units} {what}"
        if counts and counts != [self.units]:
            several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
            units = f"the {several} of {self.units} {what} where both have a value"
        lines = [f"difference: {first} less {second}; w/t/l: wins, ties and losses of {first}, over {units}"]
        if self.draws:
            arrow = f"{_ARROW}: the better one, where these limits leave out 0"
            lines.append(f"95 %: bootstrap over {units}, both detectors on the same draws; {arrow}")
        if tested := {row.metric: row.test for row in self.rows if row.test}:
            main = default_rank_by(list(tested))
            lines.append("p: Wilcoxon's signed-rank test over these series, for each metric by itself")
            lines.append(f"under {self[main].label}, {tested[main].clause(first, second)}")
        elif self.unit == "piece":
            lines.append("no p-value: one series is no sample of series")
        return [*lines, *self.notes, *(f"{row.metric}: {row.reason}" for row in self.rows if row.reason)]

    def headline(self) -> str:
        """Who is compared with whom."""
        return f"{self.names[0]} against {self.names[1]}"


def compare(
    labels: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    metrics: Metrics = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: Threshold = ORACLE,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    pooled: bool = False,
    names: tuple[str, str] = ("a", "b"),
    draws: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two detectors on the same labels.

    One series is cut midway between its events, and the pieces are drawn with replacement, for both detectors alike;
    the limits are percentiles of the differences (Künsch 1989). Each piece is a series of its own: zones and alarms end
    where it is cut, and what is counted on the pieces of a draw is added up. Metrics that are no function of counts are
    computed on the pieces put end to end, or pooled where they can be. With several series each has its value, the
    difference is the mean over those where both detectors have one, and series are drawn (BCa limits, Efron 1987).
    There are no limits with fewer than five pieces or series. Several series are tested, too, by Wilcoxon's signed
    ranks as on a leaderboard; one series is no sample of series, so it has limits and no p-value.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    a, b : array-like of float
        Scores of the two detectors, higher is more anomalous.
    metrics : str, Metric, function, or iterable of these, optional
        As in `evaluate`.
    early, delay, window
        As in `evaluate`.
    threshold : float or str
        How scores become predictions, as in `evaluate`; chosen on each series, and kept in the draws, as are the
        thresholds that VUS samples and the steps that durations become.
    series : array-like, optional
        Which series each step belongs to.
    times, time_unit, max_gap, ignore
        The clock, and steps to leave out, as in `evaluate`.
    missing : {"error", "ignore", "normal"}
        What to do where a score is NaN or null, as in `evaluate`; "ignore" leaves out, for both detectors, steps at
        which one of them has no score.
    pooled : bool
        Take all steps of several series for one sample, as in `evaluate`; there are then no limits.
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
    auc_roc  1.0000<  0.7778      +0.2222  [0.170, 0.269]  8/0/0
    <BLANKLINE>
    difference: sharp less dull; w/t/l: wins, ties and losses of sharp, over the 8
    pieces around events
    95 %: bootstrap over the 8 pieces around events, both detectors on the same
    draws; <: the better one, where these limits leave out 0
    no p-value: one series is no sample of series
    """
    measures = Measures.of_keywords(locals(), chance=0)
    steps: dict[str, Any] = {"series": series, "times": times, "time_unit": time_unit, "max_gap": max_gap}
    one, other = (read_recording(labels, scores, ignore=ignore, missing=missing, **steps) for scores in (a, b))
    return compare_runs([one], [other], measures, names=names, draws=draws)


def compare_runs(
    one: Sequence[Recording],
    other: Sequence[Recording],
    measures: Measures,
    *,
    names: tuple[str, str],
    draws: int | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Comparison:
    """Compare two detectors, each with its runs; `compare` says what the parameters are.

    Each has its value over all its series; the difference, its limits and what is counted go over those that both have.
    """
    first, second = (
        cut_in_the_middle(str(name), _LONGEST_NAME) if isinstance(name, (str, int)) else in_words(name)
        for name in names
    )
    require_clock(measures, one[0].clock)
    judged = leave_out_for_all([*one, *other])
    detectors = [with_predictions(judged[: len(one)]), with_predictions(judged[len(one) :])]
    wanted = [measures.of_detector(name) for name in names]
    by_series = [
        {name: _values_of_runs(parts, own) for name, parts in parts_by_series(runs).items()}
        for runs, own in zip(detectors, wanted, strict=True)
    ]
    if measures.pooled:
        whole = [_values_of_runs(runs, own) for runs, own in zip(detectors, wanted, strict=True)]
    else:
        whole = [mean_values(list(values.values())) for values in by_series]
    detectors = _on_common_series(detectors)
    recordings = [runs[0] for runs in detectors]
    several = recordings[0].starts.size > 1
    events = len(find_events(recordings[0].counted(recordings[0].labels), recordings[0].timeline.starts))
    pieces: list[list[Pieces]] = []
    if several:
        common = [name for name in by_series[0] if name in by_series[1]]
        table = [[values[name] for name in common] for values in by_series]
    else:
        ends = cut(recordings[0])
        pieces = [[Pieces(run, own, ends) for run in runs] for runs, own in zip(detectors, wanted, strict=True)]
        table = [[mean_values(piece) for piece in zip(*(run.values() for run in runs), strict=True)] for runs in pieces]
    number = len(table[0])
    enough = number >= _MIN_UNITS_FOR_LIMITS and (several or events >= _MIN_UNITS_FOR_LIMITS)
    default = _DRAWS_OF_SERIES if several else _DRAWS_OF_PIECES
    count = (default if draws is None else non_negative_integer(draws, "draws")) if enough else 0
    count = 0 if several and measures.pooled else count
    columns = {name: np.array([[values[name].value for values in units] for units in table]) for name in measures.ids}
    if several:
        limits = {name: _limits_of_means(one - other, count, measures.seed) for name, (one, other) in columns.items()}
    else:
        limits = _limits_of_pieces(pieces, draw_pieces(number, count, measures.seed), progress)
    fields = circumstances(measures, [run for runs in detectors for run in runs], ignored=False)
    rows = [
        _row(
            metric,
            measures.labels[name] + measures.unit(name, measures.signature(metric, **fields[name])),
            [values[name] for values in whole],
            columns[name],
            limits[name],
            (first, second),
            several=several and not measures.pooled,
        )
        for name, metric in measures.by_id.items()
    ]
    notes = [
        *_notes(enough, several, number, events, pooled=measures.pooled),
        *_left_out(recordings, measures, (first, second)),
    ]
    unit = "series" if several else "piece"
    return Comparison((first, second), tuple(rows), unit, number, count, measures.seed, tuple(notes))


def _values_of_runs(runs: Sequence[Recording], measures: Measures) -> dict[str, Value]:
    return mean_values([values_of(run, measures) for run in runs])


def _on_common_series(detectors: Sequence[Sequence[Recording]]) -> list[list[Recording]]:
    """The runs of both detectors on the series that both have, by their names; all of them where they have no names."""
    one, other = ({name for run in runs for name in run.names} for runs in detectors)
    if one == other:
        return [list(runs) for runs in detectors]
    return [
        [joined([part for part in run.parts() if set(part.names) <= one & other]) for run in runs] for runs in detectors
    ]


def _limits_of_means(differences: npt.NDArray[np.float64], draws: int, seed: int) -> tuple[float, float]:
    """Limits of the mean difference over the series where both have a value."""
    defined = differences[~np.isnan(differences)]
    if not draws or defined.size < _MIN_UNITS_FOR_LIMITS:
        return math.nan, math.nan
    low, high = MeanBootstrap(defined.size, draws=draws, seed=seed).intervals(defined[:, None])[0].tolist()
    return low, high


def _limits_of_pieces(
    detectors: Sequence[Sequence[Pieces]], weights: IntArray, progress: Callable[[int, int], None]
) -> dict[str, tuple[float, float]]:
    """Percentiles of the differences on draws, given how often each of the pieces comes in each of them."""
    runs, number = [*detectors[0], *detectors[1]], len(detectors[0])
    drawn = [run.drawn(weights, partial(_tell, progress, place, len(runs))) for place, run in enumerate(runs)]
    limits = {}
    for name in drawn[0]:
        first, second = (defined_mean([values[name] for values in own]) for own in (drawn[:number], drawn[number:]))
        limits[name] = percentile_limits(first - second)
    return limits


def _tell(progress: Callable[[int, int], None], before: int, runs: int, done: int, metrics: int) -> None:
    progress(before * metrics + done, runs * metrics)


def _row(
    metric: Metric,
    label: str,
    whole: Sequence[Value],
    values: FloatArray,
    limits: tuple[float, float],
    names: tuple[str, str],
    *,
    several: bool,
) -> MetricDifference:
    sign, (low, high) = 1 if metric.higher_is_better else -1, limits
    differences = values[0] - values[1]
    differences = differences[~np.isnan(differences)]
    gains = sign * differences
    better = ""
    if not math.isnan(low):
        beyond = (low > _TIE) - (high < -_TIE)
        better = TIE if not beyond else names[0] if sign * beyond > 0 else names[1]
    first, second = (value.value for value in whole)
    difference = first - second
    if several:
        difference = float(differences.mean()) if differences.size else math.nan
    by_sign = gains > _TIE, np.abs(gains) <= _TIE, gains < -_TIE
    wins, ties, losses = (int(np.count_nonzero(are)) for are in by_sign)
    reason = next((value.reason for value in whole if value.reason), "")
    test = (float(signed_ranks(gains[None])[0][0]), power_of(gains)) if several and gains.size else ()
    return MetricDifference(
        metric.id, label, first, second, difference, low, high, wins, ties, losses, better, gains.size, reason, *test
    )


def _notes(enough: bool, several: bool, number: int, events: int, *, pooled: bool) -> Iterable[str]:
    if pooled and several:
        yield "all steps are one sample, so there are no limits; wins, ties and losses are on single series"
    elif not enough:
        few, what = (number, f"{number} series") if several else (events, counted(events, "event"))
        if not several and events >= _MIN_UNITS_FOR_LIMITS:
            few, what = number, f"{counted(number, 'piece')}, since events that are one step apart are not parted"
        yield f"no limits: {what} {'is' if few == 1 else 'are'} too few, five are needed"
    elif several:
        yield "values are means over the series where each detector has one; differences are over those where both have"


def _left_out(recordings: Sequence[Recording], measures: Measures, names: tuple[str, str]) -> Iterable[str]:
    """Say which steps do not count, and why."""
    what = "never predicted" if measures.missing == "normal" else "left out for both"
    for name, recording in zip(names, recordings, strict=True):
        if recording.counts.missing:
            are = f"score of {name} is" if recording.counts.missing == 1 else f"scores of {name} are"
            yield f"{recording.counts.missing:,} {are} missing: such steps are {what}"
        if recording.predictions is not None and measures.needs_predictions:
            yield f"{name}: {BINARY}"
    yield from left_out_notes(replace(recordings[0], absent=None), measures)


def _pointed(value: float, better: bool) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}{_ARROW if better else ' '}"
