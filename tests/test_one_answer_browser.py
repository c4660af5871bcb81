"""One question, one answer, in the page: the report's own scripts give the number that the literal rule gives."""

from __future__ import annotations

import math
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from support.browser import Browser, find_browser
from support.one_answer import expected
from support.one_answer_routes import Place, means_of
from support.one_answer_shapes import SHAPES

pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no browser: install chromium, or name one in PATEVAL_BROWSER"),
    pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning"),
]

# The page opens at the threshold of the table and with its longest buffers.
IN_STEPS, IN_TIME = "pate_f1(early=6,delay=9)", "pate_f1(early=3min,delay=4min)"
OPENED = {
    "several series": IN_STEPS,
    "dates": IN_TIME,
    "seconds": IN_TIME,
    "milliseconds": IN_TIME,
    "fractions": IN_TIME,
    "gaps": IN_TIME,
    "ignored": IN_STEPS,
    "missing=ignore": IN_STEPS,
    "missing=normal": IN_STEPS,
    "predictions": IN_STEPS,
}
# What the page computes when it is opened at each detector and series.
COMPUTE = """
(async () => {
  const board = JSON.parse(document.getElementById("board").textContent), found = [];
  for (const [s, series] of board.series.entries()) {
    const block = await unpackModule.loadBlock(`series-${s}`);
    for (const detector of board.detectors) {
      const entry = block.detectors[detector][0];
      if (entry.missing || !block.events.length) continue;
      const view = await drilldownModule.Drilldown.unpack(block, entry, detector);
      view.elements({});
      found.push({ series, detector, precision: view.found.precision, recall: view.found.recall });
    }
  }
  return found;
})()
"""


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Each shape with two metrics: pages are quick to make, and the one that is opened is among them."""
    return {
        name: Place(replace(SHAPES[name], metrics=("pate_ap", metric)), tmp_path_factory.mktemp("page"))
        for name, metric in OPENED.items()
    }


def f1(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@pytest.mark.parametrize("shape", OPENED)
def test_the_page_computes_what_the_functions_give(shape, places, browser):
    place, metric = places[shape], OPENED[shape]
    browser.open(place.page)
    browser.load("unpack", "drilldown")
    rows = [
        {**row, "metric": metric, "value": f1(row["precision"], row["recall"])} for row in browser.evaluate(COMPUTE)
    ]
    found, wanted = means_of(rows), expected(place.shape, place.shape.detectors)
    for name in place.shape.detectors:
        given, value = found[name, metric], wanted[name, metric]
        assert given == pytest.approx(value, abs=1e-11), f"page on {shape!r}: {metric} of {name}"


@pytest.mark.parametrize("shape", ["milliseconds", "fractions"])
def test_the_page_shows_it_in_the_view_of_a_series(shape, places, browser):
    """Through the address, past no scaling of times."""
    place = places[shape]
    rows = []
    for series, one in place.shape.series.items():
        if one.labels.any():
            browser.open(place.page, f"#{urlencode({'view': 'series', 'series': series, 'detector': 'beta'})}")
            browser.wait("document.querySelector('.point')?.dataset.recall")
            shown = browser.evaluate("({...document.querySelector('.point').dataset})")
            value = f1(float(shown["precision"]), float(shown["recall"]))
            rows.append({"series": series, "detector": "beta", "metric": IN_TIME, "value": value})
    wanted = expected(place.shape, place.shape.detectors)["beta", IN_TIME]
    assert not math.isnan(wanted)
    assert means_of(rows)["beta", IN_TIME] == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("shape", ["several series", "predictions"])
def test_the_table_of_the_page_shows_the_means(shape, places, browser):
    """With three digits."""
    place = places[shape]
    browser.open(place.page, "#view=table")
    header = browser.evaluate(
        "[...document.querySelectorAll('thead th')].map((each) => each.querySelector('button.sort')?.dataset.key)"
    )
    rows = browser.evaluate(
        "[...document.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText))"
    )
    wanted = expected(place.shape, place.shape.detectors)
    assert {"pate_ap", IN_STEPS} <= set(header)
    assert len(rows) == len(place.shape.detectors)
    for name, *cells in rows:
        values = dict(zip(header[1:], cells, strict=True))
        for metric in place.shape.metrics:
            shown = float(values[metric].split()[-1].strip("*"))
            assert shown == pytest.approx(wanted[name.split()[0], metric], abs=5.1e-4), f"{metric} of {name} in {rows}"
