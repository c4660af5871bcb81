"""Pack the data sets for a machine without pyarrow, network or the data: one compressed file each.

    python results/prepare.py DATA_FOLDER --to build/impact

writes ``SMD.xz``, ``SMAP.xz``, ``MSL.xz`` and, where its features are there, ``PSM.xz``, each a joined series with its
boundaries, and ``commit.txt``. The data may not be committed: keep the target folder out of git (``build/`` is
ignored).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from impact import DATASETS, pack_series

from pateval.datasets import contents_of, info, join, load, missing
from pateval.runner.environment import pateval_version


def main(arguments: list[str] | None = None) -> int:
    """Write the packs and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with SMD/, MSL/, SMAP/ and perhaps PSM/")
    parser.add_argument("--to", type=Path, default=Path("build/impact"))
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    total = 0
    for name in DATASETS:
        try:
            parts = load(name, root=options.folder)
        except ValueError as error:
            print(f"{name}: left out: {error}")
            continue
        lacks = missing(info(name)[0], contents_of(parts))
        if any(part.train is None for part in parts):
            print(f"{name}: left out: there is nothing to train on ({lacks})")
            continue
        series = join(parts, name)
        path = options.to / f"{name}.xz"
        pack_series(series, {"name": name, "series": len(parts), "missing": lacks}, path)
        total += path.stat().st_size
        print(
            f"{path}: {series.train_steps} training and {series.steps} test steps, {len(parts)} series, "
            f"{path.stat().st_size / 2**20:.1f} MiB{f'; {lacks}' if lacks else ''}"
        )
    (options.to / "commit.txt").write_text(pateval_version()["commit"] or "")
    print(f"{total / 2**20:.1f} MiB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
