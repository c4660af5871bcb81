"""`pateval metrics`: the catalogue as a table, one entry in full, for programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pateval.catalog import DEFINITION_HISTORY, catalogue, initials
from pateval.catalog.table import all_metrics
from pateval.cli import pateval

LISTED = catalogue(channels=True)


def run(*arguments):
    result = CliRunner().invoke(pateval, ["metrics", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def test_the_whole_table():
    assert run().splitlines()[0].split() == ["metric", "takes", "range", "better", "properties"]
    lines = run("--wide").splitlines()
    assert lines[0].split() == ["metric", "takes", "range", "better", "threshold", "properties", "paper"]
    assert [line.split()[0] for line in lines[2:]] == list(LISTED)
    row = next(line for line in lines if line.startswith("mean_detection_delay"))
    assert row.split()[1:8] == ["predictions", "0", "to", "inf", "lower", "needed", "s--o--"]
    markdown = run("--format", "markdown").splitlines()
    assert markdown[0] == "# All metrics side by side"
    first = next(number for number, line in enumerate(markdown) if line.startswith("| ---")) + 1
    assert [line.split("|")[1].strip() for line in markdown[first : first + len(LISTED)]] == list(LISTED)
    assert len(run("pate", "nab", "--format", "markdown").splitlines()) == 4  # no history below a choice
    assert "](https://arxiv.org/abs/2405.12096)" in markdown[first]


def test_one_in_full():
    text = run("affiliation_f1")
    assert text.startswith("affiliation_f1\n  Affiliation precision, recall and F1.\n")
    assert "pateval.affiliation(...).f1" in text
    assert "https://arxiv.org/abs/2206.13167" in text
    assert catalogue()["affiliation_f1"].faults in text
    early = next(line for line in text.splitlines() if line.strip().startswith("early"))
    assert early.split()[1:3] == ["yes", "no"]
    early = next(line for line in run("affiliation_f1", "--wide").splitlines() if line.strip().startswith("early"))
    assert early.endswith("(differ)")
    assert "window=100, thresholds=250, variant='tsb-ad'" in run("vus_pr")
    assert "many series   all steps together" in run("pate")


def test_the_page_in_the_docs_is_what_the_command_prints():
    page = Path(__file__).parents[1] / "docs" / "metrics.md"
    assert page.read_text() == run("--format", "markdown"), "docs/metrics.md is stale; run 'make docs'"
    for line in DEFINITION_HISTORY:
        assert f"| {line.date} | {line.functions} | {line.definition} | {line.change} |" in page.read_text()


def test_options_global_options_and_definition_are_shown():
    lines = run("vus_pr(window=50,variant=original)").splitlines()
    assert lines[0] == "vus_pr(window=50,variant=original)"
    assert "  options       window=100, thresholds=250, variant='tsb-ad'" in lines
    assert "  set here      window=50, variant='original'" in lines
    assert "  reached by    --window" in lines
    assert "  definition    1" in lines
    assert "  reached by    --early --delay" in run("pate")
    assert "  reached by    no global option" in run("latency_sparsity_aware_f1")


def test_f_beta_is_listed_only_when_asked_for():
    assert "point_f_beta" not in run()
    established, emerging = run("--all", "--wide").split("\n\nEmerging: ")
    listed = [line.split()[0] for table in (established, emerging) for line in table.splitlines()[2:]]
    everything = all_metrics().values()
    assert [name for name in listed if not name.startswith("-")] == [metric.id for metric in everything]
    assert "  computed by   pateval.point(...).f_beta" in run("point_f_beta").splitlines()


def test_emerging_ones_are_listed_when_asked_for_with_what_is_wrong_with_them():
    assert "operator_interest" not in run()
    assert run("--emerging").startswith(run())
    table = run("--emerging", "--wide")
    assert "Emerging: a preprint's or one group's so far." in table
    emerging = [metric for metric in catalogue(emerging=True).values() if metric.emerging]
    for text in (table, run("--format", "markdown")):
        lines = text.splitlines()
        for metric in emerging:
            (line,) = [line for line in lines if line.removeprefix("| ").startswith(f"{metric.id} ")]
            assert metric.faults in line
    text = run("operator_interest_f1")
    assert "  emerging      computed where it is named" in text
    assert "labels and predictions, steps by channels: a threshold is needed" in run("affected_channels_f1")
    records = json.loads(run("--emerging", "--format", "json"))
    assert {record["metric"] for record in records if record["emerging"]} == {metric.id for metric in emerging}
    assert "operator_interest_f1" not in {record["metric"] for record in json.loads(run("--format", "json"))}


def test_a_metric_of_ones_own():
    text = run("support.user_metrics:cost(scale=2)")
    assert text.splitlines() == [
        "cost(scale=2)",
        "  Share of steps that are flagged.",
        "",
        "  computed by   support.user_metrics.flagged_share",
        "  takes         labels and predictions: a threshold is needed",
        "  range         0 to 1, lower is better",
        "  options       scale=1.0",
        "  set here      scale=2.0",
        "  reached by    no global option",
        "  many series   mean over the series",
        "  paper         your own, in support.user_metrics",
        "  definition    1",
        "  faults        not stated",
        "  rewards       run `pateval audit` to measure it",
    ]


@pytest.mark.parametrize("name", catalogue(channels=True, emerging=True))
def test_every_entry_can_be_shown(name):
    text = run(name)
    assert all(word in text for word in ("computed by", "range", "paper", "https://", "faults", "coverage"))


def test_for_programs():
    records = json.loads(run("--format", "json"))
    assert [record["metric"] for record in records] == list(LISTED)
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
