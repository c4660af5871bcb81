"""Readers: original layouts in small, real Parquet folders whole, and every file broken once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pateval.datasets import Series, data_root, info, join, load
from pateval.datasets.layouts import smd_interpretation
from pateval.io import TableError

if TYPE_CHECKING:
    from pathlib import Path


def events(labels: np.ndarray[Any, Any]) -> int:
    return int(np.count_nonzero(np.diff(np.concatenate([[0], labels.astype(int)])) == 1))


def text(path: Path, rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return path


def error(folder: Path | str, **options: Any) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        load(folder, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def smd_folder(tmp_path: Path) -> Path:
    root = tmp_path / "SMD" / "ServerMachineDataset"
    for name, steps in (("machine-1-10", 4), ("machine-1-2", 3)):
        text(root / "train" / f"{name}.txt", [[0.1, 0.2]] * 5)
        text(root / "test" / f"{name}.txt", [[0.25, i] for i in range(steps)])
        text(root / "test_label" / f"{name}.txt", [[int(i == 1)] for i in range(steps)])
        (root / "interpretation_label").mkdir(exist_ok=True)
        (root / "interpretation_label" / f"{name}.txt").write_text("1-2:1,2\n")
    return tmp_path / "SMD"


def test_smd_original(smd_folder: Path) -> None:
    found = load("SMD", root=smd_folder.parent)
    assert [each.name for each in found] == ["machine-1-2", "machine-1-10"]
    assert found[1].test.shape == (4, 2)
    assert found[1].test.dtype == np.float32
    assert found[1].train_steps == 5
    assert found[0].labels.tolist() == [False, True, False]
    assert smd_interpretation(smd_folder)["machine-1-2"] == [(1, 2, (1, 2))]
    assert [each.name for each in load(smd_folder)] == [each.name for each in found]


def test_smd_broken(smd_folder: Path) -> None:
    root = smd_folder / "ServerMachineDataset"
    path = root / "test" / "machine-1-2.txt"
    text(path, [[0.1, 1], [0.2, "x"], [0.3, 3]])
    assert error(smd_folder) == f"{path}: column 'f01' holds 'x' in row 2; features are numbers"
    text(path, [[0.1, 1], [0.2]])
    assert f"{path}: not a readable text file of numbers" in error(smd_folder)
    text(path, [[0.1, 1], [0.2, ""], [0.3, 3]])
    assert f"{path}: column 'f01' is missing or infinite in row 2" in error(smd_folder)
    text(path, [[0.1, 1], [0.2, 2]])
    label = root / "test_label" / "machine-1-2.txt"
    assert error(smd_folder) == f"{label}: 3 labels for 2 steps"
    text(label, [[0], [2]])
    assert f"{label}: column 'label': labels must be 0 or 1" in error(smd_folder)
    text(label, [[0, 1], [0, 1]])
    assert f"{label}: 1 columns are needed" in error(smd_folder)
    text(label, [[0], [1]])
    text(path, [[0.1], [0.2]])
    assert "1 features, but the training file has 2" in error(smd_folder)
    (root / "train" / "machine-1-2.txt").unlink()
    assert f"{root / 'train' / 'machine-1-2.txt'}: there is no such file" in error(smd_folder)
    path.write_text("")
    assert f"{path}: the file is empty" in error(smd_folder)
    interpretation = root / "interpretation_label" / "machine-1-2.txt"
    interpretation.write_text("1-2:1\nnonsense\n")
    with pytest.raises(TableError, match="line 2 is not of the form"):
        smd_interpretation(smd_folder)


@pytest.fixture
def telemanom_folder(tmp_path: Path) -> Path:
    root = tmp_path / "telemanom"
    for part, steps in (("train", 3), ("test", 6)):
        (root / part).mkdir(parents=True)
        for channel, features in (("C-1", 2), ("A-1", 3), ("P-2", 3)):
            np.save(root / part / f"{channel}.npy", np.arange(steps * features, dtype=float).reshape(steps, features))
    (root / "labeled_anomalies.csv").write_text(
        "chan_id,spacecraft,anomaly_sequences,class,num_values\n"
        'C-1,MSL,"[[1, 2], [4, 4]]","[point, point]",6\n'
        'A-1,SMAP,"[[0, 0]]",[point],6\n'
        'P-2,SMAP,"[[1, 1]]",[point],6\n'
        'P-2,SMAP,"[[2, 2]]",[point],6\n'
    )
    return root


def test_telemanom_original(telemanom_folder: Path) -> None:
    (msl,) = load("MSL", root=telemanom_folder.parent)
    assert msl.name == "C-1"
    assert msl.labels.tolist() == [False, True, True, False, True, False]
    (smap,) = load("SMAP", root=telemanom_folder.parent)
    assert smap.name == "A-1"
    assert smap.test.shape == (6, 3)
    assert [each.name for each in load(telemanom_folder)] == ["C-1", "A-1"]


def test_telemanom_broken(telemanom_folder: Path) -> None:
    path = telemanom_folder / "test" / "C-1.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    assert f"{path}: not a readable NumPy file" in error(telemanom_folder)
    np.save(path, np.zeros((5, 2)))
    assert f"{path}: 5 steps, but labeled_anomalies.csv lists 6" in error(telemanom_folder)
    np.save(path, np.zeros(6))
    assert "steps x features, is needed; got shape (6,)" in error(telemanom_folder)
    np.save(path, np.array([[{}]], dtype=object))
    assert f"{path}: not a readable NumPy file" in error(telemanom_folder)
    np.save(path, np.where(np.arange(12).reshape(6, 2) == 5, np.nan, 0))
    assert f"{path}: row 3, feature 2 is missing or infinite" in error(telemanom_folder)
    path.write_bytes(whole)
    listed = telemanom_folder / "labeled_anomalies.csv"
    listed.write_text(listed.read_text().replace("[4, 4]", "[4, 6]"))
    assert "channel 'C-1': [4, 6] lies outside the 6 steps" in error(telemanom_folder)
    listed.write_text("chan_id,spacecraft\nC-1,MSL\n")
    assert f"{listed}: there is no column 'anomaly_sequences'" in error(telemanom_folder)


def test_psm_original(tmp_path: Path) -> None:
    folder = tmp_path / "PSM"
    text(folder / "train.csv", [["timestamp_(min)", "feature_0", "feature_1"], [0, 0.5, ""], [1, 0.25, 1]])
    text(folder / "test.csv", [["timestamp_(min)", "feature_0", "feature_1"], [2, 1, 2], [3, 3, 4]])
    text(folder / "test_label.csv", [["timestamp_(min)", "label"], [2, 0], [3, 1]])
    (psm,) = load("PSM", root=tmp_path)
    assert psm.train is not None
    assert psm.train.tolist() == [[0.5, 0.0], [0.25, 1.0]]
    assert psm.features == ("feature_0", "feature_1")
    assert psm.labels.tolist() == [False, True]
    text(folder / "test_label.csv", [["timestamp_(min)", "label"], [2, 0]])
    assert error(folder) == f"{folder / 'test_label.csv'}: 1 labels for 2 steps"
    text(folder / "test_label.csv", [["timestamp_(min)", "truth"], [2, 0]])
    assert "there is no column 'label'; its columns are timestamp_(min), truth" in error(folder)


def test_swat_original(tmp_path: Path) -> None:
    folder = tmp_path / "SWaT"
    message = error("SWaT", root=tmp_path)
    assert message.startswith("SWaT is not in")
    assert "itrust.sutd.edu.sg" in message
    header = [" Timestamp", "FIT101", " LIT101", "Normal/Attack"]
    rows = [["28/12/2015 10:00:00 AM", 2.5, 522, "Normal"], ["28/12/2015 10:00:01 AM", 2.6, 523, "A ttack"]]
    text(folder / "SWaT_Dataset_Attack_v0.csv", [["", "P1", "P1", ""], header, *rows])
    (folder / "SWaT_Dataset_Normal_v1.xlsx").write_text("x")
    assert "save it as CSV first" in error("SWaT", root=tmp_path)
    text(folder / "SWaT_Dataset_Normal_v1.csv", [header, rows[0]])
    (swat,) = load("SWaT", root=tmp_path)
    assert swat.features == ("FIT101", "LIT101")
    assert swat.labels.tolist() == [False, True]
    assert swat.train_steps == 1
    assert load(folder)[0].test.tolist() == swat.test.tolist()
    text(folder / "SWaT_Dataset_Attack_v0.csv", [header, [*rows[0][:3], "unknown"]])
    assert "column 'Normal/Attack' holds 'unknown' in row 1" in error(folder)
    text(folder / "SWaT_Dataset_Attack_v0.csv", [["a", "b"], [1, 2]])
    assert "no column 'Normal/Attack'" in error(folder)


def test_ucr_original(tmp_path: Path) -> None:
    folder = tmp_path / "UCR"
    folder.mkdir()
    one = folder / "001_UCR_Anomaly_noise_BIDMC1_3_5_7.txt"
    one.write_text("\n".join(f"  {i}.5e0" for i in range(9)))
    (folder / "204_UCR_Anomaly_line_2_4_4.txt").write_text(" ".join(map(str, range(6))))
    first, second = load("UCR", root=tmp_path)
    assert first.name == "001_UCR_Anomaly_noise_BIDMC1_3_5_7"
    assert (first.train_steps, first.steps) == (3, 6)
    assert np.flatnonzero(first.labels).tolist() == [2, 3]
    assert np.flatnonzero(second.labels).tolist() == [2]
    one.write_text("1\n2\nabc\n")
    assert error(folder) == f"{one}: value 3 is 'abc', not a number"
    one.write_text("1\n2\n3\n")
    assert f"{one}: 3 values do not fit the name" in error(folder)
    one.write_text("\n")
    assert "holds no values" in error(folder)


def test_ecg_original(tmp_path: Path) -> None:
    path = text(tmp_path / "MBA_ECG" / "MBA_ECG805_data.out", [[0.5, 0.0], [0.6, 1.0]])
    (ecg,) = load("mba-ecg", root=tmp_path)
    assert ecg.name == "MBA_ECG805"
    assert ecg.train is None
    assert ecg.labels.tolist() == [False, True]
    text(path, [[0.5, 0], [0.6, 3]])
    assert f"{path}: column 'label': labels must be 0 or 1" in error(path.parent)
    text(path, [[0.5], [0.6]])
    assert "2 columns are needed (value, label)" in error(path.parent)


def test_nab_original(tmp_path: Path) -> None:
    folder = tmp_path / "NAB"
    times = [f"2014-04-01 00:{minute:02d}:00" for minute in range(0, 25, 5)]
    path = text(folder / "data" / "real" / "a.csv", [["timestamp", "value"], *([t, i] for i, t in enumerate(times))])
    (folder / "labels").mkdir()
    windows = folder / "labels" / "combined_windows.json"
    windows.write_text(json.dumps({"real/a.csv": [["2014-04-01 00:05:00.000000", "2014-04-01 00:15:00.000000"]]}))
    (folder / "labels" / "combined_labels.json").write_text(json.dumps({"real/a.csv": ["2014-04-01 00:10:00"]}))
    (nab,) = load("NAB", root=tmp_path)
    assert nab.name == "real/a.csv"
    assert nab.labels.tolist() == [False, True, True, True, False]
    assert load("NAB-points", root=tmp_path)[0].labels.tolist() == [False, False, True, False, False]
    windows.write_text("{")
    assert f"{windows}: not valid JSON" in error(folder)
    windows.write_text(json.dumps({"real/a.csv": [["noon", "later"]]}))
    assert "the entries of 'real/a.csv' are no time stamps" in error(folder)
    windows.write_text(json.dumps({"real/b.csv": []}))
    assert "b.csv: there is no such file" in error(folder)
    windows.write_text(json.dumps({"real/a.csv": []}))
    text(path, [["timestamp", "value"], ["soon", 1]])
    assert "column 'timestamp' holds no dates" in error(folder)


def test_tsb_ad_original(tmp_path: Path) -> None:
    path = text(
        tmp_path / "t" / "007_X_id_1_Y_tr_2_1st_3.csv", [["a", "b", "Label"], *([i, -i, int(i == 3)] for i in range(5))]
    )
    (series,) = load(tmp_path / "t")
    assert series.name == "007_X_id_1_Y_tr_2_1st_3"
    assert (series.train_steps, series.steps, series.features) == (2, 5, ("a", "b"))
    text(path, [["a", "Label"], [1, 0], ["", 0], [3, 1]])
    assert load(tmp_path / "t")[0].test.tolist() == [[1.0], [3.0]]
    text(path, [["a", "Label"], [1, 0]])
    assert "1 rows do not fit the name" in error(tmp_path / "t")
    text(path, [["a", "b"], [1, 0]])
    assert "there is no column 'Label'" in error(tmp_path / "t")


def test_any_folder_of_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "plant"
    text(folder / "pump_train.csv", [["y", "x", "time"], [1, 2, 0], [3, 4, 1]])
    pq.write_table(
        pa.table({"time": [0, 1], "x": [5.0, 6.0], "y": [7.0, 8.0], "label": [0, 1]}), folder_file(folder, "pump_test")
    )
    text(folder / "lone.csv", [["timestamp", "v", "is_anomaly"], ["2020-01-01", 1, 0], ["2020-01-02", 2, 1]])
    lone, pump = load(folder)
    assert (pump.name, pump.features) == ("pump", ("x", "y"))
    assert pump.train is not None
    assert pump.train.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert lone.train is None
    assert lone.test.tolist() == [[1.0], [2.0]]
    assert [each.name for each in load(folder / "lone.csv")] == ["lone"]


def folder_file(folder: Path, stem: str) -> Path:
    folder.mkdir(exist_ok=True)
    return folder / f"{stem}.parquet"


def test_any_folder_with_a_label_file_and_several_series(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    text(folder / "train.csv", [["machine", "v"], ["b", 1], ["a", 2]])
    text(folder / "test.csv", [["machine", "v"], ["a", 3], ["b", 4], ["a", 5]])
    text(folder / "test_labels.csv", [["label"], [0], [1], [1]])
    one, two = load(folder)
    assert (one.name, one.test.ravel().tolist(), one.labels.tolist()) == ("a", [3.0, 5.0], [False, True])
    assert two.train is not None
    assert two.train.tolist() == [[1.0]]
    text(folder / "train.csv", [["machine", "v"], ["a", 2]])
    assert "column 'machine' has no rows for 'b'" in error(folder)
    text(folder / "train.csv", [["v"], [2]])
    assert "there is no column 'machine' to tell series apart" in error(folder)


def test_any_folder_broken(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    assert "the folder holds no data files" in error(folder)
    path = text(folder / "a.csv", [["v", "w"], [1, 2]])
    assert f"{path}: no column looks like labels" in error(folder)
    text(path, [["v", "label"], ["one", 0]])
    assert f"{path}: column 'v' holds 'one' in row 1; features are numbers" in error(folder)
    text(path, [["label"], [0]])
    assert "there is no column of recorded values beside the labels" in error(folder)
    path.unlink()
    train = text(folder / "a_train.csv", [["v"], [1]])
    assert f"{train}: there is no test file for series 'a'" in error(folder)
    text(folder / "a_test.csv", [["w", "label"], [1, 0]])
    assert f"{train}: there is no column 'w'" in error(folder)
    pq.write_table(pa.table({"v": [1.0], "label": [0]}), folder / "a_test.parquet")
    assert "a second test file for series 'a'" in error(folder)
    assert "neither a folder nor a known data set; known are SMD" in error(tmp_path / "nothing")
    truncated = folder_file(tmp_path / "g", "b")
    pq.write_table(pa.table({"v": [1.0], "label": [0]}), truncated)
    truncated.write_bytes(truncated.read_bytes()[:20])
    assert "not a readable Parquet file" in error(tmp_path / "g")


def test_a_known_name_that_is_not_there(tmp_path: Path) -> None:
    assert error("SMD", root=tmp_path) == f"SMD is not in {tmp_path}: get it with 'pateval data fetch SMD'"


def test_info_and_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert {each.name for each in info()} >= {"SMD", "MSL", "SMAP", "PSM", "SWaT", "UCR", "MBA_ECG", "NAB", "TSB-AD-U"}
    assert all(each.licence and each.citation and each.origin for each in info())
    assert all(each.downloads for each in info() if each.name != "SWaT")
    assert info("ucr_kdd21")[0].name == "UCR"
    with pytest.raises(ValueError, match="there is no data set 'nope'; known are SMD"):
        info("nope")
    monkeypatch.setenv("PATEVAL_DATA", str(tmp_path))
    assert data_root() == tmp_path
    monkeypatch.delenv("PATEVAL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_root() == tmp_path / "pateval"


def test_series_refuses_what_does_not_fit() -> None:
    values, labels = np.zeros((3, 2)), np.zeros(3, dtype=bool)
    with pytest.raises(ValueError, match="3 test steps but 2 labels"):
        Series("s", values, labels[:2])
    with pytest.raises(ValueError, match="steps x features"):
        Series("s", values[:, 0], labels)
    with pytest.raises(ValueError, match="same features"):
        Series("s", values, labels, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="1 names"):
        Series("s", values, labels, features=("a",))
    with pytest.raises(ValueError, match="boundaries"):
        Series("s", values, labels, parts=("a", "b"), boundaries=(0, 9), train_boundaries=(0, 0))


def test_join_keeps_boundaries() -> None:
    one = Series("a", np.zeros((3, 1)), np.zeros(3, dtype=bool), np.zeros((2, 1)))
    two = Series("b", np.ones((2, 1)), np.ones(2, dtype=bool), np.ones((4, 1)))
    both = join([join([one, two], "x"), one], "y")
    assert both.parts == ("a", "b", "a")
    assert (both.boundaries, both.train_boundaries) == ((0, 3, 5), (0, 2, 6))
    assert both.step_in_part.tolist() == [0, 1, 2, 0, 1, 0, 1, 2]
    assert (both.steps, both.train_steps) == (8, 8)
    with pytest.raises(ValueError, match="no series to join"):
        join([], "z")
    with pytest.raises(ValueError, match="features differ"):
        join([one, Series("c", np.zeros((1, 2)), np.zeros(1, dtype=bool), np.zeros((1, 2)))], "z")
    with pytest.raises(ValueError, match="only one has a training stretch"):
        join([one, Series("c", np.zeros((1, 1)), np.zeros(1, dtype=bool))], "z")


# name, series, training rows, test rows, features, anomalous steps, events: as published, or as at hand
PUBLISHED = [
    ("SMD", 19, 450_219, 450_232, 38, None, 268),
    ("MSL", 27, 58_317, 73_729, 55, 7_766, 36),
    ("SMAP", 53, 135_183, 427_617, 25, 54_696, 67),
    ("PSM", 1, 0, 8_386, 25, None, 12),
    ("NAB", 58, 0, 365_558, 1, 33_495, 116),
    ("TSB-AD-sample", 1, 1_007, 4_031, 1, None, None),
]


@pytest.mark.parametrize(("name", "series", "train", "test", "features", "anomalous", "count"), PUBLISHED)
def test_real_folders(
    real_data: Path,
    name: str,
    series: int,
    train: int,
    test: int,
    features: int,
    anomalous: int | None,
    count: int | None,
) -> None:
    found = load(name, root=real_data)
    assert len(found) == series
    joined = join(found, name)
    assert joined.train_steps == train
    assert joined.test.shape == (test, features)
    if anomalous is not None:
        assert int(joined.labels.sum()) == anomalous
    if count is not None:
        assert sum(events(each.labels) for each in found) == count


def test_real_shares(real_data: Path) -> None:
    assert join(load("SMD", root=real_data), "SMD").anomaly_share == pytest.approx(0.0461, abs=5e-5)
    assert load("PSM", root=real_data)[0].anomaly_share == pytest.approx(0.1399, abs=5e-5)
    ecg = {each.name: (events(each.labels), each.anomaly_share, each.steps) for each in load("MBA_ECG", root=real_data)}
    for name, expected in (("805", (208, 0.0877)), ("806", (61, 0.0226)), ("820", (191, 0.0624))):
        assert ecg[f"MBA_ECG{name}"][0] == expected[0]
        assert ecg[f"MBA_ECG{name}"][1] == pytest.approx(expected[1], abs=5e-5)
        assert ecg[f"MBA_ECG{name}"][2] == 230_400
    machines = {each.name: each for each in load("SMD", root=real_data)}
    assert (machines["machine-1-6"].steps, machines["machine-1-6"].train_steps) == (23_689, 23_688)
    assert machines["machine-1-6"].anomaly_share == pytest.approx(0.1565, abs=5e-5)


def test_real_weather_series(real_data: Path) -> None:
    (weather,) = load("UCR", root=real_data)
    assert (weather.train_steps, weather.steps) == (4000, 4184)
    assert np.flatnonzero(weather.labels).tolist() == [5391 - 4000]


@pytest.mark.parametrize("folder", ["SMD", "MSL", "SMAP", "PSM", "NAB", "UCR", "MBA_ECG", "TSB-AD_sample"])
def test_real_folders_are_recognised_without_a_name(real_data: Path, folder: str, tmp_path: Path) -> None:
    link = tmp_path / "somewhere"
    link.symlink_to(real_data / folder)
    assert [each.name for each in load(link)] == [
        each.name for each in load(folder.replace("_sample", "-sample"), root=real_data)
    ]
