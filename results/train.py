"""Train the paper's detectors on the packed data; needs Python, NumPy, torch and this repository's ``src``.

    PYTHONPATH=src python results/train.py --data build/impact --out OUT --protocols paper --jobs 8 --minutes 8

Everything is done by `pateval.runner`: the seeds of a detector train side by side, ``--jobs`` fits share the device,
and what is finished or half trained stays in ``--work``. ``OUT`` receives few files of bounded size (``scores-N.zip``),
which collect.py turns into score files; what collect.py has, by its list in the data folder, is not trained again.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))

from impact import DATASETS, DETECTORS, PROTOCOLS, SEEDS, plans

from pateval.runner import DetectionProgress, run_plans
from pateval.runner.tasks import read_part

DONE = "done.json"
# Of seed 0 the scores come back as they are. Of the others 12 bits of the mantissa do: they differ by about a hundredth
# of a per cent, and a third of the size is saved.
MANTISSA_BITS = 12
# Training scores come back exactly where a threshold may lie, and every so many of the rest.
EXACT_SHARE = 0.05
THINNING = 16
FILE_BYTES = int(15.5 * 2**20)


def round_mantissa(values: npt.NDArray[np.float32], bits: int) -> npt.NDArray[np.float32]:
    """Round to so many bits of the mantissa, ties up; the order of values stays as it is, up to ties."""
    dropped = 23 - bits
    pattern = values.view(np.uint32) + np.uint32(1 << (dropped - 1))
    return (pattern & ~np.uint32((1 << dropped) - 1)).view(np.float32)


def thin(training_scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Keep the top of sorted scores and every sixteenth of the others; `collect.thicken` undoes it."""
    exact = len(training_scores) - int(EXACT_SHARE * len(training_scores))
    return np.concatenate([training_scores[:exact:THINNING], training_scores[exact:]])


def packed(path: Path) -> bytes:
    """Return a part file in the form in which it travels: byte planes, compressed."""
    scores, training_scores, provenance = read_part(path)
    if provenance["seed"]:
        scores = round_mantissa(scores.astype(np.float32), MANTISSA_BITS)
        provenance["mantissa_bits"] = MANTISSA_BITS
    planes = {
        name: np.ascontiguousarray(values.astype(np.float32).view(np.uint8).reshape(-1, 4).T)
        for name, values in (("scores", scores), ("training_scores", thin(training_scores)))
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, provenance=np.array(json.dumps(provenance)), **planes)  # type: ignore[arg-type]  # stubs
    return buffer.getvalue()


def write_files(
    work: Path, out: Path, files: int, *, protocols: Sequence[str], done: Collection[str]
) -> tuple[int, int]:
    """Put what is finished into at most so many files of bounded size; return how many runs are in, and left behind.

    Runs whose key is in ``done`` were collected before and do not travel again.
    """
    found = [path for name in protocols for path in sorted((work / name).glob("*/.parts/*/*.npz"))]
    parts = [path for path in found if path.stem.rpartition("-")[2] not in done]
    with ThreadPoolExecutor() as pool:
        contents = list(pool.map(packed, parts))
    room = [FILE_BYTES] * files
    bins: list[list[int]] = [[] for _ in range(files)]
    left = 0
    for index, content in enumerate(contents):
        # A few hundred bytes of directory for each.
        size = len(content) + 400
        place = next((number for number, free in enumerate(room) if free >= size), None)
        if place is None:
            left += 1
            continue
        room[place] -= size
        bins[place].append(index)
    out.mkdir(parents=True, exist_ok=True)
    for number, chosen in enumerate(bins):
        if chosen:
            with zipfile.ZipFile(out / f"scores-{number}.zip", "w") as archive:
                for index in chosen:
                    archive.writestr(str(parts[index].relative_to(work)).replace("/.parts/", "/"), contents[index])
    return len(parts) - left, left


class Reporter:
    """Prints a line for each run that ends, and one about a training now and then."""

    def __init__(self) -> None:
        self.begun = self.last = time.perf_counter()

    def show(self, progress: DetectionProgress) -> None:
        """Print what is worth it."""
        now = time.perf_counter()
        if progress.state in ("kept", "started") or (progress.state == "training" and now - self.last < 15):
            return
        self.last = now
        left = "" if progress.seconds_left is None else f", {progress.seconds_left:.0f} s left"
        print(
            f"[{(now - self.begun) / 60:5.2f} min, {progress.done:3} of {progress.total}] {progress.detector} on "
            f"{progress.series} (seed {progress.run}) {progress.state} {progress.message}{left}",
            flush=True,
        )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""

    def names(known: tuple[str, ...]) -> Any:
        def read(text: str) -> tuple[str, ...]:
            chosen = tuple(text.split(","))
            if unknown := sorted(set(chosen) - set(known)):
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
            return chosen

        return read

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/impact"), help="folder written by prepare.py")
    parser.add_argument("--out", type=Path, default=Path("build/trained"), help="where results go")
    parser.add_argument("--work", type=Path, default=Path("build/training"), help="finished runs and checkpoints")
    parser.add_argument("--protocols", type=names(PROTOCOLS), default=PROTOCOLS)
    parser.add_argument("--datasets", type=names(DATASETS), default=DATASETS)
    parser.add_argument("--detectors", type=names(DETECTORS), default=DETECTORS)
    parser.add_argument("--seeds", type=lambda text: tuple(map(int, text.split(","))), default=SEEDS)
    parser.add_argument("--jobs", type=int, default=8, help="fits at a time, all seeds of a detector being one")
    parser.add_argument("--minutes", type=float, default=8.0, help="stop after so long; run again to go on")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-graph", action="store_true", help="take optimiser steps one by one, without CUDA graphs")
    parser.add_argument("--one-by-one", action="store_true", help="train the seeds of a detector one after the other")
    parser.add_argument("--files", type=int, default=4, help="most files of scores, 15.5 MiB each")
    parser.add_argument("--epochs", type=int, default=None, help="instead of the full schedule, to try things")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Train, pack, and say what is left; the exit status is 1 where a run failed."""
    options = parse(arguments)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    commit = options.data / "commit.txt"
    if commit.exists():
        os.environ.setdefault("PATEVAL_COMMIT", commit.read_text().strip())
    listed = options.data / DONE
    done = set(json.loads(listed.read_text())) if listed.exists() else set()
    changes: dict[str, Any] = {} if options.epochs is None else {"epochs": options.epochs}
    if options.no_graph:
        changes["cuda_graph"] = False
    begun = time.perf_counter()
    failed = stopped = 0
    # One after the other means calls with one seed each: the runner trains together what it is given together.
    for seeds in [(seed,) for seed in options.seeds] if options.one_by_one else [options.seeds]:
        left = options.minutes - (time.perf_counter() - begun) / 60
        results = run_plans(
            plans(
                options.data,
                options.work,
                protocols=options.protocols,
                datasets=options.datasets,
                detectors=options.detectors,
                seeds=seeds,
                device=options.device,
                changes=changes,
            ),
            jobs=options.jobs,
            minutes=max(0.0, left),
            assemble=False,
            skip=done,
            show=Reporter().show,
        )
        failed += sum(len(result.failures) for plan in results for result in plan)
        stopped += sum(result.stopped for plan in results for result in plan)
    trained = (time.perf_counter() - begun) / 60
    sent, behind = write_files(options.work, options.out, options.files, protocols=options.protocols, done=done)
    for path in sorted(options.out.glob("scores-*.zip")):
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")
    print(
        f"{trained:.2f} minutes of training; {sent} runs in the files, {behind} too many, left in {options.work}; "
        f"{stopped} not finished, {failed} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
