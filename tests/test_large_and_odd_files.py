"""Files that grow when they are read, that are odd but readable, and that would lose rows without a word."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from pateval.io import Reading, TableError, find_layout, open_table, scored_series
from pateval.io.content import damaged
from support.command_line import console
from support.messages import raises_exactly


def grown(size):
    """A table of many equal rows, compressed."""
    row = b"0,0.5\n"
    return gzip.compress(b"label,score\n1,0.5\n" + row * (size // len(row)), compresslevel=1)


def test_a_compressed_file_that_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "1MB")
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(grown(3 * 10**6))
    size = path.stat().st_size
    message = (
        f"{path}: its {size:,} bytes grow to more than 1,000,000 when decompressed; decompress the file, or raise the "
        "limit by PATEVAL_MOST_UNPACKED=1GB in the environment"
    )
    with raises_exactly(TableError, message):
        open_table(path)
    assert console("score", path, status=2).err == f"pateval: {message}\n"
    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "20 mb")
    assert open_table(path).rows > 400_000
    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "lots")
    with raises_exactly(TableError, "PATEVAL_MOST_UNPACKED must be a size such as 500MB or 8GB; got 'lots'"):
        open_table(path)


@pytest.mark.parametrize("kind", ["zst", "npz"])
def test_other_compressed_files(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "1MB")
    path = tmp_path / f"bomb{'.csv' if kind == 'zst' else ''}.{kind}"
    if kind == "npz":
        np.savez_compressed(path, label=np.zeros(200_000), score=np.zeros(200_000))
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(b"label,score\n" + b"0,0.5\n" * 300_000)
    with raises_exactly(
        TableError,
        f"{path}: its {path.stat().st_size:,} bytes grow to more than 1,000,000 when decompressed; decompress the "
        "file, or raise the limit by PATEVAL_MOST_UNPACKED=1GB in the environment",
    ):
        open_table(path)


def test_without_the_variable_the_limit_is_four_hundred_megabytes(tmp_path, monkeypatch):
    from pateval.io import content

    monkeypatch.delenv("PATEVAL_MOST_UNPACKED", raising=False)
    assert content.most_unpacked() == 4 * 10**8


def test_a_quote_that_is_never_closed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('label,score,note\n0,1,"5 pipe\n1,2,x\n0,3,y\n')
    with raises_exactly(
        TableError,
        f"{path}: the quote that opens in row 1 is never closed, and takes in the rows after it; close it, or take it "
        "out",
    ):
        open_table(path)
    path.write_text('label,score,note\n0,1,5" pipe\n1,2,"a\nb"\n')
    assert open_table(path).rows == 2


def test_an_archive_that_uses_what_is_not_read(tmp_path):
    packed = io.BytesIO()
    np.savez(packed, label=[0, 1], score=[0.1, 0.2])
    data = bytearray(packed.getvalue())
    place = data.index(b"PK\x01\x02")
    for at in (8, place + 10):  # the method of compression, in both of its places
        data[at : at + 2] = (97).to_bytes(2, "little")
    path = tmp_path / "a.npz"
    path.write_bytes(bytes(data))
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value) == (
        f"{path}: the NPZ file uses something that is not read here (That compression method is not supported); write "
        "it without"
    )


def test_a_file_that_does_not_fit():
    assert str(damaged("a.npz", "npz", MemoryError("Unable to allocate 9 TiB"))) == (
        "a.npz: the NPZ file does not fit into memory; write it in parts, or as Parquet"
    )


def test_times_of_thirty_digits(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"time,label,score\n{'1' * 30},0,1\n{'1' * 29}2,1,2\n")
    source = open_table(path)
    assert find_layout(source, Reading()).notes == (
        f"{path}: guessed label 'label', score 'score'",
        f"{path}: column 'time' is not used as time: '{'1' * 30}' is more than 64 bits can count",
    )
    with raises_exactly(
        TableError,
        f"{path}: column 'time': the value in row 1, '{'1' * 30}', is more than 64 bits can count; correct it, or read "
        "without times by --time none",
    ):
        next(iter(scored_series(source, find_layout(source, Reading(time="time"))))).checked()


def test_zip_archives_are_still_told_apart(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("label.npy", b"nonsense")
    with pytest.raises(TableError, match=r"not a readable NPZ file|is no array"):
        open_table(tmp_path / "a.npz")
