"""Data sets of one feature: NAB, the UCR archive, MBA ECG, and TSB-AD (whose multivariate half has the same files).

Each function looks into a folder and returns what is there (`Contents`), without reading the values, or None.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.series import Contents, Series
from pateval.io import Table, TableError, read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pateval.validation.arrays import BoolArray, FloatArray


def nab(folder: Path) -> Contents | None:
    """Numenta Anomaly Benchmark: 58 series with time stamps, called like their files, without a training stretch.

    Two truths are published: windows around each anomaly (``combined_windows.json``, both ends included), which the
    benchmark scores by and which are read here, and the single time stamps inside them (``combined_labels.json``, see
    `nab_points`). Original layout: ``data`` and ``labels`` as in the repository; otherwise ``NAB.parquet``.
    """
    return _nab(folder, "window")


def nab_points(folder: Path) -> Contents | None:
    """The same series as `nab` with the single time stamps as truth."""
    return _nab(folder, "point")


def _nab(folder: Path, truth: str) -> Contents | None:
    packed = folder / "NAB.parquet"
    if packed.is_file():
        return Contents(matrix.names_in(packed, "series"), read=lambda: _nab_packed(packed, f"label_{truth}"))
    if not any((folder / "labels").glob("combined_*.json")):
        return None
    listed = folder / "labels" / ("combined_windows.json" if truth == "window" else "combined_labels.json")
    files = sorted((folder / "data").glob("*/*.csv"))
    return Contents(tuple(f"{path.parent.name}/{path.name}" for path in files), read=lambda: _nab_files(folder, listed))


def _nab_packed(path: Path, label: str) -> list[Series]:
    table = matrix.require_columns(read_table(path), ["series", "value", label])
    values, labels = matrix.column(table, "value"), matrix.labels(table, label)
    names = table.columns["series"].astype(str)
    starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1), names.size]
    return [
        Series(str(names[start]), values[start:stop], labels[start:stop], None, ("value",))
        for start, stop in itertools.pairwise(starts)
    ]


def _nab_files(folder: Path, listed: Path) -> list[Series]:
    matrix.require_file(listed)
    try:
        entries = json.loads(listed.read_text())
    except ValueError as error:
        raise TableError(f"{listed}: not valid JSON ({error})") from error
    if not isinstance(entries, dict) or not entries:
        raise TableError(f"{listed}: an object of file names and time stamps is needed")
    return [_nab_file(folder / "data" / name, name, stamps, listed) for name, stamps in entries.items()]


def _nab_file(path: Path, name: str, stamps: Any, listed: Path) -> Series:
    table = matrix.require_columns(read_table(path), ["timestamp", "value"])
    times = table.columns["timestamp"]
    if times.dtype.kind != "M":
        raise TableError(f"{path}: column 'timestamp' holds no dates")
    try:
        labels = _between(times.astype("datetime64[us]"), stamps)
    except (TypeError, ValueError) as error:
        raise TableError(f"{listed}: the entries of {name!r} are no time stamps ({error})") from error
    return Series(name, matrix.column(table, "value"), labels, None, ("value",))


def _between(times: np.ndarray[tuple[int], np.dtype[np.datetime64]], stamps: Any) -> BoolArray:
    labels = np.zeros(times.size, dtype=np.bool_)
    for stamp in stamps:
        first, last = (stamp, stamp) if isinstance(stamp, str) else stamp
        labels |= (times >= np.datetime64(first, "us")) & (times <= np.datetime64(last, "us"))
    return labels


def ucr(folder: Path) -> Contents:
    """UCR anomaly archive (KDD Cup 2021): each series has one anomaly, whose place is in the file name.

    ``NNN_UCR_Anomaly_NAME_TRAIN_START_STOP.txt`` (or ``.parquet``), at any depth: the first TRAIN values are free of
    anomalies, steps START to STOP hold one. Whether STOP belongs to it is stated nowhere; here steps count from 0 and
    STOP does not (START does always), which is how the PATE experiments read series 005.
    """
    return _named_files(folder, "*_UCR_Anomaly_*", (".txt", ".parquet"), r"\d+_UCR_Anomaly_.+(_\d+){3}$", _ucr_series)


def _ucr_series(path: Path) -> Series:
    train, start, stop = map(int, path.stem.rsplit("_", 3)[1:])
    values = _ucr_values(path)
    if not 0 < train <= start <= stop <= values.size:
        raise TableError(
            f"{path}: {values.size} values do not fit the name, which promises {train} to train on and an anomaly at "
            f"{start} to {stop}"
        )
    labels = np.zeros(values.size, dtype=np.bool_)
    labels[start : max(stop, start + 1)] = True
    column = values[:, np.newaxis]
    return Series(path.stem, column[train:], labels[train:], column[:train], ("value",))


def _ucr_values(path: Path) -> FloatArray:
    """Read the values; text files hold one per line, or all on one line separated by blanks."""
    if path.suffix == ".parquet":
        table = matrix.require_columns(read_table(path), ["value"])
        return matrix.column(table, "value")[:, 0].astype(np.float64)
    matrix.require_file(path)
    words = path.read_text(errors="replace").split()
    values = np.empty(len(words))
    for place, word in enumerate(words):
        try:
            values[place] = float(word)
        except ValueError:
            raise TableError(f"{path}: value {place + 1} is {word[:40]!r}, not a number") from None
    if values.size == 0:
        raise TableError(f"{path}: the file holds no values")
    matrix.finite(values, path)
    return values


def ecg(folder: Path) -> Contents:
    """MBA ECG of TSB-UAD: heart beats of the MIT-BIH supraventricular arrhythmia records, one lead each.

    ``MBA_ECG805_data.out`` and the like (or ``.parquet``), at any depth: a value and a label per line, without a
    training stretch.
    """
    return _named_files(folder, "MBA_*", (".out", ".parquet"), "", read_ecg_record)


def read_ecg_record(path: Path) -> Series:
    """Read one record, ``.out`` or ``.parquet``: a value and a label per step."""
    table = read_table(path) if path.suffix == ".parquet" else matrix.headless(path, ["value", "label"])
    matrix.require_columns(table, ["value", "label"])
    name = path.stem.removesuffix("_data")
    return Series(name, matrix.column(table, "value"), matrix.labels(table, "label"), None, ("value",))


def tsb_ad(folder: Path) -> Contents:
    """TSB-AD: series curated from forty collections, one CSV file each, at any depth, named by what is in it.

    ``001_NAB_id_1_Facility_tr_1007_1st_2014.csv``: the first 1007 rows may be learned from, the first anomaly is at row
    2014; columns of data, then ``Label``. As in the benchmark's own runs, rows with a missing value are left out and
    the whole series is scored, the training rows included.
    """
    return _named_files(folder, "*_tr_*_1st_*", (".csv",), r"\d+_.+_tr_\d+_1st_\d+$", _tsb_ad_series)


def _tsb_ad_series(path: Path) -> Series:
    train = int(path.stem.rsplit("_", 3)[1])
    table = matrix.require_columns(read_table(path), ["Label"])
    whole = np.ones(table.rows, dtype=np.bool_)
    for column in table.columns.values():
        if column.dtype.kind in "fO":
            whole &= np.array([value is not None and value == value for value in column.tolist()])
    if not whole.all():
        table = Table(table.name, {name: column[whole] for name, column in table.columns.items()}, table.where)
    names, values = matrix.features(table, drop={"Label"})
    if not 0 < train <= len(values):
        raise TableError(f"{path}: {len(values)} rows do not fit the name, which promises {train} to train on")
    return Series(path.stem, values, matrix.labels(table, "Label"), values[:train], names)


def _named_files(
    folder: Path, pattern: str, suffixes: tuple[str, ...], name: str, read: Callable[[Path], Series]
) -> Contents:
    """Find the files of a data set that has one file per series, in order of their names."""
    files = (path for path in folder.rglob(pattern) if path.suffix in suffixes and re.match(name, path.stem))
    paths = sorted(files, key=lambda path: path.name)
    return Contents(tuple(path.stem for path in paths), read=lambda: [read(path) for path in paths])
