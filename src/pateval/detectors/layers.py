"""Pieces that more than one network is made of: tokens of steps, blocks of attention, and their settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pateval.detectors.base import SelectingSettings


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


class EncoderBlock(nn.Module):
    """Attention in both directions, then the pointwise network; residual and norm after each.

    ``with_scale`` adds one more map of the tokens, to a number for each head, which the block itself does not use. It
    is made among the others, where the published network draws its weights.
    """

    def __init__(self, width: int, heads: int, hidden: int, *, with_scale: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        if with_scale:
            self.scale = nn.Linear(width, heads)
        self.output = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return tokens of the same shape, (batch, length, width), and attention, (batch, heads, length, length)."""
        query, key, value = (self._by_head(linear(tokens)) for linear in (self.query, self.key, self.value))
        attention = torch.softmax(query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, dim=-1)
        joined = (attention @ value).transpose(1, 2).reshape(tokens.shape)
        tokens = self.norms[0](tokens + self.output(joined))
        return self.norms[1](tokens + self.feed_forward(tokens)), attention

    def _by_head(self, tokens: Tensor) -> Tensor:
        """(batch, length, width) to (batch, heads, length, width / heads)."""
        batch, length, width = tokens.shape
        return tokens.view(batch, length, self.heads, width // self.heads).transpose(1, 2)


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(SelectingSettings):
    """Sizes of an :class:`Encoder`."""

    width: int = 32  # of a token
    heads: int = 8  # of the attention
    hidden: int = 128  # width inside the pointwise network
    blocks: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads; got width={self.width} and heads={self.heads}")


class Encoder(nn.Module):
    """Embedding, encoder blocks, norm and linear, of the sizes that settings name; subclasses say how they act."""

    def __init__(self, features: int, settings: Any, *, with_scale: bool = False) -> None:
        super().__init__()
        width = settings.width
        self.embedding = Embedding(features, width, settings.window)
        self.blocks = nn.ModuleList(
            EncoderBlock(width, settings.heads, settings.hidden, with_scale=with_scale) for _ in range(settings.blocks)
        )
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, features)
