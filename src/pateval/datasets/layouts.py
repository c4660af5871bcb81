"""The public data sets in their original files or as Parquet: each function looks into a folder for one of them.

It returns what is there (`Contents`), without reading the values, or None.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pateval.datasets import tables
from pateval.datasets.series import Contents, Series
from pateval.io import Table, TableError, read_table
from pateval.io.content import require_readable
from pateval.validation.arrays import BoolArray, FloatArray


def smd(folder: Path) -> Contents | None:
    """Server Machine Dataset: 28 machines, 38 metrics each, in order of group and number.

    Original layout: ``train/``, ``test/`` and ``test_label/`` of ``machine-G-I.txt``, numbers separated by commas, in
    ``ServerMachineDataset`` or a folder that holds it. They are read as float32: the text has six decimals of values
    between 0 and 1. Otherwise ``machine-G-I_{train,test}.parquet``.
    """
    original = _smd_original(folder)
    if original is not None:
        names = [path.stem for path in _machines(original / "test", "machine-*.txt")]
        return Contents(tuple(names), read=lambda: [_smd_machine(original, name) for name in names])
    names = [path.stem.removesuffix("_test") for path in _machines(folder, "machine-*_test.parquet")]
    pairs = [(folder / f"{name}_train.parquet", folder / f"{name}_test.parquet", name) for name in names]
    return Contents(tuple(names), read=lambda: [series for pair in pairs for series in tables.read_pair(*pair)])


def smd_interpretation(folder: Path) -> dict[str, list[tuple[int, int, tuple[int, ...]]]]:
    """Read which metrics the operators blamed for each event; only the original layout has these files.

    Per machine there are (start, stop, features); steps are half-open, features count from 1 as in the files.
    """
    causes: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {}
    for path in _machines((_smd_original(folder) or folder) / "interpretation_label", "machine-*.txt"):
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
    test_path, label_path = (folder / part / f"{name}.txt" for part in ("test", "test_label"))
    names, test = tables.features(tables.headless(test_path), dtype=np.float32)
    train = tables.features(tables.headless(folder / "train" / f"{name}.txt"), dtype=np.float32)[1]
    tables.same_features(test_path, test, train)
    labels = tables.labels(tables.headless(label_path, ["label"]), "label", len(test))
    return Series(name, test, labels, train, names)


def _machines(folder: Path, pattern: str) -> list[Path]:
    """Return files in order of the numbers in their names."""
    return sorted(folder.glob(pattern), key=lambda path: tuple(map(int, re.findall(r"\d+", path.stem))))


LEFT_OUT = ("P-2",)
"""Listed twice for SMAP and left out, as OmniAnomaly did and everybody since: the published sizes are without it."""


def telemanom(folder: Path) -> Contents | None:
    """Telemetry of both spacecraft, one series per channel, or of the one whose Parquet files are there.

    Original layout: ``train/CHANNEL.npy``, ``test/CHANNEL.npy`` and ``labeled_anomalies.csv``, whose intervals include
    both ends. Otherwise ``MSL_{train,test}.parquet`` and ``SMAP_{train,test}.parquet``.
    """
    both = [contents for contents in (msl(folder), smap(folder)) if contents is not None]
    if not both:
        return None
    names = tuple(name for contents in both for name in contents.names)
    return Contents(names, read=lambda: [series for contents in both for series in contents.read()])


def _spacecraft(folder: Path, *, spacecraft: str) -> Contents | None:
    """Channels sorted by name."""
    for place in (folder, folder / "data"):
        lists = (place / "labeled_anomalies.csv", place.parent / "labeled_anomalies.csv")
        listed = next((path for path in lists if path.is_file()), None)
        if listed is not None and (place / "test").is_dir():
            channels = _telemanom_channels(listed, spacecraft)
            here = tuple(name for name in channels if (place / "test" / f"{name}.npy").is_file())
            return Contents(here, read=functools.partial(_telemanom_read, place, listed, channels))
    test = folder / f"{spacecraft}_test.parquet"
    if not test.is_file():
        return None
    train = folder / f"{spacecraft}_train.parquet"
    return Contents(tables.names_in(test, "channel"), read=lambda: tables.read_pair(train, test, spacecraft))


msl = functools.partial(_spacecraft, spacecraft="MSL")
smap = functools.partial(_spacecraft, spacecraft="SMAP")


def _telemanom_channels(listed: Path, spacecraft: str) -> dict[str, tuple[str, int]]:
    """Return the anomalies and the number of steps of each channel, by name."""
    names = ("chan_id", "spacecraft", "anomaly_sequences", "num_values")
    columns = tables.require_columns(read_table(listed), names).columns
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    channels = {
        str(channel): (sequences, steps)
        for channel, craft, sequences, steps in rows
        if craft == spacecraft and channel not in LEFT_OUT
    }
    return dict(sorted(channels.items()))


def _telemanom_read(folder: Path, listed: Path, channels: dict[str, tuple[str, int]]) -> list[Series]:
    return [_telemanom_channel(folder, listed, name, *facts) for name, facts in channels.items()]


def _telemanom_channel(folder: Path, listed: Path, name: str, sequences: str, steps: int) -> Series:
    path = folder / "test" / f"{name}.npy"
    test, train = tables.array(path), tables.array(folder / "train" / f"{name}.npy")
    if len(test) != steps:
        raise TableError(f"{path}: {len(test)} steps, but {listed.name} lists {steps}")
    tables.same_features(path, test, train)
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
    excerpt = min(folder.glob("PSM_test_first*.parquet"), default=None)
    if excerpt is None:
        return None
    table = tables.require_columns(read_table(excerpt), ["label"])
    return Contents(("PSM",), 0, table.rows, read=lambda: [_psm_excerpt(table)])


def psm_by_header(folder: Path) -> Contents | None:
    """`psm` where the test file has the original's time stamps: files of any data may have these names."""
    tests = [path for path in (folder / "test.csv", folder / "data" / "test.csv") if path.is_file()]
    return psm(folder) if not tests or "timestamp_(min)" in _lines(tests[0], 1)[0] else None


def _psm_original(folder: Path) -> list[Series]:
    names, test = _psm_features(read_table(folder / "test.csv"))
    truth = read_table(folder / "test_label.csv")
    column = next((name for name in truth.columns if name.strip().lower() == "label"), "label")
    labels = tables.labels(tables.require_columns(truth, [column]), column, len(test))
    training = read_table(folder / "train.csv")
    train_names, train = _psm_features(training)
    if train_names != names:
        raise TableError(f"{training.where}: its features differ from those of test.csv")
    return [Series("PSM", test, labels, train, names)]


def _psm_excerpt(table: Table) -> Series:
    names, test = _psm_features(table, "label")
    return Series("PSM", test, tables.labels(table, "label"), None, names)


def _psm_features(table: Table, *others: str) -> tuple[tuple[str, ...], FloatArray]:
    times = [name for name in table.columns if name.strip().lower().startswith("timestamp")]
    return tables.features(table, drop={*times, *others}, missing=0.0)


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
    """Return the last file of that suffix, by name, with a word in its name."""
    files = (path for path in folder.iterdir() if path.suffix.lower() == suffix and word in path.name.lower())
    return max(files, default=None)


def _swat_series(normal: Path, attack: Path) -> Series:
    both = [_swat_table(path) for path in (normal, attack)]
    (train_names, train), (names, test) = map(_swat_features, both)
    if train_names != names:
        raise TableError(f"{normal}: its columns differ from those of {attack.name}")
    return Series("SWaT", test, _swat_labels(both[1]), train, names)


def _swat_table(path: Path) -> Table:
    require_readable(path)
    for skip, line in enumerate(_lines(path, 3), start=1):
        names = [name.strip() for name in line.split(",")]
        if "Normal/Attack" in names:
            table = tables.headless(path, names, skip=skip)
            return Table("SWaT", {name: column for name, column in table.columns.items() if name}, str(path))
    raise TableError(f"{path}: there is no column 'Normal/Attack' in its first three lines")


def _swat_features(table: Table) -> tuple[tuple[str, ...], FloatArray]:
    times = [name for name in table.columns if name.lower().startswith(("timestamp", "unnamed"))]
    return tables.features(table, drop={*times, "Normal/Attack"})


def _swat_labels(table: Table) -> BoolArray:
    words = np.array([str(word).replace(" ", "").lower() for word in table.columns["Normal/Attack"].tolist()])
    attack = np.isin(words, ["attack", "1", "1.0", "-1"])
    other = ~attack & ~np.isin(words, ["normal", "0", "0.0"])
    if other.any():
        row = int(np.argmax(other))
        raise TableError(f"{table.where}: column 'Normal/Attack' holds {str(words[row])!r} in row {row + 1}")
    return attack


def _nab(folder: Path, *, truth: str) -> Contents | None:
    """Numenta Anomaly Benchmark: 58 series with time stamps, called like their files, without a training stretch.

    Two truths are published: windows around each anomaly (``combined_windows.json``, both ends included), by which the
    benchmark scores, and the single time stamps inside them (``combined_labels.json``). Original layout: ``data`` and
    ``labels`` as in the repository; otherwise ``NAB.parquet``.
    """
    packed = folder / "NAB.parquet"
    if packed.is_file():
        return Contents(tables.names_in(packed, "series"), read=lambda: _nab_packed(packed, f"label_{truth}"))
    if not any((folder / "labels").glob("combined_*.json")):
        return None
    listed = folder / "labels" / ("combined_windows.json" if truth == "window" else "combined_labels.json")
    files = sorted((folder / "data").glob("*/*.csv"))
    return Contents(tuple(f"{path.parent.name}/{path.name}" for path in files), read=lambda: _nab_files(folder, listed))


nab = functools.partial(_nab, truth="window")
nab_points = functools.partial(_nab, truth="point")


def _nab_packed(path: Path, label: str) -> list[Series]:
    table = tables.require_columns(read_table(path), ["series", "value", label])
    values, labels = tables.column(table, "value"), tables.labels(table, label)
    names = table.columns["series"].astype(str)
    starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1), names.size]
    return [
        Series(str(names[start]), values[start:stop], labels[start:stop], None, ("value",))
        for start, stop in itertools.pairwise(starts)
    ]


def _nab_files(folder: Path, listed: Path) -> list[Series]:
    require_readable(listed)
    try:
        entries = json.loads(listed.read_text())
    except ValueError as error:
        raise TableError(f"{listed}: not valid JSON ({error})") from error
    if not isinstance(entries, dict) or not entries:
        raise TableError(f"{listed}: an object of file names and time stamps is needed")
    return [_nab_file(folder / "data" / name, name, stamps, listed) for name, stamps in entries.items()]


def _nab_file(path: Path, name: str, stamps: Any, listed: Path) -> Series:
    table = tables.require_columns(read_table(path), ["timestamp", "value"])
    times = table.columns["timestamp"]
    if times.dtype.kind != "M":
        raise TableError(f"{path}: column 'timestamp' holds no dates")
    times = times.astype("datetime64[us]")
    labels = np.zeros(times.size, dtype=np.bool_)
    try:
        for stamp in stamps:
            first, last = (stamp, stamp) if isinstance(stamp, str) else stamp
            labels |= (times >= np.datetime64(first, "us")) & (times <= np.datetime64(last, "us"))
    except (TypeError, ValueError) as error:
        raise TableError(f"{listed}: the entries of {name!r} are no time stamps ({error})") from error
    return Series(name, tables.column(table, "value"), labels, None, ("value",))


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
        table = tables.require_columns(read_table(path), ["value"])
        return tables.column(table, "value")[:, 0].astype(np.float64)
    require_readable(path)
    words = path.read_text(errors="replace").split()
    values = np.empty(len(words))
    for place, word in enumerate(words):
        try:
            values[place] = float(word)
        except ValueError:
            raise TableError(f"{path}: value {place + 1} is {word[:40]!r}, not a number") from None
    if values.size == 0:
        raise TableError(f"{path}: the file holds no values")
    tables.finite(values, path)
    return values


def ecg(folder: Path) -> Contents:
    """MBA ECG of TSB-UAD: heart beats of the MIT-BIH supraventricular arrhythmia records, one lead each.

    ``MBA_ECG805_data.out`` and the like (or ``.parquet``), at any depth: a value and a label per line, without a
    training stretch.
    """
    return _named_files(folder, "MBA_*", (".out", ".parquet"), "", read_ecg_record)


def read_ecg_record(path: Path) -> Series:
    """Read one record, ``.out`` or ``.parquet``: a value and a label per step."""
    table = read_table(path) if path.suffix == ".parquet" else tables.headless(path, ["value", "label"])
    tables.require_columns(table, ["value", "label"])
    name = path.stem.removesuffix("_data")
    return Series(name, tables.column(table, "value"), tables.labels(table, "label"), None, ("value",))


def tsb_ad(folder: Path) -> Contents:
    """TSB-AD: series curated from forty collections, one CSV file each, at any depth, named by what is in it.

    ``001_NAB_id_1_Facility_tr_1007_1st_2014.csv``: the first 1007 rows may be learned from, the first anomaly is at row
    2014; columns of data, then ``Label``. As in the benchmark's own runs, rows with a missing value are left out and
    the whole series is scored, the training rows included.
    """
    return _named_files(folder, "*_tr_*_1st_*", (".csv",), r"\d+_.+_tr_\d+_1st_\d+$", _tsb_ad_series)


def _tsb_ad_series(path: Path) -> Series:
    train = int(path.stem.rsplit("_", 3)[1])
    table = tables.require_columns(read_table(path), ["Label"])
    whole = np.ones(table.rows, dtype=np.bool_)
    for column in table.columns.values():
        if column.dtype.kind in "fO":
            whole &= np.array([value is not None and value == value for value in column.tolist()])
    if not whole.all():
        table = Table(table.name, {name: column[whole] for name, column in table.columns.items()}, table.where)
    names, values = tables.features(table, drop={"Label"})
    if not 0 < train <= len(values):
        raise TableError(f"{path}: {len(values)} rows do not fit the name, which promises {train} to train on")
    return Series(path.stem, values, tables.labels(table, "Label"), values[:train], names)


def _named_files(
    folder: Path, pattern: str, suffixes: tuple[str, ...], name: str, read: Callable[[Path], Series]
) -> Contents:
    """Find the files of a data set that has one file per series, in order of their names."""
    files = (path for path in folder.rglob(pattern) if path.suffix in suffixes and re.match(name, path.stem))
    paths = sorted(files, key=lambda path: path.name)
    return Contents(tuple(path.stem for path in paths), read=lambda: [read(path) for path in paths])
