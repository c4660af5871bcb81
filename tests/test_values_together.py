"""Many short series at once are what each of them is alone; chance is what random scores reach, one draw at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pateval.evaluation import together
from pateval.evaluation.chance import chance_of, steps_digest
from pateval.evaluation.measures import Measures
from pateval.evaluation.together import values_together
from pateval.evaluation.values import Value, values_of
from pateval.time.timelines import read_recording
from support.strategies import labels_and_scores

DEFAULTS = Measures.of()
OTHERS = Measures.of(
    metrics="pate(early=0..9,delay=3), pate_ap(early=5,delay=[5,5,0]), pate_ap(thresholds=3), vus_pr(window=3), "
    "vus_pr(thresholds=4), vus_pr(thresholds=none), range_auc_pr(window=9), vus_pr(variant=original), vus_roc, auc_pr, "
    "point_recall, point_f_beta(beta=2), point_f1(threshold=best), point_adjusted_precision, affiliation_recall, "
    "affiliation_f1(threshold=best), pate_f1(early=[3,7],delay=2), pate_f1(threshold=0.5), "
    "point_f1(threshold=quantile), nab, false_alarm_rate"
)
LABELS = np.repeat([0, 1, 0, 1, 0], [20, 6, 30, 8, 20])
SCORES = np.random.default_rng(0).random(LABELS.size) + 0.3 * LABELS


def assert_equal(found, expected):
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name][1:] == value[1:], name
        assert np.array_equal(found[name].value, value.value, equal_nan=True), name


@given(st.lists(labels_and_scores(with_anomaly=False), min_size=1, max_size=6), st.sampled_from([DEFAULTS, OTHERS]))
def test_many_series_are_what_each_of_them_is(pairs, measures):
    recordings = [read_recording(*pair) for pair in pairs]
    for found, recording in zip(values_together(recordings, measures), recordings, strict=True):
        assert_equal(found, values_of(recording, measures))


@pytest.mark.parametrize("steps", [70, 300, 999, 3_999])
def test_series_of_many_lengths_and_types(steps):
    generator = np.random.default_rng(steps)
    recordings = []
    for size in [steps, 2, *generator.integers(3, steps, 40).tolist()]:
        labels = np.zeros(size, dtype=int)
        for start in generator.integers(0, size, 3):
            labels[start : start + 1 + size // 9] = 1
        scores = (generator.random(size) + 0.2 * labels).astype(generator.choice(["f4", "f8"]))
        recordings.append(read_recording(labels, scores.round(generator.choice([1, 12]))))
    for found, recording in zip(values_together(recordings, DEFAULTS), recordings, strict=True):
        assert_equal(found, values_of(recording, DEFAULTS))


HOURS = {"times": np.arange(LABELS.size) * 3600, "time_unit": "s"}
MISSING = np.where(np.arange(LABELS.size) % 7 == 3, np.nan, SCORES)
OUT_OF_THE_ORDINARY = {
    "ordinary": ({}, {}, SCORES),
    "times": (HOURS, {}, SCORES),
    "durations": (HOURS, {"early": "3h", "delay": "2h", "window": "5h"}, SCORES),
    "gaps": (HOURS | {"max_gap": "1h"}, {"max_gap": "1h"}, SCORES),
    "ignored": ({"ignore": np.arange(LABELS.size) % 9 == 0}, {}, SCORES),
    "left out": ({"missing": "ignore"}, {"missing": "ignore"}, MISSING),
    "never predicted": ({"missing": "normal"}, {"missing": "normal"}, MISSING),
    "several series": ({"series": np.arange(LABELS.size) // 45}, {"pooled": True}, SCORES),
    "many pairs": ({}, {"early": range(12), "delay": range(12)}, SCORES),
    "wide": ({}, {"window": 1200}, SCORES),
    "number": ({}, {"threshold": 0.7}, SCORES),
}


@pytest.mark.parametrize("case", OUT_OF_THE_ORDINARY)
def test_what_is_out_of_the_ordinary(case):
    steps, options, scores = OUT_OF_THE_ORDINARY[case]
    measures = Measures.of(**options)
    recordings = [read_recording(LABELS, one, **steps) for one in (scores, -scores)]
    for found, recording in zip(values_together(recordings, measures), recordings, strict=True):
        assert_equal(found, values_of(recording, measures))


def test_predictions_that_are_given():
    recording = read_recording(LABELS, SCORES, SCORES > 0.8)
    assert_equal(*values_together([recording], DEFAULTS), values_of(recording, DEFAULTS))


def test_only_what_is_out_of_the_ordinary_is_computed_alone(monkeypatch):
    computed = []

    def remembered(recording, measures, **options):
        computed.append(measures.ids)
        return values_of(recording, measures, **options)

    monkeypatch.setattr(together, "values_of", remembered)
    measures = Measures.of(metrics=[*DEFAULTS.ids, "nab"])
    long = np.tile(LABELS, 48)
    values_together([read_recording(LABELS, SCORES), read_recording(long, np.tile(SCORES, 48))], measures)
    assert computed == [("nab",), measures.ids]


def chance_one_draw_at_a_time(recording, measures, found):
    """What random scores reach: the definition."""
    generator = np.random.default_rng([measures.seed, steps_digest(recording)])
    left_out = recording.is_left_out
    reached = {name: [] for name in measures.ids}
    for _ in range(measures.chance):
        scores = generator.random(recording.labels.shape)
        steps = replace(recording, ignore=left_out, absent=None, missing="error", scores=scores, predictions=None)
        for metric in measures.metrics:
            drawn = steps
            if metric.needs_threshold and (recording.predictions is not None or measures.rule(metric).is_foreign):
                counted = np.flatnonzero(np.ones(scores.size) if left_out is None else ~left_out)
                highest = counted[np.argsort(scores[counted])][counted.size - found[metric.id].flagged :]
                drawn = replace(steps, predictions=np.isin(np.arange(scores.size), highest))
            value = values_of(drawn, replace(measures, metrics=(metric,)))[metric.id]
            reached[metric.id].append(value)
    return {
        name: np.mean([one.value for one in values if not one.reason] or [math.nan]) for name, values in reached.items()
    }


@pytest.mark.parametrize("draws", [1, 4])
@pytest.mark.parametrize("case", OUT_OF_THE_ORDINARY)
def test_chance(case, draws):
    steps, options, scores = OUT_OF_THE_ORDINARY[case]
    measures = Measures.of(**options, chance=draws, seed=3)
    recordings = [read_recording(LABELS, one, **steps) for one in (scores, -scores)]
    asked = [(recording, values_of(recording, measures)) for recording in recordings]
    for found, (recording, values) in zip(chance_of(asked, measures), asked, strict=True):
        expected = chance_one_draw_at_a_time(recording, measures, values)
        assert {name: value.value for name, value in found.items()} == expected


def test_chance_of_more_than_is_computed_at_once(monkeypatch):
    measures = Measures.of(chance=3)
    asked = [(recording := read_recording(LABELS[k:], SCORES[k:]), values_of(recording, measures)) for k in range(9)]
    whole = chance_of(asked, measures)
    monkeypatch.setattr("pateval.evaluation.chance.MOST_STEPS", 100)
    monkeypatch.setattr(together, "MOST_STEPS", 200)
    for one, other in zip(chance_of(asked, measures), whole, strict=True):
        assert_equal(one, other)


def test_chance_without_draws():
    measures = Measures.of(metrics="pate", chance=0)
    recording = read_recording(LABELS, SCORES)
    ((_, value),) = chance_of([(recording, values_of(recording, measures))], measures)[0].items()
    assert value.reason == "no random scores were drawn"
    assert isinstance(value, Value)
