"""What a number of series can show, against all samples counted one by one, and against the test itself."""

from __future__ import annotations

import csv
import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

import pateval as pv
from pateval.evaluation.paired import moments
from pateval.leaderboards.render import lead_of
from pateval.report.verdict import verdict


def statistic(sample):
    """Count differences above 0, and pairs whose sum is; a sum of 0 is a half."""
    sums = [a + b for a, b in itertools.combinations(sample, 2)]
    return sum(a > 0 for a in sample) + sum(1.0 if s > 0 else 0.5 if s == 0 else 0.0 for s in sums)


@given(st.lists(st.integers(-6, 6).filter(bool), min_size=1, max_size=5), st.integers(1, 4))
def test_mean_and_variance_over_all_samples(differences, number):
    found = [statistic(sample) for sample in itertools.product(differences, repeat=number)]
    mean, variance = moments(np.array(differences, dtype=float), np.float64(number))
    assert mean == pytest.approx(np.mean(found) - number * (number + 1) / 4, abs=1e-12)
    assert variance == pytest.approx(np.var(found), abs=1e-12)


def test_a_board_says_what_its_tests_can_show_of_the_lead():
    rng = np.random.default_rng(3)
    values = {"series": [f"s{number}" for number in range(12)], "mine": rng.random(12)}
    values |= {name: values["mine"] - rng.normal(mean, 0.1, 12) for name, mean in (("b", 0.02), ("c", 0.3))}
    values = {name: column if name == "series" else np.clip(column, 0, 1).tolist() for name, column in values.items()}
    board = pv.leaderboard_from_results(values, metric="vus_pr")
    first, second, *_ = board.best_first("vus_pr")
    expected = pv.power(values[first], values[second], alpha=0.05 / 3)
    told = json.loads(board.to_json())["power"]
    assert (told["first"], told["second"], told["comparisons"]) == (first, second, 3)
    assert {name: told[name] for name in ("series", "power", "series_needed")} == {
        "series": 12,
        "power": pytest.approx(expected.power),
        "series_needed": expected.series_needed,
    }
    clause = f"{expected.clause(first, second)} (at 5 % for 3 comparisons)"
    assert clause in " ".join(repr(board).split())
    assert verdict(board, "vus_pr", board.significance())["power"] == f"W{clause[1:]}."
    # The last against the best of the others: two comparisons share the level.
    last = board.best_first("vus_pr")[-1]
    lead = lead_of(board, board.significance(control=last))
    assert (lead.first, lead.second, lead.comparisons) == (last, first, 2)
    assert lead.power == pv.power(values[last], values[first], alpha=0.05 / 2)


def test_there_is_no_lead_without_two_values_on_a_series():
    values = {"series": list("rst"), "a": [0.5, 0.4, None], "b": [0.5, None, 0.4], "c": [None, 0.5, 0.4]}
    board = pv.leaderboard_from_results(values, metric="vus_pr")
    assert lead_of(board, board.significance()) is None
    assert "power" not in board.to_dict()
    one = pv.leaderboard_from_results({"series": ["s", "t"], "a": [0.5, 0.4]}, metric="vus_pr")
    assert lead_of(one, one.significance()) is None
    # One series is no sample of series.
    single = pv.leaderboard_from_results({"series": ["s"], "a": [0.5], "b": [0.4]}, metric="vus_pr")
    assert lead_of(single, single.significance()) is None


def test_only_several_series_have_a_p_value():
    labels = np.tile([0, 0, 1, 0], 30)
    scores = labels + np.random.default_rng(0).random(120)
    one = pv.compare(labels, scores, scores / 2, metrics="auc_roc")
    assert "no p-value: one series is no sample of series" in one.remarks()
    assert (one.to_dict()["metrics"][0]["p_value"], one["auc_roc"].test) == (None, None)
    for pooled in (True, False):
        several = pv.compare(labels, scores, -scores, metrics="auc_roc", series=np.repeat(range(6), 20), pooled=pooled)
        assert ("p" in several.table()[0]) is not pooled
    assert several["auc_roc"].p_value == pytest.approx(2 / 2**6)
    (said,) = (line for line in several.remarks() if line.startswith("under auc_roc, "))
    assert said == f"under auc_roc, {pv.power(np.arange(6.0) + 1, np.zeros(6)).clause('a', 'b')}"


def test_swapped_detectors_have_the_same_power():
    rng = np.random.default_rng(1)
    first, second = rng.random(40), rng.random(40)
    there, back = pv.power(first, second), pv.power(second, first)
    assert there.power == pytest.approx(back.power, abs=1e-12)
    assert there.series_needed == back.series_needed


def test_series_needed_is_the_first_number_with_that_power():
    rng = np.random.default_rng(2)
    first = rng.random(50)
    second = first - rng.normal(0.03, 0.1, 50)
    needed = pv.power(first, second, goal=0.5).series_needed
    assert pv.power(first, second, series=needed).power >= 0.5 > pv.power(first, second, series=needed - 1).power


def test_level_detectors_and_few_series():
    level = pv.power([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])
    assert (level.power, level.series_needed) == (0.0, None)
    assert level.sentence("a", "b").endswith(
        "for a against b as they stand, no number of series would show a difference."
    )
    assert pv.power(np.arange(5.0), np.zeros(5)).power == 0  # 5 wins of 5 have a p-value of 1/16
    assert pv.power(np.arange(1, 7.0), np.zeros(6)).power > 0.9  # 6 of 6 one of 1/32


def test_few_series_have_the_bar_of_the_exact_test():
    """Ten wins of ten have a p-value of 1/512: enough for 21 comparisons at 5 %, which a normal bar would not give."""
    wins = np.arange(1, 11.0)
    assert wilcoxon(wins).pvalue == pytest.approx(1 / 512)
    assert pv.power(wins, np.zeros(10), alpha=0.05 / 21).power == pytest.approx(1)
    assert pv.power(wins, np.zeros(10), alpha=0.05 / 26).power == 0


@pytest.mark.parametrize("size", [8, 12, 20, 40])
def test_power_against_drawn_samples(size):
    """Within seven points, as on the published results below: the statistic of few series is only about normal."""
    rng = np.random.default_rng(size)
    differences = rng.normal(0.7, 1, 300)
    draws = rng.choice(differences, (4_000, size))
    observed = np.mean(wilcoxon(draws, axis=1, method="exact").pvalue <= 0.05)
    assert pv.power(differences, np.zeros(300), series=size).power == pytest.approx(observed, abs=0.07)


def test_share_found_is_where_the_test_turns():
    """Wins on that share, by differences of any size, have a p-value of about alpha."""
    rng = np.random.default_rng(3)
    for number in (20, 58, 200):
        share = pv.power(np.arange(number), np.zeros(number)).share_found
        sizes = rng.random((4_000, number))
        signs = np.where(rng.random((4_000, number)) < share, 1, -1)
        found = np.mean(wilcoxon(sizes * signs, axis=1).pvalue < 0.05)
        assert found == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1, 2], [1], {}, "first and second must have one value each for the same series; got 2 and 1 of them"),
        ([np.nan], [1.0], {}, "first and second have no series in common on which both have a value"),
        ([1.0], [0.5], {"series": 0}, "series must be a positive integer; got 0"),
        ([1.0], [0.5], {"alpha": 2}, "alpha must be a number in [0, 1]; got 2"),
    ],
)
def test_bad_input(first, second, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pv.power(first, second, **options)


@pytest.mark.slow
def test_on_published_results(real_data):
    """Twenty pairs fixed beforehand, 30 to 200 series drawn from 350: predicted and observed within 7 points."""
    with (real_data / "results" / "TSB-AD-U_VUS-PR.csv").open() as file:
        header, *rows = csv.reader(file)
    names = header[1 : header.index("point_anomaly")] if "point_anomaly" in header else header[1:]
    table = np.array([[float(cell) if cell else np.nan for cell in row[1 : len(names) + 1]] for row in rows])
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(len(names)), 2))
    worst = (0.0, "")
    for number in rng.choice(len(pairs), 20, replace=False):
        one, other = pairs[number]
        differences = table[:, one] - table[:, other]
        differences = differences[~np.isnan(differences)]
        for size in (30, 50, 100, 200):
            draws = rng.choice(differences, (2_000, size))
            observed = np.mean(wilcoxon(draws, axis=1, method="approx").pvalue < 0.05)
            predicted = pv.power(differences, np.zeros_like(differences), series=size).power
            what = f"{names[one]} against {names[other]}, {size} series: {predicted:.3f}, observed {observed:.3f}"
            worst = max(worst, (abs(predicted - observed), what))
    print("worst pair:", worst[1])
    assert worst[0] <= 0.07, worst[1]
