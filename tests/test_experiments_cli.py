"""`pateval reproduce`: files, notes, exit codes."""

from __future__ import annotations

import csv
import getpass
import json
import re
import socket

import pytest

from conftest import CHECKOUT
from pateval.cli import main
from pateval.paper import EXPERIMENTS, compute, report
from pateval.paper.document import ReportTable
from pateval.paper.writing import csv_text, markdown, overview_text

RESULTS = CHECKOUT / "docs" / "results"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *map(str, arguments)])
    printed = capsys.readouterr()
    return stopped.value.code, printed.out, printed.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("results")
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "scenarios", "-o", str(made)])
    assert stopped.value.code == 0
    return made


def test_files_of_an_experiment(folder):
    expected = {"README.md", "verdicts.json", "cells.csv", "buffers.csv"}
    expected |= {"scores.png", "predictions.png", "values.png", "values.svg"}  # the other two are large as SVG
    assert {path.name for path in (folder / "scenarios").iterdir()} == expected
    assert (folder / "scenarios" / "scores.png").read_bytes().startswith(b"\x89PNG")
    assert "S10" in (folder / "scenarios" / "values.svg").read_text()
    page = (folder / "scenarios" / "README.md").read_text()
    assert "values.svg" in page
    assert "scores.svg" not in page


def test_counts_are_in_the_table(folder):
    with (folder / "scenarios" / "cells.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 110
    assert [row["agrees"] for row in rows].count("True") == 109
    for row in rows:
        assert float(row["difference"]) == float(row["ours"]) - float(row["printed"])


def test_the_page_says_what_made_it(folder):
    page = (folder / "scenarios" / "README.md").read_text()
    for part in (
        "109 of 110",
        "- command: `pateval reproduce scenarios`",
        "- source: pateval ",
        "- date: 20",
        "numpy ",
    ):
        assert part in page
    for never in (str(folder), socket.gethostname(), f"/{getpass.getuser()}/"):
        assert never not in page


def test_the_page_over_all(folder):
    text = (folder / "README.md").read_text()
    assert text == overview_text(folder)
    for heading in ("What does not reproduce", "What reproduces", "The experiments", "Not here"):
        assert f"## {heading}" in text
    assert "S5, VUS-ROC" in text
    for name in ("real-world", "impact", "ablation", "timing"):
        assert f"| {name} |" in text
    record = json.loads((folder / "scenarios" / "verdicts.json").read_text())
    assert record["summary"] in text


def test_another_experiment_joins_the_page(folder, capsys):
    status, out, _ = run(capsys, "lengths", "-o", folder)
    assert status == 0
    assert out.startswith("lengths: ")
    text = (folder / "README.md").read_text()
    assert "[lengths](lengths/README.md)" in text
    assert "[scenarios](scenarios/README.md)" in text


def test_names_are_listed(capsys):
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [*EXPERIMENTS, "all"]


def test_an_unknown_name_is_one_sentence(capsys):
    status, out, err = run(capsys, "scenarois")
    assert (status, out) == (2, "")
    assert err == "pateval: No such experiment 'scenarois'. Did you mean 'scenarios'?\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("real-world", "--root"),
        ("segments", "--scores"),
        ("ablation", "--scores"),
        ("chance", "--root"),
        ("consistency", "--root"),
    ],
)
def test_missing_data_are_one_sentence(name, hint, tmp_path, capsys):
    status, out, err = run(capsys, name, "-o", tmp_path / "out", "--root", tmp_path, "--scores", tmp_path)
    assert (status, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith(f"pateval: {name} needs ")
    assert hint in last
    assert not (tmp_path / "out").exists()


def test_the_default_folder_is_announced(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "categories")
    assert status == 0
    assert "writing to pateval-results" in err
    assert (tmp_path / "pateval-results" / "categories" / "README.md").is_file()


def test_options_are_written_without_their_paths(tmp_path, capsys):
    run(capsys, "ranks", "-o", tmp_path / "out", "--scores", tmp_path, "--seeds", 3)
    page = (tmp_path / "out" / "ranks" / "README.md").read_text()
    assert "- command: `pateval reproduce ranks --scores FOLDER --seeds 3`" in page
    assert str(tmp_path) not in page


def test_all_skips_what_has_no_data(tmp_path, capsys):
    status, out, err = run(
        capsys, "all", "-o", tmp_path / "out", "--root", tmp_path, "--scores", tmp_path, "--largest", 1000
    )
    assert status == 0
    made = [line.split(":")[0] for line in out.splitlines()]
    skipped = [line.split()[0] for line in err.splitlines() if " skipped: " in line]
    assert skipped == ["real-world", "impact", "ablation", "segments", "chance", "consistency"]
    assert made == [name for name in EXPERIMENTS if name not in skipped]


def test_all_goes_on_after_a_failure(tmp_path, monkeypatch, capsys):
    from pateval.paper import categories, lengths

    kept = {name: EXPERIMENTS[name] for name in ("categories", "lengths")}
    monkeypatch.setattr("pateval.paper.EXPERIMENTS", kept)

    def broken(settings):
        raise OSError("the disk is full")

    monkeypatch.setattr(categories, "compute", broken)
    status, out, err = run(capsys, "all", "-o", tmp_path)
    assert status == 1
    assert "categories failed: the disk is full" in err
    assert out.startswith("lengths: ")
    assert lengths.compute is not broken


def test_tables_keep_missing_values_empty():
    table = ReportTable("t", "", ["a", "b"], [["x|y", None], ["z", float("nan")]])
    assert csv_text(table) == "a,b\nx|y,\nz,\n"
    assert markdown(table).splitlines()[2:] == ["| x\\|y | - |", "| z | - |"]


class TestCommittedResults:
    def test_the_page_over_all_is_current(self):
        """Whoever makes one result anew commits the page that came with it."""
        assert (RESULTS / "README.md").read_text() == overview_text(RESULTS)

    def test_links_lead_somewhere(self):
        for page in RESULTS.rglob("*.md"):
            for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
                assert (page.parent / target).is_file(), f"{page.relative_to(RESULTS)}: {target}"

    def test_the_numbers_are_those_of_today(self):
        for name in ("scenarios", "properties", "ranks"):
            record = json.loads((RESULTS / name / "verdicts.json").read_text())
            assert record["summary"] == report(name, compute(name)).summary
