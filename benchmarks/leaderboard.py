"""Measure how fast a leaderboard is, how well it uses its workers, and whether the memory of its parent stays flat.

Each measurement runs in a process of its own, so that its peak memory is its own. Run one of

    python benchmarks/leaderboard.py throughput            2,000 series x 20 detectors x 5,000 steps, synthetic
    python benchmarks/leaderboard.py speedup               2 workers against 1 on the NAB score files
    python benchmarks/leaderboard.py accumulate            PateAccumulator over generated chunks
    python benchmarks/leaderboard.py large                 5,000 detectors x 1 series; 100,000 series x 2 detectors
    python benchmarks/leaderboard.py growth                one detector more on the NAB board, against it alone

and `--help` after any of them for smaller sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

CHECKOUT = Path(__file__).resolve().parents[1]


def synthetic_labels(series: int, steps: int) -> np.ndarray:
    """Three events of 50 steps somewhere in each series."""
    labels = np.zeros(steps, dtype=np.uint8)
    for start in np.random.default_rng([1, series]).integers(100, steps - 150, 3):
        labels[start : start + 50] = 1
    return labels


def write_synthetic(folder: Path, series: int, detectors: int, steps: int) -> list[str]:
    """Write one Parquet file per detector, in row groups of 100 series."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [("series", pa.dictionary(pa.int32(), pa.string())), ("label", pa.uint8()), ("score", pa.float32())]
    )
    names = pa.array([f"series-{number:05d}" for number in range(series)])
    paths = []
    for detector in range(detectors):
        generator = np.random.default_rng([2, detector])
        path = folder / f"detector-{detector:02d}.parquet"
        with pq.ParquetWriter(path, schema, compression="none") as writer:
            for first in range(0, series, 100):
                group = range(first, min(first + 100, series))
                labels = np.concatenate([synthetic_labels(each, steps) for each in group])
                scores = generator.random(labels.size, dtype=np.float32) + 0.05 * detector * labels
                keys = pa.DictionaryArray.from_arrays(
                    np.repeat(np.arange(first, group.stop, dtype=np.int32), steps), names
                )
                writer.write_table(pa.table([keys, labels, scores.astype(np.float32)], schema=schema))
        paths.append(str(path))
    return paths


def write_short_series(path: Path, series: int) -> None:
    """Write series of 50 to 200 steps with an event each, one after the other in one file, and two detectors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    sizes = generator.integers(50, 201, series)
    starts = np.cumsum(sizes) - sizes
    labels = np.zeros(sizes.sum(), dtype=np.uint8)
    lengths = generator.integers(3, 11, series)
    begins = starts + generator.integers(0, sizes - lengths)
    labels[np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())] = 1
    names = pa.array([f"series-{number:06d}" for number in range(series)])
    keys = pa.DictionaryArray.from_arrays(np.repeat(np.arange(series, dtype=np.int32), sizes), names)
    scores = {
        f"detector-{number}": (generator.random(labels.size) + (0.3 + 0.2 * number) * labels).astype(np.float32)
        for number in range(2)
    }
    pq.write_table(pa.table({"series": keys, "label": labels, **scores}), path, row_group_size=100_000)


def peak_memory() -> tuple[float, float]:
    """Peak memory in MB of this process, and of the largest of its children."""
    own, children = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own, children


def processor_time() -> tuple[float, float]:
    """Processor time in seconds of this process, and of all its children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


@contextmanager
def cluster(options: argparse.Namespace) -> Iterator[Executor | None]:
    """An executor of a Dask cluster with that many processes on this machine, where one is asked for."""
    if not options.dask:
        yield None
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=None, local_directory=options.folder
        ) as dask,
        Client(dask) as client,
    ):
        yield client.get_executor()


def run_once(options: argparse.Namespace) -> None:
    """Compute one leaderboard, write its files, and print its cost as JSON; the parent measures by calling this."""
    from pateval.leaderboards import leaderboard

    with tempfile.TemporaryDirectory(dir=options.folder) as folder, cluster(options) as executor:
        started = time.perf_counter()
        board = leaderboard(
            options.files,
            label="label",
            score="score",
            series="series",
            metrics=options.metrics or "all",
            workers=options.workers,
            executor=executor,
            chance=options.chance,
            progress=options.progress,
            output=folder,
        )
        seconds = time.perf_counter() - started
    if board.failures:
        sys.exit(f"{len(board.failures)} failures, the first: {board.failures[0]}")
    own, children = peak_memory()
    own_time, children_time = processor_time()
    print(
        json.dumps(
            {
                "units": board.run["units"],
                "metrics": len(board.metrics),
                "seconds": seconds,
                "memory": own,
                "worker_memory": children,
                "share": own_time / (own_time + children_time),
            }
        )
    )


def measured(
    files: list[str], *, workers: int, metrics: str, chance: int, folder: str | None = None, dask: bool = False
) -> dict[str, float]:
    """Run one leaderboard in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "once",
        *files,
        "--workers",
        str(workers),
        "--chance",
        str(chance),
        "--progress",
    ]
    command += ["--metrics", metrics] if metrics else []
    command += ["--folder", folder] if folder else []
    command += ["--dask"] if dask else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def throughput(options: argparse.Namespace) -> None:
    """Units per second on synthetic data; memory and share of the parent for a tenth of the series and for all."""
    memory = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(f"{options.detectors} detectors, {options.steps:,} steps per series, {options.workers} workers")
        for series in dict.fromkeys((max(1, options.series // 10), options.series)):
            place = Path(folder) / str(series)
            place.mkdir()
            files = write_synthetic(place, series, options.detectors, options.steps)
            found = measured(
                files,
                workers=options.workers,
                metrics=options.metrics,
                chance=options.chance,
                folder=options.folder,
            )
            memory.append(found["memory"])
            print(
                f"{series:,} series: {found['units']:,} units x {found['metrics']} metrics "
                f"in {found['seconds']:.1f} s, {found['units'] / found['seconds']:.1f} units/s, "
                f"{found['units'] * options.steps / found['seconds'] / 1e6:.2f} M points/s; peak memory "
                f"{found['memory']:.0f} MB in the parent, {found['worker_memory']:.0f} MB in a worker; "
                f"the parent takes {found['share']:.1%} of the processor time",
                flush=True,
            )
        print(f"memory of the parent grows by {memory[-1] / memory[0] - 1:.0%}")


def speedup(options: argparse.Namespace) -> None:
    """Wall time of 1 and 2 workers on the whole catalogue, alternating."""
    files = sorted(str(path) for path in Path(options.data).glob("*.parquet"))
    if not files:
        sys.exit(f"no score files in {options.data}")
    times: dict[int, list[float]] = {1: [], options.workers: []}
    for _ in range(options.repeats):
        for workers, seconds in times.items():
            found = measured(files, workers=workers, metrics=options.metrics, chance=options.chance)
            seconds.append(found["seconds"])
            print(
                f"{workers} workers: {found['seconds']:.1f} s ({found['units']:,} units, {found['metrics']} metrics)",
                flush=True,
            )
    best = {workers: min(seconds) for workers, seconds in times.items()}
    print(f"speed-up {options.workers} over 1: {best[1] / best[options.workers]:.2f} x (best of {options.repeats})")


def large(options: argparse.Namespace) -> None:
    """Time of the command and of all its processes, and files of its cache, for very many detectors or series."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        many = Path(folder) / "detectors.parquet"
        labels = np.zeros(2000, dtype=np.uint8)
        for start in np.linspace(50, 1900, 10).astype(int):
            labels[start : start + 20] = 1
        scores = {
            f"detector-{number:04d}": (labels * generator.random() + generator.random(2000)).astype(np.float32)
            for number in range(options.detectors)
        }
        pq.write_table(pa.table({"label": labels} | scores), many)
        long = Path(folder) / "series.parquet"
        write_short_series(long, options.series)
        for what, data in (
            (f"{options.detectors:,} detectors on 1 series of 2,000 steps", many),
            (f"2 detectors on {options.series:,} series of 50 to 200 steps", long),
        ):
            if options.only not in (None, data.stem):
                continue
            board = Path(folder) / f"board-{data.stem}"
            command = [sys.executable, "-m", "pateval", "leaderboard", str(data), "-o", str(board), "--format", "json"]
            started, before = time.perf_counter(), processor_time()[1]
            command += ["--metrics", options.metrics] if options.metrics else []
            command += ["--chance", str(options.chance), "--workers", str(options.workers)]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            files = len(list((board / "cache").iterdir()))
            print(
                f"{what}: {time.perf_counter() - started:.0f} s, {processor_time()[1] - before:.0f} s of processors, "
                f"at most {peak_memory()[1]:.0f} MB in a process, {files} files in the cache",
                flush=True,
            )


def growth(options: argparse.Namespace) -> None:
    """Processor time of adding a detector to a saved board of all others, over that of evaluating it alone."""
    from pateval.leaderboards import Leaderboard, leaderboard

    files = sorted(str(path) for path in Path(options.data).glob("*.parquet"))
    if len(files) < 2:
        sys.exit(f"no score files of several detectors in {options.data}")
    given = {"metrics": options.metrics or None, "workers": 1}
    with tempfile.TemporaryDirectory() as folder:
        leaderboard(files[:-1], output=f"{folder}/board", **given)
        times: dict[str, list[float]] = {"alone": [], "added": []}
        for number in range(options.repeats):
            started = time.process_time()
            leaderboard(files[-1], output=f"{folder}/alone-{number}", **given)
            times["alone"].append(time.process_time() - started)
            started = time.process_time()
            Leaderboard.load(f"{folder}/board").add(files[-1], workers=1).save(f"{folder}/added-{number}")
            times["added"].append(time.process_time() - started)
    alone, added = (min(seconds) for seconds in times.values())
    print(
        f"{Path(files[-1]).stem}: {alone:.2f} s alone, {added:.2f} s added to {len(files) - 1} detectors with loading "
        f"and saving the board, {added / alone:.2f} x (processor time, best of {options.repeats})"
    )


def accumulate(options: argparse.Namespace) -> None:
    """Points per second of `PateAccumulator`, and memory after a tenth of the points and after all."""
    from pateval.pate.accumulator import PateAccumulator

    total = PateAccumulator((0, 100), (0, 100), np.linspace(0, 1, options.thresholds))
    generator = np.random.default_rng(0)
    chunks = max(1, options.points // options.chunk)
    started, working = time.perf_counter(), 0.0
    for chunk in range(chunks):
        labels = synthetic_labels(chunk, options.chunk)
        scores = generator.random(options.chunk, dtype=np.float32)
        before = time.perf_counter()
        total.update(labels, scores)
        working += time.perf_counter() - before
        if chunk + 1 in (max(1, chunks // 10), chunks):
            print(
                f"{total.steps:,} points: {total.steps / working / 1e6:.2f} M points/s in update "
                f"({total.steps / (time.perf_counter() - started) / 1e6:.2f} with making the data), "
                f"peak memory {peak_memory()[0]:.0f} MB",
                flush=True,
            )
    print(f"pate {total.compute():.6f}")


def main() -> None:
    """Choose a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True, metavar="{throughput,speedup,accumulate,large,growth}")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--workers", type=int, default=2)
    shared.add_argument("--metrics", default="", help="metric ids; the whole catalogue by default")

    one = kinds.add_parser("throughput", parents=[shared], help=throughput.__doc__)
    one.add_argument("--series", type=int, default=2000)
    one.add_argument("--detectors", type=int, default=20)
    one.add_argument("--steps", type=int, default=5000)
    one.add_argument("--folder", help="where to put the synthetic files (about 1 GB at full size)")
    one.set_defaults(run=throughput)

    data = Path(os.environ.get("PATEVAL_DATA", CHECKOUT.parent / "shared" / "data")) / "scores" / "NAB"
    two = kinds.add_parser("speedup", parents=[shared], help=speedup.__doc__)
    two.add_argument("--data", default=str(data), help="folder of score files")
    two.add_argument("--repeats", type=int, default=2)
    two.set_defaults(run=speedup)
    for each, draws in ((one, 0), (two, 5)):  # five is what the command does unless told otherwise
        each.add_argument("--chance", type=int, default=draws, help=f"random score vectors per series ({draws})")

    three = kinds.add_parser("accumulate", help=accumulate.__doc__)
    three.add_argument("--points", type=int, default=1_000_000_000)
    three.add_argument("--chunk", type=int, default=100_000)
    three.add_argument("--thresholds", type=int, default=250)
    three.set_defaults(run=accumulate)

    four = kinds.add_parser("large", help=large.__doc__)
    four.add_argument("--detectors", type=int, default=5000)
    four.add_argument("--series", type=int, default=100_000)
    four.add_argument("--only", choices=["detectors", "series"], help="one of the two")
    four.add_argument("--workers", type=int, default=2)
    four.add_argument("--metrics", default="", help="metric ids; the nine of the command by default")
    four.add_argument("--chance", type=int, default=5, help="random score vectors per series (5)")
    four.add_argument("--folder", help="where to put the synthetic files")
    four.set_defaults(run=large)

    five = kinds.add_parser("growth", help=growth.__doc__)
    five.add_argument("--data", default=str(data), help="folder of score files")
    five.add_argument("--repeats", type=int, default=3)
    five.add_argument("--metrics", default="", help="metric ids; the nine of the command by default")
    five.set_defaults(run=growth)

    once = kinds.add_parser("once", parents=[shared])
    once.add_argument("files", nargs="+")
    once.add_argument("--chance", type=int, default=0)
    once.add_argument("--progress", action="store_true")
    once.add_argument("--folder")
    once.add_argument("--dask", action="store_true")
    once.set_defaults(run=run_once)

    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
