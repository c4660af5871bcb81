"""What the retraining of the paper's five detectors consists of; shared by prepare.py, train.py and collect.py.

Two protocols. ``paper``: machines and channels laid end to end, windows across them, incomplete last windows dropped,
and the test set choosing the weights where the published code lets it (LSTM, Transformer, AnomalyTransformer).
``held-out``: windows inside their series, a tenth of each series held out to choose the weights, every step scored.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

from pateval.datasets import Series
from pateval.detectors import make, settings_class
from pateval.detectors.presets import dataset_settings
from pateval.runner import Candidate, DetectionPlan

# Long trainings first.
DETECTORS = ("usad", "transformer", "lstm", "anomaly_transformer", "dcdetector")
DATASETS = ("SMD", "SMAP", "MSL", "PSM")
PROTOCOLS = ("paper", "held-out")
SEEDS = (0, 1, 2, 3, 4)


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


def candidates(
    dataset: str, protocol: str, detectors: tuple[str, ...], device: str, changes: dict[str, Any]
) -> list[Candidate]:
    """Return the detectors with the settings of the paper's table.

    The device is named and not looked for: collect.py runs where there is none.
    """
    found = []
    for name in detectors:
        known = settings_class(name).__dataclass_fields__
        settings = {**dataset_settings(name, dataset), "device": device, "cuda_graph": device != "cpu", **changes}
        if "select_on_test" in known:
            settings["select_on_test"] = protocol == "paper"
        made = make(name, **{key: value for key, value in settings.items() if key in known})
        chosen = dataclasses.asdict(made.settings)
        found.append(Candidate(name, functools.partial(make, name, **chosen), chosen))
    return found


def plans(
    packs: Path,
    folder: Path,
    *,
    protocols: tuple[str, ...],
    datasets: tuple[str, ...],
    detectors: tuple[str, ...],
    seeds: tuple[int, ...],
    device: str,
    changes: dict[str, Any],
    overwrite: bool = False,
) -> list[DetectionPlan]:
    """Return a plan for each protocol and each data set that was packed; score files go to folder/protocol/data set."""
    read = {name: unpack_series(packs / f"{name}.xz") for name in datasets if (packs / f"{name}.xz").exists()}
    return [
        DetectionPlan(
            candidates(name, protocol, detectors, device, changes),
            [series],
            folder / protocol / name,
            seeds,
            protocol,  # type: ignore[arg-type]  # checked by the plan
            single=True,
            overwrite=overwrite,
            about_data=about,
        )
        for protocol in protocols
        for name, (series, about) in read.items()
    ]
