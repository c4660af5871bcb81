"""Printed numbers held against the labels of the data sets, and against each other.

A printed triple (PA-F1, PA-AUC-ROC, F1) of one detector comes from one set of predictions. With P anomalous and N
normal steps, f false alarms, t anomalous steps flagged and a of them after point adjustment::

    F1 = 2t / (P + t + f)     PA-F1 = 2a / (P + a + f)     PA-AUC-ROC = (a / P + 1 - f / N) / 2

Each printed value stands for an interval of half a unit in its last place. For every f the three intervals bound a and
t; where no f leaves room, no threshold on any score can have given the triple, and where some do, the share of flagged
steps is bounded on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pateval import plots
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, MissingInputError, PageTable, Report, Row, Verdict
from pateval.paper.inputs import LabelSet, labels_at_hand, score_runs
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, legend_above

_HALF_UNIT = 0.005
_ROUNDING = 1e-9
_NOTHING = (float("nan"), float("nan"))
_COMPARABLE = 10.0  # times as long, at most

Triple = tuple[float, float, float]


class Bounds(NamedTuple):
    """What a printed triple asks of the predictions behind it.

    Whether any predictions give it, or its first two values whatever F1; and the lowest and highest share of flagged
    steps and precision before adjustment, NaN where it is impossible.
    """

    possible: bool
    pair_possible: bool
    flagged: tuple[float, float]
    precision: tuple[float, float]


class PrintedTriple(NamedTuple):
    """One printed triple, what it asks for, and what the paper's rule flags in our scores of that detector."""

    dataset: str
    detector: str
    printed: Triple
    bounds: Bounds
    rule_flags: float | None

    @property
    def contradicted(self) -> bool:
        """Whether no predictions give the triple, or the rule flags a share outside the bounds."""
        low, high = self.bounds.flagged
        return not self.bounds.possible or (self.rule_flags is not None and not low <= self.rule_flags <= high)

    def row(self) -> Row:
        """The triple as a row of the table."""
        shares, bounds = [100 * share for share in self.bounds.flagged], self.bounds
        return {
            "data set": self.dataset,
            "detector": self.detector,
            **dict(zip(("PA-F1", "PA-AUC-ROC", "F1"), self.printed, strict=True)),
            "possible": bounds.possible,
            **dict(zip(("flagged from %", "flagged to %"), shares, strict=True)),
            **dict(zip(("precision from", "precision to"), bounds.precision, strict=True)),
            "rule flags %, ours": None if self.rule_flags is None else 100 * self.rule_flags,
        }


def consistency(settings: ExperimentSettings) -> Report:
    """Check every printed triple, share and time against the labels at hand."""
    at_hand, missing = labels_at_hand(paper.DATASETS, settings)
    if not at_hand:
        raise MissingInputError(f"consistency needs the labels of at least one data set of the paper: {missing[0]}")
    triples = list(printed_triples(at_hand, settings))
    shares = list(map(_share_row, at_hand.values()))
    caption = "Shares of flagged steps that each printed triple allows, and what the rule flags in our scores."
    ratios = {name: times.pate / times.auc_pr for name, times in paper.BENCHMARK_TIMES.items()}
    return Report(
        "consistency",
        {"contradicted": sum(triple.contradicted for triple in triples), "triples": len(triples)},
        tables=[
            PageTable("triples", "What each printed triple asks for", [triple.row() for triple in triples]),
            PageTable("shares", "Anomaly shares", shares),
        ],
        figures=[Figure("flagged", caption, partial(draw, triples))],
        verdicts=[
            Verdict("triples", [Cell(False, triple.contradicted) for triple in triples], {"triples": triples}),
            *(
                Verdict("share", [Cell(row["printed %"], row["counted %"], "within", 1 - _ROUNDING)], {"row": row})
                for row in shares  # rounded, or cut off
            ),
            Verdict("times", [Cell(_COMPARABLE, ratio, "below") for ratio in ratios.values()], {"ratios": ratios}),
        ],
        missing=missing,
    )


def _share_row(label_set: LabelSet) -> Row:
    """The share of anomalous steps and their number as printed, and as counted."""
    printed, labels = paper.BENCHMARK_TIMES[label_set.name], label_set.labels
    shares = {"printed %": printed.anomalous_percent, "counted %": 100 * float(labels.mean())}
    return {"data set": label_set.name, **shares, "printed steps": printed.steps, "steps": labels.size}


def printed_triples(at_hand: dict[str, LabelSet], settings: ExperimentSettings) -> Iterator[PrintedTriple]:
    """Every detector on every data set whose labels are at hand."""
    flagged = {
        (dataset, detector): float(first.flagged.mean())
        for dataset, runs in score_runs(settings, paper.DATASETS)
        for detector, (first, *_) in runs.items()
        if first.flagged is not None
    }
    adjusted, area, plain = (paper.IMPACT_VALUES[metric] for metric in ("PA-F1", "PA-AUC-ROC", "Standard-F1"))
    for dataset, label_set in at_hand.items():
        truth = label_set.whole_windows()
        anomalous = int(np.count_nonzero(truth))
        triples = zip(adjusted[dataset], area[dataset], plain[dataset], strict=True)
        for detector, printed in zip(paper.DETECTORS, triples, strict=True):
            bounds = triple_bounds(printed, anomalous, truth.size - anomalous)
            yield PrintedTriple(dataset, detector, printed, bounds, flagged.get((dataset, detector)))


def triple_bounds(printed: Triple, anomalous: int, normal: int) -> Bounds:
    """What a printed (PA-F1, PA-AUC-ROC, F1) asks of predictions on labels with so many anomalous and normal steps."""
    false_alarms = np.arange(normal + 1, dtype=np.float64)
    (low_f1, high_f1), (low_area, high_area), (low_plain, high_plain) = (
        (max(value - _HALF_UNIT, 0.0), min(value + _HALF_UNIT, 1.0)) for value in printed
    )

    def hits(f1: float) -> Any:
        """Steps found that give an F1 with so many false alarms: F1 = 2h / (P + h + f), solved for h."""
        return f1 * (anomalous + false_alarms) / (2 - f1)

    adjusted_low = np.maximum(hits(low_f1), anomalous * (2 * low_area - 1 + false_alarms / normal))
    adjusted_high = np.minimum(hits(high_f1), anomalous * (2 * high_area - 1 + false_alarms / normal))
    adjusted_high = np.minimum(np.floor(adjusted_high + _ROUNDING), anomalous)
    pair = np.maximum(np.ceil(adjusted_low - _ROUNDING), 0) <= adjusted_high
    hits_low = np.ceil(hits(low_plain) - _ROUNDING)
    hits_high = np.minimum(np.floor(hits(high_plain) + _ROUNDING), adjusted_high)
    possible = pair & (hits_low <= hits_high)
    if not possible.any():
        return Bounds(False, bool(pair.any()), _NOTHING, _NOTHING)
    alarms, low, high = false_alarms[possible], hits_low[possible], hits_high[possible]
    steps = anomalous + normal
    return Bounds(
        True,
        True,
        (float((alarms + low).min() / steps), float((alarms + high).max() / steps)),
        (float((low / np.maximum(alarms + low, 1)).min()), float((high / np.maximum(alarms + high, 1)).max())),
    )


def draw(triples: list[PrintedTriple]) -> Any:
    """Bars of possible shares, with the rule's share as a mark."""
    ax = plots.panels(size=(6.6, 1.0 + 0.24 * len(triples)))[0, 0]
    looks: dict[str, Any] = {"color": CATEGORY_COLOURS["delayed"], "edgecolor": INK, "linewidth": 0.6, "height": 0.55}
    for place, triple in enumerate(triples):
        low, high = (100 * share for share in triple.bounds.flagged)
        if triple.bounds.possible:
            ax.barh(place, high - low, left=low, label="possible" if place == 0 else None, **looks)
        else:
            ax.text(0.08, place, "no predictions give the printed triple", va="center", fontsize=7, color=ALARM)
    known = [(100 * triple.rule_flags, y) for y, triple in enumerate(triples) if triple.rule_flags is not None]
    if known:
        marks = {"linestyle": "none", "marker": "D", "markersize": 5, "color": INK, "markerfacecolor": "white"}
        ax.plot(*zip(*known, strict=True), label="flagged by the rule in our scores", **marks)
    ax.set_yticks(range(len(triples)), [f"{triple.dataset}  {triple.detector}" for triple in triples])
    for label, triple in zip(ax.get_yticklabels(), triples, strict=True):
        label.set_color(ALARM if triple.contradicted else INK)
    ax.set_ylim(len(triples) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("steps flagged (%)")
    legend_above(ax)
    return ax
