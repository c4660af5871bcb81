"""The state of a training between two epochs, on disk: what was interrupted goes on as if nothing had happened.

Measured on a CPU, one thread: a file of AnomalyTransformer on MSL, the largest network here, has 78 MB and takes 0.3 s,
one of USAD 4 MB and 0.02 s; it is written every twenty seconds at most, where a training may take hours.
"""

from __future__ import annotations

import time
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pateval.io.score_files import Reconstruction

if TYPE_CHECKING:
    from pateval.detectors.training import Recipe, TrainingRecord

# Seconds between two files: what an interruption can cost at most, beside one epoch.
_SECONDS_BETWEEN = 20.0
_FINGERPRINT_ROWS = 4096

Weights = dict[str, Tensor]


class Checkpoint:
    """A file that holds the state of one training; nothing is written or read where there is no path.

    ``settings`` identify the training beside its data.
    """

    def __init__(self, recipe: Recipe, path: str | Path | None, settings: object) -> None:
        self._recipe = recipe
        self._path = None if path is None else Path(path)
        self._settings = settings
        self._saved = time.monotonic()

    def _fingerprint(self) -> str:
        """Name settings and data; the first steps of the windows stand for the latter."""
        windows = self._recipe.windows
        total = sum(
            float(windows[first : first + _FINGERPRINT_ROWS][:, 0].double().sum())
            for first in range(0, len(windows), _FINGERPRINT_ROWS)
        )
        return f"{self._settings!r} {len(windows)} {tuple(windows[0:1].shape)} {total!r}"

    def save_now_and_then(self, record: TrainingRecord, weights: Weights | None) -> None:
        """Write the state if the last file is some seconds old."""
        if time.monotonic() - self._saved >= _SECONDS_BETWEEN:
            self.save(record, weights)

    def save(self, record: TrainingRecord, weights: Weights | None) -> None:
        """Write the state and the weights to keep, atomically."""
        if self._path is None:
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
        from pateval.detectors.training import Epoch

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
