"""The pages on metrics and data on trial say what their tables say."""

from __future__ import annotations

import importlib.util

import pytest

from conftest import CHECKOUT

SCRIPT, DOCS = CHECKOUT / "benchmarks" / "trial_pages.py", CHECKOUT / "docs"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="an installed package has no benchmarks")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("trial_pages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_on_metrics_is_made_of_its_tables(script):
    page = (DOCS / "trial.md").read_text()
    tables = {name: (DOCS / "results" / "trial" / f"{name}.csv").read_text() for name in script.RULES}
    parts = {}
    for name, rule in script.RULES.items():
        _, _, rest = page.partition(f"## Predictions by {rule}\n\n")
        parts[name] = rest.partition("\n\n## ")[0].rstrip("\n")
    assert script.trial_page(tables, parts) == page
    assert all("16 detectors, 52 series with anomalies, 6 without" in part for part in parts.values())


def test_the_page_on_data_has_all_data_sets(script):
    page = (DOCS / "check.md").read_text()
    assert page.startswith(script.CHECK_HEAD)
    header = next(line for line in page.splitlines() if line.startswith("| fault |"))
    assert header.split(" | ")[1:5] == list(script.DATASETS)
