"""Numbers do not change unnoticed: every metric on fixed inputs, beside its definition."""

from __future__ import annotations

import json
from datetime import date

import pytest

from pateval.catalog import DEFINITION_HISTORY, catalogue
from support import frozen_values as frozen

EVERYTHING = catalogue(channels=True, emerging=True)
CURRENT, FROZEN = frozen.current_values(), frozen.frozen_values()
WHAT_TO_DO = (
    "if that is meant, raise the metric's definition in src/pateval/catalog/table.py, add a dated line to "
    "DEFINITION_HISTORY there and one under 'Changes numbers' in CHANGELOG.md, then run 'make freeze docs'"
)


def test_every_metric_is_frozen():
    assert set(CURRENT) >= set(EVERYTHING)
    missing, left_over = set(CURRENT) - set(FROZEN), set(FROZEN) - set(CURRENT)
    assert not missing, f"run 'make freeze' to freeze the numbers of {missing}"
    assert not left_over, f"numbers are frozen of {left_over}, which are not there; run 'make freeze'"


@pytest.mark.parametrize("metric", CURRENT)
def test_numbers_change_only_with_the_definition(metric):
    current, known = CURRENT[metric], FROZEN[metric]
    if current["definition"] == known["definition"]:
        assert not frozen.changed(known, current), f"{known} became {current}: {WHAT_TO_DO}"
    else:
        pytest.fail(
            f"the definition went from {known['definition']} to {current['definition']}; run 'make freeze docs'"
        )


def test_most_numbers_can_be_told_apart():
    # A test on inputs where every metric is 0 or 1 would freeze nothing.
    telling = [name for name, entry in CURRENT.items() if any(v not in (None, 0, 1) for v in entry["values"].values())]
    rates = {"onset_detection_rate", "timing_after_rate", "szcore_event_recall"}
    assert set(CURRENT) - set(telling) <= {"ucr_score", *rates}


def test_a_change_is_seen_and_not_frozen_without_a_new_definition(tmp_path, monkeypatch, capsys):
    file = tmp_path / "frozen_values.json"
    monkeypatch.setattr(frozen, "FILE", file)
    altered = json.loads(json.dumps(CURRENT))
    altered["pate"]["values"]["one event"] += 1e-9
    file.write_text(json.dumps(altered))
    assert frozen.changed(altered["pate"], CURRENT["pate"])
    assert frozen.freeze() == 1
    assert capsys.readouterr().err == (
        "pate: the numbers changed; raise its definition in pateval/catalog/table.py first\n"
    )
    altered["pate"]["definition"] = 0
    file.write_text(json.dumps(altered))
    assert frozen.freeze() == 0
    assert json.loads(file.read_text()) == CURRENT


def test_every_definition_has_its_line_in_the_history():
    dates = [date.fromisoformat(line.date) for line in DEFINITION_HISTORY]
    assert dates == sorted(dates)
    assert DEFINITION_HISTORY[0].functions == "all"
    for metric in EVERYTHING.values():
        name = metric.function.__name__
        lines = [
            line.definition
            for line in DEFINITION_HISTORY
            if line.functions == "all" or name in line.functions.split(", ")
        ]
        assert lines == list(range(1, metric.definition + 1)), name
