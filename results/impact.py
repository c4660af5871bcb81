"""Data sets in packs, for a machine that has neither them nor pyarrow; shared by prepare.py, train.py and collect.py.

What is trained is in `pateval.paper.impact_training`. Two protocols. ``paper``: machines and channels laid end to
end, windows across them, incomplete last windows dropped, and the test set choosing the weights where the published
code lets it (LSTM, Transformer, AnomalyTransformer). ``held-out``: windows inside their series, a tenth of each series
held out to choose the weights, every step scored.
"""

from __future__ import annotations

import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

from pateval.datasets import Series
from pateval.paper import impact_training
from pateval.paper.impact_training import DATASETS, DETECTORS, PROTOCOLS, SEEDS
from pateval.runner import DetectionPlan

__all__ = ["DATASETS", "DETECTORS", "PROTOCOLS", "SEEDS", "pack_series", "plans", "unpack_series"]


def pack_series(series: Series, about: dict[str, Any], path: Path) -> None:
    """Write a series and what is known about it to one compressed file."""
    buffer = io.BytesIO()
    arrays = {
        # Column after column: neighbouring values are alike, which compresses better.
        "train": np.asfortranarray(series.train),
        "test": np.asfortranarray(series.test),
        "labels": series.labels,
        "parts": np.array(series.parts),
        "boundaries": np.array(series.boundaries),
        "train_boundaries": np.array(series.train_boundaries),
        "about": np.array(json.dumps({**about, "features": list(series.features)})),
    }
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stubs take allow_pickle for an array too
    path.write_bytes(lzma.compress(buffer.getvalue(), preset=6))


def unpack_series(path: Path) -> tuple[Series, dict[str, Any]]:
    """Read what `pack_series` wrote."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as arrays:
        about = json.loads(str(arrays["about"]))
        features = tuple(about.pop("features"))
        series = Series(
            about["name"],
            np.ascontiguousarray(arrays["test"]),
            arrays["labels"],
            np.ascontiguousarray(arrays["train"]),
            features,
            tuple(arrays["parts"].tolist()),
            tuple(arrays["boundaries"].tolist()),
            tuple(arrays["train_boundaries"].tolist()),
        )
    return series, about


def plans(packs: Path, folder: Path, *, datasets: tuple[str, ...], **choices: Any) -> list[DetectionPlan]:
    """Return the plans of `impact_training` for each data set that was packed."""
    read = {name: unpack_series(packs / f"{name}.xz") for name in datasets if (packs / f"{name}.xz").exists()}
    return impact_training.plans(read, folder, **choices)
