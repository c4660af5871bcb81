"""What notebooks show: the same figures as in print, escaped, and no rule that reaches other elements."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import pateval as pv

LABELS = np.arange(300) % 100 > 85
SCORES = LABELS * 0.5 + np.random.default_rng(0).random(300)
HOSTILE = "<script>alert(1)</script>"


RNG = np.random.default_rng(1)
TABLES = {name: {"label": LABELS, HOSTILE: SCORES, "guess": RNG.random(300)} for name in ("one", "two", HOSTILE)}
RESULTS = {
    "explanation": (lambda: pv.explain(LABELS, SCORES > 0.8, early=5, delay=5), "F1"),
    "curve": (lambda: pv.pate_curve(LABELS, SCORES, early=5, delay=5), "area"),
    "evaluation": (lambda: pv.evaluate(LABELS, SCORES, metrics=["pate", "point_f1", "ucr_score"]), "point_f1"),
    "leaderboard": (
        lambda: pv.leaderboard(TABLES, score=[HOSTILE, "guess"], metrics=["pate_ap"], workers=1, chance=0),
        "pate_ap",
    ),
    "audit": (lambda: pv.audit(LABELS, metrics=["point_f1", "pate_ap"], seeds=1), "worthless"),
    "comparison": (
        lambda: pv.compare(LABELS, SCORES, RNG.random(300), metrics=["pate_ap"], names=(HOSTILE, "guess")),
        "difference",
    ),
}


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        del attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_shows_itself(name):
    compute, word = RESULTS[name]
    shown = compute()._repr_html_()
    parser = Balanced()
    parser.feed(shown)
    assert parser.open == []
    assert word in shown
    assert "<script" not in shown
    style = re.search(r"<style>(.*?)</style>", shown, re.DOTALL)[1]
    plain = re.sub(r"/\*.*?\*/|@media[^{]*\{|^\}", "", style, flags=re.DOTALL | re.MULTILINE)
    selectors = [each.strip() for each in re.findall(r"([^{}]+)\{[^{}]*\}", plain)]
    assert selectors
    assert all(".pateval" in part for each in selectors for part in each.split(","))


def test_figures_are_those_of_the_text():
    found = pv.explain(LABELS, SCORES > 0.8, early=5, delay=5)
    for figure in (found.precision, found.recall, found.f1):
        assert f"{figure:.4f}" in found._repr_html_()
