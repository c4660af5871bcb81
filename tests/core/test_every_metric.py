"""What holds for every metric of the catalogue: range, order, containers, the contract's table of inputs, edges."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import math
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings

import pateval as pv
import pateval.metrics
from pateval.catalog import PROPERTIES, catalogue
from support.inputs import BAD_LABELS, BAD_SCORES, CONTAINERS
from support.messages import raises_exactly
from support.strategies import labels_and_predictions, labels_and_scores

pytestmark = pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")

LABELS = [0, 0, 1, 1, 1, 0, 0, 0]  # one event of more than one step: defined for every metric
SCORES = [0.125, 0.5, 1.0, 0.25, 0.375, 0.0, 0.75, 0.625]  # exact in every float type
PREDICTIONS = [0, 1, 1, 0, 0, 0, 1, 0]
SECOND = {"scores": SCORES, "predictions": PREDICTIONS}

# The entries of one function; the first stands for all where the field does not matter.
FUNCTIONS: dict[str, list] = {}
for _metric in catalogue(emerging=True).values():
    FUNCTIONS.setdefault(_metric.function.__name__, []).append(_metric)
EVERY_FUNCTION = pytest.mark.parametrize("name", FUNCTIONS)
EVERY_METRIC = pytest.mark.parametrize("metric", catalogue(emerging=True).values(), ids=catalogue(emerging=True))
ON_SCORES = [name for name, (metric, *_) in FUNCTIONS.items() if metric.takes == "scores"]
ON_PREDICTIONS = [name for name in FUNCTIONS if name not in ON_SCORES]

# In `pateval.metrics`, but not metrics: curves and per-event values, and what they are made of.
NOT_METRICS = {"TsCurve", "VusAreas", "affiliation_events", "ts_curve", "vus_areas"}
NOT_METRICS |= {"ChannelRanking", "DetectionQuality", "EventWeightedCurve", "channel_ranking", "event_weighted_curve"}
NOT_METRICS |= {"detection_quality_parts", "timing_quality_events"}
ELSEWHERE = {"pate", "pate_ap", "pate_f1"}  # in their own room
ON_CHANNELS = {metric.function.__name__ for metric in catalogue(channels=True).values() if metric.channels}
BY_VALUE = {"confidence_consistency", "detection_quality"}  # not only the order of the scores counts


def call(name, labels, second, **options):
    return FUNCTIONS[name][0].function(labels, second, **options)


def second_of(name):
    return SECOND[FUNCTIONS[name][0].takes]


def oracle_of(name):
    """The literal twin: the function of the same name in the file of the same name, if there is one."""
    metric = FUNCTIONS[name][0]
    file = metric.function.__module__.rpartition(".")[2]
    if importlib.util.find_spec(f"oracles.{file}") is None:
        return None
    literal = getattr(importlib.import_module(f"oracles.{file}"), name, None)
    return literal and functools.partial(literal, **metric.parameters)


def literal_value(name, labels, second):
    return oracle_of(name)(list(map(int, labels)), np.asarray(second).tolist())


def fields(metric, result):
    return float(getattr(result, metric.field) if metric.field else result)


def value(metric, labels, second, **options):
    return fields(metric, metric.function(labels, second, **options))


# --- the catalogue is complete ---


def test_no_metric_is_missing_from_the_catalogue():
    # Those on channels have a file of tests of their own.
    assert set(pateval.metrics.__all__) - NOT_METRICS - ON_CHANNELS == set(FUNCTIONS) - ELSEWHERE
    assert set(pv.__all__) >= set(FUNCTIONS)


def test_no_public_function_of_a_metric_file_is_missing():
    found = set()
    for info in pkgutil.iter_modules(pateval.metrics.__path__):
        module = importlib.import_module(f"pateval.metrics.{info.name}")
        found |= {
            name
            for name, item in vars(module).items()
            if (inspect.isfunction(item) or inspect.isclass(item))
            and item.__module__ == module.__name__
            and not name.startswith("_")
        }
    assert found == set(pateval.metrics.__all__)


@EVERY_METRIC
def test_every_entry_is_complete(metric):
    assert metric.paper.text
    assert metric.paper.link.startswith(("arXiv:", "doi:", "https://"))
    assert metric.faults
    assert metric.summary.endswith((".", ":"))
    assert metric.takes in ("scores", "predictions")
    assert metric.low < metric.high
    assert metric.properties <= set(PROPERTIES)
    assert ("threshold_free" in metric.properties) == (metric.takes == "scores")
    assert metric.needs_threshold == (metric.takes == "predictions")
    first, second, *options = inspect.signature(metric.function).parameters.values()
    assert (first.name, second.name) == ("labels", metric.takes)
    assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)
    assert all(option.default is not inspect.Parameter.empty for option in options)


@pytest.mark.parametrize("metric", catalogue(emerging=True, channels=True).values(), ids=lambda metric: metric.id)
def test_every_option_has_a_kind_by_which_ids_are_checked(metric):
    assert metric.kinds.keys() >= metric.parameters.keys()


# --- values ---


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if oracle_of(name)])
def test_agrees_with_its_oracle(name):
    metric = FUNCTIONS[name][0]
    pairs = labels_and_scores() if metric.takes == "scores" else labels_and_predictions()

    @settings(max_examples=40)
    @given(pairs)
    def check(pair):
        try:
            found = metric.function(*pair)
        except pv.UndefinedMetricError:
            return
        expected = literal_value(name, *pair)
        if isinstance(expected, tuple):
            found = found[: len(expected)]  # an oracle may leave the F1 out
        assert found == pytest.approx(expected, abs=1e-12)

    check()


@EVERY_FUNCTION
def test_values_are_in_range(name):
    entries = FUNCTIONS[name]
    pairs = labels_and_scores() if entries[0].takes == "scores" else labels_and_predictions()

    @settings(max_examples=40)
    @given(pairs)
    def check(pair):
        try:
            result = entries[0].function(*pair)
        except pv.UndefinedMetricError:
            return
        for metric in entries:
            found = fields(metric, result)
            assert metric.low - 1e-12 <= found <= metric.high + 1e-12

    check()


def ranks(scores):
    return np.unique(scores, return_inverse=True)[1]


MAPS = [ranks, np.exp, np.arctan, lambda scores: scores**3, lambda scores: 4 * scores - 2]


@pytest.mark.parametrize("name", [name for name in ON_SCORES if name not in BY_VALUE])
def test_only_the_order_of_scores_counts(name):
    @settings(max_examples=40)
    @given(labels_and_scores())
    def check(pair):
        labels, scores = pair
        try:
            expected = call(name, labels, scores)
        except pv.UndefinedMetricError:
            return
        for increasing in MAPS:
            assert call(name, labels, increasing(scores)) == pytest.approx(expected, abs=1e-12)

    check()


def several_events():
    labels = np.zeros(300, dtype=int)
    for start, stop in [(60, 80), (120, 125), (200, 240)]:
        labels[start:stop] = 1
    return labels


def one_event():
    labels = np.zeros(300, dtype=int)
    labels[120:150] = 1
    return labels


# A perfect detector is late for nothing; this one prefers false alarms ahead of events.
NOT_BEST_WHEN_PERFECT = {"mean_detection_offset"}


@EVERY_METRIC
def test_perfect_is_at_least_as_good_as_random(metric):
    labels = one_event() if metric.id == "ucr_score" else several_events()
    sign = 1 if metric.higher_is_better else -1
    perfect = value(metric, labels, labels)
    for seed in range(10):
        noise = np.random.default_rng(seed).random(labels.size)
        random = value(metric, labels, noise if metric.takes == "scores" else noise > 0.9)
        if metric.id in NOT_BEST_WHEN_PERFECT:
            assert sign * perfect < sign * random
        else:
            assert sign * perfect >= sign * random


@EVERY_FUNCTION
def test_perfect_reaches_the_best(name):
    entries = FUNCTIONS[name]

    @settings(max_examples=40)
    @given(labels_and_predictions())
    def check(pair):
        labels, _ = pair
        try:
            result = entries[0].function(labels, labels)
        except pv.UndefinedMetricError:
            return
        for metric in entries:
            if metric.best is None:
                assert name == "mean_detection_offset"  # has no bound
            elif name == "balanced_point_adjusted":
                assert fields(metric, result) <= metric.best  # alarms spill over the edges of the events
            elif name == "nab" and labels[: math.ceil(0.15 * labels.size)].any():
                assert fields(metric, result) <= metric.best  # a window in the probation cannot be won in time
            else:
                assert fields(metric, result) == pytest.approx(metric.best, abs=1e-12)

    check()


# --- inputs ---


@EVERY_FUNCTION
def test_containers_agree(name):
    expected = call(name, LABELS, second_of(name))
    for container, make in CONTAINERS.items():
        assert call(name, make(LABELS), make(second_of(name))) == expected, container


@EVERY_FUNCTION
def test_types_agree(name):
    expected = call(name, LABELS, second_of(name))
    for kind in (bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64):
        assert call(name, np.array(LABELS, dtype=kind), second_of(name)) == expected, kind
        if name in ON_PREDICTIONS:
            assert call(name, LABELS, np.array(PREDICTIONS, dtype=kind)) == expected, kind


@EVERY_FUNCTION
def test_inputs_are_not_changed(name):
    labels, second = np.array(LABELS), np.array(second_of(name))
    before = labels.copy(), second.copy()
    labels.flags.writeable = second.flags.writeable = False
    call(name, labels, second)
    assert (labels == before[0]).all()
    assert (second == before[1]).all()


def refused(name, labels, second, message):
    with raises_exactly((ValueError, TypeError), message):
        call(name, labels, second)


@EVERY_FUNCTION
def test_bad_labels(name):
    for labels, message in BAD_LABELS:
        refused(name, labels, second_of(name), message.format("scores" if name in ON_SCORES else "predictions"))


@pytest.mark.parametrize("name", ON_SCORES)
def test_bad_scores(name):
    for scores, message in BAD_SCORES:
        refused(name, LABELS, scores, message)


BAD_PREDICTIONS = [
    (PREDICTIONS[:3], "labels and predictions must have the same length; got 8 and 3"),
    ([], "predictions must hold at least one time step; got an empty array"),
    ([PREDICTIONS], "predictions must be one-dimensional, one value per time step; got an array of shape (1, 8)"),
    (
        SCORES,
        (
            "predictions must be 0 or 1 at every step; found 0.125 at index 0 (6 such values in 8): scores become "
            "predictions at a threshold, as in scores >= 0.5; where there is scores=, pass them as that"
        ),
    ),
    (
        [0, np.nan, *PREDICTIONS[2:]],
        "predictions must be 0 or 1 at every step; found NaN at index 1 (1 such value in 8)",
    ),
    (
        [0, np.inf, *PREDICTIONS[2:]],
        "predictions must be 0 or 1 at every step; found inf at index 1 (1 such value in 8)",
    ),
    ([0, None, *PREDICTIONS[2:]], "predictions must hold no missing values; found one at index 1 (1 in 8)"),
    (["0"] * 8, "predictions must be numbers (bool, integer or float); got text values"),
    (np.array(PREDICTIONS) * 1j, "predictions must be numbers (bool, integer or float); got complex values"),
    (
        np.array(["2020-01-01"] * 8, dtype="datetime64[D]"),
        "predictions must be numbers (bool, integer or float); got date values",
    ),
    (
        np.ma.masked_array(PREDICTIONS, mask=[0, 0, 0, 1, 0, 0, 0, 1]),
        "predictions must hold no masked values; found one at index 3 (2 in 8)",
    ),
]


@pytest.mark.parametrize("name", ON_PREDICTIONS)
def test_bad_predictions(name):
    for predictions, message in BAD_PREDICTIONS:
        refused(name, LABELS, predictions, message)


@EVERY_FUNCTION
def test_swapped_arguments_are_pointed_out(name):
    refused(
        name,
        SCORES,
        LABELS,
        "labels must be 0 or 1 at every step; found 0.125 at index 0 (6 such values in 8): the arguments look swapped; "
        "labels come first",
    )


@EVERY_FUNCTION
def test_unknown_and_bad_options(name):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        call(name, LABELS, second_of(name), colour="blue")
    for option in FUNCTIONS[name][0].parameters:
        for wrong in ("no such thing", object(), -1, [1j]):
            with pytest.raises((ValueError, TypeError), match=option) as caught:
                call(name, LABELS, second_of(name), **{option: wrong})
            assert "\n" not in str(caught.value)


OTHERS = sorted(NOT_METRICS | ON_CHANNELS)


@pytest.mark.parametrize("name", [name for name in OTHERS if inspect.isfunction(getattr(pv, name))])
def test_bad_options_of_curves_parts_and_metrics_of_channels(name):
    function = getattr(pv, name)
    _, second, *options = inspect.signature(function).parameters
    labels, values = np.array(LABELS), np.array(SECOND[second])
    if "channel" in name:
        labels, values = np.stack([labels, labels], axis=1), np.stack([values, values], axis=1)
    for option in options:
        for wrong in ("no such thing", object(), -1, [1j]):
            with pytest.raises((ValueError, TypeError), match=option):
                function(labels, values, **{option: wrong})


# --- edge cases ---


@EVERY_FUNCTION
def test_no_anomaly_is_undefined(name):
    if name == "szcore_false_alarm_rate":  # without an event every alarm is false
        assert call(name, [0] * 8, second_of(name)) == 86400 / 8
        return
    with pytest.raises(pv.UndefinedMetricError, match="the labels hold no anomaly"):
        call(name, [0] * 8, second_of(name))
    with pytest.raises(pv.UndefinedMetricError, match="the labels hold no anomaly"):
        call(name, [0] * 8, [0] * 8)


UNDEFINED = None
STEPS, START, STOP = 20, 8, 13
EDGE = np.zeros(STEPS, dtype=int)
EDGE[START:STOP] = 1
SHARE = (STOP - START) / STEPS
NO_BUFFERS = {
    **{key: {"early": 0, "delay": 0} for key in ("pate", "pate_ap", "pate_f1")},
    **{key: {"window": 0} for key in ("vus_roc", "vus_pr", "range_auc_roc", "range_auc_pr", "vus_predictions")},
}
CONSTANT = {
    "pate": (1 + SHARE) / 2,
    "pate_ap": SHARE,
    "auc_roc": 0.5,
    "average_precision": SHARE,
    "auc_pr": (1 + SHARE) / 2,
    "vus_roc": 0.5,
    "vus_pr": SHARE,
    "range_auc_roc": 0.5,
    "range_auc_pr": SHARE,
    "ts_auprc": (1 + SHARE) / 2,
    "ts_average_precision": SHARE,
    "precision_at_k": SHARE,
    "f1_at_k": 2 * SHARE / (1 + SHARE),
    "precision_at_k_ranges": 1,
    "f1_at_k_ranges": 1,
    "ucr_score": 1,  # judged by the first step, which is close enough here
}
ALL_ANOMALOUS_UNDEFINED = {"auc_roc", "vus_roc", "range_auc_roc", "pa_auc_roc"}
ALL_ANOMALOUS_UNDEFINED |= {"confidence_consistency", "unbiased_affiliation"}
# Nothing predicted: 0, or what stands here.
NOTHING = {
    "pa_auc_roc": 0.5,
    "temporal_distance": (STOP - START) * STEPS,
    "mean_detection_delay": UNDEFINED,
    "mean_detection_offset": UNDEFINED,
    "timing_after_rate": UNDEFINED,
    "timing_quality": UNDEFINED,
    "censored_detection_delay": STOP - START,
}
F1 = 2 * SHARE / (1 + SHARE)
AFFILIATION = (5 + (32 + 24.5) / 20 + (31.5 + 24.5) / 20) / 20  # inside; before; after the event, integrated by hand
WITHIN_FIVE = (STOP - START + 5 + 5) / STEPS


def everything_under_nab():
    """One window won at its first step; false alarms before it at full price, after it on the slope."""
    after = [2 / (1 + math.exp(5 * (t - STOP + 1) / (STOP - START - 1))) - 1 for t in range(STOP, STEPS)]
    before = START - math.floor(0.15 * STEPS)
    return 100 * (1 + 0.11 * (sum(after) - before) + 1) / 2


# Everything predicted; precision, recall and F1 where there are three.
EVERYTHING = {
    "pate_f1": F1,
    "point": (SHARE, 1, F1),
    "point_adjusted": (SHARE, 1, F1),
    "pa_auc_roc": 0.5,
    "point_adjusted_k": (SHARE, 1, F1),
    "point_adjusted_k_area": F1,
    "delay_adjusted": (SHARE, 1, F1),
    "range_based": (SHARE, 1, F1),
    "tapr": (SHARE / 2, 1, SHARE / (1 + SHARE / 2)),
    "etapr": (0, 0, 0),  # too little of the run is right, so it is pruned, and the event with it
    "affiliation": (AFFILIATION, 1, 2 * AFFILIATION / (1 + AFFILIATION)),
    "composite": (SHARE, 1, F1),
    "segment": (1, 1, 1),
    "event_wise": (0, 1, 0),
    "revised_point_adjusted": (1 / 16, 1, 2 / 17),
    "time_tolerant": (WITHIN_FIVE, 1, 2 * WITHIN_FIVE / (1 + WITHIN_FIVE)),
    "temporal_distance": sum(range(1, START + 1)) + sum(range(1, STEPS - STOP + 1)),
    "vus_predictions": (SHARE, 1, F1),
    "nab": everything_under_nab(),
    "mean_detection_delay": 0,
    "censored_detection_delay": 0,
    "mean_detection_offset": -START,
    "onset_detection_rate": 1,
    "timing_quality": 0,
    "false_alarm_rate": 0,
    "latency_sparsity_aware": (1 / 2, 1, 2 / 3),
}


def expected_of(table, name, second):
    """What was worked out by hand, or, for a metric that is not in the table, what its oracle says."""
    return table[name] if name in table else literal_value(name, EDGE, second)


def assert_value(name, labels, second, expected):
    if expected is UNDEFINED:
        with pytest.raises(pv.UndefinedMetricError, match="the metric is undefined"):
            call(name, labels, second, **NO_BUFFERS.get(name, {}))
    else:
        found = call(name, labels, second, **NO_BUFFERS.get(name, {}))
        assert found == pytest.approx(expected, abs=1e-12)


def test_the_tables_of_edge_cases_are_complete():
    assert set(CONSTANT) <= set(ON_SCORES)
    assert set(EVERYTHING) <= set(ON_PREDICTIONS)
    assert set(NOTHING) <= set(ON_PREDICTIONS)
    assert all(oracle_of(name) for name in set(FUNCTIONS) - set(CONSTANT) - set(EVERYTHING))


@pytest.mark.parametrize("level", [0.0, -3.5])
@pytest.mark.parametrize("name", ON_SCORES)
def test_constant_scores(name, level):
    scores = np.full(STEPS, level)
    refused = name == "detection_quality" and level < 0
    assert_value(name, EDGE, scores, UNDEFINED if refused else expected_of(CONSTANT, name, scores))


@pytest.mark.parametrize("name", ON_PREDICTIONS)
def test_nothing_predicted(name):
    three = FUNCTIONS[name][0].field is not None
    assert_value(name, EDGE, [0] * STEPS, NOTHING.get(name, (0, 0, 0) if three else 0))


@pytest.mark.parametrize("name", ON_PREDICTIONS)
def test_everything_predicted(name):
    assert_value(name, EDGE, [1] * STEPS, expected_of(EVERYTHING, name, [1] * STEPS))


@EVERY_FUNCTION
def test_all_anomalous(name):
    labels, metric = [1] * STEPS, FUNCTIONS[name][0]
    rng = np.random.default_rng(5)
    if name in ALL_ANOMALOUS_UNDEFINED:
        for second in ([1] * STEPS, [0] * STEPS):
            assert_value(name, labels, second, UNDEFINED)
    elif name == "detection_quality":  # the thresholds that some score reaches
        assert_value(name, labels, [0.5] * STEPS, 0.5)
    elif metric.takes == "scores":
        assert_value(name, labels, rng.random(STEPS), 1)
        assert_value(name, labels, [0.5] * STEPS, 1)
    elif name == "nab":  # the first step that counts comes after the probation of 3
        sigma = [2 / (1 + math.exp(-5 * share)) - 1 for share in (17 / 20, 1)]
        assert_value(name, labels, [1] * STEPS, 100 * (sigma[0] / sigma[1] + 1) / 2)
    else:
        best = 0.0 if metric.best is None else metric.best
        assert_value(name, labels, [1] * STEPS, (best,) * 3 if metric.field else best)
        lost = {"temporal_distance": STEPS**2, "censored_detection_delay": STEPS}
        assert_value(name, labels, [0] * STEPS, lost.get(name, NOTHING.get(name, (0, 0, 0) if metric.field else 0)))


@EVERY_FUNCTION
def test_a_single_step(name):
    if name in ALL_ANOMALOUS_UNDEFINED | {"nab"}:
        assert_value(name, [1], [1], UNDEFINED)
    else:
        metric = FUNCTIONS[name][0]
        best = 0.0 if metric.best is None else metric.best
        assert_value(name, [1], [1], (best,) * 3 if metric.field else best)
