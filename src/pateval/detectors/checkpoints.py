"""The state of a training between two epochs, on disk: what was interrupted goes on as if nothing had happened."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pateval.io.collapse_rules import Reconstruction

if TYPE_CHECKING:
    from pateval.detectors.training import Recipe

# Seconds between two files: what an interruption can cost at most, beside one epoch.
_SECONDS_BETWEEN = 20.0
_FINGERPRINT_ROWS = 4096


@dataclass(slots=True)
class TrainingState:
    """Where a training stands between two epochs: finished epochs, best values, weights to keep, epochs waited."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    best: tuple[float, ...] = ()
    weights: dict[str, Tensor] | None = None
    waited: int = 0
    first: Reconstruction | None = None


class Checkpoint:
    """A file that holds the state of one training.

    Parameters
    ----------
    recipe : Recipe
        What is trained.
    path : path
        The file.
    settings : object
        What identifies the training beside its data.
    """

    def __init__(self, recipe: Recipe, path: str | Path, settings: object) -> None:
        self._recipe = recipe
        self._path = Path(path)
        # The first steps of the windows stand for the data.
        windows = recipe.windows
        total = sum(
            float(windows[first : first + _FINGERPRINT_ROWS][:, 0].double().sum())
            for first in range(0, len(windows), _FINGERPRINT_ROWS)
        )
        self._fingerprint = f"{settings!r} {len(windows)} {tuple(windows[0:1].shape)} {total!r}"
        self._saved = time.monotonic()

    def save_now_and_then(self, state: TrainingState) -> None:
        """Write the state if the last file is some seconds old."""
        if time.monotonic() - self._saved >= _SECONDS_BETWEEN:
            self.save(state)

    def save(self, state: TrainingState) -> None:
        """Write the state, atomically."""
        recipe = self._recipe
        content = {
            "fingerprint": self._fingerprint,
            "epochs": [list(row) for row in state.rows],
            "best": list(state.best),
            "waited": state.waited,
            "first": None if state.first is None else list(astuple(state.first)),
            "weights": state.weights,
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

    def restore(self) -> TrainingState:
        """Bring model, optimisers and the rest to what the file holds; a fresh state where there is none.

        Raises
        ------
        ValueError
            If the file belongs to other settings or data.
        """
        if not self._path.exists():
            return TrainingState()
        recipe = self._recipe
        content = torch.load(self._path, map_location=recipe.windows.device, weights_only=True)
        if content["fingerprint"] != self._fingerprint:
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
        rows = [
            (number, loss, tuple(values), rate, steps, seconds, kept)
            for number, loss, values, rate, steps, seconds, kept in content["epochs"]
        ]
        first = None if content["first"] is None else Reconstruction(*content["first"])
        return TrainingState(rows, tuple(content["best"]), content["weights"], content["waited"], first)
