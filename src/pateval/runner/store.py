"""One detector's score file, and the parts it is put together from."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.datasets import Series
from pateval.io.content import arrow
from pateval.io.score_files import FORMAT, read_metadata, training_scores_path, write_score_file
from pateval.runner.candidates import Candidate
from pateval.runner.tasks import Protocol, Run, Task, device_of, pateval_version, read_part

PARTS = ".parts"
_REMEDY = "; choose another folder or name, or overwrite it"


class Store:
    """Where the scores of one detector go; the parameters are those of `pateval.runner.detect`.

    A name that cannot be a file's is refused, and so is a file that holds scores of other settings or another data set.
    """

    def __init__(
        self,
        candidate: Candidate,
        folder: Path,
        *,
        seeds: Sequence[int] | None,
        protocol: Protocol,
        single: bool,
        overwrite: bool,
        about: Mapping[str, Any] | None,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._ -]*", candidate.name):
            raise ValueError(f"a detector's name must serve as a file name; got {candidate.name!r}")
        self.candidate, self.protocol, self.overwrite = candidate, protocol, overwrite
        # Several seeds are runs of one file, with a column that names them.
        self.has_runs = seeds is not None
        self.candidates = [candidate]
        if seeds is not None and candidate.has_seed:
            self.candidates = [candidate.with_seed(seed) for seed in seeds]
        self.about_data = dict(about or {})
        self.dtype = np.dtype(np.float32 if single else np.float64).name
        self.path = folder / f"{candidate.name}.parquet"
        self.parts = folder / PARTS / candidate.name
        self.settings = _plain(candidate.settings)
        if self.has_runs:
            self.settings.pop("seed", None)
        self.device = device_of(self.settings)
        self.key = _digest([self._identity(self.settings), self.has_runs])
        self.tasks: list[Task] = []
        self.failures: dict[str, str] = {}  # reasons by series
        self.stopped = 0  # runs that were not finished in time
        self.runs: list[dict[str, Any]] = []  # those in the file
        self._place_of_runs: str | None = None
        if self.path.exists():
            known = read_metadata(self.path)
            data, new_data = known.get("data", {}).get("name"), self.about_data.get("name")
            same_data = None in (data, new_data) or data == new_data
            if known.get("made_by") == self.key and same_data:
                self.runs = known["runs"]
                self._place_of_runs = known.get("data", {}).get("place")
            elif not overwrite:
                other = f"on another data set ({data}, now {new_data})"
                what = f"of other settings ({_difference(known, self)})" if same_data else other
                raise ValueError(f"{self.path}: holds scores {what}{_REMEDY}")

    def _identity(self, settings: Mapping[str, Any]) -> list[Any]:
        version = pateval_version()["version"]
        return [self.candidate.name, settings, self.device, self.dtype, self.protocol, version]

    def take(self, data: Sequence[Series], digests: Sequence[str]) -> None:
        """Make the tasks, one for each series, whose runs may be done already.

        Data that lie elsewhere than those of the file and are not the same, though they have the same name, are
        refused. A folder that was moved is the same data set: all series of the file are in it, unchanged.
        """
        self.tasks = [self._task(series, digest) for series, digest in zip(data, digests, strict=True)]
        place = self.about_data.get("place")
        if None in (place, self._place_of_runs) or place == self._place_of_runs:
            return
        given = {(task.series.name, task.digest) for task in self.tasks}
        if all((run["series"], run["data_digest"]) in given for run in self.runs):
            return
        if not self.overwrite:
            raise ValueError(
                f"{self.path}: holds scores on another data set called {self.about_data['name']}, which lies in "
                f"another folder{_REMEDY}"
            )
        self.runs = []

    def _task(self, series: Series, digest: str) -> Task:
        runs = []
        for candidate in self.candidates:
            key = _digest([self._identity(_plain(candidate.settings)), series.name, digest])[:24]
            slug = re.sub(r"[^A-Za-z0-9.-]+", "_", series.name)[-80:]
            runs.append(Run(key, candidate, self.parts / f"{slug}-{key}"))
        return Task(series, digest, tuple(runs), self.protocol, self.dtype)

    def has(self, run: Run) -> bool:
        """Tell whether a run's scores are in the file or among the parts."""
        return any(known["key"] == run.key for known in self.runs) or run.part.exists()

    def assemble(self) -> Path | None:
        """Put the file together: series of this run in its order, then what else the file held.

        None comes back where nothing succeeded.
        """
        pa = arrow()
        held = {run["key"]: index for index, run in enumerate(self.runs)}
        waiting = {
            run.key: (run, task.series)
            for task in self.tasks
            for run in task.runs
            if run.key not in held and run.part.exists()
        }
        if not waiting and not self.failures:
            return self.path if self.path.exists() else None
        records = {run["key"]: run for run in self.runs}
        records |= {key: read_part(run.part)[2] for key, (run, _) in waiting.items()}
        asked = [run.key for task in self.tasks for run in task.runs if run.key in records]
        if self.has_runs:
            replaced = {(records[key]["series"], records[key]["seed"]) for key in asked}
            others = [run["key"] for run in self.runs if (run["series"], run["seed"]) not in replaced]
        else:
            names = {task.series.name for task in self.tasks}
            others = [run["key"] for run in self.runs if run["series"] not in names]
        keys = [*asked, *others]
        if not keys:
            return None
        beside = training_scores_path(self.path)
        old_keys = read_metadata(beside)["keys"] if held and beside.exists() else []

        def scores(key: str) -> Any:
            if key not in waiting:
                return _row_group(self.path, held[key])
            run, series = waiting[key]
            return self._table(series, read_part(run.part)[0], run.seed)

        def training_scores(key: str) -> Any:
            if key not in waiting:
                return _row_group(beside, old_keys.index(key))
            return pa.table({"score": read_part(waiting[key][0].part)[1]})

        with_training = [key for key in keys if records[key]["training_scores"] and (key in waiting or key in old_keys)]
        if with_training:
            pieces = [functools.partial(training_scores, key) for key in with_training]
            write_score_file(beside, pieces, {"format": FORMAT, "keys": with_training})
        else:
            beside.unlink(missing_ok=True)
        pieces = [functools.partial(scores, key) for key in keys]
        write_score_file(self.path, pieces, self._metadata([records[key] for key in keys]))
        for run, _ in waiting.values():
            run.part.unlink(missing_ok=True)
        if not self.failures and not any(self.parts.glob("*.checkpoint")):
            shutil.rmtree(self.parts, ignore_errors=True)
            if self.parts.parent.is_dir() and not any(self.parts.parent.iterdir()):
                self.parts.parent.rmdir()
        return self.path

    def _table(self, series: Series, scores: npt.NDArray[Any], seed: int | None) -> Any:
        pa, steps = arrow(), len(scores)
        runs = {"run": np.full(steps, seed or 0, dtype=np.int64)} if self.has_runs else {}
        return pa.table(
            {
                "series": pa.array(series.part_of_step[:steps]),
                **runs,
                "step": series.step_in_part[:steps],
                "label": series.labels[:steps].astype(np.uint8),
                "score": scores,
            }
        )

    def _metadata(self, runs: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "detector": self.candidate.name,
            "settings": self.settings,
            "seed": self.settings.get("seed"),
            "protocol": self.protocol,
            "device": self.device,
            # Those of the first run; each run has its own.
            "pateval": runs[0]["pateval"],
            "versions": runs[0]["versions"],
            "machine": runs[0]["machine"],
            "data": self.about_data,
            "seconds": round(sum(run["fit_seconds"] + run["score_seconds"] for run in runs), 3),
            "made_by": self.key,
            "runs": runs,
            "failed": self.failures,
        }


def _row_group(path: Path, place: int) -> Any:
    with arrow("parquet").ParquetFile(path) as file:
        return file.read_row_group(place)


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(dict(settings), default=str, sort_keys=True))


def _difference(known: Mapping[str, Any], store: Store) -> str:
    old = {**known.get("settings", {}), "protocol": known.get("protocol")}
    new = {**store.settings, "protocol": store.protocol}
    changes = [
        f"{key} {old.get(key)!r}, now {new.get(key)!r}" for key in {**old, **new} if old.get(key) != new.get(key)
    ]
    return "; ".join(changes[:3]) or "another device, number format or version of pateval"
