"""The plain training step of each deep detector, to measure the lean one against.

Plain means: batches live on the host and are copied for every step, the loss is fetched after every step, the
optimisers are the unfused default, AnomalyTransformer goes backward twice over separately computed divergences with the
Gaussian density written out, DCdetector up-samples every channel's map before it averages them, and USAD computes all
three outputs each time. The networks are the same, so that only the loop differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.anomaly_transformer import AnomalyTransformerNetwork, prior_scale
from pateval.detectors.dcdetector import DCdetectorNetwork
from pateval.detectors.training import visiting_order
from pateval.detectors.usad import USADNetwork

Step = Callable[[Tensor], float]


def plain_batches(train: Any, window: int, batch_size: int) -> list[Tensor]:
    """Return the z-scored, tiled and permuted windows as batches on the host."""
    matrix = np.asarray(train, dtype=np.float64)
    deviation = matrix.std(axis=0)
    scaled = (matrix - matrix.mean(axis=0)) / np.where(matrix.max(axis=0) == matrix.min(axis=0), 1.0, deviation)
    count = len(scaled) // window
    windows = scaled[: count * window].reshape(count, window, -1).astype(np.float32)
    windows = windows[visiting_order(count, 42)]
    return [torch.from_numpy(windows[first : first + batch_size]) for first in range(0, count, batch_size)]


def plain_step(name: str, model: nn.Module, settings: Any, device: torch.device) -> Step:
    """Return the plain step of a detector on a batch from the host."""
    if name in ("lstm", "transformer"):
        return _reconstruction(model, settings, device)
    if name == "usad" and isinstance(model, USADNetwork):
        return _usad(model, settings, device)
    if name == "anomaly_transformer" and isinstance(model, AnomalyTransformerNetwork):
        return _anomaly_transformer(model, settings, device)
    if name == "dcdetector" and isinstance(model, DCdetectorNetwork):
        return _dcdetector(model, settings, device)
    raise ValueError(f"no plain loop for {name!r}")


def _reconstruction(model: nn.Module, settings: Any, device: torch.device) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)

    def step(host: Tensor) -> float:
        batch = host.to(device)
        optimizer.zero_grad()
        loss = functional.mse_loss(model(batch), batch)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        return float(loss.detach())

    return step


def _usad(model: USADNetwork, settings: Any, device: torch.device) -> Step:
    both = [
        torch.optim.Adam([*model.encoder.parameters(), *decoder.parameters()], lr=settings.learning_rate)
        for decoder in (model.first, model.second)
    ]
    share = 0.5

    def step(host: Tensor) -> float:
        rows = host.to(device).flatten(1)
        total = 0.0
        for part, optimizer in enumerate(both):
            once = model.first(model.encoder(rows))
            other = model.second(model.encoder(rows))
            twice = model.second(model.encoder(once))
            again = (1 - share) * functional.mse_loss(twice, rows)
            direct = share * functional.mse_loss((once, other)[part], rows)
            loss = direct + again if part == 0 else direct - again
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += float(loss.detach())
        return total

    return step


def _divergence(first: Tensor, second: Tensor) -> Tensor:
    return (first * (torch.log(first + 1e-4) - torch.log(second + 1e-4))).sum(dim=-1)


def _two_losses(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    series_loss = torch.zeros((), device=pairs[0][0].device)
    prior_loss = torch.zeros((), device=pairs[0][0].device)
    for series, prior in pairs:
        prior = prior / prior.sum(dim=-1, keepdim=True)
        series_loss = series_loss + (_divergence(series, prior.detach()) + _divergence(prior.detach(), series)).mean()
        prior_loss = prior_loss + (_divergence(prior, series.detach()) + _divergence(series.detach(), prior)).mean()
    return series_loss / len(pairs), prior_loss / len(pairs)


def literal_prior(raw: Tensor, squared_distance: Tensor) -> Tensor:
    """Return the Gaussian density of the distances, not yet normalised over a row."""
    scale = prior_scale(raw).unsqueeze(-1)
    return torch.exp(-squared_distance / (2 * scale**2)) / (math.sqrt(2 * math.pi) * scale)


def _anomaly_transformer(model: AnomalyTransformerNetwork, settings: Any, device: torch.device) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)

    def step(host: Tensor) -> float:
        batch = host.to(device)
        optimizer.zero_grad()
        tokens = model.embedding(batch)
        pairs: list[tuple[Tensor, Tensor]] = []
        for block in model.blocks:
            raw = block.scale(tokens).transpose(1, 2)  # type: ignore[operator]  # a module list forgets the class
            prior = literal_prior(raw, block.squared_distance)  # type: ignore[arg-type]  # as above
            tokens, series, _ = block(tokens)
            pairs.append((series, prior))
        error = functional.mse_loss(model.output(model.norm(tokens)), batch)
        series_loss, prior_loss = _two_losses(pairs)
        first, second = error - settings.weight * series_loss, error + settings.weight * prior_loss
        torch.autograd.backward(first, retain_graph=True)
        torch.autograd.backward(second)
        optimizer.step()
        return float(first.detach()) + float(second.detach())

    return step


def _dcdetector(model: DCdetectorNetwork, settings: Any, device: torch.device) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)

    def step(host: Tensor) -> float:
        batch = host.to(device)
        optimizer.zero_grad()
        pairs = []
        for size, (outer, inner) in zip(model.patch_sizes, model.channel_maps(batch), strict=True):
            count = model.window // size
            series = outer.repeat_interleave(size, dim=-2).repeat_interleave(size, dim=-1).mean(dim=1)
            prior = inner.repeat(1, 1, 1, count, count).mean(dim=1)
            pairs.append((series, prior))
        series_loss, prior_loss = _two_losses(pairs)
        loss = prior_loss - series_loss
        torch.autograd.backward(loss)
        optimizer.step()
        return float(loss.detach())

    return step
