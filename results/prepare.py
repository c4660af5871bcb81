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

from impact import pack_series

from pateval.paper.impact_training import joined_data
from pateval.runner.environment import pateval_version


def main(arguments: list[str] | None = None) -> int:
    """Write the packs and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with SMD/, MSL/, SMAP/ and perhaps PSM/")
    parser.add_argument("--to", type=Path, default=Path("build/impact"))
    options = parser.parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    total = 0
    data, absent = joined_data(options.folder)
    for sentence in absent:
        print(sentence)
    for name, (series, about) in data.items():
        path = options.to / f"{name}.xz"
        pack_series(series, about, path)
        total += path.stat().st_size
        print(
            f"{path}: {series.train_steps} training and {series.steps} test steps, {about['series']} series, "
            f"{path.stat().st_size / 2**20:.1f} MiB{f'; {lacks}' if (lacks := about['missing']) else ''}"
        )
    (options.to / "commit.txt").write_text(pateval_version()["commit"] or "")
    print(f"{total / 2**20:.1f} MiB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
