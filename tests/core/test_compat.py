"""Drop-in replacements: numbers of the real packages, written down by benchmarks/drop_ins.py, and kept faults."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import pateval as pv
from pateval import compat
from pateval.compat import timeeval, tsadmetrics

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "drop_ins.json").read_text(encoding="utf-8"))
CASES = [{name: np.array(values) for name, values in case.items()} for case in GOLDEN["cases"]]
OURS = {name: getattr(compat, name) for name in compat.__all__} | {"timeeval": timeeval, "tsadmetrics": tsadmetrics}


@pytest.mark.parametrize("call", GOLDEN["calls"], ids=lambda call: call["call"])
def test_every_call_gives_the_originals_numbers(call):
    for case, theirs in zip(CASES, call["values"], strict=True):
        ours = eval(call["call"], {**OURS, **case})  # noqa: S307  # from the golden file
        assert ours == pytest.approx(theirs, abs=1e-9, nan_ok=True)


def test_every_class_is_compared():
    called = " ".join(call["call"] for call in GOLDEN["calls"])
    for module in (timeeval, tsadmetrics):
        classes = [name for name, item in vars(module).items() if getattr(item, "__module__", "") == module.__name__]
        for name in classes:
            if isinstance(vars(module)[name], type) and not name.startswith("_"):
                assert f"{name}(" in called


def test_the_surface_is_that_of_vus():
    labels, scores = CASES[0]["labels"], CASES[0]["scores"]
    true_rates, false_rates, precisions, widths, roc, pr = compat.RangeAUC_volume(labels, scores, 6)
    assert widths.tolist() == list(range(7))
    assert {len(curve) for curve in (*true_rates, *false_rates)} == {252}
    assert {len(curve) for curve in precisions} == {251}
    areas = [np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2 for x, y in zip(false_rates, true_rates, strict=True)]
    assert roc == pytest.approx(np.mean(areas), abs=1e-12)
    assert roc == pytest.approx(pv.vus_roc(labels, scores, window=6, variant="original"), abs=1e-12)
    areas = [np.sum(np.diff(x[:-1]) * (y[1:] + y[:-1])) / 2 for x, y in zip(true_rates, precisions, strict=True)]
    assert pr == pytest.approx(np.mean(areas), abs=1e-12)


class TestKeptFaults:
    """What the docs name: the original's number here, the right one from the function itself."""

    def test_point_adjustment_leaves_the_first_step(self):
        labels, predictions = [1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]
        values = compat.get_metrics(predictions, labels, pred=predictions)
        assert values["PA-F1"] == pytest.approx(0.8)
        assert pv.point_adjusted(labels, predictions).f1 == 1

    def test_an_event_at_the_end_loses_its_last_step(self):
        labels, predictions = [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1]
        assert compat.get_metrics(predictions, labels, pred=predictions)["Event-based-F1"] == 0
        assert pv.composite(labels, predictions).f1 == 1

    def test_everything_and_nothing_predicted(self):
        labels, scores = [0, 0, 1, 1, 0], [0.1, 0.2, 0.9, 0.4, 0.3]
        assert compat.get_metrics(scores, labels, pred=[1] * 5)["R-based-F1"] == 0
        assert math.isnan(compat.get_metrics(scores, labels, pred=[0] * 5)["Affiliation-F"])

    def test_an_outlier_hides_the_rest_from_evenly_spaced_thresholds(self):
        labels = [0, 0, 1, 1, 0, 0, 0, 0]
        scores = [0.1, 0.2, 0.9, 0.8, 0.3, 0.1, 0.2, 1000.0]
        assert compat.get_metrics(scores, labels, slidingWindow=2)["PA-F1"] < 0.7
        assert pv.best_threshold(labels, scores, metric="point_adjusted_f1").value > 0.7

    def test_constant_scores_in_timeeval(self):
        with pytest.warns(UserWarning, match="scores that are all equal get 0.0 in TimeEval, whatever the metric"):
            assert timeeval.RocAUC()([0, 1, 0], [0.5, 0.5, 0.5]) == 0
        assert pv.auc_roc([0, 1, 0], [0.5, 0.5, 0.5]) == 0.5

    def test_missing_scores_count_as_0_in_timeeval(self):
        labels = [0, 1, 0, 1]
        found = timeeval.AveragePrecision()(labels, [np.nan, 0.5, -np.inf, np.inf])
        assert found == pv.average_precision(labels, [0, 0.5, 0, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: compat.get_metrics([0.1, 0.2], [0, 1], version="fast"),
            "version must be 'opt' or 'opt_mem'; got 'fast'",
        ),
        (lambda: compat.get_metrics([0.1, 0.2], [0, 0]), "the metric is undefined: the labels hold no anomaly"),
        (lambda: compat.get_metrics([0.1, 0.2], [0, 1], thre=0), "thre must be a positive integer; got 0"),
        (
            lambda: compat.get_range_vus_roc([0.1, 0.2], [0, 1], -1),
            "slidingWindow must be a non-negative integer; got -1",
        ),
        (
            lambda: compat.RangeAUC_volume([1, 1], [0.1, 0.2], 1),
            "the metric is undefined: every step is anomalous, so no alarm can be false",
        ),
        (lambda: compat.RangeAUC_volume([0, 1], [0.1, 0.2], -1), "windowSize must be a non-negative integer; got -1"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message follows
        call()
    assert str(caught.value) == message
