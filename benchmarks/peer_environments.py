"""Environments of the peer packages, each its own, under build/peers; and a process in each that answers questions.

A peer's process imports the package once and then evaluates one call on one case per line it reads. Packages whose own
requirements are heavy, and not needed for the metrics, are installed without them. torch is held to the version in
constraints.txt, since the newest one brings gigabytes that nothing here needs.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("PATEVAL_PEERS", ROOT / "build" / "peers"))

# Threads that wait for each other spin, and spinning is CPU time: every peer gets one.
_ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_LIGHT = ("scikit-learn", "scipy", "pandas", "statsmodels", "tqdm")


@dataclass(frozen=True)
class Peer:
    """A package and how it is installed.

    Attributes
    ----------
    name : str
        Of the package.
    version : str
        The one that is installed; empty for the newest.
    setup : str
        Imports.
    install : tuple of tuple of str
        Arguments of ``pip install``, call after call.
    """

    name: str
    version: str
    setup: str
    install: tuple[tuple[str, ...], ...]


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "PATE",
            "0.1.1",
            "from pate.PATE_metric import PATE",
            (("PATE==0.1.1", "numpy==1.24.4", "scikit-learn==1.3.2"),),
        ),
        Peer("scikit-learn", "", "from sklearn import metrics", (("scikit-learn",),)),
        Peer(
            "TSB-AD",
            "1.5",
            "from TSB_AD.evaluation.metrics import basic_metricor, generate_curve, get_metrics",
            # Two of its cheap detectors, which make test-integrations runs, need the last three.
            (("--no-deps", "TSB-AD==1.5"), ("numpy<2", *_LIGHT, "pandas<3", "matplotlib", "networkx")),
        ),
        Peer(
            "vus",
            "0.0.6",
            "from vus.metrics import get_metrics",
            (("--no-deps", "vus==0.0.6"), ("numpy", "matplotlib", "arch", "tslearn", "hurst", *_LIGHT)),
        ),
        Peer("aeon", "1.6.0", "from aeon.benchmarking.metrics import anomaly_detection as m", (("aeon==1.6.0",),)),
        Peer("TimeEval", "1.5.0", "from timeeval import metrics as m", (("TimeEval==1.5.0",),)),
        Peer(
            "dtaianomaly",
            "0.5.1",
            "from dtaianomaly import evaluation as m",
            (
                ("--no-deps", "dtaianomaly==0.5.1"),
                ("numpy", "scipy", "scikit-learn", "numba", "pandas", "stumpy", "toml", "statsmodels", "matplotlib"),
            ),
        ),
        Peer(
            "tsadmetrics",
            "1.0.16",
            "from tsadmetrics.metrics.Registry import Registry",
            (("tsadmetrics==1.0.16",),),
        ),
    )
}

_SERVER = """
import json, signal, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
sys.path.append(json.loads(sys.stdin.readline()))
from side_by_side import peak_bytes
space = {"np": np}
def plain(value):
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) or np.ndim(value) else float(value)
try:
    exec(json.loads(sys.stdin.readline()), space)
    begun = {"ready": True}
except Exception as error:
    begun = {"error": f"{type(error).__name__}: {error}"[:200]}
print(json.dumps(begun), file=sys.__stdout__, flush=True)
sys.stdout = sys.stderr
def check(*_):
    # A timer of CPU time would make the clock itself coarse, so the clock is looked at once a second instead.
    if time.process_time() - begin > limit:
        raise TimeoutError
signal.signal(signal.SIGALRM, check)
for line in sys.stdin:
    path, call, limit, of_memory = json.loads(line)
    data = np.load(path)
    space.update({name: data[name] for name in ("labels", "scores", "predictions")})
    try:
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_REAL, 1, 1)
        if of_memory:
            answer = {"bytes": peak_bytes(lambda: eval(call, space))}
        else:
            value = eval(call, space)
            answer = {"seconds": time.process_time() - begin, "value": plain(value)}
    except TimeoutError:
        answer = {"error": f"not done after {limit:g} s"}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:200]}
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(answer), file=sys.__stdout__, flush=True)
"""


def environment(peer: Peer) -> Path:
    """Create the environment of a peer once; return its Python."""
    folder = FOLDER / peer.name
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        print(f"installing {peer.name} into {folder.parent.name}/{folder.name}", file=sys.stderr, flush=True)
        begin = time.perf_counter()
        # What an interrupted installation left behind is not built upon.
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for arguments in peer.install:
            subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", *arguments], check=True)
        done.touch()
        print(f"installed {peer.name} in {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return python


def installed_version(peer: Peer) -> str:
    """Return the version of the package in its environment."""
    code = f"from importlib.metadata import version; print(version({peer.name!r}))"
    return subprocess.run([environment(peer), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


class PeerProcess:
    """A peer that answers; a call is stopped at the limit of CPU seconds, and its process ended at ten times that."""

    def __init__(self, peer: Peer, limit: float = 60.0) -> None:
        self.peer, self.limit = peer, limit
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [environment(self.peer), "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **_ONE_THREAD},
        )
        self._send(str(Path(__file__).parent))
        self._send(self.peer.setup)
        begun = self._read(300.0)
        if "error" in begun:
            raise RuntimeError(f"{self.peer.name} does not start: {begun['error']}")

    def _send(self, content: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(content) + "\n")
        self._process.stdin.flush()

    def _read(self, limit: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], limit)
        if not ready:
            self.close()
            return {"error": f"not done after {limit:g} s"}
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process of {self.peer.name} ended"}

    def ask(self, case: Path, call: str, *, memory: bool = False) -> dict[str, Any]:
        """Return ``seconds`` and ``value`` of a call on a case, or its peak of ``bytes``, or ``error``.

        Dictionaries and arrays come back as such.
        """
        if self._process.poll() is not None:
            self._start()
        self._send([str(case), call, self.limit, memory])
        return self._read(10 * self.limit)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    for each in PEERS.values():
        environment(each)
