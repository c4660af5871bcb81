"""The score files under results/: small, and described truly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pateval.io.score_files import read_metadata, read_training_scores
from pateval.paper import inputs

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
        for protocol in ("paper", "held-out"):
            for dataset in ("MSL", "SMAP", "SMD"):
                scores = pq.read_table(SCORES / protocol / dataset / f"{detector}.parquet", columns=["score"])["score"]
                shares.append(f"{100 * np.mean(scores.to_numpy() == 0):.0f} %")
        assert said == shares
    for path in SCORES.rglob("*.parquet"):
        known = read_metadata(path)
        if known["detector"] == "anomaly_transformer":
            assert [run["training"]["kept_epoch"] for run in known["runs"]] == [1]
        settings = known["settings"]
        if "select_on_test" in settings:
            assert settings["select_on_test"] is (path.parents[1].name == "paper")
        else:
            assert known["detector"] in ("usad", "dcdetector")
    assert {path.parent.name for path in SCORES.rglob("*.parquet")} == {"MSL", "SMAP", "SMD"}


def test_every_score_file_names_protocol_seed_and_commit_and_has_its_training_scores() -> None:
    """What it takes to train it again: the same commit, without changes, made all of them."""
    commits = set()
    for path in SCORES.rglob("*.parquet"):
        known = read_metadata(path)
        assert known["protocol"] == path.parents[1].name
        (run,) = known["runs"]
        assert run["seed"] == 0
        assert run["training"]["device"] == "NVIDIA H200"
        assert read_training_scores(path).size == run["training_scores"] > 0
        commits.add(run["pateval"]["commit"])
    (commit,) = commits
    assert len(commit) == 40  # a change would be marked by a sign behind it


def test_the_trainings_are_the_commands_own() -> None:
    """The settings in the files are those that `pateval reproduce impact --train` would use today."""
    for path in SCORES.rglob("*.parquet"):
        protocol, dataset = path.parents[1].name, path.parent.name
        wanted = dict(inputs._candidate(path.stem, dataset, protocol, "cuda").settings)
        del wanted["seed"]  # stands with each run
        assert read_metadata(path)["settings"] == json.loads(json.dumps(wanted))


def test_held_out_files_hold_out_a_tenth_of_each_series() -> None:
    for path in (SCORES / "held-out").rglob("*.parquet"):
        (run,) = read_metadata(path)["runs"]
        assert run["boundaries_kept"] is True
        assert run["steps"] == pq.read_metadata(path).num_rows
        assert run["dropped_steps"] == 0
