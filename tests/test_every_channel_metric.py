"""What holds for every metric on channels: oracle, range, input, edges, and how `evaluate` takes them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings

import pateval as pv
from oracles import affected_channels, channel_ranking
from pateval.catalog import catalogue, find_metrics
from support.messages import raises_exactly
from support.strategies import channel_pairs

METRICS = {name: metric for name, metric in catalogue(channels=True).items() if metric.channels}
FUNCTIONS = {metric.function.__name__: metric for metric in METRICS.values()}
EVERY = pytest.mark.parametrize("name", FUNCTIONS)
ORACLES = {
    name: getattr(channel_ranking if name.startswith("channel_") else affected_channels, name) for name in FUNCTIONS
}
LABELS = [[0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]]
SCORES = [[0.5, 0.0, 0.25], [0.875, 0.25, 0.5], [0.5, 0.75, 0.125], [0.125, 0.25, 0.0], [0.25, 0.0, 0.5]]
PREDICTIONS = [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
SECOND = {"scores": SCORES, "predictions": PREDICTIONS}


def call(name, labels, second, **options):
    return FUNCTIONS[name].function(labels, second, **options)


def second_of(name):
    return SECOND[FUNCTIONS[name].takes]


def test_all_are_here():
    assert set(FUNCTIONS) == {"affected_channels", "affected_channels_f_beta", "channel_hit_rate", "channel_ndcg"}


@EVERY
def test_agrees_with_its_oracle_and_stays_in_range(name):
    @settings(max_examples=100)
    @given(channel_pairs(scores=FUNCTIONS[name].takes == "scores"))
    def check(pair):
        found = call(name, *pair)
        assert found == pytest.approx(ORACLES[name](*(part.tolist() for part in pair)), abs=1e-12)
        assert np.all(np.array(found) >= -1e-12)
        assert np.all(np.array(found) <= 1 + 1e-12)
        assert call(name, pair[0], pair[0]) == pytest.approx((1, 1, 1) if FUNCTIONS[name].field else 1, abs=1e-12)

    check()


@EVERY
def test_containers_and_types_agree(name):
    expected = call(name, LABELS, second_of(name))
    for make in (np.array, pd.DataFrame, lambda v: pl.DataFrame(v, orient="row"), torch.tensor, np.asfortranarray):
        assert call(name, make(LABELS), make(second_of(name))) == expected
    for kind in (bool, np.uint8, np.float32):
        assert call(name, np.array(LABELS, dtype=kind), second_of(name)) == expected
    labels, second = np.array(LABELS), np.array(second_of(name))
    labels.flags.writeable = second.flags.writeable = False
    assert call(name, labels, second) == expected


@EVERY
def test_bad_input(name):
    second = FUNCTIONS[name].takes
    for labels, values, message in [
        ([0, 1, 1], second_of(name), r"labels must be two-dimensional, time steps by channels; got an array of shape"),
        (LABELS, [0, 1, 1, 0, 0], f"{second} must be two-dimensional"),
        (
            LABELS[:4],
            second_of(name),
            f"labels and {second} must have the same steps and channels; got 4 x 3 and 5 x 3",
        ),
        ([[]], second_of(name), "at least one time step and channel"),
        (np.array(LABELS) * 2, second_of(name), r"labels must be 0 or 1 .*found 2 at step 1, channel 0 \(5 such"),
        (LABELS, [[math.nan] * 3] * 5, "found NaN at step 0, channel 0"),
        ([[0, None, 1]] * 5, second_of(name), "missing values; found one at step 0, channel 1"),
        (pl.DataFrame({"a": [0, None, 1], "b": [0, 0, 1]}), second_of(name), "found NaN at step 1, channel 0"),
        (SCORES, LABELS, "the arguments look swapped"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            call(name, labels, values)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        call(name, LABELS, second_of(name), colour="blue")
    for option in FUNCTIONS[name].parameters:
        for wrong in ("no such thing", object(), -1, [1j], math.inf):
            with pytest.raises((ValueError, TypeError), match=option):
                call(name, LABELS, second_of(name), **{option: wrong})


@EVERY
def test_edges(name):
    none, every = np.zeros((5, 3), dtype=int), np.ones((5, 3), dtype=int)
    with pytest.raises(pv.UndefinedMetricError, match="the labels hold no anomaly"):
        call(name, none, second_of(name))
    best = (1, 1, 1) if FUNCTIONS[name].field else 1
    assert call(name, every, every) == pytest.approx(best)
    assert call(name, [[1]], [[1]]) == pytest.approx(best)
    if FUNCTIONS[name].takes == "predictions":
        assert call(name, LABELS, none) == ((0, 0, 0) if FUNCTIONS[name].field else 0)


# --- evaluate ---


def test_evaluate_takes_channels():
    found = pv.evaluate(LABELS, SCORES, threshold=0.5)
    assert set(found) == set(METRICS)
    assert not found.reasons
    assert set(pv.evaluate(LABELS, SCORES, metrics="all", threshold=0.5)) == set(METRICS)
    found = pv.evaluate(LABELS, SCORES, threshold=0.5, metrics=[*METRICS, *catalogue()])
    predictions = np.array(SCORES) >= 0.5
    for name, metric in METRICS.items():
        result = metric.function(LABELS, SCORES if metric.takes == "scores" else predictions)
        assert found[name] == (getattr(result, metric.field) if metric.field else result)
    others = set(catalogue())
    assert set(found.reasons) == others
    assert {found.reasons[name] for name in others} == {"takes one label per step; these labels are steps by channels"}
    assert all(math.isnan(found[name]) for name in others)
    assert found.signature("channel_ndcg").startswith("channel_ndcg|percent:100|definition:1|")
    assert not found.notes


def test_one_threshold_for_all_channels():
    flat = pv.best_threshold(np.ravel(LABELS), np.ravel(SCORES)).threshold
    assert pv.evaluate(LABELS, SCORES, metrics="affected_channels_f1").threshold == flat
    given = pv.evaluate(LABELS, predictions=PREDICTIONS)
    assert given["affected_channels_recall"] == pv.affected_channels(LABELS, PREDICTIONS).recall
    assert given.reasons["channel_ndcg"] == "needs scores"


def test_series_of_channels():
    labels, scores = np.concatenate([LABELS, LABELS]), np.concatenate([SCORES, np.flip(SCORES, axis=1)])
    found = pv.evaluate(labels, scores, series=[1] * 5 + [2] * 5, threshold=0.5)
    whole = pv.evaluate(labels, scores, series=[1] * 5 + [2] * 5, metrics="channel_ndcg", pooled=True)
    assert whole["channel_ndcg"] == pv.channel_ndcg(labels, scores)
    flagged = scores >= 0.5
    halves = [pv.affected_channels(labels[part], flagged[part]).f1 for part in (slice(5), slice(5, 10))]
    assert found["affected_channels_f1"] == pytest.approx(np.mean(halves))
    assert found.means == set(METRICS)


def test_labels_of_one_dimension_give_a_reason():
    found = pv.evaluate([0, 1, 1], [0.1, 0.9, 0.2], metrics=["channel_ndcg", "auc_roc"])
    assert found.reasons == {"channel_ndcg": "needs labels of steps by channels; these have one per step"}
    assert not set(pv.evaluate([0, 1, 1], [0.1, 0.9, 0.2])) & set(METRICS)


def test_options_in_ids():
    (metric,) = find_metrics("channel_hit_rate(percent=150)")
    assert metric.id == "channel_hit_rate(percent=150)"
    assert pv.evaluate(LABELS, SCORES, metrics=metric)[metric.id] == pv.channel_hit_rate(LABELS, SCORES, percent=150)
    with pytest.raises(ValueError, match="percent must be a finite number, 100 or more"):
        find_metrics("channel_hit_rate(percent=50)")
    with pytest.raises(ValueError, match="has no option 'anomalies'"):
        find_metrics("affected_channels_f1(anomalies=3)")
    wide = "affected_channels_f_beta(beta=2)"
    found = pv.evaluate(LABELS, predictions=PREDICTIONS, metrics=wide)[wide]
    assert found == pv.affected_channels_f_beta(LABELS, PREDICTIONS, beta=2)
    with pytest.raises(ValueError, match=r"^the metric .*beta=-1\) is refused: beta must be a number from 0"):
        find_metrics("affected_channels_f_beta(beta=-1)")


# --- one by one ---


def test_channel_ranking_by_hand():
    # Two of three channels are labelled. The ranks are 1, then 2 and 3 tied with one label between them.
    labels, scores = [1, 1, 0], [0.9, 0.5, 0.5]
    assert channel_ranking.expected_labels(labels, scores) == [1, 0.5, 0.5]
    assert channel_ranking.hit_rate_at(labels, scores, 100) == (1 + 0.5) / 2
    ideal = 1 + 1 / math.log2(3)
    assert channel_ranking.ndcg_at(labels, scores, 100) == pytest.approx((1 + 0.5 / math.log2(3)) / ideal)
    assert channel_ranking.hit_rate_at(labels, scores, 150) == 1
    assert [channel_ranking.kept([1] * g + [0] * 5, 150) for g in (1, 2, 3)] == [2, 3, 4]  # 1.5, 3, 4.5


@given(channel_pairs(scores=True))
def test_percent(pair):
    for percent in (100, 120, 150.5, 300):
        for name in ("channel_hit_rate", "channel_ndcg"):
            expected = ORACLES[name](*(part.tolist() for part in pair), percent)
            assert call(name, *pair, percent=percent) == pytest.approx(expected, abs=1e-12)


def test_affected_channels_by_hand():
    labels = [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    anomalies = [[1, 0, 0], [1, 2, 0], [0, 0, 2]]
    predictions = [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    # Anomaly 1 lies in steps 0 and 1 of channel 0, which is found. Of the others, channel 1 is excused, as what is
    # predicted there is anomaly 2, and channel 2 is blamed wrongly. Anomaly 2, in steps 1 and 2: one of two.
    assert affected_channels.counts(labels, predictions, anomalies, None) == [(1, 1, 0), (1, 0, 1)]
    assert affected_channels.counts(labels, predictions, anomalies, ["a", "b", "b"]) == [(1, 1, 0), (1, 0, 0)]
    assert affected_channels.counts(labels, predictions, None, None) == [(3, 0, 0)]  # one, of all steps
    found = affected_channels.affected_channels(labels, predictions, anomalies)
    assert found == pytest.approx((0.75, 0.75, 2 / 3))
    assert pv.affected_channels(labels, predictions, anomalies=anomalies) == pytest.approx(found)


@given(channel_pairs(scores=False), channel_pairs(scores=True))
def test_numbered_anomalies_and_subsystems(pair, chance):
    labels, predictions = pair
    numbers = np.resize((4 * chance[1]).astype(int) - 5, labels.shape) * labels  # from -5 to -2, 0 where nothing is
    subsystems = np.resize(["a", 1, "a"], labels.shape[1]).tolist()
    options = {"anomalies": numbers, "subsystems": subsystems}
    literal = {"anomalies": numbers.tolist(), "subsystems": subsystems}
    for name in ("affected_channels", "affected_channels_f_beta"):
        expected = ORACLES[name](labels.tolist(), predictions.tolist(), **literal)
        assert call(name, labels, predictions, **options) == pytest.approx(expected, abs=1e-12)


def test_bad_anomalies_and_subsystems():
    for options, message in [
        ({"anomalies": [[1, 1, 1]]}, "anomalies must have the shape of labels, (5, 3); got (1, 3)"),
        (
            {"anomalies": np.zeros((5, 3), dtype=int)},
            "anomalies must be 0 exactly where the label is 0; step 1, channel 0 has label 1 and anomaly 0",
        ),
        ({"anomalies": np.array(LABELS) * 1.5}, "anomalies must be whole numbers, 0 where the label is 0"),
        (
            {"anomalies": [1, 2]},
            "anomalies must be two-dimensional, time steps by channels; got an array of shape (2,)",
        ),
        ({"subsystems": ["a", "b"]}, "subsystems must name every channel; got 2 names for 3 channels"),
        ({"subsystems": "abc"}, "subsystems must be a collection of names, one per channel; got 'abc'"),
    ]:
        with raises_exactly((ValueError, TypeError), message):
            pv.affected_channels(LABELS, PREDICTIONS, **options)
