"""Labels of steps by channels on a clock, with steps left out and scores that are missing."""

from __future__ import annotations

import numpy as np
import pytest

import pateval as pv

RANDOM = np.random.default_rng(4)
LABELS = np.zeros((40, 3), dtype=int)
LABELS[5:9, 0] = LABELS[7:12, 2] = LABELS[25:30, 1] = LABELS[31:33, 1] = 1
SCORES = (RANDOM.random(LABELS.shape) + LABELS / 3).round(2)
HOLES = SCORES.copy()
HOLES[6, 0] = HOLES[8, 1] = HOLES[20, 2] = HOLES[26] = np.nan
RULES = ("oracle", "standard-deviation:2", "quantile:0.2")
ALL = ["channel_hit_rate", "channel_ndcg", "affected_channels_f1", "affected_channels_f_beta"]


@pytest.mark.parametrize("metric", [pv.channel_hit_rate, pv.channel_ndcg])
def test_missing_scores_of_channels(metric):
    whole = ~np.isnan(HOLES).any(axis=1)
    assert metric(LABELS, HOLES, missing="ignore") == metric(LABELS[whole], HOLES[whole])
    # Below all others of its step, and tied with those that are missing, too.
    assert metric(LABELS, HOLES, missing="normal") == metric(LABELS, np.where(np.isnan(HOLES), -1.0, HOLES))
    with pytest.raises(ValueError, match=r"found NaN at step 6, channel 0 .*: pass missing='ignore'"):
        metric(LABELS, HOLES)
    with pytest.raises(pv.UndefinedMetricError, match="every step lacks the score of a channel"):
        metric(LABELS, np.full(LABELS.shape, np.nan), missing="ignore")


def test_evaluate_leaves_steps_out_in_all_channels():
    ignore = np.zeros(40, dtype=int)
    ignore[[7, 30, 39]] = 1
    labels = LABELS.astype(float)
    labels[39, 1] = np.nan  # an ignored step needs no label
    found = pv.evaluate(labels, SCORES, metrics=ALL, ignore=ignore, chance=2)
    expected = pv.evaluate(LABELS[ignore == 0], SCORES[ignore == 0], metrics=ALL, chance=0)
    assert dict(found) == dict(expected)
    assert found.steps.ignored == 3
    assert found.signature("channel_ndcg").count("|ignored:mask|") == 1
    # Steps 25 to 29 and 31 to 32 are two events, and one where the step between them was never recorded.
    assert found.steps.events == 3
    assert any("29 and 31" in note for note in found.notes)
    assert set(found.chance) == set(ALL)
    predictions = SCORES > 0.8
    kept = pv.evaluate(LABELS[ignore == 0], None, predictions[ignore == 0], metrics=ALL[2:], chance=0)
    left = pv.evaluate(LABELS, None, predictions, metrics=ALL[2:], ignore=ignore, chance=2)
    assert dict(left) == dict(kept)
    assert set(left.chance) == set(ALL[2:])


def test_evaluate_with_missing_scores_of_channels():
    whole = ~np.isnan(HOLES).any(axis=1)
    found = pv.evaluate(LABELS, HOLES, metrics=ALL, missing="ignore", chance=0)
    assert dict(found) == dict(pv.evaluate(LABELS[whole], HOLES[whole], metrics=ALL, chance=0))
    assert found.notes[0] == "4 of 40 steps lack the score of a channel (coverage 90.0 %): such steps are left out"
    normal = pv.evaluate(LABELS, HOLES, metrics=ALL, threshold=0.8, missing="normal", chance=0)
    predicted = np.nan_to_num(HOLES, nan=-1.0) >= 0.8
    assert normal["affected_channels_f1"] == pv.affected_channels(LABELS, predicted).f1
    assert normal["channel_ndcg"] == pv.channel_ndcg(LABELS, HOLES, missing="normal")
    assert "such channels are never predicted there" in normal.notes[0]
    assert normal.threshold == 0.8
    rules = [pv.evaluate(LABELS, HOLES, metrics=ALL[2:], threshold=rule, missing="normal") for rule in RULES]
    assert not any(each.reasons for each in rules)


def test_the_clock_of_channels():
    times = np.arange("2026-01-01", "2026-01-01T00:40", dtype="datetime64[m]")
    found = pv.evaluate(LABELS, SCORES, metrics=ALL, times=times, max_gap="1h", chance=0)
    assert dict(found) == dict(pv.evaluate(LABELS, SCORES, metrics=ALL, chance=0))
    assert found.notes == ("max_gap=1h parts events and zones of PATE only; to the other metrics a series stays one",)
    with pytest.raises(ValueError, match="times must increase"):
        pv.evaluate(LABELS, SCORES, metrics=ALL, times=times[::-1])
    with pytest.raises(ValueError, match="ignore must be one-dimensional"):
        pv.evaluate(LABELS, SCORES, ignore=LABELS)
    with pytest.raises(ValueError, match="same steps and channels; got 40 x 3 and 39 x 3"):
        pv.evaluate(LABELS, SCORES[1:], missing="ignore")
