"""Mean ranks of the five detectors under each metric, from the printed table and from our scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation import evaluate
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.leaderboards import statistics as stats
from pateval.paper import paper_tables as paper
from pateval.paper.document import (
    ADDED,
    DIFFERS,
    REPRODUCES,
    ExperimentSettings,
    Figure,
    Report,
    ReportTable,
    Verdict,
)
from pateval.paper.score_folders import datasets_in, has_scores, read_dataset, score_folder

_OURS = {
    "PATE": f"pate(early={paper.IMPACT_BUFFER},delay={paper.IMPACT_BUFFER})",
    "PA-F1": "point_adjusted_f1",
    "Standard-F1": "point_f1",
    "PA-AUC-ROC": "pa_auc_roc",
    "AUC-ROC": "auc_roc",
    "VUS-ROC": f"vus_roc(window={paper.IMPACT_VUS_WINDOW},variant=original)",
}
_TIES = ("mean", "lowest", "highest", "dense")


@dataclass(frozen=True)
class PrintedRankTest:
    """Mean ranks under one metric, and who cannot be told apart; what a critical-difference diagram needs."""

    metric: str
    detectors: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    nemenyi_difference: float
    nemenyi_groups: tuple[tuple[str, ...], ...]
    series_used: int
    alpha: float = 0.05

    @property
    def wilcoxon_groups(self) -> tuple[tuple[str, ...], ...]:
        """Four data sets are too few for Wilcoxon's test: everyone is in one group."""
        return (self.detectors,)

    def rank(self, detector: str) -> float:
        """Mean rank of one detector."""
        return self.mean_ranks[self.detectors.index(detector)]


@dataclass(frozen=True)
class PrintedRanks:
    """Mean ranks by metric.

    Attributes
    ----------
    printed : dict of str to PrintedRankTest
        From the paper's printed table.
    ours : dict of str to PrintedRankTest
        From score files, where there are any.
    our_values : dict of str to dict
        The values behind them: metric, then data set, then one value per detector.
    our_datasets : tuple of str
        Data sets behind ``ours``.
    first_two_by_ties : dict of str to tuple of float
        Mean ranks of Transformer and LSTM under PATE, by rule for ties.
    """

    printed: dict[str, PrintedRankTest]
    ours: dict[str, PrintedRankTest]
    our_values: dict[str, dict[str, list[float]]]
    our_datasets: tuple[str, ...]
    first_two_by_ties: dict[str, tuple[float, float]]

    def exact(self, metric: str) -> bool:
        """Whether all mean ranks that the paper states for a metric follow from its table, to both decimals."""
        return all(
            _rounded(self.printed[metric].rank(detector)) == stated
            for detector, stated in paper.MEAN_RANKS[metric].items()
        )


def compute(settings: ExperimentSettings) -> PrintedRanks:
    """Rank the printed table, and our scores where there are any."""
    printed = {metric: rank_test(metric, paper.impact_table(metric)) for metric in paper.IMPACT_VALUES}
    transformer, lstm = paper.DETECTORS.index("Transformer"), paper.DETECTORS.index("LSTM")
    table = np.array(paper.impact_table("PATE"))
    ties = {}
    for rule in _TIES:
        mean = _ranks(table, rule).mean(axis=0)
        ties[rule] = float(mean[transformer]), float(mean[lstm])
    values: dict[str, dict[str, list[float]]] = {}
    datasets: list[str] = []
    if has_scores(settings):
        folder = score_folder(settings, "ranks")
        for dataset in datasets_in(folder):
            scored = read_dataset(folder, dataset)
            if set(scored) != set(paper.DETECTORS) or any(run.flagged is None for run in scored.values()):
                settings.tell(f"{dataset}: not all five detectors with their thresholds are here; left out")
                continue
            settings.tell(f"scoring {dataset}")
            datasets.append(dataset)
            for detector in paper.DETECTORS:
                run = scored[detector]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", CoarseScoresWarning)
                    found = evaluate(
                        run.labels,
                        run.scores,
                        run.flagged,
                        metrics=list(_OURS.values()),
                    )
                for metric, value in zip(_OURS, found.values(), strict=True):
                    values.setdefault(metric, {}).setdefault(dataset, []).append(float(value))
    ours = {metric: rank_test(metric, list(by_dataset.values())) for metric, by_dataset in values.items()}
    return PrintedRanks(printed, ours, values, tuple(datasets), ties)


def rank_test(metric: str, table: Sequence[Sequence[float]]) -> PrintedRankTest:
    """Mean ranks of a table of data sets by detectors, with Nemenyi's critical difference and groups.

    Examples
    --------
    >>> test = rank_test("PATE", paper.impact_table("PATE"))
    >>> test.detectors[0], test.mean_ranks[0], round(test.nemenyi_difference, 2)
    ('Transformer', 1.25, 3.05)
    """
    ranks = stats.rank_table(table)
    order = np.argsort(ranks.mean, kind="stable")
    names = tuple(paper.DETECTORS[place] for place in order)
    groups: tuple[tuple[str, ...], ...] = (names,)
    if ranks.used > 1:
        alike = stats.groups_alike(stats.nemenyi(ranks), ranks.mean)
        groups = tuple(tuple(paper.DETECTORS[place] for place in group) for group in alike)
    return PrintedRankTest(
        metric,
        names,
        tuple(float(ranks.mean[place]) for place in order),
        stats.nemenyi_difference(len(paper.DETECTORS), ranks.used),
        groups,
        ranks.used,
    )


def _ranks(table: npt.NDArray[np.float64], ties: str) -> npt.NDArray[np.float64]:
    """PrintedRanks within each row, 1 for the highest, under one of the usual rules for ties."""
    above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
    level = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    if ties == "dense":
        return np.array([[1.0 + np.unique(row[row > value]).size for value in row] for row in table])
    extra = {"mean": (level - 1) / 2, "lowest": 0 * level, "highest": level - 1}[ties]
    return 1.0 + above + extra


def _rounded(rank: float) -> float:
    """Two decimals as the paper prints them: 1.875 is 1.88 and 1.625 is 1.62."""
    return round(rank, 2)


def report(found: PrintedRanks) -> Report:
    """Tables of mean ranks, and both kinds of figure."""
    difference = found.printed["PATE"].nemenyi_difference
    spread = {metric: test.mean_ranks[-1] - test.mean_ranks[0] for metric, test in found.printed.items()}
    pate_first, pate_second = (found.printed["PATE"].rank(name) for name in ("Transformer", "LSTM"))
    told_apart = [metric for metric, width in spread.items() if width > difference]
    verdicts = [
        Verdict(
            "mean ranks under PA-F1",
            _stated("PA-F1"),
            _listed(found.printed["PA-F1"]),
            REPRODUCES if found.exact("PA-F1") else DIFFERS,
            "Ties share the mean of their places, on the values as printed: unrounded values would hardly tie.",
        ),
        Verdict(
            "mean ranks under PATE",
            _stated("PATE"),
            _listed(found.printed["PATE"]),
            REPRODUCES if found.exact("PATE") else DIFFERS,
            f"The printed table gives {pate_first:.2f} and {pate_second:.2f} for the first two under every rule for "
            "ties "
            f"({'; '.join(f'{rule} {one:.2f}, {two:.2f}' for rule, (one, two) in found.first_two_by_ties.items())}): "
            "no two detectors tie there. The stated ranks need one tie between Transformer and LSTM on one data set, "
            "so they come from another rounding or another version of the table.",
        ),
        Verdict(
            "detectors told apart on four data sets",
            "not tested",
            f"critical difference {difference:.2f}",
            ADDED,
            "Nemenyi's test at 5 %. The extremes lie "
            f"{', '.join(f'{width:.2f} ({name})' for name, width in spread.items())} apart; first and last are told "
            f"apart under {', '.join(told_apart) or 'none of them'}.",
        ),
    ]
    tables = [_mean_table("printed", "Mean ranks from the printed table", found.printed, stated=True)]
    figures = [
        Figure(
            "ranks",
            "Mean ranks from the printed table; the metric decides who leads.",
            lambda: draw_ranks(found.printed),
        ),
        Figure("critical-difference-pate", "PATE, printed table.", lambda: draw_difference(found.printed["PATE"])),
        Figure("critical-difference-pa-f1", "PA-F1, printed table.", lambda: draw_difference(found.printed["PA-F1"])),
    ]
    text = [
        (
            "Rank 1 is the best detector on a data set, ties share the mean of their places, and the mean runs over "
            "SMD, MSL, SWaT and PSM. Four data sets are few: a difference of mean ranks below the critical difference "
            "is no evidence."
        ),
    ]
    if found.ours:
        tables.append(
            _mean_table(
                "ours", f"Mean ranks from our scores on {', '.join(found.our_datasets)}", found.ours, stated=False
            )
        )
        tables.append(
            ReportTable(
                "our-values",
                "The values behind our ranks",
                ["metric", "data set", *paper.DETECTORS],
                [[metric, name, *row] for metric, sets in found.our_values.items() for name, row in sets.items()],
                decimals=3,
            )
        )
        figures.append(
            Figure(
                "ranks-ours",
                f"Mean ranks from our scores on {', '.join(found.our_datasets)}.",
                lambda: draw_ranks(found.ours),
            )
        )
        text.append(
            "Our scores are those of detectors trained with the paper's protocol, one seed, on the data that could be "
            f"had ({', '.join(found.our_datasets)}); data sets are laid end to end, and predictions are the steps "
            "strictly above the configured percentile of training and test scores."
        )
    return Report(
        "Mean ranks",
        "PA-F1's mean ranks follow exactly from the printed table; PATE's first two do not.",
        text,
        tables=tables,
        figures=figures,
        verdicts=verdicts,
    )


def _mean_table(name: str, caption: str, tests: dict[str, PrintedRankTest], *, stated: bool) -> ReportTable:
    rows: list[list[Any]] = []
    for metric, test in tests.items():
        rows.append(
            [
                metric,
                "from the table" if stated else "from our values",
                *(test.rank(detector) for detector in paper.DETECTORS),
            ]
        )
        if stated and metric in paper.MEAN_RANKS:
            given = [paper.MEAN_RANKS[metric].get(detector) for detector in paper.DETECTORS]
            rows.append([metric, "stated in the text", *given])
            away = [
                None if value is None else test.rank(detector) - value
                for detector, value in zip(paper.DETECTORS, given, strict=True)
            ]
            rows.append([metric, "difference", *away])
    return ReportTable(name, caption, ["metric", "ranks", *paper.DETECTORS], rows, decimals=3)


def _listed(test: PrintedRankTest) -> str:
    return ", ".join(f"{name} {rank:.2f}" for name, rank in zip(test.detectors, test.mean_ranks, strict=True))


def _stated(metric: str) -> str:
    return ", ".join(f"{name} {rank:.2f}" for name, rank in paper.MEAN_RANKS[metric].items())


def draw_ranks(tests: dict[str, PrintedRankTest]) -> Any:
    """Heat map of mean ranks: metrics by detectors."""
    from pateval import plots

    return plots.heat_map(
        [[test.rank(detector) for detector in paper.DETECTORS] for test in tests.values()],
        rows=list(tests),
        columns=list(paper.DETECTORS),
        value_label="mean rank (1 is best)",
        limits=(1, len(paper.DETECTORS)),
    )


def draw_difference(test: PrintedRankTest) -> Any:
    """Critical-difference diagram of one metric."""
    from pateval import plots

    return plots.critical_difference(test)
