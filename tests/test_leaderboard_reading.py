"""Every series is read once, results are on disk while the work goes on, and memory does not hold jobs as objects."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pateval.io import files
from pateval.io.plan import make_plan
from pateval.io.units import make_batches
from pateval.leaderboards import leaderboard
from pateval.leaderboards.board_files import PARTIAL
from support import leaderboard_metrics as metrics
from support.leaderboard_cases import compute, parquet_bytes, rows, settings, write_detectors

COUNTER = """
import sys, json
from pateval.leaderboards import leaderboard

def read_so_far():
    return int(open("/proc/self/io").read().split()[1])

if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    leaderboard(options.pop("warm_up"), **options)  # imports are not what is counted
    before = read_so_far()
    leaderboard(sys.argv[2:], **options)
    print(read_so_far() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="counts bytes as Linux does")
def test_bytes_read_on_nab(nab, tmp_path):
    """All that is read by one process, footers and keys included, for 16 detectors on 58 series with chance."""
    script = tmp_path / "count.py"
    script.write_text(COUNTER)
    files = sorted(nab.glob("*.parquet"))
    options = {"warm_up": str(files[0]), "series": "series", "metrics": ["average_precision", "pate_ap"], "workers": 1}
    command = [sys.executable, script, json.dumps(options), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 1.2 * sum(path.stat().st_size for path in files)


def test_batches_read_a_row_group_once(tmp_path):
    labels = np.tile([0, 1], 600)
    table = pa.table(
        {"series": np.repeat([f"s{i:02d}" for i in range(24)], 50), "label": labels, "score": labels * 0.5}
    )
    for size, expected in ((1200, [24]), (300, [6, 6, 6, 6]), (70, [7, 7, 7, 3])):
        # In the last file series straddle row groups; they part where the end of a series is that of a row group.
        pq.write_table(table, tmp_path / "d.parquet", row_group_size=size)
        plan = make_plan(tmp_path / "d.parquet")
        assert [len(batch.jobs) for batch in make_batches(plan)] == expected
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=300)
    plan = make_plan(tmp_path / "d.parquet")
    assert [len(batch.jobs) for batch in make_batches(plan, workers=2)] == [3] * 8  # as many as two workers need


def test_a_wide_file_is_cut_along_its_columns(tmp_path):
    generator = np.random.default_rng(0)
    columns = {f"d{i}": generator.random(90) for i in range(8)}
    pq.write_table(
        pa.table({"series": ["a"] * 40 + ["b"] * 50, "label": [0, 1] * 45} | columns), tmp_path / "w.parquet"
    )
    plan = make_plan(tmp_path / "w.parquet")
    assert [len(batch.jobs) for batch in make_batches(plan)] == [16]
    batches = list(make_batches(plan, workers=2))
    assert len(batches) == 8
    assert all(len({job.detector for job in batch.jobs}) == 1 for batch in batches)


def test_chance_is_computed_once_for_equal_labels(tmp_path, monkeypatch):
    """Seven series of three detectors share labels by length alone, all but one."""
    monkeypatch.setenv(metrics.LOG, str(tmp_path / "log"))
    board = compute(make_plan(write_detectors(tmp_path / "scores")), settings(metrics.gap, chance=1))
    assert board.chance.levels.shape == (6, 1)  # the last have no anomaly
    assert len((tmp_path / "log").read_text().splitlines()) == 21 + 7


def test_results_come_to_disk_while_the_work_goes_on(tmp_path, monkeypatch):
    from pateval.leaderboards import board_files as partial

    files = write_detectors(tmp_path / "scores")
    monkeypatch.setattr(partial, "_ROWS_PER_FILE", 10)
    found = []

    def look(what, done, total):
        if what == "scores" and done == 11:
            table = pq.read_table(tmp_path / "out" / PARTIAL)
            found.extend(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))

    board = leaderboard(files, metrics=metrics.PLAIN, chance=0, output=tmp_path / "out", workers=1, progress=look)
    assert len(found) == 20  # ten of eleven series, two metrics each
    whole = {row[:3]: row for row in rows(board)}
    for row in found:
        assert tuple(None if value != value else value for value in row) == whole[row[:3]]
    assert not (tmp_path / "out" / PARTIAL).exists()
    assert (tmp_path / "out" / "scores.parquet").read_bytes() == parquet_bytes(board, tmp_path)


def test_what_was_finished_stays_readable_after_an_interruption(tmp_path):
    files = write_detectors(tmp_path / "scores")

    def interrupt(what, done, total):
        if done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leaderboard(files, metrics=metrics.gap, chance=0, output=tmp_path / "out", workers=1, progress=interrupt)
    assert pq.read_table(tmp_path / "out" / PARTIAL).num_rows == 12
    assert not (tmp_path / "out" / "scores.parquet").exists()
    board = leaderboard(files, metrics=metrics.gap, chance=0, output=tmp_path / "out", workers=1)
    assert not (tmp_path / "out" / PARTIAL).exists()
    assert pq.read_table(tmp_path / "out" / "scores.parquet").num_rows == len(rows(board)) == 21


def test_a_disk_that_fills_up_stops_nothing_but_the_partial_files(tmp_path, monkeypatch):
    from pateval.leaderboards import board_files as partial

    def full(parts, path, write=partial.write_parquet):
        if partial.PARTIAL in str(path):
            raise OSError(28, "No space left on device", str(path))
        write(parts, path)

    files = write_detectors(tmp_path / "scores")
    monkeypatch.setattr(partial, "_ROWS_PER_FILE", 10)
    monkeypatch.setattr(partial, "write_parquet", full)
    board = leaderboard(files, metrics=metrics.gap, chance=0, output=tmp_path / "out", workers=1)
    assert sum("No space left on device" in line and "part-00000.parquet" in line for line in board.warnings) == 1
    assert pq.read_table(tmp_path / "out" / "scores.parquet").num_rows == 21


def test_ranks_on_nab_are_those_of_scipy(nab, tmp_path):
    """The order of the default leaderboard, from the Parquet file it writes."""
    from scipy.stats import rankdata

    board = leaderboard(
        nab, label="label", score="score", series="series", metrics=["pate", "pate_ap"], workers=2, output=tmp_path
    )
    frame = pq.read_table(tmp_path / "scores.parquet").to_pandas()
    table = frame[frame.metric == "pate_ap"].pivot(index="series", columns="detector", values="value").dropna()
    assert table.shape == (52, 16)
    means = dict(zip(table.columns, rankdata(-table.to_numpy(), axis=1).mean(axis=0), strict=True))
    assert board.rank_by == "pate_ap"
    shown = [row[0].removesuffix(" (coarse)") for row in board.overview().rows]
    assert shown == sorted(means, key=means.get)
    assert shown[-1] == "null"
    assert [means[name] for name in shown] == pytest.approx(board.significance().mean_ranks, abs=1e-12)
    assert "null" in board.coarse


def test_a_long_run_of_reasons(tmp_path):
    """More reasons than a small integer can number, in an order that does not depend on who finished first."""
    from pateval.evaluation.values import Value
    from pateval.leaderboards.arrays import number_reasons
    from pateval.leaderboards.collect import Collector
    from pateval.leaderboards.tasks import SeriesResult

    size = 40_000
    table = {"series": np.arange(size), "label": np.zeros(size, dtype=int), "score": np.zeros(size)}
    plan = make_plan(table)
    texts = []
    for order in (range(size), reversed(range(size))):
        collector = Collector(plan, settings(metrics.gap))
        for job in order:
            collector.add(SeriesResult(job, values={"gap": Value(math.nan, f"reason {job}")}, labels="x"), ["gap"])
        texts.append(number_reasons(collector._codes, list(collector._texts)))
        assert collector._codes[0, -1, 0] == size
    assert texts[0] == texts[1]
    assert texts[0][-1] == f"reason {size - 1}"


@pytest.mark.parametrize(("encoded", "expected"), [(True, 1), (False, 2)])
def test_footers_are_read_once(tmp_path, monkeypatch, encoded, expected):
    """Once by a process, and once more where the names of series are plain text."""
    from pateval.io import source

    table = pa.table({"series": ["a"] * 30 + ["b"] * 30, "label": [0, 1] * 30, "score": np.arange(60.0)})
    if encoded:
        table = table.set_column(0, "series", table["series"].dictionary_encode())
    pq.write_table(table, tmp_path / "d.parquet")
    opened = []
    really = source._fragment

    def counted(path, texts=()):
        opened.append(path)
        return really(path, texts)

    monkeypatch.setattr(source, "_fragment", counted)
    compute(make_plan(tmp_path / "d.parquet"), settings(chance=1))
    assert len(opened) == expected


def test_a_text_file_is_parsed_once(tmp_path, monkeypatch):
    """The plan has to parse it; what is computed from it, and the chance level, take what the plan has read."""
    path = tmp_path / "lstm.csv"
    path.write_text("label,score\n" + "".join(f"{int(20 <= step < 25)},{step % 7}\n" for step in range(60)))
    parsed = []
    monkeypatch.setattr(files, "read_content", lambda path, read=files.read_content: parsed.append(path) or read(path))
    board = leaderboard(path, metrics="auc_roc", workers=1, chance=2)
    assert board.values.shape == (1, 1, 1)
    assert parsed == [path]
