"""The one door: every row of the contract's table of inputs, for every public function of the PATE room."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pateval as pv
from pateval import PRF
from pateval.catalog import find_metrics
from pateval.compat import PATE
from pateval.validation.checked import documented
from support.inputs import BAD_LABELS, BAD_SCORES, CONTAINERS, LABELS, SCORES
from support.messages import raises_exactly

SHARED = """What a file says.

Parameters
----------
width : int
    Not this.

References
----------
.. [1] A book.
"""
INPUT_ERRORS = "ValueError, TypeError\n    If an input is not of the form described."
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
NAMED = {name: "predictions" if name in ON_PREDICTIONS else "scores" for name in BOTH}
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
    with raises_exactly((ValueError, TypeError), message.format(NAMED[name])):
        BOTH[name](labels, SECOND[name])


@pytest.mark.parametrize("name", [*ON_SCORES, "compat"])
@pytest.mark.parametrize(("scores", "message"), BAD_SCORES, ids=[m for _, m in BAD_SCORES])
def test_bad_scores(name, scores, message):
    with raises_exactly((ValueError, TypeError), message):
        BOTH[name](LABELS, scores)


@pytest.mark.parametrize("name", ON_PREDICTIONS)
def test_predictions_must_be_binary(name):
    with raises_exactly(
        ValueError,
        "predictions must be 0 or 1 at every step; found 0.1 at index 0 (8 such values in 8): scores become "
        "predictions at a threshold, as in scores >= 0.5; where there is scores=, pass them as that",
    ):
        BOTH[name](LABELS, SCORES)


@EVERY
def test_swapped_arguments_are_pointed_out(name):
    with raises_exactly(
        ValueError,
        "labels must be 0 or 1 at every step; found 0.1 at index 0 (8 such values in 8): the arguments look "
        "swapped; labels come first",
    ):
        BOTH[name](SCORES, LABELS)


@EVERY
def test_three_classes_do_not_look_swapped(name):
    message = "labels must be 0 or 1 at every step; found 2 at index 3 (1 such value in 8)"
    with raises_exactly(ValueError, message):
        BOTH[name]([0, 0, 1, 2, 0, 0, 1, 0], PREDICTIONS)


@pytest.mark.parametrize("name", [*ON_SCORES, *ON_PREDICTIONS])
def test_no_anomaly_is_undefined(name):
    reason = "no anomaly has been seen yet" if name == "accumulator" else "the labels hold no anomaly"
    with raises_exactly(pv.UndefinedMetricError, f"the metric is undefined: {reason}"):
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


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (0, "must be a positive integer; got 0"),
        (-1, "must be a positive integer; got -1"),
        (2.5, "must be a positive integer; got 2.5"),
        (True, "must be a positive integer; got True"),
        ([], "must hold at least one number; got an empty collection"),
        ([np.nan], "must be finite at every step; found NaN at index 0 (1 such value in 1)"),
        ("many", "must be a positive integer or numbers; got 'many'"),
    ],
)
def test_bad_thresholds(thresholds, message):
    with raises_exactly((ValueError, TypeError), f"thresholds {message}"):
        pv.pate(LABELS, SCORES, thresholds=thresholds)


UNNAMED = "series must name a series at every step; found a missing value at index 2 (1 in 8)"


@pytest.mark.parametrize("name", [*ON_SCORES, *ON_PREDICTIONS])
@pytest.mark.parametrize(
    ("series", "message"),
    [
        (
            ["a"] * 4 + ["b"] * 2 + ["a"] * 2,
            "the steps of one series must be contiguous; 'a' begins again at index 6: sort the steps by series",
        ),
        ([1] * 5, "series and labels must have the same length; got 5 and 8"),
        ([[1] * 8], "series must be one-dimensional, one value per time step; got an array of shape (1, 8)"),
        ([1, 1, None, *[1] * 5], UNNAMED),
        ([1, 1, np.nan, *[2] * 5], UNNAMED),
    ],
)
def test_bad_series(name, series, message):
    with raises_exactly(ValueError, message):
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


@pytest.mark.parametrize("seed", range(3))
def test_of_two_wrong_options_the_first_of_the_signature_is_reported(seed):
    done = subprocess.run(
        [sys.executable, "-c", "import pateval; pateval.range_based([0, 1], [0, 1], bias='x', alpha=2)"],
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "ValueError: alpha must be a number in [0, 1]; got 2"


class TestDocumented:
    """What all metrics say alike is put into their docstrings; what they say themselves wins, and errors are added."""

    def test_order_of_sections_and_parameters(self, monkeypatch):
        def metric(labels: object, scores: object, *, width: int = 1, missing: str = "error") -> float:
            """Say something.

            Parameters
            ----------
            width : int
                How wide.

            Examples
            --------
            >>> 1
            """

        monkeypatch.setattr(sys.modules[__name__], "__doc__", SHARED)
        lines = documented(metric).__doc__.split("\n")
        heads = [line for line, below in pairwise(lines) if below and not below.strip("-")]
        assert heads == ["Parameters", "Returns", "Raises", "References", "Examples"]
        assert [line.split(" : ")[0] for line in lines if " : " in line] == ["labels", "scores", "width", "missing"]
        assert lines[lines.index("width : int") + 1] == "    How wide."
        assert ".. [1] A book." in lines
        assert "UndefinedMetricError" in lines

    def test_own_words_win(self, monkeypatch):
        def metric(labels: object, predictions: object) -> PRF:
            """Say something.

            Parameters
            ----------
            labels, predictions
                As in the book.

            Raises
            ------
            OSError
                Always.
            """

        monkeypatch.setattr(sys.modules[__name__], "__doc__", SHARED.replace("width", "labels"))
        text = documented(metric).__doc__
        assert "Parameters\n----------\nlabels, predictions\n    As in the book.\n\nReturns\n-------\nPRF\n" in text
        assert f"Raises\n------\nOSError\n    Always.\n{INPUT_ERRORS}\n\nReferences\n" in text

    def test_every_metric_says_once_what_is_no_input(self):
        texts = {metric.id: metric.function.__doc__ for metric in (*find_metrics("all"), *find_metrics("emerging"))}
        assert [name for name, text in texts.items() if text.count(INPUT_ERRORS) != 1] == []

    def test_without_a_docstring(self):
        assert documented(lambda: None).__doc__ is None
