"""Sections of the page "Where libraries disagree" on the newer metrics, and on a comparison with fresh cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from golden_rows import GOLDEN, figure, mask, prose, table

import pateval as pv

# Golden file, what it is, and where its reference departs from the definition.
REFERENCES = {
    "esa_events": (
        "event-wise F-beta, alarming precision, timing",
        "raises where nothing is predicted or no event is given, and divides by zero where no step is normal",
    ),
    "esa_channels": (
        "affected channels",
        "writes to its input",
    ),
    "event_weighted": (
        "event-weighted adjustment",
        "floors an inexact logarithm; its k counts steps, one more than our delay",
    ),
    "event_weighted_scores": (
        "event-weighted best F1 and average precision, PA-AUPRC",
        (
            "its best F1 also stops inside a tie, in the order of time, where no threshold lies; its average precision "
            "loses an event of one step at the end of the series; PA-AUPRC overwrites the caller's scores"
        ),
    ),
    "affiliation_chance": (
        "normalised and unbiased affiliation",
        (
            "takes chance from three random predictions without a seed, so two calls differ; 0/0 where nothing is "
            "predicted. The golden values have its random draws replaced by the mean that they tend to"
        ),
    ),
    "operator_interest": (
        "operator interest",
        "with an observation of 0 every step begins a new alert",
    ),
    "detection_quality": (
        "detection quality of scores",
        "its thresholds carry rounding errors, so a score on a threshold may fall on either side",
    ),
    "detection_quality_predictions": ("detection quality of predictions", "none found"),
    "channel_ranking": (
        "channel hit rate and NDCG",
        "its hit rate breaks ties by one arbitrary order; its NDCG of a single channel returns nothing",
    ),
    "confidence_consistency": (
        "confidence-consistency",
        (
            "adds 0.00000001 in several places, so values agree to six digits only; where a run holds nothing but "
            "0 and 1, the variance is swallowed"
        ),
    ),
    "balanced_point_adjusted": (
        "balanced point adjustment",
        "fails with a width of 0 and where every step is anomalous",
    ),
    "soft_event": ("soft events", "fails without events or detections; its F is NaN where nothing matches"),
    "szcore": ("SzCORE", "its precision is NaN where nothing is predicted"),
}


def references() -> Iterator[str]:
    """The newer metrics and the programs of their authors."""
    yield "## Newer metrics: where the authors' programs err"
    yield ""
    yield from prose(
        "What the programs answered is in `tests/golden/newer`, each line with its repository and commit, and our",
        "functions agree with all of it. Derived values come from a literal implementation of the definition,",
        "where the program fails or errs.",
    )
    yield ""
    body = []
    for file, (name, fault) in REFERENCES.items():
        rows = [json.loads(line) for line in (GOLDEN / "newer" / f"{file}.jsonl").read_text().splitlines()]
        origins = [entry["origin"] for row in rows for entry in row["expected"]]
        program = next(row["origin"]["repository"] for row in rows)
        body.append([name, program, str(origins.count("reference")), str(origins.count("derived")), fault])
    yield from table(["metric", "program", "its values", "derived", "where it departs from the definition"], body)
    scores, labels, inside = [0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]
    at_one, at_nought, stopped = (pv.event_weighted(labels, flagged).f1 for flagged in (scores, [1] * 4, inside))
    yield from prose(
        f"An example of a tie: scores {listed(scores)} with labels {listed(labels)}. The thresholds 1 and 0 give an F1",
        f"of {figure(at_one)} and {figure(at_nought)}, so the best is",
        f"{figure(pv.event_weighted_best_f1(labels, scores))}. Who goes through the steps one by one and stops after",
        f"the second finds {figure(stopped)}, which no threshold gives.",
    )
    yield ""
    yield from prose(
        "**We follow** the definitions: every distinct score is a threshold, powers are compared in whole numbers,",
        "ties count by the mean over their orders, chance is computed and not drawn.",
    )
    yield ""


def listed(values: list[Any]) -> str:
    """Values as a reader would write them."""
    return ", ".join(map(str, values))


def fresh_cases() -> Iterator[str]:
    """What a comparison with fresh cases found."""
    yield "## A comparison on fresh cases"
    yield ""
    yield from prose(
        "A later comparison on cases of its own found these. Its inputs are not in this repository: the numbers of",
        "cases are as it recorded them, what `pateval` gives is computed here.",
    )
    yield ""
    ones = [1] * 6
    labels, scores = mask([[40, 59]], 500), mask([[50, 69]], 500)
    pair, mean = (pv.pate(labels, scores, early=20, delay=20), pv.pate(labels, scores, early=(0, 20), delay=(0, 20)))
    late, after = mask([[10, 19], [40, 49]], 60), mask([[13, 13], [52, 52]], 60)
    body = [
        [
            "TSB-AD, range F1",
            "sees no run in a vector of ones",
            f"`range_based` of six ones with themselves: {figure(pv.range_based(ones, ones).f1)}",
        ],
        [
            "tsadmetrics, `auc_pr`",
            "differs on 491 of 697 cases",
            f"`auc_pr` is the trapezoid area and `average_precision` the sum of steps: {both_areas()}",
        ],
        [
            "tsadmetrics, mean delay",
            "counts predictions after the event",
            (
                "`mean_detection_delay` of events 10-19 and 40-49 with alarms at 13 and 52: "
                f"{figure(pv.mean_detection_delay(late, after))}, as the second event is missed"
            ),
        ],
        [
            "tsadmetrics, delay k",
            "is ours + 1",
            "`delay_adjusted(delay=k)` allows k steps after the first",
        ],
        [
            "tsadmetrics, PATE",
            "takes the buffers e and d for the sets {0, e} and {0, d}",
            (
                f"event 40-59, predicted 50-69: {figure(pair)} with `early=20, delay=20`, "
                f"{figure(mean)} with `early=(0, 20), delay=(0, 20)`"
            ),
        ],
        [
            "aeon, `f_score_at_k_ranges`",
            "differs on 68 cases",
            "`f1_at_k_ranges` follows TimeEval, where the metric comes from",
        ],
        [
            "TimeEval and aeon, constant scores",
            "give 0",
            "the value of the definition; see the next section",
        ],
        [
            "tsadmetrics, `latency_sparsity_aware`",
            "differs where windows neighbour",
            "[left-out.md](left-out.md) says where ours agrees",
        ],
    ]
    yield from table(["whose", "what was found", "`pateval`"], body)


def both_areas() -> str:
    """Trapezoid and average precision of one input."""
    labels, scores = np.array([0, 1, 1, 0, 0, 1]), np.array([0.1, 0.9, 0.4, 0.8, 0.3, 0.2])
    areas = pv.auc_pr(labels, scores), pv.average_precision(labels, scores)
    return f"labels {listed(labels.tolist())} with scores {listed(scores.tolist())}: {' and '.join(map(figure, areas))}"
