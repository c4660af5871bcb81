"""Forty entries on 350 short series, whoever computes them, and whatever becomes of a worker meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import signal
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.entries import build
from support.dask_cluster import killing, running_cluster

pytestmark = pytest.mark.slow
DETECTORS, SERIES, STEPS = 40, 350, 60
TIMED = ("run.json", "timings.csv", "report.html")  # these say how long it took
FACTS = (
    'name = "{name}"\nauthors = ["A. Author"]\nlink = "https://example.org"\nlicence = "MIT"\ncausal = true\n'
    'training = "none"\ncost = "1 s"\n'
)


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "entries"
    labels = np.zeros((SERIES, STEPS), dtype=np.uint8)
    for s in range(SERIES):
        labels[s, 10 + s % 7 : 14 + s % 11] = labels[s, 40 + s % 5 : 43 + s % 5] = 1
    series = np.repeat([f"s{s:03}" for s in range(SERIES)], STEPS)
    for d in range(DETECTORS):
        name = f"d{d:02}"
        (folder / name).mkdir(parents=True)
        scores = 0.02 * d * labels + np.random.default_rng(d).random(labels.shape)
        columns = {"series": series, "label": labels.ravel(), "score": scores.ravel()}
        pq.write_table(pa.table(columns), folder / name / f"{name}.parquet")
        (folder / name / "entry.toml").write_text(FACTS.format(name=name))
    return folder


def built(entries, site, **work):
    return build(entries, site, day=date(2026, 11, 18), metrics="pate_ap,auc_roc", chance=1, workers=2, **work).board


def content_of(site):
    paths = (path for path in site.rglob("*") if path.is_file() and path.name not in TIMED)
    return {str(path.relative_to(site)): path.read_bytes() for path in paths if "cache" not in path.parts}


@pytest.fixture(scope="module")
def whole(entries, tmp_path_factory):
    """A build on two workers that nothing befell."""
    site = tmp_path_factory.mktemp("whole") / "site"
    board = built(entries, site)
    assert (len(board.detectors), len(board.series), board.failures) == (DETECTORS, SERIES, ())
    assert len(list((site / "entries").glob("*.html"))) == DETECTORS
    (line,) = json.loads((site / "history.json").read_text())
    assert (len(line["entered"]), line["series"]) == (DETECTORS, SERIES)
    assert all((site / name).stat().st_size for name in ("index.html", "report.html"))
    assert pv.verify(site / "board", workers=1).agrees
    return content_of(site)


class Worker:
    """One of the worker processes that pateval starts here, known once there is one."""

    def __init__(self, kept):
        self._kept = kept  # where finished work is kept

    def is_at_work(self):
        is_begun = any(path.stat().st_size > 0 for path in self._kept.glob("*.results"))
        return is_begun and bool(multiprocessing.active_children())

    @property
    def pid(self):
        self.process = multiprocessing.active_children()[0]
        return self.process.pid


def test_a_worker_killed_here(entries, whole, tmp_path):
    worker = Worker(tmp_path / "site" / "board" / "cache")
    with killing(worker, worker.is_at_work):
        board = built(entries, tmp_path / "site")
    worker.process.join(10)
    assert (worker.process.exitcode, board.failures) == (-signal.SIGKILL, ())
    assert content_of(tmp_path / "site") == whole


def test_a_worker_killed_on_a_cluster(entries, whole, tmp_path):
    pytest.importorskip("distributed")
    kept = tmp_path / "site" / "board" / "cache"
    with (
        running_cluster(tmp_path) as (client, workers),
        killing(workers[0], lambda: any(path.stat().st_size > 0 for path in kept.glob("*.results"))),
    ):
        board = built(entries, tmp_path / "site", executor=client.get_executor())
        assert (workers[0].wait(10), board.failures) == (-signal.SIGKILL, ())
    assert content_of(tmp_path / "site") == whole
