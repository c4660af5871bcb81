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
        *(
            ([command], "labels of several channels are read by 'pateval score'; name one with --label")
            for command in ("leaderboard", "audit", "buffer")
        ),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], message: str, capsys: Any) -> None:
    path = write(tmp_path / "plant.csv")
    code, out, err = run([arguments[0], str(path), *arguments[1:]], capsys)
    assert (code, out, err.splitlines()[-1]) == (2, "", f"pateval: {path}: {message}")


@pytest.mark.parametrize(
    "arguments", [["compare", "FILE", "FILE"], ["audit", "--labels-only", "FILE"], ["plot", "series", "FILE"]]
)
def test_refusals_of_other_commands(tmp_path: Path, arguments: list[str], capsys: Any) -> None:
    path = write(tmp_path / "plant.csv")
    given = [str(path) if each == "FILE" else each for each in arguments]
    code, out, err = run([*given, *(["-o", str(tmp_path / "out.png")] if arguments[0] == "plot" else [])], capsys)
    message = "labels of several channels are read by 'pateval score'; name one with --label"
    assert (code, out, err.splitlines()[-1]) == (2, "", f"pateval: {path}: {message}")


def test_times_steps_to_ignore_and_missing_scores(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "plant.csv")
    frame = pd.read_csv(path)
    frame["time"] = pd.date_range("2026-01-01", periods=50, freq="min").astype(str)
    frame["maintenance"] = [1 if step in (11, 33) else 0 for step in range(50)]
    frame.loc[20, "score_fan"] = np.nan
    frame.to_csv(path, index=False)
    keep = np.array([step not in (11, 20, 33) for step in range(50)])
    expected = pv.evaluate(LABELS[keep], SCORES[keep], metrics=METRICS, chance=0)
    options = ["--ignore", "maintenance", "--missing", "ignore", "--time", "time", "--metrics", ",".join(METRICS)]
    code, out, err = run(["score", str(path), *options, "--format", "json"], capsys)
    assert (code, values(out)) == (0, dict(expected)), err
    assert {row["coverage"] for row in json.loads(out)} == {1 - 1 / 48}
    code, out, err = run(["score", str(path), "--ignore", "maintenance"], capsys)
    columns = "score_pump, score_valve, score_fan"
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(
        f"pateval: {path}: column '{columns}': scores must be finite at every step; found NaN in row 21, channel 2"
    )
    assert "leave such steps out with --missing ignore" in err.splitlines()[-1]
    # A duration that no metric of channels takes asks for no times.
    code, _, err = run(["score", str(path), "--missing", "normal", "--early", "10min"], capsys)
    assert code == 0, err
    frame.iloc[::-1].to_csv(path, index=False)
    code, _, err = run(["score", str(path), "--missing", "ignore"], capsys)
    assert code == 2
    assert "column 'time'" in err.splitlines()[-1]
    code, out, err = run(["score", str(path), "--sort", *options, "--format", "json"], capsys)
    assert (code, values(out)) == (0, dict(expected)), err


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
