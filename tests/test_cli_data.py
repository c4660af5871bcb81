"""`pateval data`, run as a user would."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import http.server
import json
import threading
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from pateval import datasets
from pateval.cli.data import command
from pateval.datasets.fetch import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_list(tmp_path: Path) -> None:
    (tmp_path / "SMD").mkdir()
    result = run("list", "--root", str(tmp_path))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split()[0] == "name"
    assert len(lines) == 2 + len(datasets.DATASETS)
    # An empty folder is no data set.
    assert all(line.endswith("  no") for line in lines[2:])


def listed(root: Path) -> dict[str, tuple[str, str]]:
    rows = json.loads(run("list", "--format", "json", "--root", str(root)).stdout)
    assert {row["name"] for row in rows} == {each.name for each in datasets.DATASETS}
    assert all(row["licence"] for row in rows)
    return {row["name"]: (row["here"], row["missing"]) for row in rows}


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    machines = next(each for each in datasets.DATASETS if each.name == "SMD").members
    assert len(machines) == 28
    (tmp_path / "SMD").mkdir()
    for name in machines[:-2]:
        (tmp_path / "SMD" / f"{name}_test.parquet").touch()
    assert listed(tmp_path)["SMD"] == (
        "in part",
        "26 of 28 series are here; missing: machine-3-10, machine-3-11",
    )
    for name in machines:
        (tmp_path / "SMD" / f"{name}_test.parquet").touch()
    assert listed(tmp_path)["SMD"] == ("yes", "")
    assert "machine-3-11" not in run("list", "--root", str(tmp_path)).stdout


def test_the_real_folder(real_data: Path) -> None:
    here = listed(real_data)
    assert here["SMD"][0] == "in part"
    assert here["SMD"][1].startswith("19 of 28 series are here; missing: machine-1-1, ")
    assert here["PSM"] == ("in part", "8,386 of 87,841 test rows and 0 of 132,481 training rows are here")
    assert here["MSL"] == here["SMAP"] == here["NAB"] == ("yes", "")
    assert here["UCR"] == ("in part", "1 of 250 series is here")
    assert here["SWaT"] == ("no", "")


def test_info() -> None:
    result = run("info", "smd")
    assert result.exit_code == 0
    assert "licence:    MIT" in result.stdout
    assert "sha256 not known: trusted on first use" in result.stdout
    assert "itrust.sutd.edu.sg" in run("info", "SWaT").stdout
    assert json.loads(run("info", "MSL", "--format", "json").stdout)["downloads"][0]["sha256"].startswith("057ce2d6")


def test_info_of_nothing() -> None:
    result = run("info", "nothing")
    assert isinstance(result.exception, ValueError)
    assert "there is no data set 'nothing'; known are SMD" in str(result.exception)


def test_swat_says_how_to_ask(tmp_path: Path) -> None:
    result = run("fetch", "SWaT", "--to", str(tmp_path))
    assert isinstance(result.exception, ValueError)
    assert "fill in the form" in str(result.exception)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Address of a server of the files in ``tmp_path/site``."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def site(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "site" / "MBA_ECG805_data.out").write_text("0.5,0\n0.6,1\n")
    known = next(each for each in datasets.DATASETS if each.name == "MBA_ECG")
    file = "MBA_ECG805_data.out"
    local = dataclasses.replace(known, downloads=(datasets.Download((datasets.Mirror(f"{address}/{file}"),), file),))
    monkeypatch.setattr("pateval.datasets.DATASETS", (local,))
    return address


def test_fetch_then_load(site: str, tmp_path: Path) -> None:
    from pateval.datasets import load

    result = run("fetch", "MBA_ECG", "--to", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{tmp_path / 'MBA_ECG'}\n"
    assert "licence: Apache-2.0" in result.stderr
    assert "unverified" in result.stderr
    assert load("MBA_ECG", root=tmp_path)[0].labels.tolist() == [False, True]
    again = run("fetch", "MBA_ECG", "--to", str(tmp_path))
    assert "already here" in again.stderr


def test_fetch_of_what_is_gone(site: str, tmp_path: Path) -> None:
    (tmp_path / "site" / "MBA_ECG805_data.out").unlink()
    result = run("fetch", "MBA_ECG", "--to", str(tmp_path / "to"))
    assert isinstance(result.exception, FetchError)
    assert str(result.exception) == f"{site}/MBA_ECG805_data.out: the server answered 404 File not found"
    assert result.stdout == ""


def test_published_results_are_listed(tmp_path: Path) -> None:
    rows = json.loads(run("results", "list", "--format", "json", "--root", str(tmp_path)).stdout)
    assert {row["name"]: row["here"] for row in rows} == {"TSB-AD-U": "no", "TSB-AD-M": "no"}
    known = datasets.PUBLISHED[0]
    known.path(tmp_path).parent.mkdir()
    known.path(tmp_path).write_text("file,a\n")
    assert "yes" in run("results", "list", "--root", str(tmp_path)).stdout


def test_published_results_are_fetched_and_checked(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = datasets.PUBLISHED[0]
    right = b"file,a,b\ns1.csv,0.5,0.25\n"
    download = datasets.Download(
        (datasets.Mirror(f"{address}/table.csv"),), known.file, hashlib.sha256(right).hexdigest()
    )
    tables = (dataclasses.replace(known, downloads=(download,)), *datasets.PUBLISHED[1:])
    monkeypatch.setattr("pateval.datasets.PUBLISHED", tables)
    served = tmp_path / "site" / "table.csv"
    served.write_bytes(right + b"s2.csv,1,1\n")
    wrong = run("results", "fetch", "tsb_ad_u", "--to", str(tmp_path))
    assert isinstance(wrong.exception, FetchError)
    assert "the sha256 of what came is not the expected" in str(wrong.exception)
    assert not known.path(tmp_path).exists()
    served.write_bytes(right)
    done = run("results", "fetch", "tsb_ad_u", "--to", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{known.path(tmp_path)}\n"
    assert "licence: Apache-2.0" in done.stderr
    assert known.path(tmp_path).read_bytes() == right
    # A copy that somebody put there is not fetched again.
    served.unlink()
    known.path(tmp_path / "copy").parent.mkdir(parents=True)
    known.path(tmp_path / "copy").write_bytes(right)
    copied = run("results", "fetch", "tsb_ad_u", "--to", str(tmp_path / "copy"))
    assert copied.exit_code == 0, copied.output
    assert f"already here: {known.path(tmp_path / 'copy')}" in copied.stderr
    unknown = run("results", "fetch", "nothing")
    assert str(unknown.exception) == "there are no published results 'nothing'; known are TSB-AD-U, TSB-AD-M"
