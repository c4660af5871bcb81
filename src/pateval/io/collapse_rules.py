"""Did a training learn anything? The rule, on numbers alone, so that kept records can be judged again without torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# An output that varies from window to window by less than this share of the data's variance is called constant. Dead
# units give zero or rounding noise; a network that has seen only a few batches gives about 1e-4.
_CONSTANT_SHARE = 1e-6
# An error this close to the variance of the data is called equal to it, provided that the output varies by less than
# this share of what the data vary: a network on its way from bad to good only passes by.
_VARIANCE_TOLERANCE = 0.01
# With an error above the variance this share is asked for: a network that follows its input poorly still learns. Among
# 147 trainings of the paper's detectors, dead networks have .03 at most, others with such an error .09 at least.
_FOLLOWING_SHARE = 0.05
# Optimiser steps before a training is judged: a network that has hardly begun gives nearly the same output for all.
_MIN_STEPS = 50
# Errors that order the steps like this are those of the squared z-score, which needs no network. On test data networks
# that put out zeros have .98 and more, the others .91 at most.
ZSCORE_CORRELATION = 0.95


class CollapsedTrainingWarning(UserWarning):
    """A network learned nothing: its scores say how unusual the values are, or nothing at all."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """How well a network reproduces a sample of its training windows.

    The variance is that of the data: the error of predicting each feature's mean. Output and data vary so much from
    window to window at the same place of the window. The correlation is by ranks, over the steps, of the error with the
    squared deviation from the mean; NaN where it is not known.
    """

    error: float
    variance: float
    output_variance: float
    data_variance: float
    zscore_correlation: float = math.nan

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name; what is not known is left out."""
        return {
            name: float(f"{value:.6g}")
            for name, value in asdict(self).items()
            if name != "zscore_correlation" or not math.isnan(value)
        }


def collapse_reasons(
    epochs: int, steps: int, first: Reconstruction | None, last: Reconstruction | None, kept: Reconstruction | None
) -> tuple[str, ...] | None:
    """Say what is wrong with a training; an empty tuple where it is sound, None where it cannot be judged.

    Reconstructions are after the first epoch, after the last, and with the weights that are kept. One epoch alone shows
    no progress and is not judged by its error; fewer than fifty optimiser steps are not judged.

    Examples
    --------
    >>> sound = Reconstruction(error=0.1, variance=1.0, output_variance=0.9, data_variance=1.0)
    >>> dead = Reconstruction(error=1.0, variance=1.0, output_variance=0.0, data_variance=1.0)
    >>> collapse_reasons(9, 900, dead, sound, sound)
    ()
    >>> len(collapse_reasons(9, 900, dead, dead, dead))
    3
    >>> worse = Reconstruction(error=1.1, variance=1.0, output_variance=0.02, data_variance=1.0)
    >>> collapse_reasons(9, 900, dead, sound, worse)
    ('the error, 1.1, exceeds the variance of the data, 1: predicting the mean does better',)
    """
    if first is None or last is None or kept is None or kept.variance == 0 or steps < _MIN_STEPS:
        return None
    if not all(math.isfinite(epoch.error) for epoch in (first, last, kept)):
        return ("the output is not finite",)
    reasons = []
    if kept.output_variance < _CONSTANT_SHARE * kept.data_variance:
        reasons.append("the output is constant, whatever the input")
    excess = kept.error - kept.variance
    follows = kept.output_variance >= _FOLLOWING_SHARE * kept.data_variance
    if epochs > 1 and excess > _VARIANCE_TOLERANCE * kept.variance and not follows:
        reasons.append(
            f"the error, {kept.error:.4g}, exceeds the variance of the data, {kept.variance:.4g}: predicting the mean "
            "does better"
        )
    at_the_mean = abs(excess) <= _VARIANCE_TOLERANCE * kept.variance
    if epochs > 1 and at_the_mean and kept.output_variance < _VARIANCE_TOLERANCE * kept.data_variance:
        reasons.append(
            f"the error, {kept.error:.4g}, equals the variance of the data, {kept.variance:.4g}: predicting the mean "
            "does as well"
        )
    if epochs > 1 and last.error >= first.error:
        reasons.append(
            f"no improvement over the first epoch: the error was {first.error:.4g} after it and {last.error:.4g} at "
            "the end"
        )
    if epochs > 1 and kept.zscore_correlation >= ZSCORE_CORRELATION:
        reasons.append(
            f"no better than the squared z-score, which orders the steps alike (rank correlation "
            f"{kept.zscore_correlation:.3f})"
        )
    return tuple(reasons)


def judge_record(training: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Judge a kept training record by the rule of today, beside what was found when it was made.

    It is the ``training`` entry of a run in the metadata of a score file. What was recorded comes first.

    Examples
    --------
    >>> measured = {"error": 0.8, "variance": 0.6, "output_variance": 0.02, "data_variance": 0.6}
    >>> record = {"collapse": [], "epochs": 250, "optimizer_steps": 5750}
    >>> judge_record({**record, "reconstruction": {name: measured for name in ("first", "last", "kept")}})[0]
    'the error, 0.8, exceeds the variance of the data, 0.6: predicting the mean does better'
    """
    recorded = training.get("collapse")
    if recorded is None:
        return None
    measured = training.get("reconstruction") or {}
    if not {"first", "last", "kept"} <= set(measured):
        return tuple(recorded)
    known = {name: Reconstruction(**measured[name]) for name in ("first", "last", "kept")}
    today = collapse_reasons(
        training["epochs"], training["optimizer_steps"], known["first"], known["last"], known["kept"]
    )
    return (*recorded, *(reason for reason in today or () if reason not in recorded))
