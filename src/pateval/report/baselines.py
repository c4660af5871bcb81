"""What no detector should be proud of: the values of a constant score, and how each metric can be gamed here."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation.measures import Measures
from pateval.evaluation.values import mean_value, values_of
from pateval.time.timelines import Recording, joined

if TYPE_CHECKING:
    from pateval.auditing import Audit

# Twelve detectors under every metric: some seconds for all metrics of the catalogue.
AUDIT_STEPS = 12_000
AUDIT_SEEDS = 2


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

    Returns
    -------
    dict or None
        None where no series has an event.
    """
    from pateval.auditing import audit

    sizes = {name: len(recording.labels) for name, recording in recordings.items() if not recording.labels.all()}
    usable = sorted((size, name) for name, size in sizes.items() if _has_event(recordings[name]))
    chosen: list[str] = []
    for size, name in usable:
        if chosen and size + sum(sizes[other] for other in chosen) > AUDIT_STEPS:
            break
        chosen.append(name)
    if not chosen:
        return None
    together = joined([_shortened(recordings[name]) for name in chosen])
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
    return plain_audit(found) | {"series": chosen}


def _shortened(recording: Recording) -> Recording:
    return recording.part(slice(0, 4 * AUDIT_STEPS))


def _has_event(recording: Recording) -> bool:
    """Whether a label counts in the part of a series that is judged."""
    part = _shortened(recording)
    counts = part.labels if part.is_left_out is None else part.labels & ~part.is_left_out
    return bool(counts.any())


def plain_audit(found: Audit) -> dict[str, Any]:
    """Return an audit in plain values, for JSON."""
    from pateval.auditing import BATTERY

    return {
        "sentence": found.summary(),
        "fakes": {entry.name: entry.text for entry in BATTERY},
        "rows": {
            row.metric.id: {
                "values": {name: None if math.isnan(value) else value for name, value in row.values.items()},
                "beaten_by": list(row.beaten_by),
                "fooled": row.fooled,
            }
            for row in found.rows
        },
    }
