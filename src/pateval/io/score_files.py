"""Score files: what detectors leave on disk for metrics to read, and what is known about them.

``NAME.parquet`` has the columns ``series``, ``step``, ``label`` and ``score``, and ``run`` where a detector ran with
several seeds; one row group per fit and run. Its metadata (:func:`read_metadata`) say how the scores came about; the
fields are described in ``docs/score-files.md``. Beside it lies ``NAME.training``, also a Parquet file, with the scores
of the training steps, sorted, as float32 (:func:`read_training_scores`). They are in a file of their own because a
reader of Parquet loads all metadata before the first row, and under another suffix so that no pattern for score files
takes them for scores of a detector.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.io.atomic import replacing
from pateval.io.collapse_rules import judge_record
from pateval.validation.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

METADATA = b"pateval"
FORMAT = 2
TRAINING_SUFFIX = ".training"


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
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable Parquet file ({one_line(error, 160)})") from error
    if METADATA not in known:
        raise ValueError(f"{path}: not written by pateval detect: it says nothing about its settings")
    found: dict[str, Any] = json.loads(known[METADATA])
    return found


def training_scores_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of training scores that belongs to a score file.

    Examples
    --------
    >>> training_scores_path("scores/lstm.parquet").name
    'lstm.training'
    """
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
    import pyarrow.parquet as pq

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
    import pyarrow.parquet as pq

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


def training_verdict(training: Mapping[str, Any] | None) -> str:
    """Put the training record of a run into words.

    Examples
    --------
    >>> training_verdict(None)
    'nothing was trained'
    >>> training_verdict({"collapse": []}), training_verdict({"collapse": ["the output is not finite"]})
    ('sound', 'collapsed: the output is not finite')
    """
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
            said = training_verdict(training) if "training" in run else "no record: made by an older version"
            rows.append(
                {
                    "file": str(file),
                    "detector": known.get("detector"),
                    "series": run["series"],
                    "run": run.get("seed"),
                    "verdict": said,
                    "collapsed": None if reasons is None else bool(reasons),
                }
            )
    return rows


def write_score_file(path: Path, pieces: Sequence[Callable[[], Any]], metadata: Mapping[str, Any]) -> None:
    """Write tables as row groups of one file, atomically; only one of them is in memory at a time.

    Each piece returns a pyarrow table; all have the same columns. The metadata are what `read_metadata` will return.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

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
