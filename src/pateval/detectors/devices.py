"""What goes with the device a network is trained on: its choice, seeds, threads, optimisers, CUDA graphs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer


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
def cpu_threads(count: int | None) -> Iterator[None]:
    """Let torch use so many threads within the block; None leaves the number alone."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def scoring(model: nn.Module) -> Iterator[None]:
    """Put a network into the mode for scoring, without gradients, within the block."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


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
    kind: Literal["adam", "adamw"], model: nn.Module, learning_rate: float, *, graph: bool = False, **options: float
) -> Optimizer:
    """Return Adam or AdamW on the parameters of a model: fused on a GPU, ready for a CUDA graph if asked."""
    parameters = list(model.parameters())
    device = parameters[0].device
    on_gpu = device.type == "cuda"
    graph = graph and on_gpu
    # A captured graph reads the learning rate from device memory, so that a schedule can change it.
    rate: Any = torch.tensor(learning_rate, device=device) if graph else learning_rate
    maker: Any = Adam if kind == "adam" else AdamW
    return maker(parameters, lr=rate, fused=on_gpu, capturable=graph, **options)


def set_learning_rate(optimizer: Optimizer, value: float) -> None:
    """Change the learning rate in place, also where it lives on the device."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(value)
        else:
            group["lr"] = value


def halve_each_epoch(optimizer: Optimizer, learning_rate: float) -> Callable[[int, Any], None]:
    """Return what, called after an epoch, sets the learning rate of the next; the third is the first with half."""
    return lambda number, _: set_learning_rate(optimizer, learning_rate * 0.5 ** (number - 1))


def descend(optimizer: Optimizer, loss: Tensor, *, clip: float | None = None) -> Tensor:
    """Take one optimiser step down a loss, with gradients cut to the norm ``clip``; return it, detached."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    if clip is not None:
        nn.utils.clip_grad_norm_([weight for group in optimizer.param_groups for weight in group["params"]], clip)
    optimizer.step()
    return loss.detach()


class GraphStep:
    """A training step that is captured as a CUDA graph for whole batches and replayed: one launch instead of dozens.

    Small networks wait for launches, not for arithmetic. Measured on a GPU, USAD on MSL, one seed alone: 97 s step by
    step, 6 to 12 s with a graph, and the same losses and scores.

    The first whole batches run as they are, on a side stream, as CUDA asks for before a capture; they are ordinary
    training steps. Shorter batches always run as they are. The optimisers must have been made with ``graph=True``.

    Warm-up and capture have a stream of their own. cuBLAS keeps one workspace per stream and a graph remembers that of
    its capture: graphs captured on torch's one shared capture stream overwrite each other's intermediate results when
    they are replayed side by side, and neither scores nor losses say so.
    """

    WARM_UP = 3

    def __init__(self, step: Callable[[Tensor], Tensor], batch_size: int) -> None:
        self._step = step
        self._batch_size = batch_size
        self._ran = 0
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._captured: tuple[torch.cuda.CUDAGraph, Tensor, Tensor] | None = None  # with its batch and its loss

    def __call__(self, batch: Tensor) -> Tensor:
        """Take one step on a batch; return its loss."""
        if batch.shape[0] != self._batch_size:
            return self._step(batch)
        if self._ran < self.WARM_UP:
            self._ran += 1
            self._stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._stream):
                loss = self._step(batch)
            torch.cuda.current_stream().wait_stream(self._stream)
            return loss
        if self._captured is None:
            graph, own_batch = torch.cuda.CUDAGraph(), batch.clone()
            with torch.cuda.graph(graph, stream=self._stream):
                self._captured = graph, own_batch, self._step(own_batch)
        graph, own_batch, loss = self._captured
        own_batch.copy_(batch)
        graph.replay()
        return loss
