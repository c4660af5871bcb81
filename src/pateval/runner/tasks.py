"""One task: the seeds of one detector on one series, fitted, scored, and left in part files with what made them.

Part files are NumPy's, so that a machine without pyarrow can make them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import inspect
import json
import os
import platform
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pateval._version import __version__
from pateval.datasets import Series
from pateval.io.atomic import replacing, write_text
from pateval.io.score_files import CollapsedTrainingWarning
from pateval.runner.candidates import Candidate
from pateval.validation.arrays import FloatArray, finite_array
from pateval.validation.wording import named_error

Protocol = Literal["held-out", "paper"]
State = Literal["kept", "started", "training", "finished", "failed", "stopped"]
# Called with the key of a run, its state and perhaps a message; by name, with what else a `DetectionProgress` holds.
Tell = Callable[..., None]


@dataclass(frozen=True)
class Run:
    """One seed of one detector on one series, and where its results go."""

    key: str  # digest of all that decides the scores
    candidate: Candidate  # the detector with its seed
    stem: Path  # of its files, without their suffixes

    @property
    def seed(self) -> Any:
        """The seed; None where the detector has none."""
        return self.candidate.settings.get("seed")

    @property
    def part(self) -> Path:
        """Scores and record of a finished run."""
        return self.stem.with_name(f"{self.stem.name}.npz")

    @property
    def error(self) -> Path:
        """Trace of a run that failed."""
        return self.stem.with_name(f"{self.stem.name}.error.txt")

    @property
    def checkpoint(self) -> Path:
        """State of a run that is being trained."""
        return self.stem.with_name(f"{self.stem.name}.checkpoint")


@dataclass(frozen=True)
class Task:
    """Runs of one detector on one series that may share their data and, on a GPU, their time."""

    series: Series
    digest: str  # of the series
    runs: tuple[Run, ...]  # one per seed
    protocol: Protocol
    dtype: str  # of the scores

    @property
    def unfinished(self) -> list[Run]:
        """The runs whose scores are not written yet."""
        return [run for run in self.runs if not run.part.exists()]


class OutOfTimeError(BaseException):
    """No failure: the time that was given is over; the training goes on from its checkpoint next time."""


def perform(task: Task, tell: Tell, deadline: float) -> None:
    """Fit and score all runs of a task; failures are told and written down, never raised.

    After the deadline, on the clock of ``time.time``, nothing is begun, and a training stops at the end of its epoch.
    """
    if time.time() > deadline:
        begun = any(run.checkpoint.exists() for run in task.runs)
        reason = "; it goes on from its checkpoint next time" if begun else " before it began"
        stop(task, tell, f"out of time{reason}")
        return
    for run in task.runs:
        run.stem.parent.mkdir(parents=True, exist_ok=True)
        tell(run.key, "started")
    try:
        if len(task.runs) > 1:
            # One seed may fail where others do not: each is then tried alone.
            with contextlib.suppress(Exception):
                _fit_and_score(task, task.runs, tell, deadline)
        for run in task.unfinished:
            try:
                _fit_and_score(task, [run], tell, deadline)
            except Exception as error:  # a run may fail in any way; the others go on
                write_text(traceback.format_exc(), run.error)
                tell(run.key, "failed", named_error(error))
    except OutOfTimeError:
        stop(task, tell, "out of time; it goes on from here next time")


def stop(task: Task, tell: Tell, reason: str) -> None:
    """Tell of every run that is not finished that it was stopped."""
    for run in task.unfinished:
        tell(run.key, "stopped", reason)


def _fit_and_score(task: Task, runs: Sequence[Run], tell: Tell, deadline: float) -> None:
    """Do one run, or several side by side where the detector can do that."""
    detectors = [run.candidate.build() for run in runs]
    side_by_side = len(runs) > 1
    if side_by_side and not all(hasattr(detector, "plan") for detector in detectors):
        return
    series = task.series
    train, boundaries = series.train, series.train_boundaries
    if train is None:
        train, boundaries = series.test, series.boundaries
    keep = task.protocol == "held-out"
    chooses = bool(runs[0].candidate.settings.get("select_on_test"))
    options: dict[str, Any] = {
        "boundaries": boundaries if keep else None,
        "test": series.test if chooses else None,
        "test_boundaries": series.boundaries if chooses and keep else None,
    }
    shows = [_progress(run, tell, deadline) for run in runs]
    begun = time.perf_counter()
    with warnings.catch_warnings():
        # A collapse is recorded and told.
        warnings.simplefilter("ignore", CollapsedTrainingWarning)
        if side_by_side:
            from pateval.detectors.deep import fit_together

            fit_together(detectors, train, **options, progress=shows, checkpoints=[run.checkpoint for run in runs])
        else:
            extra = {**options, "progress": shows[0], "checkpoint": runs[0].checkpoint}
            detectors[0].fit(train, **_accepted(detectors[0].fit, extra))
    fit_seconds = (time.perf_counter() - begun) / len(runs)
    for run, detector in zip(runs, detectors, strict=True):
        _score(task, run, detector, fit_seconds, tell)


def _progress(run: Run, tell: Tell, deadline: float) -> Callable[[Any], None]:
    begun = time.perf_counter()
    done = 0

    def report(epoch: Any) -> None:
        nonlocal done
        # Epochs done in this process: those before a resume took no time here.
        done += 1
        left = (time.perf_counter() - begun) / done * (epoch.epochs - epoch.number)
        text = f"epoch {epoch.number} of {epoch.epochs}, loss {epoch.loss:.4g}"
        tell(run.key, "training", text, seconds_left=left)
        if time.time() > deadline and epoch.number < epoch.epochs:
            raise OutOfTimeError

    return report


def _score(task: Task, run: Run, detector: Any, fit_seconds: float, tell: Tell) -> None:
    """Score test and training steps and write the part."""
    series = task.series
    keep = task.protocol == "held-out"
    tile = getattr(detector, "tile_steps", None) or 1
    # The paper evaluates whole windows only; otherwise the final window of each series scores its last steps.
    drop, train_drop = (0 if keep else steps % tile for steps in (series.steps, series.train_steps))
    parameters = inspect.signature(detector.score).parameters
    begun = time.perf_counter()
    extra = {"labels": series.labels, "boundaries": series.boundaries if keep else None}
    scores = _checked(detector.score(series.test, **_accepted(detector.score, extra)), series.steps)
    scores = scores[: series.steps - drop]
    training_scores = np.empty(0, dtype=np.float32)
    if series.train is not None and "labels" not in parameters:
        extra = {"boundaries": series.train_boundaries if keep else None}
        own_scores = _checked(detector.score(series.train, **_accepted(detector.score, extra)), series.train_steps)
        training_scores = np.sort(own_scores[: series.train_steps - train_drop].astype(np.float32))
    training = getattr(detector, "training_", None)
    record = None if training is None else training.to_dict()
    if record is not None and len(training_scores) and np.ptp(training_scores) == 0:
        record["collapse"] = [*(record["collapse"] or []), "all training steps have the same score"]
    incomplete = "dropped" if drop else "scored" if series.steps % tile else "none"
    provenance = {
        "key": run.key,
        "series": series.name,
        "parts": list(series.parts),
        "seed": run.seed,
        "steps": series.steps - drop,
        "dropped_steps": drop,
        "incomplete_windows": incomplete,
        "boundaries_kept": keep and ("window" not in run.candidate.settings or "boundaries" in parameters),
        "train_steps": series.train_steps,
        "training_scores": len(training_scores),
        "fitted_on": "test" if series.train is None else "train",
        "data_digest": task.digest,
        "fit_seconds": round(fit_seconds, 4),
        "score_seconds": round(time.perf_counter() - begun, 4),
        "training": record,
        "pateval": pateval_version(),
        "versions": library_versions(),
        "machine": platform.platform(),
    }
    with replacing(run.part) as draft, draft.open("wb") as file:
        described = np.array(json.dumps(provenance))
        np.savez(file, scores=scores.astype(task.dtype), training_scores=training_scores, provenance=described)
    run.error.unlink(missing_ok=True)
    run.checkpoint.unlink(missing_ok=True)
    tell(run.key, "finished", collapse=tuple((record or {}).get("collapse") or ()))


def read_part(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], dict[str, Any]]:
    """Return scores, sorted training scores and provenance of a part file."""
    with np.load(path) as part:
        return part["scores"], part["training_scores"], json.loads(str(part["provenance"]))


def _accepted(method: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Choose the options a detector's method takes; those that are None are left out."""
    known = inspect.signature(method).parameters
    return {name: value for name, value in options.items() if name in known and value is not None}


def _checked(scores: object, steps: int) -> FloatArray:
    checked = finite_array(scores, "the detector's scores")
    if checked.size != steps:
        raise ValueError(f"the detector gave {checked.size} scores for {steps} steps")
    return checked


@functools.cache
def pateval_version() -> dict[str, Any]:
    """Return ``version`` and, where the package runs from a checkout, ``commit`` (with ``+`` if it was changed).

    A copy of a checkout without its history can be told the commit by the environment variable ``PATEVAL_COMMIT``.
    """
    return {"version": __version__, "commit": _commit(Path(__file__).parents[3])}


def _commit(checkout: Path) -> str | None:
    if not (checkout / ".git").exists():
        return os.environ.get("PATEVAL_COMMIT") or None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "--no-optional-locks", "-C", str(checkout), *command],  # noqa: S607 - the user's own git
                capture_output=True,
                text=True,
                check=True,
                timeout=20,
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "--", "src"])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+" if changes else commit


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are loaded."""
    modules = {"numpy": "numpy", "scikit-learn": "sklearn", "torch": "torch"}
    loaded = {name: importlib.metadata.version(name) for name, module in modules.items() if module in sys.modules}
    return {"python": platform.python_version(), **loaded}


def device_of(settings: Mapping[str, Any]) -> str:
    """Return the device a detector with these settings runs on."""
    if settings.get("device"):
        return str(settings["device"])
    torch = sys.modules.get("torch")
    return "cuda" if "device" in settings and torch is not None and torch.cuda.is_available() else "cpu"
