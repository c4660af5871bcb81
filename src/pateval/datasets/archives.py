"""Zip and tar archives, unpacked without surprises: plain files only, never outside the folder, all or nothing."""

from __future__ import annotations

import fnmatch
import gzip
import hashlib
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LIMIT = 64 << 30  # bytes an archive may unpack to: no data set here comes near, a zip bomb would


class FetchError(OSError):
    """A download failed; the message is one sentence naming the address and what to do."""


def unpack(
    archive: Path,
    folder: Path,
    *,
    inside: str = "",
    only: tuple[str, ...] = (),
    check: Callable[[str], None] | None = None,
) -> list[str]:
    """Unpack a zip or tar archive, plain files only, never outside the folder.

    Parameters
    ----------
    archive : Path
        The archive.
    folder : Path
        Where its files go; they appear there together, after all were unpacked.
    inside : str
        The folder in the archive whose content is wanted; ``*`` stands for a folder of any name.
    only : tuple of str
        Patterns of paths inside that folder; all where empty.
    check : callable, optional
        Gets the digest of what was unpacked before it is moved into place; it may raise.

    Returns
    -------
    list of str
        Paths of the files, relative to ``folder``, sorted.

    Raises
    ------
    FetchError
        If the archive is damaged, holds links, leads out of the folder, is too large, or lacks what is wanted.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as scratch:
        files: list[str] = []
        size = 0
        try:
            for name, is_plain, content in _members(archive):
                wanted = _wanted(name, inside, only, archive)
                if wanted is None:
                    continue
                if not is_plain:
                    raise FetchError(f"{archive.name}: {name!r} is a link or a device; nothing was unpacked")
                target = Path(scratch) / wanted
                target.parent.mkdir(parents=True, exist_ok=True)
                with content() as source, target.open("wb") as file:
                    while chunk := source.read(1 << 20):
                        size += len(chunk)
                        if size > _LIMIT:
                            raise FetchError(f"{archive.name}: unpacks to more than {_LIMIT >> 30} GiB")
                        file.write(chunk)
                files.append(wanted)
        except (
            zipfile.BadZipFile,
            tarfile.TarError,
            zlib.error,
            gzip.BadGzipFile,
            EOFError,
            NotImplementedError,
        ) as error:
            raise FetchError(f"{archive.name}: the archive is damaged ({error}); nothing was unpacked") from error
        if not files:
            raise FetchError(f"{archive.name}: the archive holds nothing of {inside or 'what is wanted'!r}")
        files.sort()
        if check is not None:
            check(folder_digest(Path(scratch), files))
        for name in files:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(scratch) / name, target)
    return files


def _members(archive: Path) -> Iterator[tuple[str, bool, Callable[[], IO[bytes]]]]:
    """Yield name, whether it is a plain file, and how to open it; folders are passed over."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as pack:
            for entry in pack.infolist():
                if not entry.is_dir():
                    mode = entry.external_attr >> 16
                    plain = stat.S_IFMT(mode) in (0, stat.S_IFREG)
                    yield entry.filename, plain, lambda entry=entry, pack=pack: pack.open(entry)  # type: ignore[misc]  # bound
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tape:
            for member in tape:
                if not member.isdir():
                    yield (
                        member.name,
                        member.isfile(),
                        lambda member=member, tape=tape: cast("IO[bytes]", tape.extractfile(member)),  # type: ignore[misc]  # bound
                    )
    else:
        raise FetchError(f"{archive.name}: neither a zip nor a tar archive")


def _wanted(name: str, inside: str, only: tuple[str, ...], archive: Path) -> str | None:
    """Return the path of a member below the folder wanted, None for others; refuse paths that lead out."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0]):
        raise FetchError(f"{archive.name}: {name!r} leads out of the folder; nothing was unpacked")
    prefix = PurePosixPath(inside).parts
    head, rest = path.parts[: len(prefix)], path.parts[len(prefix) :]
    if not rest or not all(fnmatch.fnmatchcase(part, pattern) for part, pattern in zip(head, prefix, strict=False)):
        return None
    if any(part.startswith((".", "__MACOSX")) for part in rest):
        return None
    below = "/".join(rest)
    return below if not only or any(fnmatch.fnmatchcase(below, pattern) for pattern in only) else None


def file_digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path, files: list[str]) -> str:
    """Return the sha256 of a list of files, each with its name and its own sha256."""
    lines = "".join(f"{name}\0{file_digest(folder / name)}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
