"""Score files: what detectors leave on disk for metrics to read, and what is known about them.

``NAME.parquet`` has the columns ``series``, ``step``, ``label`` and ``score``, and ``run`` where a detector ran with
several seeds; one row group per fit and run. Its metadata (:func:`read_metadata`) say how the scores came about; the
fields are described in ``docs/score-files.md``. Beside it lies ``NAME.training``, also a Parquet file, with the scores
of the training steps, sorted, as float32 (:func:`read_training_scores`). They are in a file of their own because a
reader of Parquet loads all metadata before the first row, and under another suffix so that no pattern for score files
takes them for scores of a detector. Whether a training learned anything is judged here on the numbers that were kept
(:func:`collapse_reasons`), so that it can be judged again without torch.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.io.atomic import replacing
from pateval.io.content import arrow
from pateval.validation.wording import one_line

METADATA = b"pateval"
FORMAT = 2
TRAINING_SUFFIX = ".training"

# An output that varies from window to window by less than this share of the data's variance is called constant. Dead
# units give zero or rounding noise; a network that has seen only a few batches gives about 1e-4.
_CONSTANT_SHARE = 1e-6
# An error this close to the variance of the data is called equal to it, provided that the output varies by less than
# this share of what the data vary: a network on its way from bad to good only passes by.
_VARIANCE_TOLERANCE = 0.01
# With an error above the variance this share is asked for: a network that follows its input poorly still learns. Among
# 150 trainings of the paper's detectors, dead networks have .02 at most, others with such an error .10 at least.
_FOLLOWING_SHARE = 0.05
# Optimiser steps before a training is judged: a network that has hardly begun gives nearly the same output for all.
_MIN_STEPS = 50
# Errors that order the steps like this are those of the squared z-score, which needs no network. On test data networks
# that put out a constant have .99 and more, those whose training is sound .86 at most.
ZSCORE_CORRELATION = 0.95


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what is known about a score file.

    Parameters
    ----------
    path : path
        A file that `pateval detect` wrote.

    Returns
    -------
    dict
        ``detector``, ``settings``, ``protocol``, ``pateval`` (version and commit), ``data`` (name, what is missing),
        ``runs`` (one entry per fit: series, seed, digest of the data, seconds, training record) and more.

    Raises
    ------
    ValueError
        If it is no such file.
    """
    pa, pq = arrow(what=f"{path}: Parquet"), arrow("parquet")
    try:
        known = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable Parquet file ({one_line(error, 160)})") from error
    if METADATA not in known:
        raise ValueError(f"{path}: not written by pateval detect: it says nothing about its settings")
    return json.loads(known[METADATA])


def training_scores_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of training scores that belongs to a score file."""
    return Path(path).with_suffix(TRAINING_SUFFIX)


def read_training_scores(
    path: str | os.PathLike[str], *, series: str | None = None, run: int | None = None
) -> npt.NDArray[np.float32]:
    """Read the scores that a detector gave to the steps it was trained on, in ascending order.

    Parameters
    ----------
    path : path
        The score file; its training scores lie beside it.
    series : str, optional
        The fit a series belongs to: its own, or that of the joined data it is part of. May be left out where the file
        holds one fit.
    run : int, optional
        The run; may be left out where the file holds one.

    Returns
    -------
    ndarray of float32
        Sorted.

    Raises
    ------
    ValueError
        If there is no such fit, more than one fits the description, or no training scores are there: the detector was
        fitted on the test stretch, knows the labels, or the file beside is missing or belongs to other scores.
    """
    pq = arrow("parquet")
    _, chosen = _find_run(path, series, run)
    if not chosen.get("training_scores"):
        why = "was fitted on the test stretch" if chosen.get("fitted_on") == "test" else "scores no training steps"
        raise ValueError(f"{path}: there are no training scores of {chosen['series']!r}: the detector {why}")
    beside = training_scores_path(path)
    if not beside.exists():
        raise ValueError(f"{path}: the training scores are missing: {beside.name} must lie beside it")
    keys = read_metadata(beside)["keys"]
    if chosen["key"] not in keys:
        raise ValueError(
            f"{beside}: these training scores belong to other scores than those in {Path(path).name}; "
            "detect again with --overwrite"
        )
    with pq.ParquetFile(beside) as file:
        scores: npt.NDArray[np.float32] = file.read_row_group(keys.index(chosen["key"]))["score"].to_numpy()
    return scores


def read_fit_scores(
    path: str | os.PathLike[str], *, series: str | None = None, run: int | None = None
) -> npt.NDArray[Any]:
    """Read all scores that one fit gave to test steps: those of a series, or of all parts of joined data.

    They are in the order of the file; the fit is named as in :func:`read_training_scores`.

    Raises
    ------
    ValueError
        If there is no such fit, or more than one.
    """
    pq = arrow("parquet")
    place, _ = _find_run(path, series, run)
    with pq.ParquetFile(path) as file:
        scores: npt.NDArray[Any] = file.read_row_group(place, columns=["score"])["score"].to_numpy()
    return scores


def _find_run(path: str | os.PathLike[str], series: str | None, run: int | None) -> tuple[int, dict[str, Any]]:
    """Find the one run that is described: its row group, and what is known about it."""
    known = read_metadata(path)
    if "runs" not in known:
        raise ValueError(f"{path}: written by an older version, which kept no training scores")
    runs = [
        (place, described)
        for place, described in enumerate(known["runs"])
        if (series is None or series in (described["series"], *described["parts"]))
        and run in (None, described.get("seed") or 0)  # a detector without a seed has one run
    ]
    if len(runs) != 1:
        asked = ", ".join(
            f"{name} {value!r}" for name, value in (("series", series), ("run", run)) if value is not None
        )
        what = f"are {len(runs)} fits" if runs else "is no fit"
        raise ValueError(f"{path}: there {what}{f' for {asked}' if asked else ''}; name one by series and run")
    return runs[0]


def write_score_file(path: Path, pieces: Sequence[Callable[[], Any]], metadata: Mapping[str, Any]) -> None:
    """Write tables as row groups of one file, atomically; only one of them is in memory at a time.

    Each piece returns a pyarrow table; all have the same columns. The metadata are what `read_metadata` will return.
    """
    pa, pq = arrow(), arrow("parquet")
    first = pieces[0]()
    schema = pa.schema(first.schema, metadata={METADATA: json.dumps(metadata).encode()})
    # Neighbouring scores are alike in their high bytes: split into byte planes they compress best.
    encodings = {"score": "BYTE_STREAM_SPLIT", "step": "DELTA_BINARY_PACKED", "label": "PLAIN"}
    plain = [name for name in schema.names if name not in encodings]
    with (
        replacing(path) as draft,
        pq.ParquetWriter(
            draft,
            schema,
            compression="zstd",
            compression_level=9,
            use_dictionary=plain or False,
            column_encoding={name: encoding for name, encoding in encodings.items() if name in schema.names},
        ) as writer,
    ):
        for index, piece in enumerate(pieces):
            table = first if index == 0 else piece()
            # A row group per fit: readers skip to the one they want.
            writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=table.num_rows)


class CollapsedTrainingWarning(UserWarning):
    """A network learned nothing: its scores say how unusual the values are, or nothing at all."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """How well a network reproduces a sample of its training windows.

    The variance is that of the data: the error of predicting each feature's mean. Output and data vary so much from
    window to window at the same place of the window. The correlation is by ranks, over the steps, of the error with the
    squared deviation from the mean; NaN where it is not known.
    """

    error: float
    variance: float
    output_variance: float
    data_variance: float
    zscore_correlation: float = math.nan

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name; what is not known is left out."""
        return {
            name: float(f"{value:.6g}")
            for name, value in asdict(self).items()
            if name != "zscore_correlation" or not math.isnan(value)
        }


def collapse_reasons(
    epochs: int, steps: int, first: Reconstruction | None, last: Reconstruction | None, kept: Reconstruction | None
) -> tuple[str, ...] | None:
    """Say what is wrong with a training; an empty tuple where it is sound, None where it cannot be judged.

    Reconstructions are after the first epoch, after the last, and with the weights that are kept. One epoch alone shows
    no progress and is not judged by its error; fewer than fifty optimiser steps are not judged.
    """
    if first is None or last is None or kept is None or kept.variance == 0 or steps < _MIN_STEPS:
        return None
    if not all(math.isfinite(epoch.error) for epoch in (first, last, kept)):
        return ("the output is not finite",)
    reasons = []
    if kept.output_variance < _CONSTANT_SHARE * kept.data_variance:
        reasons.append("the output is constant, whatever the input")
    excess = kept.error - kept.variance
    follows = kept.output_variance >= _FOLLOWING_SHARE * kept.data_variance
    if epochs > 1 and excess > _VARIANCE_TOLERANCE * kept.variance and not follows:
        reasons.append(
            f"the error, {kept.error:.4g}, exceeds the variance of the data, {kept.variance:.4g}: predicting the mean "
            "does better"
        )
    at_the_mean = abs(excess) <= _VARIANCE_TOLERANCE * kept.variance
    if epochs > 1 and at_the_mean and kept.output_variance < _VARIANCE_TOLERANCE * kept.data_variance:
        reasons.append(
            f"the error, {kept.error:.4g}, equals the variance of the data, {kept.variance:.4g}: predicting the mean "
            "does as well"
        )
    if epochs > 1 and last.error >= first.error:
        reasons.append(
            f"no improvement over the first epoch: the error was {first.error:.4g} after it and {last.error:.4g} at "
            "the end"
        )
    if epochs > 1 and kept.zscore_correlation >= ZSCORE_CORRELATION:
        reasons.append(
            f"no better than the squared z-score, which orders the steps alike (rank correlation "
            f"{kept.zscore_correlation:.3f})"
        )
    return tuple(reasons)


def judge_record(training: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Judge a kept training record by the rule of today, beside what was found when it was made.

    It is the ``training`` entry of a run in the metadata of a score file. What was recorded comes first.

    Examples
    --------
    >>> measured = {"error": 0.8, "variance": 0.6, "output_variance": 0.02, "data_variance": 0.6}
    >>> record = {"collapse": [], "epochs": 250, "optimizer_steps": 5750}
    >>> judge_record({**record, "reconstruction": {name: measured for name in ("first", "last", "kept")}})[0]
    'the error, 0.8, exceeds the variance of the data, 0.6: predicting the mean does better'
    """
    recorded = training.get("collapse")
    if recorded is None:
        return None
    measured, epochs = training.get("reconstruction") or {}, ("first", "last", "kept")
    if not set(epochs) <= set(measured):
        return tuple(recorded)
    reconstructions = [Reconstruction(**measured[epoch]) for epoch in epochs]
    today = collapse_reasons(training["epochs"], training["optimizer_steps"], *reconstructions)
    return (*recorded, *(reason for reason in today or () if reason not in recorded))


def training_verdict(training: Mapping[str, Any] | None) -> str:
    """Put the training record of a run into words."""
    if training is None:
        return "nothing was trained"
    reasons = judge_record(training)
    if reasons is None:
        return "not judged: nothing is reconstructed, or too few steps were trained"
    return f"collapsed: {'; '.join(reasons)}" if reasons else "sound"


def training_verdicts(paths: Iterable[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """Say of every run in some score files whether its training collapsed.

    The paths are score files, or folders that hold some at any depth. Each row has ``file``, ``detector``, ``series``,
    ``run``, ``verdict`` (words; files without a record say so) and ``collapsed``: True, False, or None where it cannot
    be judged.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        files.extend(sorted(path.rglob("*.parquet")) if path.is_dir() else [path])
    rows = []
    for file in files:
        known = read_metadata(file)
        runs = known["runs"] if known.get("format") else [{"series": known.get("dataset"), "seed": known.get("seed")}]
        for run in runs:
            training = run.get("training")
            reasons = None if training is None else judge_record(training)
            row = {
                "file": str(file),
                "detector": known.get("detector"),
                "series": run["series"],
                "run": run.get("seed"),
            }
            row["verdict"] = training_verdict(training) if "training" in run else "no record: made by an older version"
            row["collapsed"] = None if reasons is None else bool(reasons)
            rows.append(row)
    return rows
