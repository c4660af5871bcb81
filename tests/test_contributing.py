"""The walk of CONTRIBUTING.md, "How to add a metric", followed to the letter on a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = (ROOT / "CONTRIBUTING.md").read_text().split("## How to add a metric")[1].split("\n## ")[0]
ORACLE, FUNCTION, EXPORT, ROW = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
ORACLE_FILE, FUNCTION_FILE = re.findall(r"`([\w/]+/detected_events\.py)`", SECTION)


@pytest.fixture
def copy(tmp_path):
    for folder in ("src", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def python(folder, *arguments):
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


EVERY_FILE = ("core/test_every_metric", "core/test_frozen_values", "test_cli_metrics", "test_package", "test_audit")


def checks(folder, *files):
    """The tests in some files that a new metric meets, and no others."""
    chosen = (
        "detected_events or missing or no_public_function or tables_of_edge_cases or page_in_the_docs or frozen or "
        "history or every_metric_is_importable or all_names"
    )
    tests = [f"tests/{name}.py" for name in files]
    return python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, FUNCTION_FILE, *tests)


def insert(file, before, text):
    content = file.read_text()
    assert content.count(before) == 1
    file.write_text(content.replace(before, text + before))


def test_the_walk(copy):
    (copy / ORACLE_FILE).write_text(ORACLE)
    (copy / FUNCTION_FILE).write_text(FUNCTION)
    exports = copy / "src/pateval/metrics/__init__.py"
    insert(exports, "from pateval.metrics.delays import mean_detection_delay as mean_detection_delay\n", EXPORT)

    done = checks(copy, "core/test_every_metric")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_no_metric_is_missing_from_the_catalogue" in done.stdout

    insert(copy / "src/pateval/catalog/table.py", "    _row(m.latency_sparsity_aware,", ROW)
    done = checks(copy, "core/test_frozen_values", "test_cli_metrics")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "run 'make freeze' to freeze the numbers of {'detected_events'}" in done.stdout
    assert "docs/metrics.md is stale; run 'make docs'" in done.stdout

    # What `make freeze docs` runs.
    assert python(copy, "tests/support/frozen_values.py").returncode == 0
    (copy / "docs/metrics.md").write_text(python(copy, "-m", "pateval", "metrics", "--format", "markdown").stdout)
    done = checks(copy, *EVERY_FILE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    code = (
        "import pateval as pv; "
        "print(pv.evaluate([0, 1, 0, 1], [0, 2, 1, 0], metrics='detected_events', threshold=1, chance=0))"
    )
    assert python(copy, "-c", code).stdout.splitlines()[0].split()[:2] == ["detected_events", "0.5000"]


def test_the_makefile_runs_what_the_walk_ran():
    makefile = (ROOT / "Makefile").read_text()
    assert "tests/support/frozen_values.py" in makefile
    assert "pateval metrics --format markdown > docs/metrics.md" in makefile
