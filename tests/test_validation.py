"""The one door: every row of the contract's table of inputs, for every public function of the PATE room."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pateval as pv
from pateval.compat import PATE
from support.inputs import BAD_LABELS, BAD_SCORES, CONTAINERS, LABELS, SCORES

PREDICTIONS = [0, 1, 1, 0, 0, 0, 1, 0]

ON_SCORES = {
    "pate": lambda labels, scores, **k: pv.pate(labels, scores, **{"early": (0, 2), "delay": (0, 2), **k}),
    "pate_ap": lambda labels, scores, **k: pv.pate_ap(labels, scores, **{"early": (0, 2), "delay": (0, 2), **k}),
    "pate_curve": lambda labels, scores, **k: pv.pate_curve(labels, scores, **{"early": 2, "delay": 2, **k}).area,
    "accumulator": lambda labels, scores, **k: (
        pv.PateAccumulator(k.pop("early", 2), k.pop("delay", 2), [0.2, 0.5]).update(labels, scores, **k).compute()
    ),
}
ON_PREDICTIONS = {
    "pate_f1": lambda labels, predictions, **k: pv.pate_f1(labels, predictions, **{"early": 2, "delay": 2, **k}),
    "explain": lambda labels, predictions, **k: pv.explain(labels, predictions, **{"early": 2, "delay": 2, **k}).f1,
}
BOTH = {**ON_SCORES, **ON_PREDICTIONS, "compat": lambda labels, scores: PATE(labels, scores, 2, 2)}
SECOND = {name: SCORES if name not in ON_PREDICTIONS else PREDICTIONS for name in BOTH}
EVERY = pytest.mark.parametrize("name", BOTH)


@EVERY
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_agree(name, container):
    labels, other = LABELS, [0.125, 0.5, 1.0, 0.25, 0.375, 0.0, 0.75, 0.625]  # exact in every float type
    if name in ON_PREDICTIONS:
        other = PREDICTIONS
    make = CONTAINERS[container]
    assert BOTH[name](make(labels), make(other)) == BOTH[name](labels, other)


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64])
@EVERY
def test_label_types_agree(name, kind):
    assert BOTH[name](np.array(LABELS, dtype=kind), SECOND[name]) == BOTH[name](LABELS, SECOND[name])


@EVERY
def test_inputs_are_not_changed(name):
    labels, other = np.array(LABELS), np.array(SECOND[name])
    before = labels.copy(), other.copy()
    BOTH[name](labels, other)
    assert (labels == before[0]).all()
    assert (other == before[1]).all()


@EVERY
@pytest.mark.parametrize(("labels", "message"), BAD_LABELS, ids=[m for _, m in BAD_LABELS])
def test_bad_labels(name, labels, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        BOTH[name](labels, SECOND[name])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [*ON_SCORES, "compat"])
@pytest.mark.parametrize(("scores", "message"), BAD_SCORES, ids=[m for _, m in BAD_SCORES])
def test_bad_scores(name, scores, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        BOTH[name](LABELS, scores)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ON_PREDICTIONS)
def test_predictions_must_be_binary(name):
    with pytest.raises(ValueError, match=r"predictions must be 0 or 1 at every step; found 0.1 at index 0"):
        BOTH[name](LABELS, SCORES)


@EVERY
def test_swapped_arguments_are_pointed_out(name):
    with pytest.raises(ValueError, match="the arguments look swapped"):
        BOTH[name](SCORES, LABELS)


@EVERY
def test_three_classes_do_not_look_swapped(name):
    with pytest.raises(ValueError, match="found 2 at index 3") as caught:
        BOTH[name]([0, 0, 1, 2, 0, 0, 1, 0], PREDICTIONS)
    assert "swapped" not in str(caught.value)


@pytest.mark.parametrize("name", [*ON_SCORES, *ON_PREDICTIONS])
def test_no_anomaly_is_undefined(name):
    with pytest.raises(pv.UndefinedMetricError, match="no anomaly"):
        BOTH[name]([0] * 8, SECOND[name])


@EVERY
@pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")
def test_all_anomalous_and_one_step_are_defined(name):
    assert 0 <= BOTH[name]([1] * 8, SECOND[name]) <= 1
    assert BOTH[name]([1], [1]) == 1.0


def test_nothing_predicted():
    assert pv.pate_f1(LABELS, [0] * 8) == 0.0
    assert pv.explain(LABELS, [0] * 8, early=1, delay=1).f1 == 0.0


BAD_BUFFERS = [
    2.0,
    True,
    np.True_,
    -1,
    "3",
    None,
    [],
    [1, 2.0],
    [1, -2],
    [[1, 2]],
    [True],
    np.array([0.0, 1.0]),
    1 + 0j,
]


@pytest.mark.parametrize("name", [*ON_SCORES, *ON_PREDICTIONS])
@pytest.mark.parametrize("side", ["early", "delay"])
@pytest.mark.parametrize("buffer", BAD_BUFFERS, ids=repr)
def test_bad_buffers(name, side, buffer):
    with pytest.raises((ValueError, TypeError), match=side):
        BOTH[name](LABELS, SECOND[name], **{side: buffer})


@pytest.mark.parametrize("buffers", [(0, 2), [0, 2], range(0, 3, 2), np.array([0, 2]), {0, 2}, iter([0, 2])])
def test_good_buffers(buffers):
    assert pv.pate(LABELS, SCORES, early=buffers, delay=1) == pv.pate(LABELS, SCORES, early=(0, 2), delay=1)
    assert pv.pate(LABELS, SCORES, early=np.int64(2), delay=1) == pv.pate(LABELS, SCORES, early=2, delay=1)


@pytest.mark.parametrize("thresholds", [0, -1, 2.5, True, [], [np.nan], "many"])
def test_bad_thresholds(thresholds):
    with pytest.raises((ValueError, TypeError), match="thresholds"):
        pv.pate(LABELS, SCORES, thresholds=thresholds)


@pytest.mark.parametrize("name", [*ON_SCORES, *ON_PREDICTIONS])
@pytest.mark.parametrize(
    ("series", "message"),
    [
        (["a"] * 4 + ["b"] * 2 + ["a"] * 2, "must be contiguous; 'a' begins again at index 6"),
        ([1] * 5, "same length; got 5 and 8"),
        ([[1] * 8], "series must be one-dimensional"),
        ([1, 1, None, *[1] * 5], "missing value at index 2"),
        ([1, 1, np.nan, *[2] * 5], "missing value at index 2"),
    ],
)
def test_bad_series(name, series, message):
    with pytest.raises(ValueError, match=message):
        BOTH[name](LABELS, SECOND[name], series=series)


@pytest.mark.parametrize(
    "series",
    [
        [1, 1, 1, 0, 0, 0, 0, 0],
        list("bbbaaaaa"),
        pd.Series(["x"] * 3 + ["y"] * 5, dtype="category"),
        pl.Series(["x"] * 3 + ["y"] * 5),
        pa.array(["x"] * 3 + ["y"] * 5),
        np.array(["2020"] * 3 + ["2021"] * 5, dtype="datetime64[Y]"),
    ],
    ids=lambda s: type(s).__name__,
)
def test_good_series(series):
    assert pv.pate(LABELS, SCORES, series=series) == pv.pate(LABELS, SCORES, series=[5] * 3 + [6] * 5)
