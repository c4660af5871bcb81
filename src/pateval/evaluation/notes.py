"""What signatures and notes say of an evaluation: how steps were measured, and which were left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Sample
from pateval.kernels.precision_recall import coarseness
from pateval.time.clocks import Clock, duration_text
from pateval.time.timelines import Recording
from pateval.validation.arrays import UndefinedMetricError, without_gaps

_SHOWN = 3
_INVERTED_BELOW = 0.3  # AUC-ROC of scores that are taken to mean the opposite


def require_clock(measures: Measures, clock: Clock | None) -> None:
    """Refuse durations where the times of the steps, or their unit, are not known."""
    if not measures.needs_times:
        return
    if clock is None:
        raise ValueError(f"{measures.needs_times} is a duration, which needs the times of the steps: pass times")
    if clock.nanoseconds is None:
        raise ValueError("a duration needs to know the unit of times: pass time_unit, such as time_unit='s'")


def clock_fields(measures: Measures, interval: str | None, clocks: Collection[bool]) -> dict[str, dict[str, Any]]:
    """What a signature says of time: how each metric measured it, and what options are that the clock decided.

    ``interval`` is the median one, by which durations became steps; None where it differs from series to series.
    ``clocks`` says of each series whether it has a clock whose unit is known.
    """
    fields: dict[str, dict[str, Any]] = {}
    for name, bound in measures.bound.items():
        by_clock = bound.by_clock if any(clocks) else {}
        if bound.metric.on_clock:
            field = "times" if bound.in_time else ""
            if measures.max_gap is not None:
                field = f"{field or 'steps'}:max_gap:{measures.max_gap}"
        elif bound.units:
            field = "times"
        else:
            field = f"interval:{interval or 'series'}" if bound.in_time or by_clock else ""
        fields[name] = {"clock": field} if field else {}
        for option, length in by_clock.items():
            in_steps = int(bound.metric.kinds[option].none_means)
            fields[name][option] = length if all(clocks) else (length, in_steps)
    return fields


def circumstances(measures: Measures, parts: Sequence[Recording], *, ignored: bool) -> dict[str, dict[str, Any]]:
    """Fields ``clock``, ``ignored`` and ``missing`` of each metric's signature, where they apply."""
    left_out = {"ignored": "mask"} if ignored else {}
    if measures.missing != "error":
        left_out["missing"] = measures.missing
    clocks = [part.clock is not None and part.clock.nanoseconds is not None for part in parts]
    of_time = clock_fields(measures, common_interval(parts), clocks)
    return {name: {**fields, **left_out} for name, fields in of_time.items()}


def lengths_in_steps(measures: Measures, parts: Sequence[Recording]) -> dict[str, dict[str, list[int]]]:
    """Steps that durations became, for metrics that do not measure on a clock: by id and option, one per series."""
    lengths: dict[str, dict[str, list[int]]] = {}
    for bound in measures.bound.values():
        for name in bound.durations:
            for part in parts:
                try:
                    length = Sample(part, measures).step_options(bound)[name]
                except UndefinedMetricError:
                    continue
                lengths.setdefault(bound.metric.id, {}).setdefault(name, []).append(length)
    return lengths


def notes_on(recording: Recording, measures: Measures, values: Mapping[str, float]) -> Iterator[str]:
    """Say what was left out, and which scores are not what they should be."""
    if measures.not_pooled:
        yield f"left out, since series cannot be pooled for them: {', '.join(measures.not_pooled)}"
    flattering = [bound.metric.name for bound in measures.bound.values() if bound.metric.flatters(bound.options)]
    if flattering and recording.scores is not None and not recording.has_channels:
        scores = recording.counted(recording.scores)
        if reason := coarseness(without_gaps(scores) if recording.has_gaps else scores):
            yield f"{reason}: the trapezoid rule of {', '.join(dict.fromkeys(flattering))} flatters such scores"
    yield from inverted_note(values)
    yield from left_out_notes(recording, measures)


def inverted_note(values: Mapping[str, float]) -> Iterator[str]:
    """Point out scores that tell anomalies apart the wrong way round."""
    area = values.get("auc_roc", 0.5)
    if area < _INVERTED_BELOW:
        yield (
            f"the scores look inverted: AUC-ROC is {area:.2f}, and {1 - area:.2f} with the sign turned; higher must "
            f"mean more anomalous"
        )


def left_out_notes(recording: Recording, measures: Measures) -> Iterator[str]:
    """Say which steps and events were left out, and what that means for whom."""
    counts = recording.counts
    if counts.ignored:
        yield f"{counts.ignored:,} of {counts.recorded:,} steps {'is' if counts.ignored == 1 else 'are'} ignored"
    if counts.missing:
        is_one = counts.missing == 1
        what, then = f"scores {'is' if is_one else 'are'} missing", "such steps are never predicted"
        if recording.has_channels:
            what = f"steps {'lacks' if is_one else 'lack'} the score of a channel"
            then = "such channels are never predicted there"
        if measures.missing == "ignore":
            then = "such steps are left out"
        counted = f"{counts.missing:,} of {counts.recorded - counts.ignored:,}"
        yield f"{counted} {what} (coverage {100 * counts.coverage:.1f} %): {then}"
    if counts.events_left_out:
        lie = "lies" if counts.events_left_out == 1 else "lie"
        yield f"{counts.events_left_out} of {counts.events} events {lie} wholly in steps that are left out"
    others = [metric for metric in measures.metrics if not metric.on_clock]
    merged = recording.merged_at() if others else []
    if merged:
        shown = ", ".join(f"{last} and {following}" for last, following in merged[:_SHOWN])
        more = f" and {len(merged) - _SHOWN} more" if len(merged) > _SHOWN else ""
        yield (
            f"events that only left-out steps part are one to all metrics but PATE's: those that meet between steps "
            f"{shown}{more}"
        )
    if measures.max_gap is not None and others:
        yield f"max_gap={measures.max_gap} parts events and zones of PATE only; to the other metrics a series stays one"


def common_interval(parts: Sequence[Recording]) -> str | None:
    """The median interval, where all series have the same."""
    intervals = set()
    for part in parts:
        clock = part.timeline.clock
        interval = None if clock is None else clock.median_interval(part.timeline.starts)
        if clock is not None and clock.nanoseconds is not None and interval is not None:
            intervals.add(round(interval * clock.nanoseconds))
    return duration_text(f"{intervals.pop()}ns") if len(intervals) == 1 else None
