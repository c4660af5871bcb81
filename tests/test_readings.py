"""The three places where the paper's text and its program part: literal sums, and what the page says of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from conftest import CHECKOUT
from oracles import pate_readings as oracle
from pateval.paper import ExperimentSettings, compute
from pateval.paper.document import CANNOT, DIFFERS, REPRODUCES, Verdict
from pateval.paper.inputs import read_runs
from pateval.paper.readings import EXAMPLES, PROGRAM, READINGS, TEXT, _mean, f1_by_reading, pate_by_reading

FLAGS = ("whole_zones", "beside", "coverage")


@st.composite
def cases(draw):
    size = draw(st.integers(2, 40))
    labels = draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    scores = draw(st.lists(st.integers(0, 5).map(float), min_size=size, max_size=size))
    return np.array(labels), np.array(scores), draw(st.integers(0, 12)), draw(st.integers(0, 12))


@settings(deadline=None)
@given(cases())
def test_every_reading_is_the_literal_sum(case):
    labels, scores, early, delay = case
    areas, values = pate_by_reading(*case), f1_by_reading(labels, scores >= 3, early, delay)
    for reading, chosen in READINGS.items():
        flags = dict(zip(FLAGS, chosen, strict=True))
        expected = oracle.pate(labels.tolist(), scores.tolist(), early, delay, **flags)
        assert areas[reading] == pytest.approx(float(expected), abs=1e-10)
        expected = oracle.f1(labels.tolist(), (scores >= 3).tolist(), early, delay, **flags)
        assert values[reading] == pytest.approx(float(expected), abs=1e-12)


@settings(deadline=None)
@given(cases())
def test_the_programs_reading_is_what_pate_computes(case):
    labels, scores, early, delay = case
    assert pate_by_reading(*case)[PROGRAM] == pytest.approx(
        pv.pate(labels, scores, early=early, delay=delay), abs=1e-10
    )


def test_by_hand():
    """One event of four steps, buffers of two, cut by the end of the series; the second step is found, and the last."""
    labels, predicted = np.array([0, 1, 1, 1, 1, 0]), np.array([0, 0, 1, 0, 1, 1], dtype=bool)
    values = f1_by_reading(labels.astype(bool), predicted, 2, 2)
    # First run 1: u = 0 weighs 1, u = 2 weighs 1 - (2 + 1) / 6. The zone's only step weighs 0 where it is cut.
    assert values["zones"] == pytest.approx(2 * (2 + 2 / 7) / (2 * (2 + 2 / 7) + 5 / 7 + 1.5))
    assert values[PROGRAM] == pytest.approx(4 / (4 + 1 + 1.5))
    # Coverage 2: u = 2 lies within the first two steps after the beginning, and weighs 1.
    assert values["coverage"] == pytest.approx(4 / (4 + 1 + 2))


class TestPage:
    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, tmp_path_factory):
        empty = tmp_path_factory.mktemp("empty")
        return compute("readings", ExperimentSettings(root=empty, scores=empty))

    def test_the_scenarios_do_not_tell_them_apart(self, made):
        rows = made.table("scenarios").rows
        assert len(rows) == 20
        for row in rows:
            assert all(round(row[reading], 2) == row["printed"] for reading in READINGS)
        assert [one.status for one in made.verdicts[:2]] == [REPRODUCES, REPRODUCES]
        altered = [cell._replace(found=cell.found + 0.1) for cell in made.verdicts[1].cells]
        assert Verdict("scenarios", altered).status == DIFFERS

    def test_each_example_shows_its_place(self, made):
        rows = {row["place"]: row for row in made.table("examples").rows}
        assert set(rows) == set(EXAMPLES)
        for row in rows.values():
            assert row[PROGRAM] != pytest.approx(row["as the text reads"], abs=1e-3)

    def test_what_is_not_here_is_said(self, made):
        missing = [said["why"] for said in made.statements if said["status"] == CANNOT]
        assert len(missing) == 3
        assert made.table("detectors").rows == []


def test_orders_on_msl():
    scored = read_runs(CHECKOUT / "results" / "scores" / "paper", "MSL")
    values = {
        name: _mean({"label": run.labels, "score": run.scores, "series": run.series})
        for name, (run, *_) in scored.items()
        if name in ("USAD", "Transformer")
    }
    assert values["USAD"][PROGRAM] < values["Transformer"][PROGRAM]
    assert values["USAD"][TEXT] < values["Transformer"][TEXT]
    assert all(0 < abs(one[TEXT] - one[PROGRAM]) < 0.01 for one in values.values())
