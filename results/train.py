"""Train the deep detectors on the prepared arrays; needs Python, NumPy, torch and this repository's ``src``.

    PYTHONPATH=src python results/train.py --data build/npz --out OUT --probe --plain      time 50 steps of each pair
    PYTHONPATH=src python results/train.py --data build/npz --out OUT --jobs 6             train them all

Each (detector, data set, seed) runs in a process of its own, ``--jobs`` at a time on one device, longest first, and is
resumable: what is done, and the state after each epoch of what is not, is kept in ``--work``. ``OUT`` receives one
``<data set>_seed<seed>.npz`` with the float32 test scores of each detector, all test steps, and ``train_log.json`` with
settings, versions, seconds, history and thresholds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DETECTORS = ("lstm", "transformer", "usad", "anomaly_transformer", "dcdetector")
DATASETS = ("MSL", "SMAP", "SMD")
RATIOS = (0.1, 0.5, 0.6, 1.0)
# Relative durations, only to start the long ones first.
COST = {
    "usad": 5,
    "transformer": 4,
    "lstm": 4,
    "anomaly_transformer": 2,
    "dcdetector": 1,
    "MSL": 1,
    "SMAP": 2.5,
    "SMD": 8,
}


def read(options: argparse.Namespace, dataset: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return training and test series of a data set, cut to ``--limit-rows`` if asked."""
    with np.load(options.data / f"{dataset}.npz") as arrays:
        train, test = (np.ascontiguousarray(arrays[part][: options.limit_rows]) for part in ("train", "test"))
    return train, test


def build(options: argparse.Namespace, name: str, dataset: str, seed: int, *, graph: bool) -> Any:
    """Return the detector with the settings of the paper's table."""
    from pateval.detectors import make, settings_class
    from pateval.detectors.presets import dataset_settings

    settings = {**dataset_settings(name, dataset, variant=options.variant), "seed": seed, "device": options.device}
    settings["cuda_graph"] = graph
    known = settings_class(name).__dataclass_fields__
    if "select_on_test" in known:
        settings["select_on_test"] = options.select_on_test
    if "variant" in known:
        settings["variant"] = options.variant
    if options.epochs is not None:
        settings["epochs"] = options.epochs
    return make(name, **settings)


def pair_name(name: str, dataset: str, seed: int) -> str:
    """Return what a pair is called in the output."""
    return f"{dataset}_{name}_seed{seed}"


def work_file(options: argparse.Namespace, pair: tuple[str, str, int], suffix: str) -> Path:
    """Return a pair's file in the work folder; runs with other options have other files."""
    wanted = (
        options.variant,
        options.select_on_test,
        options.graph,
        options.epochs,
        options.limit_rows,
        options.device,
    )
    path: Path = options.work / f"{pair_name(*pair)}_{zlib.crc32(repr(wanted).encode()):08x}.{suffix}"
    return path


def train_pair(options: argparse.Namespace, name: str, dataset: str, seed: int) -> dict[str, Any]:
    """Train one detector, score, and save scores and log in the work folder."""
    import torch

    from pateval.detectors.presets import threshold_ratio
    from pateval.detectors.windows import drop_tail

    started = time.perf_counter()
    train, test = read(options, dataset)
    detector = build(options, name, dataset, seed, graph=options.graph)
    pair = (name, dataset, seed)
    checkpoint = work_file(options, pair, "checkpoint")

    def progress(epoch: Any) -> None:
        every = max(1, epoch.epochs // 10)
        if epoch.number % every == 0 or epoch.number <= 2:
            values = " ".join(f"{value:.6g}" for value in epoch.validation)
            print(
                f"epoch {epoch.number}/{epoch.epochs} loss {epoch.loss:.6g} validation {values} "
                f"lr {epoch.learning_rate:.3g} {epoch.seconds:.3f} s {epoch.steps} steps{' *' if epoch.kept else ''}",
                flush=True,
            )

    extra = {"test": test} if getattr(detector.settings, "select_on_test", False) else {}
    detector.fit(train, progress=progress, checkpoint=checkpoint, **extra)
    fitted = time.perf_counter()
    test_scores = detector.score(test).astype(np.float32)
    window = detector.settings.window
    train_scores = drop_tail(detector.score(drop_tail(train, window)).astype(np.float32), window)
    both = np.concatenate([train_scores, drop_tail(test_scores, window)]).astype(np.float64)
    history = detector.history_
    kept = [epoch.number for epoch in history if epoch.kept]
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    log = {
        "detector": name,
        "dataset": dataset,
        "seed": seed,
        "settings": dataclasses.asdict(detector.settings),
        "train_steps": len(train),
        "test_steps": len(test),
        "features": train.shape[1],
        "seconds_total": time.perf_counter() - started,
        "seconds_fit": fitted - started,
        "seconds_epochs": sum(epoch.seconds for epoch in history),
        "epochs": len(history),
        "epoch_kept": kept[-1] if kept else None,
        "optimizer_steps": sum(epoch.steps for epoch in history),
        "history": [
            [e.number, e.loss, *e.validation, e.learning_rate, round(e.seconds, 4)]
            for e in history
            if e.number % max(1, len(history) // 50) == 0 or e.number in (1, len(history))
        ],
        # The paper's rule: training and test scores together, whole windows only, linear interpolation.
        "threshold_ratio": threshold_ratio(name, dataset),
        "thresholds": {str(ratio): float(np.percentile(both, 100 - ratio)) for ratio in RATIOS},
        "train_score_percentiles": {
            str(level): float(np.percentile(train_scores, level)) for level in (50, 90, 99, 99.4, 99.5, 99.9, 100)
        },
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
        },
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu",
    }
    np.save(work_file(options, pair, "npy"), test_scores)
    work_file(options, pair, "json").write_text(json.dumps(log))
    checkpoint.unlink(missing_ok=True)
    return log


def is_done(options: argparse.Namespace, pair: tuple[str, str, int]) -> bool:
    """Whether a pair's scores are in the work folder."""
    return work_file(options, pair, "json").exists()


def collect(options: argparse.Namespace, pairs: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """Write what is done to the output folder: few files, since few may travel back."""
    options.out.mkdir(parents=True, exist_ok=True)
    done = [pair for pair in pairs if is_done(options, pair)]
    for dataset, seed in sorted({(dataset, seed) for _, dataset, seed in done}):
        scores = {
            name: np.load(work_file(options, (name, dataset, seed), "npy"))
            for name, other, number in done
            if (other, number) == (dataset, seed)
        }
        np.savez_compressed(options.out / f"{dataset}_seed{seed}.npz", **scores)
    logs = [json.loads(work_file(options, pair, "json").read_text()) for pair in done]
    (options.out / "train_log.json").write_text(json.dumps(logs, indent=1))
    return logs


def train_all(options: argparse.Namespace, pairs: list[tuple[str, str, int]]) -> int:
    """Train all pairs, ``--jobs`` processes at a time; return how many did not finish."""
    started = time.perf_counter()
    waiting = sorted(
        (pair for pair in pairs if not is_done(options, pair)), key=lambda pair: -COST[pair[0]] * COST[pair[1]]
    )
    print(f"{len(pairs)} pairs, {len(pairs) - len(waiting)} done before, {options.jobs} at a time", flush=True)
    running: dict[tuple[str, str, int], subprocess.Popen[bytes]] = {}
    failed: list[tuple[str, str, int]] = []
    deadline = started + 60 * options.minutes
    while waiting or running:
        while waiting and len(running) < options.jobs and time.perf_counter() < deadline:
            pair = waiting.pop(0)
            running[pair] = start(options, pair)
        for pair, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[pair]
            minutes = (time.perf_counter() - started) / 60
            if process.returncode == 0 and is_done(options, pair):
                log = json.loads(work_file(options, pair, "json").read_text())
                print(
                    f"[{minutes:5.2f} min] {pair_name(*pair)} done in {log['seconds_total'] / 60:.2f} min", flush=True
                )
            else:
                failed.append(pair)
                tail = work_file(options, pair, "log").read_text()[-1500:]
                print(f"[{minutes:5.2f} min] {pair_name(*pair)} FAILED ({process.returncode})\n{tail}", flush=True)
            collect(options, pairs)
        if time.perf_counter() > deadline:
            for pair, process in running.items():
                print(
                    f"{pair_name(*pair)} stopped at the time limit; it goes on from its checkpoint next time",
                    flush=True,
                )
                process.terminate()
                process.wait()
            break
        time.sleep(0.2)
    logs = collect(options, pairs)
    print(f"\n{'pair':40} {'minutes':>7} {'epochs':>6} {'kept':>5} {'steps':>7} {'ms/step':>8}")
    for log in logs:
        steps = max(1, log["optimizer_steps"])
        print(
            f"{pair_name(log['detector'], log['dataset'], log['seed']):40} {log['seconds_total'] / 60:7.2f} "
            f"{log['epochs']:6} {log['epoch_kept'] or 0:5} {steps:7} {1000 * log['seconds_epochs'] / steps:8.2f}"
        )
    for path in sorted(options.out.glob("*.npz")):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    left = len(pairs) - len(logs)
    print(f"{len(logs)} of {len(pairs)} pairs done, {(time.perf_counter() - started) / 60:.2f} minutes", flush=True)
    return left


def start(options: argparse.Namespace, pair: tuple[str, str, int]) -> subprocess.Popen[bytes]:
    """Start the process of one pair; its output goes to a file in the work folder."""
    command = [sys.executable, __file__, *options.given, "--pair", *map(str, pair)]
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONUNBUFFERED": "1"}
    with work_file(options, pair, "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)


def probe(options: argparse.Namespace, pairs: list[tuple[str, str, int]]) -> None:
    """Time some steps of each pair: lean, as a CUDA graph where there is one, and plain if asked."""
    import torch

    sys.path.insert(0, str(Path(__file__).parent))
    on_gpu = (options.device or ("cuda" if torch.cuda.is_available() else "cpu")).startswith("cuda")
    ways = ["lean"] + ["graph"] * on_gpu + ["plain"] * options.plain
    rows = []
    print(
        f"{'pair':40}" + "".join(f"{way + ' ms':>10}" for way in ways) + "   full schedule, minutes (lean)", flush=True
    )
    for name, dataset, seed in pairs:
        times: dict[str, float | str] = {}
        total = 0
        for way in ways:
            try:
                times[way], total = time_steps(options, name, dataset, seed, way)
            except RuntimeError as error:
                times[way] = f"{type(error).__name__}: {error}"[:300]
        shown = "".join(f"{value:10.2f}" if isinstance(value, float) else f"{'failed':>10}" for value in times.values())
        lean = times["lean"]
        minutes = lean * total / 60000 if isinstance(lean, float) else float("nan")
        print(f"{pair_name(name, dataset, seed):40}{shown}   {total} steps {minutes:6.2f}", flush=True)
        for way, value in times.items():
            if isinstance(value, str):
                print(f"    {way}: {value}", flush=True)
        rows.append({"detector": name, "dataset": dataset, "milliseconds": times, "steps_in_full": total})
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "probe.json").write_text(json.dumps(rows, indent=1))


def time_steps(options: argparse.Namespace, name: str, dataset: str, seed: int, way: str) -> tuple[float, int]:
    """Return milliseconds per step of one way to train, and the steps of the full schedule."""
    import torch
    from plain import plain_batches, plain_step

    from pateval.detectors.cuda_graphs import GraphStep
    from pateval.detectors.training import deterministic_kernels, visiting_order

    train, test = read(options, dataset)
    detector = build(options, name, dataset, seed, graph=way == "graph")
    extra = {"test": test} if getattr(detector.settings, "select_on_test", False) else {}
    with deterministic_kernels():
        recipe = detector.plan(train, **extra)
        device = recipe.windows.device
        count, size = len(recipe.windows), min(recipe.batch_size, len(recipe.windows))
        recipe.model.train()
        if recipe.begin is not None:
            recipe.begin(2)
        if way == "plain":
            host = [b for b in plain_batches(train, detector.settings.window, size) if len(b) == size]
            plain = plain_step(name, recipe.model, detector.settings, device)

            def once(index: int) -> None:
                plain(host[index % len(host)])

        else:
            step = GraphStep(recipe.step, recipe.batch_size) if way == "graph" else recipe.step
            order = torch.from_numpy(visiting_order(count, 42)).to(device)
            whole = count // size

            def once(index: int) -> None:
                first = index % whole * size
                step(recipe.windows[order[first : first + size]])

        for index in range(min(6, options.steps)):
            once(index)
        _wait(device)
        started = time.perf_counter()
        for index in range(options.steps):
            once(index)
        _wait(device)
    elapsed = 1000 * (time.perf_counter() - started) / options.steps
    return elapsed, -(-count // recipe.batch_size) * recipe.epochs


def _wait(device: Any) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/npz"), help="folder written by prepare.py")
    parser.add_argument("--out", type=Path, default=Path("build/trained"), help="where results go")
    parser.add_argument("--work", type=Path, default=Path("build/training"), help="finished pairs and checkpoints")
    parser.add_argument("--detectors", default=",".join(DETECTORS))
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--variant", default="paper", choices=("paper", "original"))
    parser.add_argument(
        "--select-on-test", action="store_true", help="the test series chooses the weights, as in the paper"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each process")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so long; checkpoints stay")
    parser.add_argument("--device", default=None)
    parser.add_argument("--graph", action="store_true", help="replay the optimiser step as a CUDA graph")
    parser.add_argument("--epochs", type=int, default=None, help="instead of the full schedule, to try things")
    parser.add_argument("--limit-rows", type=int, default=None, help="cut the series, to try things")
    parser.add_argument("--probe", action="store_true", help="only time some steps of each pair")
    parser.add_argument("--plain", action="store_true", help="with --probe: time the plain loop too")
    parser.add_argument("--steps", type=int, default=50, help="steps that --probe times")
    parser.add_argument(
        "--pair", nargs=3, metavar=("DETECTOR", "DATASET", "SEED"), help="train one pair in this process"
    )
    options = parser.parse_args(arguments)
    for given, known in ((options.detectors, DETECTORS), (options.datasets, DATASETS)):
        if unknown := sorted(set(given.split(",")) - set(known)):
            parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    options.given = [argument for argument in arguments if argument not in ("--probe", "--plain")]
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is 1 where a pair did not finish."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    if options.pair or options.probe or options.plain:
        import torch

        torch.set_num_threads(options.threads)
    if options.pair:
        name, dataset, seed = options.pair
        train_pair(options, name, dataset, int(seed))
        return 0
    pairs = [
        (name, dataset, int(seed))
        for seed in options.seeds.split(",")
        for dataset in options.datasets.split(",")
        for name in options.detectors.split(",")
    ]
    if options.probe or options.plain:
        probe(options, pairs)
        return 0
    return 1 if train_all(options, pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
