"""Run what needs another package: the recipes of examples/recipes and the programs of benchmarks/integrations.

Each runs with the real package in an environment of its own. A package that cannot be installed here is skipped, with a
sentence; a program that fails is an error. They find pateval in this checkout: some of these packages need other
versions of NumPy than it declares.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from integrations.small_series import write_series
from peer_environments import PEERS, Peer, environment

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "examples" / "recipes"
CHECKS = ROOT / "benchmarks" / "integrations"
WORK = ROOT / "build" / "integrations"
# What pateval itself needs to compute metrics, and what its commands need besides.
_OURS = ("numpy", "scipy", "narwhals")
_COMMANDS = (*_OURS, "pyarrow", "click", "rich", "jinja2")
PACKAGES = {
    "scikit_learn_search": Peer("scikit-learn", "", "", (("scikit-learn", *_OURS),)),
    "torchmetrics_epoch": Peer("torchmetrics", "", "", (("torchmetrics", "torch", *_OURS),)),
    "lightning_module": Peer("lightning", "", "", (("lightning", "torchmetrics", "torch", *_OURS),)),
    "optuna_study": Peer("optuna", "", "", (("optuna", *_OURS),)),
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
    "estimators_in_detect": Peer("pyod-and-aeon", "", "", (("pyod", "aeon==1.6.0", "stumpy", *_COMMANDS),)),
    "timeeval_results": PEERS["TimeEval"],
    "tsb_ad_results": PEERS["TSB-AD"],
}


def main() -> None:
    """Run all, or those named."""
    wanted = sys.argv[1:] or list(PACKAGES)
    shutil.rmtree(WORK, ignore_errors=True)
    print(f"the programs that need data are shown {write_series(WORK / 'series')}", flush=True)
    failed = [name for name in wanted if not _run(name)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _run(name: str) -> bool:
    """Run one program; False where it fails."""
    try:
        python = environment(PACKAGES[name])
    except subprocess.CalledProcessError:
        print(f"{name}: skipped, because {PACKAGES[name].name} cannot be installed here", flush=True)
        return True
    begin = time.perf_counter()
    if (RECIPES / f"{name}.py").exists():
        command: list[str | Path] = [python, RECIPES / f"{name}.py"]
    else:
        command = [python, CHECKS / f"{name}.py", WORK / "series", WORK / name]
    done = subprocess.run(command, env=_variables(), capture_output=True, text=True)
    output, good = done.stdout if done.returncode == 0 else done.stdout + done.stderr, done.returncode == 0
    if good and (WORK / name / "expected.json").exists():
        good, said = _read_results(WORK / name)
        output += said
    state = "ran" if good else "failed"
    lines = "\n  ".join(output.splitlines())
    print(f"{name}: {state} in {time.perf_counter() - begin:.0f} s\n  {lines}", flush=True)
    return good


def _read_results(folder: Path) -> tuple[bool, str]:
    """Read a folder of results with ``pateval leaderboard`` and compare every value with what the package had."""
    (results,) = (path for path in (folder / "results", *(folder / "results").iterdir()) if any(path.glob("*.csv")))
    command = [
        sys.executable,
        "-m",
        "pateval",
        "leaderboard",
        "--from-results",
        str(results),
        "-o",
        str(folder / "board"),
    ]
    done = subprocess.run(command, env=_variables(), capture_output=True, text=True)
    if done.returncode:
        return False, done.stderr
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "board" / "scores.parquet").to_pylist()
    found = {(row["series"], row["detector"], row["metric"]): row["value"] for row in table}
    expected = {(series, detector, metric): value for series, detector, metric, value in _expected(folder)}
    differing = [
        f"{key}: {found.get(key)}, not {value}" for key, value in expected.items() if not _same(found.get(key), value)
    ]
    if differing or len(found) != len(expected):
        return False, f"{len(found)} values, {len(expected)} expected\n" + "\n".join(differing[:10])
    return True, f"pateval leaderboard --from-results read all {len(found)} values\n"


def _expected(folder: Path) -> list[tuple[str, str, str, float | None]]:
    return json.loads((folder / "expected.json").read_text())


def _same(found: float | None, value: float | None) -> bool:
    if value is None:
        return found is None or math.isnan(found)
    return found is not None and math.isclose(found, value, rel_tol=1e-12)


def _variables() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


if __name__ == "__main__":
    main()
