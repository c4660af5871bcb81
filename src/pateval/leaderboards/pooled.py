"""Micro beside macro: PATE over all series of a detector together, without holding them together.

Counts of different series can only be added at the same thresholds, and no threshold suits all series before all have
been read. Each series is therefore counted, when it is read for everything else, at thresholds of its own: all its
distinct scores where they are few, quantiles of them otherwise. Its counts change only there, so the sum over all
series is known at every threshold of every series. That is the exact value for scores rounded down to the next
threshold of their own series, and the exact value outright where all distinct scores are thresholds.

The more series there are, the fewer thresholds each needs, since those of the others lie between them: on the NAB
scores the values are within 5e-4 of the exact ones.
"""

from __future__ import annotations

import itertools
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import AVERAGE_PRECISION, TRAPEZOID, precision_recall_area
from pateval.pate._counts import rank_steps
from pateval.time.clocks import canonical_lengths
from pateval.time.timelines import read_scores, read_zone_buffers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pateval.catalog.metric import Metric
    from pateval.validation.arrays import BoolArray, FloatArray

    Array = npt.NDArray[np.float64]

RULES = {"pate": TRAPEZOID, "pate_ap": AVERAGE_PRECISION}
THRESHOLDS_IN_ALL = 16_384  # of all series of a detector together
_MIN_THRESHOLDS, _MAX_THRESHOLDS = 32, 1024  # of one series
_BYTES_IN_MEMORY = 16_000_000  # more counts than this go to a temporary file
_MOST_COUNTS = 100_000  # thresholds times pairs of buffers that a worker returns for one series


def thresholds_per_series(series: int) -> int:
    """Return how many thresholds each of so many series gets.

    Examples
    --------
    >>> [thresholds_per_series(series) for series in (4, 58, 2000)]
    [1024, 282, 32]
    """
    return max(_MIN_THRESHOLDS, min(_MAX_THRESHOLDS, THRESHOLDS_IN_ALL // max(series, 1)))


class PooledMetric(NamedTuple):
    """How a metric is computed over all series: by which rule, and with which buffers."""

    rule: str
    early: tuple[int, ...] | tuple[str, ...]
    delay: tuple[int, ...] | tuple[str, ...]


def poolable(metrics: Sequence[Metric], parameters: Mapping[str, Any], series: int) -> dict[str, PooledMetric]:
    """Find the metrics that can be computed from added counts: `pate` and `pate_ap` at all thresholds.

    Those with so many pairs of buffers that their counts are too many to be sent around are left out.
    """
    found: dict[str, PooledMetric] = {}
    for metric in metrics:
        if metric.name in RULES and metric.in_package:
            options = metric.effective_options(parameters)
            early, delay = (canonical_lengths(options[name], name) for name in ("early", "delay"))
            few = len(early) * len(delay) * thresholds_per_series(series) <= _MOST_COUNTS
            if few and options["thresholds"] is None:
                found[metric.id] = PooledMetric(metric.name, early, delay)
    return found


def choose_thresholds(ordered: FloatArray, size: int) -> Array:
    """Choose at most ``size`` thresholds among the scores of a series.

    Anomalies are rare, so the curve is made at the high end: half of the thresholds lie there.

    Parameters
    ----------
    ordered : ndarray
        The scores, ascending.
    size : int
        The most there may be.

    Examples
    --------
    >>> choose_thresholds(np.arange(1000.0), 8)
    array([  0., 333., 500., 666., 937., 993., 999.])
    """
    is_new = np.append(True, ordered[1:] != ordered[:-1])
    if np.count_nonzero(is_new) <= size:
        return np.asarray(ordered[is_new], dtype=np.float64)
    half = size // 2
    last = ordered.size - 1
    from_above = np.concatenate([np.linspace(0, last, half), np.geomspace(1, 1 + last / 2, size - half) - 1])
    return np.unique(np.asarray(ordered[last - np.floor(from_above).astype(np.intp)], dtype=np.float64))


def count_series(
    labels: BoolArray,
    scores: FloatArray,
    early: Sequence[int] | Sequence[str],
    delay: Sequence[int] | Sequence[str],
    thresholds: Array,
    data: Mapping[str, Any] | None = None,
) -> Array:
    """Count one series at thresholds of its own; ``data`` holds times, ignored steps and so on, as `pate` takes them.

    Returns
    -------
    ndarray
        One column per threshold, from high to low: the threshold; then, as changes from one threshold to the next,
        the number of detections, the missed weight, and the true positives of every pair of buffers. The first column
        holds what is missed where nothing is detected, at an infinite threshold.
    """
    descending = thresholds[::-1]
    truth, values, timeline = read_scores(labels, scores, **(data or {}))
    before, after, clock = read_zone_buffers(timeline, early, delay)
    steps = rank_steps(values, timeline.events(truth), before, after, descending, clock)
    pairs = {(row, column): found for row, column, found in steps.true_positives(before, after)}
    found = [pairs[pair] for pair in itertools.product(range(len(before)), range(len(after)))]
    at_thresholds = np.vstack([steps.detected, steps.missed, *found])
    changes = np.empty((at_thresholds.shape[0] + 1, at_thresholds.shape[1] + 1))
    changes[0] = np.concatenate([[np.inf], descending])
    changes[1:, 0] = 0
    changes[2, 0] = np.count_nonzero(truth)
    changes[1:, 1:] = np.diff(at_thresholds, axis=1, prepend=changes[1:, :1])
    return changes


def pooled_values(series: Sequence[Array]) -> Mapping[str, float]:
    """Return `pate` and `pate_ap` over all series of a detector; nothing where no anomaly was seen.

    Parameters
    ----------
    series : sequence of ndarray
        What `count_series` gave, always in the same order, so that equal input gives equal bits.
    """
    changes = np.concatenate(series, axis=1)
    changes = changes[:, np.argsort(-changes[0], kind="stable")]
    thresholds = changes[0]
    totals = np.cumsum(changes[1:], axis=1)
    is_last = np.append(thresholds[1:] != thresholds[:-1], True) & np.isfinite(thresholds)
    if not changes[2][np.isinf(thresholds)].any():
        return {}
    detected, missed, *true_positive = totals[:, is_last]
    counts = np.rint(detected).astype(np.intp)
    before = np.append(0, counts)
    return {
        name: float(
            np.mean(
                [precision_recall_area(found, np.maximum(missed, 0.0), counts, before, rule) for found in true_positive]
            )
        )
        for name, rule in RULES.items()
    }


class CountsFile:
    """Counts of all jobs, in a temporary file where they are many, so that memory does not grow with the series."""

    def __init__(self) -> None:
        self._file: Any = tempfile.SpooledTemporaryFile(_BYTES_IN_MEMORY)  # noqa: SIM115  # closed by `close`
        self._places: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._end = 0

    def add(self, job: int, buffers: int, counts: Array) -> None:
        """Keep the counts of one job for one set of buffers."""
        content = np.ascontiguousarray(counts)
        self._file.seek(self._end)
        self._file.write(content.data)
        self._places[job, buffers] = (self._end, *content.shape)
        self._end += content.nbytes

    def read(self, job: int, buffers: int) -> Array | None:
        """Return the counts of one job, or None where it has none."""
        if (job, buffers) not in self._places:
            return None
        offset, rows, columns = self._places[job, buffers]
        self._file.seek(offset)
        return np.frombuffer(self._file.read(rows * columns * 8), dtype=np.float64).reshape(rows, columns)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()
