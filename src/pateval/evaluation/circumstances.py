"""How steps were measured and which were left out: what signatures and notes say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pateval.catalog.metric import Metric
from pateval.evaluation.stretch import Stretch
from pateval.evaluation.threshold_rules import ALARMS
from pateval.kernels.coarse import coarseness
from pateval.thresholds import read_alarm_rate
from pateval.time.clocks import Clock, Duration, duration_text
from pateval.time.timelines import Recording
from pateval.validation.arrays import FloatArray, UndefinedMetricError

_SHOWN = 3
_TRAPEZOID_RULE = ("pate", "auc_pr", "ts_auprc")  # by their names in the catalogue
_INVERTED_BELOW = 0.3  # AUC-ROC of scores that are taken to mean the opposite


def what_needs_times(
    metrics: Iterable[Metric], options: Mapping[str, Any], *, threshold: object = None, max_gap: Duration | None = None
) -> str:
    """Name the first thing that is given as a duration; an empty text where nothing is.

    Examples
    --------
    >>> from pateval.catalog import find_metrics
    >>> what_needs_times(find_metrics(["auc_roc", "vus_pr(window=10min)"]), {})
    "window='10min' of vus_pr(window=10min)"
    """
    if max_gap is not None:
        return f"max_gap={duration_text(max_gap)!r}"
    if isinstance(threshold, str) and threshold.startswith(f"{ALARMS}:"):
        _, per = read_alarm_rate(threshold.partition(":")[2], threshold)
        if not isinstance(per, int):
            return f"threshold={threshold!r}"
    for metric in metrics:
        effective = metric.effective_options(options)
        in_time = metric.durations(effective) | ({"unit": effective["unit"]} if effective.get("unit") else {})
        for name, value in in_time.items():
            return f"{name}={list(value) if isinstance(value, tuple) else value!r} of {metric.id}"
    return ""


def require_clock(metrics: Iterable[Metric], options: Mapping[str, Any], clock: Clock | None) -> None:
    """Refuse durations where the times of the steps, or their unit, are not known."""
    if clock is not None and clock.nanoseconds is not None:
        return
    if needed := what_needs_times(metrics, options):
        if clock is None:
            raise ValueError(f"{needed} is a duration, which needs the times of the steps: pass times")
        raise ValueError("a duration needs to know the unit of times: pass time_unit, such as time_unit='s'")


def clock_field(
    metric: Metric, options: Mapping[str, Any], interval: str | None, max_gap: Duration | None
) -> str | None:
    """How a metric measured time, for its signature; None where it counted steps and nothing else.

    Parameters
    ----------
    metric : Metric
        The metric.
    options : mapping
        The global options.
    interval : str or None
        The median interval by which durations became steps; None where it differs from series to series.
    max_gap : duration, optional
        Where events and zones of PATE were cut.

    Examples
    --------
    >>> from pateval.catalog import catalogue
    >>> pate, volume = catalogue()["pate"], catalogue()["vus_pr"]
    >>> clock_field(pate, {"early": ("10min",), "delay": ("0s",)}, "1min", "1h")
    'times:max_gap:1h'
    >>> clock_field(volume, {"window": "10min"}, "1min", "1h"), clock_field(volume, {"window": 9}, "1min", None)
    ('interval:1min', None)
    """
    effective = metric.effective_options(options)
    in_time = bool(metric.durations(effective))
    if metric.on_clock:
        if max_gap is not None:
            return f"{'times' if in_time else 'steps'}:max_gap:{duration_text(max_gap)}"
        return "times" if in_time else None
    if effective.get("unit") is not None:
        return "times"
    return f"interval:{interval or 'series'}" if in_time else None


def circumstances(
    metrics: Iterable[Metric],
    options: Mapping[str, Any],
    stretches: Sequence[Stretch],
    *,
    max_gap: Duration | None,
    ignore: object,
    missing: str,
) -> dict[str, dict[str, str]]:
    """Fields ``clock``, ``ignored`` and ``missing`` of each metric's signature, where they apply."""
    interval = _common_interval(stretches)
    found = {}
    for metric in metrics:
        fields = {
            "clock": clock_field(metric, options, interval, max_gap),
            "ignored": None if ignore is None else "mask",
            "missing": None if missing == "error" else missing,
        }
        found[metric.id] = {name: text for name, text in fields.items() if text is not None}
    return found


def lengths_in_steps(metrics: Iterable[Metric], stretches: Sequence[Stretch]) -> dict[str, dict[str, list[int]]]:
    """Steps that durations became, for metrics that do not measure on a clock: by id and option, one per series."""
    found: dict[str, dict[str, list[int]]] = {}
    for metric in metrics:
        for stretch in stretches:
            names = {} if metric.on_clock else metric.durations(metric.effective_options(stretch.options))
            for name in names:
                try:
                    length = stretch.step_options(metric)[name]
                except UndefinedMetricError:
                    continue
                found.setdefault(metric.id, {}).setdefault(name, []).append(length)
    return found


def coarse_note(scores: FloatArray, metrics: Sequence[Metric]) -> Iterator[str]:
    """Point out scores with so few values that the trapezoid rule of some of these metrics flatters them."""
    flattering = list(dict.fromkeys(metric.name for metric in metrics if metric.name in _TRAPEZOID_RULE))
    if flattering and (reason := coarseness(scores)):
        yield f"{reason}: the trapezoid rule of {', '.join(flattering)} flatters such scores"


def inverted_note(values: Mapping[str, float]) -> Iterator[str]:
    """Point out scores that tell anomalies apart the wrong way round."""
    area = values.get("auc_roc", 0.5)
    if area < _INVERTED_BELOW:
        yield (
            f"the scores look inverted: AUC-ROC is {area:.2f}, and {1 - area:.2f} with the sign turned; higher must "
            f"mean more anomalous"
        )


def left_out_notes(
    recording: Recording, metrics: Sequence[Metric], *, missing: str, max_gap: Duration | None
) -> Iterator[str]:
    """Say which steps and events were left out, and what that means for whom."""
    counts = recording.counts
    if counts.ignored:
        yield f"{counts.ignored:,} of {counts.recorded:,} steps are ignored"
    if counts.missing and recording.labels.ndim == 2:
        what = "such steps are left out" if missing == "ignore" else "such channels are never predicted there"
        yield (
            f"{counts.missing:,} of {counts.recorded - counts.ignored:,} steps lack the score of a channel "
            f"(coverage {100 * counts.coverage:.1f} %): {what}"
        )
    elif counts.missing:
        what = "left out" if missing == "ignore" else "never predicted"
        yield (
            f"{counts.missing:,} of {counts.recorded - counts.ignored:,} scores are missing "
            f"(coverage {100 * counts.coverage:.1f} %): such steps are {what}"
        )
    if counts.events_left_out:
        yield f"{counts.events_left_out} of {counts.events} events lie wholly in steps that are left out"
    others = [metric for metric in metrics if not metric.on_clock]
    merged = recording.merged_at() if others else []
    if merged:
        shown = ", ".join(f"{last} and {following}" for last, following in merged[:_SHOWN])
        more = f" and {len(merged) - _SHOWN} more" if len(merged) > _SHOWN else ""
        yield (
            f"events that only left-out steps part are one to all metrics but PATE's: those that meet between steps "
            f"{shown}{more}"
        )
    if max_gap is not None and others:
        yield (
            f"max_gap={duration_text(max_gap)} parts events and zones of PATE only; to the other metrics a series "
            f"stays one"
        )


def _common_interval(stretches: Sequence[Stretch]) -> str | None:
    """The median interval, where all series have the same."""
    intervals = set()
    for stretch in stretches:
        clock = stretch.clock
        interval = None if clock is None else clock.median_interval(stretch.starts)
        if clock is not None and clock.nanoseconds is not None and interval is not None:
            intervals.add(round(interval * clock.nanoseconds))
    return duration_text(f"{intervals.pop()}ns") if len(intervals) == 1 else None
