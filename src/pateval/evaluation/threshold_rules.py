"""Rules that turn scores into predictions: their names, as users write them, and what they do.

A threshold is a number, or a rule with an optional figure, such as ``quantile:0.02``. A rule sees the steps of one
series, or of all of them where they are pooled. The oracle and the best of a metric see the labels, too, and the rules
that begin with ``train-`` the training scores.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pateval.catalog.metric import BEST, ORACLE
from pateval.catalog.option_text import value_text
from pateval.thresholds import (
    alarm_rate_level,
    median_deviation_threshold,
    peaks_over_threshold,
    quantile_threshold,
    read_alarm_rate,
    standard_deviation_threshold,
)
from pateval.thresholds.alarm_rates import false_alarm_level
from pateval.thresholds.sweeps import sweep_point
from pateval.time.clocks import Clock
from pateval.time.timelines import Timeline
from pateval.validation.arrays import BoolArray, FloatArray, finite_number, require_anomaly
from pateval.validation.arrays import fraction as checked_fraction
from pateval.validation.wording import in_words

ALARMS, FALSE_ALARMS = "alarms", "false-alarms"
TRAINING = "training"
TRAIN, TRAIN_TEST = "train-quantile", "train-test-quantile"
# What readers are told of each rule, its function, and the parameter that the figure is.
THRESHOLD_RULES: dict[str, tuple[str, Callable[..., float], str]] = {
    "quantile": ("the highest share of scores", quantile_threshold, "fraction"),
    "standard-deviation": ("standard deviations above the mean", standard_deviation_threshold, "deviations"),
    "median-deviation": ("median absolute deviations above the median", median_deviation_threshold, "deviations"),
    "peaks-over-threshold": ("extreme value theory", peaks_over_threshold, "risk"),
}
TRAINING_RULES = {
    name: (f"strictly above all but the highest share of {of_what}", quantile_threshold, "fraction")
    for name, of_what in ((TRAIN, "the training scores"), (TRAIN_TEST, "training and test scores together"))
}

Choose = Callable[[BoolArray, FloatArray, Timeline], float]


@dataclass(frozen=True)
class ThresholdRule:
    """How predictions are made from scores."""

    kind: str  # "number", "oracle", "best", "alarms", "false-alarms", "training", or the name of a rule on scores
    text: float | str  # as it is written
    description: str  # for readers: "quantile:0.25: the highest share of scores"
    signature: str | float  # for signatures: "quantile:0.25"
    # Labels and scores at the steps that count, -inf for missing ones, and their timeline to a threshold. None for the
    # best of a metric, which depends on the metric, and for rules on training scores.
    choose: Choose | None = None
    strict: bool = False  # whether only scores above the threshold are predicted, and not those equal to it
    share: float = math.nan  # of the training scores that lie above the threshold

    @property
    def uses_labels(self) -> bool:
        """Whether the labels decide the threshold, which no detector in use can count on."""
        return self.kind in (ORACLE, BEST, FALSE_ALARMS)

    @property
    def mark(self) -> str:
        """What tables say where the labels decide the threshold: "best" of the metric, or "oracle"."""
        return BEST if self.kind == BEST else ORACLE

    @property
    def is_foreign(self) -> bool:
        """Whether the threshold comes from elsewhere, so that it means nothing to random scores."""
        return self.kind in ("number", TRAINING)

    @property
    def sign(self) -> str:
        """How a score must stand to the threshold to be predicted."""
        return ">" if self.strict else ">="

    def predictions(self, scores: FloatArray, level: float) -> BoolArray:
        """Predict the steps at or above the level, or above it; in double precision, as `apply_threshold` does."""
        exact = np.float64(level)
        return scores > exact if self.strict else scores >= exact


def threshold_rule(threshold: float | str) -> ThresholdRule:
    """Read a threshold: a number, or the name of a rule with an optional figure; refuse what is neither."""
    if not isinstance(threshold, str):
        number = finite_number(threshold, "threshold", "a finite number or the name of a rule")
        return ThresholdRule("number", number, "given", number, lambda _labels, _scores, _timeline: number)
    return _named_rule(threshold)


@lru_cache(maxsize=256)
def _named_rule(threshold: str) -> ThresholdRule:
    name, _, figure = threshold.partition(":")
    if name == ORACLE and not figure:
        return ThresholdRule(ORACLE, ORACLE, "oracle: best point F1", f"{ORACLE}:point_f1", _best_point_f1)
    if name == BEST and not figure:
        return ThresholdRule(BEST, BEST, "best: the best of the metric itself", BEST)
    if name in (ALARMS, FALSE_ALARMS):
        return _alarm_rule(threshold, name, figure)
    rules = {**THRESHOLD_RULES, **TRAINING_RULES}
    if name not in rules:
        known = (ORACLE, BEST, *rules, "alarms:2/1d", "false-alarms:2/1d")
        raise ValueError(
            f"threshold must be a number, or a rule such as 'quantile:0.01', of these: {', '.join(known)}; got "
            f"{in_words(threshold)}"
        )
    what, function, parameter = rules[name]
    used = _figure(threshold, figure)
    if used is None:
        used = inspect.signature(function).parameters[parameter].default
    described = f"{threshold}: {what}", f"{name}:{value_text(float(used))}"
    if name in TRAINING_RULES:
        share = checked_fraction(used, f"the share of threshold {in_words(threshold)}")
        return ThresholdRule(TRAINING, threshold, *described, strict=True, share=share)
    return ThresholdRule(
        name, threshold, *described, lambda _labels, scores, _timeline: function(_present(scores), **{parameter: used})
    )


def uses_training_scores(threshold: object) -> bool:
    """Tell whether a threshold is a rule that looks at training scores."""
    return isinstance(threshold, str) and threshold.partition(":")[0] in TRAINING_RULES


def training_level(threshold: str, train_scores: FloatArray, scores: Callable[[], FloatArray]) -> float:
    """Level of a rule on training scores, from these and, where it takes both, the scores of all steps that count."""
    share = threshold_rule(threshold).share
    if threshold.partition(":")[0] == TRAIN:
        return quantile_threshold(train_scores, fraction=share)
    return quantile_threshold(_present(scores()), fraction=share, train_scores=train_scores)


def check_threshold(threshold: float | str) -> float | str:
    """Refuse what is no threshold before any work is done, by trying it out."""
    rule = threshold_rule(threshold)
    if rule.choose is not None:
        start, size = np.zeros(1, dtype=np.intp), 1000
        hours = Timeline(size, start, start, Clock(np.arange(size) * 3600 * 10**9, 1))
        rule.choose(np.arange(size) >= size - 10, np.arange(float(size)), hours)
    return rule.text


def _alarm_rule(threshold: str, name: str, figure: str) -> ThresholdRule:
    alarms, per = read_alarm_rate(figure, threshold)
    unit = f"{per} steps" if isinstance(per, int) else per
    what = ("false " if name == FALSE_ALARMS else "") + ("alarm" if alarms == 1 else "alarms")

    def level(labels: BoolArray, scores: FloatArray, timeline: Timeline) -> float:
        if scores.ndim > 1:
            raise ValueError(f"threshold {in_words(threshold)} needs one score per step; these are steps by channels")
        if name == FALSE_ALARMS:
            return false_alarm_level(labels, scores, timeline, alarms, per)
        return alarm_rate_level(scores, alarms, per, timeline.starts, timeline.clock)

    description = f"{threshold}: at most {value_text(alarms)} {what} in {unit}"
    return ThresholdRule(name, threshold, description, f"{name}:{value_text(alarms)}/{per}", level)


def _best_point_f1(labels: BoolArray, scores: FloatArray, _timeline: Timeline) -> float:
    require_anomaly(labels)
    return sweep_point(labels.ravel(), scores.ravel()).threshold


def _figure(threshold: str, figure: str) -> float | None:
    try:
        return float(figure) if figure else None
    except ValueError:
        rule = threshold.partition(":")[0]
        raise ValueError(
            f"the figure of threshold {in_words(threshold)} must be a number, as in {rule}:0.01; got {in_words(figure)}"
        ) from None


def _present(scores: FloatArray) -> FloatArray:
    """Leave out missing scores; steps by channels become one sequence."""
    missing = scores == -np.inf
    return scores[~missing] if missing.any() else scores.ravel()
