"""Score files for leaderboards, and ways to run and compare them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pateval.evaluation.measures import Measures
from pateval.io.plan import make_plan
from pateval.leaderboards.cache import prepare
from pateval.leaderboards.run import compute as run
from pateval.leaderboards.tasks import Settings
from pateval.worker_pool import WorkerPool
from support.leaderboard_metrics import PLAIN


def settings(metrics=PLAIN, *, chance=0, rank_by=None, event_draws=0, cache=None, doubt=None, **options):
    """What to compute: by default two metrics of our own, and nothing else."""
    measures = Measures.of(metrics=metrics, chance=chance, **options)
    cache = None if cache is None else prepare(cache)
    return Settings.of(measures, rank_by=rank_by, cache=cache, event_draws=event_draws, doubt=doubt)


def compute(plan, chosen=None, *, executor=None, workers=1, **options):
    """Run a plan."""
    with WorkerPool(executor, workers) as pool:
        return run(plan, settings() if chosen is None else chosen, pool=pool, **options)


def compute_files(files, **options):
    """Plan and run."""
    return compute(make_plan(files), **options)


def series(seed, steps=60, *, anomalies=True):
    """Labels and scores of one small series."""
    generator = np.random.default_rng(seed)
    labels = np.zeros(steps, dtype=np.uint8)
    if anomalies:
        labels[10:20] = 1
        labels[40:43] = 1
    return labels, generator.random(steps).round(4)


def write_detectors(folder, detectors=3, number=7, *, mark=None):
    """One Parquet file per detector; the series named ``mark`` of the first detector starts with -1."""
    folder.mkdir(exist_ok=True)
    for d in range(detectors):
        columns = {"series": [], "label": [], "score": []}
        for s in range(number):
            labels, scores = series(100 * d + s, steps=60 + s, anomalies=s != 2)
            if mark == s and d == 0:
                scores[0] = -1
            columns["series"] += [f"s{s}"] * labels.size
            columns["label"] += labels.tolist()
            columns["score"] += scores.tolist()
        pq.write_table(pa.table(columns), folder / f"d{d}.parquet")
    return sorted(folder.glob("*.parquet"))


def rows(board):
    """All values with their reasons, comparable: NaN equals itself."""
    table = board.scores.drop_columns(["signature"])
    return [tuple(None if value != value else value for value in row.values()) for row in table.to_pylist()]


def parquet_bytes(board, folder):
    """The bytes of the scores as a file."""
    path = Path(folder) / "check.parquet"
    board.to_parquet(path)
    return path.read_bytes()


def kept_results(folder):
    """How many results are in the files of a cache."""
    return sum(len(path.read_bytes().splitlines()) for path in Path(folder).glob("*.results"))


def wide_table(seed=0, series=4, steps=300):
    """Three detectors on some series, the last of which has no anomaly: good, fair, guess."""
    generator = np.random.default_rng(seed)
    labels = np.zeros(series * steps, dtype=int)
    for number in range(series - 1):
        for start in generator.integers(20, steps - 40, 2):
            labels[number * steps + start : number * steps + start + 15] = 1
    noise = generator.random((3, labels.size))
    return {
        "series": np.repeat([f"s{i}" for i in range(series)], steps),
        "label": labels,
        "good": labels + noise[0],
        "fair": 0.5 * labels + noise[1],
        "guess": noise[2],
    }
