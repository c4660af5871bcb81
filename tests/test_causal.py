"""The price of the future: scores that change when later steps come are found, on every detector here."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import causal as oracle
from pateval.detectors import REGISTRY, make
from pateval.detectors.windows import slide
from support.command_line import console, invoke
from support.messages import raises_exactly
from test_detectors_protocol import SMALL, series

_CHANCE = np.random.default_rng(0)


def restless(values):
    return _CHANCE.random(len(values))


def trailing(values):
    return np.array([abs(values[step] - np.mean(values[max(0, step - 2) : step + 1])) for step in range(len(values))])


def centred(values):
    return np.array([abs(values[step] - np.mean(values[max(0, step - 2) : step + 3])) for step in range(len(values))])


def scaled_by_all(values):
    return np.abs(values - np.mean(values))


@given(
    st.lists(st.integers(-20, 20).map(lambda number: number / 4), min_size=2, max_size=14),
    st.sampled_from([trailing, centred, scaled_by_all]),
)
def test_agrees_with_the_definition(numbers, score):
    values = np.array(numbers)
    first, changed, reach = oracle.growing_beginnings(score, values, 1, 1e-5)
    labels = np.arange(len(values)) == len(values) // 2
    found = pv.check_causal(score, values, labels=labels, prefixes=None, tolerance=1e-5)
    assert (found.changed, found.reach, found.causal) == (len(changed), reach, not changed)
    assert found.first == (changed[0] if changed else None)
    assert found.pate_ap == pytest.approx(pv.pate_ap(labels, score(values)), abs=1e-12)
    assert found.pate_ap_causal == pytest.approx(pv.pate_ap(labels, first), abs=1e-12)
    assert found.every_step
    assert found.prefixes == len(values)


def test_the_oracle_by_hand():
    first, changed, reach = oracle.growing_beginnings(lambda values: [max(values)] * len(values), [1, 2, 2], 1, 0)
    assert (first, changed, reach) == ([1, 2, 2], [0], 1)


def test_what_was_found_in_words():
    values = np.array([0.0, 0.0, 6.0, 0.0, 0.0, 0.0])
    found = pv.check_causal(scaled_by_all, values, labels=[0, 0, 1, 0, 0, 0], prefixes=None, early=0, delay=0)
    assert found.sentences() == [
        "look-ahead: the scores of 5 of 6 steps changed when later steps came",
        "the first is step 0 from 0 to 1; the largest change of all is 2",
        "steps up to 5 later still changed a score (6 beginnings of 6 steps)",
        "pate_ap 1.0000 with the whole series, 1.0000 where each step has the score of the beginning that ends with it",
    ]
    sound = pv.check_causal(trailing, values, prefixes=4)
    assert repr(sound) == "no look-ahead: no score of an earlier step changed over 4 beginnings of 6 steps"
    assert np.isnan(sound.pate_ap)


def test_the_lengths_follow_from_the_seed():
    values = np.random.default_rng(0).normal(size=200)
    seen = []

    def score(part):
        seen.append(len(part))
        return np.abs(part)

    def lengths(seed):
        seen.clear()
        pv.check_causal(score, values, prefixes=10, seed=seed)
        return list(seen)

    assert lengths(1) == lengths(1)
    assert lengths(1) != lengths(2)


def test_as_many_beginnings_as_asked_for():
    values = np.arange(5.0)
    assert [pv.check_causal(np.abs, values, prefixes=count).prefixes for count in (2, 3, 4, 5, 6)] == [2, 3, 4, 5, 5]
    assert [pv.check_causal(np.abs, values, prefixes=count).every_step for count in (4, 5)] == [False, True]


@pytest.mark.parametrize("least", [1, 2, 7, 19])
def test_the_shortest_beginning_is_found_and_missing_scores_are_no_change(least):
    def score(values):
        if len(values) < least:
            raise ValueError("too short")
        return np.where(np.arange(len(values)) < least - 1, np.nan, np.abs(values))

    found = pv.check_causal(score, np.arange(20.0), prefixes=None)
    assert (found.shortest, found.causal, found.prefixes) == (least, True, 21 - least)


# By the settings of each detector: what looks ahead, and how far. Networks on tiles score a step by the window that it
# lies in, which has to be complete; until then by the last whole window there is.
LOOKS_AHEAD = {"pca", "autoencoder", "lstm", "transformer", "usad", "anomaly_transformer", "dcdetector"}
CAUSAL_VARIANTS = {"autoencoder": {"rescale": False}, "usad": {"variant": "original", "batch_size": 64}}


def checked(name, **changes):
    train, values = series(400, 2), series(300, 2)
    values[150:160] += 3
    labels = np.zeros(300, dtype=bool)
    labels[150:160] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = make(name, **{**SMALL[name], **changes}).fit(train)
    return pv.check_causal(detector, values, labels=labels, prefixes=40)


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "perfect"])
def test_every_detector_here(name):
    found = checked(name)
    assert found.causal == (name not in LOOKS_AHEAD)
    assert (found.pate_ap == found.pate_ap_causal) or not found.causal
    if name == "pca":
        assert found.reach >= 7


@pytest.mark.parametrize("name", CAUSAL_VARIANTS)
def test_networks_that_score_the_window_that_ends_at_a_step_are_causal(name):
    assert checked(name, **CAUSAL_VARIANTS[name]).causal


def test_an_average_over_overlapping_windows_looks_ahead():
    values = np.random.default_rng(0).normal(size=120)

    def score(part, how):
        errors = np.square(slide(part[:, None], 8)[:, :, 0] - slide(part[:, None], 8)[:, :, 0].mean(axis=1)[:, None])
        return pv.scores_from_windows(errors, size=len(part), window=8, how=how, missing="repeat")

    average = pv.check_causal(lambda part: score(part, "mean"), values, prefixes=None)
    assert (average.causal, average.reach) == (False, 7)
    assert pv.check_causal(lambda part: score(part, "last"), values, prefixes=None).causal


def test_fitted_on_what_it_scores_is_scaled_by_the_whole_series():
    values = np.random.default_rng(0).normal(size=300)
    alone = make("moving_zscore", window=10).fit(values)
    assert pv.check_causal(alone, values).causal
    refitted = pv.check_causal(lambda part: make("squared_zscore").fit(part).score(part), values)
    assert not refitted.causal


@pytest.mark.parametrize(
    ("detector", "values", "options", "message"),
    [
        (
            np.abs,
            [1.0],
            {},
            "values must have the shape (steps,) or (steps, features), two at least; got (1,)",
        ),
        (np.abs, [1.0, 2.0], {"labels": [1]}, "labels and values must have the same length; got 1 and 2"),
        (np.abs, [1.0, 2.0], {"prefixes": 0}, "prefixes must be a positive integer; got 0"),
        (
            np.abs,
            [1.0, 2.0],
            {"prefixes": 1},
            "prefixes must be 2 at least: the whole series is one of them; got 1",
        ),
        (lambda _: [1.0], [1.0, 2.0], {}, "the detector gave 1 scores for 2 steps"),
        (
            lambda values: np.full(len(values), np.inf),
            [1.0, 2.0],
            {},
            "the detector's scores must be finite, or NaN where there is none; found an infinite one",
        ),
        (
            lambda values: np.reshape(values, (2, 2)).ravel(),
            [1.0, 2.0, 3.0, 4.0],
            {},
            "the detector scores no beginning that is shorter than all 4 steps: nothing can be compared",
        ),
        (3, [1.0, 2.0], {}, "detector must have score(values), or be a function of values; got int"),
        (
            restless,
            [1.0, 2.0],
            {},
            "the detector gives other scores for the same values when it is asked twice: give it a seed",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused(detector, values, options, message):
    with raises_exactly((ValueError, TypeError), message):
        pv.check_causal(detector, values, **options)


def test_the_command(tmp_path: Path):
    rng = np.random.default_rng(0)
    labels = np.zeros(200, dtype=int)
    labels[100:110] = 1
    pd.DataFrame({"value": rng.normal(size=300)}).to_csv(tmp_path / "pump_train.csv", index=False)
    frame = pd.DataFrame({"value": rng.normal(size=200) + 3 * labels, "label": labels})
    frame.to_csv(tmp_path / "pump_test.csv", index=False)
    found = invoke("detect", "pca", "moving_zscore", "perfect", "--check-causal", "--data", str(tmp_path))
    rows = [line.split()[:3] for line in found.stdout.splitlines()[3:]]
    assert rows == [["pca", "pump", "yes"], ["moving_zscore", "pump", "no"]]
    assert "perfect is left out: it is shown the labels\n" in found.stderr
    wrong = console("detect", "pca", "--check-causal", "--data", tmp_path, "-o", tmp_path / "scores", status=2)
    assert wrong.err == (
        "pateval: --check-causal writes no scores and looks at each series by itself: leave out -o, --seeds, --join "
        "and --protocol\n"
    )
