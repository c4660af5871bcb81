"""Detectors on series: one Parquet file of scores per detector, resumable, one failure never stopping the rest.

A score file has the columns ``series``, ``step``, ``label`` and ``score``, one row group per series, and in its
metadata (`read_provenance`) the settings, seed, device, versions, timing, and what failed and why. Metrics are no
concern of this module: they read the files. A finished series is written at once to ``.parts`` beside them, so that a
run that was interrupted goes on where it stopped. What failed is in ``failures.json``, the traces in ``.parts``.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import inspect
import json
import os
import platform
import re
import shutil
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from pateval._validation import finite_array
from pateval.detectors import REGISTRY, make, settings_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pateval._validation import FloatArray
    from pateval.datasets import Series

METADATA = b"pateval"
PARTS = ".parts"
FAILURES = "failures.json"
State = Literal["kept", "started", "training", "finished", "failed"]


@dataclass(frozen=True)
class Candidate:
    """A detector to be run: how to make a fresh one, what it is called, how it is set.

    Attributes
    ----------
    name : str
        Names the score file.
    build : callable
        Makes a detector that has not been fitted: ``fit(train)`` and ``score(values)``.
    settings : mapping
        What made it, written to the file; plain values only.
    """

    name: str
    build: Callable[[], Any] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DetectionProgress:
    """Something to show: a (detector, series) pair began, went on, ended.

    Attributes
    ----------
    detector, series : str
        The pair.
    state : {"kept", "started", "training", "finished", "failed"}
        "kept" means that the scores are there from an earlier run.
    done, total : int
        Pairs dealt with so far, and in all.
    message : str
        Seconds, epochs, or the reason of a failure.
    """

    detector: str
    series: str
    state: State
    done: int
    total: int
    message: str = ""


@dataclass(frozen=True)
class DetectionResult:
    """What became of one detector.

    Attributes
    ----------
    detector : str
        Its name.
    path : Path or None
        The score file; None where every series failed.
    failures : dict of str to str
        Reason by series.
    """

    detector: str
    path: Path | None
    failures: Mapping[str, str] = field(default_factory=dict)


def candidate(
    detector: str,
    *,
    name: str | None = None,
    seed: int | None = None,
    device: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Candidate:
    """Take a detector from the registry.

    Parameters
    ----------
    detector : str
        Its name there.
    name : str, optional
        Of the score file; the detector's by default.
    seed, device : optional
        Set where the detector has such a setting; its own default otherwise.
    settings : mapping, optional
        Further settings by name.

    Returns
    -------
    Candidate

    Raises
    ------
    ValueError
        If there is no such detector or setting.
    ImportError
        If the extra it needs is not installed.

    Examples
    --------
    >>> candidate("random", seed=3).settings["seed"]
    3
    """
    if detector not in REGISTRY:
        raise ValueError(f"unknown detector {detector!r}; there are {', '.join(REGISTRY)}")
    chosen = dict(settings or {})
    fields = {each.name for each in dataclasses.fields(settings_class(detector))}
    common = {"seed": seed, "device": device}
    chosen |= {key: value for key, value in common.items() if value is not None and key in fields}
    made = make(detector, **chosen)
    return Candidate(name or detector, lambda: make(detector, **chosen), dataclasses.asdict(made.settings))


def detect(
    candidates: Sequence[Candidate],
    data: Sequence[Series],
    folder: str | os.PathLike[str],
    *,
    single: bool = False,
    overwrite: bool = False,
    show: Callable[[DetectionProgress], None] = lambda _: None,
) -> list[DetectionResult]:
    """Run every detector on every series and write one score file per detector.

    A detector is fitted anew on each series: on its training stretch or, where there is none, on the test stretch
    itself, without labels (the file says which). Scores of series that are in the file already, from the same settings
    and the same data, are kept; other series in the file stay there.

    Parameters
    ----------
    candidates, data : sequences of Candidate and Series
        With different names.
    folder : path
        Where ``NAME.parquet`` go; made if need be.
    single : bool
        Store scores as float32, half the size, instead of float64.
    overwrite : bool
        Replace score files made with other settings; otherwise they are refused.
    show : callable
        Gets an `DetectionProgress` whenever something happens.

    Returns
    -------
    list of DetectionResult
        In the order of ``candidates``.

    Raises
    ------
    ValueError
        If names repeat, there is nothing to do, or a file holds scores of other settings.
    """
    _require_distinct([each.name for each in candidates], "detectors")
    _require_distinct([each.name for each in data], "series")
    _require_distinct([part for each in data for part in each.parts], "series")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    stores = [_Store(place, each, single, overwrite) for each in candidates]
    digests = {each.name: _digest(each) for each in data}
    counter = _Counter(show, len(candidates) * len(data))
    results = []
    for store in stores:
        failures: dict[str, str] = {}
        pairs = [_Pair(store, each, digests[each.name]) for each in data]
        for pair in pairs:
            if store.has(pair):
                counter.tell(pair, "kept")
                continue
            counter.tell(pair, "started")
            try:
                pair.run(counter)
            except Exception as error:  # a pair may fail in any way; the others go on
                failures[pair.series.name] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
                pair.error.write_text(traceback.format_exc())
                counter.tell(pair, "failed", failures[pair.series.name])
            else:
                counter.tell(pair, "finished")
        results.append(DetectionResult(store.candidate.name, store.assemble(pairs, failures), failures))
        _record_failures(place, results[-1])
    return results


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what is known about a score file: settings, seed, device, versions, timing per series, failures.

    Parameters
    ----------
    path : path
        A file that `detect` wrote.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If it is no such file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable Parquet file ({' '.join(str(error).split())[:160]})") from error
    if METADATA not in known:
        raise ValueError(f"{path}: not written by pateval detect: it says nothing about its settings")
    found: dict[str, Any] = json.loads(known[METADATA])
    return found


class _Counter:
    """Counts the pairs dealt with."""

    def __init__(self, show: Callable[[DetectionProgress], None], total: int) -> None:
        self.show = show
        self.total = total
        self.done = 0

    def tell(self, pair: _Pair, state: State, message: str = "") -> None:
        """Show progress; a pair that was kept, finished or failed is dealt with."""
        self.done += state in ("kept", "finished", "failed")
        self.show(DetectionProgress(pair.store.candidate.name, pair.series.name, state, self.done, self.total, message))


class _Pair:
    """One detector on one series, and where its scores wait until the file is put together."""

    def __init__(self, store: _Store, series: Series, digest: str) -> None:
        self.store = store
        self.series = series
        self.key = hashlib.sha256(f"{store.key}\0{series.name}\0{digest}".encode()).hexdigest()[:24]
        slug = re.sub(r"[^A-Za-z0-9.-]+", "_", series.name)[-80:]
        self.part = store.parts / f"{slug}-{self.key}.parquet"
        self.error = store.parts / f"{slug}-{self.key}.error.txt"
        self.checkpoint = store.parts / f"{slug}-{self.key}.checkpoint"

    def run(self, counter: _Counter) -> None:
        """Fit, score, check, and write the part."""
        self.part.parent.mkdir(parents=True, exist_ok=True)
        series = self.series
        detector = self.store.candidate.build()
        fitted_on = "test" if series.train is None else "train"
        train = series.test if series.train is None else series.train

        def report(epoch: Any) -> None:
            counter.tell(self, "training", f"epoch {epoch.number} of {epoch.epochs}, loss {epoch.loss:.4g}")

        fit_options = _accepted(
            detector.fit,
            progress=report,
            checkpoint=self.checkpoint,
            test=series.test if self.store.candidate.settings.get("select_on_test") else None,
        )
        begun = time.perf_counter()
        detector.fit(train, **fit_options)
        between = time.perf_counter()
        scores = _checked(detector.score(series.test, **_accepted(detector.score, labels=series.labels)), series.steps)
        ended = time.perf_counter()
        provenance = {
            "key": self.key,
            "series": series.name,
            "parts": list(series.parts),
            "steps": series.steps,
            "train_steps": series.train_steps,
            "fitted_on": fitted_on,
            "fit_seconds": round(between - begun, 4),
            "score_seconds": round(ended - between, 4),
        }
        _write_atomically(self.part, [lambda: self._table(scores)], {"runs": [provenance]})
        self.error.unlink(missing_ok=True)
        self.checkpoint.unlink(missing_ok=True)

    def _table(self, scores: FloatArray) -> Any:
        import pyarrow as pa

        return pa.table(
            {
                "series": pa.array(self.series.part_of_step),
                "step": pa.array(self.series.step_in_part),
                "label": pa.array(self.series.labels.astype(np.uint8)),
                "score": pa.array(scores.astype(self.store.dtype)),
            }
        )


class _Store:
    """One detector's score file and the parts it is put together from."""

    def __init__(self, folder: Path, candidate: Candidate, single: bool, overwrite: bool) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._ -]*", candidate.name):
            raise ValueError(f"a detector's name must serve as a file name; got {candidate.name!r}")
        self.candidate = candidate
        self.dtype = np.float32 if single else np.float64
        self.path = folder / f"{candidate.name}.parquet"
        self.parts = folder / PARTS / candidate.name
        self.settings = json.loads(json.dumps(dict(candidate.settings), default=str, sort_keys=True))
        version = importlib.metadata.version("pateval")
        self.device = _device(self.settings)
        made_by = [candidate.name, self.settings, self.device, np.dtype(self.dtype).name, version]
        self.key = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()
        self.runs: list[dict[str, Any]] = []
        if self.path.exists():
            known = read_provenance(self.path)
            if known["made_by"] == self.key:
                self.runs = known["runs"]
            elif not overwrite:
                raise ValueError(
                    f"{self.path}: holds scores of other settings ({_difference(known, self)}); choose another folder "
                    f"or name, or overwrite it"
                )

    def has(self, pair: _Pair) -> bool:
        """Tell whether a pair's scores are in the file or among the parts."""
        return any(run["key"] == pair.key for run in self.runs) or pair.part.exists()

    def assemble(self, pairs: Sequence[_Pair], failures: Mapping[str, str]) -> Path | None:
        """Put the file together: series of this run in its order, then what else the file held."""
        import pyarrow.parquet as pq

        held = {run["key"]: index for index, run in enumerate(self.runs)}
        waiting = {pair.key: pair for pair in pairs if pair.key not in held and pair.part.exists()}
        if not waiting and not failures:
            return self.path
        old = pq.ParquetFile(self.path) if held else None
        wanted = {pair.series.name for pair in pairs}
        runs = [read_provenance(pair.part)["runs"][0] for pair in waiting.values()]
        by_key = {run["key"]: run for run in (*self.runs, *runs)}
        keys = [pair.key for pair in pairs if pair.key in by_key]
        keys += [run["key"] for run in self.runs if run["series"] not in wanted]
        if not keys:
            return None

        def table(key: str) -> Any:
            return pq.read_table(waiting[key].part) if key in waiting else cast("Any", old).read_row_group(held[key])

        provenance = self._provenance([by_key[key] for key in keys], failures)
        _write_atomically(self.path, [functools.partial(table, key) for key in keys], provenance)
        if old is not None:
            old.close()
        for pair in pairs:
            pair.part.unlink(missing_ok=True)
        if not failures:
            shutil.rmtree(self.parts, ignore_errors=True)
            if self.parts.parent.is_dir() and not any(self.parts.parent.iterdir()):
                self.parts.parent.rmdir()
        return self.path

    def _provenance(self, runs: list[dict[str, Any]], failures: Mapping[str, str]) -> dict[str, Any]:
        return {
            "detector": self.candidate.name,
            "settings": self.settings,
            "seed": self.settings.get("seed"),
            "device": self.device,
            "versions": _versions(),
            "machine": platform.platform(),
            "made_by": self.key,
            "runs": runs,
            "failed": dict(failures),
        }


def _write_atomically(path: Path, pieces: Sequence[Callable[[], Any]], provenance: Mapping[str, Any]) -> None:
    """Write one row group per piece under another name, then rename; only one piece is in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
    first = pieces[0]()
    schema = pa.schema(first.schema, metadata={METADATA: json.dumps(provenance).encode()})
    try:
        with pq.ParquetWriter(scratch, schema, compression="zstd") as writer:
            for index, piece in enumerate(pieces):
                table = first if index == 0 else piece()
                # A row group per series: readers skip to the one they want.
                writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=table.num_rows)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def _record_failures(folder: Path, result: DetectionResult) -> None:
    """Keep ``failures.json`` up to date: reasons by detector and series; no file where nothing failed."""
    path = folder / FAILURES
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    known.pop(result.detector, None)
    if result.failures:
        known[result.detector] = dict(result.failures)
    if known:
        scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
        scratch.write_text(json.dumps(known, indent=1))
        os.replace(scratch, path)
    else:
        path.unlink(missing_ok=True)


def _accepted(method: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Choose the options a detector's method takes; those that are None are left out."""
    known = inspect.signature(method).parameters
    return {name: value for name, value in options.items() if name in known and value is not None}


def _checked(scores: object, steps: int) -> FloatArray:
    checked = finite_array(scores, "the detector's scores")
    if checked.size != steps:
        raise ValueError(f"the detector gave {checked.size} scores for {steps} steps")
    return checked


def _digest(series: Series) -> str:
    """Return a digest of everything a detector is given."""
    found = hashlib.sha256()
    for array in (series.train, series.test, series.labels):
        if array is not None:
            found.update(f"{array.dtype}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).data)
    found.update(repr((series.parts, series.boundaries, series.train_boundaries)).encode())
    return found.hexdigest()


def _require_distinct(names: Sequence[str], what: str) -> None:
    if not names:
        raise ValueError(f"there are no {what} to run")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"{what} must have different names; {repeated!r} occurs more than once")


def _difference(known: Mapping[str, Any], store: _Store) -> str:
    old, new = known.get("settings", {}), store.settings
    changes = [
        f"{key} {old.get(key)!r}, now {new.get(key)!r}" for key in {**old, **new} if old.get(key) != new.get(key)
    ]
    return "; ".join(changes[:3]) or "another device, number format or version of pateval"


def _device(settings: Mapping[str, Any]) -> str:
    if settings.get("device"):
        return str(settings["device"])
    torch = sys.modules.get("torch")
    return "cuda" if "device" in settings and torch is not None and torch.cuda.is_available() else "cpu"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package, module in (
        ("pateval", "pateval"),
        ("numpy", "numpy"),
        ("scikit-learn", "sklearn"),
        ("torch", "torch"),
    ):
        if module in sys.modules:
            found[package] = importlib.metadata.version(package)
    return found
