"""The page about alarms, in a real browser: it says what Python says, at every threshold."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import pateval as pv
from pateval.alarms.judgement import AlarmTable
from pateval.alarms.page import page_data, write_page
from support.browser import Browser, find_browser
from support.command_line import console
from support.plant import write_plant

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
DRAWN = "document.querySelector('#incidents thead')"
needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="no browser: install chromium, or name one in PATEVAL_BROWSER"
)


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


@pytest.fixture
def page(browser, tmp_path):
    """Open a page; nothing may be logged or asked for while a test looks at it."""

    def opened(table, sliders=()):
        path = tmp_path / "page.html"
        write_page(table, path, sliders=sliders)
        browser.logged.clear()
        browser.requests.clear()
        browser.open(path, ready=DRAWN)
        return browser

    yield opened
    assert browser.logged == []
    assert [url for url in browser.requests if not url.startswith(("data:", "file:", "about:"))] == []


def text(browser, selector):
    return browser.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent")


def frontier_of(seed, **options):
    rng = np.random.default_rng(seed)
    times = np.datetime64("2026-03-01T00:00:00.5", "ms") + np.cumsum(rng.integers(30, 900, 400)).astype(
        "timedelta64[s]"
    )
    labels = np.convolve(rng.random(400) < 0.02, np.ones(6), "same") > 0
    scores = np.round(rng.normal(size=400) + labels, 2)
    names = np.repeat(["a", "b"], [250, 150])
    return pv.alarm_frontier(labels, scores, times=times, series=names, ignore=rng.random(400) < 0.1, **options)


@needs_browser
@pytest.mark.parametrize(
    "policy",
    [{}, {"early": "30min", "delay": "5min", "merge": "20min"}, {"early": "1h", "cooldown": "2h", "max_gap": "10min"}],
    ids=["plain", "merge", "cooldown"],
)
def test_the_slider_says_what_python_says_at_every_threshold(page, policy):
    frontier = frontier_of(0, budgets=["1/1d", "20/1d"], **policy)
    start = next(level for level in frontier.thresholds.values() if level is not None)
    browser = page(AlarmTable((frontier.judge(start),)), [(frontier, start)])
    assert text(browser, "h1") == frontier.judge(start).sentence()
    levels = frontier.steps.thresholds
    ranks = set()
    for move in [*(f"level.value = {position}" for position in range(0, 1001, 40)), *["lower.click()"] * 3]:
        browser.evaluate(f"(() => {{ {move}; }})()")
        if move.startswith("level"):
            browser.evaluate("level.dispatchEvent(new Event('input'))")
        rank = browser.evaluate("state.rank")
        ranks.add(rank)
        judged = frontier.judge(levels[rank] if rank < levels.size else math.inf)
        assert text(browser, "h1") == judged.sentence()
        counts = browser.evaluate("figures(judged())")
        assert [counts[name] for name in ("found", "first", "repeat", "false")] == [
            *(judged.found, judged.first, judged.repeat, judged.false)
        ]
        assert browser.evaluate("judged().inAlarm") == pytest.approx(judged.share_in_alarm)
        low, high = browser.evaluate("judged().limits")
        assert (low, high) == pytest.approx(judged.false_rate_limits)
    assert {frontier.steps.lowest_candidate, levels.size, levels.size - 3} <= ranks
    assert len(ranks) > 20


@needs_browser
def test_alarm_files_with_hostile_names_are_text(page):
    alarms = {
        "time": ["2026-03-01T04:00", "2026-03-05T10:00"],
        "series": [HOSTILE] * 2,
        "detector": [HOSTILE] * 2,
    }
    incidents = {
        "start": ["2026-03-01T04:10", "2026-03-03T08:00"],
        "stop": ["2026-03-01T05:00", "2026-03-03T09:30"],
        "series": [HOSTILE] * 2,
        "kind": [HOSTILE] * 2,
    }
    table = pv.judge_alarm_files(alarms, incidents, early="30min", period=[("2026-03-01", "2026-03-08")])
    browser = page(table)
    assert text(browser, "h1") == table.judgements[0].sentence()
    rows = browser.evaluate(
        "[...document.querySelectorAll('#incidents tbody tr')].map((row) => row.innerText.split('\\t'))"
    )
    assert [row[:4] for row in rows] == [
        ["missed", "2026-03-03 08:00", "1 h 30 min", "–"],
        ["found", "2026-03-01 04:10", "50 min", "10 min early"],
    ]
    assert rows[0][4] == HOSTILE
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    before = text(browser, "#shown")
    browser.evaluate("document.querySelector('#incidents tbody tr').click()")
    assert text(browser, "#shown") != before
    assert "2026-03-03" in text(browser, "#shown")
    assert browser.evaluate("document.querySelectorAll('svg.lane .missed').length") == 1
    assert text(browser, "#incidents .chosen td") == "missed"
    near = text(browser, "#shown")
    browser.evaluate("document.getElementById('farther').click()")
    assert text(browser, "#shown") != near
    assert "03-03" in text(browser, ".axis")
    browser.evaluate("document.getElementById('whole').click()")
    assert text(browser, "#shown") == before
    assert text(browser, "#incidents .chosen td") is None
    assert text(browser, "#rules") == (
        "an alarm belongs to an incident from 30 min before its start to its end; observed: 7 d."
    )


@needs_browser
def test_two_detectors_stand_side_by_side_with_their_tests(page):
    table = pv.judge_alarm_files(
        [{"time": [3, 40], "detector": [HOSTILE] * 2}, {"time": [60, 90], "detector": ["other"] * 2}],
        [(2, 5), (59, 61)],
        period=[(0, 100)],
    )
    browser = page(table)
    shown = browser.evaluate(
        "[...document.querySelectorAll('#tables table')].map((table) => "
        "[...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
    )
    tables = [table.table(), table.difference.table(table.judgements[0].clock)]
    assert shown == [[columns, *rows] for columns, rows in tables]
    browser.evaluate("(() => { detector.value = 1; detector.dispatchEvent(new Event('change')); })()")
    assert text(browser, "h1") == table.judgements[1].sentence()


@needs_browser
def test_the_plant_from_the_command_line(browser, tmp_path, monkeypatch):
    write_plant(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = ("--incidents", "stoerungen.csv", "--early", "30min", "--merge", "15min", "--max-gap", "1h")
    printed = console("alarms", "werte.csv", *options, "--budget", "1/1d", "--report", "page.html")
    browser.open(tmp_path / "page.html", ready=DRAWN)
    assert " ".join(printed.out.split()).endswith(text(browser, "h1"))
    assert text(browser, "button.budget") == "1 false alarm per day"


def test_what_is_packed_is_exact_to_the_nanosecond():
    base = np.datetime64("2026-03-01", "ns")
    moments = base + np.array([1, 5 * 10**9], dtype="timedelta64[ns]")
    judged = pv.judge_alarms(moments, [moments[0]])
    data = page_data(AlarmTable((judged,)))
    assert data["clock"] == {"origin": 1772323200000.0, "nanoseconds": 1}
    assert data["detectors"][0]["series"][0]["alarms"] == [[1, 1], [5 * 10**9, 5 * 10**9]]
