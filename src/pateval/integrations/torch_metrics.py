"""PATE as a metric of torchmetrics: updated series by series, synchronised across processes, computed at the end."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torchmetrics import Metric as TorchMetric

from pateval.pate.accumulator import PateAccumulator
from pateval.validation.arrays import Buffers, UndefinedMetricError


class PateMetric(TorchMetric):
    """PATE of everything seen, at fixed thresholds.

    Each call of ``update`` brings whole series: events and buffers must not be cut. The states are sums, so processes
    are synchronised by adding, and memory does not grow with what was seen.

    Parameters
    ----------
    early, delay : int or iterable of int
        Buffer lengths in steps before and after an event; several are averaged over.
    thresholds : array-like of float, or int
        The thresholds at which to count; a number stands for so many between 0 and 1, evenly spaced.
    area : {"average-precision", "trapezoid"}
        ``pate_ap`` or ``pate``.
    **arguments
        What every metric of torchmetrics takes, such as ``sync_on_compute``.

    Examples
    --------
    >>> import torch
    >>> import pateval as pv
    >>> metric = pv.torchmetrics.PateMetric(early=2, delay=2, thresholds=9)
    >>> metric.update(torch.tensor([0.1, 0.3, 0.9, 0.6, 0.2]), torch.tensor([0, 0, 1, 1, 0]))
    >>> metric.compute()
    tensor(1., dtype=torch.float64)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        early: Buffers = (0, 100),
        delay: Buffers = (0, 100),
        thresholds: npt.ArrayLike | int = 250,
        area: Literal["average-precision", "trapezoid"] = "average-precision",
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        if area not in ("average-precision", "trapezoid"):
            raise ValueError(f"area must be 'average-precision' or 'trapezoid'; got {area!r}")
        if isinstance(thresholds, int):
            thresholds = np.linspace(0.0, 1.0, thresholds + 2)[1:-1]
        self.area = area
        self._empty = PateAccumulator(early, delay, thresholds)
        for name, zeros in self._empty.counts.items():
            self.add_state(name, default=torch.from_numpy(zeros.copy()), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add one series, or several as the rows of a matrix.

        Parameters
        ----------
        preds : Tensor
            Scores, higher is more anomalous.
        target : Tensor of 0/1
            Truth, of the same shape.
        """
        if preds.shape != target.shape or preds.ndim not in (1, 2):
            raise ValueError(
                f"preds and target must have the same shape, (steps,) or (series, steps); got {tuple(preds.shape)} and "
                f"{tuple(target.shape)}"
            )
        rows = np.repeat(np.arange(preds.shape[0]), preds.shape[1]) if preds.ndim == 2 else None
        scores, labels = (tensor.detach().cpu().numpy().reshape(-1) for tensor in (preds, target))
        seen = PateAccumulator(self._empty.early, self._empty.delay, self._empty.thresholds)
        for name, counts in seen.update(labels, scores, series=rows).counts.items():
            state = getattr(self, name)
            setattr(self, name, state + torch.from_numpy(counts).to(state.device))

    def compute(self) -> Tensor:
        """PATE of everything seen; NaN, with a warning, where no anomaly was."""
        total = PateAccumulator(self._empty.early, self._empty.delay, self._empty.thresholds)
        total.add_counts({name: getattr(self, name).cpu().numpy() for name in self._empty.counts})
        try:
            value = total.compute() if self.area == "trapezoid" else total.compute_ap()
        except UndefinedMetricError as error:
            warnings.warn(f"PATE is not a number: {error}", stacklevel=2)
            value = float("nan")
        return torch.tensor(value, dtype=torch.float64)
