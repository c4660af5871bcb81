"""Transformer reconstructor: a small encoder reproduces each window; the score is the squared error."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pateval.detectors.layers import Embedding, FeedForward, join_heads, split_heads
from pateval.detectors.reconstruction import ReconstructionSettings, Reconstructor
from pateval.detectors.settings import check_heads


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(ReconstructionSettings):
    """Settings of :class:`Transformer`: those of :class:`ReconstructionSettings` and the size of the encoder."""

    weight_decay: float = 1e-3
    width: int = 32
    heads: int = 8
    hidden: int = 128
    blocks: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.width, self.heads)


class EncoderBlock(nn.Module):
    """Attention in both directions, then the pointwise network; residual and norm after each."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.feed_forward = FeedForward(width, hidden)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (batch, window, width) to the same shape."""
        query, key, value = (split_heads(linear(tokens), self.heads) for linear in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, dim=-1)
        tokens = self.norms[0](tokens + self.output(join_heads(weights @ value)))
        result: Tensor = self.norms[1](tokens + self.feed_forward(tokens))
        return result


class TransformerNetwork(nn.Module):
    """Embedding, encoder blocks, norm, linear."""

    def __init__(self, features: int, settings: TransformerSettings) -> None:
        super().__init__()
        width = settings.width
        self.embedding = Embedding(features, width, settings.window)
        self.blocks = nn.Sequential(
            *(EncoderBlock(width, settings.heads, settings.hidden) for _ in range(settings.blocks))
        )
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, features)

    def forward(self, windows: Tensor) -> Tensor:
        """Reconstruct (batch, window, features)."""
        result: Tensor = self.output(self.norm(self.blocks(self.embedding(windows))))
        return result


class Transformer(Reconstructor):
    """Transformer reconstructor, one of the five benchmark detectors of the PATE paper.

    Trained to reproduce z-scored windows laid end to end; the score of a step is its squared error, averaged over the
    features. Attention looks in both directions: in the authors' code a causal mask is built but never applied.

    Parameters
    ----------
    settings : TransformerSettings, optional
        The paper's by default, except that a held-out end of the training series chooses the weights.
    """

    def __init__(self, settings: TransformerSettings | None = None) -> None:
        super().__init__(settings if settings is not None else TransformerSettings())

    def network(self, features: int) -> TransformerNetwork:
        """Make the network, not trained yet, for a number of features."""
        return TransformerNetwork(features, self.settings)
