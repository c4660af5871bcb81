"""The workflow in examples/board, run step by step on a repository made for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from test_entries import make_entry

WORKFLOW = Path(__file__).parents[1] / "examples" / "board" / "board.yml"
AS = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def shell(text, folder, **environment):
    """Run lines of a shell, and return status and standard output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env=os.environ | AS | {"PATH": path} | environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.fixture
def repository(tmp_path):
    """A repository with an entry, and a branch for the site, as the first lines of the workflow say."""
    shell(
        "git init -q --bare -b main origin.git && git clone -q origin.git repo && cd repo && git switch -qc main",
        tmp_path,
    )
    commit(tmp_path / "repo", "acme", 1)
    (begin,) = (line for line in WORKFLOW.read_text().splitlines() if line.startswith("# To begin: "))
    status, _ = shell(
        f"{begin.removeprefix('# To begin: ')} && git switch -q main && git branch -qD gh-pages", tmp_path / "repo"
    )
    assert status == 0
    return tmp_path / "repo"


def commit(repository, name, seed):
    make_entry(repository / "entries" / name, seed)
    shell(f"git add -A && git commit -qm {name} && git push -q origin main", repository)


def job(repository, name):
    """Run the steps of one job that are lines of a shell, and put away the site they were about."""
    yaml = pytest.importorskip("yaml")
    steps = [step["run"] for step in yaml.safe_load(WORKFLOW.read_text())["jobs"][name]["steps"] if "run" in step]
    lines = "\n".join(f"(\n{step}\n)" for step in steps if "pip install" not in step)
    found = shell(lines, repository, BASE="HEAD~1", GITHUB_SHA="1")
    history = repository / "site" / "history.json"
    lines_of_history = json.loads(history.read_text()) if history.exists() else []
    shell("git worktree remove --force site; git branch -qD gh-pages || true", repository)
    return *found, lines_of_history


@pytest.mark.slow
@pytest.mark.skipif(not WORKFLOW.is_file(), reason="the examples are in the repository only")
def test_entries_come_and_change(repository):
    commit(repository, "beta", 2)
    assert job(repository, "check")[0] == 0  # against a site that has no board yet
    status, _, history = job(repository, "build")
    assert (status, [line["entered"] for line in history]) == (0, [["acme", "beta"]])
    commit(repository, "acme", 3)  # a new version of an entry
    assert job(repository, "check")[0] == 0
    status, _, history = job(repository, "build")
    assert (status, {one["by"] for one in history[1]["changed"]}) == (0, {"other scores"})
    commits = shell("git fetch -q && git rev-list --count origin/gh-pages", repository)
    assert job(repository, "build")[::2] == (0, history)
    assert shell("git fetch -q && git rev-list --count origin/gh-pages", repository) == commits == (0, "3\n")
    commit(repository, "index", 4)
    assert job(repository, "check")[0] == 1
