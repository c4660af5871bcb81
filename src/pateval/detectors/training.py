"""The one training loop of the deep detectors, and the choices that go with it: device, seed, optimiser.

The data stay on the device and a batch is an index into them: there is no data loader. Everything that differs from
detector to detector is in its :class:`Recipe`; :func:`run` does the rest: order of batches, progress, validation,
early stop, best weights, checkpoint and resume. :func:`run_together` trains several at once, step by step in turn: on a
GPU each has a stream of its own, so that networks too small to fill the device share it; the numbers are the same.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from pateval.detectors.checkpoints import Checkpoint
from pateval.detectors.collapse import measure, sample_starts
from pateval.detectors.cuda_graphs import GraphStep
from pateval.io.score_files import CollapsedTrainingWarning, Reconstruction, collapse_reasons

if TYPE_CHECKING:
    from pateval.detectors.deep import Windows

# Rows of the history that a score file keeps.
_ROWS_KEPT = 40
# torch hands out 32 streams in turn, and a training needs two, one of them for its graph: more would share them.
_MAX_SIDE_BY_SIDE = 16


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
    windows : Tensor or Windows
        Training windows, (windows, window, features), on the device; may be an overlapping view.
    optimizers : tuple of Optimizer
        For the learning rate in reports and for checkpoints.
    step : callable
        One optimiser step on a batch of windows; returns the loss as a detached scalar tensor.
    settings : object
        Those of the detector: ``batch_size`` and ``epochs`` (the last, shorter batch of an epoch is used too); where
        they are there, ``patience`` (stop after so many epochs without new weights to keep), and ``order_seed`` and
        ``order`` (of the windows, see :func:`visiting_order`).
    validate : callable, optional
        Values to be small, computed after each epoch. The weights kept are those after which *no* value was worse than
        its best; without it the last weights are kept.
    begin : callable, optional
        Called with the number of the epoch before it, counted from 1.
    end : callable, optional
        Called with the number of the epoch and the validation values after it: the learning-rate rule.
    reshuffle : bool
        Draw a new order for every epoch instead of one for all.
    carries_gradients : bool
        Whether gradients outlive a step, so that a checkpoint must hold them.
    restore : bool
        Whether the weights to keep come back at the end; if not, validation only stops the training.
    extra : mapping
        More objects with ``state_dict`` and ``load_state_dict`` for checkpoints, such as a scheduler.
    reconstruct : callable, optional
        Returns, for some windows, what is to be reproduced and what comes out: shows whether the network is alive.
    """

    model: nn.Module
    windows: Windows | Tensor
    optimizers: tuple[Optimizer, ...]
    step: Callable[[Tensor], Tensor]
    settings: Any
    validate: Callable[[], tuple[float, ...]] | None = None
    begin: Callable[[int], None] = lambda _: None
    end: Callable[[int, tuple[float, ...]], None] = lambda _, __: None
    reshuffle: bool = False
    carries_gradients: bool = False
    restore: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    reconstruct: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None


@dataclass(slots=True)
class TrainingRecord:
    """What a training did; while it runs, where it stands between two epochs.

    Attributes
    ----------
    history : tuple of Epoch
        All epochs, those before a resume included.
    device : str
        Name of the GPU, or ``"cpu"``.
    threads : int
        Threads torch used on the CPU; sums over parallel parts may differ in the last digits with another number.
    first, last, kept : Reconstruction or None
        What the network reproduced after the first epoch, after the last, and with the weights kept; None where the
        detector reconstructs nothing.
    """

    history: tuple[Epoch, ...] = ()
    device: str = "cpu"
    threads: int = field(default_factory=torch.get_num_threads)
    first: Reconstruction | None = None
    last: Reconstruction | None = None
    kept: Reconstruction | None = None

    @property
    def kept_epoch(self) -> int:
        """The epoch whose weights are kept."""
        return max((epoch.number for epoch in self.history if epoch.kept), default=0)

    @property
    def best(self) -> tuple[float, ...]:
        """Validation values of the weights that are kept; empty before the first epoch and where nothing chooses."""
        return self.history[self.kept_epoch - 1].validation if self.kept_epoch else ()

    @property
    def collapse(self) -> tuple[str, ...] | None:
        """Why the training is called collapsed; empty where it is sound, None where it cannot be judged."""
        steps = sum(epoch.steps for epoch in self.history)
        return collapse_reasons(len(self.history), steps, self.first, self.last, self.kept)

    def to_dict(self) -> dict[str, Any]:
        """Return what a score file keeps: plain values, the history thinned to a few dozen rows."""
        stride = max(1, len(self.history) // _ROWS_KEPT)
        rows = [epoch for epoch in self.history if epoch.number % stride == 0 or epoch.number in (1, len(self.history))]
        reasons = self.collapse
        measured = {"first": self.first, "last": self.last, "kept": self.kept}
        return {
            "epochs": len(self.history),
            "kept_epoch": self.kept_epoch,
            "optimizer_steps": sum(epoch.steps for epoch in self.history),
            "seconds": round(sum(epoch.seconds for epoch in self.history), 3),
            "device": self.device,
            "threads": self.threads,
            "losses": [[epoch.number, _short(epoch.loss)] for epoch in rows],
            "validation": [[epoch.number, *map(_short, epoch.validation)] for epoch in rows if epoch.validation],
            "reconstruction": {name: errors.to_dict() for name, errors in measured.items() if errors is not None}
            or None,
            "collapse": None if reasons is None else list(reasons),
        }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


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


def descend(optimizer: Optimizer, loss: Tensor) -> Tensor:
    """Take one optimiser step down a loss; return it, detached."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()
    return loss.detach()


def visiting_order(count: int, seed: int | None, order: str = "generator") -> npt.NDArray[np.int64]:
    """Return the order in which the windows are visited; as they come without a seed.

    Parameters
    ----------
    count : int
        How many.
    seed : int or None
        Of the order.
    order : {"generator", "legacy"}
        Drawn by NumPy's generator of today, or shuffled by its legacy one, as the authors' program does.
    """
    places = np.arange(count)
    if seed is None:
        return places
    if order == "legacy":
        np.random.RandomState(seed).shuffle(places)
        return places
    return np.random.default_rng(seed).permutation(count)


@dataclass(slots=True)
class TrainingJob:
    """One training of several.

    Attributes
    ----------
    recipe : Recipe
        What to train and how.
    progress : callable, optional
        Called with an :class:`Epoch` after each epoch.
    checkpoint : path, optional
        File that holds the state after an epoch, written every few seconds and when the progress callback raises. If it
        is there, training goes on from it; the result is the same as of an uninterrupted training. It is left in place
        at the end: a second call then returns at once.
    settings : object
        What the checkpoint was made with: one of other settings or other data is refused.
    graph : bool
        Capture the optimiser step in a CUDA graph and replay it: fewer launches for small networks. No effect on a CPU.
    """

    recipe: Recipe
    progress: Progress | None = None
    checkpoint: str | Path | None = None
    settings: object = None
    graph: bool = False


def run(recipe: Recipe, **options: Any) -> TrainingRecord:
    """Train one recipe; the options are the other attributes of :class:`TrainingJob`."""
    return run_together([TrainingJob(recipe, **options)])[0]


def run_together(jobs: Sequence[TrainingJob]) -> list[TrainingRecord]:
    """Train several recipes, one optimiser step of each in turn, and leave the weights to keep in their models.

    On a GPU each recipe has a stream of its own. The recipes share nothing, so that each result is that of training it
    alone.

    Parameters
    ----------
    jobs : sequence of TrainingJob
        What to train; all on one device.

    Returns
    -------
    list of TrainingRecord
        In the order of the jobs.

    Warns
    -----
    CollapsedTrainingWarning
        If a network learned nothing.

    Raises
    ------
    FloatingPointError
        If a training loss is no longer finite.
    ValueError
        If a checkpoint belongs to other settings or data.
    """
    if len(jobs) > _MAX_SIDE_BY_SIDE:
        return run_together(jobs[:_MAX_SIDE_BY_SIDE]) + run_together(jobs[_MAX_SIDE_BY_SIDE:])
    device = jobs[0].recipe.windows.device
    streams = _streams(len(jobs), device)
    records: dict[int, TrainingRecord] = {}
    with deterministic_kernels():
        trainings = {number: _steps(job) for number, job in enumerate(jobs)}
        while trainings:
            for number in list(trainings):
                with streams[number]():
                    try:
                        next(trainings[number])
                    except StopIteration as end:
                        records[number] = end.value
                        del trainings[number]
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    for record in records.values():
        if record.collapse:
            warnings.warn(
                f"the training collapsed: {'; '.join(record.collapse)}", CollapsedTrainingWarning, stacklevel=3
            )
    return [records[number] for number in range(len(jobs))]


def _streams(count: int, device: torch.device) -> list[Callable[[], contextlib.AbstractContextManager[Any]]]:
    """Return, for each of several trainings, what enters its stream: nothing on a CPU or for one alone."""
    if device.type != "cuda" or count == 1:
        return [contextlib.nullcontext] * count
    # What was made on the default stream must be finished before other streams read it.
    torch.cuda.synchronize(device)
    streams = [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]  # untyped in torch
    return [functools.partial(torch.cuda.stream, stream) for stream in streams]


def _steps(job: TrainingJob) -> Generator[None, None, TrainingRecord]:
    """Train, pausing after each optimiser step."""
    recipe, settings = job.recipe, job.recipe.settings
    device = recipe.windows.device
    saved = Checkpoint(recipe, job.checkpoint, job.settings)
    record = TrainingRecord(device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu")
    weights = saved.restore(record)
    step = GraphStep(recipe.step, settings.batch_size) if job.graph and device.type == "cuda" else recipe.step
    patience = getattr(settings, "patience", None)
    for number in range(len(record.history) + 1, settings.epochs + 1):
        if patience is not None and number - 1 - record.kept_epoch >= patience:
            break
        epoch = yield from _one_epoch(recipe, step, number, record.best)
        record.history += (epoch,)
        if epoch.kept and recipe.validate is not None and recipe.restore:
            weights = {name: tensor.detach().clone() for name, tensor in recipe.model.state_dict().items()}
        recipe.end(number, epoch.validation)
        if number == 1:
            record.first = _measure(recipe)
        saved.save_now_and_then(record, weights)
        if job.progress is not None:
            try:
                job.progress(epoch)
            except BaseException:
                # Whoever interrupts here wants to go on from here.
                saved.save(record, weights)
                raise
    saved.save(record, weights)
    record.last = record.kept = _measure(recipe)
    if weights is not None:
        recipe.model.load_state_dict(weights)
        record.kept = _measure(recipe)
    return record


def _measure(recipe: Recipe) -> Reconstruction | None:
    if recipe.reconstruct is None:
        return None
    window = recipe.windows[0:1].shape[1]
    sample = sample_starts(len(recipe.windows), window).to(recipe.windows.device)
    return measure(recipe.model, recipe.reconstruct, recipe.windows[sample])


def _one_epoch(
    recipe: Recipe, step: Callable[[Tensor], Tensor], number: int, best: tuple[float, ...]
) -> Generator[None, None, Epoch]:
    """Take the steps of one epoch, then validate; ``best`` are the values of the weights kept so far."""
    started = time.perf_counter()
    windows, settings = recipe.windows, recipe.settings
    count = len(windows)
    seed = getattr(settings, "order_seed", None)
    if seed is not None and recipe.reshuffle:
        seed += number - 1
    order = torch.from_numpy(visiting_order(count, seed, getattr(settings, "order", "generator"))).to(windows.device)
    learning_rate = float(recipe.optimizers[0].param_groups[0]["lr"])
    recipe.begin(number)
    recipe.model.train()
    # Summed on the device: asking for each loss would make the host wait for every step.
    total = torch.zeros((), dtype=torch.float64, device=windows.device)
    steps = 0
    for first in range(0, count, settings.batch_size):
        batch = windows[order[first : first + settings.batch_size]]
        total += step(batch).double() * batch.shape[0]
        steps += 1
        yield
    loss = float(total) / count
    if not np.isfinite(loss):
        raise FloatingPointError(f"the training loss is {loss} in epoch {number}: the training diverged")
    values = recipe.validate() if recipe.validate is not None else ()
    kept = not best or all(new <= old for new, old in zip(values, best, strict=True))
    seconds = time.perf_counter() - started
    return Epoch(number, settings.epochs, loss, values, learning_rate, steps, seconds, kept)
