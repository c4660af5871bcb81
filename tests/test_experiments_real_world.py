"""The two real series: weather cell by cell, and what the printed table says about the ECG that cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pateval.paper import ExperimentSettings, MissingInputError, compute, report
from pateval.paper.document import DIFFERS, OPEN, REPRODUCES
from pateval.paper.real_world import ZERO_INCLUDED, beat, measure, places_of_the_beat, random_scores

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def only_weather(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(real_data / "UCR", root / "UCR")
    return root


@pytest.fixture(scope="module")
def weather(only_weather):
    return compute("real-world", ExperimentSettings(root=only_weather))


def test_weather_18_of_20_cells(weather):
    cells = weather.cells("weather")
    assert len(cells) == 20
    assert [(cell.detector, cell.metric) for cell in cells if not cell.agrees] == [
        ("lof", "auc_pr"),
        ("random", "auc_pr"),
    ]


def test_no_rule_for_the_area_gives_the_two_printed_cells(weather):
    assert {name: weather.ranks[name] for name in ("mvn", "lof", "random")} == {"mvn": 24, "lof": 174, "random": 341}
    for detector, rank in weather.ranks.items():
        assert weather.precision[detector] == pytest.approx(1 / rank)
    # Average precision would give LOF's cell, but neither random's nor MVN's.
    assert round(weather.precision["random"], 2) == 0.00
    assert round(weather.precision["mvn"], 2) == 0.04


def test_the_page_says_what_is_not_here(weather):
    made = report("real-world", weather)
    assert made.summary == "Weather: 18 of 20 printed cells agree to both decimals."
    assert [figure.name for figure in made.figures] == ["weather"]
    assert len(made.figures[0].draw()) == 5
    statuses = [verdict.status for verdict in made.verdicts]
    assert statuses == [REPRODUCES, DIFFERS, DIFFERS, REPRODUCES, DIFFERS, OPEN, OPEN]
    for verdict in made.verdicts:
        assert verdict.why.endswith(".")
    assert any("--ecg FILE" in verdict.why for verdict in made.verdicts)
    assert all(len(row) == len(table.columns) for table in made.tables for row in table.rows)


def test_one_beat_of_75_steps_fits_the_printed_perfect_row():
    values = measure(beat(500), beat(500).astype(float), 50)
    assert (round(values["vus_roc"], 2), round(values["vus_pr"], 2)) == (0.90, 0.91)
    shorter = np.zeros(1050, dtype=bool)
    shorter[500:550] = True
    assert round(measure(shorter, shorter.astype(float), 50)["vus_roc"], 2) == 0.87


def test_random_scores_say_where_the_beat_lies():
    starts = places_of_the_beat()
    assert starts == [463, 465, 466, 468, 469, 470]
    for start in starts:
        values = measure(beat(start), random_scores(), 50)
        assert (round(values["pate"], 2), round(values[ZERO_INCLUDED], 2)) == (0.09, 0.07)


def test_the_users_ecg_goes_by_the_papers_rule(tmp_path):
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(26_500) / 8) + 0.05 * rng.normal(size=26_500)
    labels = np.zeros(26_500, dtype=np.int8)
    labels[[1500, *range(25_700, 25_775)]] = 1
    values[25_700:25_775] *= 2
    path = tmp_path / "MBA_ECG14046_data_0.parquet"
    pq.write_table(pa.table({"value": values, "label": labels}), path)
    found = compute("real-world", ExperimentSettings(root=tmp_path / "none", ecg=path))
    assert found.ecg_is_the_papers
    assert list(found.examples) == ["ecg"]
    assert np.flatnonzero(found.examples["ecg"].labels)[[0, -1]].tolist() == [450, 524]
    made = report("real-world", found)
    assert made.verdicts[0].item.startswith("ECG (MBA_ECG14046_data_0)")
    assert not any("--ecg FILE" in verdict.why for verdict in made.verdicts)


@pytest.mark.slow
def test_the_stand_in(real_data):
    found = compute("real-world", ExperimentSettings(root=real_data))
    assert found.stand_ins == ["ecg at 20276", "ecg at 107998", "ecg at 149650"]
    for name in found.stand_ins:
        for cell in found.cells(name):
            if cell.detector in ("perfect", "random") and cell.metric != "pate":
                assert cell.agrees
    assert found.nearest[0] == "ecg at 107998"
    assert found.nearest[1] < 0.015
    assert [figure.name for figure in report("real-world", found).figures] == ["weather", "ecg-at-107998"]


def test_nothing_at_hand(tmp_path):
    with pytest.raises(MissingInputError, match=r"real-world needs .* not in the data folder"):
        compute("real-world", ExperimentSettings(root=tmp_path))
