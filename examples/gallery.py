"""Make every figure of `pateval.plots` from real data.

    python examples/gallery.py [-o FOLDER] [--suffix png] [--only NAME ...]

The data are looked for in the folder that the environment variable PATEVAL_DATA names, then in ../shared/data beside
the checkout: the Numenta Anomaly Benchmark with the published scores of its detectors, and the labels of the Server
Machine Dataset. Where there are none, the made series of `pateval demo` take their place, and a line says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pateval as pv
from pateval import plots
from pateval.demo import detector_scores, make_series

CHECKOUT = Path(__file__).resolve().parents[1]
SERIES = "realKnownCause/nyc_taxi.csv"
DETECTORS = ("htmjava", "numenta", "knncad", "windowedGaussian", "skyline", "random")
BUFFER = 100  # half of an event of the real series
MADE_BUFFER = 24  # half of the period of the demo's
METRICS = (*pv.DEFAULT_METRICS, "range_based_f1")


@dataclass(frozen=True, eq=False)
class Material:
    """What the figures are drawn from.

    Attributes
    ----------
    values, labels, times : ndarray
        One series with its truth; times may be None.
    scores : dict
        Scores of detectors on it.
    board_data : object
        What `pateval.leaderboard` takes: many detectors on many series.
    board_options : dict
        Columns of it.
    events_of_all_lengths : Explanation
        Of labels with events from very short to very long.
    buffer : int
        Steps before and after an event that suit these series.
    """

    values: np.ndarray
    labels: np.ndarray
    times: np.ndarray | None
    scores: dict[str, np.ndarray]
    board_data: Any
    board_options: dict[str, Any]
    events_of_all_lengths: pv.Explanation
    buffer: int


def find_data() -> Path | None:
    """Folder of real data, if there is one."""
    named = os.environ.get("PATEVAL_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    return folder if (folder / "NAB" / "NAB.parquet").is_file() else None


def real_material(folder: Path) -> Material:
    """Taxi passengers in New York from NAB, and the published scores of the benchmark's detectors."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    def rows(path: Path) -> Any:
        table = pq.read_table(path)
        return table.filter(pc.equal(table["series"].cast("string"), SERIES))

    raw = rows(folder / "NAB" / "NAB.parquet")
    files = sorted((folder / "scores" / "NAB").glob("*.parquet"))
    scores = {name: rows(folder / "scores" / "NAB" / f"{name}.parquet")["score"].to_numpy() for name in DETECTORS}
    return Material(
        raw["value"].to_numpy(),
        raw["label_window"].to_numpy().astype(bool),
        raw["timestamp"].to_numpy(),
        scores,
        [str(file) for file in files],
        {"series": "series", "score": "score"},
        explained_lengths(folder),
        BUFFER,
    )


def made_material() -> Material:
    """The demo's series, where no real ones are at hand."""
    sample = make_series(0)
    scores = {
        name: values for name, values in detector_scores(sample, 0).items() if name not in ("perfect", "constant")
    }
    data = {}
    for seed in range(6):
        one = make_series(seed)
        data[f"series {seed}"] = {"label": one.labels.astype(int), **detector_scores(one, seed)}
    lengths = (1, 2, 4, 8, 15, 30, 60, 120, 240, 500, 1000)
    stretches = [np.repeat([0, 1], [BUFFER if length % 4 else BUFFER // 2, length]) for length in lengths]
    events = np.concatenate([*stretches, np.zeros(BUFFER, dtype=int)])
    return Material(
        sample.values,
        sample.labels,
        None,
        scores,
        data,
        {"score": list(detector_scores(sample, 0))},
        pv.explain(events, events, early=BUFFER, delay=BUFFER),
        MADE_BUFFER,
    )


def figures(material: Material) -> dict[str, Callable[[], Any]]:
    """How to draw each figure, by name."""
    labels, scores, buffer = material.labels, material.scores, material.buffer
    names = list(scores)
    first, second = names[:2]
    threshold = {name: pv.best_threshold(labels, scores[name])[0] for name in names}
    explained = {
        name: pv.explain(labels, scores[name] >= threshold[name], early=buffer, delay=buffer) for name in names
    }
    curves = plots.pate_curves(labels, scores, early=(0, buffer), delay=(0, buffer))
    starts = [event.start for event in explained[first].events]
    near = (max(0, starts[0] - 3 * buffer), min(labels.size, starts[0] + 9 * buffer))
    sizes = list(range(0, 201, 5))
    lengths = list(range(0, 101, 10))
    return {
        "series": lambda: plots.series(
            labels,
            {name: scores[name] for name in names[:2]},
            values=material.values,
            early=buffer,
            delay=buffer,
            threshold=threshold,
            times=material.times,
        ),
        "categories": lambda: plots.categories(explained[first], times=material.times, limits=near),
        "precision-recall": lambda: plots.precision_recall(curves[first], threshold=threshold[first]),
        "precision-recall-several": lambda: plots.precision_recall(curves, threshold=threshold),
        "buffers": lambda: plots.buffer_heat_map(
            plots.pate_by_buffers(labels, scores[first], early=lengths, delay=lengths), early=lengths, delay=lengths
        ),
        "buffer-size": lambda: plots.buffer_sizes(
            sizes, plots.pate_by_sizes(labels, scores, sizes=sizes), random="random" if "random" in scores else None
        ),
        "lengths": lambda: plots.weights_by_length(material.events_of_all_lengths),
        "distribution": lambda: plots.score_distribution(labels, scores[first], threshold=threshold[first], log=True),
        "comparison": lambda: plots.comparison(
            {name: explained[name] for name in (first, second)},
            scores=scores,
            threshold=threshold,
            times=material.times,
        ),
        "critical-difference": lambda: plots.critical_difference(board(material).significance("pate_ap")),
        "ranks": lambda: plots.rank_heat_map(board(material)),
        "audit": lambda: plots.audit_chart(pv.audit(labels, early=buffer, delay=buffer, seeds=5)),
        "segments": lambda: plots.segments(
            labels,
            scores,
            limits=[(max(0, start - 300), min(labels.size, start + 900)) for start in starts[:3]],
            early=buffer,
            delay=buffer,
            threshold=threshold,
        ),
        "early-late": lambda: moved_detections(),
        "timing": lambda: timings(),
    }


@cache
def board(material: Material) -> pv.Leaderboard:
    """Leaderboard of all detectors on all series."""
    options = {"metrics": METRICS, "early": (0, material.buffer), "delay": (0, material.buffer)}
    options |= {"workers": 1, "chance": 0, "event_draws": 0, **material.board_options}
    return pv.leaderboard(material.board_data, **options)


def explained_lengths(folder: Path) -> pv.Explanation:
    """The events of all machines of SMD, explained as if every step of them had been found."""
    with np.load(folder / "SMD" / "SMD_test_labels_all28.npz") as machines:
        labels = [machines[name] for name in machines.files]
    series = np.repeat(np.arange(len(labels)), [part.size for part in labels])
    together = np.concatenate(labels)
    return pv.explain(together, together, early=BUFFER, delay=BUFFER, series=series)


def moved_detections() -> Any:
    """One detection of an event's own length, moved from too early to too late."""
    labels = np.zeros(500, dtype=int)
    labels[240:260] = 1
    moves = list(range(-40, 41))
    moved = [np.roll(labels, move) for move in moves]
    return plots.shifts(
        moves,
        {
            "PATE": [pv.pate(labels, found.astype(float), early=20, delay=20) for found in moved],
            "PATE-F1": [pv.pate_f1(labels, found, early=20, delay=20) for found in moved],
            "point F1": [pv.point(labels, found).f1 for found in moved],
            "affiliation F1": [pv.affiliation(labels, found).f1 for found in moved],
        },
        y_label="value",
    )


def timings() -> Any:
    """Measured here and now: seconds of two metrics against the length of the series."""
    import time

    rng = np.random.default_rng(0)
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
    seconds: dict[str, list[float]] = {"PATE": [], "VUS-PR": []}
    for size in sizes:
        labels = np.zeros(size, dtype=bool)
        for start in range(100, size - 100, 1000):
            labels[start : start + 50] = True
        scores = rng.random(size)
        for name, metric in (("PATE", lambda a, b: pv.pate(a, b, early=100, delay=100)), ("VUS-PR", pv.vus_pr)):
            taken = []
            for _ in range(3):
                begin = time.perf_counter()
                metric(labels, scores)
                taken.append(time.perf_counter() - begin)
            seconds[name].append(min(taken))
    return plots.timings(sizes, seconds)


def main() -> None:
    """Read the command line, draw, write, and say what was written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("gallery"), help="folder for the figures")
    parser.add_argument("--suffix", choices=["png", "pdf", "svg"], default="png")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="draw these figures only")
    given = parser.parse_args()
    folder = find_data()
    if folder is None:
        print("no real data found (set PATEVAL_DATA): the demo's made series are drawn", file=sys.stderr)
    known = figures(made_material() if folder is None else real_material(folder))
    unknown = [name for name in given.only or () if name not in known]
    if unknown:
        parser.error(f"there is no figure {unknown[0]!r}; there are {', '.join(known)}")
    given.output.mkdir(parents=True, exist_ok=True)
    # Some of these detectors have coarse scores; the figures show what that does.
    warnings.simplefilter("ignore", pv.CoarseScoresWarning)
    for name in given.only or known:
        path = given.output / f"{name}.{given.suffix}"
        print(plots.save(known[name](), path, creator=f"pateval gallery {name}"))


if __name__ == "__main__":
    main()
