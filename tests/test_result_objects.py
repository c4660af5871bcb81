"""Every result object is a frame, a dictionary and valid JSON, also where values are undefined."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pyarrow as pa
import pytest

import pateval as pv
from pateval.buffers import BufferAdvice, EventSpacing
from pateval.leaderboards.significance import Significance

RNG = np.random.default_rng(8)
LABELS = np.tile(np.repeat([0, 1, 0], [20, 4, 10]), 6)
SCORES = 0.5 * LABELS + RNG.random(LABELS.size)
NONE = np.zeros(LABELS.size, dtype=int)
DATA = {"label": LABELS, "series": np.repeat(["a", "b"], LABELS.size // 2), "good": SCORES, "bad": SCORES[::-1]}
UNDEFINED = {**DATA, "label": NONE}
METRICS = ["pate", "auc_roc", "point_f1", "ucr_score"]

RESULTS = {
    "Evaluation": lambda: [pv.evaluate(labels, SCORES, metrics=METRICS) for labels in (LABELS, NONE)],
    "Explanation": lambda: [pv.explain(LABELS, scores=SCORES), pv.explain(LABELS, LABELS, series=DATA["series"])],
    "StepWeights": lambda: [pv.explain(LABELS, scores=SCORES, series=DATA["series"]).points],
    "PateCurve": lambda: [pv.pate_curve(LABELS, SCORES, early=3, delay=3)],
    "TsCurve": lambda: [pv.ts_curve(LABELS, SCORES)],
    "Comparison": lambda: [
        pv.compare(labels, SCORES, SCORES[::-1], metrics=METRICS, draws=3) for labels in (LABELS, NONE)
    ],
    "Audit": lambda: [pv.audit(LABELS, metrics=METRICS, seeds=1)],
    "Leaderboard": lambda: [pv.leaderboard(data, metrics=METRICS, chance=1) for data in (DATA, UNDEFINED)],
    "Significance": lambda: [
        pv.leaderboard(data, metrics=METRICS, chance=0).significance() for data in (DATA, UNDEFINED)
    ],
    "BufferAdvice": lambda: [BufferAdvice((EventSpacing.of("a", LABELS == 1), EventSpacing.of("b", NONE == 1)))],
}
# Described and tested where they are made, from more than labels and scores.
ELSEWHERE = {"ScoreAudit", "DataCheck", "EvaluationTable", "Verification"}
# What results are made of, and what is no result.
PARTS = {"Metric", "EventWeights"}


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", RESULTS)
def test_frame_dictionary_and_json(name):
    for result in RESULTS[name]():
        assert type(result).__name__ == name
        frame = result.to_frame("pyarrow")
        assert isinstance(frame, pa.Table)
        assert frame.num_columns > 1
        found = result.to_dict()
        assert isinstance(found, dict)
        assert strict(result.to_json()) == found
        assert not any(isinstance(leaf, float) and not math.isfinite(leaf) for leaf in leaves(found))
        assert len(repr(result)) < 20_000


def leaves(value):
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def test_none_is_forgotten():
    public = {name for name in pv.__all__ if dataclasses.is_dataclass(getattr(pv, name))}
    assert public - set(RESULTS) - ELSEWHERE - PARTS == set()
    for name in ELSEWHERE & public:
        assert all(hasattr(getattr(pv, name), method) for method in ("to_frame", "to_dict", "to_json")), name
    assert Significance.__name__ in RESULTS


def test_dir_holds_public_names_only():
    import pateval.cli  # what is imported along the way is no public name

    assert pateval.cli is not None
    assert set(dir(pv)) == {*pv.__all__, *pv._MODULES, "__version__"}
    assert not any(name.startswith("_") for name in set(dir(pv)) - {"__version__"})
