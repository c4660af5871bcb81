"""The score files under results/: small, described truly, and named where a race had them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pateval.io.score_files import read_metadata

RESULTS = Path(__file__).parents[1] / "results"
SCORES = RESULTS / "scores"


def test_only_score_files_are_kept() -> None:
    """Nothing but what `pateval reproduce impact --train` writes, and the page about it."""
    assert {path.suffix for path in RESULTS.rglob("*") if path.is_file()} == {".md", ".parquet", ".training"}


def test_the_score_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in SCORES.rglob("*") if path.is_file()) < 25e6


def test_what_the_page_says_about_the_score_files() -> None:
    """Every sentence there that can be held against the files is."""
    page = (RESULTS / "README.md").read_text()
    for detector in ("anomaly_transformer", "dcdetector"):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {detector} |")]
        said = [cell.strip() for cell in line.split("|")[2:-1]]
        shares = []
        for protocol in ("authors", "held-out"):
            for dataset in ("MSL", "SMAP", "SMD"):
                scores = pq.read_table(SCORES / protocol / dataset / f"{detector}.parquet", columns=["score"])["score"]
                shares.append(f"{100 * np.mean(scores.to_numpy() == 0):.0f} %")
        assert said == shares
    for path in SCORES.rglob("*.parquet"):
        known = read_metadata(path)
        runs = known.get("runs", [{"seed": known.get("seed"), "training": {"kept_epoch": known.get("epoch_kept")}}])
        assert [run["seed"] for run in runs] == [0]
        if known["detector"] == "anomaly_transformer":
            assert runs[0]["training"]["kept_epoch"] == 1
        settings = known["settings"]
        if "select_on_test" in settings:
            assert settings["select_on_test"] is (path.parents[1].name == "authors")
        else:
            assert known["detector"] in ("usad", "dcdetector")
    assert {path.parent.name for path in SCORES.rglob("*.parquet")} == {"MSL", "SMAP", "SMD"}


def test_every_score_file_names_protocol_and_seed_and_the_commit_where_records_had_one() -> None:
    """Files of the paper's protocol are older than the record of the commit, which the page says."""
    for path in SCORES.rglob("*.parquet"):
        known = read_metadata(path)
        assert known["protocol"] == path.parents[1].name
        if path.parents[1].name == "authors":
            assert known["seed"] == 0
        else:
            assert [run["seed"] for run in known["runs"]] == [0]
            assert len(known["pateval"]["commit"].rstrip("+")) == 40
    assert "but no commit (they were added in f1f54e7)" in " ".join((RESULTS / "README.md").read_text().split())


def test_the_page_names_every_file_that_the_race_had() -> None:
    """Files of our own protocol that were trained with CUDA graphs, beside other seeds."""
    page = (RESULTS / "README.md").read_text()
    sound = [
        f"{path.parent.name}/{path.stem}"
        for path in sorted((SCORES / "held-out").rglob("*.parquet"))
        if not read_metadata(path)["settings"]["cuda_graph"]
    ]
    assert len(sound) == 3
    for name in sound:
        assert f"`{name}`" in page
    assert "12 of the 15 files" in page


def test_held_out_files_hold_out_a_tenth_of_each_series() -> None:
    for path in (SCORES / "held-out").rglob("*.parquet"):
        (run,) = read_metadata(path)["runs"]
        assert run["boundaries_kept"] is True
        assert run["steps"] == pq.read_metadata(path).num_rows
        assert run["dropped_steps"] == 0
