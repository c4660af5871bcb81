"""Turn the folder of Parquet files into the arrays that ``train.py`` reads on a machine without pyarrow.

    python results/prepare.py DATA_FOLDER --to build/npz

writes ``MSL.npz``, ``SMAP.npz`` and ``SMD.npz``, each with

* ``train``, ``test``: float32, (steps, features), channels or machines laid end to end in the order of the files,
* ``labels``: uint8, (test steps,),
* ``train_starts``, ``test_starts``: where each channel or machine begins, and ``names``.

The data may not be committed: keep the target folder out of git (``build/`` is ignored).
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

Arrays = dict[str, npt.NDArray[Any]]


def features(table: Any) -> npt.NDArray[np.float32]:
    """Return the columns f00, f01, ... as float32, (steps, features)."""
    names = sorted(name for name in table.column_names if re.fullmatch(r"f\d+", name))
    return np.column_stack([table[name].to_numpy().astype(np.float32) for name in names])


def labels(table: Any) -> npt.NDArray[np.uint8]:
    """Return the column ``label``."""
    return np.asarray(table["label"].to_numpy(), dtype=np.uint8)


def telemetry(folder: Path, name: str) -> Arrays:
    """Read MSL or SMAP: one file for all channels, which the column ``channel`` tells apart."""
    train, test = (pq.read_table(folder / name / f"{name}_{part}.parquet") for part in ("train", "test"))
    train_starts, train_names = channel_starts(train)
    test_starts, names = channel_starts(test)
    if names != train_names:
        raise ValueError(f"{name}: the channels of training and test differ")
    return {
        "train": features(train),
        "test": features(test),
        "labels": labels(test),
        "train_starts": train_starts,
        "test_starts": test_starts,
        "names": np.array(names),
    }


def channel_starts(table: Any) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return where each channel begins and their names."""
    channel = np.asarray(table["channel"].to_pylist())
    starts = np.concatenate([[0], np.flatnonzero(channel[1:] != channel[:-1]) + 1]).astype(np.int64)
    return starts, [str(name) for name in channel[starts]]


def server_machines(folder: Path) -> Arrays:
    """Read SMD: a pair of files per machine, in the order of group and number."""
    names = [path.name.removesuffix("_train.parquet") for path in (folder / "SMD").glob("machine-*_train.parquet")]
    names.sort(key=lambda name: [int(part) for part in name.split("-")[1:]])
    trains = [pq.read_table(folder / "SMD" / f"{name}_train.parquet") for name in names]
    tests = [pq.read_table(folder / "SMD" / f"{name}_test.parquet") for name in names]
    return {
        "train": np.concatenate([features(table) for table in trains]),
        "test": np.concatenate([features(table) for table in tests]),
        "labels": np.concatenate([labels(table) for table in tests]),
        "train_starts": starts_of([table.num_rows for table in trains]),
        "test_starts": starts_of([table.num_rows for table in tests]),
        "names": np.array(names),
    }


def starts_of(lengths: list[int]) -> npt.NDArray[np.int64]:
    """Return where each of the pieces begins."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def main(arguments: list[str] | None = None) -> int:
    """Write the arrays and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with MSL/, SMAP/ and SMD/")
    parser.add_argument("--to", type=Path, default=Path("build/npz"))
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    total = 0
    for name in ("MSL", "SMAP", "SMD"):
        arrays = server_machines(options.folder) if name == "SMD" else telemetry(options.folder, name)
        # Column after column: neighbouring values are alike, which compresses better. train.py turns them back.
        packed = {key: np.asfortranarray(array) if array.ndim == 2 else array for key, array in arrays.items()}
        path = options.to / f"{name}.npz"
        np.savez_compressed(path, **packed)  # type: ignore[arg-type]  # the stubs take allow_pickle for an array too
        total += path.stat().st_size
        print(
            f"{path}: train {arrays['train'].shape}, test {arrays['test'].shape}, "
            f"{int(arrays['labels'].sum())} anomalous steps, {len(arrays['names'])} parts, "
            f"{path.stat().st_size / 1e6:.1f} MB"
        )
    print(f"{total / 1e6:.1f} MB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
