"""``compare``, ``buffer``, ``plot`` and ``audit`` on a clock: durations, ignored steps, missing scores."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pateval as pv
from support.command_line import console

RNG = np.random.default_rng(5)
LABELS = np.tile(np.repeat([0, 1, 0], [7, 3, 4]), 7)
SIZE = LABELS.size
IGNORED = (np.arange(SIZE) % 14 == 8).astype(int)  # the middle of every event
IGNORED[[30, 31, 60]] = 1
UNEVEN = np.datetime64("2026-03-01T00:00") + np.cumsum(RNG.integers(1, 9, SIZE)).astype("m8[m]")
EVEN = np.datetime64("2026-03-01T00:00") + 5 * np.arange(SIZE).astype("m8[m]")
A = np.where(np.arange(SIZE) < 5, np.nan, 0.6 * LABELS + RNG.random(SIZE))
B = np.where(np.arange(SIZE) % 20 == 3, np.nan, 0.3 * LABELS + RNG.random(SIZE))
METRICS = ["pate", "pate_f1", "auc_roc", "vus_pr"]


@pytest.fixture
def recording(tmp_path):
    """Two detectors with gaps, a clock and maintenance; labels are not known during maintenance."""
    path = tmp_path / "pump.csv"
    rows = ["timestamp,label,maintenance,first,second"]
    for time, label, ignored, a, b in zip(UNEVEN, LABELS, IGNORED, A, B, strict=True):
        values = ["" if score != score else repr(float(score)) for score in (a, b)]
        rows.append(f"{time},{'' if ignored else label},{ignored},{values[0]},{values[1]}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_comparing_on_an_even_clock_is_comparing_in_steps():
    a, b = np.nan_to_num(A), np.nan_to_num(B)
    in_steps = pv.compare(LABELS, a, b, metrics=METRICS, early=2, delay=3, window=4, draws=12)
    in_time = pv.compare(
        LABELS, a, b, metrics=METRICS, early="10min", delay="15min", window="20min", draws=12, times=EVEN
    )
    for one, other in zip(in_steps.rows, in_time.rows, strict=True):
        assert (one.first, one.second, one.low, one.high) == pytest.approx(
            (other.first, other.second, other.low, other.high), abs=1e-12
        )
        assert (one.wins, one.ties, one.losses) == (other.wins, other.ties, other.losses)


@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_compare_says_what_evaluate_says(recording, missing):
    options = ["--score", "first,second", "--missing", missing, "--ignore", "maintenance", "--max-gap", "1h"]
    options += ["--early", "0min,10min", "--delay", "20min", "--window", "30min", "--metrics", ",".join(METRICS)]
    found = console("compare", recording, *options, "--draws", "3", "--format", "json")
    ignore = IGNORED == 1
    if missing == "ignore":
        ignore = ignore | np.isnan(A) | np.isnan(B)
    given = {"metrics": METRICS, "early": ["0min", "10min"], "delay": "20min", "window": "30min", "times": UNEVEN}
    given |= {"ignore": ignore, "max_gap": "1h", "missing": "normal"}
    data = json.loads(found.out)
    for scores, value in ((A, "value_a"), (B, "value_b")):
        expected = pv.evaluate(LABELS, scores, **given)
        assert {row["metric"]: row[value] for row in data["metrics"]} == pytest.approx(dict(expected), abs=1e-12)
    what = "left out for both" if missing == "ignore" else "never predicted"
    gaps = [int(np.isnan(scores[IGNORED == 0]).sum()) for scores in (A, B)]
    assert data["notes"][0] == f"{gaps[0]} scores of first are missing: such steps are {what}"
    assert data["notes"][1] == f"{gaps[1]} scores of second are missing: such steps are {what}"
    assert data["notes"][2] == f"{int(IGNORED.sum())} of {SIZE} steps are ignored"
    assert all(row["low"] <= row["high"] for row in data["metrics"])
    # An event that only ignored steps part stays in one piece.
    assert (data["unit"], data["units"]) == ("piece", 7)


def test_compare_over_series_has_no_value_where_all_is_ignored():
    series = np.repeat(np.arange(7), 14)
    a, b = np.nan_to_num(A), np.nan_to_num(B)
    found = pv.compare(LABELS, a, b, metrics="auc_roc", series=series, ignore=series == 2, draws=0)
    each = [[pv.auc_roc(LABELS[series == k], scores[series == k]) for scores in (a, b)] for k in range(7) if k != 2]
    assert (found["auc_roc"].first, found["auc_roc"].second) == pytest.approx(np.mean(each, axis=0))
    assert found["auc_roc"].wins + found["auc_roc"].ties + found["auc_roc"].losses == 6


def test_compare_refuses_two_clocks(recording, tmp_path):
    other = tmp_path / "late.csv"
    lines = recording.read_text().splitlines()
    other.write_text("\n".join([*lines[:-1], lines[-1].replace("2026-03", "2026-04")]))
    options = ["--early", "10min", "--delay", "10min", "--missing", "ignore", "--ignore", "maintenance"]
    only = ["--metrics", "pate", "--score", "first"]
    found = console("compare", recording, other, *only, *options, status=2)
    assert found.err.splitlines()[-1] == (
        f"pateval: the times in {recording} and {other} differ; early=['10min'] of pate needs both detectors on the "
        "same clock"
    )


def test_buffer_leaves_ignored_steps_out(recording):
    found = console(
        "buffer", recording, "--ignore", "maintenance", "--early", "2h", "--delay", "0min", "--format", "json"
    )
    (row,) = json.loads(found.out)["series"]
    # Maintenance parts each event in two, as it does for PATE.
    assert (row["steps"], row["events"], row["longest"], row["gap"]) == (SIZE - int(IGNORED.sum()), 14, 1, 1)
    minutes = np.median(np.diff(UNEVEN)) / np.timedelta64(1, "m")
    assert row["interval"] == f"{minutes:.0f}min"
    assert found.err.splitlines()[-1] == (
        "early 2h is longer than the typical event (1 step) and than the gap between events (1 step): a buffer then "
        "counts for more than what it surrounds"
    )
    short = console("buffer", recording, "--ignore", "maintenance", "--early", "1min", "--delay", "0").err
    assert "is longer" not in short
    without = console("buffer", recording, "--ignore", "maintenance", "--time", "none", "--early", "2h", status=2)
    assert without.err.splitlines()[-1] == (
        f"pateval: {recording}: 2h is a duration, which needs a column of times; name it with --time, and the unit of "
        "times that are numbers with --time-unit"
    )


def test_buffer_finds_the_period_across_ignored_steps(tmp_path):
    path = tmp_path / "wave.csv"
    rows = []
    for step in range(600):
        is_serviced = step % 100 < 7
        flow = "" if is_serviced else np.sin(2 * np.pi * step / 40)
        rows.append(f"{int(200 <= step < 250 or step >= 550)},{int(is_serviced)},{flow}")
    path.write_text("label,service,flow\n" + "\n".join(rows) + "\n")
    found = console("buffer", path, "--value", "flow", "--ignore", "service", "--format", "json")
    (row,) = json.loads(found.out)["series"]
    assert row["period"] == 40


@pytest.fixture
def pumps(recording, tmp_path):
    """The recording, and nothing but its labels in a file of its own."""
    labels = tmp_path / "labels.csv"
    rows = ["timestamp,label,maintenance"]
    rows += [f"{time},{label},{ignored}" for time, label, ignored in zip(UNEVEN, LABELS, IGNORED, strict=True)]
    labels.write_text("\n".join(rows) + "\n")
    return recording, labels


def test_auditing_labels_on_an_even_clock_is_auditing_in_steps():
    given = {"metrics": ["pate", "vus_pr", "point_f1"], "seeds": 2}
    in_steps = pv.audit(LABELS, early=2, delay=3, window=4, **given)
    in_time = pv.audit(LABELS, early="10min", delay="15min", window="20min", times=EVEN, **given)
    for one, other in zip(in_steps.rows, in_time.rows, strict=True):
        assert one.values == pytest.approx(other.values, abs=1e-12)
        assert one.findings == other.findings


def test_auditing_labels_leaves_ignored_steps_out(pumps):
    _, labels = pumps
    ignore = IGNORED == 1
    found = pv.audit(LABELS, metrics=["auc_roc", "pate"], seeds=2, ignore=ignore, early=2, delay=2)
    closed_up = pv.audit(LABELS[~ignore], metrics=["auc_roc", "pate"], seeds=2, early=2, delay=2)
    assert found["auc_roc"].values == pytest.approx(closed_up["auc_roc"].values, abs=1e-12)
    # PATE keeps its clock, and with it the distance of a detection from its event.
    assert found["pate"].values["shifted_late"] != closed_up["pate"].values["shifted_late"]
    assert found["pate"].values["perfect"] == 1
    options = ["--metrics", "auc_roc,pate", "--seeds", "2", "--early", "10min", "--delay", "10min", "--format", "json"]
    rows = json.loads(console("audit", labels, "--ignore", "maintenance", *options).out)
    expected = pv.audit(
        LABELS, metrics=["auc_roc", "pate"], seeds=2, ignore=ignore, early="10min", delay="10min", times=UNEVEN
    )
    for row, found in zip(rows, expected.rows, strict=True):
        assert {name: row[name] for name in found.values} == pytest.approx(found.values, abs=1e-12)


@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_auditing_scores_on_their_clock(pumps, missing, tmp_path):
    scores, _ = pumps
    metrics = ["pate", "auc_roc", "point_f1"]
    options = ["--metrics", ",".join(metrics), "--score", "first,second", "--early", "10min", "--delay", "20min"]
    options += ["--ignore", "maintenance", "--seeds", "2", "--workers", "1", "--format", "json"]
    found = json.loads(console("audit", scores, "--missing", missing, "--max-gap", "1h", *options).out)
    assert found["detectors"] == ["first", "second"]
    refused = console("audit", scores, *options, status=2).err.splitlines()[-1]
    assert refused == (
        f"pateval: {scores}: column 'first': scores must be finite at every step; found NaN in row 1 (5 such values in "
        "98): leave such steps out with --missing ignore, or count them as never predicted with --missing normal "
        "(missing=...)"
    )
    if missing == "normal":
        return
    # The same file without the rows that are left out says the same of metrics that have no clock.
    kept = np.flatnonzero(~((IGNORED == 1) | np.isnan(A) | np.isnan(B)))
    short = tmp_path / "short.csv"
    rows = ["label,first,second", *(f"{LABELS[k]},{float(A[k])!r},{float(B[k])!r}" for k in kept)]
    short.write_text("\n".join(rows) + "\n")
    plain = ["--metrics", "auc_roc,point_f1", "--seeds", "2", "--workers", "1", "--format", "json"]
    whole = [scores, *plain, "--score", "first,second", "--ignore", "maintenance", "--missing", "ignore"]
    assert (
        json.loads(console("audit", *whole).out)["metrics"]
        == json.loads(console("audit", short, *plain).out)["metrics"]
    )


CLOCK = ["--early", "0min,10min", "--delay", "0min,20min", "--ignore", "maintenance", "--missing", "ignore"]


def drawn_by(monkeypatch, name):
    """Keep what a figure is made from."""
    from pateval import plots

    kept, draw = [], getattr(plots, name)
    monkeypatch.setattr(plots, name, lambda *given, **options: kept.append((given, options)) or draw(*given, **options))
    return kept


def test_plots_on_a_clock(recording, tmp_path, monkeypatch):
    given = {"times": UNEVEN, "ignore": IGNORED, "missing": "ignore", "max_gap": "1h"}
    maps = drawn_by(monkeypatch, "buffer_heat_map")
    options = [*CLOCK, "--max-gap", "1h"]
    console("plot", "buffers", recording, *options, "--score", "first", "-o", tmp_path / "map.svg")
    expected = [[pv.pate(LABELS, A, early=e, delay=d, **given) for d in ("0min", "20min")] for e in ("0min", "10min")]
    assert np.array(maps[0][0][0]) == pytest.approx(np.array(expected), abs=1e-12)
    text = (tmp_path / "map.svg").read_text()
    assert "early: buffer before an event (time)" in text
    curves = drawn_by(monkeypatch, "precision_recall")
    pair = ["--early", "10min", "--delay", "20min", "--ignore", "maintenance", "--missing", "ignore", "--max-gap", "1h"]
    console("plot", "precision-recall", recording, *pair, "--score", "first", "-o", tmp_path / "curve.svg")
    assert curves[0][0][0].area == pytest.approx(pv.pate(LABELS, A, early="10min", delay="20min", **given), abs=1e-12)
    found = console("plot", "ranks", recording, *options, "--score", "first,second", "-o", tmp_path / "ranks.svg")
    assert found.out.strip() == str(tmp_path / "ranks.svg")
    labels = ["--metrics", "pate,auc_roc", "--early", "10min", "--delay", "10min", "--ignore", "maintenance"]
    console("plot", "audit", recording, *labels, "-o", tmp_path / "audit.svg")


ONE_PAIR = ["--early", "10min", "--delay", "20min", "--max-gap", "1h", "--ignore", "maintenance"]
LEFT_OUT = {"first": (IGNORED == 1) | np.isnan(A), "second": (IGNORED == 1) | np.isnan(B)}


def explained(scores, ignore, **given):
    return pv.explain(
        LABELS, scores=scores, early="10min", delay="20min", max_gap="1h", times=UNEVEN, ignore=ignore, **given
    )


@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_series_are_drawn_on_their_clock(recording, tmp_path, monkeypatch, missing):
    drawn = drawn_by(monkeypatch, "series")
    options = [*ONE_PAIR, "--missing", missing, "--score", "first", "-o", tmp_path / "a.svg"]
    found = console("plot", "series", recording, *options)
    ((labels, scores), given) = drawn[0]
    np.testing.assert_array_equal(given["times"], UNEVEN)
    np.testing.assert_array_equal(scores["first"], A)
    np.testing.assert_array_equal(given["ignore"], LEFT_OUT["first"] if missing == "ignore" else IGNORED == 1)
    np.testing.assert_array_equal(labels[IGNORED == 0], LABELS[IGNORED == 0])
    assert (given["early"], given["delay"], given["max_gap"]) == (("10min",), ("20min",), "1h")
    threshold = explained(A, IGNORED, missing=missing).predictions_from.split()[2]
    assert f"{given['threshold']['first']:.6g}" == threshold
    text = (tmp_path / "a.svg").read_text()
    assert "left out" in text
    assert ("no score" in text) == (missing == "normal")
    assert ("5 of 98 steps have no score: they are left out" in found.err) == (missing == "ignore")


@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_categories_are_those_of_explain(recording, tmp_path, monkeypatch, missing):
    drawn = drawn_by(monkeypatch, "categories")
    console(
        "plot", "categories", recording, *ONE_PAIR, "--missing", missing, "--score", "first", "-o", tmp_path / "a.svg"
    )
    ((found,), given) = drawn[0]
    expected = explained(A, IGNORED, missing=missing)
    assert found.points.to_dict() == expected.points.to_dict()
    assert found.f1 == expected.f1
    np.testing.assert_array_equal(given["times"], UNEVEN)


def test_two_detectors_are_compared_on_the_same_steps(recording, tmp_path, monkeypatch):
    drawn = drawn_by(monkeypatch, "comparison")
    options = [*ONE_PAIR, "--missing", "ignore", "--score", "first,second", "-o", tmp_path / "a.svg"]
    found = console("plot", "comparison", recording, *options)
    left_out = LEFT_OUT["first"] | LEFT_OUT["second"]
    ((explanations,), _) = drawn[0]
    for name, scores in (("first", A), ("second", B)):
        assert explanations[name].points.to_dict() == explained(scores, left_out).points.to_dict()
    absent = int(left_out.sum() - IGNORED.sum())
    assert f"{absent} of 98 steps have no score: they are left out, for all detectors" in found.err


def test_sizes_and_lengths_in_time(recording, tmp_path, monkeypatch):
    drawn = drawn_by(monkeypatch, "buffer_sizes")
    sizes = ["--delay", "1h,0min,20min", "--max-gap", "1h", "--ignore", "maintenance", "--missing", "normal"]
    console("plot", "buffer-size", recording, *sizes, "--score", "first,second", "-o", tmp_path / "a.svg")
    ((lengths, values), _) = drawn[0]
    assert lengths == ["0s", "20min", "1h"]
    given = {"times": UNEVEN, "ignore": IGNORED, "missing": "normal", "max_gap": "1h"}
    for name, scores in (("first", A), ("second", B)):
        expected = [pv.pate(LABELS, scores, early=size, delay=size, **given) for size in lengths]
        assert values[name] == pytest.approx(expected, abs=1e-12)
    drawn = drawn_by(monkeypatch, "weights_by_length")
    console(
        "plot", "lengths", recording, *ONE_PAIR, "--missing", "ignore", "--score", "first", "-o", tmp_path / "b.svg"
    )
    assert drawn[0][0][0].points.to_dict() == explained(A, IGNORED, missing="ignore").points.to_dict()
    assert "event length (min)" in (tmp_path / "b.svg").read_text()


def test_distributions_leave_out_what_does_not_count(recording, tmp_path, monkeypatch):
    drawn = drawn_by(monkeypatch, "score_distribution")
    options = [*ONE_PAIR, "--time", "none", "--missing", "normal", "--score", "first", "-o", tmp_path / "a.svg"]
    found = console("plot", "distribution", recording, *options)
    (_, given) = drawn[0]
    np.testing.assert_array_equal(given["ignore"], IGNORED == 1)
    assert given["missing"] == "normal"
    inside = int(LABELS[IGNORED == 0].sum())
    assert f"inside events ({inside} steps)" in (tmp_path / "a.svg").read_text()
    assert (
        f"outside events ({int((IGNORED == 0).sum()) - inside} steps, 5 without a score)"
        in (tmp_path / "a.svg").read_text()
    )
    assert "--early, --delay and --max-gap change nothing" in found.err


def test_alarms_in_a_day_choose_the_threshold_that_is_drawn(recording, tmp_path, monkeypatch):
    drawn = drawn_by(monkeypatch, "categories")
    options = ["--threshold", "alarms:2/3h", "--missing", "normal", "--ignore", "maintenance", "--score", "first"]
    console("plot", "categories", recording, *options, "--early", "2", "--delay", "3", "-o", tmp_path / "a.svg")
    given = {"threshold": "alarms:2/3h", "ignore": IGNORED, "times": UNEVEN, "missing": "normal"}
    expected = pv.explain(LABELS, scores=A, early=2, delay=3, **given)
    assert drawn[0][0][0].points.to_dict() == expected.points.to_dict()
    found = console("plot", "categories", recording, *options, "--time", "none", "-o", tmp_path / "b.svg", status=2)
    assert found.err.splitlines()[-1] == (
        f"pateval: {recording}: threshold='alarms:2/3h' is a duration, which needs a column of times; "
        "name it with --time (time=...)"
    )


@pytest.mark.parametrize("kind", ["series", "categories", "precision-recall", "lengths"])
def test_one_pair_is_drawn_in_one_unit(recording, tmp_path, kind):
    options = ["--missing", "normal", "--ignore", "maintenance", "--score", "first", "-o", tmp_path / "a.svg"]
    found = console("plot", kind, recording, *options, "--early", "10min", status=2)
    assert found.err.splitlines()[-1] == (
        f"pateval: '{kind}' draws both buffers in steps or both as durations; give --early and --delay"
    )
    console("plot", kind, recording, *options, "--early", "0", "--delay", "20min")


def test_an_ignored_column_may_take_all_events(recording, tmp_path):
    rows = recording.read_text().splitlines()
    for place, row in enumerate(rows[1:], 1):
        time, label, _, *scores = row.split(",")
        rows[place] = ",".join([time, label, "0" if label == "0" else "1", *scores])
    recording.write_text("\n".join(rows) + "\n")
    options = ["--missing", "normal", "--ignore", "maintenance", "--score", "first", "-o", tmp_path / "a.svg"]
    found = console("plot", "series", recording, *options, status=2)
    assert found.err.splitlines()[-1] == (
        f"pateval: {recording} holds no anomaly in the steps that count: nothing to draw"
    )


def test_buffers_are_drawn_in_one_unit(recording, tmp_path):
    options = ["--missing", "normal", "--ignore", "maintenance", "--early", "0min,10min"]
    found = console("plot", "buffers", recording, *options, "--score", "first", "-o", tmp_path / "a.svg", status=2)
    assert found.err.splitlines()[-1] == (
        "pateval: 'buffers' draws both buffers in steps or both as durations; give --early and --delay"
    )
