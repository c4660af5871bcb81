"""Whether there is evidence of a difference between detectors under one metric: all tests, and every pair by itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.evaluation.bootstrap import FloatArray
from pateval.evaluation.paired import ALPHA, Power, power_of, signed_ranks
from pateval.leaderboards import statistics
from pateval.leaderboards.statistics import complete_rows
from pateval.output.results import Result
from pateval.validation.wording import counted, in_words, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pateval.leaderboards.result import Leaderboard

MOST_IN_PAIRS = 1_000
"""Detectors up to which every pair is kept: time, memory and files grow with the square of their number."""
_OF_PAIRS = ["nemenyi_p", "wilcoxon_p", "wilcoxon_holm_p", "rank_biserial", "cliffs_delta", "wins", "ties", "losses"]


@dataclass(frozen=True)
class Significance(Result):
    """Whether there is evidence of a difference under one metric.

    Attributes
    ----------
    metric : str
        Metric id.
    detectors : tuple of str
        Those compared, best mean rank first; rows and columns of the matrices are in this order.
    left_out : tuple of str
        Detectors without any value of this metric.
    series_used, series_dropped : int
        Series where all compared detectors have a value, and the others.
    mean_ranks : list of float
        1 is best; ties share the mean of their places.
    friedman : dict
        ``chi_square``, ``p_value``, and Iman and Davenport's ``f_statistic``, ``f_p_value``.
    nemenyi_difference : float
        Critical difference of mean ranks at ``alpha``.
    nemenyi_p, wilcoxon_p, wilcoxon_holm_p : list of lists
        p-values of all pairs; these and the following are empty where there are more than 1,000 detectors.
    rank_biserial, cliffs_delta : list of lists
        Effect sizes, positive where the row is better.
    wins, ties, losses : list of lists
        Series on which the row beats, equals and is beaten by the column.
    nemenyi_groups, wilcoxon_groups : list of lists of str
        Largest sets of detectors that do not differ significantly; of more than 100 detectors the longest runs of
        neighbours in mean rank.
    alpha : float
        Significance level.
    control : str
        The detector that the others are compared with, each by a Wilcoxon test of its own, corrected by Holm for as
        many as there are; empty where every two are compared. Then ``wilcoxon_holm_p`` is NaN between two others, and
        ``wilcoxon_groups`` has one group: the control and those not told apart from it.
    """

    metric: str
    detectors: tuple[str, ...]
    left_out: tuple[str, ...]
    series_used: int
    series_dropped: int
    mean_ranks: list[float]
    friedman: dict[str, float]
    nemenyi_difference: float
    nemenyi_p: list[list[float]]
    wilcoxon_p: list[list[float]]
    wilcoxon_holm_p: list[list[float]]
    rank_biserial: list[list[float]]
    cliffs_delta: list[list[float]]
    wins: list[list[int]]
    ties: list[list[int]]
    losses: list[list[int]]
    nemenyi_groups: list[list[str]]
    wilcoxon_groups: list[list[str]]
    alpha: float = ALPHA
    control: str = ""

    @property
    def test_text(self) -> str:
        """Who is not told apart, and by which test: "not told apart (Wilcoxon-Holm, 5 %)"."""
        if not self.control:
            return f"not told apart (Wilcoxon-Holm, {100 * self.alpha:g} %)"
        comparisons = len(self.detectors) - 1 if self.control in self.detectors else 0
        test = f"Wilcoxon-Holm over {counted(comparisons, 'comparison')}, {100 * self.alpha:g} %"
        return f"not told apart from {self.control} ({test})"

    @property
    def has_few(self) -> bool:
        """Whether groups can be read as letters or bars; those of many detectors are many more."""
        return len(self.detectors) <= _MOST_IN_GROUPS

    def alike(self, test: str = "wilcoxon") -> npt.NDArray[np.bool_]:
        """Return a matrix of who is not told apart from whom, each with itself.

        By the tests of every pair where they are kept, else by the groups. With a control, others are told apart from
        it or not, and nothing is said of two others.
        """
        by_control = self.control and test == "wilcoxon"
        p_values = self.nemenyi_p if test == "nemenyi" else self.wilcoxon_holm_p
        if p_values and not by_control:
            return ~(np.array(p_values, dtype=np.float64) < self.alpha)
        places = {name: place for place, name in enumerate(self.detectors)}
        found = np.eye(len(places), dtype=np.bool_)
        for group in self.nemenyi_groups if test == "nemenyi" else self.wilcoxon_groups:
            members = [places[name] for name in group]
            if by_control:
                found[places[self.control], members] = found[members, places[self.control]] = True
            else:
                found[np.ix_(members, members)] = True
        return found

    def against_control(self) -> dict[str, float]:
        """Return the corrected p-value of each other detector against the control, where pairs are kept."""
        if self.control not in self.detectors or not self.wilcoxon_holm_p:
            return {}
        p_values = self.wilcoxon_holm_p[self.detectors.index(self.control)]
        return {name: p for name, p in zip(self.detectors, p_values, strict=True) if name != self.control}

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table with a row per pair that was compared, the better mean rank first."""
        size = len(self.nemenyi_p)
        pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
        if self.control:
            pairs = [pair for pair in pairs if self.control in (self.detectors[pair[0]], self.detectors[pair[1]])]
        return {
            "metric": [self.metric] * len(pairs),
            "detector": [self.detectors[i] for i, _ in pairs],
            "other": [self.detectors[j] for _, j in pairs],
            **{name: [getattr(self, name)[i][j] for i, j in pairs] for name in _OF_PAIRS},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data that JSON can carry; without a control there is none in it."""
        found = super().to_dict()
        return found if self.control else {name: value for name, value in found.items() if name != "control"}


class Lead(NamedTuple):
    """The first detector against the second, or the control against the best of the others, and what tests can show."""

    first: str
    second: str
    power: Power
    comparisons: int  # that share the level of the test

    def clause(self) -> str:
        """Say it as a part of a sentence."""
        shared = f" (at {100 * ALPHA:g} % for {self.comparisons} comparisons)" if self.comparisons > 1 else ""
        return f"{self.power.clause(self.first, self.second)}{shared}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data that JSON can carry."""
        about = {"first": self.first, "second": self.second, "comparisons": self.comparisons}
        return about | self.power.to_dict()


def lead_of(board: Leaderboard, found: Significance) -> Lead | None:
    """Return what the tests of a board can show of the lead; None where there is none.

    One series is no sample of series. All comparisons share the level, as in the first step of Holm's correction.
    """
    places = [board.detectors.index(name) for name in found.detectors]
    values, _ = complete_rows(board.by_series(found.metric)[:, places])
    number = len(places)
    if number < 2 or len(values) < 2 or (found.control and found.control not in found.detectors):
        return None
    one = found.detectors.index(found.control) if found.control else 0
    other = 0 if one else 1
    comparisons = number - 1 if found.control else number * (number - 1) // 2
    power = power_of(values[:, one] - values[:, other], alpha=found.alpha / comparisons)
    return Lead(found.detectors[one], found.detectors[other], power, comparisons)


def known_detector(name: str, detectors: Sequence[str]) -> str:
    """Return the name of a control, or refuse one that is not there."""
    if not isinstance(name, str) or name not in detectors:
        raise ValueError(f"control names {in_words(name)}; the detectors are {listed(detectors, 12)}")
    return name


def compare_detectors(
    metric: str,
    detectors: Sequence[str],
    table: npt.NDArray[np.float64],
    *,
    higher_is_better: bool,
    left_out: Sequence[str] = (),
    alpha: float = ALPHA,
    control: str = "",
) -> Significance:
    """Run all tests on the values of one metric, a table of series by detectors, best mean rank first.

    Rows with a NaN are left out; ``left_out`` names the detectors without any value. With a ``control`` Wilcoxon's
    test compares the others with it alone; nobody is where it has no value.
    """
    ranks = statistics.rank_table(table, higher_is_better=higher_is_better)
    of_control = np.array([name == control for name in detectors], dtype=np.bool_)
    compared = np.logical_xor.outer(of_control, of_control) if control else None
    difference = statistics.nemenyi_difference(len(detectors), ranks.used, alpha=alpha)
    pairs: dict[str, Any] = dict.fromkeys(_OF_PAIRS, np.empty((0, 0)))
    if len(detectors) <= MOST_IN_PAIRS:
        found = pairwise(table, higher_is_better=higher_is_better, compared=compared)
        pairs = {"nemenyi_p": statistics.nemenyi(ranks), **found}
        nemenyi = statistics.groups_alike(pairs["nemenyi_p"], ranks.mean, alpha=alpha)
        corrected = pairs["wilcoxon_holm_p"]
    else:
        apart = np.greater.outer(ranks.mean, ranks.mean + difference)
        nemenyi = statistics.groups_alike(1.0 - (apart | apart.T), ranks.mean, alpha=alpha)
        corrected = np.ones(apart.shape)
        if control or smallest_p_value(len(detectors), ranks.used) < alpha:
            _, corrected, _ = _signed_rank_tests(complete_rows(table)[0], compared)
            corrected = np.minimum(corrected, corrected.T)
    if control:
        # One row says it all: who is not told apart from the control, itself with them.
        wilcoxon = [tuple(np.flatnonzero(row >= alpha).tolist()) for row in corrected[of_control]]
    else:
        wilcoxon = statistics.groups_alike(corrected, ranks.mean, alpha=alpha)

    def named(groups: list[tuple[int, ...]]) -> list[list[str]]:
        return [[detectors[i] for i in group] for group in groups]

    return Significance(
        metric,
        tuple(detectors),
        tuple(left_out),
        ranks.used,
        ranks.dropped,
        ranks.mean.tolist(),
        asdict(statistics.friedman(ranks)),
        difference,
        nemenyi_groups=named(nemenyi),
        wilcoxon_groups=named(wilcoxon),
        alpha=alpha,
        control=control,
        **{name: matrix.tolist() for name, matrix in pairs.items()},
    )


def smallest_p_value(detectors: int, series: int) -> float:
    """The smallest p-value any pair can have: 2 / 2**n by the signed-rank test, times the number of pairs by Holm."""
    return min(1.0, 2.0 ** (1 - series) * (detectors * (detectors - 1) // 2))


_MOST_IN_GROUPS = 15  # detectors: 24 had 12 groups, 40 had 21, 120 had 144 on made scores
_NUMBERS_AT_ONCE = 200_000  # differences in memory at once; the tests need about ten times as much beside them


def pairwise(
    table: npt.ArrayLike, *, higher_is_better: bool = True, compared: npt.NDArray[np.bool_] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Compare every two detectors over the series where all have a value: matrices by their names in `Significance`.

    The Wilcoxon signed-rank test leaves level series out; its p-values are corrected by Holm for all pairs, or for
    those marked in the symmetric matrix ``compared``. Effects are positive where the row is *better*.
    """
    values, _ = complete_rows(table)
    values = values if higher_is_better else -values
    detectors = values.shape[1]
    raw, corrected, biserial = _signed_rank_tests(values, compared)
    delta = np.zeros((detectors, detectors))
    if values.size:
        delta = np.array([cliffs_delta(values, values[:, j]) for j in range(detectors)]).T
        delta[np.tril_indices(detectors)] = 0
    wins, ties = np.zeros((2, detectors, detectors), dtype=np.intp)
    for i in range(detectors):
        wins[i], ties[i] = (values[:, [i]] > values).sum(axis=0), (values[:, [i]] == values).sum(axis=0)
    # A difference rather than a sign turned around: no negative zeros in printed tables.
    return {
        "wilcoxon_p": np.minimum(raw, raw.T),
        "wilcoxon_holm_p": np.minimum(corrected, corrected.T),
        "rank_biserial": biserial - biserial.T,
        "cliffs_delta": delta - delta.T,
        "wins": wins,
        "ties": ties,
        "losses": wins.T,
    }


def _signed_rank_tests(
    values: FloatArray, compared: npt.NDArray[np.bool_] | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P-values of all pairs, the same corrected by Holm, and effects, above the diagonal of a matrix each.

    Holm's correction is for the pairs that are compared; the others have none (NaN).
    """
    detectors = values.shape[1]
    one, other = np.triu_indices(detectors, 1)
    raw, corrected, biserial = np.ones((3, detectors, detectors))
    biserial[:] = 0
    step = max(1, _NUMBERS_AT_ONCE // max(len(values), 1))
    for first in range(0, one.size if len(values) else 0, step):
        i, j = one[first : first + step], other[first : first + step]
        raw[i, j], biserial[i, j] = signed_ranks((values[:, i] - values[:, j]).T)
    family = slice(None) if compared is None else compared[one, other]
    corrected[one, other] = np.nan
    corrected[one[family], other[family]] = holm(raw[one[family], other[family]])
    return raw, corrected, biserial


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Correct p-values of a family of tests by Holm's step-down procedure."""
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)), 1.0)
    return corrected


def cliffs_delta(first: npt.ArrayLike, second: npt.ArrayLike) -> Any:
    """Cliff's delta: share of pairs where ``first`` is larger, minus the share where it is smaller.

    Columns of ``first`` are compared one by one.
    """
    left = np.asarray(first, dtype=np.float64)
    right = np.sort(np.asarray(second, dtype=np.float64))
    above = np.searchsorted(right, left, side="left").sum(axis=0)
    pairs = len(left) * right.size
    below = pairs - np.searchsorted(right, left, side="right").sum(axis=0)
    return (above - below) / pairs
