"""Nothing is lost and nothing is computed twice: each finished result in a small file of its own.

A file's name is a hash of all that decides its numbers: labels and scores, parameters, and the code of the metrics.
Whatever changes gives another name, so an entry is never out of date; files are put in place whole, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval._wording import in_words
from pateval.io.atomic import reason_of, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

# Modules whose source decides a number that is kept, or whether there is one: they are hashed into every key. Whole
# packages are named by their folder. A test holds that every module of the package is on one of the two lists.
DECIDING = (
    "_containers",
    "_large_integers",
    "_validation",
    "buffers",
    "catalog",
    "clocks",
    "coarse",
    "evaluation",
    "events",
    "indexes",
    "kernels",
    "label_classes",
    "leaderboards.bootstrap",
    "leaderboards.doubt",
    "leaderboards.steps",
    "leaderboards.tasks",
    "metric",
    "metrics",
    "option_text",
    "own_metrics",
    "pate",
    "prf",
    "threshold_rules",
    "threshold_search",
    "threshold_sweeps",
    "thresholds",
    "timelines",
    "training_thresholds",
)
# Modules that read, distribute, collect, test or show what others have computed. A result is kept under a digest of
# the arrays themselves, so not even reading can make it wrong.
NOT_DECIDING = (
    "__init__",
    "__main__",
    "_version",
    "_wording",
    "auditing",
    "checking",
    "cli",
    "collapse_rules",
    "compared_detectors",
    "comparison",
    "compat",
    "datasets",
    "demo",
    "detectors",
    "experiments",
    "explanations",
    "integrations",
    "intervals",
    "io",
    "leaderboards",
    "papers",
    "plots",
    "report",
    "results",
    "runner",
    "score_files",
    "signatures",
    "templates",
)


@cache
def fingerprint() -> str:
    """Hash the installed metrics: package and NumPy versions, and the source of every module that decides numbers.

    Examples
    --------
    >>> len(fingerprint())
    16
    """
    package = Path(__file__).parents[1]
    digest = hashlib.blake2b(f"{package_version()} numpy {np.__version__}".encode(), digest_size=8)
    for path in sorted(package.rglob("*.py")):
        if decides(".".join(path.relative_to(package).with_suffix("").parts)):
            digest.update(str(path.relative_to(package)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def decides(module: str) -> bool:
    """Tell whether a module, named as in ``pate.score``, decides numbers; refuse one that is on neither list.

    Examples
    --------
    >>> decides("pate.score"), decides("leaderboards.tasks"), decides("leaderboards.render")
    (True, True, False)
    """
    first = module.split(".")[0]
    if module in DECIDING or first in DECIDING:
        return True
    if first in NOT_DECIDING:
        return False
    raise LookupError(f"module {module!r} is on neither list of pateval.leaderboards.cache: does it decide numbers?")


def package_version() -> str:
    """Return the version of the installed package."""
    from importlib import metadata

    try:
        return metadata.version("pateval")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"


def labels_digest(labels: npt.NDArray[np.bool_]) -> str:
    """Hash labels alone, to see whether two files agree on the truth.

    Examples
    --------
    >>> labels_digest(np.array([True, False])) == labels_digest(np.array([True, False, False]))
    False
    """
    digest = hashlib.blake2b(str(labels.size).encode(), digest_size=16)
    digest.update(np.packbits(labels).tobytes())
    return digest.hexdigest()


def content_digest(labels: npt.NDArray[np.bool_], scores: npt.NDArray[np.floating[Any]]) -> str:
    """Hash what one detector's values on one series were computed from, to tell later whether a file still holds it.

    Examples
    --------
    >>> labels, scores = np.array([True, False]), np.array([0.9, 0.1])
    >>> content_digest(labels, scores) == content_digest(labels, scores.astype(np.float32).astype(np.float64))
    False
    """
    digest = hashlib.blake2b(str(labels.size).encode(), digest_size=16)
    digest.update(np.packbits(labels).tobytes())
    if scores.dtype.kind == "f":
        digest.update(np.ascontiguousarray(scores, dtype=np.float64).data)
    else:
        digest.update(f"integers {scores.tolist()}".encode())
    return digest.hexdigest()


def content_key(purpose: str, parameters: Mapping[str, Any], code: str, *parts: str | npt.NDArray[Any]) -> str:
    """Name a result by all that decides it.

    Parameters
    ----------
    purpose : str
        What kind of result it is.
    parameters : mapping
        Options that change numbers; plain values and tuples.
    code : str
        From :func:`fingerprint`.
    *parts : str or ndarray
        Content: arrays count with their type and length.

    Returns
    -------
    str
        Hexadecimal.
    """
    head = json.dumps([purpose, dict(parameters), code], sort_keys=True, default=list)
    digest = hashlib.blake2b(head.encode(), digest_size=20)
    for part in parts:
        if isinstance(part, str):
            digest.update(f"text {len(part)} {part}".encode())
        elif part.dtype.kind == "O":  # integers of more than 64 bits
            digest.update(f"objects {part.size} {part.tolist()}".encode())
        else:
            digest.update(f"array {part.dtype.str} {part.size} ".encode())
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def load(folder: str | None, key: str) -> dict[str, Any] | None:
    """Read an entry; None where there is none, or where it cannot be read."""
    if folder is None:
        return None
    try:
        record = json.loads(_path(folder, key).read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def store(folder: str | None, key: str, record: Mapping[str, Any]) -> str:
    """Write an entry whole, or not at all.

    Returns
    -------
    str
        Empty, or one line that says why it could not be written; the result itself is not lost by that.
    """
    if folder is None:
        return ""
    path = _path(folder, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(json.dumps(record), path)
    except OSError as error:
        # Names the folder and not the file, so that results that fail for the same reason share one line.
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        return f"{folder}: finished work could not be kept ({reason_of(cause)})"
    return ""


def has(folder: str | None, key: str) -> bool:
    """Tell whether an entry is there."""
    return folder is None or _path(folder, key).exists()


def prepare(folder: str | os.PathLike[str]) -> str:
    """Create the cache folder, and say early where that is not possible."""
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"cache must be the path of a folder; got {in_words(folder)}")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "no permission to write to the cache folder", str(path))
    return str(path.resolve())


def _path(folder: str, key: str) -> Path:
    return Path(folder) / key[:2] / f"{key}.json"
