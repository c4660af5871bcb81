"""What the deep detectors share: windows on the device, to fit is to plan and then to train, one score per step.

A detector names its network, the recipe of its training and the scores of a batch of windows; the rest is here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pateval.detectors.base import Detector, SelectingSettings
from pateval.detectors.devices import choose_device, cpu_threads, scoring, seeded
from pateval.detectors.training import Epoch, Progress, Recipe, TrainingRecord, run_together
from pateval.detectors.windows import (
    Boundaries,
    FloatMatrix,
    Scaling,
    lay_last,
    lay_tiles,
    series_matrix,
    tile_starts,
    window_starts,
)

Starts = npt.NDArray[np.intp]


class Windows:
    """Windows of a series, (steps, features), named by where they begin: an index into an overlapping view.

    Nothing is copied before windows are taken.
    """

    def __init__(self, series: Tensor, window: int, starts: Starts) -> None:
        self._view = series.unfold(0, window, 1).transpose(1, 2)
        self._starts = torch.from_numpy(np.ascontiguousarray(starts)).to(series.device)

    @property
    def device(self) -> torch.device:
        """Where the windows are."""
        return self._view.device

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: Any, /) -> Tensor:
        """Return windows by number, (windows, window, features), as a copy."""
        return self._view[self._starts[index]]


def in_batches(model: nn.Module, function: Callable[[Tensor], Tensor], windows: Windows | Tensor, rows: int) -> Tensor:
    """Apply a function to ``rows`` windows at a time, without gradients, and join the results."""
    with scoring(model):
        return torch.cat([function(windows[first : first + rows]) for first in range(0, len(windows), rows)])


def split_windows(starts: list[Starts], share: float, *, overlap: int, stride: int) -> tuple[Starts, Starts]:
    """Hold out a share of the windows of each series, the last ones, at least one where there are two.

    ``starts`` are the first steps of the windows of each series. So many windows as ``overlap`` says, which share steps
    with the held-out ones, are left out; of the held-out ones every ``stride``-th is taken.
    """
    train, held_out = [], []
    for of_series in starts:
        count = max(1, round(len(of_series) * share))
        if count >= len(of_series):
            # One window cannot be on both sides: it is learned from.
            train.append(of_series)
            continue
        train.append(of_series[: max(1, len(of_series) - count - overlap)])
        held_out.append(of_series[-count:][::stride])
    return np.concatenate(train), np.concatenate(held_out or [np.empty(0, dtype=np.intp)])


class DeepDetector(Detector):
    """A detector with a network; ``training_`` says, after ``fit``, what training did and whether it collapsed."""

    # Whether the result depends so much on the number of threads that one alone must do the work.
    one_thread: ClassVar[bool] = False

    def __init__(self, settings: Any = None) -> None:
        super().__init__(settings)
        # The settings, with the values of their variant in place of None.
        self.chosen: Any = self.settings.with_variant()
        self.training_: TrainingRecord | None = None
        self._model: Any = None  # the network, on the device

    @property
    def history_(self) -> tuple[Epoch, ...]:
        """The epochs of the training."""
        return () if self.training_ is None else self.training_.history

    @property
    def tile_steps(self) -> int | None:
        """Steps of the windows that are laid end to end in scoring; None where windows slide."""
        return self.chosen.window

    @property
    def stride(self) -> int:
        """Steps from one training window to the next: as in scoring, unless the settings say otherwise."""
        return getattr(self.chosen, "stride", None) or self.tile_steps or 1

    def network(self, features: int) -> nn.Module:
        """Make the network, not trained yet, for a number of features."""
        raise NotImplementedError

    def recipe(self, model: Any, windows: Windows, held_out: Windows | None) -> Recipe:
        """Say how the network is trained on its windows; ``held_out`` choose among the weights of its epochs."""
        raise NotImplementedError

    def window_scores(self, model: Any, windows: Tensor) -> Tensor:
        """Score windows, (batch, window, features): each step, (batch, window), or where windows slide each window."""
        raise NotImplementedError

    def batch_rows(self, features: int) -> int:  # noqa: ARG002 - for those whose memory depends on it
        """Windows scored at a time: bounds the memory."""
        return self.chosen.score_batch

    def plan(self, train: object, **data: Any) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        device = choose_device(self.chosen.device)
        scaling, windows, held_out = self.cut(train, device, **data)
        with seeded(self.chosen.seed, device):
            self._model = self.network(scaling.features).to(device)
        self._scaling = scaling
        recipe = self.recipe(self._model, windows, held_out)
        settings = dataclasses.asdict(self.settings)
        recipe.made_with = (settings, data.get("boundaries"), data.get("test_boundaries"))
        return recipe

    def cut(
        self,
        train: object,
        device: torch.device,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
    ) -> tuple[Scaling, Windows, Windows | None]:
        """Return scaling, training windows and held-out windows, None where the last weights are kept.

        By default the last windows of each training series, a share of ``validation_share``, are held out and decide on
        learning rate, early stop and the weights to keep. With ``select_on_test`` the test series decides, as in the
        paper: then all windows are trained on, and the result has seen the test data.
        """
        chosen, window = self.chosen, self.chosen.window
        selects = isinstance(chosen, SelectingSettings)
        if not selects and test is not None:
            raise ValueError("this detector keeps its last weights: there is nothing that test data could choose")
        if selects and chosen.select_on_test and test is None:
            raise ValueError("select_on_test=True needs fit(train, test=...)")
        if selects and test is not None and not chosen.select_on_test:
            raise ValueError(
                "test data may choose the weights only with select_on_test=True; they were given without it"
            )
        matrix = self._matrix(train, "train")
        starts = window_starts(len(matrix), window, self.stride, boundaries=boundaries, name="train")
        scaling = self.scale(matrix)
        series = self._on_device(matrix, scaling, device)
        if selects and test is None:
            # Windows that overlap the held-out ones are left out, so that nothing is seen on both sides.
            overlap, stride = (window - 1) // self.stride, max(1, window // self.stride)
            first, last = split_windows(starts, chosen.validation_share, overlap=overlap, stride=stride)
            if not len(last):
                raise ValueError(
                    f"train must hold at least two windows of {window} steps: the last is held out; got {len(first)}"
                )
            return scaling, Windows(series, window, first), Windows(series, window, last)
        windows = Windows(series, window, np.concatenate(starts))
        if test is None:
            return scaling, windows, None
        other = self._matrix(test, "test", scaling.features)
        last = np.concatenate(window_starts(len(other), window, window, boundaries=test_boundaries, name="test"))
        return scaling, windows, Windows(self._on_device(other, scaling, device), window, last)

    def _matrix(self, values: object, name: str = "values", features: int | None = None) -> FloatMatrix:
        matrix = series_matrix(values, name, features=features)
        return matrix.astype(np.float32).astype(np.float64) if self._single else matrix

    def _on_device(self, matrix: FloatMatrix, scaling: Scaling, device: torch.device) -> Tensor:
        """Return a scaled series on the device as float32, shape (steps, features)."""
        # Where input is float32, in two steps, each rounded: what scikit-learn's scaler does to float32 in place.
        shifted = matrix - scaling.shift
        scaled = (shifted.astype(np.float32) if self._single else shifted) / scaling.scale
        return torch.from_numpy(np.ascontiguousarray(scaled, dtype=np.float32)).to(device)

    @property
    def _single(self) -> bool:
        return getattr(self.chosen, "float32_input", False)

    def mean_loss(self, values: Tensor) -> float:
        """Average what was measured on held-out windows, the first axis, as the settings ask for."""
        size = self.chosen.batch_size if self.chosen.validation_mean == "batches" else len(values)
        return float(torch.stack([batch.mean() for batch in torch.split(values.double(), size)]).mean())

    def fit(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
        progress: Progress | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Train on a series of normal behaviour, shape (steps,) or (steps, features).

        Parameters
        ----------
        boundaries : sequence of int, optional
            The step at which each of several series laid end to end begins, 0 first: no window crosses one, and the
            end of each series is held out where something is. None takes all steps for one series.
        test, test_boundaries : optional
            Only with ``select_on_test=True``: the series that chooses the weights, and where its parts begin.
        progress : callable, optional
            Called with an :class:`~pateval.detectors.training.Epoch` after each epoch.
        checkpoint : path, optional
            State of the training; it goes on from there if the file exists.

        Warns
        -----
        CollapsedTrainingWarning
            If the network learned nothing.
        """
        data = {"boundaries": boundaries, "test": test, "test_boundaries": test_boundaries}
        fit_together([self], train, **data, progress=[progress], checkpoints=[checkpoint])
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features).

        See :mod:`pateval.detectors.windows` for the steps after the last whole tile and before the first whole window.
        """
        scaling = self.fitted(self._scaling)
        model, window = self._model, self.chosen.window
        matrix = self._matrix(values, features=scaling.features)
        series = self._on_device(matrix, scaling, next(model.parameters()).device)
        rows = self.batch_rows(matrix.shape[1])

        def scores(starts: Starts) -> npt.NDArray[Any]:
            windows = Windows(series, window, starts)
            return in_batches(model, lambda part: self.window_scores(model, part), windows, rows).cpu().numpy()

        with cpu_threads(1 if self.one_thread else None):
            if self.tile_steps is not None:
                tiles = tile_starts(len(matrix), window, boundaries=boundaries)
                return lay_tiles(scores(tiles), len(matrix), boundaries=boundaries)
            pieces = window_starts(len(matrix), window, boundaries=boundaries)
            return np.concatenate([lay_last(scores(starts), window) for starts in pieces])


def fit_together(
    detectors: Sequence[DeepDetector],
    train: object,
    *,
    progress: Sequence[Progress | None] | None = None,
    checkpoints: Sequence[str | Path | None] | None = None,
    **data: Any,
) -> None:
    """Train several detectors of one kind, such as several seeds, on the same series: on a GPU side by side.

    Each ends as its own ``fit`` would leave it. ``progress`` and ``checkpoints`` hold one for each detector; ``train``
    and ``data`` (boundaries, test, test_boundaries) are those of `DeepDetector.fit`.
    """
    nothing = [None] * len(detectors)
    with cpu_threads(1 if any(detector.one_thread for detector in detectors) else None):
        recipes = [detector.plan(train, **data) for detector in detectors]
        for recipe, show, file in zip(recipes, progress or nothing, checkpoints or nothing, strict=True):
            recipe.progress, recipe.checkpoint = show, file
        for detector, record in zip(detectors, run_together(recipes), strict=True):
            detector.training_ = record
