"""The one door: every row of the contract's table of inputs, for every public function of the PATE room."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import pateval as pv
from pateval.compat import PATE

LABELS = [0, 0, 1, 1, 0, 0, 1, 0]
SCORES = [0.1, 0.5, 0.9, 0.4, 0.3, 0.2, 0.6, 0.7]
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

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "float32": lambda v: np.array(v, dtype=np.float64).astype(np.float32).astype(np.float64),
    "strided": lambda v: np.repeat(np.array(v), 2)[::2],
    "read-only": lambda v: np.frombuffer(np.array(v, dtype=np.float64).tobytes()),
    "big-endian": lambda v: np.array(v, dtype=">f8"),
    "pandas": pd.Series,
    "pandas, odd index": lambda v: pd.Series(v, index=range(100, 100 + len(v))),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunked": lambda v: pa.chunked_array([v[:3], v[3:]]),
    "torch": torch.tensor,
    "torch float64": lambda v: torch.tensor(v, dtype=torch.float64),
    "torch with gradient": lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True),
    "masked, none": lambda v: np.ma.masked_array(v, mask=False),
}


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


BAD_LABELS = [
    ([0, 0, 1], "same length; got 3 and 8"),
    ([], "labels must hold at least one time step"),
    ([[0, 1], [1, 0]], r"labels must be one-dimensional.*shape \(2, 2\)"),
    (1, "labels must be one-dimensional.*a single value"),
    ([0, 0, 1, 2, 0, 0, 3, 0], r"labels must be 0 or 1 at every step; found 2 at index 3 \(2 such values in 8\)"),
    ([0, 0, 1, np.nan, 0, 0, 1, 0], "found NaN at index 3"),
    ([0, 0, 1, None, 0, 0, 1, 0], "labels must hold no missing values; found one at index 3"),
    (["a"] * 8, "labels must be numbers.*text"),
    ([0, 0, 1, 1j, 0, 0, 1, 0], "complex"),
    (np.array(["2020-01-01"] * 8, dtype="datetime64[D]"), "date"),
    (
        np.ma.masked_array(LABELS, mask=[0, 1, 0, 0, 0, 0, 0, 0]),
        "labels must hold no masked values; found one at index 1",
    ),
    (pa.array([0, 0, None, 1, 0, 0, 1, 0]), "missing values; found one at index 2"),
    (pl.Series([0, 0, None, 1, 0, 0, 1, 0]), "missing values; found one at index 2"),
    (pd.Series([0, 0, None, 1, 0, 0, 1, 0], dtype="Int64"), "found NaN at index 2"),
]


@EVERY
@pytest.mark.parametrize(("labels", "message"), BAD_LABELS, ids=[m for _, m in BAD_LABELS])
def test_bad_labels(name, labels, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        BOTH[name](labels, SECOND[name])
    assert "\n" not in str(caught.value)


BAD_SCORES = [
    (SCORES[:3], "same length; got 8 and 3"),
    ([], "scores must hold at least one time step"),
    ([SCORES], "scores must be one-dimensional"),
    ([0.1, np.nan, *SCORES[2:]], r"found NaN at index 1 \(1 such value in 8\)"),
    ([0.1, np.inf, -np.inf, *SCORES[3:]], r"an infinite value at index 1 \(2 such values in 8\)"),
    ([0.1, None, *SCORES[2:]], "missing values; found one at index 1"),
    (["0.1"] * 8, "text"),
    ([*SCORES[:7], "x"], "text|'x' of type str"),
    (np.array(SCORES) * 1j, "complex"),
    (np.arange(8).astype("timedelta64[s]"), "time-difference"),
    (np.ma.masked_array(SCORES, mask=[0, 0, 0, 1, 0, 0, 0, 1]), r"masked values; found one at index 3 \(2 in 8\)"),
    (pa.array([0.1, None, *SCORES[2:]]), "missing values; found one at index 1"),
    (pd.DataFrame({"a": SCORES, "b": SCORES}), "one-dimensional"),
]


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
