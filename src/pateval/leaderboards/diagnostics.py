"""Warnings about a leaderboard: labels that differ, too few series, coarse scores, undefined values."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pateval.evaluation.buffers import EventSpacing, long_buffers
from pateval.evaluation.files import recording_of
from pateval.evaluation.paired import ALPHA
from pateval.io import TableError
from pateval.io.units import make_batches, read_batch, read_jobs
from pateval.leaderboards.arrays import in_order
from pateval.leaderboards.cache import clock_digest, labels_digest
from pateval.leaderboards.significance import smallest_p_value
from pateval.validation.wording import counted, in_words, listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.evaluation.files import LabelsRead
    from pateval.evaluation.measures import Measures
    from pateval.io.plan import Plan
    from pateval.leaderboards.result import Leaderboard

LARGE_DIFFERENCE = 0.05  # a mean difference of pate and pate_ap that is worth a line
_READ_AT_MOST = 200  # series whose labels are read again to count the steps where they differ


class BoardCheck(NamedTuple):
    """One reason not to read too much into a leaderboard."""

    code: str  # short name of the check, the same in all versions
    sentence: str  # what was found, with its figures
    remedy: str  # what to do about it


_OF_EVENTS = tuple(field.name for field in fields(EventSpacing))  # the series first
COUNTS = ("ignored", "missing", "evaluated", "events", "events_left_out")
"""What the table of jobs has of `StepCounts`, null where no step is left out and no score is missing."""

# What decides that two series are the same, as the table of series has it, and what it is called.
TRUTH = {
    "recorded": "have another number of steps",
    "labels": "have other labels, or other steps to ignore",
    "clock": "were recorded at other times",
    "left_out": "leave out other steps for want of a score",
}


def series_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What all detectors of a series have in common, as columns."""
    names = ("series", "recorded", "labels", "clock", "left_out", *_OF_EVENTS[1:])
    return {name: [row.get(name) for row in rows] for name in names}


def rows_of(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a table that is given as columns."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def spacings_of(series: Mapping[str, Sequence[Any]]) -> list[EventSpacing]:
    """How events lie on each series of a `series_table` where that is known."""
    known = [row for row in rows_of(series) if row["steps"] is not None]
    return [EventSpacing(**{name: row[name] for name in _OF_EVENTS}) for row in known]


def data_checks(plan: Plan, labels: LabelsRead, measures: Measures) -> Iterator[BoardCheck]:
    """What stands against the data: labels that differ, buffers that do not fit the events, holes in time."""
    yield from label_differences(plan, labels.numbers)
    yield from spacing_checks(labels.spacings.values(), measures)


def spacing_checks(spacings: Collection[EventSpacing], measures: Measures) -> Iterator[BoardCheck]:
    """Report buffers that do not fit the events, and holes in time."""
    if any("early" in metric.global_options for metric in measures.metrics):
        for sentence in long_buffers(list(spacings), measures.early, measures.delay):
            yield BoardCheck("long-buffers", sentence, "Choose shorter buffers: `pateval buffer FILE` suggests some.")
    yield from long_holes(spacings, measures)


def usual_jobs(plan: Plan, labels: npt.NDArray[np.int32]) -> dict[int, int]:
    """The first job with the labels that most detectors of a series have, for each series where they are known."""
    order = np.lexsort((np.arange(labels.size), plan.jobs.series_code))
    order = order[labels[order] >= 0]
    usual = {}
    for jobs in np.split(order, np.flatnonzero(np.diff(plan.jobs.series_code[order])) + 1):
        if jobs.size:
            _, first, counts = np.unique(labels[jobs], return_index=True, return_counts=True)
            usual[int(plan.jobs.series_code[jobs[0]])] = int(jobs[first[np.lexsort((first, -counts))[0]]])
    return usual


def label_differences(plan: Plan, labels: npt.NDArray[np.int32]) -> Iterator[BoardCheck]:
    """Report files whose labels, a number for each job, are not those of most detectors, with the number of steps."""
    usual = usual_jobs(plan, labels)
    odd: dict[str, list[tuple[int, int]]] = {}
    usual_of_job = np.array([usual.get(code, -1) for code in plan.jobs.series_code.tolist()])
    for job in np.flatnonzero((labels >= 0) & (labels != labels[usual_of_job])).tolist():
        odd.setdefault(plan.where(job), []).append((job, int(usual_of_job[job])))
    for where, pairs in odd.items():
        names = list(dict.fromkeys(plan.jobs[job].series for job, _ in pairs))
        counted = [_differing_steps(plan, *pair) for pair in pairs[:_READ_AT_MOST]]
        steps = sum(count for count in counted if count is not None)
        more = "at least " if len(pairs) > _READ_AT_MOST else ""
        lengths = counted.count(None)
        other_length = f", and the length in {lengths}" if lengths else ""
        yield BoardCheck(
            "labels-differ",
            f"{where}: labels differ from those of most detectors in {len(names)} of {len(usual)} series, "
            f"on {more}{steps:,} steps{other_length} ({listed(names)}); each file is scored with its own labels",
            "Give every file the same labels, or leave this one out.",
        )


def _differing_steps(plan: Plan, *jobs: int) -> int | None:
    """Count the steps where two jobs' labels differ; None where their lengths do, or they cannot be read."""
    try:
        first, second = (read_jobs(plan, [job])[0].checked_labels() for job in jobs)
    except TableError:
        return None
    return int(np.count_nonzero(first != second)) if first.size == second.size else None


def long_holes(spacings: Collection[EventSpacing], measures: Measures) -> Iterator[BoardCheck]:
    """Report holes in time far longer than the usual interval, which events and zones reach across without max_gap."""
    holes = [spacing for spacing in spacings if spacing.hole is not None]
    on_timelines = any("early" in metric.global_options for metric in measures.metrics)
    if not holes or measures.max_gap is not None or not on_timelines:
        return
    first = f"series {in_words(holes[0].series)} has a hole of {holes[0].hole} in steps of {holes[0].interval}"
    others = f" ({len(holes) - 1} other series, too)" if len(holes) > 1 else ""
    yield BoardCheck(
        "long-holes",
        f"{first}{others}: events and zones of PATE reach across it; --max-gap TIME (max_gap=...) parts them there",
        "Say how long a hole may be with `--max-gap`, or that it is none of your concern by one that is longer.",
    )


def left_out_lines(jobs: Mapping[str, Sequence[Any]], missing: str) -> list[str]:
    """Say how many steps and events of the series were left out, and how much each detector covers."""
    by_series: dict[str, dict[str, int]] = {}
    lost: dict[str, Counter[str]] = {}
    for row in (row for row in rows_of(jobs) if row["ignored"] is not None):
        known = by_series.get(row["series"])
        # A detector without scores for most of a series does not shrink it for the others.
        has_say = row["evaluated"] and 2 * row["missing"] <= row["steps"] - row["ignored"]
        if has_say and (known is None or row["evaluated"] < known["evaluated"]):
            by_series[row["series"]] = row
        if row["missing"]:
            lost.setdefault(row["detector"], Counter()).update(steps=row["missing"], series=1)
    number = "1 series" if len(by_series) == 1 else f"{len(by_series)} series"
    lines = []
    ignored = sum(row["ignored"] for row in by_series.values())
    if ignored:
        recorded = sum(row["steps"] for row in by_series.values())
        lines.append(f"{ignored:,} of {recorded:,} steps {'is' if ignored == 1 else 'are'} ignored, in {number}")
    if lost:
        what = {
            "ignore": "left out for all detectors of the series, so that all are judged on the same steps",
            "normal": "never predicted",
        }[missing]
        each = (f"{name!r} ({count['steps']:,} in {count['series']} series)" for name, count in lost.items())
        lines.append(f"steps without a score are {what}: {', '.join(each)}")
    events = sum(row["events_left_out"] for row in by_series.values())
    if events:
        total = sum(row["events"] for row in by_series.values())
        lie = "lies" if events == 1 else "lie"
        lines.append(f"{events} of {total} events {lie} wholly in steps that are left out, in {number}")
    return lines


def coarse_detectors(jobs: Mapping[str, Sequence[Any]]) -> dict[str, tuple[int, int]]:
    """Return the detectors whose scores are coarse on most series: on how many, and on how many there are."""
    in_any_run: dict[tuple[str, str], bool] = {}
    for *names, digest, is_coarse in zip(
        *(jobs[name] for name in ("detector", "series", "digest", "coarse")), strict=True
    ):
        if digest is not None:
            in_any_run[names[0], names[1]] = is_coarse or in_any_run.get((names[0], names[1]), False)
    total = Counter(detector for detector, _ in in_any_run)
    coarse = Counter(detector for (detector, _), is_coarse in in_any_run.items() if is_coarse)
    return {name: (coarse[name], number) for name, number in sorted(total.items()) if coarse[name] > number / 2}


def with_checks(board: Leaderboard, of_labels: Iterable[BoardCheck], measures: Measures) -> Leaderboard:
    """Say of a board what stands against reading too much into it, beside what is known of its labels."""
    coarse = coarse_detectors(board.jobs)
    spacings = spacings_of(board.series_table)
    checks = (*of_labels, *spacing_checks(spacings, measures), *find_warnings(board, coarse))
    return replace(board, coarse=in_order(coarse), checks=checks, warnings=tuple(check.sentence for check in checks))


def find_warnings(board: Leaderboard, coarse: Mapping[str, tuple[int, int]]) -> Iterator[BoardCheck]:
    """List what limits the conclusions: few series, coarse scores, undefined values, detectors out of the ranks."""
    yield from _too_few_series(board)
    yield from _coarse_scores(board, coarse)
    yield from _undefined(board)
    yield from _undefined_in_some_runs(board)
    yield from _unranked(board)


def _too_few_series(board: Leaderboard) -> Iterator[BoardCheck]:
    """Say so where no pair of detectors could differ significantly, whatever its values."""
    detectors = len(board.detectors)
    used = max((~np.isnan(board.values)).all(axis=0).sum(axis=0).tolist(), default=0)
    if detectors < 2 or (smallest := smallest_p_value(detectors, used)) < ALPHA:
        return
    pairs = counted(detectors * (detectors - 1) // 2, "pair")
    yield BoardCheck(
        "few-series",
        f"too few series for any claim: with {used} comparable series and {pairs} "
        f"of detectors the smallest possible corrected p-value is {smallest:.2g}, so no difference can be significant",
        "Evaluate on more series, or compare fewer detectors.",
    )


def _coarse_scores(board: Leaderboard, coarse: Mapping[str, tuple[int, int]]) -> Iterator[BoardCheck]:
    """Name detectors whose scores have so few distinct values that the trapezoid rule of `pate` overstates the area."""
    if "pate" not in board.metrics:
        return
    parted = []
    for d, detector in enumerate(board.detectors if "pate_ap" in board.metrics else ()):
        trapezoid, stepwise = (board.by_series(metric)[:, d] for metric in ("pate", "pate_ap"))
        both = ~np.isnan(trapezoid) & ~np.isnan(stepwise)
        if not both.any() or abs(float((trapezoid - stepwise)[both].mean())) <= LARGE_DIFFERENCE:
            continue
        parted.append(detector)
        why = "scores are coarse on {} of {} series, and ".format(*coarse[detector]) if detector in coarse else ""
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
    counts: dict[str, Counter[str]] = {}
    metrics: dict[str, dict[str, None]] = {}
    for (metric, reason), count in board.reasons().items():
        kind = re.sub(r"'[^']*'", "'...'", re.sub(r"\d+", "#", reason))
        counts.setdefault(kind, Counter())[reason] += count
        metrics.setdefault(kind, {})[metric] = None
    for kind, reasons in counts.items():
        codes = [board.reason_texts.index(reason) for reason in reasons]
        series = int(np.isin(board.reason_codes, codes).any(axis=(0, 2)).sum())
        named = "all metrics" if len(metrics[kind]) == len(board.metrics) else listed(list(metrics[kind]))
        total = reasons.total()
        more = f" (and {len(reasons) - 1} like it)" if len(reasons) > 1 else ""
        are = "value is" if total == 1 else "values are"
        yield BoardCheck(
            "undefined-values",
            f"{total:,} {are} missing, in {series} of {len(board.series)} series, for {named}: "
            f"{next(iter(reasons))}{more}",
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


def other_series(board: Leaderboard, jobs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Say which series of jobs that are put beside a board are not the same there, in any job, and in what."""
    known = {row["series"]: row for row in rows_of(board.series_table)}
    both = [(known[job["series"]], job) for job in jobs if job["series"] in known and job["labels"]]
    number = len({job["series"] for _, job in both})
    for name, what in TRUTH.items():
        other = dict.fromkeys(
            job["series"] for old, job in both if name in job and (old[name] or "") != (job[name] or "")
        )
        if other:
            yield f"{len(other)} of {number} series ({listed(list(other))}) {what}"


def jobs_of(board: Leaderboard) -> Iterator[dict[str, Any]]:
    """The jobs of a board as `other_series` takes them."""
    of_series = {row["series"]: row for row in rows_of(board.series_table)}
    for job in rows_of(board.jobs):
        yield {**job, "recorded": job["steps"], "left_out": of_series.get(job["series"], {}).get("left_out")}


def jobs_read(plan: Plan, measures: Measures, *, keep_going: bool) -> Iterator[dict[str, Any]]:
    """The same of jobs that are still to be computed, read one after the other."""
    for batch in make_batches(plan):
        try:
            for item in read_batch(batch):
                recording = recording_of(item, measures)
                clock = clock_digest(recording) if measures.follows_clock else ""
                about = {"recorded": len(recording.labels), "labels": labels_digest(recording), "clock": clock}
                yield {"series": item.series, **about}
        except (TableError, OSError):
            if not keep_going:  # otherwise it is said when the scores are computed
                raise
