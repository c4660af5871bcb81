"""The two real series: weather cell by cell, and what the printed table says about the ECG that cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pateval.paper import ExperimentSettings, MissingInputError, compute
from pateval.paper.document import CANNOT, DIFFERS, REPRODUCES, Verdict
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
    rows = weather.table("cells").rows
    assert len(rows) == 20
    differing = [(row["detector"], row["metric"]) for row in rows if not row["agrees"]]
    assert differing == [("lof", "AUC-PR"), ("random", "AUC-PR")]


def test_no_rule_for_the_area_gives_the_two_printed_cells(weather):
    said = [one.values for one in weather.verdicts if one.name == "weather_cell"]
    assert [(one["detector"], one["rank"]) for one in said] == [("LOF (Model 2)", 174), ("random", 341)]
    assert all(one["precision"] == pytest.approx(1 / one["rank"]) for one in said)
    assert round(said[1]["precision"], 2) == 0.00


def test_the_page_says_what_is_not_here(weather):
    assert weather.summary == "Weather: 18 of 20 printed cells agree to both decimals."
    assert [figure.name for figure in weather.figures] == ["weather"]
    assert len(weather.figures[0].draw()) == 5
    statuses = [verdict.status for verdict in weather.verdicts]
    assert statuses == [REPRODUCES, DIFFERS, DIFFERS, REPRODUCES, DIFFERS, CANNOT, CANNOT]
    assert any("--ecg FILE" in said["why"] for said in weather.statements)


def test_statuses_flip_with_the_numbers(weather):
    cells = weather.verdict("weather").cells
    assert Verdict("weather", [cell._replace(found=cell.found + 0.2) for cell in cells]).status == DIFFERS
    (cell,) = weather.verdict("random").cells
    assert Verdict("random", [cell._replace(found=0.0731)]).status == REPRODUCES


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
    made = compute("real-world", ExperimentSettings(root=tmp_path / "none", ecg=path))
    assert {row["series"] for row in made.table("cells").rows} == {"ecg"}
    assert made.verdicts[0].name == "ecg"
    assert not any("--ecg FILE" in said["why"] for said in made.statements)


@pytest.mark.slow
def test_the_stand_in(real_data):
    made = compute("real-world", ExperimentSettings(root=real_data))
    rows = [row for row in made.table("cells").rows if row["series"] != "weather"]
    assert list(dict.fromkeys(row["series"] for row in rows)) == ["ecg at 20276", "ecg at 107998", "ecg at 149650"]
    for row in rows:
        if row["detector"] in ("perfect", "random") and row["metric"] != "PATE":
            assert row["agrees"]
    assert made.verdict("stand_in").values["away"] < 0.015
    assert [figure.name for figure in made.figures] == ["weather", "ecg-at-107998"]


def test_nothing_at_hand(tmp_path):
    with pytest.raises(MissingInputError, match=r"real-world needs .* not in the data folder"):
        compute("real-world", ExperimentSettings(root=tmp_path))
