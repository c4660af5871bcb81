"""The NAB score."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import nab as oracle
from oracles.runs import runs_of
from pateval.metrics.nab import PROFILES, nab
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@given(labels_and_predictions(max_size=60), st.sampled_from(list(PROFILES)), st.sampled_from([0.0, 0.15, 0.5, 1.0]))
def test_agrees_with_the_definition(pair, profile, probation):
    assume(all(len(event) > 1 for event in runs_of(pair[0])))
    value = nab(*pair, profile=profile, probation=probation)
    assert value == pytest.approx(oracle.nab(*pair, profile, probation), abs=1e-9, rel=1e-12)


def test_by_hand():
    labels = [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    # second of three steps: worth s(-2/3) / s(-1); the alarm two steps after the end, in units of two: s(1)
    worth = (2 / (1 + math.exp(-10 / 3)) - 1) / (2 / (1 + math.exp(-5)) - 1)
    late = [0, 0, 0, 1, 0, 0, 1, 0, 0, 0]
    cost = 0.11 * (2 / (1 + math.exp(5)) - 1)
    assert oracle.nab(labels, late, "standard", 0.0) == pytest.approx(100 * (worth + cost + 1) / 2)
    # missed, and one alarm before any window
    assert oracle.nab(labels, [1] + [0] * 9, "low_fn", 0.0) == pytest.approx(100 * -0.11 / 3)
    # the same alarm in the probation is not scored
    assert oracle.nab(labels, [1] + [0] * 9, "low_fn", 0.15) == 0


def test_long_series_have_a_shorter_probation():
    # 15 percent of 100,000 steps are 15,000, but only the first 750 are not scored
    labels, predictions = np.zeros(100_000, dtype=int), np.zeros(100_000, dtype=int)
    labels[745:755] = predictions[749:751] = 1
    assert nab(labels, predictions) == pytest.approx(oracle_of_one_window(750, 745, 754))


def oracle_of_one_window(detection, first, last):
    return 100 * (oracle.sigma(-(last - detection + 1) / (last - first + 1)) / oracle.sigma(-1) + 1) / 2


@pytest.mark.parametrize("name", ["nab", "event"])
def test_golden(name):
    compared = 0
    for parameter in prediction_cases(name):
        case = parameter.values[0]
        for profile in PROFILES:
            for probation in (0, 0.15):
                key = f"nab_{profile}_norm[prob={probation}]"
                if key not in case.metrics:
                    continue
                if not case.labels.any() or any(len(event) == 1 for event in runs_of(case.labels)):
                    with pytest.raises(UndefinedMetricError):
                        nab(case.labels, case.predictions, profile=profile, probation=probation)
                    continue
                value = nab(case.labels, case.predictions, profile=profile, probation=probation)
                assert value == pytest.approx(case.metrics[key], abs=1e-9, rel=0), parameter.id
                compared += 1
    assert compared == {"nab": 396, "event": 164}[name]


def test_events_of_one_step_are_refused():
    with raises_exactly(
        UndefinedMetricError,
        "the metric is undefined: NAB needs events of at least two steps, and the one at index 4 has one",
    ):
        nab([0, 1, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [("profile", "strict", ValueError), ("probation", 1.5, ValueError), ("probation", "15%", TypeError)],
)
def test_options_are_checked(option, value, error):
    with pytest.raises(error, match=f"{option} must be"):
        nab([0, 1, 1], [0, 1, 1], **{option: value})
