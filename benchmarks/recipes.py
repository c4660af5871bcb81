"""Run the recipes in examples/recipes, each with the real package in an environment of its own.

A package that cannot be installed here is skipped, with a sentence; a recipe that fails is an error. The recipes find
pateval in this checkout: some of these packages need other versions of NumPy than it declares.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from peer_environments import PEERS, Peer, environment

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "recipes"
# What pateval itself needs to compute metrics.
_OURS = ("numpy", "scipy", "narwhals")
PACKAGES = {
    "timeeval_metric": PEERS["TimeEval"],
    "dtaianomaly_metric": PEERS["dtaianomaly"],
    "darts_metric": Peer("darts", "", "", (("darts", *_OURS),)),
    # Its forecasters index a series by position, which pandas 3 no longer allows.
    "merlion_metric": Peer("salesforce-merlion", "", "", (("salesforce-merlion", "pandas<3", *_OURS),)),
    # TensorFlow and torch, gigabytes that its deep pipelines need, are left out. MLBlocks needs pkg_resources.
    "orion_metric": Peer(
        "orion-ml",
        "0.7.1",
        "",
        (
            ("--no-deps", "orion-ml==0.7.1"),
            ("mlblocks==0.6.2", "setuptools<81", "numpy<2", "pandas<3", "scipy<1.14", "scikit-learn", *_OURS),
        ),
    ),
    "river_metric": Peer("river", "", "", (("river", *_OURS),)),
    "sktime_metric": Peer("sktime", "", "", (("sktime", *_OURS),)),
    "mlflow_metric": Peer(
        "mlflow",
        "",
        "",
        (("mlflow-skinny", "sqlalchemy", "alembic", "Flask", "matplotlib", "pandas", "scikit-learn", *_OURS),),
    ),
}


def main() -> None:
    """Run all, or those named."""
    wanted = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.py"))
    failed = []
    for name in wanted:
        try:
            python = environment(PACKAGES[name])
        except subprocess.CalledProcessError:
            print(f"{name}: skipped, because {PACKAGES[name].name} cannot be installed here", flush=True)
            continue
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run([python, FOLDER / f"{name}.py"], env=variables, capture_output=True, text=True)
        if done.returncode:
            failed.append(name)
        output = done.stdout if done.returncode == 0 else done.stdout + done.stderr
        print(f"{name}: {'failed' if done.returncode else 'ran'}\n  " + "\n  ".join(output.splitlines()), flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
