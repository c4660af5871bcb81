"""Rules that turn scores into predictions: their names, as users write them, and what they do.

A threshold is a number, or a rule with an optional figure, such as ``quantile:0.02``. Rules see the scores of all steps
that are evaluated; the oracle sees the labels, too, and the rules that begin with ``train-`` the training scores.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.catalog.option_text import value_text
from pateval.evaluation.threshold_search import best_threshold
from pateval.thresholds import (
    alarm_rate_level,
    median_deviation_threshold,
    peaks_over_threshold,
    quantile_threshold,
    read_alarm_rate,
    standard_deviation_threshold,
)
from pateval.time.clocks import Clock
from pateval.validation.arrays import BoolArray, FloatArray, IntArray
from pateval.validation.arrays import fraction as checked_fraction
from pateval.validation.large_integers import at_least
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from pateval.time.timelines import Timeline

ORACLE = "oracle"
ALARMS = "alarms"
TRAIN, TRAIN_TEST = "train-quantile", "train-test-quantile"
THRESHOLD_RULES: dict[str, tuple[str, Callable[..., float], str]] = {
    "quantile": ("the highest share of scores", quantile_threshold, "fraction"),
    "standard-deviation": ("standard deviations above the mean", standard_deviation_threshold, "deviations"),
    "median-deviation": ("median absolute deviations above the median", median_deviation_threshold, "deviations"),
    "peaks-over-threshold": ("extreme value theory", peaks_over_threshold, "risk"),
}
TRAINING_RULES = {
    TRAIN: "strictly above all but the highest share of the training scores",
    TRAIN_TEST: "strictly above all but the highest share of training and test scores together",
}
_DEFAULT_SHARE = 0.01  # as `quantile_threshold` has it


class ScoredSteps(NamedTuple):
    """What a rule may look at.

    Attributes
    ----------
    labels, scores : ndarray
        Of all steps that are evaluated. Missing scores are negative infinity; no rule but the oracle sees them.
    starts : ndarray of int or None
        Where each series begins; None for a single one.
    clock : Clock or None
        When each step was recorded, where that is known.
    step_numbers : ndarray of int or None
        Number of each step in the whole recording, where some steps are ignored.
    """

    labels: BoolArray
    scores: FloatArray
    starts: IntArray | None = None
    clock: Clock | None = None
    step_numbers: IntArray | None = None

    @classmethod
    def on(cls, timeline: Timeline, labels: BoolArray, scores: FloatArray) -> ScoredSteps:
        """Labels and scores of the steps of a timeline that count."""
        return cls(labels, scores, timeline.starts, timeline.clock, timeline.step_numbers)


@dataclass(frozen=True)
class ThresholdRule:
    """How predictions are made from scores.

    Attributes
    ----------
    description : str
        For readers: ``"quantile:0.25: the highest share of scores"``. Begins with "oracle" where labels are used.
    signature : str or float
        For signatures: ``"quantile:0.25"``.
    choose : callable
        The threshold for some steps; an array where steps have thresholds of their own.
    strict : bool
        Whether only scores above the threshold are predicted, and not those equal to it.
    """

    description: str
    signature: str | float
    choose: Callable[[ScoredSteps], float | FloatArray]
    strict: bool = False

    @property
    def uses_labels(self) -> bool:
        """Whether the labels decide the threshold, which no detector in use can count on."""
        return self.description.startswith(ORACLE)

    @property
    def sign(self) -> str:
        """How a score must stand to the threshold to be predicted."""
        return ">" if self.strict else ">="

    def predictions(self, scores: FloatArray, level: float | FloatArray) -> BoolArray:
        """Predict the steps at or above the level, or above it; in double precision, as `apply_threshold` does."""
        if scores.dtype.kind != "f" or not isinstance(level, (float, np.ndarray)):
            return at_least(scores, level, strict=self.strict)
        exact = np.asarray(level, dtype=np.float64)
        return scores > exact if self.strict else scores >= exact


def threshold_rule(threshold: float | str | ThresholdRule, train_scores: npt.ArrayLike | None = None) -> ThresholdRule:
    """Read a threshold: a number, or the name of a rule with an optional figure.

    Parameters
    ----------
    threshold : float, str or ThresholdRule
        What the user gave; a rule is returned as it is.
    train_scores : array-like of float, optional
        Scores of the training steps, which the rules that begin with ``train-`` need and no other takes.

    Raises
    ------
    ValueError
        If it is no threshold, or training scores are given and not needed.

    Examples
    --------
    >>> rule = threshold_rule("quantile:0.25")
    >>> rule.description, rule.choose(ScoredSteps(np.zeros(5, dtype=bool), np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    ('quantile:0.25: the highest share of scores', 4.0)
    >>> [threshold_rule(each).signature for each in ("quantile", "oracle", 0.5)]
    ['quantile:0.01', 'oracle:point_f1', 0.5]
    """
    if isinstance(threshold, ThresholdRule):
        return threshold
    if train_scores is not None and not uses_training_scores(threshold):
        raise ValueError(
            f"train_scores are for the rules {TRAIN!r} and {TRAIN_TEST!r}; the threshold is {in_words(threshold)}"
        )
    if not isinstance(threshold, str):
        number = _given_number(threshold)
        return ThresholdRule("given", number, lambda _steps: number)
    name, _, figure = threshold.partition(":")
    if name == ORACLE and not figure:
        return ThresholdRule(
            "oracle: best point F1",
            f"{ORACLE}:point_f1",
            lambda steps: _best_point_f1(steps.labels.ravel(), steps.scores.ravel()),
        )
    if name == ALARMS:
        return _alarm_rule(threshold, figure)
    if name in TRAINING_RULES:
        return training_rule(threshold, train_scores)
    if name not in THRESHOLD_RULES:
        known = ", ".join(map(repr, (ORACLE, *THRESHOLD_RULES, *TRAINING_RULES, "alarms:2/1d")))
        message = f"threshold must be a number or one of {known}; got {in_words(threshold)}"
        raise ValueError(f"{message}; a figure may follow, as in 'quantile:0.01'")
    what, function, parameter = THRESHOLD_RULES[name]
    given = _figure(threshold, figure)
    options = {} if given is None else {parameter: given}
    used = inspect.signature(function).parameters[parameter].default if given is None else given
    return ThresholdRule(
        f"{threshold}: {what}",
        f"{name}:{value_text(float(used))}",
        lambda steps: function(_present(steps.scores), **options),
    )


def training_rule(threshold: str, train_scores: npt.ArrayLike | None) -> ThresholdRule:
    """Read a rule that looks at training scores; one without any can be named, but chooses nothing.

    Examples
    --------
    >>> rule = training_rule("train-test-quantile:0.25", [1, 2, 3])
    >>> rule.signature, rule.sign, rule.choose(ScoredSteps(np.zeros(2, dtype=bool), np.array([5.0, 4.0])))
    ('train-test-quantile:0.25', '>', 4.0)
    """
    name, share = share_of(threshold)

    def level(steps: ScoredSteps) -> float:
        if train_scores is None:
            raise ValueError(
                f"threshold {in_words(threshold)} needs the scores of the training steps: pass train_scores, or "
                "use a score "
                f"file that `pateval detect` wrote"
            )
        if name == TRAIN:
            return quantile_threshold(train_scores, fraction=share)
        return quantile_threshold(_present(steps.scores), fraction=share, train_scores=train_scores)

    return known_level(threshold, level)


def known_level(threshold: str, level: Callable[[ScoredSteps], float | FloatArray]) -> ThresholdRule:
    """Return a rule on training scores whose level was found elsewhere, such as in a score file."""
    name, share = share_of(threshold)
    return ThresholdRule(f"{threshold}: {TRAINING_RULES[name]}", f"{name}:{value_text(share)}", level, strict=True)


def share_of(threshold: str) -> tuple[str, float]:
    """Name and share of a rule that looks at training scores.

    Examples
    --------
    >>> share_of("train-quantile:0.02"), share_of("train-quantile")
    (('train-quantile', 0.02), ('train-quantile', 0.01))
    """
    name, _, figure = threshold.partition(":")
    share = _figure(threshold, figure)
    return name, _DEFAULT_SHARE if share is None else checked_fraction(
        share, f"the share of threshold {in_words(threshold)}"
    )


def uses_training_scores(threshold: object) -> bool:
    """Tell whether a threshold is a rule that looks at training scores.

    Examples
    --------
    >>> uses_training_scores("train-quantile:0.01"), uses_training_scores("quantile:0.01"), uses_training_scores(0.5)
    (True, False, False)
    """
    return isinstance(threshold, str) and threshold.partition(":")[0] in TRAINING_RULES


def check_threshold(threshold: float | str) -> float | str:
    """Refuse what is no threshold before any work is done, by trying it out."""
    rule = threshold_rule(threshold)
    if uses_training_scores(threshold):
        return threshold
    times = Clock(np.arange(1000) * 3600 * 10**9, 1)
    rule.choose(ScoredSteps(np.arange(1000) >= 990, np.arange(1000.0), None, times))
    return threshold if isinstance(threshold, str) else _given_number(threshold)


def _given_number(threshold: object) -> float:
    """Check a threshold that is a number: a float, or an integer where that is none."""
    if not isinstance(threshold, (bool, np.bool_)) and isinstance(threshold, Real):
        try:
            number = float(threshold)
        except OverflowError:
            number = math.nan
        if isinstance(threshold, Integral) and number != threshold:
            return int(threshold)
        if math.isfinite(number):
            return number
    raise ValueError(f"threshold must be a finite number or the name of a rule; got {in_words(threshold)}")


def _alarm_rule(threshold: str, figure: str) -> ThresholdRule:
    alarms, per = read_alarm_rate(figure, threshold)
    unit = f"{per} steps" if isinstance(per, int) else per
    what = "alarm" if alarms == 1 else "alarms"

    def level(steps: ScoredSteps) -> float:
        if steps.scores.ndim > 1:
            raise ValueError(f"threshold {in_words(threshold)} needs one score per step; these are steps by channels")
        return alarm_rate_level(steps.scores, alarms, per, steps.starts, steps.clock)

    return ThresholdRule(
        f"{threshold}: at most {value_text(alarms)} {what} in {unit}", f"{ALARMS}:{value_text(alarms)}/{per}", level
    )


def _best_point_f1(labels: BoolArray, scores: FloatArray) -> float:
    gaps = scores == -np.inf
    if not gaps.any():
        return best_threshold(labels, scores).threshold
    return best_threshold(labels, np.where(gaps, np.nan, scores), missing="normal").threshold


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
