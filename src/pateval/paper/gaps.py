"""Cells of the big table that are not close to the printed ones, and the experiments that look into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import NamedTuple

import numpy as np

from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.evaluation.threshold_search import best_threshold
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, Row
from pateval.paper.inputs import PAPER_METRICS, THRESHOLDED, Runs, Scored
from pateval.pate.score import pate

CLOSE = 0.03
# Shares of the steps that are tried instead of the configured one, in per cent.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)

Values = dict[str, float]
# Detector and metric of a cell.
Place = tuple[str, str]


class Gap(NamedTuple):
    """A cell that is not close to the printed value, the values of all seeds, and what was tried on the first of them.

    The deviation over subsets of machines; for PA-F1 and F1 the best value that any threshold gives, all labels known;
    for metrics of predictions the share of steps configured, in per cent, and their values where other shares are
    flagged; for PATE its mean over the buffers 0 and 100, the default of the authors' package.
    """

    dataset: str
    detector: str
    metric: str
    printed: float
    seeds: list[float]
    machines: float | None = None
    best: float | None = None
    configured: float | None = None
    shares: dict[float, Values] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
    zero_included: float | None = None

    @property
    def found(self) -> float:
        """The median over seeds."""
        return median(self.seeds)

    @property
    def why(self) -> str:
        """What the experiments say."""
        said = []
        if self.machines is not None and abs(self.found - self.printed) <= 2 * self.machines:
            spread = f"two deviations {2 * self.machines:.2f}"
            said.append(f"within the spread over machines, of which 9 are missing ({spread})")
        if close := sum(abs(value - self.printed) <= CLOSE for value in self.seeds):
            said.append(f"{close} of {len(self.seeds)} seeds come within {CLOSE:.2f}")
        if self.zero_included is not None and abs(self.zero_included - self.printed) <= CLOSE:
            said.append(f"with the buffer 0 included, the default of the authors' package, {self.zero_included:.2f}")
        if self.best is not None and self.best < self.printed - 0.005:
            said.append(f"no threshold on these scores gives it: the best is {self.best:.2f}")
        elif self.shares:
            said.append(self.at_another_share())
        tried = "" if self.machines is None else ", and no subset of machines"
        return "; ".join(said) or f"no seed gives it ({len(self.seeds)} tried){tried}"

    def at_another_share(self) -> str:
        """Which share of flagged steps would give the printed value, and what becomes of the other cells then."""
        share = min(self.shares, key=lambda tried: abs(self.shares[tried][self.metric] - self.printed))
        value = self.shares[share][self.metric]
        if abs(value - self.printed) > CLOSE:
            return f"none of the shares tried ({', '.join(f'{tried:g}' for tried in sorted(self.shares))} %) gives it"
        others = [
            f"{metric} {self.shares[share][metric]:.2f} for {given:.2f}"
            for metric in THRESHOLDED
            if metric != self.metric
            and (given := paper.impact_cell(self.dataset, self.detector, metric)) is not None
            and abs(self.shares[share][metric] - given) > CLOSE
        ]
        said = f"flagging {share:g} % instead of {self.configured:g} % gives {value:.2f}"
        return said + (f", but then {' and '.join(others)}" if others else "")

    def row(self) -> Row:
        """The gap as a row of the table."""
        named = dict(zip(("data set", "detector", "metric", "printed"), self[:4], strict=True))
        ours = {"ours": self.found, "lowest": min(self.seeds), "highest": max(self.seeds), "runs": len(self.seeds)}
        return named | ours | {"best": self.best, "why": self.why}


def find_gaps(dataset: str, scored: Runs, cells: Mapping[Place, Cell], spread: Mapping[Place, float]) -> Iterator[Gap]:
    """Look into every cell that is not close to the printed value."""
    for detector, (first, *_) in scored.items():
        far = {metric: cell for (who, metric), cell in cells.items() if who == detector and not cell.agrees}
        shares = _at_shares(first) if set(far) & set(THRESHOLDED) else {}
        for metric, cell in far.items():
            seeds = np.ravel(cell.found).tolist()
            gap = Gap(dataset, detector, metric, cell.printed, seeds, spread.get((detector, metric)))
            if metric in ("PA-F1", "Standard-F1"):
                best = best_threshold(first.labels, first.scores, metric=paper.IMPACT_METRICS[metric])
                gap = gap._replace(best=best.value)
            if metric in THRESHOLDED:
                configured = threshold_ratio(paper.DETECTOR_NAMES[detector], dataset)
                gap = gap._replace(configured=configured, shares=shares)
            if metric == "PATE":
                gap = gap._replace(zero_included=pate(first.labels, first.scores))
            yield gap


def _at_shares(first: Scored) -> dict[float, Values]:
    """Metrics of predictions that flag other shares of training and test scores together."""
    metrics = [PAPER_METRICS[metric] for metric in THRESHOLDED]
    found = {}
    for percent in SHARES:
        threshold = first.threshold_at(percent)
        if threshold is not None:
            values = evaluate(first.labels, first.scores, first.scores > threshold, metrics=metrics).values()
            found[percent] = dict(zip(THRESHOLDED, map(float, values), strict=True))
    return found
