"""Folders of results as benchmarks write them, as one long table: TSB-AD's and TimeEval's.

TSB-AD's scripts write a CSV file per detector, named after it, with a row per series (``file``) and a column per
metric; a row of zeros where the detector failed. TimeEval writes ``results.csv`` with a row per algorithm, settings,
data set and repetition, and a column per metric, which is empty where an experiment failed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pateval.io import TableError
from pateval.io.files import read_table
from pateval.io.source import is_missing
from pateval.validation.wording import in_words, listed, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEEVAL_KEYS = ("algorithm", "collection", "dataset")
# What TimeEval and TSB-AD note beside the metrics.
_NO_METRIC = re.compile(
    r"(.*_)?time|repetition|status|.*message|.*type|.*params.*|hyper.*|algo_.*|dataset_.*", re.IGNORECASE
)
# TSB-AD publishes its values in one table per metric, under such a name.
_MERGED = re.compile(r".*merged_?table.*", re.IGNORECASE)


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
        runs = sorted(path.parent.name for path in folder.glob("*/results.csv"))
        hint = f"; give the folder of one run, such as {in_words(runs[-1])}" if runs else ""
        raise TableError(
            f"{folder}: there is no results.csv, as TimeEval writes it, nor a CSV file per detector, as TSB-AD does"
            + hint
        )
    return _tsb_ad(folder, files)


def _tsb_ad(folder: Path, files: list[Path]) -> tuple[dict[str, list[Any]], list[str]]:
    rows: list[tuple[str, str, str, Any]] = []
    notes = [f"{folder}: read as results of TSB-AD, {len(files)} detectors, named after their files"]
    for path in files:
        if _MERGED.fullmatch(path.stem):
            raise TableError(
                f"{path}: this is a table with a column per detector, not the results of one: give the file instead of "
                "the folder, with --from-results TABLE"
            )
        columns = read_table(path).columns
        if "file" not in columns:
            raise TableError(
                f"{path}: there is no column 'file' with the names of the series, as TSB-AD's scripts write it"
            )
        metrics = [name for name in columns if name != "file" and not _NO_METRIC.fullmatch(name)]
        failed = []
        for place, name in enumerate(columns["file"].tolist()):
            values = [columns[metric][place] for metric in metrics]
            if len(values) > 1 and all(_is_zero(value) for value in values):
                failed.append(place + 1)
                values = [None] * len(values)
            rows += [(str(name), path.stem, metric, value) for metric, value in zip(metrics, values, strict=True)]
        if failed:
            rows_said = f"{'row' if len(failed) == 1 else 'rows'} {listed(failed, 5)}"
            notes.append(
                f"{path}: every metric is 0 in {rows_said}, which TSB-AD's scripts write where a detector failed; it "
                "counts as missing"
            )
    return _columns(rows), notes


def _timeeval(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    columns = read_table(path).columns
    missing = [name for name in _TIMEEVAL_KEYS if name not in columns]
    if missing:
        raise TableError(f"{path}: there is no column {missing[0]!r}, which the results of TimeEval have")
    metrics = [name for name in columns if name not in _TIMEEVAL_KEYS and not _NO_METRIC.fullmatch(name)]
    found: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    detectors = _names_with_settings(columns)
    for place, detector in enumerate(detectors):
        series = f"{columns['collection'][place]}/{columns['dataset'][place]}"
        for metric in metrics:
            found[series, detector, metric].append(columns[metric][place])
    notes = [f"{path}: read as results of TimeEval, metrics {', '.join(metrics)}", *_failures(path, columns, detectors)]
    most = max(map(len, found.values()), default=0)
    if most > 1:
        notes.append(
            f"{path}: up to {most} repetitions, of which the mean counts; one without a value makes it missing"
        )
    return _columns([(*key, _mean(values)) for key, values in found.items()]), notes


def _names_with_settings(columns: Mapping[str, Any]) -> list[str]:
    """Name each row's algorithm, with its settings where it was run with several."""
    algorithms = [str(name) for name in columns["algorithm"].tolist()]
    if "hyper_params_id" not in columns:
        return algorithms
    setting_ids = [str(number) for number in columns["hyper_params_id"].tolist()]
    settings = columns.get("hyper_params")
    ids_of = defaultdict(set)
    for name, setting_id in zip(algorithms, setting_ids, strict=True):
        ids_of[name].add(setting_id)
    return [
        f"{name} ({_settings_in_words(setting_id if settings is None else settings[row], setting_id)})"
        if len(ids_of[name]) > 1
        else name
        for row, (name, setting_id) in enumerate(zip(algorithms, setting_ids, strict=True))
    ]


def _settings_in_words(text: Any, otherwise: str) -> str:
    """Write ``{"lag": 1}`` as ``lag=1``; what is no such text is named by TimeEval's number for it."""
    try:
        settings = json.loads(str(text))
        return ", ".join(f"{name}={value}" for name, value in settings.items()) or "defaults"
    except (ValueError, AttributeError):
        return otherwise


def _failures(path: Path, columns: Mapping[str, Any], detectors: list[str]) -> list[str]:
    """Say how many experiments failed, and why the first one did."""
    if "status" not in columns:
        return []
    states = [str(state) for state in columns["status"].tolist()]
    failed = [place for place, state in enumerate(states) if not state.upper().endswith("OK")]
    if not failed:
        return []
    first = failed[0]
    why = columns["error_message"][first] if "error_message" in columns else None
    reason = states[first] if is_missing(why) else shortened(str(why))
    where = f"{detectors[first]} on {columns['collection'][first]}/{columns['dataset'][first]}"
    counts = f"{len(failed)} of {len(states)} experiments failed and have no value"
    return [f"{path}: {counts}, the first in row {first + 1}: {where} ({reason})"]


def _is_zero(value: Any) -> bool:
    try:
        return float(value) == 0
    except (TypeError, ValueError):
        return False


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
