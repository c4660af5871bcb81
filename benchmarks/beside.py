"""Install the wheel beside packages that people already have, and see whether one of theirs moves and ours works.

    python benchmarks/beside.py [TSB-AD] [aeon] [TimeEval]

Each gets an environment with all it requires. Once the wheel is in it, every package that was there must have the
version it had, and the first things a user does must work: import, evaluate, `pateval score`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from peer_environments import ROOT, Peer, environment

WHOLE = {
    "TSB-AD": Peer("TSB-AD-whole", "1.5", "import TSB_AD.evaluation.metrics", (("TSB-AD==1.5",),)),
    "aeon": Peer("aeon-whole", "1.6.0", "import aeon.benchmarking.metrics.anomaly_detection", (("aeon==1.6.0",),)),
    "TimeEval": Peer("TimeEval-whole", "1.5.0", "import timeeval.metrics", (("TimeEval==1.5.0",),)),
}
_FIRST_THINGS = """
import numpy as np, pateval as pv
labels = np.tile(np.repeat([0, 1, 0], [40, 10, 50]), 6)
scores = np.random.default_rng(0).random(600) + np.roll(labels, 3)
print("; ".join(f"{name} {value:.12f}" for name, value in pv.evaluate(labels, scores).items()))
"""


def main() -> None:
    """Try all, or those named."""
    wheel = _built()
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    wanted = sys.argv[1:] or list(WHOLE)
    if failed := [name for name in wanted if not _beside(WHOLE[name], wheel)]:
        sys.exit(f"failed beside {', '.join(failed)}")


def _built() -> Path:
    folder = ROOT / "build" / "wheel"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True)
    return max(folder.glob("pateval-*.whl"), key=lambda path: path.stat().st_mtime)


def _beside(peer: Peer, wheel: Path) -> bool:
    python = environment(peer)
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "pateval"], check=True)
    before = _versions(python)
    subprocess.run([*pip, "install", "--quiet", wheel], check=True)
    after = _versions(python)
    moved = [f"{name} {before[name]} -> {after.get(name)}" for name in before if after.get(name) != before[name]]
    new = [f"{name} {after[name]}" for name in after if name not in before]
    print(f"{peer.name}, NumPy {after['numpy']}: {len(before)} packages, moved: {', '.join(moved) or 'none'}")
    print(f"  new: {', '.join(new)}")
    works = _run(python, "-c", f"{peer.setup}\n{_FIRST_THINGS}")
    folder = ROOT / "build" / "beside"
    saved = _run(python, "-m", "pateval", "demo", "--save", folder, "--overwrite")
    return works and saved and _run(python, "-m", "pateval", "score", folder / "series-1.csv") and not moved


def _versions(python: Path) -> dict[str, str]:
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {package["name"].lower(): package["version"] for package in json.loads(listed.stdout)}


def _run(python: Path, *arguments: str | Path) -> bool:
    # Started elsewhere, so that the package is the wheel's and not this checkout's.
    done = subprocess.run([python, *arguments], cwd=ROOT / "build", capture_output=True, text=True)
    said = done.stdout.splitlines() if done.returncode == 0 else [*done.stdout.splitlines(), *done.stderr.splitlines()]
    print("\n".join(f"  {line}" for line in said), flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    main()
