"""Run two detectors of TSB-AD and write what its scripts write, a CSV file per detector; called with series and folder.

The scripts are not part of the installed package, so the table is written here, from the package's own detectors and
metrics, with the columns and the order that ``Run_Detector_U.py`` has. Beside the folder, ``expected.json`` holds the
values as they are in memory: series, detector, metric, value.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from TSB_AD.evaluation.metrics import get_metrics
from TSB_AD.HP_list import Optimal_Uni_algo_HP_dict
from TSB_AD.model_wrapper import run_Unsupervise_AD
from TSB_AD.utils.slidingWindows import find_length_rank

# Two that need no torch.
DETECTORS = ("SR", "Series2Graph")


def main() -> None:
    """Score and evaluate every series."""
    warnings.simplefilter("ignore")
    series, folder = map(Path, sys.argv[1:3])
    (folder / "results").mkdir(parents=True)
    expected = []
    for detector in DETECTORS:
        rows = []
        for path in sorted(series.glob("*.csv")):
            table = pd.read_csv(path).dropna()
            data, labels = table.iloc[:, 0:-1].to_numpy(dtype=float), table["Label"].to_numpy(dtype=int)
            begin = time.time()
            scores = run_Unsupervise_AD(detector, data, **Optimal_Uni_algo_HP_dict[detector])
            if isinstance(scores, str):
                sys.exit(f"{detector} of TSB-AD fails on {path.name}: {scores}")
            found = get_metrics(scores, labels, slidingWindow=find_length_rank(data, rank=1))
            rows.append({"file": path.name, "Time": time.time() - begin, **found})
            expected += [[path.name, detector, name, float(value)] for name, value in found.items()]
        pd.DataFrame(rows).to_csv(folder / "results" / f"{detector}.csv", index=False)
    (folder / "expected.json").write_text(json.dumps(expected))
    print(f"TSB-AD wrote {folder / 'results'}, {len(expected)} values")


if __name__ == "__main__":
    main()
