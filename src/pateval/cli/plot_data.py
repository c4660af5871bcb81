"""What ``pateval plot`` draws from: detectors that lie on the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from pateval.evaluation.files import ScoredFiles
    from pateval.io import Reading, ScoredSeries
    from pateval.time.timelines import Recording


@dataclass(frozen=True)
class Drawable:
    """Some detectors on the same steps.

    Attributes
    ----------
    recordings : dict
        By detector, with its run where there are several: what is evaluated. A step that one of them has no score for
        is left out for all, where such are ignored.
    values : ndarray or None
        The series itself, where asked for.
    axis : dict
        ``times`` and ``time_unit`` of the horizontal axis, where the files have times.
    notes : tuple of str
        What is left out.
    """

    recordings: dict[str, Recording]
    values: npt.NDArray[Any] | None
    axis: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def first(self) -> Recording:
        """The first detector; labels, series, clock and ignored steps are those of all."""
        return next(iter(self.recordings.values()))

    @property
    def scores(self) -> dict[str, npt.NDArray[Any]]:
        """Scores by detector."""
        return {name: recording.scores for name, recording in self.recordings.items() if recording.scores is not None}

    @property
    def steps(self) -> dict[str, Any]:
        """Which steps count, which series they belong to and when they were, as metrics and figures take it.

        Steps without a score are not among the ignored ones: a detector may have hardly any on a series, and no value
        there, which those who compute must know.
        """
        first = self.first
        found: dict[str, Any] = {"missing": first.missing}
        if first.series_of_steps is not None:
            found["series"] = first.series_of_steps
        if first.ignore is not None:
            found["ignore"] = first.ignore
        if first.clock is not None:
            found |= {"times": first.clock.times, "time_unit": first.clock.unit}
        return found


def drawable(read: ScoredFiles, reading: Reading, value: str | None) -> Drawable:
    """Put detectors side by side; they must lie on the same series with the same labels.

    Raises
    ------
    TableError
        If they do not.
    """
    from pateval.io import TableError
    from pateval.time.timelines import leave_out_for_all

    found = {f"{name}, run {run}" if run else name: one for (name, run), one in read.by_run().items()}
    first, *others = found
    for other in others:
        for (_, part), (_, expected) in zip(found[other].series_parts(), found[first].series_parts(), strict=False):
            if part.names != expected.names or not np.array_equal(part.labels, expected.labels):
                raise TableError(
                    f"detectors {first!r} and {other!r} do not have the same labels on series {expected.names[0]!r}; "
                    "draw one at a time with --only"
                )
        if found[other].starts.size != found[first].starts.size:
            raise TableError(f"detectors {first!r} and {other!r} are not on the same series; draw one with --only")
    recordings = dict(zip(found, leave_out_for_all(list(found.values())), strict=True))
    recording = recordings[first]
    notes = []
    if recording.missing == "ignore":
        number = 0 if recording.is_left_out is None else int(np.count_nonzero(recording.is_left_out))
        number -= 0 if recording.ignore is None else int(np.count_nonzero(recording.ignore))
        for_all = "" if len(found) == 1 else ", for all detectors"
        if number:
            notes.append(f"{number:,} of {len(recording.labels):,} steps have no score: they are left out{for_all}")
    job, item, _ = read.parts[0]
    of_first = [one for other, one, _ in read.parts if (other.detector, other.run) == (job.detector, job.run)]
    values = None if value is None else _column(read, reading, item, value)
    return Drawable(recordings, values, _axis(of_first), tuple(notes))


def _column(read: ScoredFiles, reading: Reading, item: ScoredSeries, column: str) -> npt.NDArray[Any]:
    """A further column of the first file, row by row like the scores of the first detector."""
    from dataclasses import replace

    from pateval.io import TableError, open_table
    from pateval.io.batches import read_jobs
    from pateval.io.plan import make_plan

    known = open_table(item.where).kinds()
    if column not in known:
        raise TableError(f"{item.where}: there is no column {column!r}; its columns are {', '.join(known)}")
    plan = make_plan([item.where], replace(reading, score=[column]))
    parts = {(job.series, job.run): one.scores for job, one in read_jobs(plan)}
    wanted = [(job.series, job.run) for job, one, _ in read.parts if one.detector == item.detector]
    if len(parts) == 1:  # one series, which may have another name when it is read for this column
        return next(iter(parts.values()))
    return np.concatenate([parts[names] for names in dict.fromkeys(wanted)])


def _axis(items: Sequence[ScoredSeries]) -> dict[str, Any]:
    """Times as an axis draws them: dates, or numbers as they stand where all are in the same unit."""
    if any(item.times is None for item in items) or len({(item.has_dates, item.time_unit) for item in items}) > 1:
        return {}
    times = np.concatenate([item.times for item in items])
    if items[0].has_dates:
        return {"times": times.view("datetime64[ns]")}
    return {"times": times, "time_unit": items[0].time_unit}
