"""PATE as a metric of torchmetrics: updated series by series, synchronised across processes, computed at the end."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torchmetrics import Metric as TorchMetric
from torchmetrics.utilities import dim_zero_cat

from pateval.pate.accumulator import PateAccumulator
from pateval.pate.score import pate, pate_ap
from pateval.validation.arrays import Buffers, UndefinedMetricError, buffer_lengths, positive_integer, scored_pair


class PateMetric(TorchMetric):
    """PATE of everything seen.

    Each call of ``update`` brings whole series: events and buffers must not be cut. By default all scores are kept,
    and the value is exact: that of `pate_ap`, or `pate`, with ``series``. With ``thresholds`` the states are sums, so
    that memory does not grow with what was seen, and the value is that at these thresholds.

    Parameters
    ----------
    early, delay : int or iterable of int
        Buffer lengths in steps before and after an event; several are averaged over.
    thresholds : array-like of float, or int, optional
        The thresholds at which to count, in bounded memory; a number stands for so many between 0 and 1, evenly spaced.
        Scores that they cannot tell apart are warned about.
    area : {"average-precision", "trapezoid"}
        ``pate_ap`` or ``pate``.
    **arguments
        What every metric of torchmetrics takes, such as ``sync_on_compute``.

    Examples
    --------
    >>> import torch
    >>> import pateval as pv
    >>> metric = pv.torchmetrics.PateMetric(early=2, delay=2)
    >>> metric.update(torch.tensor([-3.1, 0.3, 9.9, 0.6, 0.2]), torch.tensor([0, 0, 1, 1, 0]))
    >>> metric.compute()
    tensor(1., dtype=torch.float64)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    # Without thresholds: what was seen, and the lengths of the series.
    labels: list[Tensor]
    scores: list[Tensor]
    lengths: list[Tensor]

    def __init__(
        self,
        early: Buffers = (0, 100),
        delay: Buffers = (0, 100),
        thresholds: npt.ArrayLike | int | None = None,
        area: Literal["average-precision", "trapezoid"] = "average-precision",
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        if area not in ("average-precision", "trapezoid"):
            raise ValueError(f"area must be 'average-precision' or 'trapezoid'; got {area!r}")
        self.area = area
        self.early, self.delay = buffer_lengths(early, "early"), buffer_lengths(delay, "delay")
        self.thresholds: npt.ArrayLike | None = None
        if thresholds is None:
            for name in ("labels", "scores", "lengths"):
                self.add_state(name, default=[], dist_reduce_fx="cat")
            return
        self._covered, self._share_beyond = (0.0, 1.0), 0.0
        if isinstance(thresholds, int):
            self.thresholds = np.linspace(0.0, 1.0, positive_integer(thresholds, "thresholds") + 2)[1:-1]
        else:
            self.thresholds = self._accumulator(thresholds).thresholds
            self._covered, self._share_beyond = (float(self.thresholds[-1]), float(self.thresholds[0])), 0.5
        for name, zeros in self._accumulator(self.thresholds).counts.items():
            self.add_state(name, default=torch.from_numpy(zeros.copy()), dist_reduce_fx="sum")

    def _accumulator(self, thresholds: npt.ArrayLike) -> PateAccumulator:
        return PateAccumulator(self.early, self.delay, thresholds)

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
        given = (tensor.detach().reshape(-1) for tensor in (preds, target))
        tensors = [tensor.float() if tensor.dtype == torch.bfloat16 else tensor for tensor in given]
        labels, scores = scored_pair(tensors[1].cpu().numpy(), tensors[0].cpu().numpy())
        rows, steps = preds.shape if preds.ndim == 2 else (1, preds.shape[0])
        if self.thresholds is None:
            self.labels.append(tensors[1].bool())
            self.scores.append(tensors[0])
            self.lengths.append(torch.full((rows,), steps, device=preds.device))
            return
        self._warn_if_beyond(scores)
        counts = (
            self._accumulator(self.thresholds).update(labels, scores, series=np.repeat(np.arange(rows), steps)).counts
        )
        for name, added in counts.items():
            state = getattr(self, name)
            setattr(self, name, state + torch.from_numpy(added).to(state.device))

    def compute(self) -> Tensor:
        """PATE of everything seen; NaN, with a warning, where no anomaly was."""
        try:
            value = self._exact() if self.thresholds is None else self._counted(self.thresholds)
        except UndefinedMetricError as error:
            warnings.warn(f"PATE is not a number: {error}", stacklevel=3)  # torchmetrics wraps this
            value = float("nan")
        return torch.tensor(value, dtype=torch.float64)

    def _exact(self) -> float:
        if not len(self.lengths):
            raise UndefinedMetricError("the metric is undefined: no anomaly has been seen yet")
        seen = (self.labels, self.scores, self.lengths)
        labels, scores, lengths = (dim_zero_cat(state).cpu().numpy() for state in seen)
        function = pate if self.area == "trapezoid" else pate_ap
        series = np.repeat(np.arange(lengths.size), lengths)
        return function(labels, scores, early=self.early, delay=self.delay, series=series)

    def _counted(self, thresholds: npt.ArrayLike) -> float:
        total = self._accumulator(thresholds)
        total.add_counts({name: getattr(self, name).cpu().numpy() for name in total.counts})
        return total.compute() if self.area == "trapezoid" else total.compute_ap()

    def _warn_if_beyond(self, scores: npt.NDArray[Any]) -> None:
        """Warn of scores that the thresholds do not tell apart: any outside 0 to 1, most outside given thresholds."""
        low, high = self._covered
        beyond = int(np.count_nonzero((scores < low) | (scores > high)))
        if beyond > self._share_beyond * scores.size:
            warnings.warn(
                f"{beyond:,} of {scores.size:,} scores lie outside the thresholds of PateMetric, {low:g} to {high:g}, "
                f"which do not tell them apart: pass thresholds of their own, or none for the exact value",
                stacklevel=4,  # torchmetrics wraps what calls this
            )
