"""LSTM and Transformer reconstructors: a network reproduces windows laid end to end; the score is the squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.lr_scheduler import ReduceLROnPlateau

from pateval.detectors.base import SelectingSettings
from pateval.detectors.deep import DeepDetector, Windows, in_batches
from pateval.detectors.devices import descend, make_optimizer
from pateval.detectors.layers import Encoder, EncoderSettings
from pateval.detectors.training import Recipe


@dataclass(frozen=True, kw_only=True)
class ReconstructionSettings(SelectingSettings):
    """What both reconstructors can be told beside :class:`SelectingSettings`; the defaults are the paper's."""

    window: int = 100
    batch_size: int = 128
    epochs: int = 300
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5  # of AdamW
    clip: float = 1.0  # norm to which gradients are cut
    plateau: int = 10  # halve the learning rate after more than so many epochs without improvement
    patience: int = 100


class Reconstructor(DeepDetector):
    """A network trained to reproduce z-scored windows laid end to end; a step's score is its mean squared error.

    The settings are the paper's by default, except that a held-out end of the training series chooses the weights.
    """

    def recipe(self, model: nn.Module, windows: Windows, held_out: Any) -> Recipe:
        """AdamW on the squared error; the error of the held-out windows rules learning rate, stop and weights."""
        chosen = self.chosen
        optimizer = make_optimizer(
            "adamw", model, chosen.learning_rate, weight_decay=chosen.weight_decay, graph=chosen.cuda_graph
        )
        scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=chosen.plateau)

        def step(batch: Tensor) -> Tensor:
            return descend(optimizer, functional.mse_loss(model(batch), batch), clip=chosen.clip)

        def validate() -> tuple[float, ...]:
            errors = in_batches(model, lambda part: self.window_scores(model, part), held_out, chosen.score_batch)
            return (self.mean_loss(errors),)

        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=step,
            settings=chosen,
            validate=validate,
            end=lambda _, values: scheduler.step(values[0]),
            extra={"scheduler": scheduler},
            reconstruct=lambda part: (part, model(part)),
        )

    def window_scores(self, model: nn.Module, windows: Tensor) -> Tensor:
        """Return the squared error of each step, averaged over the features."""
        return torch.square(model(windows) - windows).mean(dim=-1)


@dataclass(frozen=True, kw_only=True)
class LSTMSettings(ReconstructionSettings):
    """Settings of :class:`LSTM`: those of :class:`ReconstructionSettings` and the width of the recurrent layers."""

    hidden: int = 80


class LSTMNetwork(nn.Module):
    """LSTM → LSTM → linear, applied at each step; the output at a step may use the input of that step."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        # Two layers in one module are the same two layers, and cuDNN overlaps them.
        self.recurrent = nn.LSTM(features, hidden, num_layers=2, batch_first=True)
        self.output = nn.Linear(hidden, features)

    def forward(self, windows: Tensor) -> Tensor:
        """Reconstruct (batch, window, features)."""
        hidden, _ = self.recurrent(windows)
        return self.output(hidden)


class LSTM(Reconstructor):
    """LSTM reconstructor, one of the five benchmark detectors of the PATE paper.

    There is no bottleneck and no shift in time.
    """

    Settings = LSTMSettings

    def network(self, features: int) -> LSTMNetwork:
        """Make the network, not trained yet, for a number of features."""
        return LSTMNetwork(features, self.chosen.hidden)


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(ReconstructionSettings, EncoderSettings):
    """Settings of :class:`Transformer`: those of :class:`ReconstructionSettings`, and :class:`EncoderSettings`."""

    weight_decay: float = 1e-3
    # How the weights are drawn: each linear layer by itself, or as ``nn.MultiheadAttention`` and the convolutions of
    # the authors' program draw theirs, in the same order (draw_as_published).
    first_weights: Literal["linear", "multihead"] = "linear"


class TransformerNetwork(Encoder):
    """An encoder that reconstructs its input."""

    def forward(self, windows: Tensor) -> Tensor:
        """Reconstruct (batch, window, features)."""
        tokens = self.embedding(windows)
        for block in self.blocks:
            tokens, _ = block(tokens)
        return self.output(self.norm(tokens))


@torch.no_grad()
def draw_as_published(network: TransformerNetwork, settings: TransformerSettings) -> None:
    """Draw the weights as the modules of the authors' program do, one after the other.

    The embedding is a convolution, whose usual weights are drawn and then replaced. ``nn.MultiheadAttention`` draws the
    three maps of queries, keys and values as one matrix, from a narrower interval than three linear layers would, and
    has no biases at first. The pointwise networks are convolutions of one step.
    """
    width, hidden, features = settings.width, settings.hidden, network.output.out_features
    embedding = nn.Conv1d(features, width, 3, bias=False)
    nn.init.kaiming_normal_(embedding.weight, mode="fan_in", nonlinearity="leaky_relu")
    network.embedding.weight.copy_(embedding.weight)
    block: Any
    for block in network.blocks:
        attention = nn.MultiheadAttention(width, settings.heads, batch_first=True)
        inputs = zip(attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True)
        pairs: list[Any] = list(zip((block.query, block.key, block.value), inputs, strict=True))
        pairs.append((block.output, (attention.out_proj.weight, attention.out_proj.bias)))
        for linear, sizes in ((block.feed_forward[0], (width, hidden)), (block.feed_forward[2], (hidden, width))):
            convolution = nn.Conv1d(*sizes, 1)
            pairs.append((linear, (convolution.weight.squeeze(-1), convolution.bias)))
        for linear, (weight, bias) in pairs:
            linear.weight.copy_(weight)
            linear.bias.copy_(bias)
    network.output.reset_parameters()


class Transformer(Reconstructor):
    """Transformer reconstructor, one of the five benchmark detectors of the PATE paper.

    Attention looks in both directions: in the authors' code a causal mask is built but never applied.
    """

    Settings = TransformerSettings

    def network(self, features: int) -> TransformerNetwork:
        """Make the network, not trained yet, for a number of features."""
        if self.chosen.first_weights == "linear":
            return TransformerNetwork(features, self.chosen)
        with torch.random.fork_rng(devices=[]):
            network = TransformerNetwork(features, self.chosen)
        draw_as_published(network, self.chosen)
        return network
