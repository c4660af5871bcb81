"""The frozen numbers of every metric: what they are computed on, where they lie, and how they are frozen anew.

``python tests/support/frozen_values.py`` (or ``make freeze``) adds the numbers of new metrics and replaces those of
metrics whose definition was raised; it refuses to replace any other.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

import pateval as pv
from pateval.catalog import catalogue, find_metrics

FILE = Path(__file__).parents[1] / "golden" / "frozen_values.json"
TOLERANCE = 1e-12
SETTINGS = [  # beside the defaults of every metric
    "pate(early=20,delay=5)",
    "pate(early=0..10,delay=0..10)",
    "pate(thresholds=50)",
    "pate_ap(early=20,delay=5)",
    "pate_f1(early=20,delay=5)",
    "vus_pr(window=40,variant=original)",
    "vus_roc(window=40,variant=timeeval)",
    "vus_pr(thresholds=none)",
    "range_based_f1(alpha=0.2,cardinality=reciprocal,bias=front)",
    "point_adjusted_k_f1(k=50)",
    "nab(profile=low_fn)",
    "event_wise_f_beta(beta=2)",
    "event_weighted_f1(weight=sqrt,delay=5)",
    "event_weighted_average_precision(base=2,delay=10)",
    "soft_event_f1(tolerance=4)",
    "szcore_event_f1(start_tolerance=2,end_tolerance=3,minimum_overlap=0.3,maximum_length=10,minimum_gap=3)",
    "operator_interest_f1(discovery=auto,observation=auto)",
    "detection_quality(near=7.5,thresholds=20)",
    "balanced_point_adjusted_f1(width=5)",
    "channel_ndcg(percent=150)",
]
UNIT_SCORES = "scores from 0 to 1"  # which one metric asks for


def inputs() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Labels, scores and predictions made by whole-number arithmetic, which no version of a library can change."""
    steps = np.arange(400)
    noise = ((steps * steps * 17 + steps * 7919) % 1009) / 1009
    found = {}
    for name, events in {
        "three events": [(60, 90), (150, 154), (300, 360)],
        "one event": [(200, 240)],
        "events at the ends": [(0, 12), (12 + 100, 130), (380, 400)],
    }.items():
        labels = np.zeros(steps.size, dtype=bool)
        for start, stop in events:
            labels[start:stop] = True
        # The detector is three steps late and rises by steps of 1/64, so that scores are tied here and there.
        late = np.concatenate([np.zeros(3), labels[:-3]])
        scores = np.floor(64 * (noise + 0.5 * late)) / 64
        found[name] = (labels, scores, scores >= 0.95)
    labels, scores, predictions = found["three events"]
    found[UNIT_SCORES] = (labels, scores / 2, predictions)
    found["three channels"] = tuple(np.column_stack(parts) for parts in zip(*list(found.values())[:3], strict=True))
    return found


def current_values() -> dict[str, dict[str, object]]:
    """Definition and numbers of every metric as the code has them now; None where a metric is undefined."""
    metrics = find_metrics([*catalogue(channels=True, emerging=True), *SETTINGS])
    values: dict[str, dict[str, object]] = {
        metric.id: {"definition": metric.definition, "values": {}} for metric in metrics
    }
    for name, given in inputs().items():
        wanted = [metric for metric in metrics if metric.channels == (given[0].ndim == 2)]
        if name == UNIT_SCORES:
            wanted = [metric for metric in wanted if metric.name == "detection_quality"]
        for metric, value in pv.evaluate(*given, metrics=wanted).items():
            values[metric]["values"][name] = None if math.isnan(value) else value
    return values


def frozen_values() -> dict[str, dict[str, object]]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def agree(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= TOLERANCE * max(1.0, abs(first))


def changed(frozen: dict[str, object], current: dict[str, object]) -> bool:
    """Whether any number differs."""
    before, now = frozen["values"], current["values"]
    return set(before) != set(now) or not all(agree(before[name], now[name]) for name in now)


def freeze() -> int:
    frozen, current = frozen_values(), current_values()
    for metric, entry in current.items():
        known = frozen.get(metric)
        if known is not None and known["definition"] == entry["definition"]:
            if changed(known, entry):
                print(
                    f"{metric}: the numbers changed; raise its definition in pateval/catalog/table.py first",
                    file=sys.stderr,
                )
                return 1
            current[metric] = known
    FILE.write_text(json.dumps(current, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(freeze())
