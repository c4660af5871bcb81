"""One series as a detector meets it: a training stretch, a test stretch, and the truth about the latter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Contents:
    """What there is of a data set."""

    names: tuple[str, ...]  # of the series
    train_rows: int | None = None  # of all of them together; None where they were not counted
    test_rows: int | None = None
    # Reads all series, in a fixed order; raises TableError where a file is missing or damaged.
    read: Callable[[], list[Series]] = field(default=list, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Series:
    """A multivariate series with labels, perhaps several machines or channels laid end to end.

    What does not fit each other, lengths, features or boundaries, is refused.

    Examples
    --------
    >>> import numpy as np
    >>> series = Series("pump", test=np.zeros((5, 2)), labels=np.array([0, 0, 1, 0, 0], dtype=bool))
    >>> series.steps, series.features, series.train is None
    (5, ('f00', 'f01'), True)
    """

    name: str  # as score files call it
    test: FloatArray = field(repr=False)  # what is to be scored: steps x features
    labels: BoolArray = field(repr=False)  # truth for test
    train: FloatArray | None = field(default=None, repr=False)  # to learn from; None where there is no such stretch
    features: tuple[str, ...] = field(default=(), repr=False)  # names of the columns
    # The machines or channels the series is made of: one, of the same name, unless it was joined; and the step at which
    # each begins, in test and in train.
    parts: tuple[str, ...] = ()
    boundaries: tuple[int, ...] = (0,)
    train_boundaries: tuple[int, ...] = (0,)
    left_out: tuple[str, ...] = field(default=(), repr=False)  # columns of a user's file that are no features
    notes: tuple[str, ...] = field(default=(), repr=False)  # what a user should know, as of times out of order

    def __post_init__(self) -> None:
        if self.test.ndim != 2 or self.test.size == 0:
            raise ValueError(f"series {self.name!r}: test must be steps x features; got shape {self.test.shape}")
        if self.labels.shape != (self.test.shape[0],):
            raise ValueError(f"series {self.name!r}: {self.test.shape[0]} test steps but {self.labels.size} labels")
        if self.train is not None and (self.train.ndim != 2 or self.train.shape[1] != self.test.shape[1]):
            raise ValueError(
                f"series {self.name!r}: train has shape {self.train.shape}, test {self.test.shape}; "
                f"both need the same features"
            )
        if not self.features:
            object.__setattr__(self, "features", tuple(f"f{index:02d}" for index in range(self.test.shape[1])))
        if not self.parts:
            object.__setattr__(self, "parts", (self.name,))
        if len(self.features) != self.test.shape[1]:
            raise ValueError(f"series {self.name!r}: {self.test.shape[1]} features but {len(self.features)} names")
        for starts, length in ((self.boundaries, self.steps), (self.train_boundaries, self.train_steps)):
            one_each = len(starts) == len(self.parts)
            if not one_each or starts[0] != 0 or list(starts) != sorted(starts) or starts[-1] > length:
                raise ValueError(f"series {self.name!r}: boundaries must begin at 0, ascend, and be one for each part")

    @property
    def steps(self) -> int:
        """Length of the test stretch."""
        return int(self.test.shape[0])

    @property
    def train_steps(self) -> int:
        """Length of the training stretch; 0 where there is none."""
        return 0 if self.train is None else int(self.train.shape[0])

    @property
    def anomaly_share(self) -> float:
        """Share of test steps that are anomalous."""
        return float(np.mean(self.labels))

    @property
    def part_of_step(self) -> npt.NDArray[Any]:
        """The part each test step belongs to: what metrics take as ``series``."""
        return np.repeat(np.array(self.parts), np.diff((*self.boundaries, self.steps)))

    @property
    def step_in_part(self) -> npt.NDArray[np.int64]:
        """Each test step's number within its part."""
        lengths = np.diff((*self.boundaries, self.steps))
        return np.arange(self.steps, dtype=np.int64) - np.repeat(np.array(self.boundaries, dtype=np.int64), lengths)


def join(series: Sequence[Series], name: str) -> Series:
    """Lay several series end to end, as the papers do with machines and channels; the boundaries are kept.

    They must have the same features, and all or none a training stretch.

    Examples
    --------
    >>> import numpy as np
    >>> one = Series("m1", np.zeros((3, 1)), np.array([False, True, False]))
    >>> two = Series("m2", np.ones((2, 1)), np.array([True, False]))
    >>> both = join([one, two], "machines")
    >>> both.boundaries, both.part_of_step.tolist()
    ((0, 3), ['m1', 'm1', 'm1', 'm2', 'm2'])
    """
    if not series:
        raise ValueError("there is no series to join")
    first = series[0]
    for other in series[1:]:
        if other.features != first.features:
            raise ValueError(f"series {first.name!r} and {other.name!r} cannot be joined: their features differ")
        if (other.train is None) != (first.train is None):
            raise ValueError(
                f"series {first.name!r} and {other.name!r} cannot be joined: only one has a training stretch"
            )
    trains = [record.train for record in series if record.train is not None]
    return Series(
        name,
        np.concatenate([record.test for record in series]),
        np.concatenate([record.labels for record in series]),
        np.concatenate(trains) if trains else None,
        first.features,
        tuple(part for record in series for part in record.parts),
        _shifted([(record.boundaries, record.steps) for record in series]),
        _shifted([(record.train_boundaries, record.train_steps) for record in series]),
    )


def _shifted(pieces: Sequence[tuple[tuple[int, ...], int]]) -> tuple[int, ...]:
    starts: list[int] = []
    offset = 0
    for boundaries, length in pieces:
        starts.extend(offset + start for start in boundaries)
        offset += length
    return tuple(starts)
