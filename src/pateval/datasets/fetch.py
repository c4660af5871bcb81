"""Downloads: several mirrors, checked by sha256, resumed where they broke off. The standard library is enough for it.

What is not known is not pretended. Where a sha256 is known, anything else is refused. Where none is, the digest of the
first download is written to ``.downloads.json`` in the data set's folder, with the address and the day, and a later
download of other content is refused: trust on first use. `Fetched.verified` tells the two apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pateval.datasets.archives import FetchError, file_digest, folder_digest, unpack
from pateval.io.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pateval.datasets.sources import Dataset, Download, Mirror

RECORD = ".downloads.json"


def _silent(*_: object) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Fetched:
    """One file or archive that was fetched.

    Attributes
    ----------
    path : Path
        The file, or the folder an archive was unpacked to.
    url : str
        Where it came from.
    digest : str
        sha256 of the file, or of the list of unpacked files with their sha256.
    verified : bool
        The digest was known beforehand; otherwise it is trusted on first use.
    """

    path: Path
    url: str
    digest: str
    verified: bool


def fetch(
    dataset: Dataset,
    folder: str | os.PathLike[str],
    *,
    timeout: float = 30.0,
    tell: Callable[[str], None] = _silent,
    progress: Callable[[str, int, int | None], None] = _silent,
) -> list[Fetched]:
    """Download a data set into a folder, in its original layout.

    Parameters
    ----------
    dataset : Dataset
        From `pateval.datasets.info`.
    folder : path
        Where its files go; made if need be. What is there and whole is not fetched again.
    timeout : float
        Seconds without a byte after which a server is given up.
    tell : callable
        Gets one line at a time: licence and citation before the first byte, then what happens.
    progress : callable
        Gets (address, bytes so far, bytes in all or None).

    Returns
    -------
    list of Fetched

    Raises
    ------
    FetchError
        If every mirror fails; what was received is kept, and the next call goes on from there.
    ValueError
        If the data set cannot be downloaded; the message says how to get it.
    """
    if not dataset.downloads:
        raise ValueError(dataset.note or f"{dataset.name} cannot be downloaded")
    tell(f"{dataset.name}: {dataset.title}, from {dataset.origin}")
    tell(f"licence: {dataset.licence}")
    tell(f"please cite: {dataset.citation}")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    return [_fetch_one(download, place, timeout, tell, progress) for download in dataset.downloads]


def _fetch_one(
    download: Download,
    folder: Path,
    timeout: float,
    tell: Callable[[str], None],
    progress: Callable[[str, int, int | None], None],
) -> Fetched:
    record = _Record(folder)
    at_hand = record.whole(download, folder)
    if at_hand is not None:
        tell(f"already here: {at_hand.path}")
        return at_hand
    failures: list[FetchError] = []
    for mirror in download.mirrors:
        tell(f"fetching {mirror.url}")
        try:
            fetched = _from_mirror(download, mirror, folder, timeout, record, progress)
        except FetchError as error:
            failures.append(error)
            tell(str(error))
            continue
        if not fetched.verified:
            tell(f"unverified: no sha256 is known for {mirror.url}; recorded {fetched.digest[:16]}... for next time")
        return fetched
    more = f" ({len(failures)} mirrors tried)" if len(failures) > 1 else ""
    raise FetchError(f"{failures[-1]}{more}") from failures[-1]


def _from_mirror(
    download: Download,
    mirror: Mirror,
    folder: Path,
    timeout: float,
    record: _Record,
    progress: Callable[[str, int, int | None], None],
) -> Fetched:
    """Fetch from one place, check, unpack if it is an archive, and write down what came."""
    # Everything is received under a hidden name of its own, so that neither mirrors nor broken downloads mix.
    name = f".{hashlib.sha256(mirror.url.encode()).hexdigest()[:12]}-{mirror.url.rsplit('/', 1)[-1]}"
    path, part = folder / name, folder / f"{name}.part"
    known = download.sha256
    _receive(mirror.url, part, timeout, progress)
    if known is not None and file_digest(part) != known:
        part.unlink()
        raise FetchError(f"{mirror.url}: the sha256 of what came is not the expected {known[:16]}...; nothing was kept")
    os.replace(part, path)
    try:
        if download.file:
            digest = file_digest(path)
            record.check(mirror.url, digest)
            files = [download.file]
            os.replace(path, folder / download.file)
        else:
            files = unpack(path, folder, inside=mirror.inside, only=mirror.only, check=record.checker(mirror.url))
            digest = folder_digest(folder, files)
    finally:
        path.unlink(missing_ok=True)
    record.add(mirror.url, digest, files, known is not None)
    return Fetched(folder / download.file if download.file else folder, mirror.url, digest, known is not None)


def _receive(url: str, part: Path, timeout: float, progress: Callable[[str, int, int | None], None]) -> None:
    """Download into ``part``, going on from what is there; three attempts where the connection breaks."""
    if not url.startswith(("http://", "https://")):
        raise FetchError(f"{url}: only http and https addresses are fetched")
    for attempt in range(3):
        have = part.stat().st_size if part.exists() else 0
        request = urllib.request.Request(url, headers={"User-Agent": "pateval"})  # noqa: S310 - scheme checked above
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - scheme checked above
                total = _append(answer, part, have, url, progress)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and have:
                # The part is no prefix of what the server has now, or already whole but never moved: begin anew.
                part.unlink()
                continue
            raise FetchError(f"{url}: the server answered {error.code} {error.reason}") from error
        except (TimeoutError, socket.timeout) as error:  # noqa: UP041 - urllib raises either
            raise _stalled(url, part, timeout) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise _stalled(url, part, timeout) from error
            raise FetchError(f"{url}: cannot be reached ({error.reason})") from error
        except OSError as error:
            if attempt == 2:
                raise FetchError(f"{url}: the connection broke ({error}); run again to go on from there") from error
            continue
        received = part.stat().st_size
        if total is None or received == total:
            return
        if received > total:
            part.unlink()
    received = part.stat().st_size if part.exists() else 0
    raise FetchError(f"{url}: the download broke off at {received} bytes, three times; run again to go on from there")


def _append(
    answer: Any, part: Path, have: int, url: str, progress: Callable[[str, int, int | None], None]
) -> int | None:
    """Write the body behind what is there; return the length the whole should have, where the server says it."""
    resumed = answer.status == 206
    length = answer.headers.get("Content-Length")
    done = have if resumed else 0
    total = None if length is None else done + int(length)
    with part.open("ab" if resumed else "wb") as file:
        progress(url, done, total)
        while chunk := answer.read(1 << 18):
            file.write(chunk)
            done += len(chunk)
            progress(url, done, total)
    return total


def _stalled(url: str, part: Path, timeout: float) -> FetchError:
    size = part.stat().st_size if part.exists() else 0
    return FetchError(f"{url}: no data for {timeout:g} s after {size} bytes; run again to go on from there")


class _Record:
    """What was downloaded into a folder, from where, when, with which digest."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECORD
        self.entries: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            try:
                self.entries = json.loads(self.path.read_text())
            except ValueError as error:
                raise FetchError(f"{self.path}: not valid JSON; delete it to begin anew") from error

    def whole(self, download: Download, folder: Path) -> Fetched | None:
        """Return what is already here and whole."""
        for mirror in download.mirrors:
            entry = self.entries.get(mirror.url)
            if entry is None or not all((folder / name).is_file() for name in entry["files"]):
                continue
            digest = file_digest(folder / download.file) if download.file else folder_digest(folder, entry["files"])
            if digest == entry["digest"] and download.sha256 in (None, digest):
                path = folder / download.file if download.file else folder
                return Fetched(path, mirror.url, digest, download.sha256 is not None)
        return None

    def check(self, url: str, digest: str) -> None:
        """Raise FetchError where other content came the first time."""
        entry = self.entries.get(url)
        if entry is not None and entry["digest"] != digest:
            raise FetchError(
                f"{url}: the content is not that of {entry['fetched']}; delete {self.path} if the change is wanted"
            )

    def checker(self, url: str) -> Callable[[str], None]:
        """Bind `check` to an address."""
        return lambda digest: self.check(url, digest)

    def add(self, url: str, digest: str, files: list[str], verified: bool) -> None:
        """Write down what came, atomically."""
        self.entries[url] = {
            "digest": digest,
            "verified": verified,
            "fetched": time.strftime("%Y-%m-%d", time.gmtime()),
            "files": files,
        }
        write_text(json.dumps(self.entries, indent=1), self.path)
