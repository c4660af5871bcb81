"""The series view in a real browser stands where the board's values stand: at its threshold, on its clock."""

import re
from fractions import Fraction
from urllib.parse import urlencode

import numpy as np
import pytest

import pateval as pv
from pateval.time.clocks import duration_words, nanoseconds
from support.browser import Browser, find_browser

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no browser: install chromium, or name one in PATEVAL_BROWSER"
)

SIZE = 400
RNG = np.random.default_rng(5)
LABELS = (np.arange(SIZE) % 80 > 60) & (np.arange(SIZE) % 80 < 72)
SCORES = LABELS * 0.5 + RNG.random(SIZE)
STEPS = np.cumsum(RNG.integers(1, 4, SIZE))  # of a clock that skips a beat now and then
EVEN = np.arange(SIZE)
FIRST = np.datetime64("2024-03-01T22:58:07.123456789")


def dates(unit, steps=STEPS):
    return {"time": FIRST + steps.astype(f"timedelta64[{unit}]")}


def numbers(times, unit):
    return {"time": times, "time_unit": unit}


# Times, and how far apart they are at least.
CLOCKS = {
    "dates, days apart": (dates("D"), 1, "d"),
    "dates, minutes apart": (dates("m"), 1, "min"),
    "dates, seconds apart": (dates("s"), 1, "s"),
    "dates, milliseconds apart": (dates("ms"), 1, "ms"),
    "dates, 100 ns apart": (dates("ns", STEPS * 100), 100, "ns"),
    "dates, even": (dates("s", EVEN * 10), 10, "s"),
    "seconds": (numbers(STEPS, "s"), 1, "s"),
    "seconds since 1970": (numbers(1_700_000_000 + STEPS, "s"), 1, "s"),
    "milliseconds": (numbers(STEPS * 40, "ms"), 40, "ms"),
    "minutes": (numbers(STEPS * 5, "min"), 5, "min"),
    "hours": (numbers(STEPS, "h"), 1, "h"),
    "float seconds": (numbers(STEPS * 0.1, "s"), 0.1, "s"),
    "float seconds, even": (numbers(EVEN * 0.1, "s"), 0.1, "s"),
    "float minutes": (numbers(STEPS * 0.25, "min"), 0.25, "min"),
}


def durations_between(time, time_unit=None):
    """The time from one step to another, in words."""
    if time_unit is None:
        ticks = [Fraction(int(each)) for each in time.astype("datetime64[ns]").astype("int64")]
    else:
        ticks = [Fraction(repr(round(each, 6))) * nanoseconds(f"1{time_unit}") for each in time.tolist()]
    return lambda first, last: duration_words(ticks[last] - ticks[first])


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


def board_of(columns, **options):
    clock = {name: columns.pop(name) for name in ("time_unit",) if name in columns}
    clock |= {"time": "time"} if "time" in columns else {}
    options = {"workers": 1, "chance": 0, "event_draws": 0} | options | clock
    return pv.leaderboard({"s": columns}, score=[name for name in columns if name in ("a", "b")], **options)


def series_view(browser, board, path, **state):
    """Open a detector on its series; return what the page says."""
    board.to_report(path)
    browser.logged.clear()
    browser.open(path, f"#{urlencode({'view': 'series', 'series': 's', 'detector': 'a'} | state)}")
    browser.wait("document.getElementById('level')")
    browser.frame()
    point = browser.evaluate("({...document.querySelector('.point').dataset})")
    sums = browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.sums > div')].map((row) => "
        "[...row.children].map((cell) => cell.textContent)))"
    )
    assert browser.logged == []
    return {
        "precision": float(point["precision"]),
        "recall": float(point["recall"]),
        "flagged": int(sums["Steps flagged"].replace(",", "")),
        "threshold": browser.evaluate("document.querySelector('output.threshold').textContent"),
        "marks": browser.evaluate(
            "[...document.querySelectorAll('.tight > button')].map((button) => button.textContent)"
        ),
        "buffers": browser.evaluate("[document.getElementById('early').value, document.getElementById('delay').value]"),
    }


@pytest.mark.parametrize("more", ["", "ignored steps", "holes"])
@pytest.mark.parametrize("name", CLOCKS)
def test_buffers_on_every_clock_are_those_of_explain(browser, tmp_path, name, more):
    clock, interval, unit = CLOCKS[name]
    buffer = f"{9 * interval:g}{unit}"
    columns = {"label": LABELS.astype(int), "a": SCORES, **clock}
    options = {"early": buffer, "delay": buffer}
    if more == "ignored steps":
        columns["skip"] = (RNG.random(SIZE) < 0.15).astype(int)
        columns["skip"][LABELS] = 0
        options["ignore"] = "skip"
    if more == "holes":
        options["max_gap"] = f"{2 * interval:g}{unit}"
    metrics = ["pate_f1", "auc_roc"]
    board = board_of(dict(columns), metrics=metrics, threshold=0.9, **options)
    found = series_view(browser, board, tmp_path / "r.html")
    times = {"times": columns["time"], "time_unit": clock.get("time_unit")}
    steps = {"ignore": columns.get("skip"), "max_gap": options.get("max_gap")}
    expected = pv.explain(LABELS, SCORES >= 0.9, early=buffer, delay=buffer, **times, **steps)
    assert found["precision"] == pytest.approx(expected.precision, abs=1e-9)
    assert found["recall"] == pytest.approx(expected.recall, abs=1e-9)
    f1 = 2 * found["precision"] * found["recall"] / (found["precision"] + found["recall"])
    assert f1 == pytest.approx(board.values[0, 0, 0], abs=1e-9)
    shown = browser.evaluate(
        "[...document.querySelectorAll('.events tbody tr')].map((row) => [6, 7].map((k) => row.cells[k - 1].innerText))"
    )
    between = durations_between(**clock)
    assert sorted(shown) == sorted(
        [
            "–" if event.onset_delay is None else between(event.start, event.start + event.onset_delay),
            "–" if event.early_lead is None else between(event.start - event.early_lead, event.start),
        ]
        for event in expected.events
    )


def test_a_buffer_that_is_entered_is_in_seconds(browser, tmp_path):
    columns = {"label": LABELS.astype(int), "a": SCORES, **numbers(STEPS * 40, "ms")}
    board = board_of(columns, metrics=["pate_f1", "auc_roc"], threshold=0.9, early="360ms", delay="360ms")
    found = series_view(browser, board, tmp_path / "r.html", early="0.2", delay="0.08")
    clock = {"times": STEPS * 40, "time_unit": "ms"}
    expected = pv.explain(LABELS, SCORES >= 0.9, early="200ms", delay="80ms", **clock)
    assert found["buffers"] == ["0.2", "0.08"]
    assert found["precision"] == pytest.approx(expected.precision, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("dates, even", "2024-03-01 23:08:17.123456789", "23:09:57.123456789"),
        ("seconds since 1970", "1,700,000,{start}", "1,700,000,{stop}"),
        ("float seconds, even", "6.1", "7.1"),
    ],
)
def test_events_are_named_by_their_times(browser, tmp_path, name, first, last):
    clock, interval, unit = CLOCKS[name]
    buffer = f"{9 * interval:g}{unit}"
    columns = {"label": LABELS.astype(int), "a": SCORES, **clock}
    board = board_of(columns, metrics=["pate_f1", "auc_roc"], early=buffer, delay=buffer)
    series_view(browser, board, tmp_path / "r.html")
    rows = browser.evaluate(
        "[...document.querySelectorAll('.events tbody tr')].map((row) => "
        "[...row.children].slice(0, 3).map((cell) => cell.innerText))"
    )
    steps = {"start": STEPS[61], "stop": STEPS[71]}
    assert ["1", first.format(**steps), last.format(**steps)] in rows


def test_dates_and_durations_where_there_is_a_clock_and_steps_where_there_is_none(browser, tmp_path):
    times = np.datetime64("2026-03-01T04:10") + 35 * np.arange(60).astype("timedelta64[m]")
    labels = np.isin(np.arange(60), (12, 13, 14, 40)).astype(int)
    scores = np.isin(np.arange(60), (11, 13, 40)).astype(float) + np.linspace(0, 0.5, 60)

    def shown():
        rows = browser.evaluate(
            "[...document.querySelectorAll('.events tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.innerText))"
        )
        browser.evaluate("document.querySelector('.events tbody button').click()")
        said = browser.evaluate("document.querySelector('[aria-live]').textContent")
        return [row[:7] for row in sorted(rows)], said

    for early in (2, "70min"):
        columns = {"label": labels, "a": scores, "time": times}
        board = board_of(columns, metrics=["pate_f1", "auc_roc"], early=early, delay=0, threshold=1.0)
        series_view(browser, board, tmp_path / "r.html")
        rows, said = shown()
        assert rows == [
            ["1", "2026-03-01 11:10", "12:20", "yes", "33 %", "35 min", "35 min"],
            ["2", "2026-03-02 03:30", "03:30", "yes", "100 %", "0 s", "–"],
        ]
        assert said == "Event 1 of 2, from 2026-03-01 11:10 to 12:20: found, 33 % covered, onset after 35 min."
    board = board_of({"label": labels, "a": scores}, metrics=["pate_f1", "auc_roc"], early=2, delay=0, threshold=1.0)
    series_view(browser, board, tmp_path / "r.html")
    rows, said = shown()
    assert rows == [["1", "12", "14", "yes", "33 %", "1", "1"], ["2", "40", "40", "yes", "100 %", "0", "–"]]
    assert said == "Event 1 of 2, from 12 to 14: found, 33 % covered, onset after 1 step."


def test_durations_are_written_as_python_writes_them(browser, tmp_path):
    board_of({"label": LABELS.astype(int), "a": SCORES}, metrics=["auc_roc"]).to_report(tmp_path / "r.html")
    browser.open(tmp_path / "r.html")
    browser.load("clock")
    rng = np.random.default_rng(0)
    lengths = [0, 1, 999, 10**6, 1_500_000_000, 59 * 10**9, 90 * 10**9, 630 * 10**9, 5400 * 10**9, 86_400 * 10**9]
    lengths += [round(10 ** rng.uniform(0, 17)) for _ in range(500)]
    lengths += [seconds * 10**9 for seconds in rng.integers(1, 10**7, 500).tolist()]
    found = browser.evaluate(f"{lengths}.map((length) => clockModule.durationText(length))")
    wrong = [
        (length, text, duration_words(length))
        for length, text in zip(lengths, found, strict=True)
        # Python writes 999.6 ms as 1e+03 ms.
        if text != duration_words(length) and "e+03" not in duration_words(length)
    ]
    assert wrong == []


class TestThreshold:
    @pytest.mark.parametrize(
        ("threshold", "name"),
        [
            ("oracle", "best point F1"),
            ("alarms:1/1d", "alarms:1/1d"),
            ("quantile:0.05", "quantile:0.05"),
            (0.9, "0.9"),
            (7.0, "7.0"),
            ("standard-deviation", "standard-deviation"),
        ],
    )
    def test_it_is_that_of_the_values_above(self, browser, tmp_path, threshold, name):
        columns = {"label": LABELS.astype(int), "a": SCORES, "b": SCORES[::-1].copy(), **dates("h")}
        options = {"early": 5, "delay": 5, "threshold": threshold}
        board = board_of(columns, metrics=["pate_f1", "point_f1"], **options)
        found = series_view(browser, board, tmp_path / "r.html")
        assert found["marks"][0] == name
        flags = pv.evaluate(LABELS, SCORES, metrics=["point_f1"], threshold=threshold, times=columns["time"], chance=0)
        (values,) = flags.by_series
        assert found["flagged"] == values["point_f1"].flagged
        total = found["precision"] + found["recall"]
        f1 = 2 * found["precision"] * found["recall"] / total if total else 0.0
        assert f1 == pytest.approx(board.values[0, 0, 0], abs=1e-12)
        if found["flagged"] == 0:
            assert found["threshold"] == "above every score"

    def test_predictions_and_thresholds_of_single_metrics_are_marked(self, browser, tmp_path):
        flags = (SCORES > 0.9).astype(float)
        columns = {"label": LABELS.astype(int), "a": flags, "b": SCORES}
        board = board_of(columns, metrics=["point_f1", "pate_f1(threshold=best)"], threshold=0.7)
        found = series_view(browser, board, tmp_path / "r.html")
        assert (found["marks"][0], found["flagged"]) == ("its predictions", int(flags.sum()))
        found = series_view(browser, board, tmp_path / "r.html", detector="b")
        assert found["marks"] == ["0.7", "best pate_f1", "best point F1"]
        assert found["flagged"] == int((SCORES >= 0.7).sum())

    def test_where_the_best_flags_every_score_and_some_are_missing(self, browser, tmp_path):
        labels = np.ones(60, dtype=int)
        labels[:3] = 0
        scores = np.linspace(1, 2, 60)[::-1].copy()
        scores[::7] = np.nan
        board = board_of({"label": labels, "a": scores}, metrics=["point_f1", "pate_ap"], missing="normal")
        found = series_view(browser, board, tmp_path / "r.html")
        assert found["flagged"] == np.count_nonzero(~np.isnan(scores))

    @pytest.mark.parametrize("threshold", ["oracle", "quantile:0.1", "standard-deviation"])
    def test_where_no_score_is_there(self, browser, tmp_path, threshold):
        columns = {"label": LABELS.astype(int), "a": np.full(SIZE, np.nan), "b": SCORES}
        board = board_of(columns, metrics=["point_f1", "pate_ap"], missing="normal", threshold=threshold)
        found = series_view(browser, board, tmp_path / "r.html")
        assert (found["flagged"], found["threshold"], found["marks"]) == (0, "above every score", [])

    def test_it_can_stand_above_every_score(self, browser, tmp_path):
        board = board_of({"label": LABELS.astype(int), "a": SCORES}, metrics=["point_f1"], threshold=9.0)
        found = series_view(browser, board, tmp_path / "r.html")
        assert (found["flagged"], found["threshold"]) == (0, "above every score")


class TestAddress:
    @pytest.mark.parametrize("view", ["constructor", "__proto__", "toString", ""])
    def test_a_view_that_is_none_is_the_first(self, browser, tmp_path, view):
        board_of({"label": LABELS.astype(int), "a": SCORES}, metrics=["auc_roc"]).to_report(tmp_path / "r.html")
        browser.logged.clear()
        browser.open(tmp_path / "r.html", f"#{urlencode({'view': view, 'statistic': view, 'metric': view})}")
        assert re.search("is the only detector", browser.evaluate("document.querySelector('main h1').innerText"))
        browser.go(f"#{urlencode({'view': 'table', 'statistic': view})}")
        assert browser.evaluate("document.getElementById('choose-show').value") == "mean"
        assert browser.logged == []

    def test_names_of_every_object_are_names_like_others(self, browser, tmp_path):
        tables = {name: {"label": LABELS.astype(int), name: SCORES} for name in ("constructor", "toString")}
        pv.leaderboard(tables, metrics=["auc_roc"], workers=1, chance=0).to_report(tmp_path / "r.html")
        browser.logged.clear()
        for detector in tables:
            state = {"view": "series", "series": "constructor", "detector": detector}
            browser.open(tmp_path / "r.html", f"#{urlencode(state)}")
            browser.wait("!document.querySelector('main').innerText.includes('Loading …')")
            shown = browser.evaluate("document.querySelector('#drilldown').innerText")
            assert ("native code" in shown) is False
        assert "it has no scores on this series" in shown
        browser.go("#view=table")
        assert browser.logged == []
