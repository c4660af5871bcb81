"""The authors' package beside `pateval.compat.PATE`: same points, same arguments, same number, CPU time of both.

Sets up an environment of its own under ``build/peers`` with the package's own pins (it does not import with current
scikit-learn), so it needs a package index and some hundred megabytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
from side_by_side import cpu_seconds, labelled_scores, table

from pateval.compat import PATE

PINS = ["PATE==0.1.1", "numpy==1.24.4", "scikit-learn==1.3.2"]
CHILD = """
import json, sys, time
import numpy as np
from pate.PATE_metric import PATE
data = np.load(sys.argv[1])
begin = time.process_time()
value = PATE(data["labels"], data["scores"])
print(json.dumps({"seconds": time.process_time() - begin, "value": float(value)}))
"""


def environment(folder: Path) -> Path:
    """Create the peers' environment once; return its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS], check=True)
    return python


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    steps = parser.parse_args().steps
    folder = Path(__file__).parents[1] / "build" / "peers"
    python = environment(folder)
    labels, scores = labelled_scores(steps, length=50)
    data = folder / "case.npz"
    np.savez(data, labels=labels, scores=scores)
    print(f"running the authors' package on {steps:,} points; this takes a minute", file=sys.stderr)
    done = subprocess.run([python, "-c", CHILD, data], check=True, capture_output=True, text=True)
    theirs = json.loads(done.stdout.strip().splitlines()[-1])
    (ours,) = cpu_seconds(lambda: PATE(labels, scores))
    rows = [
        ["authors' package 0.1.1", f"{theirs['seconds']:.1f} s", f"{theirs['value']:.15f}"],
        ["`pateval.compat.PATE`", f"{1000 * ours:.2f} ms", f"{PATE(labels, scores):.15f}"],
        [
            "ratio, difference",
            f"{theirs['seconds'] / ours:,.0f} x",
            f"{abs(theirs['value'] - PATE(labels, scores)):.1e}",
        ],
    ]
    print(table([f"{steps:,} points, default arguments", "CPU", "value"], rows))


if __name__ == "__main__":
    main()
