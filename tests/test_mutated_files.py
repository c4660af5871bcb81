"""Damaged files: the number a plain reader gets, or one sentence; never a traceback, and nothing written."""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from support.command_line import console_status

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 60
FILES = 200


def make_frame() -> pd.DataFrame:
    generator = np.random.default_rng(12)
    labels = np.isin(np.arange(ROWS), [20, 21, 22, 45, 46, 47, 48]).astype(int)
    return pd.DataFrame(
        {
            "timestamp": pd.date_range("2024-03-01", periods=ROWS, freq="5min"),
            "value": generator.normal(size=ROWS).round(4),
            "label": labels,
            "score": (generator.random(ROWS) + labels / 2).round(4),
        }
    )


def encode(frame: pd.DataFrame, kind: str) -> bytes:
    """Write a frame as a user's program would."""
    if kind in ("csv", "csv.gz"):
        data = frame.to_csv(index=False).encode()
        return gzip.compress(data, mtime=0) if kind == "csv.gz" else data
    if kind == "tsv":
        return frame.to_csv(index=False, sep="\t").encode()
    if kind == "semicolon.csv":
        return frame.to_csv(index=False, sep=";", decimal=",").encode()
    if kind == "utf16.csv":
        return frame.to_csv(index=False).encode("utf-16")
    if kind == "jsonl":
        return frame.to_json(orient="records", lines=True, date_format="iso").encode()
    if kind == "json":
        return frame.to_json(orient="records", date_format="iso").encode()
    sink = io.BytesIO()
    if kind == "npz":
        np.savez(sink, **{name: frame[name].to_numpy() for name in frame.columns})
    elif kind == "npy":
        np.save(sink, frame.to_records(index=False))
    elif kind == "feather":
        pa.feather.write_feather(pa.Table.from_pandas(frame), sink, compression="uncompressed")
    else:
        frame.to_parquet(sink, index=False, compression=None)
    return sink.getvalue()


KINDS = ("csv", "csv.gz", "tsv", "semicolon.csv", "utf16.csv", "jsonl", "json", "npz", "npy", "feather", "parquet")


def decode(data: bytes, kind: str, names: tuple[str, str]) -> pd.DataFrame:
    """Read two columns of a file with the libraries that everyone reads such files with."""
    source = io.BytesIO(data)
    if kind in ("csv", "csv.gz", "tsv", "semicolon.csv", "utf16.csv"):
        data = gzip.decompress(data) if kind == "csv.gz" else data
        try:
            text = data.decode("utf-16" if kind == "utf16.csv" else "utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252")
        text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
        options: dict[str, Any] = {"semicolon.csv": {"sep": ";", "decimal": ","}, "tsv": {"sep": "\t"}}.get(kind, {})
        return pd.read_csv(io.StringIO(text), **options)
    if kind == "jsonl":
        return pd.DataFrame([json.loads(line) for line in data.decode().splitlines() if line.strip()])
    if kind == "json":
        return pd.DataFrame(json.loads(data))
    if kind == "npz":
        return pd.DataFrame(dict(np.load(source).items()))
    if kind == "npy":
        return pd.DataFrame(np.load(source))
    # Damage to another column does not matter where columns are stored apart.
    table = pa.feather.read_table(source) if kind == "feather" else pq.read_table(source, columns=list(names))
    return pd.DataFrame({name: table.column(name).to_pylist() for name in names})


def mutate(frame: pd.DataFrame, kind: str, generator: np.random.Generator) -> bytes:
    how = generator.choice(["flip", "flip", "truncate", "shuffle"])
    if how == "shuffle":
        return encode(frame[generator.permutation(frame.columns)], kind)
    data = bytearray(encode(frame, kind))
    if how == "truncate":
        return bytes(data[: generator.integers(0, len(data))])
    for place in generator.integers(0, len(data), size=generator.integers(1, 4)):
        data[place] ^= 1 << int(generator.integers(0, 8))
    return bytes(data)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_files_are_read(tmp_path: Path, kind: str) -> None:
    frame = make_frame()
    path = tmp_path / f"scores.{kind}"
    path.write_bytes(encode(frame, kind))
    code, (out, _) = console_status("score", path, "--metrics", "auc_roc", "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["value"] == pytest.approx(roc_auc_score(frame["label"], frame["score"]), abs=1e-12)


def test_mutated_files_give_the_number_of_a_plain_reader_or_one_sentence(tmp_path: Path) -> None:
    frame = make_frame()
    read, refused = 0, 0
    for seed in range(FILES):
        generator = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        data = mutate(frame, kind, generator)
        path = tmp_path / f"scores.{kind}"
        path.write_bytes(data)
        target = tmp_path / "out.json"
        arguments = ["score", str(path), "--metrics", "auc_roc", "--format", "json", "-o", str(target)]
        code, (out, err) = console_status(*arguments)
        assert "Traceback" not in err, seed
        if code == 0:
            read += 1
            (names,) = re.findall(r"guessed label '(.*?)', score '(.*?)'", err)
            plain = decode(data, kind, names)
            truth = plain[names[0]].replace({"True": 1, "False": 0}).astype(int)
            shown = json.loads(target.read_text() if target.exists() else out)
            if truth.nunique() == 1:  # cut off before the first anomaly
                assert shown[0]["value"] is None, seed
            else:
                expected = roc_auc_score(truth, plain[names[1]].astype(float))
                assert shown[0]["value"] == pytest.approx(expected, abs=1e-12), seed
            target.unlink(missing_ok=True)
        else:
            refused += 1
            last = err.splitlines()[-1]
            assert code == 2, seed
            assert (out, target.exists()) == ("", False), seed
            assert last.startswith("pateval: "), (seed, err)
            assert len(last) < 1000, seed
            assert str(path) in last, (seed, last)
            assert [each.name for each in tmp_path.iterdir()] == [path.name], seed
        path.unlink()
    assert read + refused == FILES
    assert min(read, refused) > FILES // 10
