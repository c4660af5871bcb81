"""Metrics put on trial with the scores of real detectors: what is broken on purpose is found."""

import json
import math
import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from pateval.auditing import CHOICES, DAMAGES, FAULTS, QUESTIONS, SKILL_FREE, advise
from pateval.auditing.advice import Evidence, questions_named
from pateval.auditing.score_audit import (
    Gaming,
    MetricTrial,
    agreement_with_order,
    halves_agreement,
    shares_alone,
    voters,
)
from pateval.auditing.scored_run import audited_measures, reference_audit, try_series
from pateval.catalog import find_metrics
from pateval.io import TableError
from pateval.time.timelines import read_recording
from support.command_line import invoke
from support.messages import raises_exactly
from support.strategies import binary_series

FAKES = {fake.name: fake for fake in SKILL_FREE}


def labels_of(*events, steps=600):
    labels = np.zeros(steps, dtype=bool)
    for start, stop in events:
        labels[start:stop] = True
    return labels


def tables(series=6, seed=0):
    chance = np.random.default_rng(seed)
    found = {}
    for number in range(series):
        labels = labels_of((80 + 9 * number, 120 + 9 * number), (300, 330 + 5 * number), (500, 520))
        noise = {f"noise-{deviation}": labels + deviation * chance.normal(size=600) for deviation in (0.5, 1.0, 2.0)}
        found[f"series-{number}"] = {"label": labels, **noise}
    return found


def constant_value(labels, scores):
    return 0.5


def reversed_order(labels, scores):
    return 1 - pv.average_precision(labels, scores)


def adjusted(labels, predictions):
    """Point adjustment, written as a user would: one hit marks the whole event."""
    return pv.point_adjusted(labels, predictions).f1


@pytest.fixture(scope="module")
def found():
    broken = [
        pv.define_metric(constant_value, id="constant_value", takes="scores"),
        pv.define_metric(reversed_order, id="reversed_order", takes="scores"),
        pv.define_metric(adjusted, id="adjusted", takes="predictions", low=0, high=1),
    ]
    sound = ["average_precision", "point_f1", "pate_f1", "vus_pr", "etapr_f1", "segment_f1", "false_alarm_rate"]
    return pv.audit_scores(tables(), metrics=[*broken, *sound, "point_precision"], seeds=3, workers=1)


# --- broken on purpose ---


def test_a_metric_that_adjusts_points_is_found(found):
    row = found["adjusted"]
    assert "minimal" in row.faults
    assert row.minimal.share == 1
    assert row.minimal.won  # the perfect score is above that of detectors with noise
    assert row.orders["coverage"] == 0  # one step is as good as the whole event
    assert "adjusted" not in {name for answer in found.answered("exact-extent") for name in answer.metrics}


def test_a_constant_metric_is_found(found):
    row = found["constant_value"]
    assert row.is_judged  # no range was stated, and its values lie in [0, 1]
    assert {"gamed", "minimal", "silent", "unstable"} <= set(row.faults)
    assert set(row.orders.values()) == {0.0}
    assert row.blind.won == ()
    assert row.halves == 0


def test_a_metric_that_reverses_the_order_is_found(found):
    row = found["reversed_order"]
    assert {"gamed", "reversed"} <= set(row.faults)
    assert row.orders["noise"] == pytest.approx(-1)
    assert len(row.blind.won) == 6
    assert row.alone == 1


def test_sound_metrics_pass(found):
    for name in ("average_precision", "pate_f1", "vus_pr", "etapr_f1"):
        assert found[name].faults == ()
        assert found[name].orders["noise"] == pytest.approx(1)
    assert found["pate_f1"].orders["delay"] == pytest.approx(1)
    assert abs(found["point_f1"].orders["delay"]) < 0.3
    assert "gamed" in found["segment_f1"].faults
    assert found["segment_f1"].blind.by == "everything"


def test_only_values_from_0_to_1_are_held_against_fakes(found):
    row = found["false_alarm_rate"]
    assert not row.is_judged
    assert math.isnan(row.blind.share)
    assert row.orders["alarms"] == pytest.approx(1)  # lower is better, and fewer alarms are


def test_the_verdict_names_them(found):
    text = repr(found)
    assert max(map(len, text.splitlines())) <= 80
    for code in ("gamed", "silent", "reversed"):
        assert any(line.startswith(f"{code} (") for line in found.verdict())
    assert found.with_fault("silent") == ("constant_value",)
    with raises_exactly(
        ValueError, "there is no fault 'odd'; there are gamed, minimal, silent, reversed, alone, unstable"
    ):
        found.with_fault("odd")


def test_gaming_is_what_its_definition_says():
    data = tables(3)
    trial = pv.audit_scores(data, metrics=["affiliation_f1", "pa_average_precision"], seeds=2, workers=1)
    for name in ("affiliation_f1", "pa_average_precision"):
        reached = won = 0
        for columns in data.values():
            labels = columns["label"]
            values = [
                pv.evaluate(labels, scores, metrics=name)[name] for key, scores in columns.items() if key != "label"
            ]
            fake = FAKES["everything"].detections(labels, np.random.default_rng(0))[0]
            value = pv.evaluate(labels, fake.scores, fake.predictions, metrics=name)[name]
            reached += value >= 0.9 * max(values)
            won += value > max(values)
        assert trial[name].blind.share >= reached / 3
        assert len(trial[name].blind.won) >= won


def test_gaming_by_hand():
    # Five fakes that do not know the labels and one that does, against two detectors on three series.
    real = np.array([[0.5, 0.8, np.nan], [0.4, 1.0, np.nan]])
    fakes = np.array([[0.45, 0.2, 1], [0.44, 0.9, 1], [0.1, 0.95, 1], [0, 0.91, 1], [np.nan, 0.1, 1], [0.6, 0.5, 1]])
    names = ("a", "b", "c")
    assert Gaming.of(names, real, fakes, "blind") == Gaming(1.0, 2, ("a", "b"), (), "random")
    assert Gaming.of(names, real, fakes, "minimal") == Gaming(0.5, 2, ("a",), ("a",), "step_per_event")
    lower = np.where(np.isnan(fakes), fakes, fakes - 0.06)
    assert Gaming.of(names[:2], real[:, :2], lower[:, :2], "blind").share == 0
    nothing = Gaming.of(names, np.full((2, 3), np.nan), fakes, "blind")
    assert math.isnan(nothing.share)
    assert nothing.series == 0


# --- the parts ---


def test_what_fakes_do():
    labels = labels_of((100, 150), (300, 301))
    made = {name: fake.detections(labels, np.random.default_rng(1))[0] for name, fake in FAKES.items()}
    assert made["random"].predictions is None
    assert not made["constant"].predictions.any()
    assert made["everything"].predictions.all()
    assert made["random_spikes"].predictions.sum() == 6
    assert np.flatnonzero(made["regular_spikes"].predictions).tolist() == [50, 150, 250, 350, 450, 550]
    minimal = made["step_per_event"].predictions
    assert minimal.sum() == 2
    assert minimal[300]
    assert minimal[100:150].sum() == 1
    other = labels_of((10, 20))
    for name, fake in FAKES.items():
        (again,) = fake.detections(other, np.random.default_rng(1))
        if fake.kind == "blind":
            assert (again.scores == made[name].scores).all()


@settings(max_examples=40)
@given(st.data())
def test_damage_can_be_done_to_any_labels(data):
    labels = data.draw(binary_series()).astype(bool)
    if not labels.any():
        labels[data.draw(st.integers(0, labels.size - 1))] = True
    for damage in DAMAGES.values():
        made = damage.detections(labels, np.random.default_rng(0))
        qualities = [each.quality for each in made]
        assert qualities == sorted(qualities, reverse=True)
        for each in made:
            assert each.scores.shape == labels.shape
            if each.predictions is not None:
                assert each.predictions.any()
    for choice in CHOICES.values():
        assert len(choice.detections(labels, np.random.default_rng(0))) in (0, 2)


def test_damage_by_hand():
    labels = labels_of((100, 150), (300, 320), (400, 440))
    made = {
        kind: [each.predictions for each in damage.detections(labels, np.random.default_rng(0))]
        for kind, damage in DAMAGES.items()
    }
    starts = (100, 300, 400)
    assert [sum(flags[start] for start in starts) for flags in made["events"]] == [3, 2, 1]
    assert [int(flags.sum()) for flags in made["coverage"]] == [110, 88, 66, 44, 22]
    assert not any((flags & ~labels).any() for flags in (*made["coverage"], *made["delay"]))
    assert [int(np.flatnonzero(flags)[0]) for flags in made["delay"]] == [100, 110, 120, 130, 140]
    assert len({int(flags.sum()) for flags in made["delay"]}) == 1
    extra = [int((flags & ~labels).sum()) for flags in made["alarms"]]
    assert extra[0] == 0
    assert extra == sorted(extra)
    assert made["noise"] == [None] * 5


def test_agreement_by_hand():
    qualities = np.array([3.0, 2.0, 1.0, 1.0])
    values = np.array([[3, 1, 5.0, 1], [2, 2, 5, np.nan], [1, 3, 5, 3], [0, 4, 5, 4]], dtype=float)
    assert agreement_with_order(qualities, values).tolist() == [1, -1, 0, -1]
    assert math.isnan(agreement_with_order(np.ones(2), np.ones((2, 1)))[0])


def test_one_vote_for_each_function():
    metrics = find_metrics(["point_recall", "point_f1", "auc_roc", "vus_pr", "vus_pr(window=5)"])
    assert [metrics[place].id for place in voters(metrics)] == ["point_f1", "auc_roc", "vus_pr"]


def test_who_decides_alone_by_hand():
    # Three detectors on two series; the fourth metric chooses another winner on the second, the fifth none at all.
    first = np.array([[3, 3, 3, 3, 1], [2, 2, 2, 2, 1], [1, 1, 1, 1, 1]], dtype=float)
    second = np.array([[3, 3, 3, 1, 1], [2, 2, 2, 3, 1], [1, 1, 1, 2, 1]], dtype=float)
    shares, winners = shares_alone(np.stack([first, second], axis=1), [0, 1, 2, 3, 4])
    np.testing.assert_allclose(shares, [0, 0, 0, 0.5, 2 / 3])
    assert winners.tolist() == [[True, True], [False, False], [False, False]]
    assert np.isnan(shares_alone(first[:, None], [0, 1])[0]).all()


def test_stability_over_halves():
    order = np.array([3.0, 2.0, 1.0])
    same = np.repeat(order[:, None, None], 8, axis=1)
    opposed = np.concatenate([same[:, :4], same[::-1, :4]], axis=1)
    assert halves_agreement(same)[0] == 1
    assert halves_agreement(opposed)[0] < 0.5
    assert math.isnan(halves_agreement(same[:, :3])[0])


# --- advice ---


def test_questions():
    assert questions_named(None) == list(QUESTIONS)
    assert questions_named(["papers", "papers"]) == ["papers"]
    with raises_exactly(
        ValueError,
        "there is no question 'early-warnings'; did you mean 'early-warning'? (there are every-event, "
        "early-warning, few-alarms, exact-extent, papers)",
    ):
        questions_named("early-warnings")


def test_advice_on_data(found):
    answers = {answer.question: answer for answer in found.answers}
    assert answers["early-warning"].metrics == ("pate_f1",)
    assert found.advised_metrics("early-warning,exact-extent")[0] == "pate_f1"
    assert all(len(answer.metrics) <= 3 for answer in found.answers)
    assert found.advice("papers")[0].startswith("to be comparable with papers: ")
    (nothing,) = advise([found["constant_value"]], "few-alarms")
    assert (nothing.metrics, nothing.nearest) == ((), Evidence("constant_value", {"alarms": 0.0}, 1.0))
    assert nothing.text() == (
        "to raise few false alarms: none answered it well; nearest is constant_value (order by alarms 0.00; gamed on "
        "100 % of the series)"
    )
    (unmeasured,) = advise([found["false_alarm_rate"]], "few-alarms")
    assert unmeasured.text() == "to raise few false alarms: no metric could be measured on it"


def test_advice_without_data():
    first = reference_audit()
    advised = {answer.question: answer.metrics for answer in first.answers}
    assert "pate_f1" in advised["early-warning"]
    assert all(advised.values())
    assert "point_adjusted_f1" not in advised["exact-extent"]


def trial_of(name, *, order=1.0, blind=0.0, minimal=0.0, wins=0.0, alone=0.0, **orders):
    """A row whose figures are given; every order not named is ``order``."""
    metric = find_metrics(name)[0]
    gaming = [Gaming(share, 10, (), (), "") for share in (blind, minimal)]
    known = {kind: orders.get(kind, order) for kind in DAMAGES}
    return MetricTrial(metric, metric.id, True, *gaming, known, dict.fromkeys(CHOICES, wins), alone, 1.0)


def test_who_is_advised_by_hand():
    def advised(*rows, question="few-alarms"):
        return advise(rows, question)[0].metrics

    good = trial_of("pate")
    assert advised(trial_of("vus_pr", alarms=0.79), good) == ("pate",)
    assert advised(trial_of("vus_pr", alarms=0.8), good) == ("pate", "vus_pr")  # the better order first
    assert advised(trial_of("vus_pr", blind=0.2), good) == ("pate", "vus_pr")
    assert advised(trial_of("vus_pr", blind=0.21), good) == ("pate",)
    assert advised(trial_of("vus_pr", noise=0.49), good) == ("pate",)  # whatever the question
    assert advised(trial_of("vus_pr", events=0.5), good) == ("pate", "vus_pr")
    assert advised(trial_of("vus_pr", coverage=0.0), good) == ("pate", "vus_pr")  # the mean of all kinds is lower
    assert advised(trial_of("vus_pr", wins=0.2), good) == ("vus_pr", "pate")  # of equals, who holds to the question
    assert advised(trial_of("vus_pr", wins=0.2, alarms=0.9), good) == ("pate", "vus_pr")
    assert advised(trial_of("vus_pr", wins=0.2, alarms=0.999), good) == ("pate", "vus_pr")  # as four places show it
    assert advised(trial_of("vus_pr", alone=0.1), good) == ("pate", "vus_pr")
    assert advised(trial_of("vus_pr", minimal=1.0), good, question="exact-extent") == ("pate",)
    assert advised(trial_of("vus_pr", minimal=1.0, blind=0.1), good) == ("pate", "vus_pr")
    assert advised(trial_of("etapr_f1"), good, question="papers") == ("pate",)
    many = [trial_of(name, alone=place / 10) for place, name in enumerate(("pate", "vus_pr", "auc_roc", "auc_pr"))]
    assert advised(*many[::-1]) == ("pate", "vus_pr", "auc_roc")
    unknown = trial_of("vus_pr", alarms=math.nan)
    assert advise([unknown], "few-alarms")[0].nearest is None
    near = advise([trial_of("vus_pr", alarms=0.7, blind=0.5), trial_of("pate", alarms=0.5)], "few-alarms")[0]
    assert near.nearest == Evidence("pate", {"alarms": 0.5}, 0.0)


# --- results and input ---


def test_metrics_are_judged_at_the_threshold_that_their_papers_report():
    asked = ["point_f1", "point_adjusted_f1", "composite_f1", "delay_adjusted_f1(delay=3,threshold=0.5)"]
    assert audited_measures(metrics=asked).ids == (
        "point_f1",
        "point_adjusted_f1(threshold=best)",
        "composite_f1(threshold=best)",
        "delay_adjusted_f1(delay=3,threshold=0.5)",
    )
    (oracle,) = audited_measures(metrics="point_adjusted_f1(threshold=oracle)").metrics
    assert (oracle.id, oracle.threshold) == ("point_adjusted_f1", "oracle")
    assert audited_measures(metrics="point_adjusted_f1", threshold="quantile:0.05").ids == ("point_adjusted_f1",)


def test_random_scores_game_point_adjustment_where_papers_cut():
    labels = labels_of((100, 300))
    noisy = labels + np.random.default_rng(0).normal(0, 0.7, labels.size)
    data = {"a": {"label": labels, "noisy": noisy}}
    found = pv.audit_scores(data, metrics=["point_adjusted_f1"], seeds=3, workers=1)
    row = found["point_adjusted_f1"]
    assert row is found["point_adjusted_f1(threshold=best)"]
    assert row.blind.share == 1
    assert "point_adjusted_f1 (best)" in repr(found)
    assert "(best): at the metric's own best threshold" in repr(found)


def test_it_is_data(found):
    columns, body = found.records()
    assert len(body) == len(found) == 11
    for backend, kind in {"pandas": pd.DataFrame, "pyarrow": pa.Table}.items():
        frame = found.to_frame(backend)
        assert isinstance(frame, kind)
        assert frame.shape == (11, len(columns))
    plain = json.loads(found.to_json())
    assert plain == found.to_dict()
    assert plain["metrics"][0]["faults"]
    assert plain["consensus"]["noise-0.5"] == 6
    assert set(plain["advice"]) == set(QUESTIONS)
    assert found.detectors == ("noise-0.5", "noise-1.0", "noise-2.0")
    with pytest.raises(KeyError):
        found["nothing"]
    assert set(FAULTS) >= {code for row in found.rows for code in row.faults}


def test_the_same_seed_gives_the_same_audit_whoever_computes_it():
    data = pd.concat([pd.DataFrame({"series": name, **columns}) for name, columns in tables(3).items()])
    names = ["pate_ap", "nab", "point_f1"]
    alone = pv.audit_scores(data, metrics=names, seeds=2, workers=1)
    together = pv.audit_scores(data, metrics=names, seeds=2, workers=2)
    other = pv.audit_scores(data, metrics=names, seeds=2, seed=1, workers=1)
    np.testing.assert_equal(together.records(), alone.records())
    assert other.to_dict() != alone.to_dict()


def test_series_without_anomalies_and_odd_labels_are_left_out():
    data = tables(3)
    data["quiet"] = {name: np.zeros(600) + (name != "label") for name in data["series-0"]}
    found = pv.audit_scores(data, metrics=["auc_roc"], seeds=1, workers=1)
    assert (len(found.series), found.left_out) == (3, 1)
    with raises_exactly(TableError, "quiet: no series holds an anomaly, so no metric can be tried on these labels"):
        pv.audit_scores({"quiet": data["quiet"]}, metrics=["auc_roc"], workers=1)
    with raises_exactly(
        ValueError, "an audit cannot use threshold 'train-quantile': fakes have no training scores; name another rule"
    ):
        pv.audit_scores(data, threshold="train-quantile")
    with raises_exactly(ValueError, "seeds must be a positive integer; got 0"):
        pv.audit_scores(data, seeds=0)


def test_notes_on_the_data():
    data = {name: {**columns, "rule": columns["noise-0.5"] > 1} for name, columns in tables(3).items()}
    found = pv.audit_scores(data, metrics=["pate_f1", "point_f1"], seeds=1, workers=1)
    assert "'rule' has scores of 0 and 1 only: they are taken as predictions, and no threshold rule is applied" in (
        found.notes
    )
    assert any(note.startswith("early 100 and delay 100 are longer than the typical event") for note in found.notes)
    short = pv.audit_scores(data, metrics=["pate_f1"], early=1, delay=1, seeds=1, workers=1)
    assert not any("longer than" in note for note in short.notes)
    labels = data["series-0"]["label"]
    alone = pv.evaluate(labels, predictions=data["series-0"]["rule"], metrics="point_f1")["point_f1"]
    first = pv.audit_scores(
        {"series-0": {"label": labels, "rule": data["series-0"]["rule"].astype(float)}},
        score="rule",
        metrics="point_f1",
        threshold=2.0,
        seeds=1,
        workers=1,
    )
    assert first["point_f1"].blind.series == 1  # flagged as it says, and not by a threshold that nothing reaches
    assert alone > 0


def test_labels_that_differ_are_said(tmp_path):
    labels = labels_of((100, 150), (300, 320))
    for name, other in (("one", labels), ("two", np.roll(labels, 3)), ("three", labels)):
        columns = {"label": other.astype(int), "score": labels + np.random.default_rng(0).random(labels.size)}
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [tmp_path / f"{name}.csv" for name in ("one", "two", "three")]
    (note,) = [
        note for note in pv.audit_scores(files, metrics="auc_roc", seeds=1, workers=1).notes if "labels differ" in note
    ]
    assert note.startswith(f"{files[1]}: labels differ from those of most detectors in 1 of 1 series, on 12 steps")


def test_steps_to_ignore_are_no_labels():
    labels = labels_of((100, 150), (300, 320))
    table = {"label": labels, "score": labels + np.random.default_rng(0).random(labels.size)}
    ignored = {"a": np.arange(labels.size) < 5, "b": np.zeros(labels.size, dtype=bool)}
    tables = {name: table | {"ignore": steps} for name, steps in ignored.items()}
    found = pv.audit_scores(tables, ignore="ignore", metrics="auc_roc", seeds=1, workers=1)
    assert not any("labels differ" in note for note in found.notes)


def test_runs_of_a_detector_are_averaged_on_each_series():
    labels = labels_of((100, 150), (300, 320))
    scores = [labels + np.random.default_rng(seed).normal(0, 0.5, labels.size) for seed in range(2)]
    frame = pd.concat([pd.DataFrame({"label": labels, "score": one, "run": run}) for run, one in enumerate(scores)])
    measures = audited_measures(metrics="auc_roc")
    runs = [read_recording(labels, one) for one in scores]
    trial = try_series("a", {"mine": runs}, ["mine", "absent"], measures, 1)
    assert trial.real[0, 0] == pytest.approx(np.mean([pv.auc_roc(labels, one) for one in scores]), abs=1e-12)
    assert np.isnan(trial.real[1, 0])
    assert pv.audit_scores(frame, run="run", metrics="auc_roc", seeds=1, workers=1)["auc_roc"].blind.series == 1


def test_buffers_and_thresholds_in_time():
    minutes = [np.datetime64("2024-01-01") + np.timedelta64(10 * step, "m") for step in range(600)]
    data = pd.concat([pd.DataFrame({"series": name, "time": minutes, **each}) for name, each in tables(2).items()])
    names = ["pate_f1", "point_f1"]
    in_time = pv.audit_scores(data, metrics=names, early="100min", delay="100min", seeds=1, workers=1)
    in_steps = pv.audit_scores(data, metrics=names, early=10, delay=10, seeds=1, workers=1)
    np.testing.assert_equal(in_time.records(), in_steps.records())
    assert not math.isnan(
        pv.audit_scores(data, metrics=names, threshold="alarms:3/1d", seeds=1, workers=1)["point_f1"].order
    )


def test_a_metric_that_breaks_does_not_take_the_others_with_it():
    def breaks(labels, scores):
        raise RuntimeError("no")

    broken = pv.define_metric(breaks, id="breaks", takes="scores")
    found = pv.audit_scores(tables(2), metrics=[broken, "auc_roc"], seeds=1, workers=1)
    assert math.isnan(found["breaks"].order)
    assert found["breaks"].weakest == ""
    assert found["auc_roc"].orders["noise"] == pytest.approx(1)


def test_the_chart(found):
    ax = pv.plots.gaming_chart(found)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert set(names) == {row.label for row in found.rows if row.is_judged and row.metric.field != "precision"}
    assert {"point_f1 (oracle)", "vus_pr"} <= set(names)
    shares = {line.get_label(): line.get_xdata() for line in ax.lines}
    expected = [100 * found[name.removesuffix(" (oracle)")].blind.share for name in names]
    assert list(shares["fakes that do not know the labels"]) == expected == sorted(expected)
    assert len(pv.plots.gaming_chart(found, metrics=["vus_pr"]).get_yticklabels()) == 1
    with raises_exactly(
        ValueError,
        "metric 'false_alarm_rate' is not in this audit, or cannot be gamed; it has constant_value, "
        "reversed_order, adjusted, average_precision, point_f1, pate_f1, vus_pr, etapr_f1, segment_f1, "
        "point_precision",
    ):
        pv.plots.gaming_chart(found, metrics=["false_alarm_rate"])


# --- the command line ---


@pytest.fixture(scope="module")
def score_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    frames = [pd.DataFrame({"series": name, **columns}) for name, columns in tables(4).items()]
    pd.concat(frames).astype({"label": int}).to_csv(path, index=False)
    return path


def test_the_command(score_file):
    arguments = ("audit", score_file, "--metrics", "pate_ap,point_f1,segment_f1", "--seeds", 2, "--workers", 1)
    shown = invoke(*arguments)
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["metric", "blind", "minimal", "order", "weakest", "alone", "halves"]
    assert max(map(len, lines)) <= 80
    assert "On these data:" in lines
    command = shlex.split(shown.stdout.split("\n\n")[-1].replace("\\\n", ""))
    assert command[:4] == ["pateval", "leaderboard", str(score_file), "--metrics"]
    wide = invoke(*arguments, "--wide").stdout.splitlines()
    assert {"coverage", "delay", "alarms"} <= set(wide[0].split())
    records = json.loads(invoke(*arguments, "--format", "json").stdout)
    assert [row["metric"] for row in records["metrics"]] == ["pate_ap", "point_f1", "segment_f1"]
    page = invoke(*arguments, "--format", "markdown", "--for", "few-alarms").stdout
    assert page.count("- to ") == 1
    for fake in SKILL_FREE:
        assert f"| {fake.name} | {fake.text} |" in page
    assert invoke(*arguments, "--format", "csv").stdout.splitlines()[0].startswith("metric,judged,blind_share")


def test_the_command_without_scores(score_file):
    alone = invoke("audit", score_file, "--labels-only", "--metrics", "auc_roc", "--seeds", 1)
    assert alone.exit_code == 0
    assert "real is beaten by" in " ".join(alone.stdout.split()) or "rewards" in alone.stdout
    with raises_exactly(
        ValueError, "there is no question 'x' (there are every-event, early-warning, few-alarms, exact-extent, papers)"
    ):
        invoke("audit", score_file, "--for", "x")


def test_the_command_of_the_catalogue():
    shown = invoke("metrics", "--for", "early-warning,few-alarms")
    assert shown.exit_code == 0
    assert "pate_f1" in shown.stdout
    rows = json.loads(invoke("metrics", "--for", "early-warning,few-alarms", "--format", "json").stdout)
    for question in ("early-warning", "few-alarms"):
        orders = [row["order"] for row in rows if row["question"] == question]
        assert len(orders) > 1
        assert orders == sorted(orders, reverse=True)
    assert shown.stdout.splitlines()[-1].startswith("pateval leaderboard FILE... --metrics ")
    assert max(map(len, shown.stdout.splitlines()[:-1])) <= 80
    invoke("metrics", "pate", "--for", "papers", status=2)
