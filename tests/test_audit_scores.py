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
from pateval.auditing import DAMAGES, FAULTS, QUESTIONS, SKILL_FREE, advise
from pateval.auditing.advice import Answer, questions_named
from pateval.auditing.consensus import halves_agreement, shares_alone, voters
from pateval.auditing.damage import CHOICES, agreement_with_order, choice, graded
from pateval.auditing.reference import reference_audit
from pateval.catalog import find_metrics
from pateval.io import TableError
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
            fake = FAKES["everything"].make(labels, np.random.default_rng(0))
            value = pv.evaluate(labels, fake.scores, fake.predictions, metrics=name)[name]
            reached += value >= 0.9 * max(values)
            won += value > max(values)
        assert trial[name].blind.share >= reached / 3
        assert len(trial[name].blind.won) >= won


# --- the parts ---


def test_what_fakes_do():
    labels = labels_of((100, 150), (300, 301))
    made = {name: fake.make(labels, np.random.default_rng(1)) for name, fake in FAKES.items()}
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
        again = fake.make(other, np.random.default_rng(1))
        if not fake.knows_labels:
            assert (again.scores == made[name].scores).all()


@settings(max_examples=40)
@given(st.data())
def test_damage_can_be_done_to_any_labels(data):
    labels = data.draw(binary_series()).astype(bool)
    if not labels.any():
        labels[data.draw(st.integers(0, labels.size - 1))] = True
    for kind in DAMAGES:
        made = graded(kind, labels, np.random.default_rng(0))
        qualities = [each.quality for each in made]
        assert qualities == sorted(qualities, reverse=True)
        for each in made:
            assert each.output.scores.shape == labels.shape
            if each.output.predictions is not None:
                assert each.output.predictions.any()
    for kind in CHOICES:
        assert len(choice(kind, labels, np.random.default_rng(0))) in (0, 2)


def test_damage_by_hand():
    labels = labels_of((100, 150), (300, 320), (400, 440))
    made = {
        kind: [each.output.predictions for each in graded(kind, labels, np.random.default_rng(0))] for kind in DAMAGES
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
    nothing = advise([found["constant_value"]], "few-alarms")
    assert nothing == (
        Answer("few-alarms", (), "constant_value", "order by alarms 0.00; gamed on 100 % of the series"),
    )
    assert advise([found["false_alarm_rate"]], "few-alarms")[0].why == "no metric could be measured on it"


def test_advice_without_data():
    first = reference_audit()
    advised = {answer.question: answer.metrics for answer in first.answers}
    assert "pate_f1" in advised["early-warning"]
    assert all(advised.values())
    assert "point_adjusted_f1" not in advised["exact-extent"]


# --- results and input ---


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
    assert set(names) == {row.id for row in found.rows if row.is_judged and row.metric.field != "precision"}
    shares = {line.get_label(): line.get_xdata() for line in ax.lines}
    expected = [100 * found[name].blind.share for name in names]
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
    assert shown.stdout.splitlines()[-1].startswith("pateval leaderboard FILE... --metrics ")
    assert max(map(len, shown.stdout.splitlines()[:-1])) <= 80
    invoke("metrics", "pate", "--for", "papers", status=2)
