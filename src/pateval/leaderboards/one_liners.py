"""What needs no training, beside the detectors of a board: which of them is the best, and who beats it.

These are a constant, four rules of one line on the values of the series, and what random scores reach. They take part
in no rank and no test among the detectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation.paired import ALPHA, signed_ranks
from pateval.io import TableError
from pateval.io.files import open_table
from pateval.io.plan import Plan, make_plan, merged_notes
from pateval.io.units import list_units
from pateval.leaderboards import diagnostics
from pateval.leaderboards.arrays import by_name
from pateval.leaderboards.significance import holm
from pateval.rules import ONE_LINERS
from pateval.validation.wording import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from pateval.io import Reading, Unit
    from pateval.io.files import Source
    from pateval.io.layout import Layout
    from pateval.leaderboards.result import Leaderboard

CHANCE = "chance"
BEATS, IN_THE_MEAN, NOT = "yes", "mean", "no"
NO_ONE_LINERS = "no values of the series, and so no rule without training to beat (--one-liners FILE)"


def one_liner_plan(
    plan: Plan, given: object, reading: Reading, metrics: Sequence[str], base: Leaderboard | None = None
) -> Plan | None:
    """The jobs of one-liners on the series of a plan: those of given scores, else rules on the values in its files.

    None where there is nothing to compute; a board that grows has those of its series already, under its metrics.
    """
    if given is False:
        return None
    if given is None:
        before = None if base is None else base.one_liners
        return _rules_on(plan, before.series if before is not None and {*metrics} <= {*before.metrics} else ())
    # Files of their own, with columns and labels as `pateval detect` writes them.
    found = make_plan(
        given, replace(reading, label=None, score=None, series=None, detector=None, run=None, positive=None)
    )
    codes = [code for code, name in enumerate(found.series) if name in plan.series]
    if not codes:
        raise TableError(f"{found.where(0)}: the one-liners are on none of the series that the detectors are on")
    return by_name(found, np.isin(found.jobs.series_code, codes))


def _rules_on(plan: Plan, known: Collection[str]) -> Plan | None:
    """The rules on the series of a plan whose files have columns of values, each series once: in the last of them."""
    found: list[tuple[Source | Path, str, Layout, list[Unit]]] = []
    seen = {*known}
    for opened, layout in reversed(list(zip(plan.sources, plan.layouts, strict=True))):
        if not layout.values or layout.channels or layout.detector or layout.run:
            continue
        source = open_table(opened) if isinstance(opened, Path) else opened
        own = replace(layout, scores=ONE_LINERS, one_liners=True, affix="", notes=())
        if units := [unit for unit in list_units(source, own) if unit.series not in seen]:
            seen |= {unit.series for unit in units}
            found.insert(0, (opened, source.where, own, units))
    if not found:
        return None
    notes = [f"{where}: rules without training score {listed(own.values, 3)}" for _, where, own, _ in found]
    return Plan.of([(opened, own, units) for opened, _, own, units in found], merged_notes(notes))


def with_one_liners(board: Leaderboard, found: Leaderboard, *, is_given: bool) -> Leaderboard:
    """Put one-liners beside the detectors, or refuse scores that were given for other labels."""
    for sentence in diagnostics.other_series(board, diagnostics.jobs_of(found)) if is_given else ():
        raise TableError(f"the one-liners do not go with the detectors: {sentence}")
    return replace(board, one_liners=bare(found))


def bare(found: Leaderboard) -> Leaderboard:
    """One-liners without what is said of series and few detectors: the board that they stand beside says it."""
    rows = [
        {name: row[name] for name in ("series", *diagnostics.TRUTH)} for row in diagnostics.rows_of(found.series_table)
    ]
    return replace(found, series_table=diagnostics.series_table(rows), warnings=(), checks=(), coarse=())


@dataclass(frozen=True)
class Baseline:
    """The best of the one-liners of a board under one metric, and who beats it.

    A detector beats it where its mean is better on the series that both have and Wilcoxon's test, corrected by Holm for
    all detectors, says so; otherwise its mean alone may be better.
    """

    name: str
    mean: float
    beaten_by: dict[str, str]  # detector to one of the words above
    is_tested: bool = True  # whether there are several series

    def clause(self) -> str:
        """Say who beats it as a part of a sentence."""
        winners = [name for name, word in self.beaten_by.items() if word == (BEATS if self.is_tested else IN_THE_MEAN)]
        who = f"{len(winners)} of {len(self.beaten_by)} detectors" if winners else "no detector"
        best = f"{self.name} ({self.mean:.3f}), the best rule without training"
        if not self.is_tested:
            return (
                f"{who} {'have' if len(winners) > 1 else 'has'} a better value than {best}; one sample is no evidence"
            )
        number = "beat" if len(winners) > 1 else "beats"
        return f"{who} {number} {best} (Wilcoxon-Holm, {100 * ALPHA:g} %)"


def rows_of(board: Leaderboard, metric: str) -> dict[str, npt.NDArray[np.float64]]:
    """The values of each one-liner, and of chance, on the series of a board; empty where it has no one-liners."""
    beside = board.one_liners
    if beside is None or metric not in beside.metrics:
        return {}
    found = {}
    places = [board.series.index(name) for name in beside.series]
    for name, values in zip(beside.detectors, beside.values[:, :, beside.metrics.index(metric)], strict=True):
        found[name] = np.full(len(board.series), np.nan)
        found[name][places] = values
    if board.chance is not None:
        levels = board.chance.of_metric(board.metrics.index(metric))
        is_known = ~np.isnan(levels)
        # Where it hangs on the detector, its mean over detectors.
        sums, counts = np.where(is_known, levels, 0).sum(axis=0), is_known.sum(axis=0)
        found[CHANCE] = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def baseline_of(board: Leaderboard, metric: str) -> Baseline | None:
    """The best one-liner under a metric, by its mean, and who beats it; None where there are none."""
    rows = rows_of(board, metric)
    if not rows:
        return None
    sign = 1 if board.facts[metric].higher_is_better else -1
    means = mean_of_rows(board, metric)
    best = max(rows, key=lambda name: sign * means[name])
    m = board.metrics.index(metric)
    gains = {name: sign * (board.values[d, :, m] - rows[best]) for d, name in enumerate(board.detectors)}
    gains = {name: gain[~np.isnan(gain)] for name, gain in gains.items()}
    judged = [name for name in board.best_first(metric) if gains[name].size]
    tests = [signed_ranks(gains[name][None]) for name in judged]
    words: dict[str, str] = {}
    for name, p_value, (_, effect) in zip(judged, holm([p[0] for p, _ in tests]), tests, strict=True):
        is_evident = p_value < ALPHA and effect[0] > 0
        words[name] = NOT if gains[name].mean() <= 0 else BEATS if is_evident else IN_THE_MEAN
    return Baseline(best, means[best], words, is_tested=len(board.series) > 1)


def mean_of_rows(board: Leaderboard, metric: str) -> dict[str, float]:
    """The mean of each one-liner over its series."""
    return {name: float(np.nanmean(values)) for name, values in rows_of(board, metric).items()}


def one_liner_dict(board: Leaderboard) -> dict[str, Any]:
    """Means of the one-liners under each metric, and who beats the best of them, as plain data."""
    found: dict[str, Any] = {}
    for metric in board.metrics:
        if (best := baseline_of(board, metric)) is not None:
            found[metric] = {"means": mean_of_rows(board, metric), "best": best.name, "beaten_by": best.beaten_by}
    return found
