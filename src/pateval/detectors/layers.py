"""Pieces that more than one network is made of."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

# Keeps the logarithms of vanishing associations finite; part of the published definition.
EPSILON = 1e-4


def sinusoids(length: int, width: int) -> Tensor:
    """Return the fixed position code, shape (length, width): sines in even columns, cosines in odd ones.

    The wavelengths form a geometric row from 2 pi to 10000 * 2 pi.
    """
    position = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
    code = torch.zeros(length, width)
    code[:, 0::2] = torch.sin(position * frequency)
    code[:, 1::2] = torch.cos(position * frequency[: width // 2])
    return code


class Embedding(nn.Module):
    """Three neighbouring steps to one token: a circular convolution over time plus the position code.

    The convolution (kernel 3, circular padding 1, no bias) is computed as one matrix product over the step, its
    predecessor and its successor, which is the same sum, runs in one kernel and is deterministic on every device.

    Parameters
    ----------
    features : int
        Values per step.
    width : int
        Values per token.
    length : int
        Steps per window.
    """

    code: Tensor

    def __init__(self, features: int, width: int, length: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, features, 3))
        nn.init.kaiming_normal_(self.weight, mode="fan_in", nonlinearity="leaky_relu")
        self.register_buffer("code", sinusoids(length, width), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Map (batch, length, features) to (batch, length, width)."""
        neighbours = torch.cat((values.roll(1, dims=1), values, values.roll(-1, dims=1)), dim=-1)
        matrix = self.weight.permute(2, 1, 0).reshape(-1, self.weight.shape[0])
        return neighbours @ matrix + self.code


class FeedForward(nn.Sequential):
    """The pointwise two-layer network of an encoder block."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


def split_heads(tokens: Tensor, heads: int) -> Tensor:
    """(batch, length, width) to (batch, heads, length, width / heads)."""
    batch, length, width = tokens.shape
    return tokens.view(batch, length, heads, width // heads).transpose(1, 2)


def join_heads(tokens: Tensor) -> Tensor:
    """(batch, heads, length, width) to (batch, length, heads * width)."""
    batch, heads, length, width = tokens.shape
    return tokens.transpose(1, 2).reshape(batch, length, heads * width)


def association_discrepancy(first: Tensor, second: Tensor) -> Tensor:
    r"""Return the symmetric divergence of two association maps, one value per query step.

    For rows p and q it is KL(p‖q) + KL(q‖p) with

    .. math:: \mathrm{KL}(p\|q) = \sum_j p_j [\ln(p_j + 10^{-4}) - \ln(q_j + 10^{-4})],

    so that the sum of both is :math:`\sum_j (p_j - q_j)[\ln(p_j + 10^{-4}) - \ln(q_j + 10^{-4})]`.

    Parameters
    ----------
    first, second : Tensor
        Shape (..., length, length), rows over the last axis.

    Returns
    -------
    Tensor
        Shape (..., length).
    """
    return ((first - second) * ((first + EPSILON).log() - (second + EPSILON).log())).sum(dim=-1)


def association_losses(associations: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return series loss (the prior held fixed) and prior loss (the series held fixed), averaged over all maps.

    Both have the same value, the mean association discrepancy; only the gradients differ.

    Parameters
    ----------
    associations : list of (series, prior)
        Maps of shape (..., length, length).
    """
    pairs = [
        (association_discrepancy(series, prior.detach()).mean(), association_discrepancy(series.detach(), prior).mean())
        for series, prior in associations
    ]
    series_losses, prior_losses = zip(*pairs, strict=True)
    return torch.stack(series_losses).mean(), torch.stack(prior_losses).mean()
