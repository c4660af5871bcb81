"""Turn what train.py sent back into score files, and note what need not be trained again.

    python results/collect.py FOLDER... --data build/impact --to results/scores

``FOLDER`` holds ``scores-N.zip``. Score files go to ``--to``/protocol/data set/detector.parquet, with the training
scores beside them; runs that are there already stay. ``done.json`` in the data folder lists all runs ever collected.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))

from impact import DATASETS, DETECTORS, PROTOCOLS, plans
from train import DONE, EXACT_SHARE, THINNING

from pateval.io.score_files import read_metadata, training_verdicts
from pateval.runner import run_plans
from pateval.runner.tasks import write_part


def thicken(kept: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float32]:
    """Bring thinned training scores back to their number: exact at the top, interpolated below."""
    exact = count - int(EXACT_SHARE * count)
    places = np.concatenate([np.arange(0, exact, THINNING), np.arange(exact, count)])
    return np.interp(np.arange(count), places, kept.astype(np.float64)).astype(np.float32)


def unpack(archive: Path, to: Path, seeds: tuple[int, ...] | None) -> list[dict[str, Any]]:
    """Write the runs of an archive, or some of them, as parts beside their score files; return their records."""
    records = []
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            protocol, dataset, detector, file = name.split("/")
            with np.load(io.BytesIO(files.read(name))) as part:
                record: dict[str, Any] = json.loads(str(part["provenance"]))
                if seeds is not None and record["seed"] not in seeds:
                    continue
                scores, training_scores = (
                    np.ascontiguousarray(part[kind].T).view(np.float32).reshape(-1)
                    for kind in ("scores", "training_scores")
                )
            record["training_scores_thinned"] = (
                f"the top {EXACT_SHARE:.0%} are exact; of the others every {THINNING}th is, the rest interpolated"
            )
            target = to / protocol / dataset / ".parts" / detector / file
            target.parent.mkdir(parents=True, exist_ok=True)
            write_part(target, scores, thicken(training_scores, record["training_scores"]), record)
            records.append({"protocol": protocol, "dataset": dataset, "detector": detector, **record})
    return records


def main(arguments: list[str] | None = None) -> int:
    """Write score files and the list of what is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--data", type=Path, default=Path("build/impact"), help="folder written by prepare.py")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "scores")
    parser.add_argument("--seeds", type=lambda text: tuple(map(int, text.split(","))), default=None, help="only these")
    parser.add_argument("--device", default="cuda", help="what the detectors were trained on")
    parser.add_argument("--epochs", type=int, default=None, help="as given to train.py")
    parser.add_argument("--no-graph", action="store_true", help="as given to train.py")
    parser.add_argument("--overwrite", action="store_true", help="replace score files of other settings")
    options = parser.parse_args(arguments)
    archives = [path for folder in options.folders for path in sorted(folder.glob("scores-*.zip"))]
    records = [record for archive in archives for record in unpack(archive, options.to, options.seeds)]
    changes: dict[str, Any] = {} if options.epochs is None else {"epochs": options.epochs}
    if options.no_graph:
        changes["cuda_graph"] = False
    for protocol in PROTOCOLS:
        for dataset in DATASETS:
            for detector in DETECTORS:
                mine = [
                    record
                    for record in records
                    if (record["protocol"], record["dataset"], record["detector"]) == (protocol, dataset, detector)
                ]
                if mine:
                    made = plans(
                        options.data,
                        options.to,
                        protocols=(protocol,),
                        datasets=(dataset,),
                        detectors=(detector,),
                        seeds=tuple(sorted(record["seed"] for record in mine)),
                        device=options.device,
                        changes=changes,
                        overwrite=options.overwrite,
                    )
                    # Nothing is trained here: what has no part is out of time at once.
                    ((result,),) = run_plans(made, minutes=0.0)
                    if result.stopped:
                        what = f"{protocol}/{dataset}/{detector}"
                        raise SystemExit(f"{what}: what came back belongs to other settings, data or version")
    files = sorted(options.to.rglob("*.parquet"))
    kept = {path: read_metadata(path) for path in files}
    here = {run["key"] for known in kept.values() if known.get("format") for run in known["runs"]}
    listed = options.data / DONE
    before = set(json.loads(listed.read_text())) if listed.exists() else set()
    listed.write_text(json.dumps(sorted(here | before)))
    for row in training_verdicts(files):
        print(f"{row['file']} {row['series']} run {row['run']}: {row['verdict']}")
    size = sum(path.stat().st_size for path in options.to.rglob("*") if path.is_file())
    print(f"{len(records)} runs collected; {len(here)} in {len(files)} score files, {size / 2**20:.1f} MiB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
