"""Folders of results as benchmarks write them, as one long table: TSB-AD's and TimeEval's.

TSB-AD's scripts write a CSV file per detector, named after it, with a row per series (``file``) and a column per
metric. TimeEval writes ``results.csv`` with a row per algorithm, data set and repetition, and a column per metric.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from pateval.io import TableError
from pateval.io.files import read_table
from pateval.io.source import is_missing

_TIMEEVAL_KEYS = ("algorithm", "collection", "dataset")
# What TimeEval and TSB-AD note beside the metrics.
_NO_METRIC = re.compile(
    r"(.*_)?time|repetition|status|.*message|.*type|.*params.*|hyper.*|algo_.*|dataset_.*", re.IGNORECASE
)


def long_table(folder: Path) -> tuple[dict[str, list[Any]], list[str]]:
    """Read a folder of results.

    Parameters
    ----------
    folder : Path
        One that holds ``results.csv`` of TimeEval, or CSV files of TSB-AD, a detector each.

    Returns
    -------
    columns : dict
        ``series``, ``detector``, ``metric`` and ``value``.
    notes : list of str
        How the folder was read.
    """
    if (folder / "results.csv").is_file():
        return _timeeval(folder / "results.csv")
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise TableError(
            f"{folder}: there is no results.csv, as TimeEval writes it, nor a CSV file per detector, as TSB-AD does"
        )
    return _tsb_ad(folder, files)


def _tsb_ad(folder: Path, files: list[Path]) -> tuple[dict[str, list[Any]], list[str]]:
    rows: list[tuple[str, str, str, Any]] = []
    for path in files:
        columns = read_table(path).columns
        if "file" not in columns:
            raise TableError(
                f"{path}: there is no column 'file' with the names of the series, as TSB-AD's scripts write it"
            )
        metrics = [name for name in columns if name != "file" and not _NO_METRIC.fullmatch(name)]
        rows += [
            (str(name), path.stem, metric, columns[metric][place])
            for place, name in enumerate(columns["file"].tolist())
            for metric in metrics
        ]
    note = f"{folder}: read as results of TSB-AD, {len(files)} detectors, named after their files"
    return _columns(rows), [note]


def _timeeval(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    columns = read_table(path).columns
    missing = [name for name in _TIMEEVAL_KEYS if name not in columns]
    if missing:
        raise TableError(f"{path}: there is no column {missing[0]!r}, which the results of TimeEval have")
    metrics = [name for name in columns if name not in _TIMEEVAL_KEYS and not _NO_METRIC.fullmatch(name)]
    found: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    settings = columns.get("hyper_params_id")
    several = settings is not None and len(set(settings.tolist())) > 1
    for place in range(len(columns["algorithm"])):
        series = f"{columns['collection'][place]}/{columns['dataset'][place]}"
        detector = str(columns["algorithm"][place])
        if several and settings is not None:
            detector += f" ({settings[place]})"
        for metric in metrics:
            found[series, detector, metric].append(columns[metric][place])
    notes = [f"{path}: read as results of TimeEval, metrics {', '.join(metrics)}"]
    most = max(map(len, found.values()), default=0)
    if most > 1:
        notes.append(
            f"{path}: up to {most} repetitions, of which the mean counts; one without a value makes it missing"
        )
    return _columns([(*key, _mean(values)) for key, values in found.items()]), notes


def _mean(values: list[Any]) -> Any:
    """The mean of repetitions; what is no number stands for all of them, so that it is named."""
    if len(values) == 1:
        return values[0]
    numbers = []
    for value in values:
        if is_missing(value):
            return None
        try:
            numbers.append(float(value))
        except (TypeError, ValueError):
            return value
    return sum(numbers) / len(numbers)


def _columns(rows: list[tuple[str, str, str, Any]]) -> dict[str, list[Any]]:
    return {
        "series": [row[0] for row in rows],
        "detector": [row[1] for row in rows],
        "metric": [row[2] for row in rows],
        "value": [None if is_missing(row[3]) else row[3] for row in rows],
    }
