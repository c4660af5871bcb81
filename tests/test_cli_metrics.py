"""`pateval metrics`: the catalogue as a table, one entry in full, for programs."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner

from pateval.catalog import catalogue, initials
from pateval.cli import pateval


def run(*arguments):
    result = CliRunner().invoke(pateval, ["metrics", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def test_the_whole_table():
    lines = run().splitlines()
    assert lines[0].split() == ["metric", "takes", "range", "better", "threshold", "properties", "paper"]
    assert [line.split()[0] for line in lines[2:]] == list(catalogue())
    row = next(line for line in lines if line.startswith("mean_detection_delay"))
    assert row.split()[1:8] == ["predictions", "0", "to", "inf", "lower", "needed", "s--o--"]
    markdown = run("--format", "markdown").splitlines()
    assert len(markdown) == 2 + len(catalogue())
    assert "](https://arxiv.org/abs/2405.12096)" in markdown[2]


def test_one_in_full():
    text = run("affiliation_f1")
    assert text.startswith("affiliation_f1\n  Affiliation precision, recall and F1.\n")
    assert "pateval.affiliation(...).f1" in text
    assert "https://arxiv.org/abs/2206.13167" in text
    assert catalogue()["affiliation_f1"].faults in text
    early = next(line for line in text.splitlines() if line.strip().startswith("early"))
    assert early.split()[1:3] == ["yes", "no"]
    assert early.endswith("(differ)")
    assert "window=100, thresholds=250, variant='tsb-ad'" in run("vus_pr")
    assert "many series   all steps together" in run("pate")


@pytest.mark.parametrize("name", catalogue())
def test_every_entry_can_be_shown(name):
    text = run(name)
    assert all(word in text for word in ("computed by", "range", "paper", "https://", "faults", "coverage"))


def test_for_programs():
    records = json.loads(run("--format", "json"))
    assert [record["metric"] for record in records] == list(catalogue())
    first = records[0]
    assert first["options"] == {"early": [0, 100], "delay": [0, 100], "thresholds": None}
    assert "".join(name[0] for name in first["properties"]) == initials(catalogue()["pate"].properties)
    by_name = {record["metric"]: record for record in records}
    assert by_name["nab"]["low"] is None
    assert by_name["nab"]["paper_properties"] is None
    assert by_name["point_f1"]["paper_properties"] == []
    rows = list(csv.DictReader(io.StringIO(run("nab", "pate", "--format", "csv"))))
    assert [row["metric"] for row in rows] == ["nab", "pate"]
    assert rows[0]["options"] == "profile='standard' probation=0.15"


def test_unknown():
    with pytest.raises(ValueError, match="unknown metric 'affiliation'; did you mean 'affiliation_f1'"):
        run("affiliation")
