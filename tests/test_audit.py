"""The audit: the battery is what it says, the properties are those measured, and the table tells who is fooled."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from pateval.auditing import BATTERY, audit, probe
from pateval.auditing.fakes import as_many_as
from pateval.auditing.label_audit import FAKES, WORTHLESS
from pateval.catalog import PROPERTIES, catalogue, initials
from pateval.labels.events import runs
from support import user_metrics
from support.command_line import invoke
from support.messages import raises_exactly
from support.strategies import binary_series

EVERYTHING = catalogue(channels=True, emerging=True)
DETECTORS = {entry.name: entry for entry in BATTERY}


def labels_of(*events, steps=1000):
    labels = np.zeros(steps, dtype=bool)
    for start, stop in events:
        labels[start:stop] = True
    return labels


LABELS = labels_of((200, 240), (500, 620), (800, 830))


def make(name, labels, seed=0):
    """What a detector hands in, with as many steps flagged as are anomalous where it flags none itself."""
    labels = np.asarray(labels, dtype=bool)
    (made,) = DETECTORS[name].detections(labels, np.random.default_rng(seed))
    return made if made.predictions is not None else made._replace(predictions=as_many_as(labels, made.scores))


# --- properties ---


@pytest.fixture(scope="module")
def findings():
    return probe(list(EVERYTHING))


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_properties_of_the_catalogue_are_those_measured(findings, name):
    assert initials(findings[name].properties) == initials(EVERYTHING[name].properties)


def test_where_the_paper_and_the_measurement_differ(findings):
    differ = {
        metric.id: f"{initials(metric.paper_properties)} {initials(findings[metric.id].properties)}"
        for metric in catalogue().values()
        if metric.paper_properties is not None
        and metric.field in (None, "f1")
        and metric.paper_properties != findings[metric.id].properties
    }
    assert differ == {
        "auc_roc": "-----t ----ct",
        "average_precision": "-----t ----ct",
        "auc_pr": "-----t ----ct",
        "vus_roc": "s-d--t sed-ct",
        "vus_pr": "s-d--t sed-ct",
        "point_f1": "------ ----c-",
        "range_based_f1": "s----- s---c-",
        "tapr_f1": "s-d--- s---c-",  # its zone after events has no length unless delta is given
        "etapr_f1": "s-d--- s---c-",
        "affiliation_f1": "s---c- sed-c-",
    }


def test_early_is_told_from_late_by_few(findings):
    told_apart = {name for name, found in findings.items() if found.early_from_late}
    assert {name for name in told_apart if EVERYTHING[name].field in (None, "f1")} == {
        "pate",
        "pate_ap",
        "pate_f1",
        "delay_adjusted_f1",
        "nab",
        "mean_detection_delay",
        "censored_detection_delay",
        "mean_detection_offset",
        "timing_after_rate",
        "timing_quality",
        "latency_sparsity_aware_f1",
    }


def test_options_change_what_is_measured():
    assert "early" not in probe("pate", early=0)["pate"].properties
    assert "delayed" not in probe("pate", delay=0)["pate"].properties
    assert initials(probe("vus_pr", window=0)["vus_pr"].properties) == "s---ct"  # by its existence term
    assert set(probe(["nab", "point_f1"])) == {"nab", "point_f1"}


# --- the battery ---


def test_the_battery_is_that_of_the_issue():
    assert list(DETECTORS) == [
        "random",
        "constant",
        "always_on",
        "one_per_length",
        "periodic",
        "inverted",
        "one_point",
        "shifted_early",
        "shifted_late",
        "fragmented",
        "real",
        "perfect",
    ]
    assert {entry.kind for entry in BATTERY} == {"worthless", "poor", "real", "perfect"}
    assert len(FAKES) == 10


@settings(max_examples=60)
@given(st.data())
def test_every_detector_can_be_made_from_any_labels(data):
    labels = data.draw(binary_series())
    if not labels.any():
        labels[data.draw(st.integers(0, labels.size - 1))] = 1
    for entry in BATTERY:
        scores, predictions, _ = make(entry.name, labels)
        assert scores.shape == predictions.shape == labels.shape
        assert predictions.dtype == bool
        assert np.isfinite(scores).all()
        again = make(entry.name, labels)
        assert (again.scores == scores).all()
        if predictions.any() and not predictions.all() and entry.name != "fragmented":
            assert scores[predictions].min() > scores[~predictions].max()


def test_detectors_by_hand():
    flagged = {name: make(name, LABELS).predictions for name in DETECTORS}
    assert not flagged["constant"].any()
    assert flagged["always_on"].all()
    assert (flagged["perfect"] == LABELS).all()
    assert (flagged["inverted"] == ~LABELS).all()
    assert runs(flagged["shifted_early"])[0].tolist() == [160, 380, 770]
    assert runs(flagged["shifted_early"])[1].tolist() == [200, 500, 800]
    assert runs(flagged["shifted_late"])[0].tolist() == [240, 620, 830]
    assert runs(flagged["shifted_late"])[1].tolist() == [280, 740, 860]
    assert np.flatnonzero(flagged["periodic"]).tolist() == list(range(20, 1000, 40))  # the median event has 40 steps
    per_stretch = flagged["one_per_length"].reshape(25, 40).sum(axis=1)
    assert (per_stretch == 1).all()
    for start, stop in zip(*runs(LABELS), strict=True):
        assert flagged["one_point"][start:stop].sum() == 1
    assert flagged["one_point"].sum() == 3
    assert flagged["random"].sum() == flagged["real"].sum() == LABELS.sum()
    starts, stops = runs(flagged["real"])
    assert all(
        flagged["fragmented"][start:stop].tolist() == [(step - start) % 2 == 0 for step in range(start, stop)]
        for start, stop in zip(starts, stops, strict=True)
    )


def test_moved_events_end_with_the_series():
    labels = labels_of((0, 5), (95, 100), steps=100)
    assert np.flatnonzero(make("shifted_late", labels).predictions).tolist() == list(range(5, 10))
    assert np.flatnonzero(make("shifted_early", labels).predictions).tolist() == list(range(90, 95))


def test_the_real_detector_finds_nine_of_ten_late():
    events = [(100 * number, 100 * number + 20) for number in range(1, 21)]
    labels = labels_of(*events, steps=2200)
    hits = np.mean(
        [[make("real", labels, seed).scores[a + 2 : b].mean() > 0.5 for a, b in events] for seed in range(20)], axis=0
    )
    assert (hits[[9, 19]] < 0.3).all()  # only by a false alarm
    assert (np.delete(hits, [9, 19]) == 1).all()
    first = np.array([make("real", labels, seed).scores[[a for a, _ in events]] for seed in range(20)])
    assert np.mean(first > 0.5) < 0.1


# --- the audit ---


@pytest.fixture(scope="module")
def found():
    return audit(LABELS, seeds=5)


def test_every_metric_is_there_and_every_gap_has_a_reason(found):
    assert [row.metric.id for row in found.rows] == list(catalogue())
    assert (found.steps, found.events, found.anomalous, len(found)) == (1000, 3, 190, len(catalogue()))
    for row in found.rows:
        assert set(row.values) == set(row.spreads) == set(DETECTORS)
        assert {name for name, value in row.values.items() if math.isnan(value)} == set(row.reasons)
        assert all(
            row.spreads[entry.name] == 0 for entry in BATTERY if not entry.drawn and entry.name not in row.reasons
        )
    assert "exactly one event" in found["ucr_score"].reasons["random"]
    with pytest.raises(KeyError):
        found["nothing"]


def test_values_are_those_of_evaluate(found):
    detection = make("periodic", LABELS)
    expected = pv.evaluate(LABELS, detection.scores, detection.predictions, metrics="all")
    for row in found.rows:
        np.testing.assert_equal(row.values["periodic"], expected[row.metric.id])
    draws = [pv.auc_roc(LABELS, make("random", LABELS, [0, draw]).scores) for draw in range(5)]
    assert found["auc_roc"].chance == pytest.approx(np.mean(draws))
    assert found["auc_roc"].spread == pytest.approx(np.std(draws))


def test_perfect_beats_the_fakes_and_the_real_one(found):
    # Exceptions: what costs nothing (false alarms, missed events) can be had as cheaply.
    for row in found.rows:
        if row.metric.id in ("ucr_score", "mean_detection_offset"):
            continue
        sign = 1 if row.metric.higher_is_better else -1
        for value in row.values.values():
            assert math.isnan(value) or sign * row.values["perfect"] >= sign * value - 1e-9


def test_who_is_fooled(found):
    assert found["point_f1"].beaten_by == ()
    assert found["pate"].beaten_by == ()
    assert found["segment_f1"].values["always_on"] == 1
    assert "always_on" in found["segment_f1"].beaten_by
    assert found["segment_f1"].fooled
    assert "one_point" in found["point_adjusted_f1"].beaten_by
    assert found["point_adjusted_f1"].values["one_point"] == 1
    assert "constant" in found["false_alarm_rate"].beaten_by  # lower is better
    assert set(found.fooled) == {row.metric.id for row in found.rows if WORTHLESS & set(row.beaten_by)}
    assert "pate" not in found.fooled
    assert "point_adjusted_f1" in found.fooled
    # Where the scores follow the trapezoid rule, a constant gets far more than chance.
    assert found["pate"].values["constant"] > found["pate"].chance + 0.3
    assert found["pate_ap"].values["constant"] == pytest.approx(found["pate_ap"].chance, abs=0.05)


def test_the_same_seed_gives_the_same_audit():
    first, second = (audit(LABELS, metrics=["pate", "nab"], seeds=3, seed=4) for _ in range(2))
    assert [dict(row.values) for row in first.rows] == [dict(row.values) for row in second.rows]
    other = audit(LABELS, metrics=["pate", "nab"], seeds=3, seed=5)
    assert other["pate"].chance != first["pate"].chance


def test_options_are_handed_on():
    wide = audit(LABELS, metrics=["pate", "vus_pr"], seeds=2)
    narrow = audit(LABELS, metrics=["pate", "vus_pr"], seeds=2, early=0, delay=0, window=0)
    for metric in ("pate", "vus_pr"):
        assert narrow[metric].values["shifted_late"] < wide[metric].values["shifted_late"]
    assert initials(narrow["vus_pr"].findings.properties) == "s---ct"
    calls = []
    audit(LABELS, metrics="pate", seeds=2, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 17) for done in range(1, 18)]


def test_settings_and_metrics_of_ones_own():
    asked = ["pate", "pate( delay=5, early=(0, 100) )", user_metrics.cost, "cost(scale=2)", user_metrics.halves]
    found = audit(LABELS, metrics=asked, seeds=2, early=(1, 100))
    assert [row.metric.id for row in found.rows] == [
        "pate",
        "pate(early=[0,100],delay=5)",
        "cost",
        "cost(scale=2)",
        "halves",
    ]
    assert found["pate(early=[0,100],delay=5)"].values["periodic"] == pytest.approx(
        pv.pate(LABELS, make("periodic", LABELS).scores, delay=5)
    )
    assert found["cost"].values["always_on"] == 1
    assert found["cost(scale=2)"].values["always_on"] == 2
    assert "constant" in found["cost"].beaten_by  # lower is better
    assert found["cost"].findings.properties == frozenset()
    assert "threshold_free" in found["pate"].findings.properties
    assert repr(found).splitlines()[4].startswith("cost  ")


def test_a_threshold_in_the_id_is_chosen_from_the_scores():
    found = audit(LABELS, metrics=["point_adjusted_f1", "point_adjusted_f1(threshold=best)"], seeds=3)
    counted, best = found.rows
    draws = [make("random", LABELS, [0, draw]) for draw in range(3)]
    searched = [pv.best_threshold(LABELS, made.scores, metric="point_adjusted_f1").value for made in draws]
    assert best.chance == pytest.approx(np.mean(searched), abs=1e-12)
    flagged = [pv.point_adjusted(LABELS, made.predictions).f1 for made in draws]
    assert counted.chance == pytest.approx(np.mean(flagged), abs=1e-12)
    assert best.values["one_point"] == counted.values["one_point"]  # it flags steps itself
    assert [line.split("  ")[0] for line in repr(found).splitlines()[-4:-2]] == [
        "point_adjusted_f1",
        "point_adjusted_f1 (best)",
    ]


def test_several_series_are_means_over_those_with_an_anomaly():
    other = labels_of((50, 55), (300, 420), steps=600)
    labels = np.concatenate([LABELS, other, np.zeros(400, dtype=bool)])
    which = np.repeat(["a", "b", "quiet"], [1000, 600, 400])
    metrics = ["vus_pr", "point_f1", "false_alarm_rate"]
    both = audit(labels, metrics=metrics, seeds=1, series=which)
    alone = [audit(truth, metrics=metrics, seeds=1) for truth in (LABELS, other)]
    assert (both.steps, both.events, both.anomalous) == (1600, 5, 315)
    for metric in metrics:
        for name in ("periodic", "shifted_late", "constant", "inverted"):
            expected = np.mean([found[metric].values[name] for found in alone])
            assert both[metric].values[name] == pytest.approx(expected, abs=1e-12)


def test_a_value_is_the_mean_over_the_series_where_it_is_defined():
    one = labels_of((50, 55), steps=200)  # ucr_score wants one event
    found = audit(np.concatenate([LABELS, one]), metrics="ucr_score", series=np.repeat([0, 1], [1000, 200]), seeds=1)
    assert found["ucr_score"].values == pytest.approx(audit(one, metrics="ucr_score", seeds=1)["ucr_score"].values)


def test_bad_arguments():
    with raises_exactly(pv.UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
        audit([0, 0, 0])
    with raises_exactly(ValueError, "labels must be 0 or 1 at every step; found 2 at index 2 (1 such value in 3)"):
        audit([0, 1, 2])
    with raises_exactly(ValueError, "seeds must be a positive integer; got 0"):
        audit([0, 1, 0], seeds=0)
    with raises_exactly(ValueError, "unknown metric 'patte'; did you mean 'pate'? ('pateval metrics' lists them)"):
        audit([0, 1, 0], metrics="patte")
    with raises_exactly(ValueError, "backend must be one of 'pandas', 'polars', 'pyarrow'; got 'excel'"):
        audit([0, 1, 0], metrics="pate", seeds=1).to_frame("excel")


def test_it_is_a_table(found):
    lines = repr(found).splitlines()
    assert lines[0].split()[:4] == ["metric", "chance", "real", "rewards"]
    assert [line.split()[0] for line in lines[2 : 2 + len(catalogue())]] == list(catalogue())
    assert " ".join(lines[2 + len(catalogue()) :]) == found.summary()
    assert "3 events, 19.0% anomalous, 5 draws from seed 0" in found.summary()
    for backend, kind in {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}.items():
        frame = found.to_frame(backend)
        assert isinstance(frame, kind)
        assert frame.shape == (len(catalogue()), 6 + len(BATTERY) + len(PROPERTIES) + 1)


# --- the command line ---


@pytest.fixture(scope="module")
def label_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    pd.DataFrame(
        {"is_anomaly": np.concatenate([LABELS, LABELS]).astype(int), "machine": ["a"] * 1000 + ["b"] * 1000}
    ).to_csv(path, index=False)
    return path


def test_the_command_prints_tables(label_file):
    arguments = ("audit", label_file, "--seeds", 2, "--metrics", "pate,segment_f1,ucr_score")
    table = invoke(*arguments)
    assert table.exit_code == 0
    assert "guessed label 'is_anomaly', series 'machine'" in table.stderr
    assert "2,000 steps, 6 events" in table.stderr
    assert "ucr_score: undefined on every series" in table.stderr
    rows = table.stdout.splitlines()
    assert rows[0].split()[0] == "metric"
    assert rows[3].startswith("segment_f1")
    assert rows[3].endswith("always_on +1")
    assert invoke(*arguments, "--wide").stdout.splitlines()[3].endswith("always_on, one_point")
    markdown = invoke(*arguments, "--format", "markdown").stdout.splitlines()
    assert markdown[2].startswith("| pate | ")
    records = json.loads(invoke(*arguments, "--format", "json").stdout)
    assert [record["metric"] for record in records] == ["pate", "segment_f1", "ucr_score"]
    assert records[1]["always_on"] == 1.0
    assert records[1]["fooled"] is True
    assert records[2]["random"] is None
    comma = list(csv.DictReader(io.StringIO(invoke(*arguments, "--format", "csv").stdout)))
    assert float(comma[0]["random"]) == records[0]["random"]
    assert comma[2]["random"] == ""


def test_the_command_names_columns_and_ignores_scores(tmp_path):
    path = tmp_path / "long.parquet"
    frame = pd.DataFrame(
        {"detector": ["x"] * 1000 + ["y"] * 1000, "truth": np.tile(LABELS, 2).astype(int), "score": 0.5}
    )
    frame.to_parquet(path)
    found = invoke("audit", path, "--label", "truth", "--seeds", 1, "--metrics", "auc_roc", "--labels-only")
    assert found.exit_code == 0
    assert "1,000 steps, 3 events" in found.stderr  # each detector brings the same labels: they count once


def test_the_command_refuses(label_file):
    invoke("audit", status=2)
    invoke("audit", label_file, "--seeds", 0, status=2)
    with pytest.raises(ValueError, match="'nope'"):
        invoke("audit", label_file, "--label", "nope")
