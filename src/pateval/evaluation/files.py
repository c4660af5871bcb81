"""Score files as they are evaluated, and the levels of threshold rules on their training scores.

The quantile is that of the fit, whichever of its series are evaluated: parts of joined data share one threshold, as
they share one set of training scores, and series that were fitted each by itself have thresholds of their own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from pateval.evaluation.buffers import EventSpacing
from pateval.evaluation.measures import Measures
from pateval.evaluation.threshold_rules import TRAIN, share_of
from pateval.io import ScoredSeries, TableError
from pateval.io.batches import read_jobs
from pateval.io.plan import Job, Plan
from pateval.io.score_files import read_fit_scores, read_training_scores
from pateval.thresholds import quantile_threshold
from pateval.time.timelines import Recording, joined


def recording_of(item: ScoredSeries, measures: Measures) -> Recording:
    """One series of a score file as it is evaluated, with the levels of its fit's training scores where it has some."""
    found = item.recording(missing=measures.missing, max_gap=measures.max_gap, needs_times=measures.needs_times)
    level = partial(level_in_file, path=item.where, series=item.series, run=item.run)
    return replace(found, names=(item.series,), training=(level,))


@dataclass(frozen=True)
class ScoredFiles:
    """All that some files hold, read once, as it is evaluated."""

    plan: Plan
    parts: list[tuple[Job, ScoredSeries, Recording]]  # one detector on one series in one run each, as the plan has them

    @classmethod
    def read(cls, plan: Plan, measures: Measures) -> ScoredFiles:
        """Read everything that a plan lists."""
        return cls(plan, [(job, item, recording_of(item, measures)) for job, item in read_jobs(plan)])

    def by_run(self) -> dict[tuple[str, str], Recording]:
        """Every run of every detector on all its series, by the names of detector and run."""
        found: dict[tuple[str, str], list[Recording]] = {}
        for job, _, recording in self.parts:
            found.setdefault((job.detector, job.run), []).append(recording)
        return {names: joined(series) for names, series in found.items()}

    def detectors(self) -> dict[str, list[Recording]]:
        """Every detector with its runs, each on all its series."""
        found: dict[str, list[Recording]] = {}
        for (name, _), recording in self.by_run().items():
            found.setdefault(name, []).append(recording)
        return found

    def only(self, detectors: Sequence[str] | None = None, series: Sequence[str] | None = None) -> ScoredFiles:
        """Some of the detectors, in the order given, on some of the series; refuse names that are not there."""
        for kind, wanted in (("detector", detectors), ("series", series)):
            known = list(dict.fromkeys(getattr(job, kind) for job, _, _ in self.parts))
            absent = next((name for name in wanted or () if name not in known), None)
            if absent is not None:
                where = self.parts[0][1].where
                its = "series" if kind == "series" else "detectors"
                raise TableError(
                    f"{where}: there is no {kind} named {absent!r}; its {its} are {', '.join(map(repr, known[:12]))}"
                    f"{f' and {len(known) - 12} more' if len(known) > 12 else ''}"
                )
        chosen = [
            part
            for part in self.parts
            if (detectors is None or part[0].detector in detectors) and (series is None or part[0].series in series)
        ]
        if detectors is not None:
            chosen.sort(key=lambda part: list(detectors).index(part[0].detector))
        if not chosen:
            raise TableError(f"{self.parts[0][1].where}: no detector named is on a series named")
        return replace(self, parts=chosen)

    def label_numbers(self) -> npt.NDArray[np.int32]:
        """For each job of the plan a number that stands for its labels, -1 for jobs that were not read."""
        known: dict[bytes, int] = {}
        found = np.full(len(self.plan.jobs), -1, dtype=np.int32)
        for job, _, recording in self.parts:
            labels = recording.labels.tobytes() + str(recording.labels.shape).encode()
            found[job.number] = known.setdefault(labels, len(known))
        return found

    def spacings(self) -> list[EventSpacing]:
        """How events lie, for each series that has one label per step."""
        first = {job.series: (job, recording) for job, _, recording in reversed(self.parts)}
        return [
            EventSpacing.of(name, recording.labels, nanoseconds=recording.nanoseconds, ignore=recording.ignore)
            for name, (_, recording) in first.items()
            if not recording.has_channels
        ]


def level_in_file(threshold: str, path: str | os.PathLike[str], *, series: str, run: str = "") -> float:
    """Return the quantile that a rule on training scores asks for, from the scores of the fit a series belongs to."""
    try:
        if not os.path.isfile(path) or not os.fspath(path).lower().endswith((".parquet", ".pq")):
            raise ValueError("they are kept beside score files in Parquet")
        status = os.stat(path)
        return _level(threshold, os.fspath(path), series, run, (status.st_mtime_ns, status.st_size))
    except (ValueError, OSError) as error:
        why = str(error).removeprefix(f"{path}: ")
        raise TableError(
            f"{path}: threshold {threshold!r} needs the scores of the training steps ({why}); "
            f"`pateval detect DETECTOR --data DATA -o DIR` writes files that have them"
        ) from error


@lru_cache(maxsize=4096)
def _level(threshold: str, path: str, series: str, run: str, version: tuple[int, int]) -> float:
    del version  # a file that was written anew is read anew
    name, share = share_of(threshold)
    chosen = int(run) if run else None
    training = read_training_scores(path, series=series, run=chosen)
    if name == TRAIN:
        return quantile_threshold(training, fraction=share)
    fit_scores = read_fit_scores(path, series=series, run=chosen)
    return quantile_threshold(fit_scores, fraction=share, train_scores=training)
