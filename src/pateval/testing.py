"""Tests of detectors for your own test suite: better than chance, and not worse than before.

>>> import numpy as np
>>> from pateval.testing import assert_better_than_chance
>>> assert_better_than_chance([0, 0, 1, 1, 0, 0, 0, 1, 0, 0] * 3, [0, 0, 1, 1, 0, 0, 0, 1, 0, 0] * 3)
0.01
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.gate import REQUIRE, GateResult, decide, metric_evidence, score_pairs
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import values_of
from pateval.time.clocks import Duration
from pateval.time.timelines import read_recording
from pateval.validation.arrays import Buffers, choice
from pateval.validation.arrays import fraction as checked_fraction

_CHANCE_DRAWS = 99  # a value that no draw reaches is then the best of a hundred


def assert_not_worse(
    labels: npt.ArrayLike,
    base: npt.ArrayLike,
    new: npt.ArrayLike,
    *,
    metric: str = "pate_ap",
    margin: float = 0.01,
    alpha: float = 0.05,
    require: str = "not-worse",
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    threshold: float | str = "oracle",
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> GateResult:
    """Fail unless a new detector is shown to be no worse than the base by more than a margin.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    base, new : array-like of float
        Scores of the two detectors, higher is more anomalous.
    metric : str
        What to compare them by.
    margin : float
        How much worse the new one may be.
    alpha : float
        How often a new one that is worse by the margin may pass by luck.
    require : {"not-worse", "better"}
        What to ask for.
    early, delay, threshold, series, times, time_unit, max_gap, ignore, missing
        As in `evaluate`.

    Returns
    -------
    GateResult
        What the data say, where the assertion holds.

    Raises
    ------
    AssertionError
        Saying by how much the two differ, and how sure that is.

    Examples
    --------
    >>> labels = np.tile([0] * 20 + [1] * 5, 8)
    >>> noise = np.random.default_rng(0).random(labels.size)
    >>> assert_not_worse(labels, labels + noise, labels + noise).passed
    True
    >>> assert_not_worse(labels, labels + noise, noise, early=5, delay=5)
    Traceback (most recent call last):
        ...
    AssertionError: stopped: the new one may be worse (pate_ap -0.5213 on 8, p 1, at 0.05)
    """
    choice(require, "require", REQUIRE)
    measures = Measures.of_keywords(locals(), metrics=metric, chance=0)
    steps: dict[str, Any] = {"series": series, "times": times, "time_unit": time_unit, "max_gap": max_gap}
    pair = [read_recording(labels, scores, ignore=ignore, missing=missing, **steps) for scores in (base, new)]
    checked_fraction(alpha, "alpha")
    evidence = metric_evidence(score_pairs(pair, measures), margin=margin, alpha=alpha)
    result = decide(evidence, require, alpha)
    if not result.passed:
        raise AssertionError(result.sentence())
    return result


def assert_better_than_chance(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    metric: str = "pate_ap",
    alpha: float = 0.05,
    draws: int = _CHANCE_DRAWS,
    seed: int = 0,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    threshold: float | str = "oracle",
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    """Fail unless a detector is better than random scores are, beyond luck.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : array-like of float
        The detector's scores, higher is more anomalous.
    metric : str
        What to judge it by.
    alpha : float
        Level of the test.
    draws : int
        How many times random scores are drawn; at least 1 / alpha - 1.
    seed : int
        Seed of the draws.
    early, delay, threshold, series, times, time_unit
        As in `evaluate`.

    Returns
    -------
    float
        The p-value: the rank of the value among those of random scores.

    Raises
    ------
    AssertionError
        Saying what the detector and what random scores reach.

    Examples
    --------
    >>> labels = np.tile([0] * 20 + [1] * 5, 8)
    >>> assert_better_than_chance(labels, labels, metric="auc_roc")
    0.01
    >>> assert_better_than_chance(labels, np.arange(labels.size), metric="auc_roc")
    Traceback (most recent call last):
        ...
    AssertionError: auc_roc is 0.5625; random scores reach 0.5022 in the mean and 0.5777 one time in 20: ...
    """
    checked_fraction(alpha, "alpha")
    if (draws + 1) * alpha < 1:
        raise ValueError(f"draws must be at least {math.ceil(1 / alpha) - 1} for alpha={alpha}; got {draws}")
    measures = Measures.of(metrics=metric, early=early, delay=delay, threshold=threshold, chance=0)
    if len(measures.metrics) != 1:
        raise ValueError("name one metric; to test several, assert each of them")
    sign = 1 if measures.metrics[0].higher_is_better else -1
    generator = np.random.default_rng(seed)
    recording = read_recording(labels, scores, series=series, times=times, time_unit=time_unit)
    tried = [recording, *(replace(recording, scores=generator.random(len(recording.labels))) for _ in range(draws))]
    name = measures.ids[0]
    values = [float(np.nanmean([values_of(part, measures)[name].value for part in one.parts()])) for one in tried]
    value, chance = values[0], np.array(values[1:])
    p_value = (1 + int(np.count_nonzero(sign * chance >= sign * value))) / (draws + 1)
    if math.isnan(value) or p_value > alpha:
        best = float(np.quantile(sign * chance, 0.95)) * sign
        raise AssertionError(
            f"{name} is {value:.4f}; random scores reach {chance.mean():.4f} in the mean and {best:.4f} one time in "
            f"20: not better than chance (p {p_value:.2g}, at {alpha:g})"
        )
    return p_value
