"""Nothing is lost and nothing is computed twice: each finished result in a small file of its own.

A file's name is a hash of all that decides its numbers: labels and scores, parameters, and the metrics' definitions.
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

from pateval.io.atomic import reason_of, write_text
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

EVALUATION = 1
"""Raised when the same arrays, metrics and options come to give other values, though no metric's definition changed."""


@cache
def fingerprint() -> str:
    """What a value depends on beside its inputs and its metric: how this package evaluates, and the version of NumPy.

    Examples
    --------
    >>> len(fingerprint())
    16
    """
    return hashlib.blake2b(f"evaluation {EVALUATION} numpy {np.__version__}".encode(), digest_size=8).hexdigest()


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
