"""Data put on trial: every kind of fault, planted, is found; sound data pass."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from pateval.checking import FAULT_KINDS, RULES, check
from pateval.checking.one_liners import chance_of_solving, try_rule
from pateval.cli import pateval
from pateval.datasets import Series
from pateval.io import TableError
from pateval.labels.events import find_events
from pateval.rules import moving_deviation, moving_mean
from pateval.time.windows import windows_in_a_row
from support.command_line import invoke
from support.messages import raises_exactly
from support.strategies import binary_series

STEPS = 3000
PLACES = ((300, 340), (1100, 1150), (1700, 1730), (2300, 2360), (2700, 2740))


def labels_of(*events, steps=STEPS):
    labels = np.zeros(steps, dtype=bool)
    for start, stop in events:
        labels[start:stop] = True
    return labels


def wave(seed=0, shape=np.sin):
    """A noisy periodic series on a random walk."""
    chance = np.random.default_rng(seed)
    noise = 0.3 * chance.normal(size=STEPS) + 0.02 * chance.normal(size=STEPS).cumsum()
    return shape(np.arange(STEPS) / 25 + seed) + noise


def series_of(values, labels, name="pump", train=None):
    return Series(name, values[:, None], labels, None if train is None else train[:, None], features=("pressure",))


def clean(seed=0, name="pump"):
    """Anomalies that no rule of one line sees: the wave is a triangle for a while."""
    labels = labels_of(*PLACES)
    values = np.where(labels, wave(seed, lambda phase: np.arcsin(np.sin(phase)) * 2 / np.pi), wave(seed))
    return series_of(values, labels, name, train=wave(seed + 100))


def codes(*series):
    return [fault.code for fault in check(series).faults]


def test_a_clean_series_passes():
    found = check([clean(0, "a"), clean(1, "b")])
    assert found.faults == ()
    assert found.sound == ("a", "b")
    assert found.summary().startswith("no fault found in 2 series")
    assert found.series[0].f1 < 0.9


NOISE = np.random.default_rng(3).normal(size=STEPS)
ODD = (-1.0) ** np.arange(STEPS)
STARTS = [start for start, _ in PLACES]
ELSEWHERE = (150, 700, 900, 1400, 2000, 2550)  # far from all events


def slow(height, period):
    """A wave so high that no value stands out; it begins and ends level, for the windows that are cut off there."""
    return height * np.cos(2 * np.pi * np.arange(STEPS) / period)


def put(shape, places, values=0.0):
    """Add a shape to a series at some places."""
    values = np.zeros(STEPS) + values
    for place in places:
        values[place : place + len(shape)] += shape
    return values


def swing(length, height, period):
    return height * np.sin(2 * np.pi * np.arange(length) / period)


def bump(height, rise, top):
    up = np.arange(1, rise + 1) / (rise + 1)
    return height * np.concatenate([up, np.ones(top), up[::-1]])


def level_shifts(height):
    return sum((-1) ** number * height * (np.arange(STEPS) >= place) for number, place in enumerate(ELSEWHERE))


def calm(length, places):
    return put(np.full(length, -0.99), places, 1.0)


# For each rule what it alone sees: the length of the events, and the values.
PLANTED = {
    "pressure >= 1": (40, NOISE + put(np.full(40, 30.0), STARTS)),
    "pressure <= -1": (40, NOISE - put(np.full(40, 30.0), STARTS)),
    # Every other step up and down, on a wave: steps stand out, and values do not.
    "abs(diff(pressure)) >= ": (40, slow(10, 300) + 0.1 * NOISE + 3 * ODD * put(np.ones(40), STARTS)),
    # Three steps up and down again; elsewhere the level moves farther at once, but stays there.
    "abs(pressure - movmean(pressure, 20)) >= ": (
        3,
        slow(2, 150) + 0.02 * NOISE + level_shifts(1.33) + put(bump(1, 1, 1), STARTS),
    ),
    # A swing; elsewhere single steps that are farther away.
    "movstd(pressure, 20) >= ": (
        30,
        slow(10, 1000) + 0.05 * NOISE + put(swing(30, 3, 16), STARTS) + put([6.0], ELSEWHERE),
    ),
    "movstd(pressure, 20) <= ": (40, NOISE * calm(40, STARTS)),
    # So slow a bump that a window of 20 steps goes along with it.
    "abs(pressure - movmean(pressure, 100)) >= ": (60, slow(20, 1500) + 0.05 * NOISE + put(bump(2, 30, 0), STARTS)),
    # A long swing; elsewhere short ones that are higher. Likewise calm for long, and elsewhere for a while.
    "movstd(pressure, 100) >= ": (120, 0.05 * NOISE + put(swing(120, 1, 16), STARTS) + put(swing(8, 3, 8), ELSEWHERE)),
    "movstd(pressure, 100) <= ": (110, NOISE * calm(110, STARTS) * calm(40, ELSEWHERE)),
}


@pytest.mark.parametrize("expression", PLANTED)
def test_a_rule_of_one_line(expression):
    length, values = PLANTED[expression]
    labels = labels_of(*((start, start + length) for start in STARTS))
    found = check(series_of(values, labels))
    (fault,) = found.of("one-liner")
    assert fault.text.startswith(expression)
    assert fault.text.endswith("finds 5 events with an F1 of 1.00")
    assert fault.value == 1
    assert found.series[0].rule == fault.text.partition(" finds ")[0]


def test_every_rule_is_planted():
    signs = {1: ">=", -1: "<="}
    names = [f"{rule.expression.format(x='pressure')} {signs[rule.sign]} " for rule in RULES]
    assert sorted(names) == sorted(expression.rstrip("-1") for expression in PLANTED)


def test_luck_is_no_solution():
    # Many columns of noise and one event of a tenth: the highest value of some column lies in it.
    labels = labels_of((1000, 1300))
    values = np.random.default_rng(0).normal(size=(STEPS, 40))
    found = check(Series("noise", values, labels))
    assert found.series[0].f1 == 1
    assert found.of("one-liner") == ()


def test_a_column_that_never_varies_outside_events_may_be_luck():
    labels = labels_of((1000, 1300))
    sparse = np.zeros((STEPS, 20))
    sparse[1100:1110, 3] = 1
    assert check(Series("once", sparse, labels)).of("one-liner") == ()
    often = labels_of(*PLACES)
    (fault,) = check(Series("often", np.where(often[:, None], 1.0, 0.0), often)).of("one-liner")
    assert fault.text == "f00 >= 0.5 finds 5 events with an F1 of 1.00"


def test_events_at_the_end():
    late = labels_of(*((2100 + 100 * number, 2110 + 100 * number) for number in range(8)))
    assert codes(series_of(wave(), late)) == ["end"]
    several = [series_of(wave(seed), labels_of((2500, 2510)), f"s{seed}") for seed in range(9)]
    found = check(several).of("end")
    assert [(fault.series, fault.text) for fault in found] == [("series", "9 of 9 events lie in the last third")]


def test_density():
    assert codes(series_of(wave(), labels_of((500, 1500)))) == ["dense"]
    assert codes(series_of(wave(), labels_of((500, 520), (522, 540), (1500, 1520)))) == ["close"]


def test_one_event_that_is_most_of_the_anomalies():
    labels = labels_of((500, 900), (1500, 1505), (2500, 2510))
    (fault,) = check(series_of(wave(), labels)).faults
    assert fault.code == "dominant"
    assert "one of 3 events, 400 steps long, holds 96 %" in fault.text


def test_shifted_labels():
    truth = labels_of(*PLACES)
    values = wave() + 4 * truth
    moved = np.roll(truth, 25)
    (fault,) = check(series_of(values, moved)).of("shifted")
    assert fault.value == pytest.approx(-25, abs=2)
    assert "steps earlier, the labels fit pressure" in fault.text
    assert check(series_of(values, truth)).of("shifted") == ()


def test_duplicates():
    first, other = clean(0, "first"), clean(1, "other")
    again = Series("again", first.test.copy(), first.labels)
    nearly = Series("nearly", 3 * first.test + 0.2 * other.test + 7, first.labels)
    part = Series("part", first.test[1000:], first.labels[1000:])
    found = check([first, other, again, nearly, part]).of("duplicate")
    assert [fault.series for fault in found] == ["again", "nearly", "part"]
    assert found[0].text == "has the same values as first"
    assert "correlate by 0.99" in found[1].text
    assert found[2].text == "has the same values as first where the shorter one lies"
    flat = [Series(name, np.zeros((50, 1)), labels_of((3, 5), steps=50)) for name in "ab"]
    assert check(flat).of("duplicate") == ()


def test_anomalies_in_the_training_stretch():
    labels = labels_of(*PLACES)
    train = wave(7)
    quiet = series_of(wave() + 30 * labels, labels, train=train.copy())
    assert check(quiet).of("train") == ()
    train[500:540] += 30
    (fault,) = check(series_of(wave() + 30 * labels, labels, train=train)).of("train")
    assert "flags 1 stretch of the training data" in fault.text


def test_files_in_parts(tmp_path):
    """Each part is a series, as on a board, where no column says otherwise; the name of the file is no value."""
    for part in range(2):
        frame = pd.DataFrame({"value": clean(part).test[:, 0], "label": clean(part).labels.astype(int)})
        frame.assign(machine="pump").to_csv(tmp_path / f"part-{part}.csv", index=False)
    assert [series.name for series in check(tmp_path).series] == ["pump"]
    for path in tmp_path.iterdir():
        pd.read_csv(path).drop(columns="machine").to_csv(path, index=False)
    assert [series.name for series in check(tmp_path).series] == ["part-0", "part-1"]


def test_windows_laid_one_after_another(tmp_path):
    series = clean(0)
    parts = (series.test[:600, 0], series.labels[:600])
    rows, labels = (np.lib.stride_tricks.sliding_window_view(part, 20) for part in parts)
    found = check(series_of(rows.ravel(), labels.ravel()))
    assert found.faults[0] == ("windows", "pump", "11,620 rows are windows of 20 steps, of a series of 600", 20)
    # A file of scores has no values to check, and its labels say enough.
    frame = pd.DataFrame({"label": labels.ravel().astype(int), "score": np.linspace(0, 1, labels.size)})
    frame.to_csv(tmp_path / "scores.csv", index=False)
    with raises_exactly(
        TableError,
        f"{tmp_path / 'scores.csv'}: its 11,620 rows are windows of 20 steps laid one after another, each a step "
        "later: give every step one row, as pv.scores_from_windows does with the scores",
    ):
        check(tmp_path / "scores.csv")


@pytest.mark.parametrize(("size", "window"), [(40, 30), (40, 3), (25, 12)])
def test_few_long_windows_and_many_short_ones_are_recognised(size, window):
    labels = np.arange(size) % 13 == 7
    labels[16] = True
    assert windows_in_a_row(np.lib.stride_tricks.sliding_window_view(labels, window).ravel()) == window


def test_labels_with_a_period_are_no_windows():
    periodic = np.tile(np.repeat([False, True, False], [7, 2, 10]), 60)
    assert windows_in_a_row(periodic) is None
    assert windows_in_a_row(np.zeros(300, dtype=bool)) is None
    single = np.zeros(300, dtype=bool)
    single[-1] = True
    assert windows_in_a_row(single) is None


def test_nothing_labelled():
    found = check(series_of(wave(), labels_of()))
    assert [fault.code for fault in found.faults] == ["no-anomaly"]
    assert math.isnan(found.series[0].f1)
    assert found.to_dict()["series"][0]["f1"] is None


# --- the parts ---


@settings(max_examples=50)
@given(st.data())
def test_rules_on_any_series(data):
    labels = data.draw(binary_series()).astype(bool)
    values = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=labels.size, max_size=labels.size)), dtype=float)
    if not labels.any():
        return
    for rule in RULES:
        found = try_rule(rule, 0, rule.score(values), find_events(labels))
        assert 0 <= found.f1 <= 1
        assert 0 <= found.luck <= 1
    check(Series("any", values[:, None], labels))


def test_moving_statistics_are_those_of_the_definition():
    values = np.random.default_rng(0).normal(size=60) + 100
    for window in (3, 20):
        for step in range(60):
            part = values[max(step - window // 2, 0) : step - window // 2 + window]
            assert moving_mean(values, window)[step] == pytest.approx(part.mean())
            assert moving_deviation(values, window)[step] == pytest.approx(part.std(), abs=1e-9)


def test_the_chance_of_solving_is_that_of_random_orders():
    draws = np.random.default_rng(0).random((40_000, 10))
    solved = np.minimum(draws[:, :2].max(axis=1), draws[:, 2:4].max(axis=1)) > draws[:, 4:].max(axis=1)
    assert chance_of_solving(0.4, 2) == pytest.approx(solved.mean(), abs=0.01)


# --- results, files and the command ---


def test_it_is_data():
    found = check([clean(0, "a"), series_of(wave(1), labels_of((500, 1500)), "b")])
    assert isinstance(found, pv.DataCheck)
    assert len(found) == 1
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    assert found.to_frame("pandas")["code"].tolist() == ["dense"]
    plain = json.loads(found.to_json())
    assert plain["faults"][0]["remedy"] == FAULT_KINDS["dense"].remedy
    assert [each["faults"] for each in plain["series"]] == ["", "dense"]
    assert max(map(len, repr(found).splitlines())) <= 80
    with raises_exactly(
        ValueError,
        "there is no fault 'odd'; there are windows, one-liner, end, dense, close, dominant, shifted, duplicate, "
        "train, no-anomaly",
    ):
        found.of("odd")
    with raises_exactly(ValueError, "there is nothing to check: no data set, no file, no series"):
        check([])


def test_the_command(tmp_path):
    series = clean()
    frame = pd.DataFrame({"value": series.test[:, 0], "label": series.labels.astype(int)})
    frame.to_csv(tmp_path / "good.csv", index=False)
    frame.assign(value=frame["value"] + 30 * frame["label"]).to_csv(tmp_path / "easy.csv", index=False)
    good = invoke("check", tmp_path / "good.csv")
    assert good.exit_code == 0
    assert good.stdout.startswith("no fault found in 1 series")
    both = invoke("check", tmp_path / "good.csv", tmp_path / "easy.csv")
    lines = both.stdout.splitlines()
    assert lines[0] == "one-liner (1): a rule of one line finds the events"
    assert lines[1].startswith("  easy: value >= ")
    assert max(map(len, lines)) <= 80
    records = json.loads(invoke("check", tmp_path, "--format", "json").stdout)
    assert [fault["code"] for fault in records["faults"]] == ["one-liner"]
    assert invoke("check", tmp_path, "--format", "csv").stdout.splitlines()[0] == "code,series,found,value"
    assert "### one-liner" in invoke("check", tmp_path, "--format", "markdown").stdout
    with raises_exactly(
        ValueError,
        "'nothing' is neither a folder nor a known data set; known are SMD, MSL, SMAP, PSM, SWaT, UCR, MBA_ECG, "
        "NAB, NAB-points, TSB-AD-U, TSB-AD-M, TSB-AD-sample",
    ):
        invoke("check", "nothing")


def test_values_are_needed_beside_the_labels(tmp_path):
    path = tmp_path / "scores.csv"
    pd.DataFrame({"label": [0, 1, 0, 1], "lstm_score": [0.1, 0.9, 0.2, 0.8]}).to_csv(path, index=False)
    done = CliRunner().invoke(pateval, ["check", str(path)])
    assert done.exit_code != 0
    assert str(done.exception) == (
        f"{path}: there is no column of recorded values beside the labels, which detectors and 'pateval check' need; "
        "its columns are 'label', 'lstm_score': add the values, or name the file they stand in"
    )


def test_folders_of_one_name_are_several_data_sets(tmp_path):
    places = [tmp_path / place / "plant" for place in ("north", "south")]
    for seed, folder in enumerate(places):
        folder.mkdir(parents=True)
        pd.DataFrame({"x": wave(seed), "label": labels_of(*PLACES)}).to_csv(folder / "pump.csv", index=False)
    found = check(places)
    assert [each.dataset for each in found.series] == [str(folder) for folder in places]
    assert [each.name for each in found.series] == [f"{folder}/pump" for folder in places]
    assert {each.dataset for each in check(places[0]).series} == {"plant"}
