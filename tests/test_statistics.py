"""Ranks, tests, effect sizes and intervals: against scipy, scikit-posthocs, statsmodels, and cases worked by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pateval.evaluation import bootstrap, pieces
from pateval.leaderboards import significance as stats
from pateval.leaderboards.arrays import skill
from pateval.paper.paper_tables import impact_table
from support.messages import raises_exactly


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("PATE", [4.5, 4.5, 2.5, 2.25, 1.25]),
        ("PA-F1", [1.875, 1.625, 3.0, 3.875, 4.625]),
        ("Standard-F1", [4.375, 4.625, 2.5, 1.5, 2.0]),
        ("VUS-ROC", [4.625, 4.25, 2.625, 1.5, 2.0]),
    ],
)
def test_ranks_of_the_papers_table(metric, expected):
    ranks = stats.rank_table(impact_table(metric))
    assert ranks.mean.tolist() == expected
    assert (ranks.used, ranks.dropped) == (4, 0)


def test_the_papers_table_and_its_critical_difference():
    difference = stats.nemenyi_difference(5, 4)
    assert difference == pytest.approx(2.728 * math.sqrt(5 * 6 / (6 * 4)), abs=1e-3)
    printed = [f"{rank:.2f}" for rank in sorted(stats.rank_table(impact_table("PA-F1")).mean)]
    assert printed == ["1.62", "1.88", "3.00", "3.88", "4.62"]
    # The extremes of PA-F1 are 3.00 apart and miss it; those of PATE are 3.25 apart and just pass.
    for metric, passes in (("PA-F1", False), ("PATE", True)):
        ranks = stats.rank_table(impact_table(metric))
        assert bool(np.ptp(ranks.mean) > difference) is passes
        assert bool(stats.nemenyi(ranks).min() < 0.05) is passes


def random_table(seed, series=12, detectors=5, decimals=None):
    values = np.random.default_rng(seed).random((series, detectors)) + np.arange(detectors) * 0.1
    return values if decimals is None else values.round(decimals)


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("seed", range(5))
def test_friedman_equals_scipy(seed, decimals):
    from scipy.stats import friedmanchisquare

    table = random_table(seed, decimals=decimals)
    expected = friedmanchisquare(*table.T)
    found = stats.friedman(stats.rank_table(table))
    assert found.chi_square == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


def test_iman_davenport_by_hand():
    # Two series rank three detectors 1 2 3 and 1 3 2, and a third 1 2 3: rank sums 3, 7, 8 about their mean 6 give
    # chi-square 12 / (3 * 3 * 4) * (9 + 1 + 4) = 14 / 3, and F = 2 * 14/3 / (6 - 14/3) = 7.
    found = stats.friedman(stats.rank_table([[3, 2, 1], [3, 1, 2], [3, 2, 1]]))
    assert found.chi_square == pytest.approx(14 / 3, abs=1e-12)
    assert found.f_statistic == pytest.approx(7, abs=1e-12)
    # 2 and 4 degrees of freedom: (1 + 2 F / 4) ** -2.
    assert found.f_p_value == pytest.approx((1 + 7 / 2) ** -2, abs=1e-12)
    # Two detectors, which scipy refuses: three wins of four are (3 - 1) ** 2 / 4.
    assert stats.friedman(stats.rank_table([[1, 0], [1, 0], [1, 0], [0, 1]])).chi_square == pytest.approx(1)


def test_full_agreement_is_not_certainty():
    # Two series that agree on three detectors happen once in six by chance.
    found = stats.friedman(stats.rank_table([[3, 2, 1], [3, 2, 1]]))
    assert math.isinf(found.f_statistic)
    assert found.f_p_value == pytest.approx(1 / 6)
    # With a tie in the row there are three orders.
    assert stats.friedman(stats.rank_table([[3, 1, 1], [3, 1, 1]])).f_p_value == pytest.approx(1 / 3)


def test_nothing_to_test():
    assert math.isnan(stats.friedman(stats.rank_table([[1.0, 2.0]])).p_value)
    assert math.isnan(stats.friedman(stats.rank_table([[1.0, 1.0], [2.0, 2.0]])).p_value)
    empty = stats.rank_table([[math.nan, 1.0], [1.0, math.nan]])
    assert (empty.used, empty.dropped) == (0, 2)
    assert np.isnan(empty.mean).all()
    assert np.isnan(stats.nemenyi(empty)).all()
    assert math.isnan(stats.nemenyi_difference(1, 5))
    assert stats.pairwise(np.empty((0, 2)))["wilcoxon_p"].tolist() == [[1, 1], [1, 1]]
    with raises_exactly(ValueError, "a table of series by detectors has two dimensions; got an array of shape (2,)"):
        stats.rank_table([1.0, 2.0])


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("seed", range(3))
def test_nemenyi_equals_scikit_posthocs(seed, decimals):
    import scikit_posthocs

    table = random_table(seed, decimals=decimals)
    expected = scikit_posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    assert stats.nemenyi(stats.rank_table(table)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("detectors", "quantile"),
    [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)],  # Demšar (2006), table 5a
)
def test_nemenyi_critical_values(detectors, quantile):
    assert stats.nemenyi_difference(detectors, 1) == pytest.approx(
        quantile * math.sqrt(detectors * (detectors + 1) / 6), abs=3e-3
    )


def test_the_critical_difference_is_where_the_p_value_crosses_alpha():
    from scipy.stats import studentized_range

    difference = stats.nemenyi_difference(6, 20)
    scaled = difference * math.sqrt(2) / math.sqrt(6 * 7 / (6 * 20))
    assert studentized_range.sf(scaled, 6, np.inf) == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize(("series", "decimals"), [(12, None), (20, 1), (60, None)])
@pytest.mark.parametrize("seed", range(2))
def test_wilcoxon_holm_equals_scikit_posthocs(seed, series, decimals):
    import scikit_posthocs

    table = random_table(seed, series=series, decimals=decimals)
    found = stats.pairwise(table)
    columns = list(table.T)
    raw = scikit_posthocs.posthoc_wilcoxon(columns, zero_method="wilcox").to_numpy()
    corrected = scikit_posthocs.posthoc_wilcoxon(columns, p_adjust="holm").to_numpy()
    assert found["wilcoxon_p"] == pytest.approx(raw, abs=1e-9)
    assert found["wilcoxon_holm_p"] == pytest.approx(corrected, abs=1e-9)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(p_values):
    from statsmodels.stats.multitest import multipletests

    assert stats.holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]),
)


@given(tables, st.booleans())
def test_ranks_by_counting(table, higher_is_better):
    rows = [row for row in table.tolist() if not any(map(math.isnan, row))]
    expected = []
    for row in rows:
        better = [sum((b > a) if higher_is_better else (b < a) for b in row) for a in row]
        level = [sum(b == a for b in row) for a in row]
        expected.append([above + (same + 1) / 2 for above, same in zip(better, level, strict=True)])
    found = stats.rank_table(table, higher_is_better=higher_is_better)
    assert found.per_series.tolist() == expected
    assert (found.used, found.dropped) == (len(rows), len(table) - len(rows))


@given(tables)
def test_pairwise_counts_and_effects(table):
    rows = [row for row in table.tolist() if not any(map(math.isnan, row))]
    found, mirrored = stats.pairwise(table), stats.pairwise(-table, higher_is_better=False)
    assert np.array_equal(found["wins"], mirrored["wins"])
    assert np.array_equal(found["rank_biserial"], mirrored["rank_biserial"])
    assert np.array_equal(found["rank_biserial"], -found["rank_biserial"].T)
    assert (found["wins"] + found["wins"].T + found["ties"] == len(rows)).all()
    assert np.array_equal(found["wilcoxon_holm_p"], found["wilcoxon_holm_p"].T)
    assert (found["wilcoxon_holm_p"] >= found["wilcoxon_p"]).all()
    for one, other in combinations(range(table.shape[1]), 2):
        assert found["wins"][one, other] == sum(row[one] > row[other] for row in rows)
        signs = [np.sign(a[one] - b[other]) for a in rows for b in rows]
        assert found["cliffs_delta"][one, other] == pytest.approx(np.mean(signs) if rows else 0, abs=1e-12)


def test_rank_biserial_agrees_with_the_signed_rank_statistic():
    from scipy.stats import wilcoxon

    first, second = random_table(3, series=15, detectors=2).T
    total = 15 * 16 / 2
    favourable = wilcoxon(first, second, alternative="greater").statistic
    _, (effect,) = stats.signed_ranks((first - second)[None])
    assert effect == pytest.approx(2 * favourable / total - 1, abs=1e-12)


@pytest.mark.parametrize(("series", "decimals"), [(9, 1), (13, 1), (30, None), (30, 1), (52, None), (52, 2)])
def test_wilcoxon_equals_scipy_with_and_without_ties(series, decimals):
    from scipy.stats import wilcoxon

    first, second = random_table(11, series, 2, decimals).T
    assert stats.pairwise(np.column_stack([first, second]))["wilcoxon_p"][0, 1] == pytest.approx(
        wilcoxon(first, second).pvalue, abs=1e-9
    )


def test_signed_ranks_by_hand():
    # Three wins of three: of the eight sign patterns two are as extreme. Level series change nothing.
    assert stats.pairwise([[1, 0], [2, 0], [3, 0]])["wilcoxon_p"][0, 1] == pytest.approx(2 / 8)
    assert stats.pairwise([[1, 0], [2, 0], [3, 0], [5, 5]])["wilcoxon_p"][0, 1] == pytest.approx(2 / 8)
    # Ranks 1.5, 1.5 and 3, the last one lost: sums 3 and 3, the middle of the distribution.
    assert stats.pairwise([[1, 0], [1, 0], [0, 3]])["wilcoxon_p"][0, 1] == pytest.approx(1.0)


def test_groups_by_hand():
    # 0-1-2 alike, 2-3 alike, 4 alone.
    p_values = np.full((5, 5), 0.001)
    for one, other in [(0, 1), (0, 2), (1, 2), (2, 3)]:
        p_values[one, other] = p_values[other, one] = 0.2
    assert stats.groups_alike(p_values, [5, 4, 3, 2, 1]) == [(4,), (3, 2), (2, 1, 0)]
    assert stats.groups_alike(np.ones((3, 3)), [1, 2, 3]) == [(0, 1, 2)]
    assert stats.groups_alike(np.full((2, 2), np.nan), [1, 2]) == [(0, 1)]
    assert stats.groups_alike([[1.0]], [1]) == [(0,)]


@given(st.integers(1, 6), st.data())
def test_groups_are_the_maximal_cliques(size, data):
    alike = np.eye(size, dtype=bool)
    for one, other in combinations(range(size), 2):
        alike[one, other] = alike[other, one] = data.draw(st.booleans())
    found = stats.groups_alike(alike.astype(float), np.arange(size))
    cliques = [
        set(members)
        for count in range(1, size + 1)
        for members in combinations(range(size), count)
        if all(alike[a, b] for a, b in combinations(members, 2))
    ]
    maximal = [clique for clique in cliques if not any(clique < other for other in cliques)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, maximal))


def test_kendall_equals_scipy_and_counts():
    # 1 2 3 4 against 1 2 4 3: five pairs agree, one does not.
    assert stats.kendall([[1, 2, 3, 4], [1, 2, 4, 3]])[0, 1] == pytest.approx(4 / 6)
    assert np.isnan(stats.kendall([[1, 2], [1, 1]])[0, 1])
    assert stats.kendall([[1, 2, 3], [1, math.nan, 3]])[0, 1] == pytest.approx(1.0)
    from scipy.stats import kendalltau

    rows = random_table(5, series=4, detectors=9, decimals=1)
    found = stats.kendall(rows)
    for one, other in combinations(range(4), 2):
        assert found[one, other] == pytest.approx(kendalltau(rows[one], rows[other]).statistic, abs=1e-12)
    assert np.array_equal(found, found.T)


def test_skill():
    assert skill([0.2, 0.6, 1.0], 0.2).tolist() == pytest.approx([0, 0.5, 1])
    assert math.isnan(skill(1.0, 1.0))
    assert skill(10.0, 5.0, best=0.0) == pytest.approx(-1)


def mean_intervals(table, draws=2000, seed=0):
    values = np.asarray(table)
    return bootstrap.MeanBootstrap(len(values), draws=draws, seed=seed).intervals(values)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_equal_scipys_bca(seed):
    from scipy.stats import bootstrap as scipy_bootstrap

    values = np.random.default_rng(seed).gamma(2.0, size=(25, 1))
    expected = scipy_bootstrap(
        (values[:, 0],),
        lambda sample, axis: np.mean(sample, axis=axis),
        n_resamples=999,
        rng=np.random.default_rng(7),
        method="BCa",
    ).confidence_interval
    found = mean_intervals(values, draws=999, seed=7)
    assert found[0] == pytest.approx([expected.low, expected.high], abs=1e-9)


def test_intervals_of_many_columns_and_slices(monkeypatch):
    table = random_table(1, series=30, detectors=4)
    whole = mean_intervals(table, draws=200, seed=3)
    monkeypatch.setattr(bootstrap, "_NUMBERS_AT_ONCE", 31)
    assert mean_intervals(table, draws=200, seed=3) == pytest.approx(whole, abs=1e-12)
    single = mean_intervals(table[:, 2:3], draws=200, seed=3)
    assert single[0] == pytest.approx(whole[2], abs=1e-12)
    assert np.isnan(mean_intervals([[0.5]])).all()
    assert mean_intervals([[0.5], [0.5]]).tolist() == [[0.5, 0.5]]


def test_intervals_cover():
    # 95 % limits of the mean of 30 uniform numbers should hold 1/2 about 95 times in 100.
    hits = 0
    for seed in range(200):
        low, high = mean_intervals(np.random.default_rng(seed).random((30, 1)), draws=500, seed=seed)[0]
        hits += low < 0.5 < high
    assert 178 <= hits <= 199


@given(hnp.arrays(np.bool_, st.integers(1, 40)))
def test_event_blocks(labels):
    cuts = pieces.cuts_between_events(labels).tolist()
    assert not any(labels[cut] or labels[cut - 1] for cut in cuts)
    blocks = list(pairwise([0, *cuts, labels.size]))
    assert all(start < stop for start, stop in blocks)
    if labels.any() and len(blocks) > 1:
        assert all(labels[start:stop].any() for start, stop in blocks)


def test_event_intervals():
    labels = np.tile([0, 0, 1, 1, 0], 40).astype(bool)
    scores = np.where(labels, 0.8, 0.2)
    # Every block is alike, so every resample is the series itself.
    found = pieces.event_intervals(
        labels, lambda steps: [scores[steps][labels[steps]].mean(), scores[steps].sum()], draws=20
    )
    assert found == pytest.approx(np.array([[0.8, 0.8], [scores.sum(), scores.sum()]]))
    one_event = np.array([0, 1, 1, 0], dtype=bool)
    assert np.isnan(pieces.event_intervals(one_event, lambda _: [1.0], draws=3)).all()
    assert np.isnan(pieces.event_intervals(labels, lambda _: [math.nan], draws=3)).all()
    # Events at both ends never meet: the number of events in a resample is the number of blocks.
    ends = np.array([1, 0, 0, 1, 0, 0, 0, 1], dtype=bool)
    counts = []

    def count_events(steps):
        truth = ends[steps]
        counts.append(int(truth[0]) + int(np.count_nonzero(truth[1:] & ~truth[:-1])))
        return [0.0]

    pieces.event_intervals(ends, count_events, draws=50)
    assert set(counts) == {3}


def test_statistics_import_no_scipy():
    code = "import sys, pateval.leaderboards.significance, pateval.evaluation.bootstrap; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_thousands_of_detectors_in_one_group_and_in_a_chain_of_them():
    ranks = np.arange(1500.0)
    assert stats.groups_alike(np.ones((1500, 1500)), ranks) == [tuple(range(1500))]
    neighbours = np.where(np.abs(ranks[:, None] - ranks) <= 1, 1.0, 0.0)
    assert stats.groups_alike(neighbours, ranks) == [(first, first + 1) for first in range(1499)]


@given(tables)
def test_letters_of_many_detectors_are_those_of_all_pairs(table):
    names = [f"d{column}" for column in range(table.shape[1])]
    few = stats.compare_detectors("m", names, table, higher_is_better=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stats, "MOST_IN_PAIRS", 0)
        many = stats.compare_detectors("m", names, table, higher_is_better=True)
    assert (many.nemenyi_groups, many.wilcoxon_groups) == (few.nemenyi_groups, few.wilcoxon_groups)
    assert (many.wilcoxon_p, many.wins, many.columns()["wins"]) == ([], [], [])
    assert many.mean_ranks == pytest.approx(few.mean_ranks, nan_ok=True)


def test_groups_of_many_are_runs_of_neighbours():
    chance = np.random.default_rng(0)
    p_values = np.triu(chance.random((130, 130)) < np.exp(-np.abs(np.subtract.outer(range(130), range(130))) / 30), 1)
    p_values = (p_values | p_values.T).astype(float)
    np.fill_diagonal(p_values, 1.0)
    found = stats.groups_alike(p_values, np.arange(130))

    def is_alike(start, stop):
        return (p_values[start:stop, start:stop] >= 0.05).all()

    runs = [(start, stop) for start in range(130) for stop in range(start + 1, 131) if is_alike(start, stop)]
    longest = [
        run for run in runs if not any(other != run and other[0] <= run[0] and run[1] <= other[1] for other in runs)
    ]
    assert found == [tuple(range(*run)) for run in longest]
