"""Newer metrics with one function each: their oracles by hand, and their options under hypothesis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import affiliation, confidence_consistency, operator_interest, point_adjusted, szcore
from oracles import soft_event as soft
from support.messages import raises_exactly
from support.strategies import labels_and_predictions, labels_and_scores

# --- affiliation, measured from chance ---


@pytest.mark.parametrize("name", ["normalised_affiliation", "unbiased_affiliation"])
@given(pair=labels_and_predictions())
def test_affiliation_above_chance(name, pair):
    if name == "unbiased_affiliation" and pair[0].all():
        with pytest.raises(pv.UndefinedMetricError, match="every step is anomalous"):
            pv.unbiased_affiliation(*pair)
        return
    found, expected = getattr(pv, name)(*pair), getattr(affiliation, name)(*pair)
    assert found == pytest.approx(expected, abs=1e-12)


def test_affiliation_above_chance_by_hand():
    # One event of two steps in eight: chance is (1 + 1/16) / 2. A precision of 13/16 is 9/15 of the way to 1 ...
    labels, predictions = [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]
    assert affiliation.unbiased_affiliation(labels, predictions)[0] == pytest.approx((13 / 16 - 17 / 32) / (15 / 32))
    assert affiliation.unbiased_affiliation(labels, [1] * 8) == pytest.approx((0, 1, 0))
    # ... and below one half, F takes the sign of the precision.
    assert affiliation.above(0.25, 1.0, 0.5) == (-0.5, 1.0, pytest.approx(-2 / 3))


def test_chance_is_what_random_flags_tend_to():
    labels = np.zeros(2000, dtype=int)
    labels[300:350] = labels[1200:1500] = 1
    rng = np.random.default_rng(3)
    values = [pv.unbiased_affiliation(labels, rng.random(2000) > 0.98).precision for _ in range(60)]
    assert abs(np.mean(values)) < 0.05


def test_near_all_anomalous_it_is_ill_conditioned():
    labels = np.ones(1000, dtype=int)
    labels[-1] = 0
    only_wrong = 1 - labels
    assert pv.unbiased_affiliation(labels, only_wrong).precision < -900


# --- the operator's interest ---

LENGTHS = st.integers(0, 12) | st.just("auto")


@given(labels_and_predictions(max_size=25), LENGTHS, LENGTHS, st.floats(0, 1))
def test_operator_interest(pair, discovery, observation, bound):
    labels, predictions = (part.tolist() for part in pair)
    expected = operator_interest.operator_interest(labels, predictions, discovery, observation, bound)
    options = {"discovery": discovery, "observation": observation, "bound": bound}
    assert pv.operator_interest(*pair, **options) == pytest.approx(expected, abs=1e-12)


def test_operator_interest_by_hand():
    # Two runs two steps apart are one alert; the interest fades over two steps after the last.
    half = operator_interest.fade(1, 2)
    assert half == pytest.approx((1 / 2) / (1 / (1 + math.exp(-5))))
    found = operator_interest.curve([1, 0, 1, 0, 0], 0, 2, 0.5)
    end = (1 + math.exp(-5)) / (1 + math.exp(5))
    assert found == pytest.approx([1, 0.5 * half, 0.5, 0.5 * half, 0.5 * end, 0, 0])
    # Three steps apart, a new one.
    assert operator_interest.curve([1, 0, 0, 1], 0, 2, 0.5)[3] == 1


def test_operator_interest_long_after_is_nothing():
    labels = np.ones(800, dtype=int)
    found = pv.operator_interest(labels, labels, discovery=1, observation=1, bound=0.0)
    assert found == (1, 1, 1)
    for option, value in [("discovery", "automatic"), ("observation", -1), ("bound", 2), ("bound", "auto")]:
        with pytest.raises((ValueError, TypeError), match=f"{option} must be"):
            pv.operator_interest(labels, labels, **{option: value})


# --- confidence and consistency ---


@given(labels_and_scores())
def test_confidence_consistency(pair):
    labels, scores = pair
    if labels.all():
        with pytest.raises(pv.UndefinedMetricError, match="every step is anomalous"):
            pv.confidence_consistency(labels, scores)
        return
    expected = confidence_consistency.confidence_consistency(labels.tolist(), scores.tolist())
    assert pv.confidence_consistency(labels, scores) == pytest.approx(expected, abs=1e-12)


def test_confidence_consistency_by_hand():
    # The event's values 1 and 0.5: mean 3/4, variance 1/16; both normal runs are at 0.
    event = (3 / 4 - 1 / 2) * math.exp(-1 / 16)
    labels, scores = [0, 1, 1, 0], [2.0, 4.0, 3.0, 2.0]
    found = confidence_consistency.confidence_consistency(labels, scores)
    assert found == pytest.approx((event + event + 1 / 2 + 1 / 2) / 2)


def test_confidence_consistency_of_huge_scores():
    expected = pv.confidence_consistency([0, 1, 1, 0], [-1, 1, 0.5, -1])
    assert pv.confidence_consistency([0, 1, 1, 0], np.array([-1, 1, 0.5, -1]) * 1.7e308) == pytest.approx(expected)
    squeezed = pv.confidence_consistency([0, 1, 1, 0, 0], [0, 1, 1, 0, 1e6])
    assert squeezed < 0.3 < pv.confidence_consistency([0, 1, 1, 0, 0], [0, 1, 1, 0, 0])


# --- balanced point adjustment ---


@given(labels_and_predictions(), st.integers(0, 9) | st.just(10**30))
def test_balanced_point_adjusted(pair, width):
    expected = point_adjusted.balanced_point_adjusted(*pair, width)
    assert pv.balanced_point_adjusted(*pair, width=width) == pytest.approx(expected, abs=1e-12)


@given(labels_and_predictions())
def test_without_width_it_is_point_adjustment(pair):
    assert pv.balanced_point_adjusted(*pair, width=0) == pytest.approx(pv.point_adjusted(*pair), abs=1e-12)


def test_balanced_point_adjusted_by_hand():
    labels = [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    # Inside: the event is filled, and one step spills out. Just outside: one step spills in, and fills nothing.
    assert point_adjusted.spread(labels, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0], 1) == {2, 3, 4, 5}
    assert point_adjusted.spread(labels, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0], 1) == {4, 5, 6}
    assert point_adjusted.spread(labels, [0] * 9 + [1], 2) == {7, 8, 9}


# --- soft events ---


@given(labels_and_predictions(), st.sampled_from([1, 1.5, 2, 3, 5, 7.25, 15, 1000]))
def test_soft_event(pair, tolerance):
    expected = soft.soft_event(*pair, tolerance)
    assert pv.soft_event(*pair, tolerance=tolerance) == pytest.approx(expected, abs=1e-12)


def test_soft_event_by_hand():
    # Both detections are two steps from event 10, and 12 is as near to 14. Event 10 takes the earlier, 14 takes 12.
    assert soft.detection_scores([10, 14], [8, 12], 5) == pytest.approx({8: 0.6, 12: 0.6})
    # In the mirror 7 goes to both events, the earlier takes it, and so does the later: 11 is as near, but comes later.
    assert soft.detection_scores([5, 9], [7, 11], 5) == pytest.approx({7: 0.6, 11: 0.0})


def test_reversing_time_can_change_soft_events():
    labels, predictions = np.zeros(20, dtype=int), np.zeros(20, dtype=int)
    labels[[10, 14]] = predictions[[8, 12]] = 1
    assert pv.soft_event(labels, predictions, tolerance=5).f1 == pytest.approx(0.6)
    assert pv.soft_event(labels[::-1], predictions[::-1], tolerance=5).f1 == pytest.approx(0.3)
    with raises_exactly(ValueError, "tolerance must be a finite number, 1 or more; got 0.5"):
        pv.soft_event(labels, predictions, tolerance=0.5)


# --- seizures ---

SEIZURES = st.fixed_dictionaries(
    {
        "start_tolerance": st.integers(0, 6) | st.just(10**30),
        "end_tolerance": st.integers(0, 6) | st.just(10**30),
        "minimum_overlap": st.sampled_from([0.0, 0.25, 0.5, 0.99]),
        "maximum_length": st.integers(1, 9) | st.just(300),
        "minimum_gap": st.integers(0, 6) | st.just(90),
    }
)


@given(labels_and_predictions(with_anomaly=False), SEIZURES)
def test_szcore(pair, options):
    expected = szcore.szcore_false_alarm_rate(*pair, 3600, **options)
    assert pv.szcore_false_alarm_rate(*pair, per=3600, **options) == pytest.approx(expected, abs=1e-12)
    if pair[0].any():
        expected = szcore.szcore_event(*pair, **options)
        assert pv.szcore_event(*pair, **options) == pytest.approx(expected, abs=1e-12)


def test_szcore_by_hand():
    assert szcore.merged([1, 0, 1, 0, 0, 1], 2) == [[0, 3], [5, 6]]  # a gap of two is not below two
    assert szcore.pieces([1, 1, 1, 1, 1, 0], 0, 2) == [{0, 1}, {2, 3}, {4}]
    labels, predictions = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    options = {"start_tolerance": 1, "end_tolerance": 2, "minimum_gap": 3}
    # Widened to steps 2 to 6: one alarm in it, one outside.
    assert szcore.counts(labels, predictions, **options) == (1, 1, 0)
    assert szcore.counts(labels, predictions, **options, minimum_overlap=0.2) == (0, 2, 1)  # one of five is not above


def test_szcore_options_are_checked():
    for option, value in [
        ("minimum_overlap", 1),
        ("minimum_overlap", -0.1),
        ("maximum_length", 0),
        ("minimum_gap", -1),
        ("start_tolerance", 1.5),
        ("end_tolerance", None),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"{option} must be"):
            pv.szcore_event([0, 1], [0, 1], **{option: value})
    with raises_exactly(ValueError, "per must be a positive integer; got 0"):
        pv.szcore_false_alarm_rate([0, 1], [0, 1], per=0)


@pytest.mark.parametrize(("start", "stop", "false"), [(60, 70, 1), (60, 71, 0), (169, 180, 0), (170, 180, 1)])
def test_szcore_widens_by_30_and_60_steps_unless_told_otherwise(start, stop, false):
    labels, predictions = np.zeros((2, 1000), dtype=int)
    labels[100:110], predictions[start:stop] = 1, 1
    assert pv.szcore_false_alarm_rate(labels, predictions, per=1000) == false
    assert pv.szcore_event(labels, predictions).precision == 1 - false


@pytest.mark.parametrize(("gap", "false"), [(89, 1), (90, 2)])
def test_szcore_joins_what_is_less_than_90_steps_apart_unless_told_otherwise(gap, false):
    labels, predictions = np.zeros((2, 1000), dtype=int)
    labels[:10], predictions[[500, 501 + gap]] = 1, 1
    assert pv.szcore_false_alarm_rate(labels, predictions, per=1000) == false
