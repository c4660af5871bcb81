"""The report at its limits, in a real browser: NAB with all metrics, a million steps, thousands of series."""

import time
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.report import report_of_folder
from support.browser import Browser, find_browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="no browser: install chromium, or name one in PATEVAL_BROWSER"),
]


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


def look_around(browser):
    """Zoom and pan as a user does, and return how long the slowest drawing and the longest stall took, in ms."""
    browser.wait("document.querySelector('canvas.timeline')?.width > 300")
    browser.frame()
    browser.evaluate(
        "(() => { window.stalls = []; new PerformanceObserver((list) => list.getEntries().forEach((each) =>"
        " stalls.push(each.duration))).observe({ entryTypes: ['longtask'] }); window.drawn = [];"
        # The page draws in animation frames only.
        " const before = requestAnimationFrame; window.requestAnimationFrame = (draw) => before((now) => {"
        " const started = performance.now(); draw(now); drawn.push(performance.now() - started); });"
        " document.querySelector('canvas.timeline').focus(); })()"
    )
    for key in ("+", "+", "+", "+", "ArrowRight", "ArrowRight", "-", "-", "+", "+", "+", "+", "+", "+", "0", "n", "n"):
        browser.key(key)
    browser.evaluate("document.querySelector('canvas.timeline').scrollIntoView({ block: 'center' })")
    box = "document.querySelector('canvas.timeline').getBoundingClientRect()"
    x, y = browser.evaluate(f"((box) => [box.x + box.width / 2, box.y + 60])({box})")
    for delta in (-200, -200, 200, 400):
        browser.wheel(x, y, delta)
        browser.frame()
    return max(browser.evaluate("drawn")), max(browser.evaluate("stalls"), default=0.0)


def test_nab(browser, nab, tmp_path):
    files = sorted(nab.glob("*.parquet"))
    pv.leaderboard(files, output=tmp_path / "board", workers=2)
    started = time.perf_counter()
    written = report_of_folder(tmp_path / "board", tmp_path / "nab.html")
    made = time.perf_counter() - started
    browser.logged.clear()
    browser.requests.clear()
    opened = browser.open(tmp_path / "nab.html")
    browser.load("unpack")
    board = browser.evaluate("unpackModule.board")
    print(f"\nNAB: {written.size / 1e6:.1f} MB, made in {made:.1f} s, interactive after {opened:.2f} s")
    assert (len(board["detectors"]), written.shown) == (16, 58)
    assert written.size <= 12_000_000
    state = {"view": "series", "series": "realKnownCause/nyc_taxi.csv", "detector": "numenta"}
    browser.go(f"#{urlencode(state)}")
    slowest, stall = look_around(browser)
    print(f"NAB: slowest drawing {slowest:.1f} ms, longest stall {stall:.0f} ms")
    rows = pq.read_table(tmp_path / "board" / "scores.parquet", columns=["detector", "series", "metric", "value"])
    expected = {}
    for row in rows.to_pylist():
        expected.setdefault(row["metric"], {})[row["detector"], row["series"]] = row["value"]
    for place, metric in enumerate(board["metrics"]):
        values = browser.evaluate(f"unpackModule.loadBlock('metric-{place}').then((block) => block.values)")
        for (detector, series), value in expected[metric["id"]].items():
            shown = values[board["detectors"].index(detector)][board["series"].index(series)]
            assert shown == value or (shown is None and (value is None or np.isnan(value)))
    for view in ("overview", "table", "compare", "metrics", "series", "about"):
        browser.go(f"#view={view}")
        browser.wait("!document.querySelector('main').innerText.includes('Loading …')")
    assert browser.logged == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_million_steps_and_five_detectors(browser, tmp_path):
    rng = np.random.default_rng(0)
    size = 1_000_000
    labels = np.zeros(size, dtype=bool)
    for start in rng.integers(1000, size - 1000, 200):
        labels[start : start + 250] = True
    value = np.sin(np.arange(size) / 300) + rng.normal(0, 0.1, size)
    columns = {"label": labels, "value": value}
    columns |= {f"detector {k}": rng.random(size) + labels * k / 5 for k in range(5)}
    board = pv.leaderboard(
        {"long": columns}, score=list(columns)[2:], metrics=["pate_ap", "auc_roc"], workers=1, chance=1, event_draws=0
    )
    written = board.to_report(tmp_path / "long.html")
    browser.logged.clear()
    opened = browser.open(tmp_path / "long.html")
    started = time.perf_counter()
    browser.go(f"#{urlencode({'view': 'series', 'series': 'long', 'detector': 'detector 3'})}")
    browser.wait("document.querySelector('canvas.timeline')?.width > 300")
    drilled = time.perf_counter() - started
    slowest, stall = look_around(browser)
    print(
        f"\na million steps: {written.size / 1e6:.1f} MB, interactive after {opened:.2f} s, "
        f"drill-down after {drilled:.2f} s, slowest drawing {slowest:.1f} ms, longest stall {stall:.0f} ms"
    )
    assert written.left_out == ()
    assert browser.logged == []


def test_two_thousand_series_and_twenty_detectors_as_a_folder(browser, tmp_path):
    rng = np.random.default_rng(0)
    series, steps, names = 2000, 300, [f"detector {k}" for k in range(20)]
    labels = np.zeros((series, steps), dtype=np.uint8)
    for row, start in enumerate(rng.integers(20, 250, series)):
        labels[row, start : start + 20] = 1
    for k, name in enumerate(names):
        scores = (rng.random((series, steps)) + labels * k / 20).astype(np.float32)
        table = {
            "series": np.repeat([f"machine {number}" for number in range(series)], steps),
            "label": labels.ravel(),
            "score": scores.ravel(),
        }
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    board = pv.leaderboard(sorted(tmp_path.glob("*.parquet")), metrics=["auc_roc"], workers=2, chance=0)
    started = time.perf_counter()
    written = board.to_report(f"{tmp_path}/site/")
    made = time.perf_counter() - started
    browser.logged.clear()
    opened = browser.open(tmp_path / "site" / "index.html")
    browser.go("#view=series")
    browser.wait("document.querySelectorAll('.matrix tbody tr').length > 50")
    browser.go(f"#{urlencode({'view': 'series', 'series': 'machine 1234', 'detector': 'detector 7'})}")
    slowest, stall = look_around(browser)
    page = written.path.stat().st_size
    print(
        f"\n2,000 series x 20: {written.size / 1e6:.1f} MB in all, the page {page / 1e6:.1f} MB, made in {made:.1f} s, "
        f"interactive after {opened:.2f} s, slowest drawing {slowest:.1f} ms, longest stall {stall:.0f} ms"
    )
    assert written.shown == series
    browser.go("#view=compare")
    browser.wait("document.querySelector('.differences')")
    assert browser.logged == []
