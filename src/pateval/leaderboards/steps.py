"""The steps of one series as they are evaluated: on their clock, less what is left out.

With ``missing="ignore"`` a step is left out for all detectors of a series where one of them has no score, so that all
are judged on the same steps. A detector without scores for more than half of a series has no say in that, and no value
there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.io import TableError
from pateval.leaderboards import cache
from pateval.time.timelines import StepCounts, read_recording
from pateval.validation.containers import missing_mask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pateval.io import ScoredSeries
    from pateval.leaderboards.batches import Batch
    from pateval.leaderboards.plan import Plan
    from pateval.validation.arrays import BoolArray, FloatArray, IntArray

MOSTLY_MISSING = "the detector has no score for more than half of the steps"


class MissingSteps(NamedTuple):
    """Where one detector has no scores, or some of a series' detectors have none.

    Attributes
    ----------
    size : int
        Steps of the series.
    bits : ndarray of uint8
        A bit for each step, set where a score is missing.
    """

    size: int
    bits: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, mask: BoolArray) -> MissingSteps:
        """Pack a mask."""
        return cls(mask.size, np.packbits(mask))

    @property
    def mask(self) -> BoolArray:
        """The mask, one truth value per step."""
        return np.unpackbits(self.bits, count=self.size).astype(np.bool_)


@dataclass(frozen=True)
class SeriesSteps:
    """Labels and scores of one series, and how its steps are measured.

    Attributes
    ----------
    labels, scores : ndarray
        At every recorded step; scores are NaN where they are missing, and empty where only labels are wanted.
    data : dict
        ``times``, ``time_unit`` and ``ignore`` as `pateval.evaluate` takes them, where they decide a number.
    is_mostly_missing : bool
        Whether more than half of the scores are missing, which leaves no value where missing ones are ignored.
    counts : StepCounts or None
        How much was left out, where anything was.
    """

    labels: BoolArray
    scores: FloatArray
    data: dict[str, Any] = field(default_factory=dict)
    is_mostly_missing: bool = False
    counts: StepCounts | None = None

    def content(self) -> list[str | npt.NDArray[Any]]:
        """Everything that decides a number, for its key in the cache."""
        parts: list[str | npt.NDArray[Any]] = [self.labels, self.scores]
        for name, value in self.data.items():
            parts += [name, value]
        return parts

    def labels_digest(self) -> str:
        """Hash what chance depends on: the labels, and with them clock and ignored steps where there are any."""
        digest = cache.labels_digest(self.labels)
        if not self.data:
            return digest
        whole = hashlib.blake2b(digest.encode(), digest_size=16)
        for name, value in self.data.items():
            whole.update(name.encode())
            whole.update(value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes())
        return whole.hexdigest()

    def drawn(self, steps: IntArray) -> tuple[FloatArray, dict[str, Any]]:
        """Scores and data of steps drawn with repetition; each comes as long after the one before as it did."""
        data = dict(self.data)
        if "ignore" in data:
            data["ignore"] = data["ignore"][steps]
        if "times" in data:
            intervals = np.diff(data["times"], prepend=data["times"][:1])
            if intervals.size > 1:
                intervals[0] = np.median(intervals[1:])
            data["times"] = np.cumsum(intervals[steps])
        return self.scores[steps], data


def read_steps(
    item: ScoredSeries, *, missing: str, needs_times: str, with_scores: bool, left_out: MissingSteps | None = None
) -> SeriesSteps:
    """Check one series and decide which of its steps are evaluated.

    Parameters
    ----------
    item : ScoredSeries
        As read.
    missing : {"error", "ignore", "normal"}
        What becomes of missing scores.
    needs_times : str
        What needs to know times, in words; empty where nothing does.
    with_scores : bool
        False for labels alone.
    left_out : MissingSteps, optional
        Steps at which a detector of the series has no score.

    Raises
    ------
    TableError
        If labels, scores or times are not what they must be.
    """
    if with_scores:
        labels, scores = item.checked(allow_missing=missing != "error")
    else:
        labels, scores = item.checked_labels(), np.empty(0)
    ignore = item.ignore
    data: dict[str, Any] = {}
    if needs_times:
        if item.time_unit is None:
            raise TableError(
                f"{item.where}: column {item.time_column!r}: {needs_times} needs the unit of times that are numbers; "
                f"give it with --time-unit (time_unit='s')"
            )
        data = {"times": item.times, "time_unit": item.time_unit}
    absent = missing_mask(scores)
    if ignore is not None and with_scores:
        absent &= ~ignore
    number = int(np.count_nonzero(absent))
    remaining = labels.size - (0 if ignore is None else int(np.count_nonzero(ignore)))
    mostly = missing == "ignore" and 2 * number > remaining
    mask = ignore
    if missing == "ignore" and left_out is not None and left_out.size == labels.size:
        mask = left_out.mask if mask is None else mask | left_out.mask
    if mask is not None and mask.any():
        data["ignore"] = mask
    if remaining == 0:
        raise TableError(f"{item.where}: series {item.series!r}: every step is ignored; nothing is left to evaluate")
    counts = None
    if with_scores and not mostly and (number or "ignore" in data):
        found = read_recording(labels, scores, ignore=data.get("ignore"), missing=missing).counts
        counts = StepCounts(
            labels.size, labels.size - remaining, number, found.evaluated, found.events, found.events_left_out
        )
    elif mostly:
        counts = StepCounts(labels.size, labels.size - remaining, number, 0, 0, 0)
    return SeriesSteps(labels, scores, data, mostly, counts)


def missing_steps(item: ScoredSeries) -> MissingSteps | None:
    """Where a detector has no score; None where that is nowhere, or for more than half of the series."""
    labels, scores = item.checked(allow_missing=True)
    absent, ignore = missing_mask(scores), item.ignore
    remaining = labels.size
    if ignore is not None:
        absent &= ~ignore
        remaining -= int(np.count_nonzero(ignore))
    number = int(np.count_nonzero(absent))
    return MissingSteps.of(absent) if 0 < 2 * number <= remaining else None


class MissingInSeries:
    """The steps at which some detector has no score, series by series, as the detectors are read.

    Parameters
    ----------
    plan : Plan
        Says which series a job belongs to.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[tuple[int, int], npt.NDArray[np.uint8]] = {}

    def add(self, job: int, found: MissingSteps) -> None:
        """Take in one detector."""
        key = int(self._plan.jobs.series_code[job]), found.size
        known = self._found.get(key)
        self._found[key] = found.bits if known is None else known | found.bits

    def given_to(self, batches: Iterable[Batch]) -> Iterable[Batch]:
        """Yield the batches with the steps to leave out of their series."""
        for batch in batches:
            found: dict[int, MissingSteps] = {}
            for job in batch.jobs:
                key = int(self._plan.jobs.series_code[job.number]), int(self._plan.jobs.steps[job.number])
                if key in self._found:
                    found[job.number] = MissingSteps(key[1], self._found[key])
            yield replace(batch, left_out=found) if found else batch


def left_out_lines(plan: Plan, counts: Mapping[int, StepCounts], missing: str) -> list[str]:
    """Say how many steps and events of the series were left out, and how much each detector covers.

    Parameters
    ----------
    plan : Plan
        Says which detector and series a job is.
    counts : mapping of int to StepCounts
        For jobs of which something was left out, or whose scores are missing in part.
    missing : str
        What became of missing scores.
    """
    by_series: dict[int, StepCounts] = {}
    lost: dict[int, list[int]] = {}
    for job, found in counts.items():
        series, detector = int(plan.jobs.series_code[job]), int(plan.jobs.detector_code[job])
        if found.evaluated and (series not in by_series or found.evaluated < by_series[series].evaluated):
            by_series[series] = found
        if found.missing:
            sums = lost.setdefault(detector, [0, 0])
            sums[0] += found.missing
            sums[1] += 1
    lines = []
    ignored = sum(found.ignored for found in by_series.values())
    if ignored:
        recorded = sum(found.recorded for found in by_series.values())
        lines.append(f"{ignored:,} of {recorded:,} steps are ignored, in {_series(by_series)}")
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
        lines.append(f"{events} of {total} events lie wholly in steps that are left out, in {_series(by_series)}")
    return lines


def _series(found: Mapping[int, StepCounts]) -> str:
    return "1 series" if len(found) == 1 else f"{len(found)} series"
