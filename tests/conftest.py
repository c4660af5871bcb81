"""Test set-up: hypothesis profiles, golden files, the folder of real data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("support.messages", "support.both_readers")  # so that a failure shows both messages

DEFAULT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "max_examples": 200}
settings.register_profile("default", **DEFAULT)
# The same cases every time, so that a run of continuous integration fails for what was changed and nothing else.
settings.register_profile("ci", **DEFAULT, derandomize=True)
# four tests against the literal definition: 100,000 cases together
settings.register_profile("fuzz", deadline=None, suppress_health_check=list(HealthCheck), max_examples=25_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

GOLDEN = Path(__file__).parent / "golden"
CHECKOUT = Path(__file__).parents[1]


def golden(name: str) -> list[dict[str, Any]]:
    """Read the cases of one golden file."""
    with (GOLDEN / f"{name}.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session", autouse=True)
def text_tables_are_read_both_ways() -> None:
    """Hold the two readers of text tables against each other wherever a test reads such a table."""
    from support.both_readers import hold_together

    hold_together()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real series; the test is skipped where it is not at hand."""
    folder = Path(os.environ.get("PATEVAL_DATA", CHECKOUT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data not at hand: set PATEVAL_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def nab(real_data: Path) -> Path:
    """Folder of the published NAB scores, a Parquet file per detector."""
    folder = real_data / "scores" / "NAB"
    if not folder.is_dir():
        pytest.skip("the NAB score files are not at hand")
    return folder
