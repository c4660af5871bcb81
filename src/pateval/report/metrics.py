"""What a page says of a metric: what it rewards, what a constant score gets, and how it can be gamed on these data."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pateval.auditing import BATTERY, audit
from pateval.catalog import PROPERTIES
from pateval.catalog.metric import Metric
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import mean_value, values_of
from pateval.leaderboards.result import Leaderboard
from pateval.output.text_table import plain
from pateval.time.timelines import Recording, joined

# Twelve detectors under every metric: some seconds for all metrics of the catalogue.
AUDIT_STEPS = 12_000
AUDIT_SEEDS = 2


def describe(board: Leaderboard, metric: str) -> dict[str, Any]:
    """Describe a metric of a leaderboard in plain values."""
    measures = board.measures
    found = None if measures is None else measures.by_id.get(metric)
    described: dict[str, Any] = {
        "id": metric,
        "label": board.label(metric),
        "higher": board.facts[metric].higher_is_better,
        "signature": board.signatures.get(metric, ""),
        "threshold": "",
        "uses_labels": False,
    }
    if found is None or measures is None:
        unknown = {"text": "Its values were computed elsewhere.", "rewards": [], "faults": "", "paper": ""}
        return described | unknown | {"range": [None, None]}
    if found.needs_threshold:
        rule = measures.rule(found)
        described |= {"threshold": rule.description, "uses_labels": rule.uses_labels}
    return described | texts_of(found)


def texts_of(metric: Metric) -> dict[str, Any]:
    """What a metric rewards, how it can be fooled, where it comes from.

    Examples
    --------
    >>> from pateval.catalog import find_metrics
    >>> texts_of(find_metrics(["point_f1"])[0])["faults"]
    'every step counts alike: one long event outweighs many short ones'
    """
    part = "" if metric.field is None else f" Shown is its {metric.field.replace('_', ' ')}."
    text = " ".join((inspect.getdoc(metric.function) or "").split("\n\n")[0].split()).replace("`", "").rstrip(".")
    return {
        "text": (f"{text}." if text else "A metric of your own.") + part,
        "rewards": [text for name, text in PROPERTIES.items() if name in metric.properties],
        "faults": metric.faults,
        "paper": "" if metric.paper is None else f"{metric.paper.text} ({metric.paper.link})",
        "range": [value if math.isfinite(value) else None for value in (metric.low, metric.high)],
    }


def constant_values(recordings: Sequence[Recording], measures: Measures) -> dict[str, float | None]:
    """Mean value of a constant score over the series, None where it has none.

    Examples
    --------
    >>> from pateval.time.timelines import read_recording
    >>> recording = read_recording(np.arange(100) >= 90)
    >>> constant_values([recording], Measures.of(metrics=["average_precision"]))
    {'average_precision': 0.1}
    """
    found: list[dict[str, Any]] = []
    for recording in recordings:
        scores = np.zeros(len(recording.labels))
        constant = replace(recording, scores=scores, predictions=None, ignore=recording.is_left_out, absent=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(values_of(constant, measures, keep_going=True))
    means = {metric: mean_value([values[metric] for values in found]) for metric in measures.ids}
    return {metric: None if mean.reason else mean.value for metric, mean in means.items()}


def audit_here(recordings: Mapping[str, Recording], measures: Measures) -> dict[str, Any] | None:
    """Put the metrics on trial on some of the series: as many, shortest first, as the audit can judge in some seconds.

    None where no series has an event.
    """
    parts = {name: recording.part(slice(0, 4 * AUDIT_STEPS)) for name, recording in recordings.items()}
    sizes = {name: len(recording.labels) for name, recording in recordings.items() if not recording.labels.all()}
    chosen: list[str] = []
    for size, name in sorted(
        (size, name) for name, size in sizes.items() if parts[name].counted(parts[name].labels).any()
    ):
        if chosen and size + sum(sizes[other] for other in chosen) > AUDIT_STEPS:
            break
        chosen.append(name)
    if not chosen:
        return None
    together = joined([parts[name] for name in chosen])
    clock = together.clock
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(
            together.labels,
            series=together.series_of_steps,
            times=None if clock is None else clock.times,
            time_unit=None if clock is None else clock.unit,
            max_gap=measures.max_gap,
            ignore=together.is_left_out,
            metrics=measures.metrics,
            seeds=AUDIT_SEEDS,
            **measures.options,
        )
    return {
        "series": chosen,
        "sentence": found.summary(),
        "fakes": {entry.name: entry.text for entry in BATTERY},
        "rows": {
            row.metric.id: {"values": plain(dict(row.values)), "beaten_by": row.beaten_by, "fooled": row.fooled}
            for row in found.rows
        },
    }
