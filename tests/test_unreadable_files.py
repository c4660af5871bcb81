"""Paths that give no table: absent, empty, forbidden, a link to nothing, a folder, a table without rows."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pateval.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

READ = (
    "text tables (.csv, .tsv, .txt), Parquet (.parquet, .pq), Arrow (.feather, .arrow), JSON (.jsonl, .ndjson, .json) "
    "and NumPy (.npz, .npy) are read"
)
NO_ROWS = "there are no rows; at least one time step is needed"
KINDS = ("csv", "tsv", "txt", "parquet", "pq", "feather", "arrow", "jsonl", "ndjson", "json", "npz", "npy")
COMPRESSED = ("csv.gz", "tsv.gz", "txt.gz", "jsonl.gz", "json.gz", "csv.zst", "jsonl.zst")


@pytest.fixture
def refused(capsys: Any) -> Callable[..., str]:
    """What the command says of a path that it does not read."""

    def call(*arguments: object) -> str:
        with pytest.raises(SystemExit) as caught:
            main(["score", *map(str, arguments)])
        shown = capsys.readouterr()
        assert (caught.value.code, shown.out) == (2, "")
        return str(shown.err)

    return call


def test_nothing_there(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "no.csv"
    assert refused(path) == f"pateval: {path}: there is no such file or folder\n"
    assert refused(tmp_path / "*.csv") == f"pateval: {tmp_path / '*.csv'}: no file matches this pattern\n"


def test_a_link_to_nothing(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "latest.csv"
    path.symlink_to(tmp_path / "gone.csv")
    assert refused(path) == (
        f"pateval: {path}: it is a link to a file that is not there; make the link anew, or name the file itself\n"
    )
    itself = tmp_path / "itself.csv"
    itself.symlink_to(itself)
    assert refused(itself) == (
        f"pateval: {itself}: it is a link to a file that is not there; make the link anew, or name the file itself\n"
    )
    # A link to a file is that file.
    (tmp_path / "gone.csv").write_text("label,score\n")
    assert refused(path) == f"pateval: {path}: {NO_ROWS}\n"


def test_a_folder_in_place_of_a_file(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "scores.csv"
    path.mkdir()
    assert refused(path) == f"pateval: {path}: the folder holds no data files; {READ}\n"
    (path / "series=a").mkdir()
    assert refused(path) == f"pateval: {path}: the folder holds no data files; {READ}\n"


def test_files_of_no_known_kind(tmp_path: Path, refused: Callable[..., str]) -> None:
    for name, what in (("noext", "the file has no suffix"), ("a.doc", "the suffix '.doc' is not known")):
        (tmp_path / name).write_text("x")
        assert refused(tmp_path / name) == f"pateval: {tmp_path / name}: {what}; {READ}\n"
    spreadsheet = "spreadsheets are not read; save the sheet as CSV"
    pickle = "pickles can run code and are never read; write the table as Parquet, with frame.to_parquet"
    for suffix, what in {
        "xlsx": f"{spreadsheet} UTF-8",
        "xls": f"{spreadsheet} UTF-8",
        "ods": spreadsheet,
        "pkl": pickle,
        "pickle": pickle,
        "h5": "HDF5 is not read; write the table as Parquet",
        "hdf5": "HDF5 is not read; write the table as Parquet",
        "mat": "MATLAB files are not read; write the arrays as CSV, or as NPZ with numpy.savez",
    }.items():
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b"x")
        assert refused(path) == f"pateval: {path}: {what}\n"


@pytest.mark.parametrize("kind", [*KINDS, *COMPRESSED])
def test_empty_files(tmp_path: Path, kind: str, refused: Callable[..., str]) -> None:
    path = tmp_path / f"scores.{kind}"
    path.touch()
    assert refused(path) == f"pateval: {path}: the file is empty; write or fetch it again\n"


def saved(write: Callable[[Any], object]) -> bytes:
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


HEADER = pa.table({"label": pa.array([], pa.int64()), "score": pa.array([], pa.float64())})
WITHOUT_ROWS: dict[str, tuple[bytes, str]] = {
    "header.csv": (b"label,score\n", NO_ROWS),
    "header.tsv": (b"label\tscore\n", NO_ROWS),
    "header.txt": (b"label score\n", NO_ROWS),
    "blank.csv": (b"\n \n\n", NO_ROWS),
    "comments.csv": (b"# nothing\n# else\n", NO_ROWS),
    "mark.csv": (b"\xef\xbb\xbf", NO_ROWS),
    "packed.csv.gz": (gzip.compress(b""), NO_ROWS),
    "header.csv.gz": (gzip.compress(b"label,score\n"), NO_ROWS),
    "a.parquet": (saved(lambda sink: pq.write_table(HEADER, sink)), NO_ROWS),
    "a.feather": (saved(lambda sink: pa.feather.write_feather(HEADER, sink)), NO_ROWS),
    "blank.jsonl": (b"\n\n", NO_ROWS),
    "list.json": (b"[]", NO_ROWS),
    "object.json": (b"{}", NO_ROWS),
    "columns.json": (b'{"label": [], "score": []}', NO_ROWS),
    "a.npz": (saved(lambda sink: np.savez(sink, label=np.empty(0), score=np.empty(0))), NO_ROWS),
    "none.npz": (
        saved(np.savez),
        "the archive holds no arrays; save them by name, with numpy.savez(path, label=..., score=...)",
    ),
    "a.npy": (saved(lambda sink: np.save(sink, np.empty((0, 2)))), NO_ROWS),
}


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_tables_without_rows(tmp_path: Path, name: str, refused: Callable[..., str]) -> None:
    data, message = WITHOUT_ROWS[name]
    path = tmp_path / name
    path.write_bytes(data)
    assert refused(path) == f"pateval: {path}: {message}\n"


def test_standard_input_that_says_nothing() -> None:
    done = subprocess.run([sys.executable, "-m", "pateval", "score", "-"], input="", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pateval: standard input: nothing came in; give a file, or pipe one in\n"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; those of pytest are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions are a POSIX matter")
@pytest.mark.parametrize("name", ["secret.csv", "secret.parquet", "locked"])
def test_no_permission(open_folder: Path, tmp_path: Path, name: str, refused: Callable[..., str]) -> None:
    path = open_folder / name
    if name == "locked":
        path.mkdir()
    elif name.endswith(".csv"):
        path.write_text("label,score\n0,0.1\n1,0.9\n")
    else:
        pq.write_table(pa.table({"label": [0, 1], "score": [0.1, 0.9]}), path)
    refused(tmp_path / "no.csv")  # so that all is imported that another user may not read
    path.chmod(0)
    is_root = os.geteuid() == 0  # who may read everything
    try:
        if is_root:
            os.seteuid(65534)
        message = refused(path)
    finally:
        if is_root:
            os.seteuid(0)
        path.chmod(0o755)
    assert message == f"pateval: {path}: no permission to read it; change its permissions, or copy it as its owner\n"


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions are a POSIX matter")
def test_no_permission_to_write(open_folder: Path, capsys: Any) -> None:
    path, folder = open_folder / "scores.csv", open_folder / "closed"
    path.write_text("label,score\n0,0.1\n1,0.9\n0,0.2\n")
    path.chmod(0o644)
    folder.mkdir()
    command = ["score", str(path), "--metrics", "auc_roc", "--chance", "0"]
    with pytest.raises(SystemExit):
        main(command)  # so that all is imported that another user may not read
    table = capsys.readouterr().out
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.seteuid(65534)
        with pytest.raises(SystemExit) as caught:
            main([*command, "-o", str(folder / "result.json")])
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)
    shown = capsys.readouterr()
    assert (caught.value.code, shown.out, list(folder.iterdir())) == (2, table, [])
    assert shown.err.splitlines()[-1] == (
        f"pateval: {folder / 'result.json'}: the file could not be written (Permission denied); ask for the right "
        "to write there, or write to another place"
    )
