"""Outcomes in as they come, arrays out in the order of the plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pateval.leaderboards.bootstrap import Interval
from pateval.leaderboards.diagnostics import coarse_detectors
from pateval.leaderboards.pooled import SAMPLED_SERIES, common_thresholds
from pateval.leaderboards.result import Leaderboard, Timing
from pateval.leaderboards.tasks import is_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.leaderboards.plan import Plan
    from pateval.leaderboards.result import MetricFacts
    from pateval.leaderboards.tasks import Outcome


class Grid:
    """Detectors by series by metrics, filled in any order; what comes out does not depend on it.

    Parameters
    ----------
    plan : Plan
        Gives the axes.
    metrics : sequence of str
        The third axis.
    """

    def __init__(self, plan: Plan, metrics: Sequence[str]) -> None:
        self._plan = plan
        self._metrics = tuple(metrics)
        self._rows = {name: index for index, name in enumerate(plan.detectors)}
        self._columns = {name: index for index, name in enumerate(plan.series)}
        shape = (len(self._rows), len(self._columns), len(self._metrics))
        self._values = np.full(shape, np.nan)
        self._present = np.zeros(shape[:2], dtype=np.bool_)
        self._codes = np.zeros(shape, dtype=np.int32)
        self._texts: dict[str, int] = {"": 0}
        self._intervals: dict[tuple[str, str], Interval] = {}
        self._broken: dict[tuple[str, str], list[str]] = {}
        self._samples: dict[str, list[npt.NDArray[np.float64]]] = {}
        self._levels: dict[tuple[str, str], npt.NDArray[np.float64]] = {}

    def add(self, outcome: Outcome) -> None:
        """Take in the values of one job."""
        place = self._rows[outcome.detector], self._columns[outcome.series]
        self._present[place] = True
        for m, metric in enumerate(self._metrics):
            cell = outcome.cells.get(metric)
            self._values[(*place, m)] = math.nan if cell is None else cell.value
            reason = outcome.failure if cell is None else cell.reason
            self._codes[(*place, m)] = self._texts.setdefault(reason, len(self._texts))
        if outcome.sample is not None and place[1] < SAMPLED_SERIES:
            self._samples.setdefault(outcome.detector, []).append(outcome.sample)
        broken = {cell.reason: metric for metric, cell in outcome.cells.items() if is_failure(cell)}
        if broken:
            lines = [f"{metric} {reason}" for reason, metric in broken.items()]
            self._broken[outcome.detector, outcome.series] = lines

    def add_chance(self, outcome: Outcome) -> None:
        """Take in what random scores reach on one series, for one version of its labels."""
        if outcome.cells:
            found = [outcome.cells[metric].value for metric in self._metrics]
            self._levels[outcome.series, outcome.labels] = np.array(found)

    def add_limits(self, outcome: Outcome) -> None:
        """Take in confidence limits over the events of the only series."""
        for metric in self._metrics:
            if f"{metric} low" in outcome.cells:
                ends = outcome.cells[f"{metric} low"].value, outcome.cells[f"{metric} high"].value
                self._intervals[outcome.detector, metric] = Interval(*ends)

    def thresholds(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return thresholds common to all series of each detector."""
        return {detector: common_thresholds(samples) for detector, samples in self._samples.items()}

    def board(self, facts: Mapping[str, MetricFacts], outcomes: Sequence[Outcome]) -> Leaderboard:
        """Put the leaderboard together; ``outcomes`` are in the order of the plan."""
        chance = np.full(self._values.shape, np.nan) if self._levels else None
        if chance is not None:
            for outcome in outcomes:
                level = self._levels.get((outcome.series, outcome.labels))
                if level is not None:
                    chance[self._rows[outcome.detector], self._columns[outcome.series]] = level
        coarse = coarse_detectors(outcomes)
        return Leaderboard(
            tuple(self._rows),
            tuple(self._columns),
            self._metrics,
            self._values,
            self._present,
            self._codes,
            tuple(self._texts),
            {metric: facts[metric] for metric in self._metrics},
            chance=chance,
            intervals=self._intervals,
            coarse=tuple(name for name in self._rows if name in coarse),
            timings=[
                Timing(each.detector, each.series, each.steps, each.seconds, not each.computed) for each in outcomes
            ],
            notes=self._plan.notes,
            failures=tuple(self._failures(outcomes)),
        )

    def _failures(self, outcomes: Sequence[Outcome]) -> Iterator[str]:
        """One line per file that cannot be used, and per series that failed."""
        for failure in self._plan.failures:
            yield failure.reason
        bad: dict[str, list[str]] = {}
        for job, outcome in zip(self._plan.jobs, outcomes, strict=True):
            if outcome.bad_input:
                bad.setdefault(self._plan.where(job), []).append(outcome.failure)
        for lines in bad.values():
            yield lines[0] + (f" (and {len(lines) - 1} more series of this file)" if len(lines) > 1 else "")
        for outcome in outcomes:
            lines = self._broken.get((outcome.detector, outcome.series), [])
            if outcome.failure and not outcome.bad_input:
                lines = [outcome.failure]
            for line in lines:
                yield f"detector {outcome.detector!r}, series {outcome.series!r}: {line}"
