"""Entries to a board: what is refused, what a build writes, what it remembers, and what it keeps to itself."""

from __future__ import annotations

import dataclasses
import json
import shutil
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import pateval as pv
from pateval.cli import pateval as command
from pateval.entries import build, problems_of, site
from pateval.entries.entry import look_ahead, read_entry
from pateval.entries.site import objections
from pateval.io import TableError
from support.messages import raises_exactly

LABELS = {
    name: np.repeat([0, 1, 0, 1, 0], lengths)
    for name, lengths in (("s1", (40, 6, 50, 9, 45)), ("s2", (60, 9, 80, 4, 7)))
}
OPTIONS = {"metrics": "pate_ap,point_f1", "chance": 2, "workers": 1}
FACTS = {
    "name": "A detector",
    "authors": ["A. Author", "B. Author"],
    "link": "https://example.org/detector",
    "licence": "MIT",
    "causal": True,
    "training": "none",
    "cost": "1 s",
}
FIELDS = [*FACTS, "detector", "settings"]


def make_entry(folder, seed, *, labels=LABELS, **facts):
    """Write an entry whose scores are drawn with a seed."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    parts = {name: 0.5 * LABELS[name] + rng.random(LABELS[name].size) for name in labels}
    columns = {
        "series": [name for name in labels for _ in labels[name]],
        "label": np.concatenate([*labels.values()]),
        "score": np.concatenate([*parts.values()]),
    }
    pq.write_table(pa.table(columns), folder / f"{folder.name}.parquet")
    write_facts(folder, **facts)
    return folder


def write_facts(folder, **facts):
    """Write entry.toml; None leaves a field out."""
    chosen = {name: value for name, value in {**FACTS, **facts}.items() if value is not None}
    (folder / "entry.toml").write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in chosen.items()))


@pytest.fixture
def entries(tmp_path):
    """Two entries."""
    for seed, name in enumerate(("acme", "zeta")):
        make_entry(tmp_path / "entries" / name, seed)
    return tmp_path / "entries"


def built(entries, where, day="2026-11-18", **options):
    return build(entries, where, day=date.fromisoformat(day), **{**OPTIONS, **options})


def content_of(where, timed=("run.json", "timings.csv", "report.html")):
    """All files of a site but the cache, and what holds durations."""
    files = (
        path for path in where.rglob("*") if path.is_file() and "cache" not in path.parts and path.name not in timed
    )
    return {str(path.relative_to(where)): path.read_bytes() for path in files}


class TestEntry:
    """What is wrong with an entry by itself, one sentence each."""

    def test_nothing(self, entries):
        assert list(problems_of(entries / "acme")) == []

    @pytest.mark.parametrize(
        ("facts", "said"),
        [
            ({"cost": None, "link": None}, "'link', 'cost' must be there, too"),
            ({"causal": "yes"}, "causal must be true or false; got 'yes'"),
            ({"authors": "me"}, "authors must be a list of texts; got 'me'"),
            ({"authors": []}, "authors must be a list of texts of 1 to 500 visible characters; got []"),
            ({"name": "  "}, "name must be text of 1 to 500 visible characters; got ' '"),
            ({"name": "a\x1b[31mb"}, r"name must be text of 1 to 500 visible characters; got 'a\x1b[31mb'"),
            ({"name": "a\u202eb"}, r"name must be text of 1 to 500 visible characters; got 'a\u202eb'"),
            (
                {"link": "javascript:alert(1)"},
                "link must be an address that begins with https:// or http://; got 'javascript:alert(1)'",
            ),
            (
                {"detector": "../../x:Y"},
                "detector must be one of `pateval detect --list`, or package.module:Class; got '../../x:Y'",
            ),
            ({"scores": "../../x.parquet"}, f"there is no field 'scores'; the fields are {', '.join(FIELDS)}"),
        ],
    )
    def test_facts(self, entries, facts, said):
        write_facts(entries / "acme", **facts)
        assert list(problems_of(entries / "acme")) == [f"{entries / 'acme' / 'entry.toml'}: {said}"]

    def test_no_facts(self, entries):
        (entries / "acme" / "entry.toml").write_text("name = [")
        (problem,) = problems_of(entries / "acme")
        assert problem.startswith(f"{entries / 'acme' / 'entry.toml'}: not valid TOML (")
        (entries / "acme" / "entry.toml").unlink()
        (problem,) = problems_of(entries / "acme")
        assert problem == f"{entries / 'acme' / 'entry.toml'}: there is no such file or folder"

    def test_no_scores(self, entries):
        (entries / "acme" / "acme.parquet").unlink()
        assert list(problems_of(entries / "acme")) == [
            f"{entries / 'acme'}: there are no scores; they are in a table called like the folder, such as acme.parquet"
        ]

    @pytest.mark.parametrize("target", ["../../outside.parquet", "/etc/passwd", "zeta.parquet"])
    def test_links(self, entries, tmp_path, target):
        (tmp_path / "outside.parquet").write_bytes(b"secret")
        link = entries / "acme" / "more.parquet"
        link.symlink_to(target)
        assert list(problems_of(entries / "acme")) == [
            f"{link}: a link, or no plain file; an entry holds its files itself"
        ]

    def test_a_folder_that_is_a_link_and_folders_within(self, entries, tmp_path):
        (entries / "other").symlink_to(tmp_path / "entries" / "acme", target_is_directory=True)
        assert "a link, or no plain file" in next(problems_of(entries / "other"))
        (entries / "acme" / "more").mkdir()
        assert list(problems_of(entries / "acme")) == [
            f"{entries / 'acme' / 'more'}: a folder within an entry; its files lie side by side"
        ]

    @pytest.mark.parametrize("name", ["a b", "-rf", "<img src=x>", "a\nb", "a.", "é", "a" * 81])
    def test_names_of_folders(self, tmp_path, name):
        folder = tmp_path / name
        folder.mkdir()
        first = next(problems_of(folder))
        assert "the folder's name is the detector's on the board" in first
        assert "\n" not in first.removeprefix(str(folder))

    @pytest.mark.parametrize("name", ["index", "Index.x", "CON", "nul.txt", "lpt1"])
    def test_names_that_pages_cannot_have(self, tmp_path, name):
        (tmp_path / name).mkdir()
        said = next(problems_of(tmp_path / name))
        assert said.endswith(f"{name!r} is the name of the site's first page, or of a device; give it another one")


class TestAgainstABoard:
    """What does not go with a board."""

    @pytest.fixture
    def board(self, entries, tmp_path):
        return built(entries, tmp_path / "site").board

    def test_nothing(self, entries, board):
        assert list(objections(make_entry(entries / "new", 7), board)) == []
        # A new version of what is there already.
        assert list(objections(make_entry(entries / "acme", 8), board)) == []

    def test_swapped_labels(self, entries, board):
        swapped = {"s1": LABELS["s1"][::-1].copy(), "s2": LABELS["s2"]}
        (said,) = objections(make_entry(entries / "new", 7, labels=swapped), board)
        assert "1 of 2 series ('s1') have other labels" in said

    def test_other_series(self, entries, board):
        fewer = make_entry(entries / "new", 7, labels={"s2": LABELS["s2"]})
        assert list(objections(fewer, board)) == [f"{fewer}: 1 of the board's 2 series has no scores ('s1')"]

    def test_a_definition_of_another_release(self, entries, board):
        signatures = {name: text.replace("definition:1", "definition:0") for name, text in board.signatures.items()}
        (said,) = objections(make_entry(entries / "new", 7), dataclasses.replace(board, signatures=signatures))
        assert "pate_ap is of another definition than here (1), pate_ap|" in said

    def test_an_unreadable_table(self, entries, board):
        (entries / "acme" / "acme.parquet").write_bytes(b"PAR1 no")
        (said,) = objections(entries / "acme", board)
        assert str(entries / "acme" / "acme.parquet") in said


class TestBuild:
    """The board, its history, its pages."""

    def test_two_builds_and_a_changed_entry(self, entries, tmp_path):
        where = tmp_path / "site"
        first = built(entries, where, "2026-11-18")
        assert first.news["entered"] == ["acme", "zeta"]
        make_entry(entries / "new", 7, name="<script>alert(1)</script>")
        make_entry(entries / "acme", 8)
        second = built(entries, where, "2026-11-19")
        assert (second.news["entered"], second.news["left"]) == (["new"], [])
        changed = second.news["changed"]
        assert {(one["detector"], one["by"]) for one in changed} == {("acme", "other scores")}
        (mean,) = (
            row["mean"] for row in first.board.summary_rows if (row["detector"], row["metric"]) == ("acme", "pate_ap")
        )
        assert changed[0]["from"] == mean
        history = json.loads((where / "history.json").read_text())
        assert [line["day"] for line in history] == ["2026-11-18", "2026-11-19"]
        assert len(history[0]["labels"]) == 64
        assert history[0]["labels"] == history[1]["labels"]
        page = (where / "entries" / "new.html").read_text()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<script" not in page
        assert "2026-11-19: new came." in page
        assert "default-src &#39;none&#39;" in page
        assert pv.verify(where / "board", all=True).agrees
        # The same board as all at once.
        once = built(entries, tmp_path / "other", "2026-11-19")
        assert (where / "board" / "scores.parquet").read_bytes() == (
            tmp_path / "other" / "board" / "scores.parquet"
        ).read_bytes()
        assert once.board.detectors == second.board.detectors

    def test_nothing_new(self, entries, tmp_path):
        table = pq.read_table(entries / "acme" / "acme.parquet")
        values = pa.array(np.random.default_rng(3).random(table.num_rows))
        pq.write_table(table.append_column("value", values), entries / "acme" / "acme.parquet")
        assert built(entries, tmp_path / "site").board.one_liners is not None
        before = content_of(tmp_path / "site", timed=())
        assert built(entries, tmp_path / "site", "2027-01-01").news is None
        assert content_of(tmp_path / "site", timed=()) == before

    def test_who_leaves_has_no_page(self, entries, tmp_path):
        built(entries, tmp_path / "site")
        for path in (entries / "zeta").iterdir():
            path.unlink()
        (entries / "zeta").rmdir()
        assert built(entries, tmp_path / "site").news["left"] == ["zeta"]
        assert [path.name for path in (tmp_path / "site" / "entries").iterdir()] == ["acme.html"]

    @pytest.mark.parametrize("place", ["leaderboard", "_write_pages", "Leaderboard.save", "Leaderboard.to_report"])
    def test_a_killed_build_goes_on(self, entries, tmp_path, monkeypatch, place):
        """Wherever it ends, before a step or after it, the next build ends in the bytes of one that was not killed."""
        for where in ("site", "whole"):
            built(entries, tmp_path / where)
        make_entry(entries / "new", 7)
        built(entries, tmp_path / "whole", "2026-11-19")
        kept = content_of(tmp_path / "whole")
        owner, _, name = place.rpartition(".")
        target = pv.Leaderboard if owner else site
        real = getattr(target, name)

        def killed_before(*_, **__):
            raise KeyboardInterrupt

        def killed_after(*arguments, **options):
            real(*arguments, **options)
            raise KeyboardInterrupt

        for kill in (killed_before, killed_after):
            with monkeypatch.context() as patch:
                patch.setattr(target, name, kill)
                with pytest.raises(KeyboardInterrupt):
                    built(entries, tmp_path / "site", "2026-11-19")
        built(entries, tmp_path / "site", "2026-11-19")
        assert content_of(tmp_path / "site") == kept

    def test_killed_while_the_board_is_written(self, entries, tmp_path):
        """Then the folder is no board yet, and the history knows what it was to be."""
        where = tmp_path / "site"
        built(entries, where)
        make_entry(entries / "new", 7)
        built(entries, where, "2026-11-19")
        kept = content_of(where)
        (where / "board" / "run.json").unlink()
        (where / "board" / "summary.csv").unlink()
        assert built(entries, where, "2026-11-20").news is None
        assert content_of(where) == kept
        (where / "board" / "run.json").unlink()
        make_entry(entries / "new", 8)
        with pytest.raises(TableError, match="not the history of the board beside it"):
            built(entries, where, "2026-11-21")

    def test_by_which_definition_a_number_changed(self, entries, tmp_path):
        board = built(entries, tmp_path / "site").board
        signatures = {name: text.replace("definition:1", "definition:0") for name, text in board.signatures.items()}
        old = dataclasses.replace(board, signatures=signatures, values=board.values / 2)
        causes = {one["by"] for one in site._news(old, board)["changed"]}
        assert causes == {"definition 0 became 1"}

    def test_other_options_are_the_reason(self, entries, tmp_path):
        built(entries, tmp_path / "site")
        changed = built(entries, tmp_path / "site", early=[0, 5]).news["changed"]
        assert {one["by"] for one in changed} == {"early (0, 100) became (0, 5)"}
        assert {one["metric"] for one in changed} == {"pate_ap"}


class TestRefused:
    """What is refused in a sentence, with nothing written but the cache."""

    def refused(self, entries, where, **options):
        before = content_of(where)
        with pytest.raises(TableError) as caught:
            built(entries, where, **options)
        assert content_of(where) == before
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_a_tampered_value(self, entries, tmp_path):
        where = tmp_path / "site"
        built(entries, where)
        scores = where / "board" / "scores.parquet"
        table = pq.read_table(scores)
        values = [0.999, *table["value"].to_pylist()[1:]]
        pq.write_table(table.set_column(table.schema.get_field_index("value"), "value", pa.array(values)), scores)
        assert not pv.verify(where / "board", all=True).agrees
        assert "scores.parquet" in self.refused(entries, where)

    def test_a_board_of_another_history(self, entries, tmp_path):
        where = tmp_path / "site"
        built(entries, where)
        make_entry(entries / "new", 7)
        other = built(entries, tmp_path / "other").board
        other.save(where / "board", overwrite=True)
        said = self.refused(entries, where)
        assert said.startswith(f"{where / 'history.json'}: not the history of the board beside it")
        (where / "history.json").write_text("[{}]")
        assert "not the history that a build writes" in self.refused(entries, where)

    def test_a_history_that_was_changed_by_hand(self, entries, tmp_path):
        where = tmp_path / "site"
        built(entries, where)
        make_entry(entries / "new", 7)
        built(entries, where)
        lines = json.loads((where / "history.json").read_text())
        for changed in (
            [{**lines[0], "left": ["acme"]}, lines[1]],
            [lines[0], {**lines[1], "day": "2020-01-01"}],
            lines[1:],
        ):
            (where / "history.json").write_text(json.dumps(changed))
            assert "history.json: a line is not as it was written" in self.refused(entries, where)

    def test_swapped_labels(self, entries, tmp_path):
        where = tmp_path / "site"
        built(entries, where)
        swapped = {"s1": LABELS["s1"][::-1].copy(), "s2": LABELS["s2"]}
        make_entry(entries / "new", 7, labels=swapped)
        assert "labels differ from those of most detectors in 1 of 2 series" in self.refused(entries, where)
        for seed, name in enumerate(("acme", "zeta", "new")):
            make_entry(entries / name, seed, labels=swapped)
        assert self.refused(entries, where) == (
            f"{entries}: the labels of 1 series ('s1') are not those that {where / 'board'} was made with; take them "
            "back, or build another site"
        )

    def test_what_is_wrong_with_an_entry(self, entries, tmp_path):
        (entries / "acme" / "link").symlink_to("/etc/passwd")
        where = tmp_path / "site"
        assert "a link, or no plain file" in self.refused(entries, where)
        assert not where.exists()

    def test_names_that_differ_in_capitals(self, entries, tmp_path):
        if (entries / "ACME").exists():
            pytest.skip("the file system does not tell capitals")
        make_entry(entries / "ACME", 3)
        assert "another entry has this name but for capitals" in self.refused(entries, tmp_path / "site")

    def test_files_of_series_without_labels_elsewhere(self, entries, tmp_path):
        (entries / "acme" / "acme.parquet").rename(entries / "acme" / "s1.parquet")
        assert self.refused(entries, tmp_path / "site") == (
            f"{entries / 'acme'}: scores lie in a file for each series where labels lie elsewhere (--labels), and "
            "otherwise, with the labels, in one table called acme.parquet, or another suffix"
        )

    @pytest.mark.parametrize("names", [["zeta"], ["acme", "zeta"], ["other"]])
    def test_scores_of_others(self, entries, tmp_path, names):
        """A column of detectors could change the values of another entry."""
        board = built(entries, tmp_path / "site").board
        path = entries / "acme" / "acme.parquet"
        table = pq.read_table(path)
        more = [table.append_column("detector", pa.array([name] * table.num_rows)) for name in names]
        pq.write_table(pa.concat_tables(more), path)
        said = f"{path}: it has scores of {', '.join(map(repr, names))}, and is to have those of acme alone"
        assert self.refused(entries, tmp_path / "site").startswith(said)
        assert next(objections(entries / "acme", board)).startswith(said)

    def test_a_site_among_the_entries(self, entries):
        for place in (entries, entries / "acme" / ".." / "site", entries.parent):
            assert self.refused(entries, place) == (
                f"{place}: the site would lie among the entries; name a folder outside of {entries}"
            )

    def test_a_folder_of_other_things(self, entries, tmp_path):
        (tmp_path / "www").mkdir()
        (tmp_path / "www" / "index.html").write_text("mine")
        assert self.refused(entries, tmp_path / "www") == (
            f"{tmp_path / 'www'}: the folder holds other things (index.html), and no history.json; name another one"
        )

    def test_no_entries(self, tmp_path):
        (tmp_path / "none").mkdir()
        with raises_exactly(
            TableError, f"{tmp_path / 'none'}: there is no entry; each is a folder with entry.toml and scores"
        ):
            built(tmp_path / "none", tmp_path / "site")


class TestHeldLabels:
    """Labels that only the organiser has."""

    @pytest.fixture
    def apart(self, tmp_path):
        """Scores in a file for each series, and labels elsewhere."""
        for seed, name in enumerate(("acme", "zeta")):
            folder = tmp_path / "entries" / name
            folder.mkdir(parents=True)
            write_facts(folder)
            rng = np.random.default_rng(seed)
            for series, labels in LABELS.items():
                (folder / f"{series}.csv").write_text("\n".join(map(str, 0.5 * labels + rng.random(labels.size))))
        (tmp_path / "labels").mkdir()
        for series, labels in LABELS.items():
            (tmp_path / "labels" / f"{series}.csv").write_text("\n".join(["label", *map(str, labels)]))
        return tmp_path

    def test_scores_in_numbers_out(self, apart):
        where = apart / "site"
        found = built(apart / "entries", where, labels=apart / "labels", private=apart / "private")
        assert found.board.detectors == ("acme", "zeta")
        assert sorted(path.name for path in where.iterdir()) == ["entries", "history.json", "index.html", "report.html"]
        report = (where / "report.html").read_text()
        assert '"drilldowns":[]' in report
        history = (where / "history.json").read_text()
        assert "the typical event" not in report
        single = pq.read_table(apart / "private" / "series.parquet")["labels"].to_pylist()
        assert all(text and text not in history + report for text in single)
        assert pv.verify(apart / "private", all=True).agrees

    def test_the_board_stays_outside(self, apart):
        for private in (None, apart / "site" / "kept"):
            with pytest.raises(TableError, match="the board would tell the labels held back; name a folder outside of"):
                built(apart / "entries", apart / "site", labels=apart / "labels", private=private)
        assert not (apart / "site").exists()

    def test_who_has_no_labels_checks_the_series(self, apart):
        board = built(apart / "entries", apart / "site", labels=apart / "labels", private=apart / "private").board
        assert list(objections(apart / "entries" / "acme", board)) == []
        assert list(objections(apart / "entries" / "acme", board, apart / "labels")) == []
        (apart / "entries" / "acme" / "s1.csv").rename(apart / "entries" / "acme" / "s3.csv")
        assert list(objections(apart / "entries" / "acme", board)) == [
            f"{apart / 'entries' / 'acme'}: 1 of the board's 2 series has no scores ('s1')",
            f"{apart / 'entries' / 'acme'}: 1 series is not on the board ('s3')",
        ]


class TestCausal:
    """An entry that says it is causal is run."""

    @pytest.fixture
    def data(self, tmp_path):
        values = np.sin(np.arange(400) / 5) + np.random.default_rng(0).normal(size=400) / 10
        rows = [f"{value},{int(step in range(330, 340))}" for step, value in enumerate(values)]
        path = tmp_path / "data" / "pump.csv"
        path.parent.mkdir()
        path.write_text("\n".join(["value,label", *rows]))
        return path

    @pytest.mark.parametrize(("detector", "passes"), [("moving_zscore", True), ("pca", False)])
    def test_look_ahead(self, entries, data, detector, passes):
        write_facts(entries / "acme", detector=detector)
        done = CliRunner().invoke(command, ["board", "check", str(entries / "acme"), "--run-on", str(data)])
        assert done.exit_code == (0 if passes else 1), done.output
        assert (
            done.stdout.startswith(f"{entries / 'acme'}: it says it is causal, and pca is not: on series 'pump'")
            != passes
        )

    def test_what_does_not_say_so_is_not_run(self, entries, data):
        write_facts(entries / "acme", detector="pca", causal=False)
        assert (
            CliRunner().invoke(command, ["board", "check", str(entries / "acme"), "--run-on", str(data)]).exit_code == 0
        )

    def test_what_cannot_be_run(self, entries, data):
        from pateval.datasets import load

        write_facts(entries / "acme", detector="nothing.of.the:Kind")
        (said,) = look_ahead(read_entry(entries / "acme"), load(data))
        assert said.startswith(f"{entries / 'acme'}: nothing.of.the:Kind cannot be run on series 'pump': ")


def test_the_command_line(entries, tmp_path):
    where = tmp_path / "site"
    arguments = ["board", "build", str(entries), "-o", str(where), "--metrics", "pate_ap", "--workers", "1"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{where / 'index.html'}: 2 entries; 2 came, 0 left, 0 means changed\n"
    again = CliRunner().invoke(command, arguments)
    assert again.stdout == f"{where / 'index.html'}: 2 entries; 0 came, 0 left, 0 means changed\n"
    check = ["board", "check", str(make_entry(entries / "new", 7)), "--against", str(where / "board")]
    done = CliRunner().invoke(command, check)
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"{entries / 'new'}: nothing is wrong with it" in done.stderr
    write_facts(entries / "new", cost=None, causal="no")
    done = CliRunner().invoke(command, check)
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == 2


EXAMPLE = Path(__file__).parents[1] / "examples" / "board" / "entries" / "acme-knn"


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the examples are in the repository only")
def test_the_example_lacks_its_scores_only(tmp_path):
    (problem,) = problems_of(EXAMPLE)
    assert problem.endswith("there are no scores; they are in a table called like the folder, such as acme-knn.parquet")
    shutil.copytree(EXAMPLE, tmp_path / "acme-knn")
    (tmp_path / "acme-knn" / "acme-knn.csv").write_text("series,label,score\n")
    assert list(problems_of(tmp_path / "acme-knn")) == []


def test_on_a_dask_cluster(entries, tmp_path):
    """A cluster gives the bytes that this process gives."""
    pytest.importorskip("distributed")
    from support.dask_cluster import running_cluster

    built(entries, tmp_path / "here")
    with running_cluster(tmp_path) as (client, _):
        built(entries, tmp_path / "there", executor=client.get_executor(), workers=2)
    here, there = content_of(tmp_path / "here"), content_of(tmp_path / "there")
    assert here == there


def test_published_detectors_as_entries(nab, tmp_path):
    """A real board: three of NAB's detectors, one after the other, and all at once."""
    wanted = pa.array([f"realTweets/Twitter_volume_{name}.csv" for name in ("AAPL", "GOOG")])
    chosen = {path.stem: pq.read_table(path) for path in sorted(nab.glob("*.parquet"))[:3]}
    for name, table in chosen.items():
        (tmp_path / "entries" / name).mkdir(parents=True)
        write_facts(tmp_path / "entries" / name)
        mine = table.filter(pyarrow.compute.is_in(table["series"], wanted))
        pq.write_table(mine, tmp_path / "entries" / name / f"{name}.parquet")
        built(tmp_path / "entries", tmp_path / "site", metrics="pate_ap", chance=0)
    built(tmp_path / "entries", tmp_path / "once", metrics="pate_ap", chance=0)
    one, other = ((tmp_path / where / "board" / "scores.parquet").read_bytes() for where in ("site", "once"))
    assert one == other
    history = json.loads((tmp_path / "site" / "history.json").read_text())
    assert [line["entered"] for line in history] == [[name] for name in chosen]
