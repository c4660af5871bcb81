"""Run every metric on the battery."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.auditing.battery import BATTERY, Truth
from pateval.auditing.probes import probe
from pateval.auditing.result import Audit, AuditRow
from pateval.catalog import MetricLike, find_metrics
from pateval.evaluation import Evaluation, evaluate
from pateval.evaluation.stretch import series_numbers
from pateval.time.clocks import Duration, canonical_lengths
from pateval.time.timelines import Timeline, read_recording
from pateval.validation.arrays import Buffers, non_negative_integer, positive_integer, require_anomaly


def audit(
    labels: npt.ArrayLike,
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    seeds: int = 20,
    seed: int = 0,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Show which metrics can be fooled on these labels.

    Every metric judges a battery of detectors made from the labels (`pateval.auditing.BATTERY` describes them). Six are
    worthless: uniform random scores, a constant score, everything flagged, a random step per typical event length,
    spikes at regular intervals, the labels inverted. Four are poor: one step per event, every event moved ahead or
    back by its own length, and the real detector with every other step of its alarms switched off.

    The real detector they should not beat finds nine of ten events, a tenth of their length late at both ends, each
    with an alarm of a height drawn between 0.5 and 1; it raises a false alarm of typical length for every four events,
    at least one, of a height drawn between 0.25 and 0.75; elsewhere its score is noise below 0.5, and on alarms there
    is a ripple of 0.1. Where a detector has graded scores, as many steps are flagged as are anomalous.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    early, delay : int, duration or iterable of these
        Buffer lengths for PATE and its kin.
    window : int or duration
        Largest window of VUS and range-AUC.
    metrics : str, Metric, function, or iterable of these, optional
        As for `evaluate`; the whole catalogue by default.
    seeds : int
        How many draws to make of each detector that depends on chance; their mean counts.
    seed : int
        Where the draws begin: the same seed gives the same audit.
    series : array-like, optional
        Which series each step belongs to.
    times, time_unit, max_gap
        The clock, as for `evaluate`.
    ignore : array-like of 0/1, optional
        Steps left out, as for `evaluate`; detectors are made from what remains.
    progress : callable, optional
        Called with the number of evaluations done and their total.

    Returns
    -------
    Audit
        Per metric: the chance level and its spread, the value of every detector, the fakes that beat the real one,
        and what the metric rewards (`probe`).

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.

    Examples
    --------
    >>> labels = np.zeros(1000, dtype=int)
    >>> labels[200:240] = labels[500:620] = labels[800:830] = 1
    >>> found = audit(labels, metrics=["point_adjusted_f1", "point_f1"], seeds=5)
    >>> found["point_adjusted_f1"].beaten_by
    ('periodic', 'one_point', 'fragmented')
    >>> found["point_f1"].beaten_by
    ()
    """
    recording = read_recording(labels, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore)
    seeds, seed = positive_integer(seeds, "seeds"), non_negative_integer(seed, "seed")
    early, delay = canonical_lengths(early, "early"), canonical_lengths(delay, "delay")
    wanted = find_metrics(metrics, global_values={"early": early, "delay": delay, "window": window})
    timeline, clock, counted = recording.timeline, recording.timeline.clock, recording.closed_up(recording.labels)
    require_anomaly(counted)
    truth = Truth.of(counted, timeline.starts)
    on_steps: dict[str, Any] = {
        "series": series_numbers(recording.starts, recording.labels.size),
        "times": recording.times,
        "time_unit": None if clock is None else clock.unit,
        "max_gap": max_gap,
        "ignore": recording.is_left_out,
    }
    findings = probe(wanted, early=early, delay=delay, window=window, interval=_interval(timeline))

    total, done = sum(seeds if entry.drawn else 1 for entry in BATTERY), 0
    found: dict[str, list[Evaluation]] = {}
    for entry in BATTERY:
        for draw in range(seeds if entry.drawn else 1):
            # The fragmented detector of a draw is the real one of that draw: equal seeds, whoever draws.
            detection = entry.make(truth, np.random.default_rng([seed, draw]))
            result = evaluate(
                recording.labels,
                timeline.on_all_steps(detection.scores),
                timeline.on_all_steps(detection.predictions),
                metrics=wanted,
                early=early,
                delay=delay,
                window=window,
                chance=0,
                **on_steps,
            )
            found.setdefault(entry.name, []).append(result)
            done += 1
            if progress is not None:
                progress(done, total)

    rows = []
    for metric in wanted:
        drawn = {name: np.array([result[metric.id] for result in several]) for name, several in found.items()}
        defined = {name: values[~np.isnan(values)] for name, values in drawn.items()}
        rows.append(
            AuditRow(
                metric,
                values={name: float(values.mean()) if values.size else np.nan for name, values in defined.items()},
                spreads={name: float(values.std()) if values.size else np.nan for name, values in defined.items()},
                reasons={
                    name: several[0].reasons[metric.id] for name, several in found.items() if not defined[name].size
                },
                findings=findings[metric.id],
            )
        )
    return Audit(tuple(rows), counted.size, len(truth.events), int(np.count_nonzero(counted)), seeds, seed)


def _interval(timeline: Timeline) -> np.timedelta64 | None:
    """Median time between two steps; None without a clock, or with one whose unit is not known."""
    clock = timeline.clock
    steps = None if clock is None else clock.median_interval(timeline.starts)
    if clock is None or clock.nanoseconds is None or steps is None:
        return None
    return np.timedelta64(round(steps * clock.nanoseconds), "ns")
