"""`pateval reproduce`: files, notes, exit codes."""

from __future__ import annotations

import csv
import getpass
import json
import re
import socket
import statistics

import pytest

from conftest import CHECKOUT
from pateval.cli import main
from pateval.paper import EXPERIMENTS, ExperimentSettings, compute, paper_tables
from pateval.paper.document import PageTable, overview_text, page_text

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
    for heading in ("What does not reproduce", "What reproduces in part", "What reproduces", "Not here"):
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


def test_results_of_an_older_version_count_as_not_made(tmp_path):
    (tmp_path / "lengths").mkdir()
    old = {"title": "t", "summary": "s", "date": "", "source": "", "verdicts": [{"item": "i", "status": "open"}]}
    (tmp_path / "lengths" / "verdicts.json").write_text(json.dumps(old))
    assert "| lengths | appendix figure | not run yet |" in overview_text(tmp_path)


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
    from pateval.paper import definitions

    kept = {name: EXPERIMENTS[name] for name in ("categories", "lengths")}
    monkeypatch.setattr("pateval.paper.EXPERIMENTS", kept)

    def broken(settings):
        raise OSError("the disk is full")

    monkeypatch.setattr(definitions, "categories", broken)
    status, out, err = run(capsys, "all", "-o", tmp_path)
    assert status == 1
    assert "categories failed: the disk is full" in err
    assert out.startswith("lengths: ")


def test_tables_keep_missing_values_empty():
    table = PageTable("t", "", [{"a": "x|y", "b": None}, {"a": "z", "b": float("nan")}])
    assert table.csv() == "a,b\nx|y,\nz,\n"
    assert table.markdown().splitlines()[2:] == ["| x\\|y | - |", "| z | - |"]


class TestCommittedResults:
    def test_the_page_over_all_is_current(self):
        """Whoever makes one result anew commits the page that came with it."""
        assert (RESULTS / "README.md").read_text() == overview_text(RESULTS)

    def test_links_lead_somewhere(self):
        for page in RESULTS.rglob("*.md"):
            for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
                assert (page.parent / target).is_file(), f"{page.relative_to(RESULTS)}: {target}"

    @pytest.mark.parametrize("name", ["scenarios", "properties", "categories", "lengths", "early-late"])
    def test_pages_that_need_no_data_are_those_of_today(self, name):
        check_committed(name, compute(name))

    @pytest.mark.parametrize("name", ["consistency", "segments"])
    def test_pages_from_the_data_at_hand_are_those_of_today(self, name, real_data):
        settings = ExperimentSettings(root=real_data, scores=CHECKOUT / "results" / "scores")
        check_committed(name, compute(name, settings))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["readings", "real-world", "chance"])
    def test_pages_that_take_minutes_are_those_of_today(self, name, real_data):
        settings = ExperimentSettings(root=real_data, scores=CHECKOUT / "results" / "scores")
        check_committed(name, compute(name, settings))

    @pytest.mark.slow
    def test_what_the_score_files_here_give_is_in_the_big_table_of_all_seeds(self, real_data):
        """The page is made of five seeds; of those the first is in the checkout."""
        settings = ExperimentSettings(root=real_data, scores=CHECKOUT / "results" / "scores")
        made = compute("impact", settings)
        for table, unit in (("values", "run"), ("own-seeds", "seed"), ("training", "seed")):
            now = made.table(table).rows
            here = {(row["detector"], str(row[unit])) for row in now}
            check_rows([row for row in committed_rows("impact", table) if (row["detector"], row[unit]) in here], now)

    def test_pages_of_all_seeds_agree_with_each_other(self):
        """Ranks and buffer sizes are of the same runs as the big table, whose every run is kept."""
        runs = {}
        for row in committed_rows("impact", "values"):
            if row["run"].startswith("seed"):
                place = row["metric"], row["data set"], row["detector"]
                runs.setdefault(place, []).append(float(row["ours"] or "nan"))
        assert {len(values) for values in runs.values()} == {5}
        for row in committed_rows("ranks", "our-values"):
            for detector in paper_tables.DETECTORS:
                expected = statistics.median(runs[row["metric"], row["data set"], detector])
                assert float(row[detector]) == pytest.approx(expected, rel=1e-6)
        for row in committed_rows("ablation", "values"):
            if row["buffer size"] == str(paper_tables.IMPACT_BUFFER) and row["data set"] != "mean":
                for detector in paper_tables.DETECTORS:
                    expected = statistics.mean(runs["PATE", row["data set"], detector])
                    assert float(row[detector]) == pytest.approx(expected, rel=1e-6)

    def test_ranks_from_the_printed_table_are_those_of_today(self, tmp_path):
        made = compute("ranks", ExperimentSettings(scores=tmp_path))
        check_rows(committed_rows("ranks", "printed"), made.table("printed").rows)
        assert json.loads((RESULTS / "ranks" / "verdicts.json").read_text())["verdicts"] == made.statements

    def test_every_experiment_has_its_page(self):
        assert {path.parent.name for path in RESULTS.glob("*/verdicts.json")} == set(EXPERIMENTS)


def check_committed(name, made):
    """The page made now has the words of the committed one, and its tables have the same numbers."""
    place = RESULTS / name
    committed = (place / "README.md").read_text().partition("\n## What made this page\n")[0]
    vectors = {path.stem for path in place.glob("*.svg")}
    assert page_text(made, vectors).strip() == committed.strip()
    for table in made.tables:
        if table.in_csv:
            rows = committed_rows(name, table.name)
            assert list(rows[0]) == table.columns
            check_rows(rows, table.rows)


def committed_rows(name, table):
    with (RESULTS / name / f"{table}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def check_rows(committed, made):
    """Rows of a committed table are those that were made now: numbers to six digits, all else exactly."""
    for row, now in zip(committed, made, strict=True):
        for kept, value in zip(row.values(), now.values(), strict=True):
            if isinstance(value, float):
                assert float(kept or "nan") == pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)
            else:
                assert kept == ("" if value is None else str(value))
