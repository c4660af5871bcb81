"""Files with labels of several channels, for the metrics that judge channels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import pateval as pv
from pateval.cli import main

if TYPE_CHECKING:
    from pathlib import Path

GENERATOR = np.random.default_rng(8)
LABELS = np.zeros((50, 3), dtype=int)
LABELS[10:15, 0] = LABELS[12:15, 2] = LABELS[30:36, 1] = 1
SCORES = (GENERATOR.random((50, 3)) + LABELS / 2).round(4)
NAMES = ("pump", "valve", "fan")
METRICS = ["channel_hit_rate", "channel_ndcg", "affected_channels_f_beta"]


def run(arguments: list[str], capsys: Any) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    shown = capsys.readouterr()
    return int(caught.value.code or 0), shown.out, shown.err


def values(out: str) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in json.loads(out)}


def write(path: Path, labels: Any = LABELS) -> Path:
    columns = {f"label_{name}": labels[:, place] for place, name in enumerate(NAMES)}
    columns |= {f"score_{name}": SCORES[:, place] for place, name in reversed(list(enumerate(NAMES)))}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_columns_that_share_the_name_of_a_channel(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "plant.csv")
    code, out, err = run(["score", str(path), "--format", "json"], capsys)
    assert code == 0, err
    expected = pv.evaluate(LABELS, SCORES)
    found = values(out)
    assert {metric: found[metric] for metric in METRICS} == {metric: expected[metric] for metric in METRICS}
    assert err.splitlines()[0] == (
        f"{path}: guessed labels of 3 channels 'label_pump', 'label_valve', 'label_fan' with 'score_pump', "
        "'score_valve', 'score_fan'"
    )
    assert json.loads(out)[0]["detector"] == "plant"


def test_named_columns_and_matrices(tmp_path: Path, capsys: Any) -> None:
    expected = pv.evaluate(LABELS[:, :2], SCORES[:, :2], metrics=METRICS)
    named = ["--label", "label_pump,label_valve", "--score", "score_pump,score_valve", "--metrics", ",".join(METRICS)]
    path = write(tmp_path / "plant.csv")
    code, out, _ = run(["score", str(path), *named, "--format", "json"], capsys)
    assert (code, values(out)) == (0, {metric: expected[metric] for metric in METRICS})
    np.savez(tmp_path / "plant.npz", label=LABELS, score=SCORES)
    code, out, err = run(
        ["score", str(tmp_path / "plant.npz"), "--format", "json", "--metrics", "channel_ndcg"], capsys
    )
    assert (code, values(out)) == (0, {"channel_ndcg": pv.evaluate(LABELS, SCORES)["channel_ndcg"]})
    where = tmp_path / "plant.npz"
    assert err.splitlines() == [
        f"{where}: the columns of array 'label' are called label_0, label_1 and so on",
        f"{where}: the columns of array 'score' are called score_0, score_1 and so on",
        f"{where}: guessed labels of 3 channels 'label_0', 'label_1', 'label_2' with 'score_0', 'score_1', 'score_2'",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["score", "--label", "label_pump,label_fan", "--score", "score_pump"],
            "2 channels have labels and 1 have scores; name them in the same order with --label and --score",
        ),
        (
            ["explain"],
            "labels of several channels are read by 'pateval score'; name one with --label",
        ),
        (["leaderboard"], "labels of several channels are read by 'pateval score'; name one with --label"),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], message: str, capsys: Any) -> None:
    path = write(tmp_path / "plant.csv")
    code, out, err = run([arguments[0], str(path), *arguments[1:]], capsys)
    assert (code, out, err.splitlines()[-1]) == (2, "", f"pateval: {path}: {message}")


def test_a_label_that_is_none_names_its_row(tmp_path: Path, capsys: Any) -> None:
    labels = LABELS.copy()
    labels[20, 1] = 7
    path = write(tmp_path / "plant.csv", labels)
    code, _, err = run(["score", str(path)], capsys)
    assert code == 2
    assert err.splitlines()[-1] == (
        f"pateval: {path}: column 'label_pump, label_valve, label_fan': labels must be 0 or 1 at "
        "every step; found 7 in row 21, channel 1 (1 such value in 150)"
    )
