"""Whether there is evidence of a difference between detectors under one metric."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pateval.leaderboards import statistics
from pateval.leaderboards.pairwise import pairwise
from pateval.output.frame_builder import build_frame
from pateval.output.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

ALPHA = 0.05


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
        p-values of all pairs.
    rank_biserial, cliffs_delta : list of lists
        Effect sizes, positive where the row is better.
    wins, ties, losses : list of lists
        Series on which the row beats, equals and is beaten by the column.
    nemenyi_groups, wilcoxon_groups : list of lists of str
        Largest sets of detectors that do not differ significantly.
    alpha : float
        Significance level.
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

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with a row per pair of detectors, the better mean rank first.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        size = len(self.detectors)
        pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
        columns: dict[str, list[Any]] = {
            "metric": [self.metric] * len(pairs),
            "detector": [self.detectors[i] for i, _ in pairs],
            "other": [self.detectors[j] for _, j in pairs],
        }
        for name in (
            "nemenyi_p",
            "wilcoxon_p",
            "wilcoxon_holm_p",
            "rank_biserial",
            "cliffs_delta",
            "wins",
            "ties",
            "losses",
        ):
            matrix = getattr(self, name)
            columns[name] = [matrix[i][j] for i, j in pairs]
        return build_frame(columns, backend)


def compare_detectors(
    metric: str,
    detectors: Sequence[str],
    table: npt.NDArray[np.float64],
    *,
    higher_is_better: bool,
    left_out: Sequence[str] = (),
    alpha: float = ALPHA,
) -> Significance:
    """Run all tests on the values of one metric.

    Parameters
    ----------
    metric : str
        Metric id.
    detectors : sequence of str
        Names, best mean rank first.
    table : ndarray
        Series by detectors, in this order; rows with a NaN are left out.
    higher_is_better : bool
        Direction of the metric.
    left_out : sequence of str
        Detectors without any value.
    alpha : float
        Significance level of the critical difference and of the groups.
    """
    ranks = statistics.rank_table(table, higher_is_better=higher_is_better)
    pairs = pairwise(table, higher_is_better=higher_is_better)
    nemenyi = statistics.nemenyi(ranks)

    def groups(p_values: npt.NDArray[np.float64]) -> list[list[str]]:
        found = statistics.groups_alike(p_values, ranks.mean, alpha=alpha) if detectors else []
        return [[detectors[i] for i in group] for group in found]

    return Significance(
        metric,
        tuple(detectors),
        tuple(left_out),
        ranks.used,
        ranks.dropped,
        ranks.mean.tolist(),
        asdict(statistics.friedman(ranks)),
        statistics.nemenyi_difference(len(detectors), ranks.used, alpha=alpha),
        nemenyi.tolist(),
        pairs.p_raw.tolist(),
        pairs.p_holm.tolist(),
        pairs.rank_biserial.tolist(),
        pairs.cliffs_delta.tolist(),
        pairs.wins.tolist(),
        pairs.ties.tolist(),
        pairs.wins.T.tolist(),
        groups(nemenyi),
        groups(pairs.p_holm),
        alpha,
    )
