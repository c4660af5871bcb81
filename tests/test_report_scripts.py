"""The report's scripts against Python: 60 made reports of every shape and clock, at many thresholds and buffers."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import pateval as pv
from pateval.time.clocks import nanoseconds
from support.browser import Browser, find_browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="no browser: install chromium, or name one in PATEVAL_BROWSER"),
    pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning"),
]

REPORTS, LEVELS, BUFFERS = 60, 6, 3
FIRST = np.datetime64("2024-02-28T22:58:07.123456789")
CATEGORIES = ("true detection", "early", "delayed", "outside", "partly missed", "totally missed")

# Everything that the page computes of a series with a detector at some levels and buffers.
COMPUTE = """
(async (wanted) => {
  const board = JSON.parse(document.getElementById("board").textContent), found = [];
  for (const { series, detector, early, delay, share } of wanted) {
    const block = await unpackModule.loadBlock(`series-${board.series.indexOf(series)}`);
    const entry = block?.detectors[detector][0] ?? { missing: "none of the detectors can be shown here" };
    if (entry.missing) { found.push({ missing: entry.missing }); continue; }
    const level = Math.round(share * entry.thresholds.length);
    const view = await drilldownModule.Drilldown.unpack(block, entry, detector);
    view.elements({ level: String(level), ...(early === null ? {} : { early, delay }) });
    const { precision, recall, f1, tp, fp, fn, events, categories } = view.found;
    const number = (step) => (step === null ? null : view.numbers ? view.numbers[step] : step);
    const point = view.events.length ? view.curveChart.points.find((each) => each.level === view.level) : null;
    found.push({
      threshold: entry.thresholds[view.level] ?? null, precision, recall, f1, tp, fp, fn,
      categories: categories.slice(1), curve: point ? [point.precision, point.recall] : null,
      early: view.early, delay: view.delay, inTime: view.inTime,
      events: events.map((row) => [number(row.start), number(row.stop - 1) + 1, row.coverage,
        number(row.onset), number(row.earliest), row.tp, row.fp, row.fn]),
    });
  }
  return found;
})
"""


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


# How times are given: as dates, whole numbers or floats, so many of a unit apart.
CLOCKS = [
    None,
    *(("dates", *each) for each in [(1, "d"), (7, "min"), (10, "s"), (40, "ms"), (3, "us"), (100, "ns")]),
    *(("integers", *each) for each in [(1, "h"), (5, "min"), (1, "s"), (250, "ms")]),
    *(("floats", *each) for each in [(0.25, "min"), (0.1, "s"), (0.01, "s")]),
]


def made_times(rng, size, kind, interval, unit):
    """Times of a series, with some beats skipped."""
    skips = rng.random(size) < rng.choice([0.0, 0.1, 0.5])
    beats = np.cumsum(np.where(skips, rng.integers(1, 9, size), 1))
    if kind == "dates":
        code = {"min": "m", "d": "D"}.get(unit, unit)
        return FIRST + (beats * interval).astype(f"timedelta64[{code}]")
    first = 0 if kind == "floats" else rng.choice([0, 1_700_000_000])
    return first + beats * interval


def made_scores(rng, labels):
    """Scores of one of many kinds."""
    size = labels.size
    kind = rng.integers(6)
    if kind == 0:
        return np.round(labels + rng.normal(size=size), 1)
    if kind == 1:
        return (rng.random(size) < np.where(labels, 0.6, 0.1)).astype(float)
    if kind == 2:
        return np.full(size, 3.25)
    if kind == 3:
        return rng.normal(size=size) * 10.0 ** rng.integers(-12, 12)
    moved = np.roll(labels, rng.integers(-6, 7))
    return moved + rng.random(size) * (1e-9 if kind == 4 else 1.0)


def made_series(rng):
    """Labels with events of many lengths, some at the ends, next to each other, or of one step."""
    size = int(rng.choice([12, 60, 250, 700, 3000]))
    labels = np.zeros(size, dtype=int)
    for _ in range(rng.integers(1, 9)):
        start = rng.integers(size)
        labels[start : start + rng.choice([1, 2, 7, 40])] = 1
    if rng.random() < 0.2:
        labels[:2] = 1
    if rng.random() < 0.2:
        labels[-3:] = 1
    if labels.all():
        labels[size // 2] = 0
    return labels


class Report:
    """One made report: a table for each series, the options, and what Python says of it."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.clock = CLOCKS[seed % len(CLOCKS)]
        self.missing = str(rng.choice(["error", "error", "ignore", "normal"]))
        self.options = {"threshold": str(rng.choice(["oracle", "quantile:0.1"])), "missing": self.missing}
        if rng.random() < 0.3:
            self.options["ignore"] = "skip"
        self.options |= {"early": 9, "delay": 14}
        if self.clock is not None:
            self.options |= {"time": "time"}
            self.options |= {} if self.clock[0] == "dates" else {"time_unit": self.clock[2]}
            if rng.random() < 0.7:
                self.options |= {"early": self.length(9), "delay": self.length(14)}
                self.options |= {"max_gap": self.length(3)} if rng.random() < 0.5 else {}
        self.tables = {f"series {number}": self.made_table() for number in range(rng.integers(1, 4))}
        if rng.random() < 0.2:
            self.tables["quiet"] = self.made_table()
            self.tables["quiet"]["label"][:] = 0

    def made_table(self):
        rng, labels = self.rng, made_series(self.rng)
        table = {"label": labels}
        if self.clock is not None:
            table["time"] = made_times(rng, labels.size, *self.clock)
        if "ignore" in self.options:
            table["skip"] = (rng.random(labels.size) < 0.1).astype(int)
        for name in ("a", "b"):
            is_absent = (rng.random(labels.size) < rng.choice([0.1, 0.1, 0.7])) & (self.missing != "error")
            table[name] = np.where(is_absent, np.nan, made_scores(rng, labels))
        return table

    def nanoseconds(self, steps):
        """So many usual steps."""
        _, interval, unit = self.clock
        return int(Fraction(str(interval)) * steps * nanoseconds(f"1{unit}"))

    def length(self, steps):
        return f"{self.nanoseconds(steps)}ns"

    def board(self):
        options = {"metrics": ["pate_f1", "auc_roc"], "chance": 0, "event_draws": 0, "workers": 1}
        return pv.leaderboard(self.tables, score=["a", "b"], **options, **self.options)

    def wanted(self):
        """Detectors on series, at some levels, with the board's buffers and with others."""
        found = []
        for series, detector in ((series, name) for series in self.tables for name in ("a", "b")):
            for place in range(BUFFERS):
                buffers = {"early": None, "delay": None}
                if place:
                    buffers = {name: str(self.entered(self.rng.choice([0, 1, 4, 30]))) for name in buffers}
                shares = (*self.rng.random(LEVELS - 2), 0.0, 1.0)
                found += [{"series": series, "detector": detector, "share": share, **buffers} for share in shares]
        return found

    def entered(self, steps):
        """A buffer as it is typed into the page: in seconds where the board's are durations."""
        return self.nanoseconds(int(steps)) / 10**9 if isinstance(self.options["early"], str) else int(steps)

    def explained(self, series, detector, threshold, buffers):
        """What `explain` says of one detector on one series at a threshold."""
        table = self.tables[series]
        scores, labels = table[detector], table["label"]
        ignore = table.get("skip", np.zeros(labels.size, dtype=int)) > 0
        absent = {name: np.isnan(table[name]) & ~ignore for name in ("a", "b")}
        # A detector that has hardly any score leaves out no step of the other.
        few = [name for name in absent if 2 * np.count_nonzero(absent[name]) > np.count_nonzero(~ignore)]
        if self.missing == "ignore":
            ignore = np.logical_or.reduce([ignore, *(absent[name] for name in absent if name not in few)])
        with np.errstate(invalid="ignore"):
            flags = np.zeros(labels.size, dtype=bool) if threshold is None else scores >= threshold
        clock = {name: self.options[name] for name in ("time_unit", "max_gap") if name in self.options}
        return pv.explain(labels, flags & ~ignore, **buffers, ignore=ignore, times=table.get("time"), **clock)

    def buffers(self, one, page):
        if one["early"] is None:
            return {name: self.options[name] for name in ("early", "delay")}
        if not page["inTime"]:
            return {name: int(one[name]) for name in ("early", "delay")}
        return {name: f"{round(float(one[name]) * 1e9)}ns" for name in ("early", "delay")}


def close(found, expected):
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


def test_sixty_reports(browser, tmp_path):
    compared = reports = undefined = 0
    worst = 0.0
    for seed in range(REPORTS):
        report = Report(seed)
        report.board().to_report(tmp_path / "r.html")
        browser.logged.clear()
        browser.open(tmp_path / "r.html")
        browser.load("unpack", "drilldown")
        wanted = report.wanted()
        reports += 1
        for one, page in zip(wanted, browser.evaluate(f"{COMPUTE}({json.dumps(wanted)})"), strict=True):
            where = f"report {seed}: {one}"
            if "missing" in page:
                undefined += 1
                continue
            buffers = report.buffers(one, page)
            try:
                expected = report.explained(one["series"], one["detector"], page["threshold"], buffers)
            except pv.UndefinedMetricError:
                assert page["events"] == [], where
                undefined += 1
                continue
            figures = [expected.precision, expected.recall, expected.f1]
            figures += [expected.true_positive, expected.false_positive, expected.false_negative]
            shown = [page[name] for name in ("precision", "recall", "f1", "tp", "fp", "fn")]
            worst = max(worst, *(abs(a - b) / max(1.0, abs(b)) for a, b in zip(shown, figures, strict=True)))
            assert all(map(close, shown, figures)), f"{where}: {shown} for {figures}"
            if page["curve"] is not None:
                assert all(map(close, page["curve"], figures[:2])), f"{where}: {page['curve']} for {figures[:2]}"
            counted = [int(np.count_nonzero(expected.points.category == name)) for name in CATEGORIES]
            assert page["categories"] == counted, where
            assert len(page["events"]) == len(expected.events), where
            for row, event in zip(page["events"], expected.events, strict=True):
                start, stop, coverage, onset, earliest, *weights = row
                assert (start, stop) == (event.start, event.stop), where
                assert close(coverage, event.coverage), where
                assert onset == (None if event.onset_delay is None else event.start + event.onset_delay), where
                assert earliest == (None if event.early_lead is None else event.start - event.early_lead), where
                of_event = (event.true_positive, event.false_positive, event.false_negative)
                assert all(map(close, weights, of_event)), f"{where}: {weights} for {of_event}"
                compared += 6
            compared += len(figures) + 2 + len(counted)
        assert browser.logged == []
    print(
        f"\n{reports} reports: {compared:,} figures equal to 1e-9, largest relative difference {worst:.1e}; "
        f"{undefined} views without a figure"
    )
    assert compared > 10_000
