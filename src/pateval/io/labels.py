"""Labels alone: what commands read that look at no detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io.files import expand, open_table
from pateval.io.layout import find_layout
from pateval.io.source import TableError
from pateval.io.units import labelled_series

if TYPE_CHECKING:
    from pateval.io.layout import Reading
    from pateval.io.series import ScoredSeries


@dataclass(frozen=True)
class LabelledSeries:
    """The labels of some series, without scores; ``needs_times`` says in words what is given as a duration."""

    items: tuple[ScoredSeries, ...]
    notes: tuple[str, ...]
    needs_times: str = ""

    @property
    def steps(self) -> dict[str, Any]:
        """Labels of all series, which series each step belongs to, which count and when they were.

        Raises
        ------
        TableError
            If times are needed and not known.
        """
        items = self.items
        labels = [item.checked_labels() for item in items]
        found: dict[str, Any] = {
            "labels": np.concatenate(labels),
            "series": np.repeat(np.arange(len(items)), [truth.size for truth in labels]),
        }
        if any(item.ignore is not None for item in items):
            masks = [(item.ignore, item.unit.steps) for item in items]
            found["ignore"] = np.concatenate(
                [np.zeros(size, np.bool_) if mask is None else mask for mask, size in masks]
            )
        for item in items if self.needs_times else ():
            item.require_times(self.needs_times)
        if self.needs_times:
            found |= {"times": np.concatenate([item.nanoseconds for item in items]), "time_unit": "ns"}
        return found


def read_labels(files: Sequence[str], reading: Reading, needs_times: str = "") -> LabelledSeries:
    """Read the labels of each series; a file needs no scores, and one with several detectors counts once."""
    items: list[ScoredSeries] = []
    notes: list[str] = []
    for path in expand(files):
        source = open_table(path)
        layout = find_layout(source, replace(reading, labels_only=True))
        notes += layout.notes
        items += labelled_series(source, layout)
    if not items:
        raise TableError("there is nothing to read: no files")
    return LabelledSeries(tuple(items), tuple(notes), needs_times)
