"""Cells of the big table that are not close to the printed ones, and the experiments that look into them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.evaluation.threshold_search import best_threshold
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.paper import paper_tables as paper
from pateval.paper.chance import PAPER_METRICS
from pateval.paper.impact_values import CLOSE, THRESHOLDED, Values, printed
from pateval.paper.score_folders import Scored, thresholds_at
from pateval.pate.score import pate

# Shares of the steps that are tried instead of the configured one, in per cent.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
# Machines vary enough for a spread over subsets to mean something, and only of SMD some are missing.
SUBSET_DATASET = "SMD"


@dataclass(frozen=True)
class Gap:
    """A cell of seed 0 that lies further than .03 from the printed value, and what was tried to explain it.

    Attributes
    ----------
    dataset, detector, metric : str
        The cell.
    printed, found : float
        The paper's value, and ours of seed 0.
    seeds : tuple of float
        Values of all runs.
    machines : float or None
        Standard deviation over subsets of machines.
    best : float or None
        The best value of PA-F1 or F1 that any threshold gives on these scores, all labels known.
    configured : float or None
        Share of the steps that the rule flags, in per cent, for metrics of predictions.
    shares : dict of float to dict
        By other shares: the metrics of predictions.
    zero_included : float or None
        PATE as the mean over the buffers 0 and 100, the default of the authors' package.
    earlier : bool
        Whether it is a cell of the earlier training.
    """

    dataset: str
    detector: str
    metric: str
    printed: float
    found: float
    seeds: tuple[float, ...]
    machines: float | None
    best: float | None
    configured: float | None = None
    shares: dict[float, dict[str, float]] = field(default_factory=dict)
    zero_included: float | None = None
    earlier: bool = False

    @property
    def why(self) -> str:
        """What the experiments say."""
        away = abs(self.found - self.printed)
        said = []
        if self.machines is not None and away <= 2 * self.machines:
            said.append(
                f"within the spread over machines, of which 9 are missing (two deviations {2 * self.machines:.2f})"
            )
        if any(abs(value - self.printed) <= CLOSE for value in self.seeds):
            said.append(f"another run comes within {CLOSE:.2f}")
        if self.zero_included is not None and abs(self.zero_included - self.printed) <= CLOSE:
            said.append(f"with the buffer 0 included, the default of the authors' package, {self.zero_included:.2f}")
        if self.best is not None and self.best < self.printed - 0.005:
            said.append(f"no threshold on these scores gives it: the best is {self.best:.2f}")
        elif self.shares:
            said.append(self.at_another_share())
        return "; ".join(said) or (
            f"{len(self.seeds)} seeds"
            + ("" if self.machines is None else " and subsets of machines")
            + " do not give it"
        )

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
            and (given := printed(self.dataset, self.detector, metric)) is not None
            and abs(self.shares[share][metric] - given) > CLOSE
        ]
        said = f"flagging {share:g} % instead of {self.configured:g} % gives {value:.2f}"
        return said + (f", but then {' and '.join(others)}" if others else "")


def find_gaps(
    dataset: str,
    scored: dict[str, list[Scored]],
    found: list[Values],
    known: list[Values],
    subsets: dict[tuple[str, str], tuple[float, float]],
) -> list[Gap]:
    """Look into every cell of the first run that is not close to the printed value; ``known`` are all trainings."""
    gaps = []
    for detector, (first, *_) in scored.items():
        mine = next(values for values in found if values.detector == detector)
        shares: dict[float, dict[str, float]] | None = None
        for metric in paper.IMPACT_VALUES:
            difference, value = mine.difference(metric), printed(dataset, detector, metric)
            if difference is None or value is None or not abs(difference) > CLOSE:
                continue
            best = configured = zero_included = None
            if metric in ("PA-F1", "Standard-F1"):
                best = best_threshold(first.labels, first.scores, metric=paper.IMPACT_METRICS[metric]).value
            if metric in THRESHOLDED:
                configured = threshold_ratio(paper.DETECTOR_NAMES[detector], dataset)
                shares = _at_shares(first) if shares is None else shares
            if metric == "PATE":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", CoarseScoresWarning)
                    zero_included = pate(first.labels, first.scores)
            gaps.append(
                Gap(
                    dataset,
                    detector,
                    metric,
                    value,
                    mine.values[metric],
                    tuple(values.values[metric] for values in known if values.detector == detector),
                    subsets.get((detector, metric), (0.0, None))[1] if dataset == SUBSET_DATASET else None,
                    best,
                    configured,
                    (shares or {}) if metric in THRESHOLDED else {},
                    zero_included,
                    mine.earlier,
                )
            )
    return gaps


def _at_shares(first: Scored) -> dict[float, dict[str, float]]:
    """Metrics of predictions that flag other shares of training and test scores together."""
    found = {}
    for percent, threshold in thresholds_at(first, SHARES).items():
        values = evaluate(
            first.labels,
            first.scores,
            first.scores > threshold,
            metrics=[PAPER_METRICS[metric] for metric in THRESHOLDED],
        )
        found[percent] = dict(zip(THRESHOLDED, map(float, values.values()), strict=True))
    return found
