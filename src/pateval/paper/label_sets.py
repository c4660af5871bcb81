"""Labels of the public data sets, whole wherever they can be had without the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.datasets import data_root, info, load
from pateval.io import read_table
from pateval.labels.events import find_events
from pateval.paper.document import ExperimentSettings, MissingInputError
from pateval.paper.paper_tables import IMPACT_CHUNK
from pateval.validation.arrays import BoolArray

# Label files that are whole although features may be missing: folder, file.
_SMD_LABELS = ("SMD", "SMD_test_labels_all28.npz")
_PSM_LABELS = ("PSM", "PSM_test_labels.parquet")


@dataclass(frozen=True, eq=False)
class LabelSet:
    """Truth of one data set, its series laid end to end.

    Attributes
    ----------
    name : str
        Of the data set.
    labels : ndarray of bool
        One per step.
    series : ndarray
        Which series each step belongs to.
    """

    name: str
    labels: BoolArray
    series: npt.NDArray[Any]

    @property
    def share(self) -> float:
        """Share of anomalous steps."""
        return float(self.labels.mean())

    @property
    def events(self) -> int:
        """Number of events, none across the boundary of two series."""
        return len(find_events(self.labels, np.flatnonzero(np.r_[True, self.series[1:] != self.series[:-1]])))

    def whole_windows(self) -> BoolArray:
        """Labels as the paper's protocol has them: laid end to end, without the last, incomplete window of 100."""
        return self.labels[: self.labels.size // IMPACT_CHUNK * IMPACT_CHUNK]


def read_labels(name: str, settings: ExperimentSettings) -> LabelSet:
    """Read the labels of a data set.

    Parameters
    ----------
    name : str
        As `pateval.datasets` knows it.
    settings : ExperimentSettings
        Names the folder.

    Returns
    -------
    LabelSet

    Raises
    ------
    MissingInputError
        If the data set is not there; the message says how to get it.
    """
    root = settings.root or data_root()
    if name == "SMD" and (path := root.joinpath(*_SMD_LABELS)).is_file():
        with np.load(path) as machines:
            parts = {machine: machines[machine] for machine in sorted(machines.files, key=_machine)}
        return _joined(name, parts)
    if name == "PSM" and (path := root.joinpath(*_PSM_LABELS)).is_file():
        return _joined(name, {name: read_table(path).columns["label"]})
    try:
        return _joined(name, {part.name: part.labels for part in load(name, root=root)})
    except (ValueError, OSError) as error:
        (known,) = info(name)
        how = f"'pateval data fetch {known.name}'" if known.downloads else f"'pateval data info {known.name}' says how"
        raise MissingInputError(
            f"the labels of {name} are not in the data folder: get them ({how}) and name the folder with --root or "
            "PATEVAL_DATA"
        ) from error


def labels_at_hand(names: tuple[str, ...], settings: ExperimentSettings) -> tuple[list[LabelSet], list[str]]:
    """Labels of the data sets that are there, and a sentence for each one that is not."""
    found, missing = [], []
    for name in names:
        settings.tell(f"reading the labels of {name}")
        try:
            found.append(read_labels(name, settings))
        except MissingInputError as error:
            missing.append(str(error))
    return found, missing


def _joined(name: str, parts: dict[str, npt.NDArray[Any]]) -> LabelSet:
    lengths = [part.size for part in parts.values()]
    labels = np.concatenate(list(parts.values())).astype(np.bool_)
    return LabelSet(name, labels, np.repeat(np.arange(len(parts)), lengths))


def _machine(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("-")[1:])
