"""Did a training learn anything? A network that died is recognised by what it puts out, not by how its loss looks.

The reconstructing detectors are measured on a fixed sample of their training windows after the first epoch, after the
last one, and with the weights that are kept. Measuring draws no random number and changes no weight.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

# Steps in the sample: enough for a mean to a few per cent, little enough for the attention maps of a large network.
_SAMPLE_STEPS = 8192
# An output that varies from window to window by less than this share of the data's variance is called constant. Dead
# units give zero or rounding noise; a network that has seen only a few batches gives about 1e-4.
_CONSTANT_SHARE = 1e-6
# An error this close to the variance of the data is called equal to it, provided that the output varies by less than
# this share of what the data vary: a network on its way from bad to good only passes by.
_VARIANCE_TOLERANCE = 0.01
# Optimiser steps before a training is judged: a network that has hardly begun gives nearly the same output for all.
_MIN_STEPS = 50


class CollapsedTrainingWarning(UserWarning):
    """A network learned nothing: its scores say how unusual the values are, or nothing at all."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """How well a network reproduces a sample of its training windows.

    Attributes
    ----------
    error : float
        Mean squared error.
    variance : float
        Of the data: the error of predicting each feature's mean.
    output_variance, data_variance : float
        How much output and data vary from window to window at the same place of the window.
    """

    error: float
    variance: float
    output_variance: float
    data_variance: float

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return {name: float(f"{value:.6g}") for name, value in asdict(self).items()}


def sample_starts(count: int, window: int) -> Tensor:
    """Return evenly spaced numbers of windows, at most about 8192 steps of them.

    Examples
    --------
    >>> sample_starts(5, 100).tolist(), len(sample_starts(100_000, 5))
    ([0, 1, 2, 3, 4], 1638)
    """
    most = max(1, _SAMPLE_STEPS // window)
    return torch.linspace(0, count - 1, min(count, most), dtype=torch.float64).round().long()


def measure(
    model: nn.Module, reconstruct: Callable[[Tensor], tuple[Tensor, Tensor]], windows: Tensor
) -> Reconstruction:
    """Measure a network on some windows.

    Parameters
    ----------
    model : Module
        Its mode is restored afterwards.
    reconstruct : callable
        Returns what was to be reproduced and what came out, both of shape (windows, window, features).
    windows : Tensor
        The sample.

    Returns
    -------
    Reconstruction
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            data, output = (part.double() for part in reconstruct(windows))
    finally:
        model.train(training)
    several = len(data) > 1
    return Reconstruction(
        error=float((data - output).square().mean()),
        variance=float(data.flatten(0, 1).var(dim=0, correction=0).mean()),
        output_variance=float(output.var(dim=0).mean()) if several else math.nan,
        data_variance=float(data.var(dim=0).mean()) if several else math.nan,
    )


def collapse_reasons(
    epochs: int, steps: int, first: Reconstruction | None, last: Reconstruction | None, kept: Reconstruction | None
) -> tuple[str, ...] | None:
    """Say what is wrong with a training; an empty tuple where it is sound, None where it cannot be judged.

    Parameters
    ----------
    epochs : int
        How many were trained; one epoch alone shows no progress and is not judged by its error.
    steps : int
        Optimiser steps taken; fewer than fifty are not judged.
    first, last, kept : Reconstruction or None
        After the first epoch, after the last, and with the weights that are kept.

    Returns
    -------
    tuple of str, or None
        One clause for each sign of collapse.

    Examples
    --------
    >>> sound = Reconstruction(error=0.1, variance=1.0, output_variance=0.9, data_variance=1.0)
    >>> dead = Reconstruction(error=1.0, variance=1.0, output_variance=0.0, data_variance=1.0)
    >>> collapse_reasons(9, 900, dead, sound, sound)
    ()
    >>> len(collapse_reasons(9, 900, dead, dead, dead))
    3
    """
    if first is None or last is None or kept is None or kept.variance == 0 or steps < _MIN_STEPS:
        return None
    if not all(math.isfinite(each.error) for each in (first, last, kept)):
        return ("the output is not finite",)
    reasons = []
    if kept.output_variance < _CONSTANT_SHARE * kept.data_variance:
        reasons.append("the output is constant, whatever the input")
    at_the_mean = abs(kept.error - kept.variance) <= _VARIANCE_TOLERANCE * kept.variance
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
    return tuple(reasons)
