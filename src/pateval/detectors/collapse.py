"""Whether a training learned anything: the measurements, on a fixed sample of its windows.

The reconstructing detectors are measured after the first epoch, after the last one, and with the weights that are kept.
Measuring draws no random number and changes no weight. `pateval.io.score_files` judges what is measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from pateval.io.score_files import Reconstruction

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

# Steps in the sample: enough for a mean to a few per cent, little enough for the attention maps of a large network.
_SAMPLE_STEPS = 8192


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
    """Measure a network on some windows; its mode is restored afterwards.

    ``reconstruct`` returns what was to be reproduced and what came out, both of shape (windows, window, features).
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            data, output = (part.double() for part in reconstruct(windows))
    finally:
        model.train(training)
    several = len(data) > 1
    errors = (data - output).square()
    # Errors of a network that puts out the mean of each feature.
    plain = (data - data.flatten(0, 1).mean(dim=0)).square()
    return Reconstruction(
        error=float(errors.mean()),
        variance=float(data.flatten(0, 1).var(dim=0, correction=0).mean()),
        output_variance=float(output.var(dim=0).mean()) if several else math.nan,
        data_variance=float(data.var(dim=0).mean()) if several else math.nan,
        zscore_correlation=rank_correlation(errors.mean(dim=-1).flatten(), plain.mean(dim=-1).flatten()),
    )


def rank_correlation(first: Tensor, second: Tensor) -> float:
    """Rank correlation of two vectors, equal values in the order in which they stand; NaN where one is constant.

    Examples
    --------
    >>> round(rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 9.0, 40.0])), 3)
    1.0
    """
    if bool((first == first[0]).all()) or bool((second == second[0]).all()):
        return math.nan
    ranks = torch.stack([values.argsort(stable=True).argsort().double() for values in (first, second)])
    return float(torch.corrcoef(ranks)[0, 1])
