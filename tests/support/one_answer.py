"""What pateval must say of data of any shape: a literal rule on the metric functions alone.

`expected` computes every value as `docs/what-a-number-means.md` defines it, series by series, from the functions in
`pateval.metrics` and plain NumPy; it never calls `evaluate`. To add a metric write a line in one of the tables.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

import pateval as pv
from pateval import metrics as m
from pateval.evaluation.chance import steps_digest
from pateval.thresholds import quantile_threshold
from pateval.time.timelines import read_recording

NANOSECONDS = {"ms": 10**6, "s": 10**9, "min": 60 * 10**9}
DETECTORS = ("alpha", "beta", "gamma")
RUN_OF_ALL = ""


@dataclass(frozen=True)
class Series:
    """One series: truth, clock, steps to ignore, and the scores of each run of each detector.

    ``parts`` are the numbers of several series that are taken for one sample.
    """

    labels: np.ndarray
    scores: Mapping[str, Mapping[str, np.ndarray]]
    times: np.ndarray | None = None
    ignore: np.ndarray | None = None
    parts: np.ndarray | None = None

    @property
    def ignored(self) -> np.ndarray:
        """Mask of the steps to ignore."""
        return np.zeros(self.labels.size, dtype=bool) if self.ignore is None else self.ignore

    @property
    def slices(self) -> list[slice]:
        """Where the series lie that are taken together; one where nothing is."""
        if self.parts is None:
            return [slice(None)]
        starts = [0, *(np.flatnonzero(np.diff(self.parts)) + 1).tolist(), self.labels.size]
        return [slice(*limits) for limits in pairwise(starts)]


@dataclass(frozen=True, eq=False)
class Shape:
    """Series, what is asked of them (as `evaluate` takes it), and how files hold them.

    ``by_default``: neither metrics nor lengths are named, so that the defaults must be the same. ``column`` is what
    wide files call the scores of a detector, whose name stands for the braces.
    """

    name: str
    series: Mapping[str, Series]
    options: Mapping[str, Any] = field(default_factory=dict)
    time_unit: str | None = None
    layout: str = "wide"
    suffix: str = "csv"
    metrics: tuple[str, ...] = ()
    by_default: bool = False
    column: str = "{}"

    @property
    def detectors(self) -> tuple[str, ...]:
        """All detectors, in the order of their first series."""
        return tuple(dict.fromkeys(name for one in self.series.values() for name in one.scores))

    @property
    def is_complete(self) -> bool:
        """Whether every detector has scores on every series."""
        return all(tuple(one.scores) == self.detectors for one in self.series.values())

    @property
    def has_runs(self) -> bool:
        """Whether a detector ran several times."""
        return any(len(runs) > 1 for one in self.series.values() for runs in one.scores.values())

    @property
    def has_times(self) -> bool:
        """Whether the steps have a clock."""
        return all(one.times is not None for one in self.series.values())

    @property
    def has_ignored(self) -> bool:
        """Whether there is a column of steps to ignore."""
        return any(one.ignore is not None for one in self.series.values())

    @property
    def missing(self) -> str:
        """What becomes of missing scores."""
        return str(self.options.get("missing", "error"))


# What a metric is, literally.


@dataclass(frozen=True)
class Rule:
    """A metric's function, what it takes, and how scores become predictions for it."""

    function: Callable[..., Any]
    lengths: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    threshold: str | float | None = None
    on_clock: bool = False
    in_units: bool = False
    higher_is_better: bool = True

    def number(self, result: Any) -> float:
        """The F1 of precision and recall, or the number itself."""
        return float(getattr(result, "f1", result))


_BUFFERS = ("early", "delay")
_ADJUSTED = m.point_adjusted
METRICS: dict[str, Rule] = {
    "pate": Rule(pv.pate, _BUFFERS, on_clock=True),
    "pate_ap": Rule(pv.pate_ap, _BUFFERS, on_clock=True),
    "pate(early=5,delay=7)": Rule(pv.pate, options={"early": 5, "delay": 7}, on_clock=True),
    "pate(early=6,delay=6)": Rule(pv.pate, options={"early": 6, "delay": 6}, on_clock=True),
    "vus_pr": Rule(m.vus_pr, ("window",)),
    "auc_roc": Rule(m.auc_roc),
    "average_precision": Rule(m.average_precision),
    "pate_f1": Rule(pv.pate_f1, _BUFFERS, threshold="oracle", on_clock=True),
    "pate_f1(early=6,delay=9)": Rule(pv.pate_f1, options={"early": 6, "delay": 9}, threshold="oracle", on_clock=True),
    "point_f1": Rule(m.point, threshold="oracle"),
    "point_adjusted_f1": Rule(_ADJUSTED, threshold="oracle"),
    "point_adjusted_f1(threshold=best)": Rule(_ADJUSTED, threshold="best"),
    "point_adjusted_f1(threshold=0.5)": Rule(_ADJUSTED, threshold=0.5),
    "point_adjusted_f1(threshold=quantile:0.1)": Rule(_ADJUSTED, threshold="quantile:0.1"),
    "affiliation_f1": Rule(m.affiliation, threshold="oracle"),
    "mean_detection_delay": Rule(m.mean_detection_delay, threshold="oracle", higher_is_better=False),
    "temporal_distance(threshold=best)": Rule(m.temporal_distance, threshold="best", higher_is_better=False),
}
ON_CLOCK: dict[str, Rule] = {
    "pate(early=[0s,90s],delay=2min)": Rule(pv.pate, options={"early": ("0s", "90s"), "delay": "2min"}, on_clock=True),
    "pate_f1(early=3min,delay=4min)": Rule(
        pv.pate_f1, options={"early": "3min", "delay": "4min"}, threshold="oracle", on_clock=True
    ),
    "vus_pr(window=4min)": Rule(m.vus_pr, options={"window": "4min"}),
    "mean_detection_delay(unit=min)": Rule(
        m.mean_detection_delay, options={"unit": "min"}, threshold="oracle", in_units=True, higher_is_better=False
    ),
}
# What takes long to find by trying every threshold, on a few of the shapes.
SLOW: dict[str, Rule] = {
    "pate_f1(threshold=best)": Rule(pv.pate_f1, _BUFFERS, threshold="best", on_clock=True),
    "affiliation_f1(threshold=best)": Rule(m.affiliation, threshold="best"),
}
# What can be pooled.
POOLED: dict[str, Rule] = {
    name: METRICS[name]
    for name in ("pate", "pate_ap", "pate(early=5,delay=7)", "auc_roc", "average_precision", "pate_f1", "point_f1")
} | {
    "point_f1(threshold=0.5)": Rule(m.point, threshold=0.5),
    "point_f1(threshold=quantile:0.1)": Rule(m.point, threshold="quantile:0.1"),
}
RULES = METRICS | ON_CLOCK | SLOW | POOLED
DURATIONS = {"early": ("0s", "3min"), "delay": ("0s", "4min"), "window": "5min"}
DEFAULTS = {"early": (0, 100), "delay": (0, 100), "window": 100}
STEPS = {"early": (0, 6), "delay": (0, 9), "window": 8}


def expected(shape: Shape, detectors: Sequence[str]) -> dict[tuple[str, str], float]:
    """Every value of some detectors that are judged together: the mean over the series where it is defined.

    Runs of a detector are averaged within a series first. NaN where a metric is defined on no series.
    """
    found = {}
    for name in detectors:
        # Only where steps without a score are left out for all do the others matter.
        together = tuple(detectors) if shape.missing == "ignore" else (name,)
        found |= {(name, metric): value for metric, value in of_detector(shape, name, together).items()}
    return found


@lru_cache(maxsize=200)
def of_detector(shape: Shape, name: str, together: tuple[str, ...]) -> dict[str, float]:
    """Values of one detector by metric."""
    found: dict[str, list[float]] = {metric: [] for metric in shape.metrics}
    is_binary = gives_predictions(shape, name)
    for one in [one for one in shape.series.values() if name in one.scores]:
        left_out = steps_left_out(shape, one, name, together)
        for metric in shape.metrics:
            runs = [
                value_on(shape, one, scores, left_out, RULES[metric], is_binary=is_binary)
                for scores in one.scores[name].values()
            ]
            defined = [value for value in runs if not math.isnan(value)]
            if defined:
                found[metric].append(sum(defined) / len(defined))
    return {metric: sum(values) / len(values) if values else math.nan for metric, values in found.items()}


def gives_predictions(shape: Shape, detector: str) -> bool:
    """Whether the scores of a detector are 0 and 1 only, over all its series and runs."""
    all_scores = [run for one in shape.series.values() for run in one.scores.get(detector, {}).values()]
    present = np.concatenate(all_scores)
    return set(present[~np.isnan(present)].tolist()) == {0.0, 1.0}


def steps_left_out(shape: Shape, one: Series, name: str, together: Sequence[str]) -> np.ndarray:
    """Steps that are ignored, or that a detector has no score for where such steps are left out for all.

    A detector without scores for more than half of a series has no say in it.
    """
    left_out = one.ignored.copy()
    if shape.missing == "ignore":
        for other in [other for other in together if other in one.scores]:
            for scores in one.scores[other].values():
                for steps in one.slices:
                    if other == name or not is_mostly_missing(scores[steps], one.ignored[steps]):
                        left_out[steps] |= np.isnan(scores[steps])
    return left_out


def is_mostly_missing(scores: np.ndarray, ignored: np.ndarray) -> bool:
    """Whether a detector has no score for more than half of the steps that are not ignored."""
    return bool(2 * np.count_nonzero(np.isnan(scores) & ~ignored) > np.count_nonzero(~ignored))


def value_on(
    shape: Shape, one: Series, scores: np.ndarray, left_out: np.ndarray, rule: Rule, *, is_binary: bool
) -> float:
    """One metric of one run on one series; NaN where it is undefined."""
    if shape.missing == "ignore" and is_mostly_missing(scores, one.ignored):
        return math.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pv.CoarseScoresWarning)
            if rule.threshold is None:
                return computed(shape, one, scores, left_out, rule)
            if is_binary:
                return computed(shape, one, scores == 1, left_out, rule)
            return cut(shape, one, scores, left_out, rule)
    except pv.UndefinedMetricError:
        return math.nan


def cut(shape: Shape, one: Series, scores: np.ndarray, left_out: np.ndarray, rule: Rule) -> float:
    """A metric at the threshold that its rule chooses on this series; a step without a score is never predicted."""
    kept, labels = scores[~left_out], one.labels[~left_out]
    if not labels.any():
        raise pv.UndefinedMetricError("no anomaly")
    present = kept[~np.isnan(kept)]
    if rule.threshold == "best":
        return best_value(shape, one, scores, left_out, rule, np.unique(present)[::-1])
    if rule.threshold == "oracle":
        floor = present.min() - 1  # below all others, so that the search may flag what it likes of the rest
        level = best_point_f1(labels, np.where(np.isnan(kept), floor, kept), np.unique(present)[::-1])
    elif rule.threshold == "quantile:0.1":
        level = quantile_threshold(present, fraction=0.1)
    else:
        level = rule.threshold
    return computed(shape, one, scores >= level, left_out, rule)


def best_point_f1(labels: np.ndarray, scores: np.ndarray, levels: np.ndarray) -> float:
    """The threshold with the best point F1, the highest of several; in fractions, so that equal ones are equal."""
    hits = [int(labels[scores >= level].sum()) for level in levels]
    values = [
        Fraction(2 * hit, int(labels.sum()) + int((scores >= level).sum()))
        for hit, level in zip(hits, levels, strict=True)
    ]
    return float(levels[values.index(max(values))])


def best_value(
    shape: Shape, one: Series, scores: np.ndarray, left_out: np.ndarray, rule: Rule, levels: np.ndarray
) -> float:
    """The best value of a metric over all its thresholds."""
    found = []
    for level in levels:
        try:
            found.append(computed(shape, one, scores >= level, left_out, rule))
        except pv.UndefinedMetricError:
            continue
    return (max if rule.higher_is_better else min)(found)


def computed(shape: Shape, one: Series, given: np.ndarray, left_out: np.ndarray, rule: Rule) -> float:
    """Call a metric's function on one series: PATE on its clock, all others on the steps that are kept."""
    options = {name: (DEFAULTS | dict(shape.options))[name] for name in rule.lengths} | dict(rule.options)
    on_scores = rule.threshold is None
    if on_scores and shape.missing == "normal":
        options["missing"] = "normal"
    if rule.on_clock:
        if one.times is not None:
            options |= {"times": one.times, "time_unit": shape.time_unit, "max_gap": shape.options.get("max_gap")}
        if one.parts is not None:
            options["series"] = one.parts
        whole = np.where(left_out, 0.0, given) if on_scores else given & ~left_out
        return rule.number(rule.function(one.labels, whole, ignore=left_out, **options))
    times = None if one.times is None else one.times[~left_out]
    if rule.in_units:
        options |= {"times": times, "time_unit": shape.time_unit}
    elif isinstance(options.get("window"), str):
        options["window"] = in_steps(options["window"], times, shape.time_unit)
    return rule.number(rule.function(one.labels[~left_out], given[~left_out], **options))


def in_steps(length: str, times: np.ndarray, unit: str | None) -> int:
    """A duration as the nearest number of median intervals of a series, at least one."""
    number = length.rstrip("smin")
    nanoseconds = int(number) * NANOSECONDS[length[len(number) :]]
    if times.dtype.kind == "M":
        interval = float(np.median(np.diff(times.astype("datetime64[ns]").astype(np.int64))))
    else:
        interval = float(np.median(np.diff(times))) * NANOSECONDS[str(unit)]
    return max(1, round(nanoseconds / interval))


def pooled(shape: Shape) -> Shape:
    """All series of a shape as one sample, of which the functions are told with ``series=``."""
    series = list(shape.series.values())
    together = Series(
        np.concatenate([one.labels for one in series]),
        {
            name: {RUN_OF_ALL: np.concatenate([one.scores[name][RUN_OF_ALL] for one in series])}
            for name in shape.detectors
        },
        np.concatenate([one.times for one in series if one.times is not None]) if shape.has_times else None,
        np.concatenate([one.ignored for one in series]) if shape.has_ignored else None,
        np.repeat(np.arange(len(series)), [one.labels.size for one in series]),
    )
    return Shape(f"{shape.name}, pooled", {"all": together}, shape.options, shape.time_unit, metrics=tuple(POOLED))


def with_random_scores(shape: Shape, name: str, metrics: tuple[str, ...], draws: int) -> Shape:
    """The steps on which a detector is judged, with draws of random scores as the runs of a detector "random"."""
    # Only where its missing scores decide which steps count does it matter which detector it is.
    return _with_random_scores(shape, name if shape.missing == "ignore" else shape.detectors[0], metrics, draws)


@lru_cache(maxsize=50)
def _with_random_scores(shape: Shape, name: str, metrics: tuple[str, ...], draws: int, seed: int = 0) -> Shape:
    series = {}
    for place, one in shape.series.items():
        if name not in one.scores:
            continue
        left_out = steps_left_out(shape, one, name, shape.detectors)
        if shape.missing == "ignore" and all(is_mostly_missing(run, one.ignored) for run in one.scores[name].values()):
            continue
        recording = read_recording(one.labels, np.zeros(one.labels.size), ignore=left_out if left_out.any() else None)
        rng = np.random.default_rng([seed, steps_digest(recording)])
        scores = {str(draw): rng.random(one.labels.size) for draw in range(draws)}
        series[place] = Series(one.labels, {"random": scores}, one.times, left_out if left_out.any() else None)
    options = {key: value for key, value in shape.options.items() if key != "missing"}
    return Shape(f"{shape.name}, random", series, options, shape.time_unit, metrics=metrics)
