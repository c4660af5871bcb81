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
from dataclasses import dataclass
from typing import Any

import numpy as np

from pateval.paper import paper_tables as paper
from pateval.paper.document import (
    DIFFERS,
    OPEN,
    REPRODUCES,
    ExperimentSettings,
    Figure,
    MissingInputError,
    Report,
    ReportTable,
    Verdict,
)
from pateval.paper.label_sets import LabelSet, labels_at_hand
from pateval.paper.score_folders import has_scores, read_dataset, score_folder

_HALF_UNIT = 0.005
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Bounds:
    """What a printed triple asks of the predictions behind it.

    Attributes
    ----------
    possible : bool
        Whether any predictions give the triple.
    pair_possible : bool
        Whether any give PA-F1 and PA-AUC-ROC, whatever F1.
    flagged : tuple of float
        Lowest and highest share of flagged steps; NaN where it is impossible.
    precision : tuple of float
        Lowest and highest precision before adjustment.
    """

    possible: bool
    pair_possible: bool
    flagged: tuple[float, float]
    precision: tuple[float, float]


@dataclass(frozen=True)
class TripleRow:
    """One printed triple, what it asks for, and what the paper's rule flags in our scores of that detector."""

    dataset: str
    detector: str
    printed: tuple[float, float, float]
    bounds: Bounds
    rule_flags: float | None

    @property
    def contradicted(self) -> bool:
        """Whether no predictions give the triple, or the rule flags a share outside the bounds."""
        if not self.bounds.possible:
            return True
        low, high = self.bounds.flagged
        return self.rule_flags is not None and not low <= self.rule_flags <= high


@dataclass(frozen=True)
class ShareRow:
    """Anomaly share and size of a data set: printed, and in the labels."""

    dataset: str
    printed_percent: int
    found_percent: float
    printed_steps: int
    found_steps: int


@dataclass(frozen=True)
class Consistency:
    """All checks.

    Attributes
    ----------
    triples : tuple of TripleRow
        Every detector on every data set whose labels are at hand.
    shares : tuple of ShareRow
        Those data sets' anomaly shares.
    time_ratios : dict of str to float
        Printed time of PATE over printed time of AUC-PR.
    missing : tuple of str
        A sentence per data set that could not be checked.
    """

    triples: tuple[TripleRow, ...]
    shares: tuple[ShareRow, ...]
    time_ratios: dict[str, float]
    missing: tuple[str, ...]


def compute(settings: ExperimentSettings) -> Consistency:
    """Check every printed triple and share against the labels at hand."""
    found, missing = labels_at_hand(paper.DATASETS, settings)
    if not found:
        raise MissingInputError(f"consistency needs the labels of at least one data set of the paper: {missing[0]}")
    flagged = _flagged_shares(settings)
    triples = tuple(
        TripleRow(
            label_set.name,
            detector,
            triple,
            triple_bounds(triple, *_counts(label_set)),
            flagged.get((label_set.name, detector)),
        )
        for label_set in found
        for place, detector in enumerate(paper.DETECTORS)
        for triple in [_triple(label_set.name, place)]
    )
    shares = tuple(
        ShareRow(
            label_set.name,
            paper.BENCHMARK_TIMES[label_set.name].anomalous_percent,
            100 * label_set.share,
            paper.BENCHMARK_TIMES[label_set.name].steps,
            label_set.labels.size,
        )
        for label_set in found
    )
    ratios = {name: times.pate / times.auc_pr for name, times in paper.BENCHMARK_TIMES.items()}
    return Consistency(triples, shares, ratios, tuple(missing))


def _triple(dataset: str, place: int) -> tuple[float, float, float]:
    adjusted, area, plain = (
        paper.IMPACT_VALUES[metric][dataset][place] for metric in ("PA-F1", "PA-AUC-ROC", "Standard-F1")
    )
    return adjusted, area, plain


def _counts(labels: LabelSet) -> tuple[int, int]:
    """Anomalous and normal steps within whole windows."""
    truth = labels.whole_windows()
    anomalous = int(np.count_nonzero(truth))
    return anomalous, truth.size - anomalous


def _flagged_shares(settings: ExperimentSettings) -> dict[tuple[str, str], float]:
    """Share of steps that the paper's rule flags in our scores, where there are any."""
    if not has_scores(settings):
        return {}
    folder = score_folder(settings, "consistency")
    return {
        (dataset, detector): float(scored.flagged.mean())
        for dataset in paper.DATASETS
        for detector, scored in read_dataset(folder, dataset).items()
        if scored.flagged is not None
    }


def triple_bounds(printed: tuple[float, float, float], anomalous: int, normal: int) -> Bounds:
    """What a printed (PA-F1, PA-AUC-ROC, F1) asks of predictions on labels with so many anomalous and normal steps.

    Examples
    --------
    A detector that finds all ten anomalous steps with no false alarm is possible; an adjusted F1 of .94 with an area
    of .91 is not, where anomalies are rare: the area leaves .82 of the steps found and the false alarms.

    >>> triple_bounds((1.0, 1.0, 1.0), 10, 90).possible
    True
    >>> triple_bounds((0.94, 0.91, 0.13), 4_000, 96_000).possible
    False
    """
    false_alarms = np.arange(normal + 1, dtype=np.float64)
    (low_f1, high_f1), (low_area, high_area), (low_plain, high_plain) = (
        (max(value - _HALF_UNIT, 0.0), min(value + _HALF_UNIT, 1.0)) for value in printed
    )
    adjusted_low = np.maximum(
        _hits(low_f1, anomalous, false_alarms), anomalous * (2 * low_area - 1 + false_alarms / normal)
    )
    adjusted_high = np.minimum(
        _hits(high_f1, anomalous, false_alarms), anomalous * (2 * high_area - 1 + false_alarms / normal)
    )
    adjusted_high = np.minimum(np.floor(adjusted_high + _ROUNDING), anomalous)
    pair = np.maximum(np.ceil(adjusted_low - _ROUNDING), 0) <= adjusted_high
    hits_low = np.ceil(_hits(low_plain, anomalous, false_alarms) - _ROUNDING)
    hits_high = np.minimum(np.floor(_hits(high_plain, anomalous, false_alarms) + _ROUNDING), adjusted_high)
    possible = pair & (hits_low <= hits_high)
    if not possible.any():
        nothing = (float("nan"), float("nan"))
        return Bounds(False, bool(pair.any()), nothing, nothing)
    alarms, low, high = false_alarms[possible], hits_low[possible], hits_high[possible]
    steps = anomalous + normal
    return Bounds(
        True,
        True,
        (float((alarms + low).min() / steps), float((alarms + high).max() / steps)),
        (float((low / np.maximum(alarms + low, 1)).min()), float((high / np.maximum(alarms + high, 1)).max())),
    )


def _hits(f1: float, anomalous: int, false_alarms: Any) -> Any:
    """Steps found that give an F1 with so many false alarms: F1 = 2h / (P + h + f), solved for h."""
    return f1 * (anomalous + false_alarms) / (2 - f1)


def report(found: Consistency) -> Report:
    """Triples, shares and time ratios, with the derivation in words."""
    verdicts = tuple(_verdicts(found))
    wrong = [row for row in found.triples if row.contradicted]
    return Report(
        "Printed numbers against labels and each other",
        f"{len(wrong)} of {len(found.triples)} printed triples are contradicted; "
        f"{sum(verdict.status == DIFFERS for verdict in verdicts)} statements do not hold in all.",
        (
            (
                "One set of predictions has t of the P anomalous steps flagged, a after point adjustment, and f false "
                "alarms among N normal steps. Then F1 = 2t / (P + t + f), PA-F1 = 2a / (P + a + f) and PA-AUC-ROC = "
                "(a/P + 1 − f/N) / 2. A value printed with two decimals is an interval of ±0.005. For every f from 0 "
                "to N the intervals bound a and t; what is left bounds the share of flagged steps, (t + f) / (P + N), "
                "and the precision, t / (t + f)."
            ),
            (
                "The last column of the table is the share that the paper's rule (scores strictly above the "
                "configured percentile of training and test scores together) flags in our own scores of that "
                "detector, where there are any. On SMD these are 19 of the 28 machines. The rule fixes the share of "
                "training and test scores together, so that the share of the test alone can differ: what contradicts "
                "a triple by its share does so under our scores, not under all."
            ),
        ),
        tables=(
            ReportTable(
                "triples",
                "What each printed triple asks for",
                [
                    "data set",
                    "detector",
                    "PA-F1",
                    "PA-AUC-ROC",
                    "F1",
                    "possible",
                    "flagged from %",
                    "flagged to %",
                    "precision from",
                    "precision to",
                    "rule flags %, ours",
                ],
                [
                    [
                        row.dataset,
                        row.detector,
                        *row.printed,
                        row.bounds.possible,
                        *(100 * share for share in row.bounds.flagged),
                        *row.bounds.precision,
                        None if row.rule_flags is None else 100 * row.rule_flags,
                    ]
                    for row in found.triples
                ],
            ),
            ReportTable(
                "shares",
                "Anomaly shares",
                ["data set", "printed %", "counted %", "printed steps", "steps"],
                [
                    [row.dataset, row.printed_percent, row.found_percent, row.printed_steps, row.found_steps]
                    for row in found.shares
                ],
            ),
        ),
        figures=(
            Figure(
                "flagged",
                "Shares of flagged steps that each printed triple allows, and what the rule flags in our scores.",
                lambda: draw(found),
            ),
        ),
        verdicts=verdicts,
    )


def _verdicts(found: Consistency) -> Iterator[Verdict]:
    wrong = [row for row in found.triples if row.contradicted]
    yield from map(_contradiction, wrong)
    yield Verdict(
        "all printed triples",
        f"{len(found.triples)} with labels at hand",
        f"{len(found.triples) - len(wrong)} not contradicted",
        REPRODUCES,
        "Not the same as reproduced: some predictions give all three values, at a share of flagged steps that "
        "nothing here contradicts.",
    )
    for share in found.shares:
        agrees = abs(share.found_percent - share.printed_percent) < 1  # rounded or cut off
        yield Verdict(
            f"anomaly share of {share.dataset}",
            f"{share.printed_percent} %",
            f"{share.found_percent:.2f} %",
            REPRODUCES if agrees else DIFFERS,
            "Counted in the published labels."
            if agrees
            else f"Counted in the published labels, {share.found_steps:,} steps, of which the paper's "
            f"{share.printed_steps:,} are those in whole windows of 100: it is the same data set, and the printed "
            "share is wrong.",
        )
    low, high = min(found.time_ratios.values()), max(found.time_ratios.values())
    yield Verdict(
        'PATE\'s time "comparable" to that of AUC-PR',
        "comparable",
        f"{low:.0f} to {high:.0f} times as long",
        DIFFERS,
        "Quotients of the paper's own table: "
        + ", ".join(f"{name} {ratio:.1f}" for name, ratio in found.time_ratios.items())
        + ". The experiment `timing` has ours.",
    )
    for sentence in found.missing:
        yield Verdict("what needs other labels", "-", "-", OPEN, sentence[0].upper() + sentence[1:] + ".")


def _contradiction(row: TripleRow) -> Verdict:
    printed = ", ".join(f"{value:.2f}" for value in row.printed)
    item = f"{row.detector} on {row.dataset}: (PA-F1, PA-AUC-ROC, F1)"
    if not row.bounds.possible:
        first = "the first two contradict each other: " if not row.bounds.pair_possible else ""
        return Verdict(
            item,
            f"({printed})",
            "impossible",
            DIFFERS,
            f"No predictions give it; {first}an area of {row.printed[1]:.2f} needs a/P = {2 * row.printed[1] - 1:.2f} "
            "+ f/N, and with anomalies this rare every false alarm that raises a/P costs more PA-F1 than it brings.",
        )
    low, high = row.bounds.flagged
    share = row.rule_flags or 0.0
    return Verdict(
        item,
        f"({printed})",
        f"{100 * low:.2f} to {100 * high:.2f} % flagged, precision {row.bounds.precision[0]:.2f} or more",
        DIFFERS,
        f"The rule flags {100 * share:.2f} % of the steps in our scores of this detector: with so many, PA-F1 cannot "
        "be that high and F1 that low at once.",
    )


def draw(found: Consistency) -> Any:
    """Bars of possible shares, with the rule's share as a mark."""
    from pateval import plots
    from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, legend_above

    rows = found.triples
    ax = plots.panels(size=(6.6, 1.0 + 0.24 * len(rows)))[0, 0]
    for place, row in enumerate(rows):
        low, high = (100 * share for share in row.bounds.flagged)
        if row.bounds.possible:
            ax.barh(
                place,
                high - low,
                left=low,
                height=0.55,
                color=CATEGORY_COLOURS["delayed"],
                edgecolor=INK,
                linewidth=0.6,
                label="possible" if place == 0 else None,
            )
        else:
            ax.text(0.08, place, "no predictions give the printed triple", va="center", fontsize=7, color=ALARM)
    known = [(100 * row.rule_flags, place) for place, row in enumerate(rows) if row.rule_flags is not None]
    if known:
        ax.plot(
            *zip(*known, strict=True),
            linestyle="none",
            marker="D",
            markersize=5,
            color=INK,
            markerfacecolor="white",
            label="flagged by the rule in our scores",
        )
    ax.set_yticks(range(len(rows)), [f"{row.dataset}  {row.detector}" for row in rows])
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_color(ALARM if row.contradicted else INK)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("steps flagged (%)")
    with plots.style():
        legend_above(ax)
    return ax
