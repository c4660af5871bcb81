"""Leaderboards on a clock, with ignored steps and missing scores: equal to direct calls, here and on two workers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pateval as pv
from support.dask_cluster import running_cluster
from support.messages import raises_exactly

METRICS = ["pate", "pate_ap", "pate_f1", "auc_roc", "vus_pr", "segment_f1"]
DURATIONS = dict(early=["0s", "20s"], delay="30s", window="40s", max_gap="1min")


def make_series(seed, size=150):
    rng = np.random.default_rng(seed)
    labels = np.zeros(size, dtype=int)
    for start in rng.choice(size - 12, 3, replace=False):
        labels[start : start + rng.integers(2, 10)] = 1
    times = np.cumsum(rng.integers(1, 20, size))
    scores = {name: rng.random(size) + weight * labels for name, weight in (("good", 0.6), ("bad", 0.1))}
    ignore = (rng.random(size) < 0.1).astype(int)
    return labels, scores, times, ignore


def write(folder, *, gaps=False, wide=True):
    """Three series in one wide file, as a recording on a clock of seconds would have them."""
    rows = ["series,seconds,label,ignored,good,bad"]
    data = {}
    for number in range(3):
        labels, scores, times, ignore = make_series(number)
        if gaps:
            scores["good"][:20] = np.nan  # a warm-up
            scores["bad"][15:30] = np.nan
            if number == 1:
                scores["bad"][:100] = np.nan  # more than half
        data[f"s{number}"] = labels, scores, times, ignore
        rows += [
            f"s{number},{t},{label},{out},{'' if np.isnan(g) else g},{'' if np.isnan(b) else b}"
            for t, label, out, g, b in zip(times, labels, ignore, scores["good"], scores["bad"], strict=True)
        ]
    path = folder / "recording.csv"
    path.write_text("\n".join(rows) + "\n")
    return path, data


COLUMNS = dict(series="series", score=["good", "bad"], time="seconds", time_unit="s")


def values(board, detector, series):
    d, s = board.detectors.index(detector), board.series.index(series)
    return dict(zip(board.metrics, board.values[d, s].tolist(), strict=True))


def compare_with_direct_calls(board, data, expected):
    for series, (labels, scores, times, ignore) in data.items():
        for detector in ("good", "bad"):
            direct = expected(labels, scores, detector, times, ignore)
            found = values(board, detector, series)
            if direct is None:
                assert all(math.isnan(value) for value in found.values())
            else:
                assert found == pytest.approx(dict(direct), rel=0, abs=1e-12, nan_ok=True)


def test_durations_are_measured_on_the_column_of_times(tmp_path):
    path, data = write(tmp_path)
    board = pv.leaderboard(path, metrics=METRICS, **DURATIONS, **COLUMNS)

    def expected(labels, scores, detector, times, _):
        return pv.evaluate(labels, scores[detector], metrics=METRICS, times=times, time_unit="s", **DURATIONS)

    compare_with_direct_calls(board, data, expected)
    assert pv.parse_signature(board.signatures["pate"])["clock"] == "times:max_gap:1min"
    assert pv.parse_signature(board.signatures["vus_pr"])["clock"] == "interval:series"
    # Over all series together, as one direct call does it.
    pooled = pv.leaderboard(path, metrics="pate", pooled=True, **DURATIONS, **COLUMNS)
    series = np.repeat(np.arange(3), 150)
    joined = [np.concatenate([data[name][place] for name in data]) for place in (0, 2)]
    scores = np.concatenate([data[name][1]["good"] for name in data])
    buffers = {name: DURATIONS[name] for name in ("early", "delay", "max_gap")}
    together = pv.pate(joined[0], scores, times=joined[1], time_unit="s", series=series, **buffers)
    assert pooled.values[pooled.detectors.index("good"), 0, 0] == pytest.approx(together, rel=0, abs=1e-12)


def test_a_guessed_time_changes_no_number_asked_for_in_steps(tmp_path):
    path, _ = write(tmp_path)
    text = path.read_text().replace("seconds", "time", 1)
    (tmp_path / "timed.csv").write_text(text)
    plain = pv.leaderboard(path, metrics=METRICS, series="series", score=["good", "bad"], time="none")
    timed = pv.leaderboard(tmp_path / "timed.csv", metrics=METRICS, series="series", score=["good", "bad"])
    assert f"{tmp_path / 'timed.csv'}: guessed time 'time'" in timed.notes
    assert np.array_equal(plain.values, timed.values, equal_nan=True)
    assert plain.signatures == timed.signatures
    assert np.array_equal(plain.chance.levels, timed.chance.levels)


@pytest.mark.parametrize("workers", [1, 2])
def test_ignored_and_missing_steps_are_left_out_for_all_detectors(tmp_path, workers):
    path, data = write(tmp_path, gaps=True)
    board = pv.leaderboard(
        path,
        metrics=METRICS,
        ignore="ignored",
        missing="ignore",
        cache=tmp_path / "cache",
        workers=workers,
        **DURATIONS,
        **COLUMNS,
    )

    def expected(labels, scores, detector, times, ignore):
        absent = {name: np.isnan(values) & (ignore == 0) for name, values in scores.items()}
        telling = [mask for mask in absent.values() if 2 * mask.sum() <= (ignore == 0).sum()]
        if 2 * absent[detector].sum() > (ignore == 0).sum():
            return None
        left_out = np.logical_or.reduce([ignore == 1, *telling])
        return pv.evaluate(
            labels, scores[detector], metrics=METRICS, times=times, time_unit="s", ignore=left_out, **DURATIONS
        )

    compare_with_direct_calls(board, data, expected)
    reasons = {reason for _, reason in board.reasons()}
    assert "the detector has no score for more than half of the steps" in reasons
    fields = pv.parse_signature(board.signatures["auc_roc"])
    assert (fields["ignored"], fields["missing"]) == ("mask", "ignore")
    d, s = board.detectors.index("bad"), board.series.index("s0")
    ignore = data["s0"][3]
    assert board.coverage[d, s] == pytest.approx(1 - (ignore[15:30] == 0).sum() / (ignore == 0).sum())
    assert "coverage" in board.scores.column_names
    assert "coverage" in board.summary().column_names
    assert board.notes[:3] == (
        "41 of 450 steps are ignored, in 3 series",
        (
            "steps without a score are left out for all detectors of the series, so that all are judged on the same "
            "steps: 'bad' (121 in 3 series), 'good' (56 in 3 series)"
        ),
        "1 of 8 events lies wholly in steps that are left out, in 3 series",
    )
    # A second run computes nothing; another detector with other gaps changes the steps of all.
    again = pv.leaderboard(
        path,
        metrics=METRICS,
        ignore="ignored",
        missing="ignore",
        cache=tmp_path / "cache",
        workers=1,
        **DURATIONS,
        **COLUMNS,
    )
    assert again.run["computed"] == 0
    assert np.array_equal(again.values, board.values, equal_nan=True)
    alone = pv.leaderboard(
        path,
        metrics=METRICS,
        ignore="ignored",
        missing="ignore",
        cache=tmp_path / "cache",
        **DURATIONS,
        **COLUMNS | {"score": "good"},
    )
    assert values(alone, alone.detectors[0], "s0")["auc_roc"] != values(board, "good", "s0")["auc_roc"]
    assert values(alone, alone.detectors[0], "s1") == pytest.approx(values(board, "good", "s1"), nan_ok=True)


def test_dask_leaves_out_the_same_steps(tmp_path):
    pytest.importorskip("distributed")
    path, _ = write(tmp_path, gaps=True)
    options = dict(metrics=METRICS, ignore="ignored", missing="ignore", chance=2, **DURATIONS, **COLUMNS)
    here = pv.leaderboard(path, workers=1, **options)
    with running_cluster(tmp_path) as (client, _):
        there = pv.leaderboard(path, executor=client.get_executor(), workers=2, **options)
    assert there.failures == ()
    assert np.array_equal(there.values, here.values, equal_nan=True)
    assert np.array_equal(there.coverage, here.coverage)
    assert there.notes == here.notes
    assert np.array_equal(there.chance.levels, here.chance.levels, equal_nan=True)


def test_missing_scores_that_count_as_normal(tmp_path):
    path, data = write(tmp_path, gaps=True)
    board = pv.leaderboard(path, metrics=METRICS, missing="normal", **COLUMNS | {"time": "none", "time_unit": None})

    def expected(labels, scores, detector, *_):
        return pv.evaluate(labels, scores[detector], metrics=METRICS, missing="normal")

    compare_with_direct_calls(board, data, expected)
    assert board.coverage.min() == pytest.approx(1 - 100 / 150)
    assert "steps without a score are never predicted: 'bad' (130 in 3 series), 'good' (60 in 3 series)" in board.notes


def test_one_series_gets_limits_on_its_clock(tmp_path):
    labels, scores, times, ignore = make_series(5, 400)
    scores["good"][:10] = np.nan
    table = {"label": labels, "good": scores["good"], "bad": scores["bad"], "t": times, "out": ignore}
    board = pv.leaderboard(
        table,
        score=["good", "bad"],
        time="t",
        time_unit="s",
        ignore="out",
        missing="ignore",
        metrics=["pate", "auc_roc"],
        early="20s",
        delay="20s",
        event_draws=20,
    )
    low, high = board.intervals["good", "pate"]
    assert low <= high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"early": "10min", "delay": "10min", "time": "none"},
            (
                "the table: early=['10min'] of pate is a duration, which needs a column of times; name it with --time "
                "(time=...)"
            ),
        ),
        (
            {"max_gap": "10min", "time": "t"},
            (
                "the table: column 't': max_gap='10min' needs the unit of times that are numbers; give it with "
                "--time-unit (time_unit='s')"
            ),
        ),
        ({"missing": "drop"}, "missing must be one of 'error', 'ignore', 'normal'; got 'drop'"),
    ],
)
def test_what_is_refused(options, message):
    labels, scores, times, _ = make_series(1)
    table = {"label": labels, "score": scores["good"], "t": times}
    with raises_exactly(ValueError, message):
        pv.leaderboard(table, metrics=["pate"], **options)
