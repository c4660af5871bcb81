"""Events that count for some points each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import event_weighted as oracle
from support.strategies import labels_and_predictions, labels_and_scores

WEIGHTS = st.sampled_from(["log", "sqrt", "one", "length"])
OPTIONS = st.fixed_dictionaries(
    {"weight": WEIGHTS, "base": st.integers(2, 12), "delay": st.none() | st.integers(0, 10) | st.just(10**30)}
)


@given(labels_and_predictions(), OPTIONS)
def test_predictions_agree_with_the_definition(pair, options):
    assert pv.event_weighted(*pair, **options) == pytest.approx(oracle.event_weighted(*pair, **options), abs=1e-12)


@pytest.mark.parametrize("name", ["event_weighted_best_f1", "event_weighted_average_precision"])
@given(pair=labels_and_scores(), options=OPTIONS)
def test_scores_agree_with_the_definition(name, pair, options):
    expected = getattr(oracle, name)(*pair, **options)
    assert getattr(pv, name)(*pair, **options) == pytest.approx(expected, abs=1e-12)


@given(labels_and_scores())
def test_point_adjusted_area_is_that_of_lengths(pair):
    assert pv.pa_average_precision(*pair) == pytest.approx(oracle.pa_average_precision(*pair), abs=1e-12)
    by_length = pv.event_weighted_average_precision(*pair, weight="length")
    assert pv.pa_average_precision(*pair) == by_length


@given(labels_and_predictions())
def test_by_length_and_in_any_time_it_is_point_adjustment(pair):
    assert pv.event_weighted(*pair, weight="length") == pytest.approx(pv.point_adjusted(*pair), abs=1e-12)


def test_by_hand():
    # Base 3: 3**1 <= 1 + 3 < 3**2 <= 6 + 3, and 3**5 <= 240 + 3, where a logarithm of floats gives 4.999...
    assert [oracle.points(length, "log", 3) for length in (1, 5, 6, 23, 24, 239, 240)] == [1, 1, 2, 2, 3, 4, 5]
    assert [oracle.points(length, "sqrt", 3) for length in (1, 3, 4, 8, 9)] == [1, 1, 2, 2, 3]
    labels, predictions = [1, 1, 1, 1, 1, 1, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0, 1, 0]
    assert oracle.counts(labels, predictions, "log", 3, None) == (2, 1, 1)
    assert oracle.counts(labels, predictions, "log", 3, 1) == (0, 1, 3)  # late: neither right nor wrong
    # Scores 5 4 | 3 | 2: first event at 5 (P 1, R 1/2), a false alarm at 4, the second event at 3 (P 2/3, R 1).
    labels, scores = [1, 0, 1, 0], [5, 4, 3, 2]
    assert oracle.event_weighted_best_f1(labels, scores) == pytest.approx(4 / 5)
    assert oracle.event_weighted_average_precision(labels, scores) == pytest.approx(1 / 2 + 1 / 2 * 2 / 3)


def test_powers_are_compared_in_whole_numbers():
    labels = np.ones(240, dtype=int)
    recall = pv.event_weighted(np.append(labels, [0, 1]), np.append(labels, [0, 0])).recall
    assert recall == 5 / 6
    assert pv.event_weighted(np.append(labels, [0, 1]), np.append(labels, [0, 0]), base=10**40).recall == 1 / 2


def test_options_are_checked():
    for option, value in [
        ("base", 1),
        ("base", 2.5),
        ("delay", -1),
        ("delay", 1.0),
        ("weight", "log2"),
        ("weight", None),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"{option} must be"):
            pv.event_weighted([0, 1], [0, 1], **{option: value})
