"""Downloads against a local server that truncates, lies, stalls and is not there."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from pateval.datasets import Dataset, Download, Mirror
from pateval.datasets.fetch import RECORD, FetchError, fetch, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 40


class Server:
    """What to answer to each path, and what was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"/data.bin": CONTENT}
        self.cut: dict[str, int] = {}
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}{path}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        self.asked.append((handler.path, wanted))
        body = self.files.get(handler.path)
        if body is None:
            handler.send_error(404, "Not Found")
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(body) > 0 and wanted:
            handler.send_error(416)
            return
        handler.send_response(206 if wanted else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        rest = body[start:]
        if handler.path.startswith("/slow"):
            handler.wfile.write(rest[:100])
            handler.wfile.flush()
            time.sleep(1.5)
            return
        cut = self.cut.get(handler.path)
        handler.wfile.write(rest if cut is None else rest[:cut])


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()
    running.thread.join()


def dataset(*downloads: Download) -> Dataset:
    words = dict.fromkeys(("citation", "origin", "series", "features", "train", "test", "anomalies"), "x")
    return Dataset(
        name="TOY",
        title="Toy",
        licence="MIT",
        layout="ecg",
        files="x",
        folders=("TOY",),
        downloads=downloads,
        **words,
    )


def one(server: Server, path: str = "/data.bin", sha256: str | None = None, file: str = "data.bin") -> Dataset:
    return dataset(Download((Mirror(server.url(path)),), file, sha256))


SHA = hashlib.sha256(CONTENT).hexdigest()


def failure(*arguments: Any, **options: Any) -> str:
    with pytest.raises(FetchError) as caught:
        fetch(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_known_file_is_verified_and_not_fetched_twice(server: Server, tmp_path: Path) -> None:
    lines: list[str] = []
    seen: list[tuple[str, int, int | None]] = []
    (got,) = fetch(one(server, sha256=SHA), tmp_path, tell=lines.append, progress=lambda *each: seen.append(each))
    assert got.verified
    assert got.path.read_bytes() == CONTENT
    assert lines[:3] == ["TOY: Toy, from x", "licence: MIT", "please cite: x"]
    assert seen[-1][1:] == (len(CONTENT), len(CONTENT))
    assert len(server.asked) == 1
    (again,) = fetch(one(server, sha256=SHA), tmp_path)
    assert again == got
    assert len(server.asked) == 1
    assert visible(tmp_path) == ["data.bin"]


def test_the_licence_comes_before_the_first_byte(server: Server, tmp_path: Path) -> None:
    asked_when_told: list[int] = []

    def tell(line: str) -> None:
        if line.startswith("licence"):
            asked_when_told.append(len(server.asked))

    fetch(one(server), tmp_path, tell=tell)
    assert asked_when_told == [0]


def test_wrong_hash_keeps_nothing(server: Server, tmp_path: Path) -> None:
    message = failure(one(server, sha256="0" * 64), tmp_path)
    expected = "the sha256 of what came is not the expected 0000000000000000...; nothing was kept"
    assert message == f"{server.url('/data.bin')}: {expected}"
    assert list(tmp_path.iterdir()) == []


def test_404(server: Server, tmp_path: Path) -> None:
    assert failure(one(server, "/gone"), tmp_path) == f"{server.url('/gone')}: the server answered 404 Not Found"


def test_mirrors_are_tried_in_order(server: Server, tmp_path: Path) -> None:
    both = dataset(Download((Mirror(server.url("/gone")), Mirror(server.url("/data.bin"))), "data.bin", SHA))
    assert fetch(both, tmp_path)[0].url == server.url("/data.bin")
    none = dataset(Download((Mirror(server.url("/gone")), Mirror(server.url("/gone2"))), "other.bin"))
    assert failure(none, tmp_path).endswith("/gone2: the server answered 404 Not Found (2 mirrors tried)")


def test_truncated_answers_are_resumed(server: Server, tmp_path: Path) -> None:
    server.cut["/data.bin"] = 4000
    (got,) = fetch(one(server, sha256=SHA), tmp_path)
    assert got.path.read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [None, "bytes=4000-", "bytes=8000-"]


def test_what_was_received_is_kept_for_the_next_call(server: Server, tmp_path: Path) -> None:
    server.cut["/data.bin"] = 1000
    assert "broke off at 3000 bytes, three times; run again" in failure(one(server, sha256=SHA), tmp_path)
    assert visible(tmp_path) == []
    server.cut.clear()
    (got,) = fetch(one(server, sha256=SHA), tmp_path)
    assert got.path.read_bytes() == CONTENT
    assert server.asked[-1][1] == "bytes=3000-"
    assert not list(tmp_path.glob(".*part"))


def test_a_part_longer_than_the_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    server.cut["/data.bin"] = 2000
    failure(one(server, sha256=SHA), tmp_path)
    (part,) = tmp_path.glob(".*part")
    part.write_bytes(CONTENT + b"more")
    server.cut.clear()
    assert fetch(one(server, sha256=SHA), tmp_path)[0].path.read_bytes() == CONTENT


def test_a_server_that_stalls(server: Server, tmp_path: Path) -> None:
    server.files["/slow.bin"] = CONTENT
    message = failure(one(server, "/slow.bin"), tmp_path, timeout=0.3)
    assert message == f"{server.url('/slow.bin')}: no data for 0.3 s after 0 bytes; run again to go on from there" or (
        "no data for 0.3 s after 100 bytes" in message
    )


def test_nobody_listens(tmp_path: Path) -> None:
    nowhere = dataset(Download((Mirror("http://127.0.0.1:9/x"),), "x"))
    assert "cannot be reached" in failure(nowhere, tmp_path)
    local = dataset(Download((Mirror("file:///etc/passwd"),), "x"))
    assert "only http and https" in failure(local, tmp_path)


def test_unknown_content_is_trusted_on_first_use_only(server: Server, tmp_path: Path) -> None:
    lines: list[str] = []
    (got,) = fetch(one(server), tmp_path, tell=lines.append)
    assert not got.verified
    assert any(line.startswith("unverified: no sha256 is known") for line in lines)
    assert json.loads((tmp_path / RECORD).read_text())[got.url]["digest"] == SHA
    server.files["/data.bin"] = CONTENT + b"!"
    (tmp_path / "data.bin").unlink()
    assert "the content is not that of" in failure(one(server), tmp_path)
    assert visible(tmp_path) == []
    (tmp_path / RECORD).unlink()
    fetch(one(server), tmp_path)


def test_a_damaged_file_is_fetched_again(server: Server, tmp_path: Path) -> None:
    fetch(one(server), tmp_path)
    (tmp_path / "data.bin").write_bytes(b"broken")
    assert fetch(one(server), tmp_path)[0].path.read_bytes() == CONTENT
    (tmp_path / RECORD).write_text("{")
    assert "not valid JSON" in failure(one(server), tmp_path)


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as pack:
        for name, content in files.items():
            pack.writestr(name, content)
    return buffer.getvalue()


def test_archives_are_unpacked_and_remembered(server: Server, tmp_path: Path) -> None:
    server.files["/a.zip"] = packed({"repo-1/data/x/a.csv": b"1", "repo-1/data/b.txt": b"2", "repo-1/code.py": b"3"})
    toy = dataset(Download((Mirror(server.url("/a.zip"), "*/data", ("*.csv",)),)))
    (got,) = fetch(toy, tmp_path)
    assert (tmp_path / "x" / "a.csv").read_bytes() == b"1"
    assert visible(tmp_path) == ["x"]
    # The same content in other bytes is the same content.
    server.files["/a.zip"] = packed({"repo-1/data/x/a.csv": b"1"})
    (tmp_path / "x" / "a.csv").unlink()
    assert fetch(toy, tmp_path) == [got]
    server.files["/a.zip"] = packed({"repo-1/data/x/a.csv": b"other"})
    (tmp_path / "x" / "a.csv").unlink()
    assert "the content is not that of" in failure(toy, tmp_path)
    assert not (tmp_path / "x" / "a.csv").exists()


def test_a_truncated_archive(server: Server, tmp_path: Path) -> None:
    server.files["/a.zip"] = packed({"a.csv": b"1" * 1000})[:-30]
    toy = dataset(Download((Mirror(server.url("/a.zip")),)))
    assert "neither a zip nor a tar archive" in failure(toy, tmp_path)
    broken = bytearray(packed({"a.csv": b"1" * 1000}))
    broken[60] ^= 255
    server.files["/a.zip"] = bytes(broken)
    assert "the archive is damaged" in failure(toy, tmp_path)
    server.files["/a.zip"] = packed({"a.csv": b"1"})
    missing = dataset(Download((Mirror(server.url("/a.zip"), "nowhere"),)))
    assert "the archive holds nothing of 'nowhere'" in failure(missing, tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil", "C:\\evil"])
def test_zip_paths_that_lead_out(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(packed({"good.csv": b"1", name: b"2"}))
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(FetchError, match="leads out of the folder"):
        unpack(archive, target)
    assert list(target.iterdir()) == []


def test_links_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as pack:
        pack.writestr(entry, "/etc/passwd")
    with pytest.raises(FetchError, match="'link' is a link or a device"):
        unpack(tmp_path / "a.zip", target)
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
        with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tape:
            member = tarfile.TarInfo("link")
            member.type = kind
            member.linkname = "/etc/passwd"
            tape.addfile(member)
        with pytest.raises(FetchError, match="'link' is a link or a device"):
            unpack(tmp_path / "a.tar.gz", target)
    assert list(target.iterdir()) == []


def test_tar_archives(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.csv").write_text("1")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tape:
        tape.add(tmp_path / "in", "in")
    target = tmp_path / "target"
    target.mkdir()
    assert unpack(tmp_path / "a.tar.gz", target, inside="in") == ["deep/a.csv"]
    assert (target / "deep" / "a.csv").read_text() == "1"
    with tarfile.open(tmp_path / "b.tar", "w") as tape:
        member = tarfile.TarInfo("../evil")
        member.size = 1
        tape.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(FetchError, match="leads out"):
        unpack(tmp_path / "b.tar", target)


def test_what_cannot_be_downloaded_says_how_to_get_it(tmp_path: Path) -> None:
    from pateval.datasets import info

    with pytest.raises(ValueError, match="fill in the form"):
        fetch(info("SWaT")[0], tmp_path)
