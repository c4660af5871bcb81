"""Files of every kind, read alike; what is not as usual is announced, and what cannot be read says what to do."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pateval.cli import main
from pateval.io import Reading, expand, find_layout, open_table, read_table, scored_series
from support.messages import message_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LABELS = [0, 0, 1, 1, 0, 0]
SCORES = [0.1, 0.25, 0.9, 0.75, 0.5, 0.2]
TABLE = {"label": LABELS, "score": SCORES}


def rows(delimiter: str = ",", decimal: str = ".", end: str = "\n") -> str:
    lines = [f"label{delimiter}score"]
    lines += [f"{label}{delimiter}{score}".replace(".", decimal) for label, score in zip(LABELS, SCORES, strict=True)]
    return end.join(lines) + end


def zstd(path: Path, data: bytes) -> None:
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(data)


def arrow_stream(path: Path) -> None:
    table = pa.table(TABLE)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def json_lines() -> str:
    return "".join(json.dumps(dict(zip(TABLE, row, strict=True))) + "\n" for row in zip(LABELS, SCORES, strict=True))


WRITERS: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "a.csv": (lambda path: path.write_text(rows()), None),
    "crlf.csv": (lambda path: path.write_bytes(rows(end="\r\n").encode()), None),
    "mark.csv": (lambda path: path.write_bytes(b"\xef\xbb\xbf" + rows().encode()), None),
    "a.csv.gz": (lambda path: path.write_bytes(gzip.compress(rows().encode())), None),
    "a.csv.zst": (lambda path: zstd(path, rows().encode()), None),
    "a.tsv": (lambda path: path.write_text(rows("\t")), None),
    "comma.tsv": (lambda path: path.write_text(rows()), "columns are taken as separated by commas"),
    "a.txt": (lambda path: path.write_text(rows("  ")), None),
    "tab.txt": (lambda path: path.write_text(rows("\t")), "columns are taken as separated by tabs"),
    "bar.csv": (lambda path: path.write_text(rows("|")), "columns are taken as separated by bars"),
    "utf16.csv": (lambda path: path.write_bytes(rows().encode("utf-16")), "read as UTF-16"),
    "utf16be.csv": (lambda path: path.write_bytes(b"\xfe\xff" + rows().encode("utf-16-be")), "read as UTF-16"),
    "comment.csv": (lambda path: path.write_text(f"# from a sensor\n#\n{rows()}# end\n"), "3 comment lines left out"),
    "numpy.txt": (
        lambda path: np.savetxt(path, np.array([LABELS, SCORES]).T, header="label score", fmt="%g"),
        None,
    ),
    "a.parquet": (lambda path: pq.write_table(pa.table(TABLE), path), None),
    "a.feather": (lambda path: pa.feather.write_feather(pa.table(TABLE), str(path)), None),
    "a.arrow": (arrow_stream, None),
    "a.jsonl": (lambda path: path.write_text(json_lines()), None),
    "a.jsonl.gz": (lambda path: path.write_bytes(gzip.compress(json_lines().encode())), None),
    "a.json": (lambda path: path.write_text(json.dumps(TABLE)), None),
    "records.json": (lambda path: pd.DataFrame(TABLE).to_json(path, orient="records"), None),
    "columns.json": (lambda path: pd.DataFrame(TABLE).to_json(path), None),
    "split.json": (lambda path: pd.DataFrame(TABLE).to_json(path, orient="split"), None),
    "table.json": (lambda path: pd.DataFrame(TABLE).to_json(path, orient="table"), None),
    "a.npz": (lambda path: np.savez(path, label=LABELS, score=SCORES), None),
    "record.npy": (lambda path: np.save(path, pd.DataFrame(TABLE).to_records(index=False)), None),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_gives_the_same_series(tmp_path: Path, name: str) -> None:
    write, note = WRITERS[name]
    path = tmp_path / name
    write(path)
    source = open_table(path)
    layout = find_layout(source)
    (item,) = scored_series(source, layout)
    labels, scores = item.checked()
    assert (item.detector, labels.astype(int).tolist(), scores.tolist()) == (name.split(".")[0], LABELS, SCORES)
    expected = [f"{path}: {note}"] if note else []
    assert [line for line in layout.notes if "guessed" not in line] == expected


def test_semicolons_with_a_decimal_comma(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(rows(";", ","))
    table = read_table(path)
    assert table.columns["score"].tolist() == SCORES
    assert table.notes == (
        f"{path}: columns are taken as separated by semicolons",
        f"{path}: numbers are taken as written with a decimal comma",
    )


def test_the_encoding_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("Gerät,label,score\nprüfung,0,0.1\nprüfung,1,0.9\n".encode("cp1252"))
    table = read_table(path)
    assert table.columns["Gerät"].tolist() == ["prüfung", "prüfung"]
    assert table.notes == (f"{path}: read as cp1252, since line 1 is not UTF-8",)


def test_a_matrix_is_read_by_the_numbers_of_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([LABELS, SCORES]).T)
    source = open_table(path)
    layout = find_layout(source, Reading(label="0", score="1"))
    (item,) = scored_series(source, layout)
    assert item.checked()[1].tolist() == SCORES
    assert layout.notes == (f"{path}: the columns of the array are called by their numbers, from '0'",)
    assert message_of(find_layout, source) == (
        f"{path}: no column looks like labels; name it (label=..., --label) among '0', '1', or give the anomalies in a "
        "file of their own with --events FILE (events=...)"
    )


def test_an_array_of_scores_is_named_by_its_file(tmp_path: Path) -> None:
    path, events = tmp_path / "lof.npy", tmp_path / "events.csv"
    np.save(path, np.array(SCORES))
    events.write_text("start,stop\n1,2\n")
    source = open_table(path)
    (item,) = scored_series(source, find_layout(source, Reading(events=str(events))))
    assert item.detector == "lof"


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.csv.zst", "a.parquet", "a.feather", "a.jsonl", "a.json", "a.npz"]
)
def test_standard_input(tmp_path: Path, name: str, monkeypatch: Any, capsys: Any) -> None:
    path = tmp_path / name
    WRITERS[name][0](path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    with pytest.raises(SystemExit) as caught:
        main(["score", "-", "--metrics", "auc_roc", "--format", "json"])
    shown = capsys.readouterr()
    assert caught.value.code == 0
    assert (json.loads(shown.out)[0]["detector"], json.loads(shown.out)[0]["value"]) == ("stdin", 1.0)
    assert shown.err == "standard input: guessed label 'label', score 'score'\n"


def test_a_leaderboard_from_standard_input(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows().encode())))
    with pytest.raises(SystemExit) as caught:
        main(["leaderboard", "-", "--metrics", "auc_roc", "--workers", "1", "--format", "csv"])
    assert caught.value.code == 0
    assert "stdin" in capsys.readouterr().out


def archive(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return data.getvalue()


BROKEN: dict[str, tuple[bytes, str]] = {
    "sheet.xlsx": (b"PK\x03\x04", "spreadsheets are not read; save the sheet as CSV UTF-8"),
    "a.pkl": (b"x", "pickles can run code and are never read; write the table as Parquet, with frame.to_parquet"),
    "sheet.csv": (
        b"PK\x03\x04....",
        "the content is not a text table but a zip archive or a spreadsheet; give the file the suffix of what it is",
    ),
    "parquet.csv": (
        b"PAR1....",
        "the content is not a text table but in the format parquet; give the file the suffix of what it is",
    ),
    "zero.csv": (
        "label,score\n0,0.1\n".encode("utf-16-le"),
        ("line 1 holds a zero byte, so the file is damaged or UTF-16 without a mark; write it again as UTF-8"),
    ),
    "odd.csv": (
        b"label,score\n0,0.1\n1,\x81\n",
        (
            "line 3 is neither UTF-8 nor cp1252 text, so the file is damaged or in another encoding; write it again as "
            "UTF-8"
        ),
    ),
    "headless.csv": (
        b"0,0.1\n1,0.2\n",
        "the first line holds numbers (0, 0.1), not names; put a line such as label,score above it",
    ),
    "ragged.csv": (
        b"label,score\n0,0.1\n1,0,5\n",
        "row 2 has 3 cells, and the header 2; the file is damaged, or a cell with commas lacks its quotes",
    ),
    "cut.csv.gz": (
        gzip.compress(rows().encode())[:30],
        (
            "not a readable gzip compressed file, perhaps truncated or damaged (Compressed file ended before the "
            "end-of-stream marker was reached); write or fetch it again"
        ),
    ),
    "cut.json": (
        b'{"label": [0, 1], "sco',
        (
            "not valid JSON in line 1 (Unterminated string starting at), perhaps truncated or damaged; write or fetch "
            "it again"
        ),
    ),
    "columns.json": (
        b"label,score\n0,0.1\n",
        "not valid JSON in line 1 (Expecting value); give the file the suffix of what it is",
    ),
    "digits.json": (
        b'{"label": [0, 1], "score": [0.5, ' + b"1" * 5000 + b"]}",
        (
            "the JSON holds an integer of more digits than can be read; write a list of objects like "
            '{"label": 0, "score": 0.1}'
        ),
    ),
    "digits.jsonl": (
        b'{"label": 0, "score": 0.5}\n{"label": 1, "score": ' + b"1" * 5000 + b"}\n",
        (
            "line 2 is not valid JSON (an integer of more digits than can be read); it should be an object like "
            '{"label": 0, "score": 0.1}'
        ),
    ),
    "plain.csv.gz": (
        b"label,score\n0,0.1\n",
        "the content is not gzip compressed but text; give the file the suffix of what it is",
    ),
    "plain.parquet": (
        b"label,score\n0,0.1\n",
        "the content is not Parquet but text; give the file the suffix of what it is",
    ),
    "plain.feather": (
        b"label,score\n0,0.1\n",
        "the content is not Arrow but text; give the file the suffix of what it is",
    ),
    "plain.npy": (b"label,score\n0,0.1\n", "the content is not NumPy but text; give the file the suffix of what it is"),
    "packed.parquet": (
        b"\x1f\x8b....",
        "the content is not Parquet but in the format gzip; give the file the suffix of what it is",
    ),
    "notes.npz": (
        archive({"notes.txt": b"hello"}),
        "'notes.txt' in the archive is no array; save arrays alone, with numpy.savez",
    ),
    "nothing.npz": (
        archive({}),
        "the archive holds no arrays; save them by name, with numpy.savez(path, label=..., score=...)",
    ),
    "labels.csv": (b"label\n0\n1\n", "no column looks like scores; all have another role"),
    "lines.json": (
        b'{"label": 0}\n{"label": 1}\n',
        ("not valid JSON in line 2 (Extra data); one object a line is read from a file called .jsonl"),
    ),
    "number.json": (
        b"3",
        (
            'the JSON is no table; write a list of objects like {"label": 0, "score": 0.1}, or an object of lists like '
            '{"label": [0, 1], "score": [0.1, 0.9]}'
        ),
    ),
    "uneven.json": (
        b'{"label": [0, 1], "score": [0.1]}',
        "columns must have equal lengths; 'label' has 2 values, 'score' has 1",
    ),
    "deep.json": (
        b"[" * 100_000,
        'the JSON is too deeply nested to be a table; write a list of objects like {"label": 0, "score": 0.1}',
    ),
    "latin.jsonl": (b'{"label": "\xe9"}\n', "line 1 is not UTF-8, which JSON is written in; write it again"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_says_what_to_do(tmp_path: Path, name: str, capsys: Any) -> None:
    data, message = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SystemExit) as caught:
        main(["score", str(path)])
    shown = capsys.readouterr()
    assert (caught.value.code, shown.out, shown.err) == (2, "", f"pateval: {path}: {message}\n")


def test_arrays_without_a_table_in_them(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((2, 2, 2)))
    assert message_of(open_table, path) == (
        f"{path}: the array has shape (2, 2, 2); steps, or steps by columns, are needed"
    )
    np.save(path, np.array([{}]), allow_pickle=True)
    assert message_of(open_table, path) == (
        f"{path}: the array holds Python objects, which are never unpickled; save numbers instead"
    )
    np.savez(tmp_path / "b.npz", label=[0])
    (tmp_path / "b.npz").rename(path)
    assert message_of(open_table, path) == (
        f"{path}: not a single array but an NPZ archive; give the file the suffix .npz"
    )


def test_notes_and_licences_in_a_folder_are_no_tables(tmp_path: Path) -> None:
    for name in ("README.txt", "run.json", "weights.npy"):
        (tmp_path / name).write_text("x")
    (tmp_path / "a.csv").write_text(rows())
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(rows("\t").encode()))
    assert [path.name for path in expand(tmp_path)] == ["a.csv", "b.tsv.gz"]
    assert [path.name for path in expand(str(tmp_path / "*.json"))] == ["run.json"]


def test_folders_that_are_no_tables_are_not_searched(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "too" / "deep" / "down" / "there").mkdir(parents=True)
    (tmp_path / "too" / "deep" / "down" / "there" / "a.csv").write_text(rows())
    with pytest.raises(SystemExit) as caught:
        main(["score", str(tmp_path)])
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        f"pateval: {tmp_path}: the folder holds no data files; text tables (.csv, .tsv, .txt), Parquet (.parquet, "
        ".pq), Arrow (.feather, .arrow), JSON (.jsonl, .ndjson, .json) and NumPy (.npz, .npy) are read\n"
    )


def test_a_cell_longer_than_a_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"label,score,note\n0,0.5,{'x' * 3_000_000}\n1,0.25,short\n")
    table = read_table(path)
    assert table.columns["score"].tolist() == [0.5, 0.25]
    assert [len(note) for note in table.columns["note"]] == [3_000_000, 5]


def test_long_integers_beside_scores_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "keys.csv"
    path.write_text(f"host,label,score\n{10**30},0,0.5\n{10**30},1,0.75\n{10**30 + 1},1,0.25\n")
    source = open_table(path)
    found = [(item.series, item.scores.tolist()) for item in scored_series(source, find_layout(source))]
    assert found == [(str(10**30), [0.5, 0.75]), (str(10**30 + 1), [0.25])]
    decimals = tmp_path / "decimals.parquet"
    column = pa.array([None, Decimal(10**30), Decimal(2)], pa.decimal128(38, 0))
    pq.write_table(pa.table({"label": [0, 1, 0], "score": column}), decimals)
    assert read_table(decimals).columns["score"].tolist() == [None, 10**30, 2]


def test_an_empty_path_is_not_the_current_folder(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "a.csv").write_text(rows())
    monkeypatch.chdir(tmp_path)
    empty = "a path is empty; name a file or a folder, '.' for the current one"
    for call in (expand, open_table, read_table):
        assert message_of(call, "") == empty
    for command in (["score", ""], ["leaderboard", "a.csv", ""]):
        with pytest.raises(SystemExit) as caught:
            main(command)
        assert (caught.value.code, capsys.readouterr().err) == (2, f"pateval: {empty}\n")
    assert [path.name for path in expand(".")] == ["a.csv"]
    for call in (expand, open_table, read_table):
        assert message_of(call, "x" * 5000) == f"no path is as long as '{'x' * 56}...; name a file or a folder"
