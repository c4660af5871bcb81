"""What stands against reading too much into a leaderboard."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pateval.io import TableError
from pateval.leaderboards.batches import make_chance_batches, read_batch
from pateval.leaderboards.plan import listed
from pateval.leaderboards.significance import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from pateval._validation import BoolArray
    from pateval.leaderboards.plan import Plan
    from pateval.leaderboards.result import Leaderboard

LARGE_DIFFERENCE = 0.05  # a mean difference of pate and pate_ap that is worth a line
_READ_AT_MOST = 200  # series whose labels are read again to count the steps where they differ


def label_differences(plan: Plan, labels: npt.NDArray[np.int32]) -> Iterator[str]:
    """Report files whose labels differ from those of most detectors, with the number of steps.

    Parameters
    ----------
    plan : Plan
        The jobs.
    labels : ndarray
        For each job a number that stands for its labels, -1 where they are not known.

    Yields
    ------
    str
        One line per file.
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
        yield (
            f"{where}: labels differ from those of most detectors in {len(names)} of {len(groups)} series, "
            f"on {more}{steps:,} steps{other_length} ({listed(names)}); each file is scored with its own labels"
        )


def _differing_steps(plan: Plan, one: int, other: int) -> int | None:
    """Count the steps where two jobs' labels differ; None where their lengths do."""
    first, second = _labels(plan, one), _labels(plan, other)
    if first is None or second is None or first.size != second.size:
        return None
    return int(np.count_nonzero(first != second))


def _labels(plan: Plan, job: int) -> BoolArray | None:
    try:
        for batch in make_chance_batches(plan, [job]):
            for _, item in read_batch(batch):
                return item.checked_labels()
    except TableError:
        return None
    return None


def find_warnings(board: Leaderboard, coarse: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Say what the numbers cannot bear: too few series, coarse scores, undefined values, detectors out of the ranks.

    Parameters
    ----------
    board : Leaderboard
        The numbers.
    coarse : mapping
        For detectors whose scores are coarse on most series: on how many, of how many.
    """
    yield from _too_few_series(board)
    yield from _coarse_scores(board, coarse)
    yield from _undefined(board)
    yield from _unranked(board)


def _too_few_series(board: Leaderboard) -> Iterator[str]:
    """With n series the signed-rank test cannot go below 2 / 2**n, and Holm multiplies by the number of pairs."""
    detectors = len(board.detectors)
    if detectors < 2:
        return
    used = max(
        (int((~np.isnan(board.values[:, :, m])).all(axis=0).sum()) for m in range(len(board.metrics))), default=0
    )
    pairs = detectors * (detectors - 1) // 2
    smallest = min(1.0, 2.0 ** (1 - used) * pairs)
    if smallest >= ALPHA:
        yield (
            f"too few series for any claim: with {used} comparable series and {pairs} pairs of detectors the smallest "
            f"possible corrected p-value is {smallest:.2g}, so no difference can be significant"
        )


def _coarse_scores(board: Leaderboard, coarse: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Name detectors whose scores are so coarse that the trapezoid of `pate` pays for a line nobody walked."""
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
                yield (
                    f"detector {detector!r}: {why}pate ({trapezoid[both].mean():.3f}) parts from pate_ap "
                    f"({stepwise[both].mean():.3f}); trust pate_ap"
                )
    others = [detector for detector in coarse if detector not in parted]
    if others:
        yield (
            f"scores are coarse on most series (at most two values, or one shared by most steps), which flatters pate: "
            f"{listed(others, 8)}"
        )


def _undefined(board: Leaderboard) -> Iterator[str]:
    """Sum up the missing values by reason; reasons that differ in a number alone are one."""
    counts: Counter[str] = Counter()
    metrics: dict[str, dict[str, None]] = {}
    shown: dict[str, list[str]] = {}
    for (metric, reason), count in board.reasons().items():
        kind = re.sub(r"\d+", "#", reason)
        counts[kind] += count
        metrics.setdefault(kind, {})[metric] = None
        if reason not in shown.setdefault(kind, []):
            shown[kind].append(reason)
    for kind, reasons in shown.items():
        codes = [board.reason_texts.index(reason) for reason in reasons]
        series = int(np.isin(board.reason_codes, codes).any(axis=(0, 2)).sum())
        named = "all metrics" if len(metrics[kind]) == len(board.metrics) else listed(list(metrics[kind]))
        more = f" (and {len(reasons) - 1} like it)" if len(reasons) > 1 else ""
        yield (
            f"{counts[kind]:,} values are missing, in {series} of {len(board.series)} series, for {named}: "
            f"{reasons[0]}{more}"
        )


def _unranked(board: Leaderboard) -> Iterator[str]:
    without: dict[tuple[str, ...], list[str]] = {}
    for m, metric in enumerate(board.metrics):
        counts = np.count_nonzero(~np.isnan(board.values[:, :, m]), axis=1).tolist()
        if any(counts) and not all(counts):
            names = tuple(name for name, count in zip(board.detectors, counts, strict=True) if not count)
            without.setdefault(names, []).append(metric)
    for names, metrics in without.items():
        yield f"without any value and so left out of the ranks under {listed(metrics)}: {listed(names, 8)}"
