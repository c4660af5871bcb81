"""A few small series as CSV files in the form of TSB-AD: real ones where the data are at hand, else made up."""

from __future__ import annotations

import csv
import math
import os
import random
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PATEVAL_DATA", ROOT.parent / "shared" / "data"))
# The shortest of NAB, one of which is longer than the others.
NAMES = (
    "realTraffic/speed_7578.csv",
    "realTraffic/TravelTime_451.csv",
    "realAWSCloudwatch/iio_us-east-1_i-a2eb1cd9_NetworkIn.csv",
)


def write_series(folder: Path) -> str:
    """Write three series with labels, named as TSB-AD names them; say where they come from."""
    folder.mkdir(parents=True)
    real = DATA / "NAB" / "NAB.parquet"
    found = _nab(real) if real.is_file() else _made_up()
    for number, (values, labels) in enumerate(found, 1):
        first = labels.index(1)
        path = folder / f"{number:03}_NAB_id_{number}_Small_tr_{first // 2}_1st_{first}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["Data", "Label"])
            writer.writerows(zip(values, labels, strict=True))
    return "three series of NAB" if real.is_file() else "three series that are made up"


def _nab(path: Path) -> list[tuple[list[float], list[int]]]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    parts = [table.filter(pc.equal(table["series"].cast("string"), name)) for name in NAMES]
    return [(part["value"].to_pylist(), part["label_window"].to_pylist()) for part in parts]


def _made_up() -> list[tuple[list[float], list[int]]]:
    found = []
    for seed, length in enumerate((1_100, 2_100, 1_200)):
        rng = random.Random(seed)  # noqa: S311 - no secrets here
        labels = [int(400 <= step < 450 or 900 <= step < 950) for step in range(length)]
        values = [math.sin(step / 15) + rng.gauss(0, 0.1) + 2 * label for step, label in enumerate(labels)]
        found.append((values, labels))
    return found
