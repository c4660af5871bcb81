"""Detection quality: zones, pieces, and the parts it is made of."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pateval as pv
from oracles import detection_quality as oracle
from support.strategies import labels_and_predictions, labels_and_scores

NEAR = st.sampled_from([0.5, 1, 2, 2.5, 3, 7.5, 10, 125])


# One far piece on either side of the event, with their middles in one bin: the zones do not begin at whole steps.
@example((np.array([0, 0, 1, 1, 0, 0, 0]), np.array([0, 1, 1, 0, 1, 0, 0])), 0.75)
@example((np.array([1, 0, 0, 0, 0, 1, 0]), np.array([0, 1, 1, 0, 1, 1, 1])), 0.75)
@given(labels_and_predictions(), NEAR)
def test_parts_agree_with_the_definition(pair, near):
    expected = oracle.detection_quality_parts(*(part.tolist() for part in pair), near)
    assert pv.detection_quality_parts(*pair, near=near) == pytest.approx(expected, abs=1e-12)
    assert pv.detection_quality_predictions(*pair, near=near) == pytest.approx(expected[0], abs=1e-12)


@given(labels_and_scores(), NEAR, st.integers(1, 12))
def test_scores_agree_with_the_definition(pair, near, thresholds):
    labels, scores = pair
    if scores.min() < 0 or scores.max() > 1:
        with pytest.raises(pv.UndefinedMetricError, match="it takes scores from 0 to 1; these lie between"):
            pv.detection_quality(labels, scores, near=near, thresholds=thresholds)
        return
    expected = oracle.detection_quality(labels.tolist(), scores.tolist(), near, thresholds)
    assert pv.detection_quality(labels, scores, near=near, thresholds=thresholds) == pytest.approx(expected, abs=1e-12)


def test_zones_by_hand():
    # Events [4, 6) and [9, 10) of 20 steps, near 2: the gap of three holds two near steps of the first event and one
    # of the second, and no far zone.
    events = [(4, 6), (9, 10)]
    assert oracle.zones_of(events, 20, 2) == [((0, 2), (2, 4), (6, 8), (8, 8)), ((8, 8), (8, 9), (10, 12), (12, 20))]
    # Near 1: what is left of the gap, [7, 8), is halved.
    half = Fraction(15, 2)
    assert oracle.zones_of(events, 20, 1)[0][2:] == ((6, 7), (7, half))
    assert oracle.zones_of(events, 20, 1)[1][:2] == ((half, 8), (8, 9))


def test_by_hand():
    labels = [0] * 10 + [1] * 2 + [0] * 8
    # A hit, and a false alarm of one step: far zones [0, 8) and [14, 20), 14 long, one bin of 14 is held.
    predictions = [0] * 10 + [1, 0] + [0] * 6 + [1, 0]
    found = oracle.detection_quality_parts(labels, predictions, 2)
    assert found[1:] == (1, 0, pytest.approx(1 - 1 / 7))
    assert found[0] == pytest.approx(math.sqrt(1 / 2 * (1 - 1 / 7)))
    # Two false alarms hold two bins of 14.
    predictions[0] = 1
    assert oracle.detection_quality_parts(labels, predictions, 2)[3] == pytest.approx(
        (1 - 2 / 7) * (1 - 1 / math.log2(14))
    )
    # Missed, with one near step that touches the event, and one a step away.
    predictions = [0] * 8 + [1, 0, 0, 0, 1] + [0] * 7
    assert oracle.detection_quality_parts(labels, predictions, 2)[1:] == (0, 1 * (1 - 2 / 4), 1)


def test_it_is_not_monotone():
    # As the Warnings say: beside a far false alarm, a wrong step next to the event raises the quality.
    labels = np.zeros(1000, dtype=int)
    labels[500:510] = 1
    hit, wrong = labels.copy(), labels.copy()
    hit[900] = wrong[900] = wrong[499] = 1
    low, high = pv.detection_quality_predictions(labels, hit), pv.detection_quality_predictions(labels, wrong)
    assert (round(low, 3), round(high, 3)) == (0.706, 0.998)


def test_near_as_long_as_the_gaps_rewards_flagging_everything():
    labels = np.zeros(100, dtype=int)
    labels[45:55] = 1
    assert pv.detection_quality_predictions(labels, np.ones(100)) == pytest.approx(0.906, abs=5e-4)


def test_thresholds_are_not_rounded_to_the_type_of_the_scores():
    labels, scores = np.array([0, 1, 0]), np.array([0, 0.1, 0], dtype=np.float32)
    assert float(scores[1]) > 0.1
    assert pv.detection_quality(labels, scores, thresholds=10) == pytest.approx(1 / 10)
    below = np.array([0, 0.7, 0], dtype=np.float32)  # a little less than 0.7
    assert float(below[1]) < 0.7
    assert pv.detection_quality(labels, below, thresholds=10) == pytest.approx(6 / 10)


def test_options_are_checked():
    for near in (0, -1, math.nan, math.inf, "far", None):
        with pytest.raises((ValueError, TypeError), match="near must be a finite number above 0"):
            pv.detection_quality_parts([0, 1], [0, 1], near=near)
    for thresholds in (0, 2.5, None):
        with pytest.raises((ValueError, TypeError), match="thresholds must be"):
            pv.detection_quality([0, 1], [0, 1], thresholds=thresholds)
