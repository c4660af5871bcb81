"""Data sets of many features: SMD, MSL and SMAP, PSM, SWaT, in their original files or as Parquet.

Each function looks into a folder and returns what is there (`Contents`), without reading the values, or None.
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.folder import read_pair
from pateval.datasets.series import Contents, Series
from pateval.io import Table, TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pateval.validation.arrays import BoolArray


def smd(folder: Path) -> Contents | None:
    """Server Machine Dataset: 28 machines, 38 metrics each, in order of group and number.

    Original layout: ``train/``, ``test/`` and ``test_label/`` of ``machine-G-I.txt``, numbers separated by commas, in
    ``ServerMachineDataset`` or a folder that holds it. They are read as float32: the text has six decimals of values
    between 0 and 1. Otherwise ``machine-G-I_{train,test}.parquet``.
    """
    original = _smd_original(folder)
    if original is not None:
        names = sorted((path.stem for path in (original / "test").glob("machine-*.txt")), key=_machine_order)
        return Contents(tuple(names), read=lambda: [_smd_machine(original, name) for name in names])
    names = [path.stem.removesuffix("_test") for path in folder.glob("machine-*_test.parquet")]
    names.sort(key=_machine_order)

    def read() -> list[Series]:
        pairs = [(folder / f"{name}_train.parquet", folder / f"{name}_test.parquet", name) for name in names]
        return [series for pair in pairs for series in read_pair(*pair)]

    return Contents(tuple(names), read=read)


def smd_interpretation(folder: Path) -> dict[str, list[tuple[int, int, tuple[int, ...]]]]:
    """Read which metrics the operators blamed for each event; only the original layout has these files.

    Per machine there are (start, stop, features); steps are half-open, features count from 1 as in the files.
    """
    causes: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {}
    files = ((_smd_original(folder) or folder) / "interpretation_label").glob("machine-*.txt")
    for path in sorted(files, key=lambda file: _machine_order(file.stem)):
        events = causes.setdefault(path.stem, [])
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            match = re.fullmatch(r"\s*(\d+)-(\d+):([\d,\s]+)", line)
            if match:
                features = tuple(int(text) for text in match[3].split(",") if text.strip())
                events.append((int(match[1]), int(match[2]), features))
            elif line.strip():
                raise TableError(f"{path}: line {number} is not of the form start-stop:feature,feature")
    return causes


def _smd_original(folder: Path) -> Path | None:
    places = (folder, folder / "ServerMachineDataset")
    return next((place for place in places if (place / "test_label").is_dir() and (place / "test").is_dir()), None)


def _smd_machine(folder: Path, name: str) -> Series:
    test_path, label_path = folder / "test" / f"{name}.txt", folder / "test_label" / f"{name}.txt"
    names, test = matrix.features(matrix.headless(test_path), dtype=np.float32)
    train = matrix.features(matrix.headless(folder / "train" / f"{name}.txt"), dtype=np.float32)[1]
    matrix.same_features(test_path, test, train)
    labels = matrix.labels(matrix.headless(label_path, ["label"]), "label")
    matrix.same_length(label_path, labels, len(test))
    return Series(name, test, labels, train, names)


def _machine_order(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name))


LEFT_OUT = ("P-2",)
"""Listed twice for SMAP and left out, as OmniAnomaly did and everybody since: the published sizes are without it."""


def msl(folder: Path) -> Contents | None:
    """Mars rover Curiosity, 27 channels sorted by name; see `telemanom`."""
    return _spacecraft(folder, "MSL")


def smap(folder: Path) -> Contents | None:
    """SMAP satellite, 53 channels sorted by name; see `telemanom`."""
    return _spacecraft(folder, "SMAP")


def telemanom(folder: Path) -> Contents | None:
    """Telemetry of both spacecraft, one series per channel, or of the one whose Parquet files are there.

    Original layout: ``train/CHANNEL.npy``, ``test/CHANNEL.npy`` and ``labeled_anomalies.csv``, whose intervals include
    both ends. Otherwise ``MSL_{train,test}.parquet`` and ``SMAP_{train,test}.parquet``.
    """
    both = [found for found in (msl(folder), smap(folder)) if found is not None]
    if not both:
        return None
    return Contents(
        tuple(name for found in both for name in found.names),
        read=lambda: [series for found in both for series in found.read()],
    )


def _spacecraft(folder: Path, spacecraft: str) -> Contents | None:
    for place in (folder, folder / "data"):
        lists = (place / "labeled_anomalies.csv", place.parent / "labeled_anomalies.csv")
        listed = next((path for path in lists if path.is_file()), None)
        if listed is not None and (place / "test").is_dir():
            channels = _telemanom_channels(listed, spacecraft)
            here = [name for name in channels if (place / "test" / f"{name}.npy").is_file()]
            return Contents(tuple(here), read=functools.partial(_telemanom_read, place, listed, channels))
    test = folder / f"{spacecraft}_test.parquet"
    if not test.is_file():
        return None
    train = folder / f"{spacecraft}_train.parquet"
    return Contents(matrix.names_in(test, "channel"), read=lambda: read_pair(train, test, spacecraft))


def _telemanom_channels(listed: Path, spacecraft: str) -> dict[str, tuple[str, int]]:
    """Return the anomalies and the number of steps of each channel, by name."""
    columns = ("chan_id", "spacecraft", "anomaly_sequences", "num_values")
    table = matrix.require_columns(read_table(listed), columns)
    rows = zip(*(table.columns[name].tolist() for name in columns), strict=True)
    found = {
        str(channel): (sequences, steps)
        for channel, craft, sequences, steps in rows
        if craft == spacecraft and channel not in LEFT_OUT
    }
    return dict(sorted(found.items()))


def _telemanom_read(folder: Path, listed: Path, channels: dict[str, tuple[str, int]]) -> list[Series]:
    return [_telemanom_channel(folder, listed, name, *facts) for name, facts in channels.items()]


def _telemanom_channel(folder: Path, listed: Path, name: str, sequences: str, steps: int) -> Series:
    path = folder / "test" / f"{name}.npy"
    test, train = matrix.array(path), matrix.array(folder / "train" / f"{name}.npy")
    if len(test) != steps:
        raise TableError(f"{path}: {len(test)} steps, but {listed.name} lists {steps}")
    matrix.same_features(path, test, train)
    labels = np.zeros(steps, dtype=np.bool_)
    try:
        for start, last in json.loads(sequences):
            if not 0 <= start <= last < steps:
                raise ValueError(f"[{start}, {last}] lies outside the {steps} steps")
            labels[start : last + 1] = True
    except (TypeError, ValueError) as error:
        raise TableError(f"{listed}: column 'anomaly_sequences', channel {name!r}: {error}") from error
    return Series(name, test, labels, train)


def psm(folder: Path) -> Contents | None:
    """Pooled Server Metrics of eBay: one series, 25 features.

    Original layout: ``train.csv``, ``test.csv`` (with ``timestamp_(min)``) and ``test_label.csv``, perhaps in ``data``.
    As everybody does, the time stamp is left out and missing values become 0. Otherwise ``PSM_test_first*.parquet``, an
    excerpt of the test stretch without a training stretch.
    """
    for place in (folder, folder / "data"):
        if (place / "test.csv").is_file() and (place / "test_label.csv").is_file():
            train_rows, test_rows = (_count_rows(place / f"{name}.csv") for name in ("train", "test"))
            return Contents(("PSM",), train_rows, test_rows, functools.partial(_psm_original, place))
    excerpt = next(iter(sorted(folder.glob("PSM_test_first*.parquet"))), None)
    if excerpt is None:
        return None
    table = matrix.require_columns(read_table(excerpt), ["label"])

    def read() -> list[Series]:
        names, values = matrix.features(table, drop=_psm_times(table) | {"label"}, missing=0.0)
        return [Series("PSM", values, matrix.labels(table, "label"), None, names)]

    return Contents(("PSM",), 0, table.rows, read=read)


def psm_by_header(folder: Path) -> Contents | None:
    """`psm` where the test file has the original's time stamps: files of any data may have these names."""
    tests = [path for path in (folder / "test.csv", folder / "data" / "test.csv") if path.is_file()]
    return psm(folder) if not tests or "timestamp_(min)" in _lines(tests[0], 1)[0] else None


def _psm_original(folder: Path) -> list[Series]:
    table, label_path = read_table(folder / "test.csv"), folder / "test_label.csv"
    names, test = matrix.features(table, drop=_psm_times(table), missing=0.0)
    truth = read_table(label_path)
    column = next((name for name in truth.columns if name.strip().lower() == "label"), "label")
    labels = matrix.labels(matrix.require_columns(truth, [column]), column)
    matrix.same_length(label_path, labels, len(test))
    training = read_table(folder / "train.csv")
    train_names, train = matrix.features(training, drop=_psm_times(training), missing=0.0)
    if train_names != names:
        raise TableError(f"{training.where}: its features differ from those of test.csv")
    return [Series("PSM", test, labels, train, names)]


def _psm_times(table: Table) -> set[str]:
    return {name for name in table.columns if name.strip().lower().startswith("timestamp")}


def _count_rows(path: Path) -> int | None:
    if not path.is_file():
        return None
    with path.open("rb") as lines:
        return max(0, sum(1 for _ in lines) - 1)


def _lines(path: Path, count: int) -> list[str]:
    """Return the first lines of a text file, empty ones where it is shorter."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        return [next(lines, "").rstrip("\r\n") for _ in range(count)]


def swat(folder: Path) -> Contents | None:
    """Secure Water Treatment: 51 sensors and actuators of a test bed, eleven days, the last four with attacks.

    The data are given out on request only (see `pateval data info SWaT`). What arrives are workbooks, which must be
    saved as CSV once: ``SWaT_Dataset_Normal_v1.csv`` (495,000 rows; v0 has 496,800) and ``SWaT_Dataset_Attack_v0.csv``
    (449,919 rows). The header may be preceded by a line of process names; labels are the words of the column
    ``Normal/Attack``, among them the known misspelling ``A ttack``.
    """
    paths = {word: _swat_file(folder, word, ".csv") for word in ("normal", "attack")}
    for word, path in paths.items():
        workbook = _swat_file(folder, word, ".xlsx")
        if path is None and workbook is not None:
            raise TableError(f"{workbook}: a workbook; open it in a spreadsheet program and save it as CSV first")
    normal, attack = paths["normal"], paths["attack"]
    if normal is None or attack is None:
        return None
    return Contents(("SWaT",), read=lambda: [_swat_series(normal, attack)])


def _swat_file(folder: Path, word: str, suffix: str) -> Path | None:
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == suffix)
    return next((path for path in reversed(files) if word in path.name.lower()), None)


def _swat_series(normal: Path, attack: Path) -> Series:
    tables = [_swat_table(path) for path in (normal, attack)]
    (train_names, train), (names, test) = (matrix.features(table, drop=_swat_no_features(table)) for table in tables)
    if train_names != names:
        raise TableError(f"{normal}: its columns differ from those of {attack.name}")
    return Series("SWaT", test, _swat_labels(tables[1]), train, names)


def _swat_table(path: Path) -> Table:
    matrix.require_file(path)
    for skip, line in enumerate(_lines(path, 3), start=1):
        names = [name.strip() for name in line.split(",")]
        if "Normal/Attack" in names:
            table = matrix.headless(path, names, skip=skip)
            return Table("SWaT", {name: column for name, column in table.columns.items() if name}, str(path))
    raise TableError(f"{path}: there is no column 'Normal/Attack' in its first three lines")


def _swat_no_features(table: Table) -> set[str]:
    return {
        name for name in table.columns if name == "Normal/Attack" or name.lower().startswith(("timestamp", "unnamed"))
    }


def _swat_labels(table: Table) -> BoolArray:
    words = np.array([str(word).replace(" ", "").lower() for word in table.columns["Normal/Attack"].tolist()])
    attack = np.isin(words, ["attack", "1", "1.0", "-1"])
    other = ~attack & ~np.isin(words, ["normal", "0", "0.0"])
    if other.any():
        row = int(np.argmax(other))
        raise TableError(f"{table.where}: column 'Normal/Attack' holds {str(words[row])!r} in row {row + 1}")
    return attack
