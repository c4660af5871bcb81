"""The documentation: examples run, no public name is missing, and no link between pages is broken."""

import csv
import doctest
import importlib.util
import re
import shlex
import shutil
from glob import glob
from itertools import takewhile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import pateval as pv
from pateval.cli import pateval as command_line
from pateval.demo import save_files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WRITTEN = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if not {"_build", "metrics", "gallery", "generated"} & set(path.relative_to(DOCS).parts[:-1])
)
# Pages whose commands need nothing but files made from those of the demo.
PAGES_OF_COMMANDS = [
    "index.md",
    "start.md",
    "choose.md",
    "what-a-number-means.md",
    "guides/buffers.md",
    "guides/files.md",
    "guides/leaderboards.md",
    "guides/many-series.md",
    "guides/reports.md",
    "guides/thresholds.md",
]


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is in the repository only")
class TestPages:
    @pytest.mark.parametrize("page", WRITTEN)
    def test_examples_run(self, page):
        options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        result = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=options, encoding="utf-8")
        assert result.failed == 0

    @pytest.mark.parametrize("page", WRITTEN)
    def test_links_to_other_pages_lead_somewhere(self, page):
        text = (DOCS / page).read_text(encoding="utf-8")
        targets = [target for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in target]
        made = ("metrics/", "gallery/", "pictures/")
        missing = [
            target
            for target in targets
            if not (DOCS / page).parent.joinpath(target).exists() and not target.removeprefix("../").startswith(made)
        ]
        assert missing == []

    @pytest.mark.parametrize("page", ["docs/life-of-a-number.md", "docs/design/index.md", "CONTRIBUTING.md"])
    def test_pages_on_the_code_name_files_and_packages_that_are_there(self, page):
        package = ROOT / "src" / "pateval"
        text = (ROOT / page).read_text(encoding="utf-8").replace("src/pateval/", "")
        assert len(text) > 1000
        named = re.findall(r"(?<![\w/.])((?:[a-z_]+/)+[a-z_]+\.(?:py|js))\b", text)
        ours = [name for name in named if name.split("/")[0] not in ("tests", "docs", "benchmarks", "examples")]
        assert [name for name in ours if not (package / name).exists() and "detected_events" not in name] == []
        folders = re.findall(r"^  ((?:[a-z]+/ +)+)", text, flags=re.MULTILINE)
        assert [name for line in folders for name in line.split() if not (package / name).is_dir()] == []

    def test_every_package_is_in_the_layout(self):
        layout = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```\nsrc/pateval/\n")[1].split("```")[0]
        packages = {path.parent.name for path in (ROOT / "src" / "pateval").glob("*/__init__.py")}
        assert packages == set(re.findall(r"\b([a-z]+)/(?:\s|$)", layout))

    def test_every_public_name_has_a_place_in_the_reference(self):
        from pateval import plots

        text = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"^   (\w+)$", text, flags=re.MULTILINE))
        metrics = {metric.function.__name__ for metric in pv.catalogue(channels=True, emerging=True).values()}
        assert sorted((set(pv.__all__) | set(plots.__all__)) - listed - metrics) == []

    def test_the_reference_lists_nothing_else(self):
        from pateval import compat, plots

        text = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"^   (\w+)$", text, flags=re.MULTILINE))
        known = {*pv.__all__, *plots.__all__, *compat.__all__}
        assert sorted(listed - known) == []

    def test_every_kind_of_figure_has_an_example_that_a_telephone_can_show(self):
        from pateval.cli.plot import KINDS

        examples = {
            path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "figures").glob("*.py")
        }
        drawn = {name for text in examples.values() for name in re.findall(r"pv\.plots\.(\w+)\(", text)}
        named = {"buffers": "buffer_heat_map", "buffer-size": "buffer_sizes", "lengths": "weights_by_length"}
        named |= {"distribution": "score_distribution", "ranks": "rank_heat_map", "audit": "audit_chart"}
        assert {named.get(kind, kind.replace("-", "_")) for kind in KINDS} <= drawn
        assert {"gaming_chart", "shifts"} <= drawn
        for name, text in examples.items():
            (width,) = re.findall(r"plt\.subplots\(.*figsize=\((\d+(?:\.\d+)?),", text)
            assert float(width) <= 4.6, f"{name} is wider than letters of 8 points can be read on 360 pixels"

    def test_every_recipe_is_shown_and_run(self):
        names = sorted(path.stem for path in (ROOT / "examples" / "recipes").glob("*.py"))
        guide = (DOCS / "guides" / "recipes.md").read_text(encoding="utf-8")
        assert sorted(re.findall(r"examples/recipes/(\w+)\.py", guide)) == names
        driver = (ROOT / "benchmarks" / "recipes.py").read_text(encoding="utf-8")
        assert [name for name in names if f'    "{name}": ' not in driver] == []


def commands_of(page):
    """The commands that a page shows, with lines that go on joined."""
    text = (DOCS / page).read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"^\$ (pateval .+)$", text, flags=re.MULTILINE)


def shown_output(page, command):
    """What a page shows below a command, as a list of lines; empty where it shows nothing."""
    text = (DOCS / page).read_text(encoding="utf-8")
    # With the language: the end of a block in Python must not be taken for the beginning of another one.
    fenced = re.findall(r"^```(.*?)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    blocks = [body for language, body in fenced if not language]
    lines = next(block.splitlines() for block in blocks if f"$ {command}" in block.replace("\\\n", " ").splitlines())
    after = lines[lines.index(f"$ {command}") + 1 :] if f"$ {command}" in lines else []
    return list(takewhile(lambda line: not line.startswith("$ "), after))


@pytest.fixture
def user_folder(tmp_path):
    """A folder with the files that the pages speak of: those of the demo, and some made from them."""
    save_files(tmp_path / "scores", series=3)
    shutil.copy(tmp_path / "scores" / "series-1.csv", tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    half = {number: number // 1500 for number in range(len(rows))}
    mine = {"my_detector": "score_window_pca", "baseline": "score_moving_z_score"}
    write(tmp_path / "mine.csv", [named(row, "time", "value", "label", **mine) for row in rows])
    other = {"when": "time", "fault": "label", "model_a": "score_window_pca", "model_b": "score_random"}
    write(tmp_path / "other.csv", [named(row, **other) | {"maintenance": int(n < 20)} for n, row in enumerate(rows)])
    machines = [named(row, "label", score="score_window_pca") | {"machine": half[n]} for n, row in enumerate(rows)]
    write(tmp_path / "machines.csv", machines)
    steps = [
        {
            "series": path.stem,
            "time": row["time"],
            "label": int(row["label"]),
            "new": float(row["score_window_pca"]) ** 2,
        }
        for path in sorted((tmp_path / "scores").glob("*.csv"))
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    ]
    pq.write_table(pa.Table.from_pylist(steps), tmp_path / "new.parquet")
    (tmp_path / "runs").mkdir()
    for name in ("score_window_pca", "score_nearest_window"):
        series = [named(row, "label", score=name) | {"series": half[n]} for n, row in enumerate(rows)]
        write(tmp_path / "runs" / f"{name}.csv", [row | {"run": run} for run in range(2) for row in series])
    return tmp_path


def named(row, *columns, **others):
    """Some columns of a row, and others under new names."""
    return {name: row[name] for name in columns} | {new: row[name] for new, name in others.items()}


def write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is in the repository only")
class TestCommands:
    @pytest.mark.parametrize("page", PAGES_OF_COMMANDS)
    def test_every_command_works_as_printed(self, page, user_folder, monkeypatch):
        monkeypatch.chdir(user_folder)
        commands = commands_of(page)
        assert commands
        for command in commands:
            arguments = shlex.split(command)[1:]
            arguments = [name for each in arguments for name in (sorted(glob(each)) if "*" in each else [each])]
            if "leaderboard" in arguments:
                arguments += ["--workers", "1"]
            if "audit" in arguments:  # All metrics in 20 draws take a minute.
                arguments += ["--metrics", "pate_ap,point_f1", "--seeds", "2"]
            result = CliRunner().invoke(command_line, arguments)
            assert result.exit_code == 0, f"{command}\n{result.output[-2000:]}"
            shown = "".join(f"{line}\n" for line in shown_output(page, command))
            assert not shown or doctest.OutputChecker().check_output(shown, result.stdout, doctest.ELLIPSIS), command


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", DOCS / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is in the repository only")
class TestCheckOfTheBuiltSite:
    SOUND = (
        '<h1 id="top">Page</h1><a href="other.html#below">there</a><a href="#top">up</a>'
        '<img src="a.png" alt="a figure">'
    )

    def faults_of(self, check_site, folder, body):
        (folder / "a.png").touch()
        (folder / "other.html").write_text('<h1>Other</h1><p id="below">text</p>')
        (folder / "page.html").write_text(body)
        return list(check_site.faults(folder))

    def test_a_sound_site_has_no_fault(self, check_site, tmp_path):
        assert self.faults_of(check_site, tmp_path, self.SOUND) == []

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            (("other.html#below", "gone.html"), "page.html links to gone.html, which is not there"),
            (("#below", "#gone"), "page.html links to other.html#gone, and there is no such place on that page"),
            (("#top", "#gone"), "page.html links to #gone, and there is no such place on that page"),
            (("a.png", "https://cdn.example/a.png"), "page.html needs the network for https://cdn.example/a.png"),
            (("a.png", "gone.png"), "page.html needs gone.png, which is not there"),
            ((' alt="a figure"', ""), "page.html shows a.png without a text for those who do not see it"),
            (("<h1 ", "<h2 "), "page.html has 0 headings of the first level; a page has one"),
        ],
    )
    def test_a_fault_is_named(self, check_site, tmp_path, change, fault):
        assert self.faults_of(check_site, tmp_path, self.SOUND.replace(*change)) == [fault]
