"""The page "Where libraries disagree" is what its script prints."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from conftest import CHECKOUT

SCRIPT, PAGE = CHECKOUT / "benchmarks" / "disagreements.py", CHECKOUT / "docs" / "disagreements.md"


@pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")
@pytest.mark.skipif(not SCRIPT.exists(), reason="an installed package has no benchmarks")
def test_the_page_is_up_to_date(monkeypatch):
    spec = importlib.util.spec_from_file_location("disagreements", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "disagreements", script)
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec.loader.exec_module(script)
    assert "\n".join(script.page()) + "\n" == PAGE.read_text(), f"run: python {SCRIPT} > {PAGE}"
