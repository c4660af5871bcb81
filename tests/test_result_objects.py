"""Every result object is a frame, a dictionary and valid JSON, also where values are undefined."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pickle
import pkgutil
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pateval as pv
from pateval.checking import DataFault
from pateval.checking.result import CheckedSeries
from pateval.evaluation.buffers import BufferAdvice, EventSpacing
from pateval.leaderboards.verification import Difference
from pateval.output.results import Result
from pateval.report.write import Written

RNG = np.random.default_rng(8)
LABELS = np.tile(np.repeat([0, 1, 0], [20, 4, 10]), 6)
SCORES = 0.5 * LABELS + RNG.random(LABELS.size)
NONE = np.zeros(LABELS.size, dtype=int)
DATA = {"label": LABELS, "series": np.repeat(["a", "b"], LABELS.size // 2), "good": SCORES, "bad": SCORES[::-1]}
UNDEFINED = {**DATA, "label": NONE}
METRICS = ["pate", "auc_roc", "point_f1", "ucr_score"]
ODD = np.array([math.nan, math.inf, -math.inf])
SINGLE = {"PRF": 3, "BestThreshold": 2, "ChannelRanking": 2, "DetectionQuality": 4}  # tuples of numbers
CURVES = {"EventWeightedCurve": 2, "VusAreas": 2}  # tuples of arrays


def infinite(labels, scores):
    return math.inf


def undefined(labels, scores):
    return math.nan


OWN = [*METRICS, pv.define_metric(infinite, id="infinite", takes="scores")]


def boards():
    return [pv.leaderboard(data, metrics=OWN, chance=1, doubt=1, doubt_draws=2) for data in (DATA, UNDEFINED)]


def score_audit():
    return [pv.audit_scores(DATA, metrics=["auc_roc", "point_f1"], seeds=1)]


def alarm_table():
    incidents = {"start": [2, 6], "stop": [3, 7], "kind": ["x", "y"]}
    return pv.judge_alarm_files([{"time": [1, 9]}, {"time": [5]}], incidents)


RESULTS = {
    "Evaluation": lambda: [pv.evaluate(labels, SCORES, metrics=OWN) for labels in (LABELS, NONE)],
    "EvaluationTable": lambda: [
        pv.evaluate(labels, {"a": SCORES, "b": SCORES[::-1]}, metrics=OWN) for labels in (LABELS, NONE)
    ],
    "Explanation": lambda: [pv.explain(LABELS, scores=SCORES), pv.explain(LABELS, LABELS, series=DATA["series"])],
    "StepWeights": lambda: [pv.explain(LABELS, scores=SCORES, series=DATA["series"]).points],
    "EventKind": lambda: list(pv.explain(LABELS, NONE, by="length").kinds),
    "EventWeights": lambda: list(pv.explain(LABELS, NONE, series=DATA["series"]).events),
    "PateCurve": lambda: [pv.pate_curve(LABELS, SCORES, early=3, delay=3), pv.PateCurve(*[ODD] * 6, math.nan)],
    "TsCurve": lambda: [pv.ts_curve(LABELS, SCORES), pv.TsCurve(ODD, ODD[:3] * math.nan, np.ones(3))],
    "Comparison": lambda: [pv.compare(labels, SCORES, SCORES[::-1], metrics=OWN, draws=3) for labels in (LABELS, NONE)],
    "Audit": lambda: [pv.audit(LABELS, metrics=METRICS, seeds=1)],
    "ScoreAudit": score_audit,
    "DataCheck": lambda: [
        pv.DataCheck((), ()),
        pv.DataCheck(
            (CheckedSeries("d", "s", 9, 0, math.nan, "", math.inf),), (DataFault("dense", "s", "text", math.nan),)
        ),
    ],
    "CausalCheck": lambda: [
        pv.check_causal(np.abs, SCORES, labels=LABELS),
        pv.check_causal(lambda values: values - values.mean(), SCORES),
    ],
    "Leaderboard": boards,
    "Significance": lambda: [board.significance(metric) for board in boards() for metric in ("pate", "infinite")],
    "Power": lambda: [pv.power([0.5, 0.7], [0.4, 0.8]), pv.power([0.5], [0.5])],
    "BoardKinds": lambda: [board.by_kind() for board in boards()],
    "LabelDoubt": lambda: [board.doubt for board in boards()],
    "Verification": lambda: [
        pv.Verification("board", differences, 1, 2, 3, math.nan)
        for differences in ((), (Difference("value", "one differs"),))
    ],
    "AlarmJudgement": lambda: [pv.judge_alarms([], []), pv.judge_alarms([1, 9], [(2, 3)], early=1)],
    "AlarmTable": lambda: [alarm_table()],
    "AlarmDifference": lambda: [alarm_table().difference],
    "AlarmFrontier": lambda: [pv.alarm_frontier(labels, SCORES, budgets=["1/100"]) for labels in (LABELS, NONE)],
    "Written": lambda: [Written(Path("report.html"), 9, 1, ("a",), ())],
    "BufferAdvice": lambda: [BufferAdvice((EventSpacing.of("a", LABELS == 1), EventSpacing.of("b", NONE == 1)))],
    **{
        name: lambda name=name, size=size: [getattr(pv, name)(*np.resize(ODD, size).tolist())]
        for name, size in SINGLE.items()
    },
    **{name: lambda name=name, size=size: [getattr(pv, name)(*[ODD] * size)] for name, size in CURVES.items()},
}
# Metric and AlarmClock describe how a number is made, and are handed to functions as often as they return them. The
# others are parts of results, which these show as rows of their own.
NO_RESULTS = {"Metric", "OptionKind", "AlarmClock", "Policy", "Answer", "DataFault", "FrontierRow", "Overview"}


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", RESULTS)
def test_frame_dictionary_and_json(name):
    for result in RESULTS[name]():
        assert type(result).__name__ == name
        frames = [result.to_frame(backend) for backend in ("pyarrow", "pandas", "polars")]
        assert [type(frame) for frame in frames] == [pa.Table, pd.DataFrame, pl.DataFrame]
        assert {frame.shape for frame in frames} == {frames[0].shape}
        assert frames[0].num_columns > 1
        assert type(result.to_frame()) is pd.DataFrame
        found = result.to_dict()
        assert isinstance(found, dict)
        assert strict(result.to_json()) == found
        assert not any(isinstance(leaf, float) and not math.isfinite(leaf) for leaf in leaves(found))
        assert len(repr(result)) < 20_000
        assert result._repr_html_().startswith('<div class="pateval')


def leaves(value):
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def classes_of_the_package():
    modules = [importlib.import_module(each.name) for each in pkgutil.walk_packages(pv.__path__, "pateval.")
               if not each.name.endswith("__main__")]  # fmt: skip
    return {
        name: item
        for module in modules
        for name, item in vars(module).items()
        if inspect.isclass(item) and item.__module__ == module.__name__
    }


def returned(function, classes):
    """The classes of the package that a function says it returns; no two of them share a name."""
    annotation = str(inspect.signature(function).return_annotation)
    return {name for name in re.findall(r"\w+", annotation) if name in classes}


def test_none_is_forgotten():
    classes = classes_of_the_package()
    public = [getattr(pv, name) for name in pv.__all__]
    waiting = {name for item in public if inspect.isfunction(item) for name in returned(item, classes)}
    waiting |= {item.__name__ for item in public if inspect.isclass(item) and issubclass(item, Result)}
    found = set()
    while waiting:  # results have methods that return further ones
        name = waiting.pop()
        found.add(name)
        for member, item in inspect.getmembers(classes[name]):
            function = item.fget if isinstance(item, property) else item
            if not member.startswith("_") and inspect.isfunction(function):
                waiting |= returned(function, classes) - found
    assert {"PRF", "Evaluation", "Leaderboard", "Significance", "Written"} <= found
    assert {name for name in found if not issubclass(classes[name], Result)} == NO_RESULTS
    assert found - NO_RESULTS <= set(RESULTS)
    parts = {name for name in pv.__all__ if inspect.isclass(getattr(pv, name))} - found
    assert parts == {"CoarseScoresWarning", "UndefinedMetricError", "PateAccumulator"}


@pytest.mark.parametrize("name", [*SINGLE, *CURVES])
def test_tuples_stay_tuples(name):
    kind = getattr(pv, name)
    values = tuple(range(SINGLE.get(name) or CURVES[name]))
    result = kind(*values)
    first, *others = result
    assert (first, *others) == result == values
    assert hash(result) == hash(values)
    assert result._asdict() == dict(zip(kind._fields, values, strict=True))
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301  # our own
    assert type(pickle.loads(pickle.dumps(result))) is kind  # noqa: S301
    assert repr(result) == f"{name}({', '.join(f'{key}={value}' for key, value in result._asdict().items())})"
    assert not hasattr(result, "__dict__")  # as light as the tuple


def test_numbers_are_one_row_and_arrays_are_columns():
    found = pv.PRF(math.nan, 1.0, math.inf)
    assert found.to_json() == '{"precision": null, "recall": 1.0, "f1": "inf"}'
    assert found.to_frame("polars").rows()[0][1:] == (1.0, math.inf)
    areas = pv.vus_areas(LABELS, SCORES, window=4)
    assert areas.to_frame("pandas")["pr"].tolist() == areas.pr.tolist()
    assert areas.to_dict() == {"roc": areas.roc.tolist(), "pr": areas.pr.tolist()}
    best = pv.best_threshold(LABELS, SCORES)
    assert best.to_dict() == {"threshold": best.threshold, "value": best.value}
    assert "0.5000" in pv.PRF.of(0.5, 0.5)._repr_html_()
    assert "and 80 more rows" in pv.vus_areas(LABELS, SCORES, window=99)._repr_html_()


def test_dir_holds_public_names_only():
    import pateval.cli  # what is imported along the way is no public name

    assert pateval.cli is not None
    assert set(dir(pv)) == {*pv.__all__, *pv._MODULES, "__version__"}
    assert not any(name.startswith("_") for name in set(dir(pv)) - {"__version__"})
