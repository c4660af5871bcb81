"""The one training loop of the deep detectors, and the choices that go with it: device, seed, optimiser.

The data stay on the device and a batch is an index into them: there is no data loader. Everything that differs from
detector to detector is in its :class:`Recipe`; :func:`run` does the rest: order of batches, progress, validation,
early stop, best weights, checkpoint and resume.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one epoch of training did; handed to the progress callback.

    Attributes
    ----------
    number, epochs : int
        This epoch, counted from 1, and how many there will be at most.
    loss : float
        Mean training loss.
    validation : tuple of float
        What decides on the weights to keep (smaller is better); empty where the last weights are kept.
    learning_rate : float
        Of the first optimiser, during the epoch.
    steps : int
        Optimiser steps taken.
    seconds : float
        Duration, validation included.
    kept : bool
        Whether these weights are the ones to keep so far.
    """

    number: int
    epochs: int
    loss: float
    validation: tuple[float, ...]
    learning_rate: float
    steps: int
    seconds: float
    kept: bool


Progress = Callable[[Epoch], None]


@dataclass(slots=True)
class Recipe:
    """How one detector is trained.

    Attributes
    ----------
    model : Module
        The network, on the device.
    windows : Tensor
        Training windows, (windows, window, features), on the device; may be an overlapping view.
    optimizers : tuple of Optimizer
        For the learning rate in reports and for checkpoints.
    step : callable
        One optimiser step on a batch of windows; returns the loss as a detached scalar tensor.
    batch_size, epochs : int
        The last, shorter batch of an epoch is used too.
    validate : callable, optional
        Values to be small, computed after each epoch. The weights kept are those after which *no* value was worse than
        its best; without it the last weights are kept.
    begin : callable, optional
        Called with the number of the epoch before it, counted from 1.
    end : callable, optional
        Called with the number of the epoch and the validation values after it: the learning-rate rule.
    patience : int, optional
        Stop after so many epochs without new weights to keep.
    order_seed : int, optional
        Seed of the order of the windows; None leaves them as they come.
    reshuffle : bool
        Draw a new order for every epoch instead of one for all.
    carries_gradients : bool
        Whether gradients outlive a step, so that a checkpoint must hold them.
    restore : bool
        Whether the weights to keep come back at the end; if not, validation only stops the training.
    extra : mapping
        More objects with ``state_dict`` and ``load_state_dict`` for checkpoints, such as a scheduler.
    """

    model: nn.Module
    windows: Tensor
    optimizers: tuple[Optimizer, ...]
    step: Callable[[Tensor], Tensor]
    batch_size: int
    epochs: int
    validate: Callable[[], tuple[float, ...]] | None = None
    begin: Callable[[int], None] | None = None
    end: Callable[[int, tuple[float, ...]], None] | None = None
    patience: int | None = None
    order_seed: int | None = 42
    reshuffle: bool = False
    carries_gradients: bool = False
    restore: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    """Where a training stands between two epochs."""

    epochs: list[Epoch] = field(default_factory=list)
    best: tuple[float, ...] = ()
    weights: dict[str, Tensor] | None = None
    waited: int = 0


def choose_device(name: str | None = None) -> torch.device:
    """Return the named device, or the GPU if there is one, else the CPU.

    On a GPU the workspace of cuBLAS is fixed (``CUBLAS_WORKSPACE_CONFIG``, unless the caller has set it), without which
    recurrent layers differ from run to run.
    """
    device = torch.device(name if name is not None else "cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device {name!r} was asked for, but no CUDA device is available")
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return device


@contextlib.contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for the block; the caller's random state comes back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextlib.contextmanager
def deterministic_kernels() -> Iterator[None]:
    """Ask cuDNN for reproducible algorithms within the block."""
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = before


def make_optimizer(
    kind: Literal["adam", "adamw"],
    model: nn.Module | Sequence[nn.Module],
    learning_rate: float,
    *,
    weight_decay: float = 0.0,
    epsilon: float = 1e-8,
    graph: bool = False,
) -> Optimizer:
    """Return Adam or AdamW on the parameters of the model(s): fused on a GPU, ready for a CUDA graph if asked."""
    models = [model] if isinstance(model, nn.Module) else list(model)
    parameters = [parameter for one in models for parameter in one.parameters()]
    device = parameters[0].device
    on_gpu = device.type == "cuda"
    graph = graph and on_gpu
    # A captured graph reads the learning rate from device memory, so that a schedule can change it.
    rate: Any = torch.tensor(learning_rate, device=device) if graph else learning_rate
    maker = Adam if kind == "adam" else AdamW
    return maker(parameters, lr=rate, weight_decay=weight_decay, eps=epsilon, fused=on_gpu, capturable=graph)


def set_learning_rate(optimizer: Optimizer, value: float) -> None:
    """Change the learning rate in place, also where it lives on the device."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(value)
        else:
            group["lr"] = value


def visiting_order(count: int, seed: int | None) -> npt.NDArray[np.int64]:
    """Return the order in which the windows are visited."""
    return np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)


def run(
    recipe: Recipe,
    *,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    settings: object = None,
    graph: bool = False,
) -> tuple[Epoch, ...]:
    """Train, and leave the weights to keep in the recipe's model.

    Parameters
    ----------
    recipe : Recipe
        What to train and how.
    progress : callable, optional
        Called with an :class:`Epoch` after each epoch.
    checkpoint : path, optional
        File that holds the state after each epoch. If it is there, training goes on from it; the result is the same
        as of an uninterrupted training. It is left in place at the end: a second call then returns at once.
    settings : object
        What the checkpoint was made with: one of other settings or other data is refused.
    graph : bool
        Capture the optimiser step in a CUDA graph and replay it: fewer launches for small networks. No effect on a CPU.

    Returns
    -------
    tuple of Epoch
        The history, epochs before a resume included.

    Raises
    ------
    FloatingPointError
        If the training loss is no longer finite.
    ValueError
        If the checkpoint belongs to other settings or data.
    """
    device = recipe.windows.device
    path = Path(checkpoint) if checkpoint is not None else None
    state = _State()
    fingerprint = _fingerprint(settings, recipe.windows) if path is not None else ""
    if path is not None and path.exists():
        state = _restore(recipe, path, fingerprint)
    step = graph_step(recipe) if graph and device.type == "cuda" else recipe.step
    for number in range(len(state.epochs) + 1, recipe.epochs + 1):
        if recipe.patience is not None and state.waited >= recipe.patience:
            break
        with deterministic_kernels():
            epoch = _one_epoch(recipe, step, number, state)
        state.epochs.append(epoch)
        if path is not None:
            _save(recipe, state, path, fingerprint)
        if progress is not None:
            progress(epoch)
    if state.weights is not None:
        recipe.model.load_state_dict(state.weights)
    return tuple(state.epochs)


def _one_epoch(recipe: Recipe, step: Callable[[Tensor], Tensor], number: int, state: _State) -> Epoch:
    started = time.perf_counter()
    windows = recipe.windows
    count = windows.shape[0]
    seed = recipe.order_seed
    if seed is not None and recipe.reshuffle:
        seed += number - 1
    order = torch.from_numpy(visiting_order(count, seed)).to(windows.device)
    learning_rate = float(recipe.optimizers[0].param_groups[0]["lr"])
    if recipe.begin is not None:
        recipe.begin(number)
    recipe.model.train()
    # Summed on the device: asking for each loss would make the host wait for every step.
    total = torch.zeros((), dtype=torch.float64, device=windows.device)
    steps = 0
    for first in range(0, count, recipe.batch_size):
        batch = windows[order[first : first + recipe.batch_size]]
        total += step(batch).double() * batch.shape[0]
        steps += 1
    loss = float(total) / count
    if not np.isfinite(loss):
        raise FloatingPointError(f"the training loss is {loss} in epoch {number}: the training diverged")
    values = recipe.validate() if recipe.validate is not None else ()
    kept = (
        recipe.validate is None
        or not state.best
        or all(new <= old for new, old in zip(values, state.best, strict=True))
    )
    if kept:
        state.best, state.waited = values, 0
        if recipe.validate is not None and recipe.restore:
            state.weights = {name: tensor.detach().clone() for name, tensor in recipe.model.state_dict().items()}
    else:
        state.waited += 1
    if recipe.end is not None:
        recipe.end(number, values)
    return Epoch(number, recipe.epochs, loss, values, learning_rate, steps, time.perf_counter() - started, kept)


def _fingerprint(settings: object, windows: Tensor) -> str:
    """Identify settings and data; the first steps of the windows stand for the data."""
    return f"{settings!r} {tuple(windows.shape)} {float(windows[:, 0].double().sum())!r}"


def _save(recipe: Recipe, state: _State, path: Path, fingerprint: str) -> None:
    content = {
        "fingerprint": fingerprint,
        "epochs": [
            [e.number, e.loss, list(e.validation), e.learning_rate, e.steps, e.seconds, e.kept] for e in state.epochs
        ],
        "best": list(state.best),
        "waited": state.waited,
        "weights": state.weights,
        "model": recipe.model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in recipe.optimizers],
        "gradients": [parameter.grad for parameter in recipe.model.parameters() if recipe.carries_gradients],
        "extra": {name: item.state_dict() for name, item in recipe.extra.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    torch.save(content, partial)
    partial.replace(path)


def _restore(recipe: Recipe, path: Path, fingerprint: str) -> _State:
    content = torch.load(path, map_location=recipe.windows.device, weights_only=True)
    if content["fingerprint"] != fingerprint:
        raise ValueError(f"the checkpoint {path} belongs to other settings or data; remove it or choose another file")
    recipe.model.load_state_dict(content["model"])
    for optimizer, saved in zip(recipe.optimizers, content["optimizers"], strict=True):
        rates = [group["lr"] for group in optimizer.param_groups]
        optimizer.load_state_dict(saved)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if isinstance(rate, Tensor):
                group["lr"] = rate.fill_(float(group["lr"]))
    if recipe.carries_gradients:
        for parameter, gradient in zip(recipe.model.parameters(), content["gradients"], strict=True):
            parameter.grad = gradient
    for name, item in recipe.extra.items():
        item.load_state_dict(content["extra"][name])
    epochs = [
        Epoch(number, recipe.epochs, loss, tuple(values), rate, steps, seconds, kept)
        for number, loss, values, rate, steps, seconds, kept in content["epochs"]
    ]
    return _State(epochs, tuple(content["best"]), content["weights"], content["waited"])


def graph_step(recipe: Recipe) -> Callable[[Tensor], Tensor]:
    """Return the step of a recipe as a CUDA graph; its optimisers must have been made with ``graph=True``."""
    return _GraphStep(recipe)


class _GraphStep:
    """The step of a recipe, captured once for whole batches and replayed.

    The first whole batches run as they are, on a side stream, as CUDA asks for before a capture; they are ordinary
    training steps. Shorter batches always run as they are.
    """

    WARM_UP = 3

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._ran = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batch: Tensor | None = None
        self._loss: Tensor | None = None

    def __call__(self, batch: Tensor) -> Tensor:
        if batch.shape[0] != self._recipe.batch_size:
            return self._recipe.step(batch)
        if self._ran < self.WARM_UP:
            self._ran += 1
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                loss = self._recipe.step(batch)
            torch.cuda.current_stream().wait_stream(stream)
            return loss
        if self._graph is None or self._batch is None or self._loss is None:
            self._batch = batch.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._loss = self._recipe.step(self._batch)
        self._batch.copy_(batch)
        self._graph.replay()
        return self._loss
