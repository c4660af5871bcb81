"""What chance reaches: random scores on the same labels, cut as the detector's are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pateval.catalog.metric import Metric
from pateval.evaluation.one_detector import Evaluated, evaluate_detector
from pateval.evaluation.result import Evaluation
from pateval.evaluation.stretch import series_numbers
from pateval.evaluation.threshold_rules import ORACLE, ThresholdRule, uses_training_scores
from pateval.time.clocks import Duration, Times
from pateval.validation.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class RandomScores:
    """Random scores on the steps of an evaluation; what they reach is computed when it is first asked for.

    Five draws cost five times what a detector does, and most evaluations are asked for a few values only. So that the
    answer does not hang on what callers do to their arrays in between, the arrays here are copies.

    Attributes
    ----------
    labels : ndarray of bool
        Truth at every recorded step.
    starts : ndarray of int
        Where each series begins.
    is_left_out : ndarray of bool or None
        Marks the steps that were left out for the detector, and so are for random scores.
    times, time_unit, max_gap
        The clock, where there is one.
    metrics : tuple of Metric
        What to compute.
    options : dict
        The global options.
    threshold : float, str or ThresholdRule
        How random scores become predictions, where ``flagged`` does not say it.
    flagged : int or None
        How many steps to predict.
    draws, seed : int
        Over how many vectors to average, and the seed of them.
    """

    labels: BoolArray
    starts: IntArray
    is_left_out: BoolArray | None
    times: Times | None
    time_unit: str | None
    max_gap: Duration | None
    metrics: tuple[Metric, ...]
    options: dict[str, Any]
    threshold: float | str | ThresholdRule
    flagged: int | None
    draws: int
    seed: int

    @cached_property
    def levels(self) -> dict[str, float]:
        """Mean of each metric over the draws, where it is defined."""
        if not self.metrics:
            return {}
        generator = np.random.default_rng(self.seed)
        data: dict[str, Any] = {
            "series": None if self.starts.size == 1 else series_numbers(self.starts, len(self.labels)),
            "times": self.times,
            "time_unit": self.time_unit,
            "max_gap": self.max_gap,
            "ignore": self.is_left_out,
        }
        drawn: dict[str, list[float]] = {metric.id: [] for metric in self.metrics}
        for _ in range(self.draws):
            scores = generator.random(self.labels.shape)
            found = evaluate_detector(
                self.labels,
                scores,
                self._predictions(scores),
                metrics=list(self.metrics),
                threshold=self.threshold,
                **self.options,
                **data,
            ).evaluation
            for metric, value in found.items():
                if value == value:
                    drawn[metric].append(value)
        return {metric: float(np.mean(values)) for metric, values in drawn.items() if values}

    def _predictions(self, scores: Any) -> Any:
        """Predict as many of the steps that count as the detector has, those with the highest random scores."""
        if self.flagged is None:
            return None
        cells = np.argsort(scores, axis=None)
        if self.is_left_out is not None:
            channels = scores.size // len(scores)
            cells = cells[~self.is_left_out[cells // channels]]
        predictions = np.zeros(scores.size, dtype=np.bool_)
        predictions[cells[cells.size - self.flagged :]] = True
        return predictions.reshape(scores.shape)


def with_chance(
    results: Mapping[str, Evaluated], *, threshold: Any, max_gap: Duration | None, draws: int, seed: int
) -> dict[str, Evaluation]:
    """Let each evaluation know the random scores it is measured against.

    Random scores have no gaps; steps that are left out for a detector are left out for them, too. Where predictions are
    given, or the threshold is a number, or from training scores, that means nothing to random scores, as many random
    steps are predicted as the detector has predicted. Detectors on the same steps share their random scores.
    """
    if not draws:
        return {name: result.evaluation for name, result in results.items()}
    known: dict[tuple[Any, ...], RandomScores] = {}
    found = {}
    for name, (evaluation, recording, flagged) in results.items():
        rule = evaluation.predictions_from
        by_number = rule == "given" or not isinstance(rule, str) or uses_training_scores(rule)
        mask, clock = recording.is_left_out, recording.timeline.clock
        takes_scores = recording.scores is not None
        flagged = flagged if by_number else None
        key = (b"" if mask is None else np.packbits(mask).tobytes(), flagged, takes_scores)
        if key not in known:
            known[key] = RandomScores(
                recording.labels.copy(),
                recording.starts.copy(),
                None if mask is None else mask.copy(),
                None if recording.times is None else recording.times.copy(),
                None if clock is None else clock.unit,
                max_gap,
                tuple(metric for metric in evaluation.metrics if takes_scores or metric.takes != "scores"),
                evaluation.options,
                ORACLE if by_number else threshold,
                flagged,
                draws,
                seed,
            )
        found[name] = replace(evaluation, random_scores=known[key])
    return found
