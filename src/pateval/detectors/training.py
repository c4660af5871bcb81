"""The one training loop of the deep detectors.

The data stay on the device and a batch is an index into them: there is no data loader. Everything that differs from
detector to detector is in its :class:`Recipe`; :func:`run_together` does the rest: order of batches, progress,
validation, early stop, best weights, checkpoint and resume. It trains several at once, step by step in turn: on a GPU
each has a stream of its own, so that networks too small to fill the device share it; the numbers are the same.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from pateval.detectors.devices import GraphStep, deterministic_kernels, scoring
from pateval.io.score_files import CollapsedTrainingWarning, Reconstruction, collapse_reasons

if TYPE_CHECKING:
    from pateval.detectors.deep import Windows

Weights = dict[str, Tensor]

# Seconds between two checkpoints: what an interruption can cost at most, beside one epoch.
_SECONDS_BETWEEN_CHECKPOINTS = 20.0
# Windows whose first steps are summed at a time, to tell data apart.
_FINGERPRINT_ROWS = 4096
# Rows of the history that a score file keeps.
_ROWS_KEPT = 40
# torch hands out 32 streams in turn, and a training needs two, one of them for its graph: more would share them.
_MAX_SIDE_BY_SIDE = 16
# Steps that are reconstructed to see whether a training learned anything: enough for a mean to a few per cent, little
# enough for the attention maps of a large network.
_SAMPLE_STEPS = 8192


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one epoch of training did; handed to the progress callback."""

    number: int  # counted from 1
    epochs: int  # how many there will be at most
    loss: float  # mean training loss
    validation: tuple[float, ...]  # decides on the weights to keep, smaller is better; empty where the last are kept
    learning_rate: float  # of the first optimiser, during the epoch
    steps: int  # optimiser steps taken
    seconds: float  # validation included
    kept: bool  # whether these weights are the ones to keep so far


Progress = Callable[[Epoch], None]


@dataclass(slots=True)
class Recipe:
    """How one detector is trained."""

    model: nn.Module  # on the device
    windows: Windows | Tensor  # (windows, window, features), on the device; may be an overlapping view
    optimizers: tuple[Optimizer, ...]
    # One optimiser step on a batch of windows; returns the loss as a detached scalar tensor.
    step: Callable[[Tensor], Tensor]
    # Those of the detector: batch_size and epochs (the last, shorter batch of an epoch is used too); where they are
    # there, patience (stop after so many epochs without new weights to keep), order_seed and order (visiting_order),
    # and cuda_graph (replay the optimiser step as a CUDA graph; no effect on a CPU).
    settings: Any
    # Values to be small, computed after each epoch. The weights kept are those after which no value was worse than its
    # best; without it the last weights are kept.
    validate: Callable[[], tuple[float, ...]] | None = None
    # Called with the number of the epoch, counted from 1, before it; and with the validation values, too, after it.
    begin: Callable[[int], object] = lambda _: None
    end: Callable[[int, tuple[float, ...]], object] = lambda _, __: None
    reshuffle: bool = False  # draw a new order for every epoch instead of one for all
    carries_gradients: bool = False  # whether gradients outlive a step, so that a checkpoint must hold them
    restore: bool = True  # whether the weights to keep come back at the end; if not, validation only stops the training
    # More objects with state_dict and load_state_dict for checkpoints, such as a scheduler.
    extra: Mapping[str, Any] = field(default_factory=dict)
    # Returns, for some windows, what is to be reproduced and what comes out: shows whether the network is alive.
    reconstruct: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None
    progress: Progress | None = None
    # File that holds the state after an epoch, written every few seconds and when the progress callback raises. If it
    # is there, training goes on from it; the result is the same as of an uninterrupted training. It is left in place at
    # the end: a second call then returns at once.
    checkpoint: str | Path | None = None
    made_with: object = None  # what decides the result: a checkpoint of other settings or other data is refused

    def measure(self) -> Reconstruction | None:
        """Measure what the network reproduces of a fixed sample of its windows; None where it reconstructs nothing."""
        if self.reconstruct is None:
            return None
        count, window = len(self.windows), self.windows[0:1].shape[1]
        most = max(1, _SAMPLE_STEPS // window)
        sample = torch.linspace(0, count - 1, min(count, most), dtype=torch.float64).round().long()
        return measure(self.model, self.reconstruct, self.windows[sample.to(self.windows.device)])


@dataclass(slots=True)
class TrainingRecord:
    """What a training did; while it runs, where it stands between two epochs."""

    history: tuple[Epoch, ...] = ()  # all epochs, those before a resume included
    device: str = "cpu"  # or the name of the GPU
    # Threads torch used on the CPU; sums over parallel parts may differ in the last digits with another number.
    threads: int = field(default_factory=torch.get_num_threads)
    # What the network reproduced after the first epoch, after the last, and with the weights kept.
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


def measure(
    model: nn.Module, reconstruct: Callable[[Tensor], tuple[Tensor, Tensor]], windows: Tensor
) -> Reconstruction:
    """Measure a network on some windows; it draws no random number and changes no weight.

    ``reconstruct`` returns what was to be reproduced and what came out, both of shape (windows, window, features).
    `pateval.io.score_files` judges what is measured.
    """
    with scoring(model):
        data, output = (part.double() for part in reconstruct(windows))
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
    """Rank correlation of two vectors, equal values in the order in which they stand; NaN where one is constant."""
    if bool((first == first[0]).all()) or bool((second == second[0]).all()):
        return math.nan
    ranks = torch.stack([values.argsort(stable=True).argsort().double() for values in (first, second)])
    return float(torch.corrcoef(ranks)[0, 1])


def visiting_order(count: int, seed: int | None, order: str = "generator") -> npt.NDArray[np.int64]:
    """Return the order in which the windows are visited; as they come without a seed.

    It is drawn by NumPy's generator of today or, ``"legacy"``, shuffled by its old one, as the authors' program does.
    """
    places = np.arange(count)
    if seed is None:
        return places
    if order == "legacy":
        np.random.RandomState(seed).shuffle(places)
        return places
    return np.random.default_rng(seed).permutation(count)


class Checkpoint:
    """The state of a training between two epochs, on disk: what was interrupted goes on as if nothing had happened.

    Nothing is written or read where there is no path. Measured on a CPU, one thread: a file of AnomalyTransformer on
    MSL, the largest network here, has 78 MB and takes 0.3 s, one of USAD 4 MB and 0.02 s; it is written every twenty
    seconds at most, where a training may take hours.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._path = None if recipe.checkpoint is None else Path(recipe.checkpoint)
        self._saved = time.monotonic()

    def _fingerprint(self) -> str:
        """Name settings and data; the first steps of the windows stand for the latter."""
        windows = self._recipe.windows
        total = sum(
            float(windows[first : first + _FINGERPRINT_ROWS][:, 0].double().sum())
            for first in range(0, len(windows), _FINGERPRINT_ROWS)
        )
        return f"{self._recipe.made_with!r} {len(windows)} {tuple(windows[0:1].shape)} {total!r}"

    def save(self, record: TrainingRecord, weights: Weights | None, *, at_once: bool = True) -> None:
        """Write the state and the weights to keep, atomically: at once, or if the last file is some seconds old."""
        is_due = at_once or time.monotonic() - self._saved >= _SECONDS_BETWEEN_CHECKPOINTS
        if self._path is None or not is_due:
            return
        recipe = self._recipe
        content = {
            "fingerprint": self._fingerprint(),
            "epochs": [astuple(epoch) for epoch in record.history],
            "first": None if record.first is None else astuple(record.first),
            "weights": weights,
            "model": recipe.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in recipe.optimizers],
            "gradients": [parameter.grad for parameter in recipe.model.parameters() if recipe.carries_gradients],
            "extra": {name: item.state_dict() for name, item in recipe.extra.items()},
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_name(f"{self._path.name}.partial")
        torch.save(content, partial)
        partial.replace(self._path)
        self._saved = time.monotonic()

    def restore(self, record: TrainingRecord) -> Weights | None:
        """Bring record, model, optimisers and the rest to what the file holds, if there is one; return weights to keep.

        A file of other settings or data is refused.
        """
        if self._path is None or not self._path.exists():
            return None
        recipe = self._recipe
        content = torch.load(self._path, map_location=recipe.windows.device, weights_only=True)
        if content["fingerprint"] != self._fingerprint():
            raise ValueError(
                f"the checkpoint {self._path} belongs to other settings or data; remove it or choose another file"
            )
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
        record.history = tuple(Epoch(*row) for row in content["epochs"])
        record.first = None if content["first"] is None else Reconstruction(*content["first"])
        return content["weights"]


def run_together(recipes: Sequence[Recipe]) -> list[TrainingRecord]:
    """Train several recipes on one device, one optimiser step of each in turn; the weights to keep are left in them.

    The recipes share nothing, so that each result is that of training it alone.
    """
    if len(recipes) > _MAX_SIDE_BY_SIDE:
        return run_together(recipes[:_MAX_SIDE_BY_SIDE]) + run_together(recipes[_MAX_SIDE_BY_SIDE:])
    device = recipes[0].windows.device
    streams = _streams(len(recipes), device)
    records: dict[int, TrainingRecord] = {}
    with deterministic_kernels():
        trainings = {number: _steps(recipe) for number, recipe in enumerate(recipes)}
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
    return [records[number] for number in range(len(recipes))]


def _streams(count: int, device: torch.device) -> list[Callable[[], contextlib.AbstractContextManager[Any]]]:
    """Return, for each of several trainings, what enters its stream: nothing on a CPU or for one alone."""
    if device.type != "cuda" or count == 1:
        return [contextlib.nullcontext] * count
    # What was made on the default stream must be finished before other streams read it.
    torch.cuda.synchronize(device)
    streams = [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]  # untyped in torch
    return [functools.partial(torch.cuda.stream, stream) for stream in streams]


def _steps(recipe: Recipe) -> Generator[None, None, TrainingRecord]:
    """Train, pausing after each optimiser step."""
    settings, device = recipe.settings, recipe.windows.device
    saved = Checkpoint(recipe)
    record = TrainingRecord(device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu")
    weights = saved.restore(record)
    captures = getattr(settings, "cuda_graph", False) and device.type == "cuda"
    step = GraphStep(recipe.step, settings.batch_size) if captures else recipe.step
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
            record.first = recipe.measure()
        saved.save(record, weights, at_once=False)
        if recipe.progress is not None:
            try:
                recipe.progress(epoch)
            except BaseException:
                # Whoever interrupts here wants to go on from here.
                saved.save(record, weights)
                raise
    saved.save(record, weights)
    record.last = record.kept = recipe.measure()
    if weights is not None:
        recipe.model.load_state_dict(weights)
        record.kept = recipe.measure()
    return record


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
