"""Buffer suggestion against a direct computation of the autocorrelation."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.cli import pateval
from pateval.evaluation.buffers import BufferAdvice, EventSpacing, autocorrelation, long_buffers, round_duration
from support.messages import raises_exactly


def direct_autocorrelation(series, longest):
    centred = [v - sum(series) / len(series) for v in series]
    total = sum(v * v for v in centred)
    return [sum(a * b for a, b in zip(centred, centred[lag:], strict=False)) / total for lag in range(longest + 1)]


def direct_suggestion(values):
    values = list(values)[:20_000]
    correlation = direct_autocorrelation(values, min(400, len(values) - 1))[3:]
    peaks = [
        i
        for i in range(1, len(correlation) - 1)
        if correlation[i] > correlation[i - 1] and correlation[i] > correlation[i + 1]
    ]
    if not peaks:
        return 100
    highest = max(peaks, key=lambda i: correlation[i])
    return highest + 3 if 3 <= highest <= 300 else 100


@given(st.lists(st.floats(-100, 100), min_size=4, max_size=60).filter(lambda v: max(v) - min(v) > 1e-3))
def test_autocorrelation_is_the_direct_one(values):
    longest = len(values) - 1
    found = autocorrelation(np.array(values), longest)
    assert found == pytest.approx(direct_autocorrelation(values, longest), abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.filterwarnings("ignore:no period")
def test_suggestion_is_the_direct_one(seed):
    rng = np.random.default_rng(seed)
    period = rng.integers(5, 420)
    values = np.sin(2 * np.pi * np.arange(1500) / period) + rng.normal(0, 0.3, 1500) + 0.001 * np.arange(1500)
    assert pv.suggest_buffer(values) == direct_suggestion(values)


def test_only_the_first_steps_count():
    values = np.sin(2 * np.pi * np.arange(30_000) / 40)
    values[20_000:] = np.random.default_rng(0).normal(size=10_000)
    assert pv.suggest_buffer(values) == 40


@pytest.mark.parametrize("values", [np.ones(500), np.arange(500.0), [1.0], [1.0, 2.0, 3.0], np.zeros(3)])
def test_nothing_found_gives_the_default_and_says_so(values):
    with pytest.warns(UserWarning, match="no period found"):
        assert pv.suggest_buffer(values) == 100


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e300])
def test_scale_does_not_matter(scale):
    assert pv.suggest_buffer(scale * np.sin(2 * np.pi * np.arange(2000) / 50)) == 50


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], "values must be one-dimensional; got (2, 2): pass one column, such as values[:, 0]"),
        ([1.0, float("nan"), 2.0], "values must be finite at every step; found NaN at index 1 (1 such value in 3)"),
        (
            [1.0, float("inf"), 2.0],
            "values must be finite at every step; found an infinite value at index 1 (1 such value in 3)",
        ),
        ([], "values must hold at least one time step; got an empty array"),
        (["a", "b"], "values must be numbers (bool, integer or float); got text values"),
    ],
)
def test_bad_values(values, message):
    with raises_exactly((ValueError, TypeError), message):
        pv.suggest_buffer(values)


# --- the command ---


def run(*arguments):
    return CliRunner().invoke(pateval, ["buffer", *map(str, arguments)])


@pytest.fixture
def sampled(tmp_path):
    """Two days of values every five minutes, with a rhythm of 48 steps and three events."""
    labels = np.zeros(576, dtype=int)
    for start, stop in ((100, 112), (200, 210), (400, 430)):
        labels[start:stop] = 1
    times = np.datetime64("2024-03-01") + np.arange(576) * np.timedelta64(5, "m")
    values = np.sin(2 * np.pi * np.arange(576) / 48)
    path = tmp_path / "sampled.csv"
    pd.DataFrame({"timestamp": times, "value": values, "label": labels}).to_csv(path, index=False)
    return path


def test_sampling_events_gaps_and_suggestions(sampled):
    done = run(sampled, "--early", "5", "--delay", "0..200")
    assert done.exit_code == 0, done.stderr
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines()[:-2])
    assert facts == {
        "series": "sampled",
        "steps": "576",
        "interval": "5min",
        "events": "3",
        "shortest event": "10",
        "typical event": "12",
        "longest event": "30",
        "gap": "139",
        "suggested buffer": "12",
        "as time": "1h",
    }
    assert done.stdout.splitlines()[-1] == "--early 12 --delay 12 fits these events, or in time --early 1h --delay 1h"
    assert done.stderr.splitlines()[-1] == (
        "delay 200 is longer than the typical event (12 steps) and than the gap between events (139 steps): a buffer "
        "then counts for more than what it surrounds"
    )
    found = json.loads(run(sampled, "--value", "value", "--format", "json").stdout)
    assert (found["suggested"], found["suggested_time"]) == (12, "1h")
    (row,) = found["series"]
    assert (row["period"], row["gap"]) == (48, 139)


@pytest.mark.parametrize(
    ("lengths", "typical", "gap", "suggested"),
    [
        ([20, 6, 30, 8, 20], 7, 30, 7),  # events of 6 and 8 steps, 30 apart: the typical event
        ([20, 40, 10, 60, 20], 50, 10, 5),  # half the gap
        ([20, 40, 1, 60, 20], 50, 1, 1),  # never less than a step
        ([20, 9, 500], 9, None, 9),  # one event has no gap
        ([5, 3, 8, 4, 20, 11, 9], 4, 14, 4),  # the medians of 3, 4, 11 and of 8, 20
        ([0, 3, 9, 3, 0], 3, 9, 3),  # an odd gap that is halved: 4 steps and a half
        ([0, 30, 9, 30, 0], 30, 9, 4),
    ],
)
def test_suggestions_by_hand(lengths, typical, gap, suggested):
    labels = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    found = EventSpacing.of("a", labels)
    assert (found.typical, found.gap, found.suggested) == (typical, gap, suggested)


def test_a_period_shortens_the_suggestion():
    labels = np.repeat([False, True, False], [200, 90, 310])
    values = np.sin(2 * np.pi * np.arange(600) / 40)
    found = EventSpacing.of("a", labels, values=values)
    assert (found.period, found.suggested) == (40, 40)
    assert EventSpacing.of("a", labels[:250], values=values[:250]).suggested == 40
    assert EventSpacing.of("a", np.repeat([False, True, False], [200, 30, 370]), values=values).suggested == 30


def test_no_events_and_no_suggestion():
    none = EventSpacing.of("a", np.zeros(5, dtype=bool))
    assert (none.events, none.suggested) == (0, None)
    assert BufferAdvice((none,)).suggested is None
    assert list(long_buffers([none], [100], [100])) == []


def spacing(typical, gap=None, interval=None, suggested=None):
    return EventSpacing("a", 1000, 2, 1, typical, typical, gap, interval, suggested=suggested)


def test_too_long_is_longer_in_more_than_half_of_the_series():
    rows = [spacing(10, 50), spacing(20), spacing(30, 5), spacing(40)]
    assert list(long_buffers(rows, [20], [0])) == []  # longer than 10, and than the gap of 5: two of four
    (line,) = long_buffers(rows, [0, 21], [0], remedy="")
    assert line == (
        "early 21 is longer than the typical event in 2 of 4 series (15 steps) and than the gap between events in 1 of "
        "4 series (5 steps): a buffer then counts for more than what it surrounds"
    )
    assert list(long_buffers([*rows, EventSpacing("quiet", 1000, 0)], [21], [0])) != []  # it has no say
    assert list(long_buffers([spacing(10)], [10], [10])) == []
    (both,) = long_buffers([spacing(10)], [11], [12])
    assert both.startswith("early 11 and delay 12 are longer than the typical event (10 steps): ")
    assert len(list(long_buffers([spacing(10, 11)], [11], [12]))) == 2  # one is longer than the gap, too
    minutes = [spacing(10, interval="1min")]
    assert list(long_buffers(minutes, ["10min"], ["0s"])) == []
    assert "early 11min is longer than the typical event (10 steps)" in next(long_buffers(minutes, ["11min"], ["0s"]))
    assert list(long_buffers([spacing(10)], ["1d"], ["1d"])) == []  # nobody knows how many steps that is


@given(st.lists(st.lists(st.integers(1, 60), min_size=3, max_size=9), min_size=1, max_size=7), st.integers(1, 10**6))
def test_what_is_suggested_is_never_too_long(series, seconds):
    rows = []
    for lengths in series:
        labels = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
        rows.append(EventSpacing.of("a", labels, nanoseconds=np.arange(labels.size) * seconds * 10**9))
    advice = BufferAdvice(tuple(rows))
    assert advice.warnings([advice.suggested], [advice.suggested]) == []
    assert advice.warnings([advice.suggested_time], [advice.suggested_time]) == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (166754, "46h"),
        (7200, "2h"),
        (5400, "90min"),
        (5940, "99min"),
        (6000, "100min"),
        (6060, "101min"),
        (121, "2min"),
        (90, "90s"),
        (100, "100s"),
        (1001, "16min"),
    ],
)
def test_durations_as_people_say_them(seconds, said):
    assert round_duration(seconds * 10**9) == said


def test_a_series_sampled_unevenly_is_advised_in_round_times(tmp_path):
    labels = np.repeat([0, 1, 0], [500, 204, 500])
    times = np.datetime64("2024-03-01") + np.arange(labels.size) * np.timedelta64(817, "s")
    path = tmp_path / "odd.csv"
    pd.DataFrame({"timestamp": times, "label": labels}).to_csv(path, index=False)
    assert run(path).stdout.splitlines()[-1] == (
        "--early 204 --delay 204 fits these events, or in time --early 46h --delay 46h"
    )


def test_several_series_and_no_events(tmp_path):
    path = tmp_path / "many.csv"
    labels = np.tile(np.repeat([0, 1, 0], [30, 4, 16]), 3)
    labels[100:] = 0
    pd.DataFrame({"label": labels, "series": np.repeat(["a", "b", "c"], 50)}).to_csv(path, index=False)
    done = run(path)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[-5:-2]] == ["a", "b", "c"]
    assert lines[-1] == "--early 4 --delay 4 fits these events"
    frame = pd.read_csv(io.StringIO(run(path, "--format", "csv").stdout))
    assert frame["suggested"].tolist()[:2] == [4, 4]
    pd.DataFrame({"label": np.zeros(9, dtype=int)}).to_csv(path, index=False)
    assert run(path).stdout.endswith("no events: no buffer to suggest\n")


def test_score_warns_of_long_buffers_and_labels_that_differ(tmp_path):
    labels = np.tile(np.repeat([0, 1, 0], [30, 4, 16]), 3)
    scores = labels + np.random.default_rng(0).random(150)
    for name, other in (("one", labels), ("two", np.roll(labels, 1)), ("three", labels)):
        pd.DataFrame({"label": other, "score": scores}).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [tmp_path / f"{name}.csv" for name in ("one", "two", "three")]
    done = CliRunner().invoke(pateval, ["score", *map(str, files), "--metrics", "pate"])
    assert done.exit_code == 0
    last = done.stderr.splitlines()[-2:]
    assert last[0] == (
        f"{files[1]}: labels differ from those of most detectors in 1 of 1 series, on 6 steps ('series'); each file is "
        "scored with its own labels"
    )
    assert last[1] == (
        "early 100 and delay 100 are longer than the typical event (4 steps) and than the gap between events (46 "
        "steps): a buffer then counts for more than what it surrounds; `pateval buffer` suggests one"
    )


def test_score_says_which_file_is_the_longer_one(tmp_path):
    labels = np.tile(np.repeat([0, 1, 0], [30, 4, 16]), 3)
    for name, size in (("long", 150), ("short", 140)):
        pd.DataFrame({"label": labels, "score": labels + 0.5}).head(size).to_csv(tmp_path / f"{name}.csv", index=False)
    long, short = tmp_path / "long.csv", tmp_path / "short.csv"
    done = CliRunner().invoke(pateval, ["score", str(long), str(short), "--metrics", "auc_roc"])
    assert (
        f"{short}: labels differ from those of most detectors in 1 of 1 series, on 0 steps, and the length in 1 "
        "('series'); each file is scored with its own labels"
    ) in done.stderr.splitlines()
    assert "longer than" not in done.stderr  # no metric has buffers


def test_a_leaderboard_warns_too():
    labels = np.tile(np.repeat([0, 1, 0], [30, 4, 16]), 3)
    scores = labels + np.random.default_rng(0).random(150)
    data = {"label": labels, "good": scores, "bad": scores[::-1]}
    board = pv.leaderboard(data, metrics=["pate", "auc_roc"], chance=0, early=3)
    (found,) = (check.sentence for check in board.checks if check.code == "long-buffers")
    assert found == (
        "delay 100 is longer than the typical event (4 steps) and than the gap between events (46 steps): a buffer "
        "then counts for more than what it surrounds; `pateval buffer` suggests one"
    )
    assert not any(check.code == "long-buffers" for check in pv.leaderboard(data, metrics="auc_roc", chance=0).checks)
