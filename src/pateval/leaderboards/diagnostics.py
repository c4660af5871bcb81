"""Warnings about a leaderboard: labels that differ, too few series, coarse scores, undefined values."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pateval.evaluation.buffers import long_buffers
from pateval.io import TableError
from pateval.io.batches import read_jobs
from pateval.leaderboards.significance import ALPHA, smallest_p_value
from pateval.validation.wording import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from pateval.evaluation.buffers import EventSpacing
    from pateval.evaluation.measures import Measures
    from pateval.io.plan import Plan
    from pateval.leaderboards.result import Leaderboard
    from pateval.time.timelines import StepCounts
    from pateval.validation.arrays import BoolArray

LARGE_DIFFERENCE = 0.05  # a mean difference of pate and pate_ap that is worth a line
_READ_AT_MOST = 200  # series whose labels are read again to count the steps where they differ


class BoardCheck(NamedTuple):
    """One reason not to read too much into a leaderboard."""

    code: str  # short name of the check, the same in all versions
    sentence: str  # what was found, with its figures
    remedy: str  # what to do about it


def label_differences(plan: Plan, labels: npt.NDArray[np.int32]) -> Iterator[BoardCheck]:
    """Report files whose labels differ from those of most detectors, with the number of steps.

    ``labels`` has for each job of the plan a number that stands for its labels, -1 where they are not known.
    """
    order = np.lexsort((np.arange(labels.size), plan.jobs.series_code))
    order = order[labels[order] >= 0]
    groups = np.split(order, np.flatnonzero(np.diff(plan.jobs.series_code[order])) + 1)
    odd: dict[str, list[tuple[int, int]]] = {}
    for jobs in groups:
        numbers, first, counts = np.unique(labels[jobs], return_index=True, return_counts=True)
        if numbers.size > 1:
            usual = np.lexsort((first, -counts))[0]
            for job in jobs[labels[jobs] != numbers[usual]].tolist():
                odd.setdefault(plan.where(job), []).append((job, int(jobs[first[usual]])))
    for where, pairs in odd.items():
        names = list(dict.fromkeys(plan.jobs[job].series for job, _ in pairs))
        counted = [_differing_steps(plan, one, other) for one, other in pairs[:_READ_AT_MOST]]
        steps = sum(count for count in counted if count is not None)
        more = "at least " if len(pairs) > _READ_AT_MOST else ""
        lengths = sum(count is None for count in counted)
        other_length = f", and the length in {lengths}" if lengths else ""
        yield BoardCheck(
            "labels-differ",
            f"{where}: labels differ from those of most detectors in {len(names)} of {len(groups)} series, "
            f"on {more}{steps:,} steps{other_length} ({listed(names)}); each file is scored with its own labels",
            "Give every file the same labels, or leave this one out.",
        )


def too_long_buffers(spacings: Iterable[EventSpacing], measures: Measures) -> Iterator[BoardCheck]:
    """Report buffers that are longer than the typical event or the gap between events, where metrics have buffers."""
    for sentence in long_buffers(list(spacings), measures.early, measures.delay):
        yield BoardCheck("long-buffers", sentence, "Choose shorter buffers: `pateval buffer FILE` suggests some.")


def long_holes(spacings: Iterable[EventSpacing], measures: Measures) -> Iterator[BoardCheck]:
    """Report holes in time far longer than the usual interval, which events and zones reach across without max_gap."""
    found = [row for row in spacings if row.hole is not None]
    if not found or measures.max_gap is not None:
        return
    first = f"series {in_words(found[0].series)} has a hole of {found[0].hole} in steps of {found[0].interval}"
    others = f" ({len(found) - 1} other series, too)" if len(found) > 1 else ""
    yield BoardCheck(
        "long-holes",
        f"{first}{others}: events and zones of PATE reach across it; --max-gap TIME (max_gap=...) parts them there",
        "Say how long a hole may be with `--max-gap`, or that it is none of your concern by one that is longer.",
    )


def left_out_lines(plan: Plan, counts: Mapping[int, StepCounts], missing: str) -> list[str]:
    """Say how many steps and events of the series were left out, and how much each detector covers.

    ``counts`` are of the jobs of which something was left out, or whose scores are missing in part.
    """
    by_series: dict[int, StepCounts] = {}
    lost: dict[int, list[int]] = {}
    for job, found in counts.items():
        series, detector = int(plan.jobs.series_code[job]), int(plan.jobs.detector_code[job])
        # A detector without scores for most of a series does not shrink it for the others.
        has_say = found.evaluated and 2 * found.missing <= found.recorded - found.ignored
        if has_say and (series not in by_series or found.evaluated < by_series[series].evaluated):
            by_series[series] = found
        if found.missing:
            sums = lost.setdefault(detector, [0, 0])
            sums[0] += found.missing
            sums[1] += 1
    number = "1 series" if len(by_series) == 1 else f"{len(by_series)} series"
    lines = []
    ignored = sum(found.ignored for found in by_series.values())
    if ignored:
        recorded = sum(found.recorded for found in by_series.values())
        lines.append(f"{ignored:,} of {recorded:,} steps are ignored, in {number}")
    if lost:
        what = {
            "ignore": "left out for all detectors of the series, so that all are judged on the same steps",
            "normal": "never predicted",
        }[missing]
        names = ", ".join(f"{plan.detectors[d]!r} ({steps:,} in {n} series)" for d, (steps, n) in sorted(lost.items()))
        lines.append(f"steps without a score are {what}: {names}")
    events = sum(found.events_left_out for found in by_series.values())
    if events:
        total = sum(found.events for found in by_series.values())
        lines.append(f"{events} of {total} events lie wholly in steps that are left out, in {number}")
    return lines


def _differing_steps(plan: Plan, one: int, other: int) -> int | None:
    """Count the steps where two jobs' labels differ; None where their lengths do."""
    first, second = _labels(plan, one), _labels(plan, other)
    if first is None or second is None or first.size != second.size:
        return None
    return int(np.count_nonzero(first != second))


def _labels(plan: Plan, job: int) -> BoolArray | None:
    try:
        return next(item.checked_labels() for _, item in read_jobs(plan, [job]))
    except TableError:
        return None


def find_warnings(board: Leaderboard, coarse: Mapping[str, tuple[int, int]]) -> Iterator[BoardCheck]:
    """List what limits the conclusions: too few series, coarse scores, undefined values, detectors out of the ranks.

    ``coarse`` says of detectors whose scores are coarse on most series: on how many, of how many.
    """
    yield from _too_few_series(board)
    yield from _coarse_scores(board, coarse)
    yield from _undefined(board)
    yield from _undefined_in_some_runs(board)
    yield from _unranked(board)


def _too_few_series(board: Leaderboard) -> Iterator[BoardCheck]:
    """Say so where no pair of detectors could differ significantly, whatever its values."""
    detectors = len(board.detectors)
    if detectors < 2:
        return
    used = max(
        (int((~np.isnan(board.values[:, :, m])).all(axis=0).sum()) for m in range(len(board.metrics))), default=0
    )
    pairs = detectors * (detectors - 1) // 2
    smallest = smallest_p_value(detectors, used)
    if smallest >= ALPHA:
        pair = "pair" if pairs == 1 else "pairs"
        yield BoardCheck(
            "few-series",
            f"too few series for any claim: with {used} comparable series and {pairs} {pair} of detectors the smallest "
            f"possible corrected p-value is {smallest:.2g}, so no difference can be significant",
            "Evaluate on more series, or compare fewer detectors.",
        )


def _coarse_scores(board: Leaderboard, coarse: Mapping[str, tuple[int, int]]) -> Iterator[BoardCheck]:
    """Name detectors whose scores have so few distinct values that the trapezoid rule of `pate` overstates the area."""
    if "pate" not in board.metrics:
        return
    parted = []
    for d, detector in enumerate(board.detectors):
        if "pate_ap" in board.metrics:
            trapezoid = board.values[d, :, board.metrics.index("pate")]
            stepwise = board.values[d, :, board.metrics.index("pate_ap")]
            both = ~np.isnan(trapezoid) & ~np.isnan(stepwise)
            if both.any() and abs(float((trapezoid - stepwise)[both].mean())) > LARGE_DIFFERENCE:
                parted.append(detector)
                why = (
                    "scores are coarse on {} of {} series, and ".format(*coarse[detector]) if detector in coarse else ""
                )
                yield BoardCheck(
                    "pate-flatters",
                    f"detector {detector!r}: {why}pate ({trapezoid[both].mean():.3f}) parts from pate_ap "
                    f"({stepwise[both].mean():.3f}); trust pate_ap",
                    "Rank by pate_ap, or give graded scores instead of few levels.",
                )
    others = [detector for detector in coarse if detector not in parted]
    if others:
        yield BoardCheck(
            "coarse-scores",
            f"scores are coarse on most series (at most two values, or one shared by most steps), which flatters pate: "
            f"{listed(others, 8)}",
            "Read pate_ap beside pate, or give graded scores.",
        )


def _undefined(board: Leaderboard) -> Iterator[BoardCheck]:
    """Sum up the missing values by reason; reasons that differ in a number alone are one."""
    counts: Counter[str] = Counter()
    metrics: dict[str, dict[str, None]] = {}
    shown: dict[str, list[str]] = {}
    for (metric, reason), count in board.reasons().items():
        kind = re.sub(r"'[^']*'", "'...'", re.sub(r"\d+", "#", reason))
        counts[kind] += count
        metrics.setdefault(kind, {})[metric] = None
        if reason not in shown.setdefault(kind, []):
            shown[kind].append(reason)
    for kind, reasons in shown.items():
        codes = [board.reason_texts.index(reason) for reason in reasons]
        series = int(np.isin(board.reason_codes, codes).any(axis=(0, 2)).sum())
        named = "all metrics" if len(metrics[kind]) == len(board.metrics) else listed(list(metrics[kind]))
        more = f" (and {len(reasons) - 1} like it)" if len(reasons) > 1 else ""
        are = "value is" if counts[kind] == 1 else "values are"
        yield BoardCheck(
            "undefined-values",
            f"{counts[kind]:,} {are} missing, in {series} of {len(board.series)} series, for {named}: "
            f"{reasons[0]}{more}",
            "Means and ranks leave these series out; see whether they should be in the comparison at all.",
        )


def _undefined_in_some_runs(board: Leaderboard) -> Iterator[BoardCheck]:
    """Name the detectors whose means leave out runs."""
    if board.runs is None:
        return
    partly = board.runs.partly_defined()
    if partly.any():
        names = [board.detectors[d] for d in np.flatnonzero(partly.any(axis=(1, 2)))]
        metrics = [board.metrics[m] for m in np.flatnonzero(partly.any(axis=(0, 1)))]
        yield BoardCheck(
            "undefined-runs",
            f"{int(partly.sum()):,} means over runs, of {listed(names)} under {listed(metrics)}, leave out runs where "
            f"the metric has no value",
            "read the rows of these runs in the scores, which give the reason",
        )


def _unranked(board: Leaderboard) -> Iterator[BoardCheck]:
    without: dict[tuple[str, ...], list[str]] = {}
    for m, metric in enumerate(board.metrics):
        counts = np.count_nonzero(~np.isnan(board.values[:, :, m]), axis=1).tolist()
        if any(counts) and not all(counts):
            names = tuple(name for name, count in zip(board.detectors, counts, strict=True) if not count)
            without.setdefault(names, []).append(metric)
    for names, metrics in without.items():
        yield BoardCheck(
            "unranked-detectors",
            f"without any value and so left out of the ranks under {listed(metrics)}: {listed(names, 8)}",
            "Look up the reasons in the scores; rank by a metric that every detector has.",
        )
