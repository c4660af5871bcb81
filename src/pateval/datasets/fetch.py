"""Downloads: several mirrors, checked by sha256, resumed where they broke off. The standard library is enough for it.

What is not known is not pretended. Where a sha256 is known, anything else is refused. Where none is, the digest of the
first download is written to ``.downloads.json`` in the data set's folder, with the address and the day, and a later
download of other content is refused: trust on first use. `Fetched.verified` tells the two apart.
"""

from __future__ import annotations

import fnmatch
import functools
import gzip
import hashlib
import json
import os
import stat
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pateval.datasets import Dataset, Download, Mirror, Published
from pateval.io.atomic import write_text

Progress = Callable[[str, int, int | None], None]

RECORD = ".downloads.json"
_ATTEMPTS = 3
_LIMIT = 64 << 30  # bytes an archive may unpack to: no data set here comes near, a zip bomb would
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, NotImplementedError)


class FetchError(OSError):
    """A download failed; the message is one sentence naming the address and what to do."""


@dataclass(frozen=True)
class Fetched:
    """One file or archive that was fetched."""

    path: Path  # the file, or the folder an archive was unpacked to
    url: str  # where it came from
    digest: str  # sha256 of the file, or of the list of unpacked files with their sha256
    verified: bool  # the digest was known beforehand; otherwise it is trusted on first use


def _silent(*_: object) -> None:
    """Show nothing."""


def fetch(
    dataset: Dataset | Published,
    folder: str | os.PathLike[str],
    *,
    timeout: float = 30.0,
    tell: Callable[[str], None] = _silent,
    progress: Progress = _silent,
) -> list[Fetched]:
    """Download a data set into a folder, in its original layout; what is there and whole is not fetched again.

    ``timeout`` are the seconds without a byte after which a server is given up. ``tell`` gets one line at a time,
    licence and citation before the first byte; ``progress`` the address, the bytes so far, and those in all or None.
    Where every mirror fails there is a FetchError; what was received is kept, and the next call goes on from there.
    """
    if not dataset.downloads:
        raise ValueError(dataset.note or f"{dataset.name} cannot be downloaded")
    tell(f"{dataset.name}: {dataset.title}, from {dataset.origin}")
    tell(f"licence: {dataset.licence}")
    tell(f"please cite: {dataset.citation}")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    target = _Folder(place, timeout, tell, progress)
    return [target.fetch(download) for download in dataset.downloads]


class _Folder:
    """A folder to download into, and the record in it: what came from where, when, with which digest."""

    def __init__(self, folder: Path, timeout: float, tell: Callable[[str], None], progress: Progress) -> None:
        self._folder, self._timeout, self._tell, self._progress = folder, timeout, tell, progress
        self._record_path = folder / RECORD
        self._record: dict[str, dict[str, Any]] = {}
        if self._record_path.exists():
            try:
                self._record = json.loads(self._record_path.read_text())
            except ValueError as error:
                raise FetchError(f"{self._record_path}: not valid JSON; delete it to begin anew") from error

    def fetch(self, download: Download) -> Fetched:
        """Return what is here and whole, or else what the first mirror gives that can be reached."""
        at_hand = self._at_hand(download)
        if at_hand is not None:
            self._tell(f"already here: {at_hand.path}")
            return at_hand
        failures: list[FetchError] = []
        for mirror in download.mirrors:
            self._tell(f"fetching {mirror.url}")
            try:
                fetched = self._from_mirror(download, mirror)
            except FetchError as error:
                failures.append(error)
                self._tell(str(error))
                continue
            if not fetched.verified:
                recorded = f"recorded {fetched.digest[:16]}... for next time"
                self._tell(f"unverified: no sha256 is known for {mirror.url}; {recorded}")
            return fetched
        more = f" ({len(failures)} mirrors tried)" if len(failures) > 1 else ""
        raise FetchError(f"{failures[-1]}{more}") from failures[-1]

    def _at_hand(self, download: Download) -> Fetched | None:
        folder, known = self._folder, download.sha256
        path = folder / download.file
        if download.file and known is not None and path.is_file() and _file_digest(path) == known:
            return Fetched(path, download.mirrors[0].url, known, True)  # however it came here
        for mirror in download.mirrors:
            entry = self._record.get(mirror.url)
            if entry is None or not all((folder / name).is_file() for name in entry["files"]):
                continue
            digest = _file_digest(path) if download.file else _folder_digest(folder, entry["files"])
            if digest == entry["digest"] and known in (None, digest):
                return Fetched(path, mirror.url, digest, known is not None)
        return None

    def _from_mirror(self, download: Download, mirror: Mirror) -> Fetched:
        """Fetch from one place, check, unpack if it is an archive, and write down what came."""
        folder, url, known = self._folder, mirror.url, download.sha256
        # Everything is received under a hidden name of its own, so that neither mirrors nor broken downloads mix.
        part = folder / f".{hashlib.sha256(url.encode()).hexdigest()[:12]}-{url.rsplit('/', 1)[-1]}.part"
        _receive(url, part, self._timeout, functools.partial(self._progress, url))
        digest = _file_digest(part)
        if known is not None and digest != known:
            part.unlink()
            raise FetchError(f"{url}: the sha256 of what came is not the expected {known[:16]}...; nothing was kept")
        try:
            if download.file:
                self._require_same(url, digest)
                files = [download.file]
                os.replace(part, folder / download.file)
            else:
                files = unpack(part, folder, mirror.inside, mirror.only, functools.partial(self._require_same, url))
                digest = _folder_digest(folder, files)
        finally:
            part.unlink(missing_ok=True)
        day = time.strftime("%Y-%m-%d", time.gmtime())
        self._record[url] = {"digest": digest, "verified": known is not None, "fetched": day, "files": files}
        write_text(json.dumps(self._record, indent=1), self._record_path)
        return Fetched(folder / download.file, url, digest, known is not None)

    def _require_same(self, url: str, digest: str) -> None:
        """Refuse what differs from an earlier download from there."""
        entry = self._record.get(url)
        if entry is not None and entry["digest"] != digest:
            raise FetchError(
                f"{url}: the content is not that of {entry['fetched']}; delete {self._record_path} if the change is "
                f"wanted"
            )


def _receive(url: str, part: Path, timeout: float, progress: Callable[[int, int | None], None]) -> None:
    """Download into ``part``, going on from what is there; three attempts where the connection breaks."""
    if not url.startswith(("http://", "https://")):
        raise FetchError(f"{url}: only http and https addresses are fetched")
    for attempt in range(1, _ATTEMPTS + 1):
        have = _size(part)
        request = urllib.request.Request(url, headers={"User-Agent": "pateval"})  # noqa: S310 - scheme checked above
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - scheme checked above
                total = _append(answer, part, have, progress)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and have:
                # The part is no prefix of what the server has now, or already whole but never moved: begin anew.
                part.unlink()
                continue
            raise FetchError(f"{url}: the server answered {error.code} {error.reason}") from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise FetchError(
                    f"{url}: no data for {timeout:g} s after {_size(part)} bytes; run again to go on from there"
                ) from error
            if isinstance(error, urllib.error.URLError):
                raise FetchError(f"{url}: cannot be reached ({reason})") from error
            if attempt == _ATTEMPTS:
                raise FetchError(f"{url}: the connection broke ({error}); run again to go on from there") from error
            continue
        if total is None or _size(part) == total:
            return
        if _size(part) > total:
            part.unlink()
    raise FetchError(
        f"{url}: the download broke off at {_size(part)} bytes, three times; run again to go on from there"
    )


def _append(answer: Any, part: Path, have: int, progress: Callable[[int, int | None], None]) -> int | None:
    """Write the body behind what is there; return the length the whole should have, where the server says it."""
    resumed = answer.status == 206
    length = answer.headers.get("Content-Length")
    done = have if resumed else 0
    total = None if length is None else done + int(length)
    with part.open("ab" if resumed else "wb") as file:
        progress(done, total)
        while chunk := answer.read(1 << 18):
            file.write(chunk)
            done += len(chunk)
            progress(done, total)
    return total


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def unpack(
    archive: Path, folder: Path, inside: str = "", only: tuple[str, ...] = (), check: Callable[[str], None] = _silent
) -> list[str]:
    """Unpack a zip or tar archive: plain files only, never outside the folder, all or nothing.

    ``inside`` and ``only`` are those of `Mirror`. ``check`` gets the digest of what was unpacked before it is moved to
    its place, and may raise. Paths of the files, relative to ``folder``, come back sorted.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as scratch:
        files: list[str] = []
        size = 0
        try:
            for name, content in _members(archive):
                wanted = _wanted(name, inside, only, archive)
                if wanted is None:
                    continue
                if content is None:
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
        except _DAMAGED as error:
            raise FetchError(f"{archive.name}: the archive is damaged ({error}); nothing was unpacked") from error
        if not files:
            raise FetchError(f"{archive.name}: the archive holds nothing of {inside or 'what is wanted'!r}")
        files.sort()
        check(_folder_digest(Path(scratch), files))
        for name in files:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(scratch) / name, target)
    return files


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], Any] | None]]:
    """Yield each member's name and what opens it, None for what is no plain file; folders are passed over."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as pack:
            for entry in pack.infolist():
                if not entry.is_dir():
                    is_plain = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
                    yield entry.filename, functools.partial(pack.open, entry) if is_plain else None
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tape:
            for member in tape:
                if not member.isdir():
                    yield member.name, functools.partial(tape.extractfile, member) if member.isfile() else None
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


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder_digest(folder: Path, files: list[str]) -> str:
    """Return the sha256 of a list of files, each with its name and its own sha256."""
    lines = "".join(f"{name}\0{_file_digest(folder / name)}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
