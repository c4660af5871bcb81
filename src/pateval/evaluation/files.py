"""Score files as they are evaluated, and the levels of threshold rules on their training scores.

The quantile is that of the fit, whichever of its series are evaluated: parts of joined data share one threshold, as
they share one set of training scores, and series that were fitted each by itself have thresholds of their own.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np

from pateval.catalog import find_metrics
from pateval.evaluation.buffers import EventSpacing
from pateval.evaluation.explanation import (
    CLASS,
    LENGTH,
    BoardKind,
    by_kind,
    counted_events,
    kinds_by_class,
    kinds_by_length,
    order_of_kind,
    predicted_steps,
)
from pateval.evaluation.measures import Measures
from pateval.evaluation.threshold_rules import training_level
from pateval.evaluation.values import defined_mean, grouped
from pateval.io import ScoredSeries, TableError, Unit
from pateval.io.plan import Plan
from pateval.io.score_files import read_fit_scores, read_training_scores
from pateval.io.units import SCORES, batches_of, read_batch, read_jobs
from pateval.output.explanation import EventKind
from pateval.time.timelines import Recording, joined, leave_out_for_all
from pateval.validation.arrays import IntArray, choice, scores_with_gaps
from pateval.validation.wording import listed


def recording_of(item: ScoredSeries, measures: Measures) -> Recording:
    """One series of a score file as it is evaluated, with the levels of its fit's training scores where it has some."""
    recording = item.recording(missing=measures.missing, max_gap=measures.max_gap, needs_times=measures.needs_times)
    level = partial(level_in_file, path=item.where, series=item.series, run=item.run)
    return replace(recording, names=(item.series,), training=(level,))


def series_by_series(
    plan: Plan, measures: Measures, binary: Collection[str]
) -> Iterator[list[tuple[ScoredSeries, Recording]]]:
    """Read one series after the other, each with all runs of all detectors on it, so that one at a time is in memory.

    Steps are left out for all of them, and scores of the detectors named ``binary`` are predictions.
    """
    for code in range(len(plan.series)):
        items = read_jobs(plan, np.flatnonzero(plan.jobs.series_code == code).tolist())
        judged = leave_out_for_all([recording_of(item, measures) for item in items])
        yield [
            (item, replace(one, predictions=np.asarray(one.scores == 1)) if item.detector in binary else one)
            for item, one in zip(items, judged, strict=True)
        ]


@dataclass(frozen=True)
class ScoredFiles:
    """All that some files hold, read once, as it is evaluated."""

    plan: Plan
    parts: list[tuple[Unit, ScoredSeries, Recording]]  # one detector on one series in one run each, as planned

    @classmethod
    def read(cls, plan: Plan, measures: Measures) -> ScoredFiles:
        """Read everything that a plan lists."""
        return cls(plan, [(item.unit, item, recording_of(item, measures)) for item in read_jobs(plan)])

    def by_run(self) -> dict[tuple[str, str], Recording]:
        """Every run of every detector on all its series, by the names of detector and run."""
        series_of_run = grouped(((job.detector, job.run), recording) for job, _, recording in self.parts)
        return {names: joined(series) for names, series in series_of_run.items()}

    def detectors(self) -> dict[str, list[Recording]]:
        """Every detector with its runs, each on all its series."""
        return grouped((name, recording) for (name, _), recording in self.by_run().items())

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

    def on_same_steps(self, one: str, other: str, *, needs_times: str) -> tuple[ScoredFiles, list[str]]:
        """Two detectors with the same labels, and times where these are needed, on the series that both have.

        Series that only one has are named in the notes; steps that one file ignores are ignored for both.
        """
        series = {
            name: list(dict.fromkeys(job.series for job, _, _ in self.only([name]).parts)) for name in (one, other)
        }
        if not set(series[one]) & set(series[other]):
            if len(series[one]) == len(series[other]) == 1:
                places = f"{one!r} is on series {series[one][0]!r} and {other!r} on {series[other][0]!r}"
                raise TableError(f"{places}: nothing to compare")
            raise TableError(f"{one!r} and {other!r} have no series in common")
        notes = []
        for mine, theirs in ((one, other), (other, one)):
            alone = [name for name in series[mine] if name not in series[theirs]]
            if alone:
                notes.append(f"not in the differences, since only {mine!r} has it: series {listed(alone, 1)}")
        ignored: dict[str, Any] = {}
        first: dict[str, tuple[Any, Any]] = {}
        for job, item, recording in self.parts:
            known, expected = first.setdefault(job.series, (item, recording))
            steps, name = len(expected.labels), f"series {job.series!r}"
            if len(recording.labels) != steps:
                raise TableError(
                    f"{name} has {steps:,} steps in {known.where} and {len(recording.labels):,} in {item.where}; both "
                    "detectors must be on the same steps"
                )
            differing = int((recording.labels != expected.labels).sum())
            if differing:
                raise TableError(
                    f"{name}: the labels in {known.where} and {item.where} differ on {differing:,} of {steps:,} steps; "
                    "both detectors must be on the same labels"
                )
            own_times, known_times = np.asarray(recording.nanoseconds), np.asarray(expected.nanoseconds)
            if needs_times and not np.array_equal(own_times, known_times):
                raise TableError(
                    f"the times in {known.where} and {item.where} differ; {needs_times} needs both detectors on "
                    "the same clock"
                )
            if recording.ignore is not None:
                ignored[job.series] = recording.ignore | ignored.get(job.series, False)
        parts = [(job, item, replace(recording, ignore=ignored.get(job.series))) for job, item, recording in self.parts]
        return replace(self, parts=parts), notes

    def labels(self) -> LabelsRead:
        """What all labels say."""
        read = LabelsRead(self.plan)
        for job, _, recording in self.parts:
            read.add(job, recording)
        return read


class LabelsRead:
    """What the labels that were read say, as checks of the data ask for it."""

    def __init__(self, plan: Plan) -> None:
        # For each job of the plan a number that stands for its labels, -1 for jobs that were not read.
        self.numbers = np.full(len(plan.jobs), -1, dtype=np.int32)
        self.spacings: dict[str, EventSpacing] = {}  # how events lie, for each series that has one label per step
        self._known: dict[object, int] = {}

    def add(self, job: Unit, recording: Recording) -> None:
        """Take in the labels of one job."""
        labels = recording.labels.shape, recording.labels.tobytes()
        self.numbers[job.number] = self._known.setdefault(hash(labels), len(self._known))
        if job.series not in self.spacings and not recording.has_channels:
            self.spacings[job.series] = EventSpacing.of(
                job.series, recording.labels, nanoseconds=recording.nanoseconds, ignore=recording.ignore
            )


def kinds_of_detectors(plan: Plan, measures: Measures, by: str, order: Sequence[str]) -> tuple[BoardKind, ...]:
    """Judge the detectors of some files on each kind of event under the first metric, in an order of the detectors."""
    choice(by, "by", (LENGTH, CLASS))
    lengths = None
    if by == LENGTH:  # of the events of all series, as the first detector on each has them
        _, first = np.unique(plan.jobs.series_code, return_index=True)
        read = [recording_of(item, measures) for item in read_jobs(plan, first.tolist())]
        lengths = np.concatenate([counted_events(recording).lengths for recording in read])
    by_series: dict[tuple[str, str], dict[str, list[EventKind]]] = {}
    for item, recording in chain.from_iterable(series_by_series(plan, measures, binary_detectors(plan))):
        for kind in _judged(recording, item, measures, lengths):
            by_series.setdefault((item.detector, kind.name), {}).setdefault(item.series, []).append(kind)
    rows = [_row(*key, list(judged.values())) for key, judged in by_series.items()]
    return tuple(sorted(rows, key=lambda row: (order.index(row.detector), order_of_kind(row.kind))))


def _judged(recording: Recording, item: ScoredSeries, measures: Measures, lengths: IntArray | None) -> list[EventKind]:
    """A run of a detector on one series, by the kinds of events there are."""
    events, own = counted_events(recording), measures.of_detector(item.detector)
    if not len(events) or recording.is_mostly_missing:
        return []
    by_class = lengths is None
    kinds = kinds_by_class(events, item.label_classes()) if by_class else kinds_by_length(events.lengths, lengths)
    # A metric on scores says nothing of what is found: the board's rule does.
    judging = own if own.metrics[0].needs_threshold else replace(own, metrics=tuple(find_metrics(["point_f1"])))
    flags, _ = predicted_steps(recording, judging)
    return [kind for kind in by_kind(recording, own, events, kinds, flags) if kind.events]


def _row(detector: str, kind: str, series: list[list[EventKind]]) -> BoardKind:
    """Means over the series, and over the runs on each."""
    recall, value = (
        float(defined_mean([defined_mean([getattr(run, name) for run in runs]) for runs in series]))
        for name in ("recall", "value")
    )
    return BoardKind(detector, kind, len(series), sum(runs[0].events for runs in series), recall, value)


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
    chosen = int(run) if run else None
    training = read_training_scores(path, series=series, run=chosen)
    return training_level(threshold, training, lambda: read_fit_scores(path, series=series, run=chosen))


def binary_detectors(plan: Plan, known: Mapping[str, bool] | None = None) -> frozenset[str]:
    """Detectors whose scores are 0 and 1 only, on all their series: they give predictions, and no rule is applied.

    A detector is given up at its first other score, so that usually one series of each is read. Of those that are
    ``known`` from a board that grows, it says whether they are such; one that is may have no other scores now.
    """
    codes, jobs = plan.jobs.detector_code, np.arange(len(plan.jobs))
    values: dict[int, set[float]] = {}
    _, first = np.unique(codes, return_index=True)
    for some in (first, np.setdiff1d(jobs, first)):
        for batch in batches_of(plan, [job for job in some if values.get(int(codes[job]), {0.0})], SCORES):
            with suppress(TableError, OSError):  # what is wrong with a file is said when it is evaluated
                for item in read_batch(batch):
                    d = int(codes[item.unit.number])
                    if d in values and not values[d]:
                        continue
                    try:
                        found = scores_with_gaps(item.scores, channels=item.scores.ndim == 2)
                    except (TypeError, ValueError):
                        found = np.full(1, 0.5)
                    seen = set(np.unique(found[~np.isnan(found)])[:3].tolist())
                    values[d] = values.get(d, set()) | seen if seen <= {0.0, 1.0} else set()
    known = known or {}
    for d, seen in values.items():
        if not seen and known.get(plan.detectors[d]):
            raise TableError(
                f"detector {plan.detectors[d]!r} has scores of 0 and 1 only in the leaderboard, and others here: "
                f"compute the leaderboard again from all files"
            )
    return frozenset(plan.detectors[d] for d, seen in values.items() if known.get(plan.detectors[d], len(seen) == 2))


def binary_note(binary: frozenset[str]) -> list[str]:
    """Say which detectors give predictions, where some do."""
    if not binary:
        return []
    names = listed(sorted(binary), 8)
    are = "has scores of 0 and 1 only: they are" if len(binary) == 1 else "have scores of 0 and 1 only: these are"
    return [f"{names} {are} taken as predictions, and no threshold rule is applied"]
