"""MSL and SMAP: telemetry of the Mars rover Curiosity and of the SMAP satellite, one series per channel.

Original layout: ``train/CHANNEL.npy``, ``test/CHANNEL.npy`` and ``labeled_anomalies.csv``, whose intervals include
both ends. Channel P-2 is listed twice for SMAP and left out, as OmniAnomaly did and everybody since: the published
sizes (135,183 and 427,617 rows) are those without it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.folder import read_pair
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path

LEFT_OUT = ("P-2",)


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return _original(folder) is not None or any((folder / f"{name}_test.parquet").exists() for name in ("MSL", "SMAP"))


def read(folder: Path) -> list[Series]:
    """Read the channels of both spacecraft, or of the one whose Parquet files are there.

    Parameters
    ----------
    folder : Path
        A folder with ``train``, ``test`` and ``labeled_anomalies.csv``, or with ``MSL_{train,test}.parquet``.

    Returns
    -------
    list of Series
    """
    if _original(folder) is not None:
        return read_msl(folder) + read_smap(folder)
    return [
        record
        for name in ("MSL", "SMAP")
        if (folder / f"{name}_test.parquet").exists()
        for record in _read(folder, name)
    ]


def read_msl(folder: Path) -> list[Series]:
    """Read the 27 channels of the rover, sorted by channel.

    Parameters
    ----------
    folder : Path
        As for `read`.

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If a file is missing or damaged, or its length is not the listed one.
    """
    return _read(folder, "MSL")


def read_smap(folder: Path) -> list[Series]:
    """Read the 53 channels of the satellite, sorted by channel.

    Parameters
    ----------
    folder : Path
        As for `read`.

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If a file is missing or damaged, or its length is not the listed one.
    """
    return _read(folder, "SMAP")


def contents(folder: Path, reader: str = "read") -> Contents:
    """Say which channels are here, without reading them."""
    wanted = {"read_msl": ("MSL",), "read_smap": ("SMAP",)}.get(reader, ("MSL", "SMAP"))
    original = _original(folder)
    listed = None if original is None else _list_file(original)
    names: list[str] = []
    for spacecraft in wanted:
        if original is not None and listed is not None:
            table = read_table(listed)
            channels = zip(table.columns["chan_id"].tolist(), table.columns["spacecraft"].tolist(), strict=True)
            mine = sorted({str(name) for name, craft in channels if craft == spacecraft and name not in LEFT_OUT})
            names += [name for name in mine if (original / "test" / f"{name}.npy").is_file()]
        elif (path := folder / f"{spacecraft}_test.parquet").is_file():
            import pyarrow.parquet as pq

            column = pq.read_table(path, columns=["channel"])["channel"].unique().to_pylist()
            names += [str(name) for name in column]
    return Contents(tuple(names))


def _original(folder: Path) -> Path | None:
    for candidate in (folder, folder / "data"):
        if (candidate / "test").is_dir() and _list_file(candidate) is not None:
            return candidate
    return None


def _list_file(folder: Path) -> Path | None:
    places = (folder / "labeled_anomalies.csv", folder.parent / "labeled_anomalies.csv")
    return next((path for path in places if path.is_file()), None)


def _read(folder: Path, spacecraft: str) -> list[Series]:
    original = _original(folder)
    if original is None:
        test = folder / f"{spacecraft}_test.parquet"
        if not test.exists():
            raise TableError(f"{folder}: neither test/*.npy with labeled_anomalies.csv nor {test.name} are here")
        return read_pair(test.with_name(f"{spacecraft}_train.parquet"), test, spacecraft)
    listed = _list_file(original)
    assert listed is not None  # noqa: S101 - _original found it
    table = read_table(listed)
    for name in ("chan_id", "spacecraft", "anomaly_sequences", "num_values"):
        if name not in table.columns:
            raise TableError(f"{listed}: there is no column {name!r}")
    rows = zip(
        *(table.columns[name].tolist() for name in ("chan_id", "spacecraft", "anomaly_sequences", "num_values")),
        strict=True,
    )
    channels = {
        channel: (sequences, steps)
        for channel, craft, sequences, steps in rows
        if craft == spacecraft and channel not in LEFT_OUT
    }
    if not channels:
        raise TableError(f"{listed}: no channel of {spacecraft} is listed")
    return [_channel(original, listed, name, *channels[name]) for name in sorted(channels)]


def _channel(folder: Path, listed: Path, name: str, sequences: str, steps: int) -> Series:
    path = folder / "test" / f"{name}.npy"
    test, train = matrix.array(path), matrix.array(folder / "train" / f"{name}.npy")
    if len(test) != steps:
        raise TableError(f"{path}: {len(test)} steps, but {listed.name} lists {steps}")
    if train.shape[1] != test.shape[1]:
        raise TableError(f"{path}: {test.shape[1]} features, but the training file has {train.shape[1]}")
    labels = np.zeros(steps, dtype=np.bool_)
    try:
        for start, last in json.loads(sequences):
            if not 0 <= start <= last < steps:
                raise ValueError(f"[{start}, {last}] lies outside the {steps} steps")
            labels[start : last + 1] = True
    except (TypeError, ValueError) as error:
        raise TableError(f"{listed}: column 'anomaly_sequences', channel {name!r}: {error}") from error
    return Series(name, test, labels, train)
