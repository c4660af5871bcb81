"""Two detectors on the same steps: which steps those are, and the values of each on some of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import Metric
from pateval.evaluation import evaluate
from pateval.evaluation.bootstrap import event_blocks
from pateval.evaluation.circumstances import left_out_notes
from pateval.evaluation.threshold_rules import ScoredSteps, ThresholdRule
from pateval.leaderboards.steps import SeriesSteps
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, read_recording
from pateval.validation.arrays import BoolArray, FloatArray, without_gaps


@dataclass(frozen=True)
class ComparedSteps:
    """The steps that two detectors are compared on.

    Attributes
    ----------
    recording : Recording
        Labels at every recorded step, and which of them count; it has no scores.
    scores : tuple of ndarray
        Scores of the detectors, NaN where one is missing.
    missing : {"error", "normal"}
        What becomes of missing scores at the steps that count.
    absent : tuple of int
        How many scores each detector lacks: steps that are left out for both, or never predicted.
    data : dict
        ``ignore``, ``times`` and ``time_unit`` as `evaluate` takes them, where there are any.
    """

    recording: Recording
    scores: tuple[FloatArray, ...]
    missing: str
    absent: tuple[int, ...]
    data: dict[str, Any]

    def pieces(self) -> list[tuple[int, int]]:
        """Cut one series midway between its events; events that only left-out steps part stay in one piece."""
        found = event_blocks(self.recording.closed_up(self.recording.labels))
        cuts = self.recording.timeline.original(np.array([start for start, _ in found[1:]], dtype=np.intp))
        return list(pairwise([0, *cuts.tolist(), self.recording.labels.size]))

    def notes(self, metrics: Sequence[Metric], names: tuple[str, str], max_gap: Duration | None) -> Iterable[str]:
        """Say which steps do not count, and why."""
        what = "never predicted" if self.missing == "normal" else "left out for both"
        for name, number in zip(names, self.absent, strict=True):
            if number:
                yield f"{number:,} scores of {name} are missing: such steps are {what}"
        yield from left_out_notes(self.recording, metrics, missing=self.missing, max_gap=max_gap)


def read_compared_steps(labels: Any, scores: tuple[Any, Any], missing: str, given: dict[str, Any]) -> ComparedSteps:
    """Check both detectors, and find the steps on which they are compared.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth.
    scores : pair of array-like
        Scores of the detectors.
    missing : {"error", "ignore", "normal"}
        What becomes of missing scores; "ignore" leaves such a step out for both.
    given : dict
        ``series``, ``times``, ``time_unit``, ``max_gap`` and ``ignore`` as `evaluate` takes them.

    Examples
    --------
    >>> nan = float("nan")
    >>> given = {"ignore": [0, 1, 0, 0]}
    >>> found = read_compared_steps([0, 1, 1, 0], ([1.0, 2.0, nan, 4.0], [1.0, nan, 3.0, 4.0]), "ignore", given)
    >>> found.data["ignore"].tolist(), found.absent
    ([False, True, True, False], (1, 0))
    """
    both = [read_recording(labels, values, missing=missing, **given) for values in scores]
    if missing == "ignore":
        masks = [one.is_left_out for one in both if one.is_left_out is not None]
        given = {**given, "ignore": np.logical_or.reduce(masks) if masks else None}
    recording = read_recording(labels, **given)
    data: dict[str, Any] = {} if recording.is_left_out is None else {"ignore": recording.is_left_out}
    clock = recording.timeline.clock
    if clock is not None:
        data |= {"times": recording.times, "time_unit": clock.unit}
    values: Any = tuple(one.scores for one in both)  # there, since they were given
    absent = tuple(one.counts.missing for one in both)
    return ComparedSteps(recording, values, "normal" if missing == "normal" else "error", absent, data)


class ComparedDetector:
    """Scores of one detector, and predictions by its threshold on all steps that count."""

    def __init__(self, scores: FloatArray, rule: ThresholdRule, steps: ComparedSteps) -> None:
        self.scores = scores
        self.uses_labels = rule.uses_labels
        self.predictions: BoolArray | None = None
        recording, timeline = steps.recording, steps.recording.timeline
        labels = recording.closed_up(recording.labels)
        if labels.any() or not rule.uses_labels:
            counted = without_gaps(recording.closed_up(scores))
            level = rule.choose(ScoredSteps.on(timeline, labels, counted))
            self.predictions = timeline.on_all_steps(rule.predictions(counted, level))

    def values_of(self, units: Sequence[tuple[int, int]], steps: ComparedSteps, given: dict[str, Any]) -> Any:
        """Values on each unit, units by metrics."""
        return np.array([self._values(slice(*unit), _part(steps.data, slice(*unit)), steps, given) for unit in units])

    def values_at(self, drawn: npt.NDArray[np.intp], steps: ComparedSteps, given: dict[str, Any]) -> list[float]:
        """Values on steps drawn with repetition; each comes as long after the one before as it did."""
        _, data = SeriesSteps(steps.recording.labels, self.scores, steps.data).drawn(drawn)
        return self._values(drawn, data, steps, given)

    def _values(self, chosen: Any, data: dict[str, Any], steps: ComparedSteps, given: dict[str, Any]) -> list[float]:
        if "ignore" in data and data["ignore"].all():
            return [math.nan] * len(given["metrics"])
        predictions = None if self.predictions is None else self.predictions[chosen]
        labels = steps.recording.labels[chosen]
        return list(evaluate(labels, self.scores[chosen], predictions, **given, **data).values())


def _part(data: dict[str, Any], unit: slice) -> dict[str, Any]:
    return {name: value if name == "time_unit" else value[unit] for name, value in data.items()}
