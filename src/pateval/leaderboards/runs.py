"""Several runs of a detector, with other seeds for example: one value per series, and how far the runs lie apart.

Runs are repetitions and not evidence of their own: five seeds on ten series are ten values, not fifty. Each series
counts with its mean over runs, in means, ranks, tests and resamples alike; what the runs differ by stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    Codes = npt.NDArray[np.integer[Any]]
    Flags = npt.NDArray[np.bool_]
    Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Entries:
    """Every run of every detector, those of a detector together.

    Attributes
    ----------
    detector_code : ndarray of int
        Number of the detector of each entry, ascending.
    names : tuple of str
        Name of the run of each entry; empty where a detector has no column of runs.
    of_job : ndarray of int
        For each job the number of its entry.
    """

    detector_code: Codes
    names: tuple[str, ...]
    of_job: Codes

    @classmethod
    def of(cls, detector_code: Codes, run_code: Codes, runs: Sequence[str]) -> Entries:
        """Number the runs of each detector, in their order of appearance.

        Examples
        --------
        >>> entries = Entries.of(np.array([0, 0, 1, 0]), np.array([0, 1, 0, 0]), ["a", "b"])
        >>> entries.detector_code.tolist(), entries.names, entries.of_job.tolist()
        ([0, 0, 1], ('a', 'b', 'a'), [0, 1, 2, 0])
        """
        combined = detector_code.astype(np.int64) * len(runs) + run_code
        known, of_job = np.unique(combined, return_inverse=True)
        names = tuple(runs[run] for run in (known % max(len(runs), 1)).tolist())
        return cls(known // max(len(runs), 1), names, of_job)

    @property
    def has_runs(self) -> bool:
        """Whether there is a column of runs."""
        return any(self.names)

    @cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where the entries of each detector begin."""
        return np.flatnonzero(np.diff(self.detector_code, prepend=-1))

    def any_run(self, flags: Flags) -> Flags:
        """Tell for each detector whether something holds in one of its runs; the first axis is that of entries."""
        return np.asarray(np.logical_or.reduceat(flags, self.starts, axis=0))

    def first(self, codes: Codes, usable: Flags) -> Codes:
        """Take for each detector what its first run has where that is usable, else the next; else that of the first."""
        found = codes[self.starts].copy()
        done = usable[self.starts].copy()
        for entry, d in enumerate(self.detector_code.tolist()):
            fresh = usable[entry] & ~done[d]
            found[d][fresh] = codes[entry][fresh]
            done[d] |= fresh
        return found

    def mean(self, values: Values) -> Values:
        """Average over the runs of each detector that have a value.

        Examples
        --------
        >>> entries = Entries.of(np.array([0, 0, 1]), np.array([0, 1, 0]), ["a", "b"])
        >>> entries.mean(np.array([[0.2, 0.4], [0.4, np.nan], [np.nan, 1.0]]))
        array([[0.3, 0.4],
               [nan, 1. ]])
        """
        defined = ~np.isnan(values)
        counts = np.add.reduceat(defined, self.starts, axis=0, dtype=np.intp)
        sums = np.add.reduceat(np.where(defined, values, 0.0), self.starts, axis=0)
        return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)

    def of_detector(self, detector: int) -> slice:
        """Return the entries of one detector."""
        stops = np.append(self.starts[1:], self.detector_code.size)
        return slice(int(self.starts[detector]), int(stops[detector]))


@dataclass(frozen=True, eq=False)
class RunTable:
    """What every run of every detector has.

    Attributes
    ----------
    entries : Entries
        Which run of which detector.
    values : ndarray
        Entries by series by metrics; NaN where undefined, failed or absent.
    present : ndarray of bool
        Entries by series.
    reason_codes : ndarray of int
        As values; 0 where there is no reason.
    """

    entries: Entries
    values: Values
    present: Flags
    reason_codes: Codes

    def number(self, detector: int) -> int:
        """Return how many runs a detector has."""
        own = self.entries.of_detector(detector)
        return own.stop - own.start

    def spread(self, detector: int, metric: int) -> float | None:
        """Return the standard deviation over runs (n - 1) of the mean over the series that all its runs have.

        None where there are fewer than two runs, or no such series.
        """
        values = self.values[self.entries.of_detector(detector), :, metric]
        common = values[:, ~np.isnan(values).any(axis=0)]
        if len(common) < 2 or not common.shape[1]:
            return None
        return float(np.std(common.mean(axis=1), ddof=1))

    def partly_defined(self) -> Flags:
        """Tell for detectors by series by metrics where only some of the runs that are there have a value."""
        missing = np.isnan(self.values) & self.present[:, :, None]
        return self.entries.any_run(missing) & self.entries.any_run(~np.isnan(self.values))
