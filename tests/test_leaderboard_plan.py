"""Bad files: one line each that names file and column; the others are still evaluated when asked to keep going."""

from __future__ import annotations

import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pateval.io import Reading, saved_plan
from pateval.io.plan import make_plan
from pateval.leaderboards import leaderboard
from pateval.leaderboards.diagnostics import label_differences
from support.leaderboard_cases import compute, rows, series, settings
from support.messages import message_of, raises_exactly

DEFAULTS = Reading(label="label", score="score", defaults=True)
COLUMNS = Reading(label="label", score="score", series="series")


def good_table(seed=0, **change):
    labels, scores = series(seed)
    return {"series": ["x"] * 60, "label": labels, "score": scores} | change


def truncated(path):
    pq.write_table(pa.table(good_table()), path.with_suffix(".parquet"))
    content = path.with_suffix(".parquet").read_bytes()
    path.with_suffix(".parquet").write_bytes(content[: len(content) // 2])
    return path.with_suffix(".parquet")


def broken_pages(path):
    """The footer is whole, so that the damage shows only when the rows are read."""
    target = path.with_suffix(".parquet")
    pq.write_table(pa.table(good_table()), target, compression="zstd", use_dictionary=["series"])
    content = bytearray(target.read_bytes())
    column = pq.read_metadata(target).row_group(0).column(2)
    start = column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\x00" * column.total_compressed_size
    target.write_bytes(bytes(content))
    return target


def text_in_a_score(path):
    lines = ["series,label,score", "x,0,0.1", "x,1,oops", "x,0,0.3"]
    path.with_suffix(".csv").write_text("\n".join(lines))
    return path.with_suffix(".csv")


def missing_column(path):
    table = good_table()
    table["points"] = table.pop("score")
    pq.write_table(pa.table(table), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def empty_folder(path):
    path.mkdir()
    return path


def folder_named_like_a_file(path):
    path.with_suffix(".parquet").mkdir()
    return path.with_suffix(".parquet")


def no_rows(path):
    pq.write_table(pa.table(good_table()).slice(0, 0), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def three_labels(path):
    labels, _ = series(0)
    labels[5] = 2
    pq.write_table(pa.table(good_table(label=labels)), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def nan_score(path):
    _, scores = series(0)
    scores[7] = np.nan
    pq.write_table(pa.table(good_table(score=scores)), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def absent(path):
    return path.with_suffix(".parquet")


def unknown_format(path):
    path.with_suffix(".xlsx").write_bytes(b"PK")
    return path.with_suffix(".xlsx")


DAMAGED = "not a readable Parquet file, perhaps truncated or damaged (...); write or fetch it again"
NO_FILES = (
    "the folder holds no data files; text tables (.csv, .tsv, .txt), Parquet (.parquet, .pq), Arrow (.feather, "
    ".arrow), JSON (.jsonl, .ndjson, .json) and NumPy (.npz, .npy) are read"
)
CASES = [
    (truncated, DAMAGED),
    (broken_pages, DAMAGED),
    (
        text_in_a_score,
        (
            "column 'score' holds text in row 2, 'oops'; scores are numbers: correct it, or leave the cell empty and "
            "say --missing ignore"
        ),
    ),
    (missing_column, "there is no score column 'score'; its columns are 'series', 'label', 'points'"),
    (empty_folder, NO_FILES),
    (folder_named_like_a_file, NO_FILES),
    (no_rows, "there are no rows; at least one time step is needed"),
    (
        three_labels,
        (
            "column 'label', series 'x': labels must be 0 or 1 at every step; found 2 in row 6 (1 such value in 60); "
            "say which of '0', '2', '1' mean an anomaly with --positive (positive=...)"
        ),
    ),
    (
        nan_score,
        (
            "column 'score', series 'x': scores must be finite at every step; found NaN in row 8 (1 such value in 60): "
            "leave such steps out with --missing ignore, or count them as never predicted with --missing normal "
            "(missing=...)"
        ),
    ),
    (absent, "there is no such file or folder"),
    (unknown_format, "spreadsheets are not read; save the sheet as CSV UTF-8"),
]


# What is refused before any worker sees it needs no workers to be tested.
SEEN_BY_WORKERS = (broken_pages, three_labels)
ALL_CASES = [(*case, 1) for case in CASES] + [(*case, 2) for case in CASES if case[0] in SEEN_BY_WORKERS]


@pytest.mark.parametrize(
    ("make", "message", "workers"), ALL_CASES, ids=[f"{case[0].__name__}-{case[2]}" for case in ALL_CASES]
)
def test_bad_file(make, message, workers, tmp_path):
    good = tmp_path / "good.parquet"
    pq.write_table(pa.table(good_table(1)), good)
    bad = make(tmp_path / "bad")
    with pytest.raises(ValueError, match="bad") as caught:
        compute(make_plan([good, bad], COLUMNS), settings(), workers=workers)
    line = str(caught.value)
    in_our_words = re.sub(r"damaged \([^()]{20,160}\)", "damaged (...)", line)  # and those of the library
    assert in_our_words == f"{bad}: {message}"
    plan = make_plan([good, bad], COLUMNS, keep_going=True)
    board = compute(plan, settings(), workers=workers, keep_going=True)
    assert board.failures == (line,)
    alone = compute(make_plan([good], COLUMNS), settings())
    assert [row for row in rows(board) if row[0] == "good"] == rows(alone)
    assert all(row[3] is None and row[4] == line for row in rows(board) if row[0] != "good")


@pytest.mark.skipif(os.geteuid() == 0, reason="everything may be read by the superuser")
def test_no_permission(tmp_path):
    path = tmp_path / "secret.parquet"
    pq.write_table(pa.table(good_table()), path)
    path.chmod(0)
    assert message_of(make_plan, path) == (
        f"{path}: no permission to read it; change its permissions, or copy it as its owner"
    )


def test_a_reader_that_is_refused(tmp_path, monkeypatch):
    """The same as above for the superuser, by refusing the opening itself."""
    from pathlib import Path

    path = tmp_path / "secret.parquet"
    pq.write_table(pa.table(good_table()), path)
    really = Path.open

    def refuse(self, *arguments, **options):
        if self.name == "secret.parquet":
            raise PermissionError(13, "Permission denied")
        return really(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    assert message_of(make_plan, path) == (
        f"{path}: no permission to read it; change its permissions, or copy it as its owner"
    )


def test_the_first_series_of_a_bad_file_are_named(tmp_path):
    labels, scores = series(0)
    table = {"series": np.repeat([f"s{number}" for number in range(30)], 2), "label": labels + 2, "score": scores}
    pq.write_table(pa.table(table), tmp_path / "bad.parquet")
    pq.write_table(pa.table(table | {"label": labels}), tmp_path / "good.parquet")
    plan = make_plan(tmp_path)
    board = compute(plan, settings(), keep_going=True)
    assert len(board.failures) == 20
    assert all(f"series 's{number}'" in line for number, line in enumerate(board.failures))
    assert board.failures[-1].endswith("(and 10 more series of this file)")


def test_default_names_are_guessed_again_only_where_no_table_has_them(tmp_path):
    labels, scores = series(0)
    plan = make_plan({"is_anomaly": labels, "lstm": scores, "usad": scores}, DEFAULTS)
    assert plan.detectors == ("lstm", "usad")
    assert plan.notes == ("the table: guessed label 'is_anomaly', scores 'lstm', 'usad'",)
    tables = {"a": {"label": labels, "score": scores}, "b": {"label": labels, "skore": scores}}
    with raises_exactly(
        ValueError, "b: there is no score column 'score' (did you mean 'skore'?); its columns are 'label', 'skore'"
    ):
        make_plan(tables, DEFAULTS)
    with raises_exactly(
        ValueError, "the table: there is no label column 'label'; its columns are 'is_anomaly', 'lstm'"
    ):
        make_plan({"is_anomaly": labels, "lstm": scores}, Reading(label="label"))


def test_the_same_guess_for_many_files_is_said_once(tmp_path):
    for name in "abc":
        table = good_table()
        pq.write_table(
            pa.table({"machine": table["series"], "y_true": table["label"], "score": table["score"]}),
            tmp_path / f"{name}.parquet",
        )
    plan = make_plan(tmp_path, DEFAULTS)
    assert len(plan.notes) == 1
    assert plan.notes[0].startswith("3 files (")
    assert plan.notes[0].endswith("guessed label 'y_true', series 'machine'")


def test_files_of_all_formats(tmp_path):
    import json

    table = good_table()
    expected = None
    labels, scores = table["label"].tolist(), table["score"].tolist()
    lines = ["series,label,score", *(f"x,{a},{b}" for a, b in zip(labels, scores, strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(lines))
    (tmp_path / "d.jsonl").write_text(
        "\n".join(json.dumps({"series": "x", "label": a, "score": b}) for a, b in zip(labels, scores, strict=True))
    )
    np.savez(tmp_path / "d.npz", **table)
    pq.write_table(pa.table(table), tmp_path / "d.parquet")
    for suffix in ("parquet", "csv", "jsonl", "npz"):
        for workers in (1, 2) if suffix == "csv" else (1,):
            found = rows(compute(make_plan(tmp_path / f"d.{suffix}"), settings(), workers=workers))
            expected = expected or found
            assert found == expected
    assert rows(compute(make_plan(str(tmp_path / "*.parquet")), settings())) == expected


def test_labels_that_differ_are_reported_per_file(tmp_path):
    for name, flips in (("a", 0), ("b", 0), ("odd", 3)):
        labels, scores = series(0)
        other, _ = series(1)
        other = other.copy()
        other[:flips] = 1
        table = {
            "series": ["x"] * 60 + ["y"] * 60,
            "label": np.concatenate([labels, other]),
            "score": np.concatenate([scores, scores]),
        }
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    plan = make_plan(tmp_path)
    board = compute(plan, settings(chance=2))
    assert board.warnings[0] == (
        f"{tmp_path / 'odd.parquet'}: labels differ from those of most detectors in 1 of 2 series, on 3 steps ('y'); "
        f"each file is scored with its own labels"
    )
    # Chance is that of the labels each file has.
    chance = dict(zip(board.detectors, board.chance.of_metric(0), strict=True))
    assert np.array_equal(chance["a"], chance["b"])
    assert chance["a"][0] == chance["odd"][0]
    assert chance["a"][1] != chance["odd"][1]
    assert board.chance.levels.shape == (2, 2)  # once for each distinct labels


def test_labels_of_another_length():
    labels, scores = series(0)
    plan = make_plan(
        {
            "a": {"label": labels, "score": scores},
            "b": {"label": labels, "score": scores},
            "c": {"label": labels[:50], "score": scores[:50]},
        }
    )
    board = compute(plan, settings())
    assert (
        "c: labels differ from those of most detectors in 1 of 1 series, on 0 steps, and the length in 1"
        in (board.warnings[0])
    )
    assert list(label_differences(plan, np.zeros(3, dtype=np.int32))) == []


def test_what_all_columns_of_scores_begin_or_end_with_is_no_part_of_a_detectors_name():
    labels, scores = series(0)
    for columns, names, left_out in (
        (["score_lstm", "score_pca"], ("lstm", "pca"), "score_"),
        (["lstm_score", "pca_score"], ("lstm", "pca"), "_score"),
        (["anomaly_score_lstm"], ("lstm",), "anomaly_score_"),
        (["score_lstm", "pca"], ("score_lstm", "pca"), ""),
        (["score_1", "score_2"], ("score_1", "score_2"), ""),  # a number alone names nothing
    ):
        plan = make_plan({"label": labels} | dict.fromkeys(columns, scores), Reading(label="label", score=columns))
        assert plan.detectors == names
        assert plan.notes == ((f"the table: detectors are named without {left_out!r}",) if left_out else ())


def test_one_detector_of_another_name_in_any_file_keeps_all_names_whole(tmp_path):
    labels, scores = series(0)
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, columns in zip(paths, (["score_lstm", "score_pca"], ["lstm", "pca"]), strict=True):
        pq.write_table(pa.table({"label": labels} | dict.fromkeys(columns, scores)), path)
    assert make_plan(paths[0], Reading()).detectors == ("lstm", "pca")
    assert make_plan(paths, Reading()).detectors == ("score_lstm", "score_pca", "lstm", "pca")


def test_names_of_files_are_those_of_columns_and_a_column_of_detectors_is_as_it_stands(tmp_path):
    for name in ("score_lstm", "score_pca"):
        pq.write_table(pa.table(good_table()), tmp_path / f"{name}.parquet")
    assert make_plan(tmp_path, COLUMNS).detectors == ("lstm", "pca")
    long = good_table() | {"detector": ["score_lstm"] * 60}
    assert make_plan(long, Reading(label="label", score="score", detector="detector")).detectors == ("score_lstm",)


def test_a_board_whose_detectors_have_their_columns_names_is_read_as_it_was_made(tmp_path):
    """Boards that were saved before say nothing of what names lack."""
    labels, scores = series(0)
    path = tmp_path / "wide.csv"
    lines = [
        "label,score_lstm,score_pca",
        *(f"{label:d},{one},{-one}" for label, one in zip(labels, scores, strict=True)),
    ]
    path.write_text("\n".join(lines))
    board = leaderboard(path, metrics=["auc_roc"], chance=0, event_draws=0, workers=1)
    assert board.detectors == ("lstm", "pca")
    (layout,) = board.run["reading"]["layouts"]
    assert layout["affix"] == "score_"
    before = board.run | {"reading": board.run["reading"] | {"layouts": [layout | {"affix": ""}]}}
    for run, names in ((board.run, ("lstm", "pca")), (before, ("score_lstm", "score_pca"))):
        plan, problems = saved_plan(run, tmp_path)
        assert plan is not None
        assert plan.detectors == names
        assert not problems
