"""Rules of one line that need no detector: a threshold on the value, on its steps, or on its moving deviation.

A benchmark that such a rule solves tells no two detectors apart (Wu and Keogh, "Current Time Series Anomaly Detection
Benchmarks are Flawed and are Creating the Illusion of Progress", arXiv:2009.13807).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from pateval.labels.events import Events, marked, runs
from pateval.rules import FloatArray, absolute_difference, distance_to_moving_mean, moving_deviation
from pateval.validation.arrays import BoolArray

_WINDOWS = (20, 100)
KINDS = 3
"""Kinds of rules; those of one kind are so alike that they count as one try."""


class Rule(NamedTuple):
    """A score made of one column in one line."""

    expression: str  # what is compared with the threshold, as one writes it, with {x} for the column
    sign: int  # 1 where it is flagged from the threshold on; -1 where below, so that the score is the negative
    reach: int  # steps to both sides that the score of a step depends on
    measure: Callable[[FloatArray], FloatArray]  # column to what is compared

    def score(self, values: FloatArray) -> FloatArray:
        """Scores of a column, higher being more anomalous."""
        return self.sign * self.measure(values)


def _rules() -> Iterator[Rule]:
    yield Rule("{x}", 1, 0, lambda values: values)
    yield Rule("{x}", -1, 0, lambda values: values)
    yield Rule("abs(diff({x}))", 1, 1, absolute_difference)
    for window in _WINDOWS:
        half, deviation = window // 2, partial(moving_deviation, window=window)
        yield Rule(f"abs({{x}} - movmean({{x}}, {window}))", 1, half, partial(distance_to_moving_mean, window=window))
        yield Rule(f"movstd({{x}}, {window})", 1, half, deviation)
        yield Rule(f"movstd({{x}}, {window})", -1, half, deviation)


RULES = tuple(_rules())
"""All rules that are tried on every column."""


@dataclass(frozen=True)
class RuleResult:
    """How far one rule gets on one column."""

    rule: Rule
    column: int
    threshold: float  # as the rule has it
    # Of the events found and the alarms outside them, the better of two thresholds: the highest that finds every event,
    # and the lowest without a false alarm.
    f1: float
    # By how much the weakest event found stands out above everything outside, as a share of what the outside itself
    # stands out above its median; 0 or less where it does not.
    margin: float
    # Probability that scores without any relation to the labels solve this in one try and stand out as far: that of a
    # random order, times that of so high a margin if scores have exponential tails. Where nothing varies outside
    # events, that all episodes of a score happen to lie in them.
    luck: float

    @property
    def merit(self) -> tuple[float, float]:
        """How good the rule is; margins beyond one are as good as each other."""
        return self.f1, min(self.margin, 1.0)

    def text(self, name: str) -> str:
        """The rule with its threshold, for a named column."""
        sign = ">=" if self.rule.sign > 0 else "<="
        return f"{self.rule.expression.format(x=name)} {sign} {self.threshold + 0.0:.4g}"  # no negative zero


def try_rule(rule: Rule, column: int, scores: FloatArray, events: Events) -> RuleResult:
    """Measure how well a rule, whose scores of a column are given, finds the events of a series.

    An event counts as found where the score reaches the threshold in it, or as near to it as the rule reaches; an alarm
    is a run of steps at or above the threshold that lies farther away from every event.
    """
    starts, stops = np.maximum(events.starts - rule.reach, 0), np.minimum(events.stops + rule.reach, scores.size)
    near = marked(starts, stops, scores.size)
    # The widened events in turn with what lies between them, for a reduction over each; they may overlap.
    peaks = np.maximum.reduceat(np.append(scores, -np.inf), np.stack([starts, stops], axis=1).ravel())[::2]
    outside = scores[~near]
    if not outside.size:
        return RuleResult(rule, column, float(rule.sign * peaks.min()), 0.0, 0.0, 1.0)
    highest, middle = float(outside.max()), float(np.median(outside))
    silent = peaks[peaks > highest]
    without_alarms = 2 * silent.size / (silent.size + len(events))
    complete = float(peaks.min())
    alarms = runs((scores >= complete) & ~near)[0].size
    with_all = 2 * len(events) / (2 * len(events) + alarms)
    if without_alarms >= with_all:
        weakest = float(silent.min())
        threshold, f1 = (weakest + highest) / 2, without_alarms
    else:
        weakest = threshold = complete
        f1 = with_all
    share = int(near.sum()) / scores.size
    spread = highest - middle
    if spread == 0:
        luck = share ** _episodes(scores >= threshold)
        return RuleResult(rule, column, float(rule.sign * threshold), float(f1), float(weakest > highest), luck)
    margin = (weakest - highest) / spread
    # The highest of n independent excursions with exponential tails lies log(n) scales up, so a further gap of
    # ``margin`` times that has probability n ** -margin.
    excursions = max(2, runs((scores >= middle) & ~near)[0].size)
    luck = chance_of_solving(share, len(events)) * excursions ** -max(margin, 0.0)
    return RuleResult(rule, column, float(rule.sign * threshold), float(f1), margin, luck)


def chance_of_solving(share: float, events: int) -> float:
    """Probability that every event has a higher score than all that lies outside, for scores in random order.

    ``share`` is that of the steps in or near events, which are taken to be equally long.
    """
    of_one_event, rest = share / events, 1 - share
    numbers = np.arange(1, events + 1)
    return float(np.prod(numbers * of_one_event / (rest + numbers * of_one_event)))


def _episodes(flagged: BoolArray) -> int:
    """Count stretches of flagged steps; what lies within the longest window of each other is one episode."""
    starts, stops = runs(flagged)
    return 1 + int(np.count_nonzero(starts[1:] - stops[:-1] > max(_WINDOWS)))
