"""Turn what `train.py` wrote on the accelerator into the score files and the training log that are kept here.

    python results/collect.py --trained FOLDER --data NPZ_FOLDER --to results

``FOLDER`` holds ``{MSL,SMAP,SMD}_seed0.npz``, ``train_log.json`` and ``probe.json``, and under ``honest`` the same for
the runs whose weights a held-out end of the training data chose. ``NPZ_FOLDER`` is what `prepare.py` made.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DATASETS = ("MSL", "SMAP", "SMD")
# USAD and DCdetector keep their last weights: nothing chooses, so there is nothing to hold out.
CHOOSING = ("lstm", "transformer", "anomaly_transformer")


def write_scores(target: Path, prepared: dict[str, Any], scores: np.ndarray, log: dict[str, Any]) -> None:
    """Write one detector's scores on one data set, series by series, with its settings in the metadata."""
    stops = np.append(prepared["test_starts"][1:], prepared["labels"].size)
    lengths = stops - prepared["test_starts"]
    table = pa.table(
        {
            "series": pa.array(np.repeat(prepared["names"], lengths)).dictionary_encode(),
            "step": np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
            "label": prepared["labels"].astype(np.uint8),
            "score": scores.astype(np.float32),
        }
    )
    kept = {key: value for key, value in log.items() if key != "history"}
    target.parent.mkdir(parents=True, exist_ok=True)
    table = table.replace_schema_metadata({"pateval": json.dumps(kept)})
    pq.write_table(
        table,
        target,
        compression="zstd",
        compression_level=19,
        use_dictionary=["series"],
        column_encoding={"step": "DELTA_BINARY_PACKED", "label": "PLAIN", "score": "BYTE_STREAM_SPLIT"},
    )


def main() -> None:
    """Write score files and log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent)
    chosen = parser.parse_args()
    logs: list[dict[str, Any]] = []
    for protocol, folder in {"authors": chosen.trained, "held-out": chosen.trained / "honest"}.items():
        by_pair = {
            (log["dataset"], log["detector"]): log for log in json.loads((folder / "train_log.json").read_text())
        }
        for dataset in DATASETS:
            prepared = dict(np.load(chosen.data / f"{dataset}.npz"))
            for detector, scores in np.load(folder / f"{dataset}_seed0.npz").items():
                if protocol == "held-out" and detector not in CHOOSING:
                    continue
                log = {"protocol": protocol, **by_pair[dataset, detector]}
                logs.append({key: value for key, value in log.items() if key != "history"})
                write_scores(chosen.to / "scores" / protocol / dataset / f"{detector}.parquet", prepared, scores, log)
    record = {"runs": logs, "probe": json.loads((chosen.trained / "probe.json").read_text())}
    (chosen.to / "training.json").write_text(json.dumps(record, indent=1) + "\n")
    written = sorted((chosen.to / "scores").rglob("*.parquet"))
    total = sum(path.stat().st_size for path in written)
    print(f"{len(written)} score files, {total / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
