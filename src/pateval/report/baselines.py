"""What no detector should be proud of: the values of a constant score, and how each metric can be gamed here."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pateval.auditing import BATTERY, Audit, audit
from pateval.catalog.metric import Metric
from pateval.evaluation import evaluate
from pateval.report.inputs import Track
from pateval.report.metric_texts import known_metric
from pateval.time.clocks import in_steps, is_duration, read_clock

# Twelve detectors under every metric: some seconds for all metrics of the catalogue.
AUDIT_STEPS = 12_000
AUDIT_SEEDS = 2
_LENGTHS = ("early", "delay", "window")


def evaluable(metrics: Sequence[str]) -> list[Metric]:
    """Those of the metrics that can be computed here."""
    return [found for metric in metrics if (found := known_metric(metric)) is not None and not found.channels]


def constant_values(
    tracks: Sequence[Track], metrics: Sequence[str], parameters: Mapping[str, Any]
) -> dict[str, float | None]:
    """Mean value of a constant score over the series, None where it has none.

    Examples
    --------
    >>> track = Track(np.arange(100) >= 90, np.zeros(100))
    >>> constant_values([track], ["average_precision"], {})
    {'average_precision': 0.1}
    """
    wanted = evaluable(metrics)
    found: dict[str, list[float]] = {metric.id: [] for metric in wanted}
    options = {name: _option(value) for name, value in parameters.items() if name in (*_LENGTHS, "max_gap")}
    for track in tracks:
        clock: dict[str, Any] = {} if track.times is None else {"times": track.times, "time_unit": track.time_unit}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = np.zeros(track.labels.size)
            values = evaluate(track.labels, scores, metrics=wanted, ignore=track.ignore, **clock, **options)
        for name, value in values.items():
            if not math.isnan(value):
                found[name].append(value)
    return {name: float(np.mean(values)) if values else None for name, values in found.items()}


def audit_here(
    tracks: Mapping[str, Track], metrics: Sequence[str], parameters: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Put the metrics on trial on some of the series: as many, shortest first, as the audit can judge in some seconds.

    The audit counts in steps: lengths in time become steps of the median interval of the first series, and metrics that
    are themselves measured in time are left out.

    Returns
    -------
    dict or None
        None where no series has an event or no metric can be computed here.
    """
    labels = {name: track.labels for name, track in tracks.items()}
    usable = sorted((truth.size, name) for name, truth in labels.items() if truth.any() and not truth.all())
    chosen: list[str] = []
    steps = 0
    for size, name in usable:
        if chosen and steps + size > AUDIT_STEPS:
            break
        chosen.append(name)
        steps += size
    wanted = [metric for metric in evaluable(metrics) if not any(map(is_duration, metric.options.values()))]
    shortened = [labels[name][: 4 * AUDIT_STEPS] for name in chosen]
    if not wanted or not any(truth.any() for truth in shortened):
        return None
    lengths = {name: _in_steps(parameters[name], tracks[chosen[0]]) for name in _LENGTHS if name in parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(
            np.concatenate(shortened),
            series=np.repeat(np.arange(len(chosen)), [truth.size for truth in shortened]),
            metrics=wanted,
            seeds=AUDIT_SEEDS,
            **lengths,
        )
    return plain_audit(found) | {"series": chosen}


def _in_steps(value: Any, track: Track) -> Any:
    """A length, or several, in steps."""
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(_in_steps(length, track) for length in value))
    if not is_duration(value):
        return value
    clock = read_clock(track.times, track.labels.size, np.zeros(1, dtype=np.intp), track.time_unit)
    return in_steps(value, float(np.median(np.diff(clock.times))), clock)


def plain_audit(found: Audit) -> dict[str, Any]:
    """Return an audit in plain values, for JSON."""
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


def _option(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
