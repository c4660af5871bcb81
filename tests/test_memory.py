"""No file of less than 100 MB takes 4 GB: it is read in less, or refused in one sentence before memory is taken."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

MOST = 4e9  # bytes
REFUSED = re.compile(
    r"pateval: \S+: its [\d,]+ bytes (hold ([\d,]+ values|text and numbers) that take up [\d,]+ bytes in memory, more "
    r"than [\d,]+; read it in parts|grow to more than [\d,]+ when decompressed; decompress the file), or raise the "
    r"limit by PATEVAL_MOST_UNPACKED=\d+GB in the environment"
)


def repeated(header: bytes, rows: bytes, size: int) -> bytes:
    return header + rows * ((size - len(header)) // len(rows))


def write_gzip(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, 1))


def write_constant_parquet(path: Path, *, with_series: bool = False) -> None:
    """A billion rows in some ten megabytes."""
    rows = 10**7
    columns = {"label": np.zeros(rows, np.int8), "score": np.zeros(rows)}
    if with_series:
        columns["series"] = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), ["a"])
    table = pa.table(columns)
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(100):
            writer.write_table(table)


def write_wide_parquet(path: Path) -> None:
    pq.write_table(
        pa.table({"label": np.zeros(10**6, np.int8)} | {f"s{d}": np.zeros(10**6) for d in range(1000)}), path
    )


def write_long_text(path: Path) -> None:
    text = pa.array(["x" * 10**9, "y"])
    pq.write_table(pa.table({"series": text, "label": [0, 1], "score": [0.1, 0.2]}), path, use_dictionary=False)


def write_arrow(path: Path, **columns: pa.Array) -> None:
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def run_ends(value: object) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array([10**9], pa.int32()), pa.array([value]))


ZEROS = np.zeros(3 * 10**8)
BYTES = np.zeros(5 * 10**7, np.int8)
TEXTS = b"".join(b"%d,0.%04d,sensor %d\n" % (row % 2, row % 701, row) for row in range(10**4))
NUMBERS = b"0,1\n1,2\n" * 1000
WIDE = b"label," + b",".join(b"s%d" % place for place in range(10**5)) + b"\n"
# How each is written, and whether it is refused.
WORST = {
    "long.csv": (lambda path: path.write_bytes(repeated(b"label,score\n", NUMBERS, 98 * 10**6)), True),
    "usual.csv": (
        lambda path: path.write_bytes(repeated(b"label,score\n", b"0,0.1234\n1,0.5678\n" * 1000, 98 * 10**6)),
        False,
    ),
    "text.csv": (lambda path: path.write_bytes(repeated(b"label,score,a\n", TEXTS, 98 * 10**6)), False),
    "long.csv.gz": (lambda path: write_gzip(path, repeated(b"label,score\n", NUMBERS, 399 * 10**6)), True),
    "column.csv.gz": (lambda path: write_gzip(path, repeated(b"label\n", b"0\n1\n" * 1000, 399 * 10**6)), True),
    "comments.csv.gz": (lambda path: write_gzip(path, repeated(b"label\n", b"#\n" * 1000, 399 * 10**6)), True),
    "wide.csv.gz": (lambda path: write_gzip(path, WIDE + (b"0" + b",1" * 10**5 + b"\n") * 1500), True),
    "beyond.csv.gz": (lambda path: write_gzip(path, b"label,score\n" + b"0,1\n" * 10**8 + b"0"), True),
    "constant.parquet": (write_constant_parquet, True),
    "series.parquet": (lambda path: write_constant_parquet(path, with_series=True), True),
    "wide.parquet": (write_wide_parquet, True),
    "text.parquet": (write_long_text, True),
    "objects.json": (lambda path: path.write_bytes(b"[" + b'{"label":0},' * 8_100_000 + b'{"label":1}]'), False),
    "small.json": (lambda path: path.write_bytes(b"[" + b'{"a":0},' * 12_200_000 + b'{"a":1}]'), False),
    "lists.json": (lambda path: path.write_bytes(b"[" + b"[]," * 32_000_000 + b"[]]"), True),
    "columns.json": (
        lambda path: path.write_bytes(
            b'{"label":[' + b"0," * 24 * 10**6 + b'1],"score":[' + b"1," * 24 * 10**6 + b"1]}"
        ),
        True,
    ),
    "lines.jsonl": (lambda path: path.write_bytes(b'{"label":0,"score":1}\n' * 4_400_000), False),
    "zeros.npz": (lambda path: np.savez_compressed(path, label=ZEROS[: 10**7] > 0, score=ZEROS[: 4 * 10**7]), True),
    "bytes.npz": (lambda path: np.savez_compressed(path, label=ZEROS > 0, score=ZEROS[: 10**6]), True),
    "beyond.npz": (lambda path: np.savez_compressed(path, label=ZEROS > 0, score=ZEROS), True),
    "matrix.npy": (lambda path: np.save(path, np.zeros((48 * 10**6, 2), np.int8)), True),
    "nulls.arrow": (lambda path: write_arrow(path, label=pa.nulls(10**9), score=pa.nulls(10**9)), True),
    "run_ends.arrow": (lambda path: write_arrow(path, label=run_ends(0), score=run_ends(0.5)), True),
    "dictionary.feather": (
        lambda path: pyarrow.feather.write_feather(
            pa.table({"label": BYTES, "series": pa.DictionaryArray.from_arrays(BYTES, ["abc" * 100]), "score": BYTES}),
            path,
        ),
        True,
    ),
    "packed.feather": (
        lambda path: pyarrow.feather.write_feather(
            pa.table({"label": [0, 1], "score": [0.1, 0.2], "series": ["x" * 10**9, "y"]}), path, compression="zstd"
        ),
        True,
    ),
}


# A process between, since what a system calls the most of a child includes what its parent held when it began.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "pateval", *sys.argv[1:]], capture_output=True, text=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, (done.stderr or done.stdout).rstrip().splitlines()[-1])
"""


def peak_of(folder: Path, *command: str) -> tuple[float, str]:
    """Bytes that a command of pateval takes at most, and the last line it prints."""
    whole = [sys.executable, "-c", MEASURED, *command]
    said = subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=True).stdout
    most, _, line = said.rstrip().partition(" ")
    return int(most) * (1 if sys.platform == "darwin" else 1024), line


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not say what a process took")
@pytest.mark.parametrize("name", WORST)
def test_no_file_fills_the_memory(tmp_path, name):
    write, is_refused = WORST[name]
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 100e6
    bytes_taken, line = peak_of(tmp_path, "score", name, "--metrics", "auc_roc")
    (tmp_path / name).unlink()
    assert bytes_taken < MOST
    assert bool(REFUSED.fullmatch(line)) == is_refused, line


@pytest.mark.slow
def test_default_metrics_of_a_large_file(tmp_path):
    generator = np.random.default_rng(0)
    labels, scores = np.arange(8 * 10**6) % 1000 < 20, generator.random(8 * 10**6).round(6)
    rows = "".join(f"{label:d},{score}\n" for label, score in zip(labels.tolist(), scores.tolist(), strict=True))
    (tmp_path / "t.csv").write_text("label,score\n" + rows)
    assert 70e6 < (tmp_path / "t.csv").stat().st_size < 100e6
    assert peak_of(tmp_path, "score", "t.csv")[0] < MOST


def test_the_limit_is_a_sentence_and_can_be_raised(tmp_path, monkeypatch):
    from pateval.io import ParquetFiles, TableError, open_table, read_table
    from pateval.io.plan import make_plan
    from pateval.io.units import read_jobs

    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "1MB")
    zeros = np.zeros(10**6)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"label": zeros, "score": zeros}), path)
    assert isinstance(open_table(path), ParquetFiles)  # rows are read later
    message = (
        f"{path}: its {path.stat().st_size:,} bytes hold 2,000,000 values that take up 32,000,000 bytes in memory, "
        "more than 1,000,000; read it in parts, or raise the limit by PATEVAL_MOST_UNPACKED=1GB in the environment"
    )
    for read in (lambda: read_jobs(make_plan(path)), lambda: read_table(path)):
        with pytest.raises(TableError, match=re.escape(message)):
            read()
    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "1GB")
    assert read_jobs(make_plan(path))[0].scores.size == 10**6


def test_a_large_file_may_hold_as_much_as_it_does(tmp_path, monkeypatch):
    from pateval.io import read_table

    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "1MB")
    scores = np.random.default_rng(0).random(10**6)
    np.save(tmp_path / "t.npy", scores)
    pyarrow.feather.write_feather(pa.table({"score": scores}), tmp_path / "t.arrow")
    (tmp_path / "t.csv").write_text("score\n" + "\n".join(map(str, scores.tolist())))
    for name in ("t.npy", "t.arrow", "t.csv"):
        assert read_table(tmp_path / name).rows == 10**6


def test_many_series_are_held_more_easily_than_one(tmp_path, monkeypatch):
    from pateval.io.plan import make_plan
    from pateval.io.units import read_jobs

    monkeypatch.setenv("PATEVAL_MOST_UNPACKED", "1MB")
    zeros = np.zeros(50_000)
    for number, is_refused in ((1, True), (4, False)):
        path = tmp_path / f"{number}.parquet"
        scores = {f"s{detector}": zeros[::number] for detector in range(number)}
        pq.write_table(pa.table({"label": zeros[::number]} | scores), path)
        if is_refused:
            with pytest.raises(ValueError, match="100,000 values"):
                read_jobs(make_plan(path))
        else:
            assert len(read_jobs(make_plan(path))) == number
