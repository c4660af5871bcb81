"""The report in a real browser: it opens with the network off, draws, and gives the numbers Python gives."""

import io
import json
import re
import subprocess
from urllib.parse import urlencode

import numpy as np
import pytest

import pateval as pv
from pateval.demo import demo_board, detector_scores, make_series
from pateval.leaderboards.render import alike_texts
from pateval.output.html import safe_json as as_json
from support.browser import Browser, find_browser

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no browser: install chromium, or name one in PATEVAL_BROWSER"
)

TAGS = ["<script>alert(1)</script>", '"); drop', "</script>", "<img src=x onerror=alert(2)>"]
HOSTILE = [*TAGS, "=1+1", "-2+3", "@sum", "a\x1b]0;b\x07c\x9b\u202ed"]
DRILLDOWN = {"view": "series", "series": "series 2", "detector": "window PCA"}
STATES = (
    "#view=overview",
    "#view=overview&metric=point_adjusted_f1",
    "#view=table&sort=pate&filter=p",
    "#view=compare",
    "#view=metrics",
    "#view=series",
    f"#{urlencode(DRILLDOWN)}",
    f"#{urlencode(DRILLDOWN | {'event': 1, 'level': 0, 'early': 5})}",
    "#view=about",
)


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    page = tmp_path_factory.mktemp("report") / "demo.html"
    demo_board(series=5).to_report(page, title="demo")
    return page


@pytest.fixture
def page(browser, demo):
    """The demo's report, freshly opened; nothing may be logged or asked for while a test looks at it."""
    browser.resize(1280, 900)
    browser.scheme("light")
    browser.logged.clear()
    browser.requests.clear()
    browser.open(demo)
    browser.load("pate", "unpack")
    yield browser
    assert browser.logged == []
    assert left_the_page(browser) == []


class TestMineAgainstTheOthers:
    """A page with a control, with what the lead is worth, and with the kinds of events."""

    @pytest.fixture
    def shown(self, browser, tmp_path):
        board = demo_board(series=8)
        control = board.best_first(board.rank_by)[1]
        path = tmp_path / "control.html"
        board.against(control).to_report(path, by="length")
        browser.logged.clear()
        browser.open(path)
        yield browser, board.against(control), control
        assert browser.logged == []

    def test_the_first_view(self, shown):
        browser, board, control = shown
        said = browser.evaluate("document.querySelector('main').innerText")
        told = board_of(browser)["verdicts"][board.rank_by]
        assert told["evidence"].startswith(f"{control} is told apart from")
        for sentence in (told["evidence"], told["power"], f"all are compared with {control} alone"):
            assert sentence in said
        kinds = board.by_kind()
        for row in kinds.rows:
            assert row.kind in said
            assert f"{row.value:.3f}" in said

    def test_metrics_and_pairs(self, shown):
        browser, board, control = shown
        browser.evaluate("location.hash = '#view=metrics'")
        browser.wait("document.querySelector('main').innerText.includes('A bar joins')")
        others = [name for name in board.detectors if name != control]
        pair = urlencode({"view": "compare", "a": others[0], "b": others[1]})
        browser.evaluate(f"location.hash = '#{pair}'")
        browser.wait(f"document.querySelector('main').innerText.includes('all are compared with {control} alone')")


def left_the_page(browser):
    return [url for url in browser.requests if not url.startswith(("data:", "blob:", "file:", "about:"))]


def board_of(browser):
    """The block of the page that every view needs."""
    return browser.evaluate("JSON.parse(document.getElementById('board').textContent)")


def text(browser, selector):
    return browser.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText")


def enter(browser, name, value):
    """Give a field a value, as typing or sliding does."""
    browser.evaluate(
        f"(() => {{ const field = document.getElementById('{name}'); field.value = {json.dumps(value)}; "
        "field.dispatchEvent(new Event('input')); })()"
    )
    browser.frame()


def texts(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.innerText)")


def colours(browser, selector):
    """How many distinct colours an element has on the screen."""
    matplotlib_image = pytest.importorskip("matplotlib.image")
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
    browser.frame()
    box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
    left, top, width, height = browser.evaluate(f"((box) => [box.x, box.y, box.width, box.height])({box})")
    picture = (matplotlib_image.imread(io.BytesIO(browser.screenshot())) * 255).astype(int)
    part = picture[int(max(top, 0)) : int(top + height), int(left) : int(left + width), :3]
    return len(np.unique(part.reshape(-1, 3), axis=0))


class TestOpens:
    @pytest.mark.parametrize("state", STATES)
    def test_every_state_without_a_complaint(self, page, state):
        page.go(state)
        page.wait("!document.querySelector('main').innerText.includes('Loading …')")
        assert text(page, "main h1")

    def test_the_first_screen_says_who_wins_and_what_chance_gets(self, page):
        board = board_of(page)
        found = board["verdicts"]["pate_ap"]
        assert text(page, "main h1") == found["claim"]
        assert text(page, ".evidence") == found["evidence"]
        assert "random scores reach" in text(page, "main")
        assert {check["code"] for check in board["checks"]} <= set(texts(page, ".checks code"))

    def test_the_shaded_rows_are_those_not_told_apart_wherever_they_stand(self, page, demo, tmp_path):
        names = page.evaluate(
            "[...document.querySelectorAll('.chart a.item text.row')].map((each) => each.textContent)"
        )
        text = demo.read_text(encoding="utf-8")
        found = board_of(page)["verdicts"]["pate_ap"]
        other = found | {"tied": [names[2]]}
        assert as_json(found) in text
        (tmp_path / "other.html").write_text(text.replace(as_json(found), as_json(other)), encoding="utf-8")
        page.open(tmp_path / "other.html")
        box = "(each) => { const { top, bottom } = each.getBoundingClientRect(); return [top, bottom]; }"
        shaded = page.evaluate(f"[...document.querySelectorAll('rect.tied')].map({box})")
        dots = page.evaluate(f"[...document.querySelectorAll('.chart a.item circle')].map({box})")
        inside = [any(top <= low and high <= bottom for top, bottom in shaded) for low, high in dots]
        assert inside == [number in (0, 2) for number in range(len(names))]

    def test_many_detectors_are_a_matrix(self, browser, tmp_path):
        chance = np.random.default_rng(0)
        names = [f"detector {number}" for number in range(40)]
        labels = np.tile(np.repeat([0, 1, 0], [40, 10, 50]), 3)
        made = {
            f"s{number}": {"label": labels}
            | {name: labels + (0.5 + place / 8) * chance.normal(size=300) for place, name in enumerate(names)}
            for number in range(30)
        }
        board = pv.leaderboard(made, metrics=["auc_roc"], chance=0, workers=1)
        board.to_report(tmp_path / "many.html")
        browser.open(tmp_path / "many.html")
        found = board.significance()
        assert len(set(alike_texts(found).values())) > 20
        for view in ("#view=overview", "#view=metrics"):
            browser.go(view)
            browser.wait("document.querySelectorAll('rect.told-apart').length === 40")
            titles = browser.evaluate(
                "[...document.querySelectorAll('rect.not-told-apart title')].map((each) => each.textContent)"
            )
            expected = {
                f"{name} is not told apart from place{'s' if '-' in part else ''} {part.replace('-', ' to ')}"
                for name, text in alike_texts(found).items()
                for part in text.split(",")
            }
            assert set(titles) == expected
        browser.go("#view=table")
        cells = browser.evaluate(
            "[...document.querySelectorAll('table.board tbody tr')].map((row) => row.cells[2].innerText)"
        )
        assert cells == list(alike_texts(found).values())
        assert browser.logged == []

    def test_charts_are_drawn(self, page):
        assert colours(page, "svg.chart") > 20
        page.go(f"#{urlencode(DRILLDOWN)}")
        page.wait("document.querySelector('canvas.timeline')?.width > 500")
        page.frame()
        assert colours(page, "canvas.timeline") > 20
        assert colours(page, "svg.square") > 10


class TestTable:
    def test_sorts_by_the_column_that_is_clicked(self, page):
        page.go("#view=table")
        summary = board_of(page)["summary"]["auc_roc"]["mean"]
        names = board_of(page)["detectors"]
        best_first = [names[d] for d in np.argsort(-np.array(summary), kind="stable")]
        page.evaluate("[...document.querySelectorAll('button.sort')].find((b) => b.dataset.key === 'auc_roc').click()")
        assert [each.split("\n")[0].strip(" †") for each in texts(page, "tbody th")] == best_first
        assert page.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "descending"
        page.evaluate("[...document.querySelectorAll('button.sort')].find((b) => b.dataset.key === 'auc_roc').click()")
        assert page.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "ascending"

    def test_filters_and_keeps_the_state_in_the_address(self, page, demo):
        page.go("#view=table")
        enter(page, "filter", "RAND")
        assert [each.strip(" †") for each in texts(page, "tbody th")] == ["random"]
        page.wait("location.hash.includes('RAND')")
        address = page.evaluate("location.hash")
        page.open(demo, address)
        assert [each.strip(" †") for each in texts(page, "tbody th")] == ["random"]

    def test_explains_a_metric_on_focus(self, page):
        page.go("#view=table")
        page.evaluate("[...document.querySelectorAll('button.sort')].find((b) => b.dataset.key === 'pate').focus()")
        assert not page.evaluate("document.getElementById('tip').hidden")
        assert "Can be fooled" in text(page, "#tip")
        page.key("Escape")
        assert page.evaluate("document.getElementById('tip').hidden")

    def test_downloads_hold_what_is_shown(self, page, tmp_path):
        page.downloads(tmp_path)
        page.go("#view=table&filter=pca")
        board = board_of(page)
        expected = board["summary"]["pate_ap"]["mean"][board["detectors"].index("window PCA")]
        for suffix in ("csv", "md", "tex", "json"):
            page.download(f"document.querySelector('[data-format={suffix}]').click()")
            content = (tmp_path / f"leaderboard.{suffix}").read_text(encoding="utf-8")
            assert "window PCA" in content
            assert "random" not in content
            if suffix == "json":
                assert json.loads(content)[0]["pate_ap"] == expected
            if suffix == "csv":
                header, row = (line.split(",") for line in content.splitlines())
                assert float(row[header.index("pate_ap")]) == expected


class TestCompare:
    def test_counts_wins_ties_and_losses(self, page):
        page.go(f"#{urlencode({'view': 'compare', 'a': 'window PCA', 'b': 'random', 'metric': 'pate_ap'})}")
        page.wait("document.querySelector('.big')")
        place = [metric["id"] for metric in board_of(page)["metrics"]].index("pate_ap")
        values = page.evaluate(f"unpackModule.loadBlock('metric-{place}').then((block) => block.values)")
        names = board_of(page)["detectors"]
        gains = np.array(values[names.index("window PCA")]) - np.array(values[names.index("random")])
        said = [
            int(number)
            for number in re.findall(r"on (\d+)|and loses on (\d+)", text(page, ".big"))
            for number in number
            if number
        ]
        assert said[:3] == [int((gains > 0).sum()), int((gains == 0).sum()), int((gains < 0).sum())]
        shown = [float(each.replace("−", "-")) for each in texts(page, ".differences td:nth-child(4)")]
        assert shown == sorted(shown, reverse=True)


class TestDrilldown:
    def test_two_hundred_slider_positions_give_what_python_gives(self, page):
        rng = np.random.default_rng(0)
        truth = [make_series(number) for number in range(5)]
        scores = [detector_scores(sample, 1000 + number) for number, sample in enumerate(truth)]
        names = [name for name in scores[0] if name != "perfect"]
        asked = []
        for _ in range(200):
            s, name = int(rng.integers(5)), names[rng.integers(len(names))]
            asked.append([s, name, float(rng.random()), int(rng.integers(0, 120)), int(rng.integers(0, 120))])
        found = page.evaluate(
            """(async (asked) => {
                 const answers = [];
                 for (const [s, name, share, early, delay] of asked) {
                   const block = await unpackModule.loadBlock(`series-${s}`), entry = block.detectors[name][0];
                   const ranks = await unpackModule.unpack(entry.ranks), levels = entry.thresholds.length;
                   const level = Math.floor(share * levels), flagged = pateModule.flaggedCounts(ranks, levels);
                   const zones = pateModule.findZones(block.events, block.steps, early, delay);
                   const map = pateModule.mapSteps(zones, block.steps);
                   const result = pateModule.explainLevel(zones, ranks, level, flagged[level]);
                   const points = pateModule.curve(zones, ranks, levels, flagged);
                   const point = points.find((each) => each.level === level);
                   const codes = Array.from(ranks, (rank, step) => pateModule.categoryOf(map.kinds[step],
                     map.owners[step] >= 0 && result.events[map.owners[step]].detected, rank > level));
                   answers.push({ threshold: entry.thresholds[level], ...result, point, codes: codes.join("") });
                 }
                 return answers;
               })("""
            + json.dumps(asked)
            + ")"
        )
        for (s, name, _, early, delay), answer in zip(asked, found, strict=True):
            flagged = scores[s][name] >= answer["threshold"]
            expected = pv.explain(truth[s].labels, flagged, early=early, delay=delay)
            assert answer["codes"] == "".join(map(str, expected.points.codes.tolist()))
            for mine, theirs in (("tp", "true_positive"), ("fp", "false_positive"), ("fn", "false_negative")):
                assert answer[mine] == pytest.approx(getattr(expected, theirs), abs=1e-8)
            for figure in ("precision", "recall", "f1"):
                assert answer[figure] == pytest.approx(getattr(expected, figure), abs=1e-11)
                assert answer["point"][figure] == pytest.approx(getattr(expected, figure), abs=1e-11)
            assert answer["categories"] == np.bincount(expected.points.codes, minlength=7).tolist()
            for mine, theirs in zip(answer["events"], expected.events, strict=True):
                assert (mine["detected"], mine["onset"], mine["earliest"]) == (
                    theirs.detected,
                    None if theirs.onset_delay is None else theirs.start + theirs.onset_delay,
                    None if theirs.early_lead is None else theirs.start - theirs.early_lead,
                )
                assert mine["fn"] == pytest.approx(theirs.false_negative, abs=1e-9)

    def test_zones_on_a_clock_with_holes_and_ignored_steps(self, page):
        from pateval.time.timelines import read_scores

        rng = np.random.default_rng(1)
        asked, expected = [], []
        for case in range(60):
            size = int(rng.integers(12, 60))
            labels = rng.random(size) < rng.choice([0.1, 0.3])
            labels[rng.integers(size)] = True
            flagged = rng.random(size) < 0.4
            ignore = rng.random(size) < (0.2 if case % 2 else 0.0)
            ignore[np.flatnonzero(labels)[0]] = False
            times = np.cumsum(rng.integers(1, 9, size)).astype(float)
            clock = {"times": times, "time_unit": "s"} | ({"max_gap": "6s"} if case % 3 == 0 else {})
            in_time = case % 4 > 1
            early, delay = (int(each) for each in rng.integers(0, 15, 2))
            buffers = {"early": f"{early}s", "delay": f"{delay}s"} if in_time else {"early": early, "delay": delay}
            truth, kept, timeline = read_scores(labels, flagged.astype(float), ignore=ignore, **clock)
            events = timeline.events(truth)
            positions = timeline.step_numbers if timeline.step_numbers is not None else np.arange(size)
            asked.append(
                {
                    "events": np.stack([events.starts, events.stops], axis=1).tolist(),
                    "ranks": (kept + 1).astype(int).tolist(),
                    "early": early,
                    "delay": delay,
                    "clock": (times[positions] if in_time else positions).tolist(),
                    "positions": positions.tolist(),
                    "breaks": timeline.stretches[1:].tolist(),
                }
            )
            expected.append(pv.explain(labels, flagged, ignore=ignore, **buffers, **clock))
        found = page.evaluate(
            f"""{json.dumps(asked)}.map((each) => {{
                 const clock = {{ times: each.clock, breaks: each.breaks }};
                 const zones = pateModule.findZones(each.events, each.ranks.length, each.early, each.delay, clock);
                 const flagged = each.ranks.filter((rank) => rank > 1).length;
                 return pateModule.explainLevel(zones, each.ranks, 1, flagged);
               }})"""
        )
        for given, answer, theirs in zip(asked, found, expected, strict=True):
            assert answer["precision"] == pytest.approx(theirs.precision, abs=1e-12)
            assert answer["recall"] == pytest.approx(theirs.recall, abs=1e-12)
            assert answer["categories"] == np.bincount(theirs.points.codes, minlength=7).tolist()
            numbers = given["positions"]
            # Steps that are left out lie between, and count in how far ahead an event was announced.
            leads = [
                None if row["earliest"] is None else numbers[row["start"]] - numbers[row["earliest"]]
                for row in answer["events"]
            ]
            assert leads == [event.early_lead for event in theirs.events]

    def test_the_slider_moves_categories_and_the_point(self, page):
        page.go(f"#{urlencode(DRILLDOWN)}")
        page.wait("document.getElementById('level')")
        sample = make_series(1)
        scores = detector_scores(sample, 1001)["window PCA"]
        for level in (100, 400):
            enter(page, "level", level)
            threshold = page.evaluate(
                f"unpackModule.loadBlock('series-1').then((b) => b.detectors['window PCA'][0].thresholds[{level}])"
            )
            expected = pv.explain(sample.labels, scores >= threshold, early=24, delay=24)
            assert text(page, "output.threshold") == f"score ≥ {threshold}"
            point = page.evaluate("({...document.querySelector('.point').dataset})")
            assert float(point["precision"]) == pytest.approx(expected.precision, abs=1e-12)
            assert float(point["recall"]) == pytest.approx(expected.recall, abs=1e-12)
            shown = dict(re.match(r"(.*?)\s+([\d,]+)$", line).groups() for line in texts(page, ".legend li"))
            counts = np.bincount(expected.points.codes, minlength=7)
            assert int(shown["outside"].replace(",", "")) == counts[4]
            assert int(shown["true detection"].replace(",", "")) == counts[1]
        page.wait("location.hash.includes('level=400')")

    def test_a_link_shows_what_its_sender_saw(self, page, demo):
        page.go(f"#{urlencode(DRILLDOWN | {'level': 300, 'early': 7, 'delay': 9, 'event': 2, 'from': 400, 'to': 900})}")
        page.wait("document.getElementById('level')")
        seen = text(page, ".sums"), text(page, "tr.chosen"), page.evaluate("location.hash")
        page.open(demo, seen[2])
        page.wait("document.getElementById('level')")
        assert (text(page, ".sums"), text(page, "tr.chosen")) == seen[:2]
        assert page.evaluate("[document.getElementById('early').value, document.getElementById('delay').value]") == [
            "7",
            "9",
        ]

    def test_keys_step_through_events_and_zoom(self, page):
        page.go(f"#{urlencode(DRILLDOWN)}")
        page.wait("document.querySelector('canvas.timeline')")
        page.evaluate("document.querySelector('canvas.timeline').focus()")
        page.key("n")
        assert text(page, "#said").startswith("Event 1 of 5")
        page.key("n")
        assert text(page, "#said").startswith("Event 2 of 5")
        page.wait("location.hash.includes('from=')")
        page.key("0")
        page.wait("!location.hash.includes('from=')")
        page.key("+")
        page.wait("location.hash.includes('from=')")


class TestLooks:
    @pytest.mark.parametrize("state", STATES)
    def test_nothing_sticks_out_at_390_pixels(self, page, state):
        page.resize(390, 800, mobile=True)
        page.go(state)
        page.wait("!document.querySelector('main').innerText.includes('Loading …')")
        page.frame()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    def test_dark_is_dark(self, page):
        page.scheme("dark")
        page.frame()
        ink, paper = page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
        assert sum(map(int, re.findall(r"\d+", ink)[:3])) > 600
        assert sum(map(int, re.findall(r"\d+", paper)[:3])) < 120

    def test_on_paper_there_are_no_controls(self, page):
        page.media("print")
        page.frame()
        assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
        page.media("")


ODD = {
    "a single detector": {"label": np.arange(60) > 50, "a": np.arange(60.0)},
    "no anomaly": {"label": np.zeros(60), "a": np.arange(60.0), "b": np.ones(60)},
    "nothing but anomalies": {"label": np.ones(60), "a": np.arange(60.0), "b": np.ones(60)},
    "one step": {"label": [1], "a": [0.0], "b": [1.0]},
    "extreme scores": {"label": np.arange(60) > 50, "a": np.arange(60) * 1e300, "b": np.arange(60) * 1e-300},
    "gaps in the values": {"label": np.arange(60) > 50, "a": np.arange(60.0), "value": np.full(60, np.nan)},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_boards_open_in_every_view(browser, tmp_path, name):
    scores = [column for column in ODD[name] if column in ("a", "b")]
    board = pv.leaderboard({"s": ODD[name]}, score=scores, metrics=["pate_ap", "auc_roc"], workers=1, event_draws=0)
    board.to_report(tmp_path / "r.html")
    browser.resize(1280, 900)
    browser.logged.clear()
    browser.open(tmp_path / "r.html")
    opened = urlencode({"series": board.series[0], "detector": board.detectors[0]})
    for view in ("overview", "table", "compare", "metrics", "series", "about", f"series&{opened}"):
        browser.go(f"#view={view}")
        browser.wait("!document.querySelector('main').innerText.includes('Loading …')")
    browser.evaluate("document.querySelector('canvas.timeline').focus()")
    for key in "+n-p0":
        browser.key(key)
    enter(browser, "level", 0)
    assert browser.logged == []


def test_a_pooled_board_opens_in_every_view_and_claims_no_test(browser, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(100) > 80
    tables = {f"s{k}": {"label": labels, "a": labels + rng.random(100), "b": rng.random(100)} for k in range(3)}
    board = pv.leaderboard(tables, metrics=["pate_ap", "point_f1"], workers=1, pooled=True, chance=0)
    board.to_report(tmp_path / "r.html")
    browser.logged.clear()
    browser.open(tmp_path / "r.html")
    assert text(browser, "#size") == "2 detectors · 3 series as one · 2 metrics"
    assert "All steps of 3 series are one sample." in text(browser, "main")
    assert "told apart" not in text(browser, "main")
    for view in ("table", "compare", "metrics", "series", "about", f"series&{urlencode({'series': board.series[0]})}"):
        browser.go(f"#view={view}")
        browser.wait("!document.querySelector('main').innerText.includes('Loading …')")
    assert "all series were taken for one sample" in text(browser, "#drilldown")
    assert browser.logged == []


class TestHostileNames:
    def test_they_are_text(self, browser, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.arange(300) % 60 > 50
        tables = {name: {"label": labels, **{other: rng.random(300) for other in HOSTILE}} for name in HOSTILE}
        pv.leaderboard(tables, metrics=["pate_ap", "auc_roc"], workers=1, chance=0).to_report(
            tmp_path / "r.html", title="</title><script>alert(3)</script>"
        )
        browser.resize(1280, 900)
        browser.scheme("light")
        browser.logged.clear()
        browser.downloads(tmp_path)
        browser.open(tmp_path / "r.html")
        browser.evaluate("window.alert = () => { window.hit = true; }")
        for name in HOSTILE:
            for state in (
                {"view": "table"},
                {"view": "compare", "a": name},
                {"view": "series", "series": name, "detector": name},
            ):
                browser.go(f"#{urlencode(state)}")
                browser.frame()
            browser.wait("document.getElementById('level')")
            assert text(browser, "main h1") == f"{name} on {name}"
        assert browser.evaluate("document.querySelectorAll('main script, main img').length") == 0
        browser.go("#view=table")
        browser.download("document.querySelector('[data-format=csv]').click()")
        browser.download("document.querySelector('[data-format=md]').click()")
        lines = (tmp_path / "leaderboard.csv").read_text(encoding="utf-8").splitlines()
        assert {"'=1+1", "'-2+3", "'@sum"} <= {line.split(",")[0] for line in lines}
        assert "<script>" not in (tmp_path / "leaderboard.md").read_text(encoding="utf-8")
        for suffix in ("csv", "md"):
            written = (tmp_path / f"leaderboard.{suffix}").read_text(encoding="utf-8")
            assert "\\x1b" in written
            assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", written)
        assert browser.evaluate("window.hit") is None
        assert browser.logged == []


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("axe")
    try:
        done = subprocess.run(
            [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--fetch-retries=0",
                "--prefix",
                folder,
                "axe-core@4",
            ],
            capture_output=True,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        done = None
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done is None or not script.exists():
        pytest.skip("axe-core is not to be had: it comes from npm")
    return script.read_text(encoding="utf-8")


class TestAccessibility:
    @pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
    def test_no_serious_violation_in_any_state(self, page, axe, scheme, width):
        page.scheme(scheme)
        page.resize(width, 900, mobile=width < 500)
        page.evaluate(axe)
        violations = {}
        for state in STATES:
            page.go(state)
            page.wait("!document.querySelector('main').innerText.includes('Loading …')")
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            page.frame()
            found = page.evaluate(
                "axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations"
                ".filter((each) => ['serious', 'critical'].includes(each.impact))"
                ".map((each) => [each.id, each.nodes.slice(0, 3).map((node) => [node.html.slice(0, 160), "
                "node.failureSummary])]))"
            )
            violations |= {state: found} if found else {}
        assert violations == {}


class TestFolderOnDisk:
    def test_it_opens_without_a_server(self, browser, tmp_path):
        demo_board(series=2).to_report(f"{tmp_path}/site/")
        browser.resize(1280, 900)
        browser.logged.clear()
        browser.requests.clear()
        browser.open(tmp_path / "site" / "index.html", f"#{urlencode(DRILLDOWN)}")
        browser.wait("document.getElementById('level')")
        assert any(url.endswith("data/series-1.js") for url in browser.requests)
        assert left_the_page(browser) == []
        assert browser.logged == []
