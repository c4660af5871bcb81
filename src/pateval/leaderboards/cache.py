"""Nothing is lost and nothing is computed twice: finished results in a folder that any number of processes share.

A result is kept under a hash of all that decides its numbers: labels and scores, parameters, and how this package
evaluates; whatever changes gives another key, so an entry is never out of date. Every process appends to a file of its
own, a line for each result: the key, a checksum, and the values. What several lines say under one key counts together:
they hold the values of other metrics. Lines that are damaged, or were cut off when a process was killed, count as
absent.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pateval.io.atomic import reason_of, write_text
from pateval.time.timelines import Recording

EVALUATION = 3
"""Raised when the same arrays, metrics and options come to give other values though no metric's definition changed, and
when values are written otherwise."""
SECONDS = "seconds"
"""Beside the values of a record: how long they took."""
_SUFFIX = ".results"
_KEY, _CHECKSUM = 40, 16  # hexadecimal digits
_MOST_FILES = 64  # more than these are joined into one
_SECONDS_AT_REST = 3600  # after which nobody is taken to write to a file any more


@cache
def fingerprint() -> str:
    """What a value depends on beside inputs and metric: how this package evaluates, and the version of NumPy."""
    return hashlib.blake2b(f"evaluation {EVALUATION} numpy {np.__version__}".encode(), digest_size=8).hexdigest()


def labels_digest(recording: Recording) -> str:
    """Hash the labels, and which steps are ignored, to see whether two detectors are judged by the same truth."""
    digest = hashlib.blake2b(str(recording.labels.size).encode(), digest_size=16)
    digest.update(np.packbits(recording.labels).tobytes())
    if recording.ignore is not None:
        digest.update(np.packbits(recording.ignore).tobytes())
    return digest.hexdigest()


def clock_digest(recording: Recording) -> str:
    """Hash the times of the steps; empty where there are none."""
    if recording.clock is None:
        return ""
    digest = hashlib.blake2b(f"{recording.clock.unit} {recording.clock.times.dtype.str}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(recording.clock.times).data)
    return digest.hexdigest()


def content_digest(recording: Recording) -> str:
    """Hash what one detector's values on one series are computed from: labels, scores, times and ignored steps."""
    digest = hashlib.blake2b(labels_digest(recording).encode(), digest_size=16)
    if recording.scores is not None:
        digest.update(np.ascontiguousarray(recording.scores, dtype=np.float64).data)
    if recording.clock is not None:
        digest.update(f"{recording.clock.unit} {recording.clock.times.dtype.str}".encode())
        digest.update(np.ascontiguousarray(recording.clock.times).data)
    return digest.hexdigest()


def result_key(purpose: str, parameters: object, content: str, recording: Recording) -> str:
    """Name a result by all that decides it; ``content`` is a digest of what it is computed from."""
    given = recording.predictions is not None
    head = json.dumps([purpose, parameters, fingerprint(), content, given], sort_keys=True, default=list)
    digest = hashlib.blake2b(head.encode(), digest_size=_KEY // 2)
    if recording.of_others is not None:
        digest.update(np.packbits(recording.of_others).tobytes())
    return digest.hexdigest()


class ResultCache:
    """The folder of finished results, as one process sees it."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._places: dict[str, tuple[tuple[Path, int, int], ...]] = {}
        self._path = self._folder / f"{uuid.uuid4().hex}{_SUFFIX}"
        self._look()

    def load(self, key: str) -> dict[str, Any]:
        """Read what is kept under a key, on all its lines; nothing where there is none, or not what was written."""
        values: dict[str, Any] = {}
        for path, start, size in self._places.get(key, ()):
            try:
                with path.open("rb") as file:
                    file.seek(start)
                    record = json.loads(_content(file.read(size), key))
                seconds = values.get(SECONDS, 0.0) + float(record.get(SECONDS, 0.0))
                values |= {**record, SECONDS: seconds}
            except (OSError, ValueError, TypeError, AttributeError):
                continue
        return values

    def store(self, key: str, record: Mapping[str, Any]) -> str:
        """Append a result, or what a result lacked so far; where that fails, say why (the result is not lost by it)."""
        line = _line(key, record)
        try:
            start = _append(self._path, line)
        except OSError as error:
            return f"{self._folder}: finished work could not be kept ({reason_of(error)})"
        self._places[key] = *self._places.get(key, ()), (self._path, start, len(line))
        return ""

    def lines(self, files: Collection[Path]) -> Iterator[str]:
        """Yield what some files hold, a line for each key, less what is damaged."""
        for key, places in self._places.items():
            if any(path in files for path, _, _ in places) and (record := self.load(key)):
                yield _line(key, record).decode()

    def _look(self) -> None:
        for path in _files(self._folder):
            start = 0
            try:
                with path.open("rb") as file:
                    for line in file:
                        if line.endswith(b"\n") and line[_KEY : _KEY + 1] == b" ":
                            key = line[:_KEY].decode("ascii", "replace")
                            self._places[key] = *self._places.get(key, ()), (path, start, len(line))
                        start += len(line)
            except OSError:
                continue


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if path.is_file())


def _append(path: Path, line: bytes) -> int:
    """Write a line at the end of a file, and return where it begins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        start = file.tell()
        file.write(line)
    return start


def _line(key: str, record: Mapping[str, Any]) -> bytes:
    content = json.dumps(record).encode()
    return b"%s %s %s\n" % (key.encode(), _checksum(key, content), content)


def _checksum(key: str, content: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + content, digest_size=_CHECKSUM // 2).hexdigest().encode()


def _content(line: bytes, key: str) -> bytes:
    """The values of a line, or a ValueError where it is damaged or of another key."""
    written, checksum, content = line.rstrip(b"\n").split(b" ", 2)
    if written != key.encode() or checksum != _checksum(key, content):
        raise ValueError("the line is not what was written")
    return content


@lru_cache(maxsize=1)
def opened(folder: str) -> ResultCache:
    """The cache in a folder; a process keeps the last one it used."""
    return ResultCache(folder)


def prepare(folder: str) -> str:
    """Create the cache folder, say early where that is not possible, and join its files where they are many."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "no permission to write to the cache folder", str(path))
    opened.cache_clear()
    _join_files(path)
    return str(path.resolve())


def _join_files(folder: Path) -> None:
    """Put many files into one; those that another process may still write to stay as they are."""
    files = [path for path in _files(folder) if time.time() - path.stat().st_mtime > _SECONDS_AT_REST]
    if len(files) > _MOST_FILES:
        known = ResultCache(str(folder))
        write_text("".join(known.lines(files)), folder / f"{uuid.uuid4().hex}{_SUFFIX}")
        for file in files:
            file.unlink(missing_ok=True)
