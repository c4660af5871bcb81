"""Scores on disk while the work goes on: Parquet files that can be read at any time, gone when the whole is written."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io.table_files import write_parquet
from pateval.leaderboards.batches import SCORES
from pateval.leaderboards.tasks import Cell

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pateval.leaderboards.plan import Plan
    from pateval.leaderboards.tasks import SeriesResult

FOLDER = "scores.partial"
_ROWS_PER_FILE = 30_000
_SECONDS_PER_FILE = 20.0


class PartialScores:
    """Writes results as they come, in files of bounded size.

    The files hold the rows of ``scores.parquet`` in the order in which they were finished. They stay after an
    interruption, for whoever wants to look, until the next run into the same folder.

    Parameters
    ----------
    output : path or None
        The folder that will get all tables; nothing is written where there is none.
    plan : Plan
        Names the jobs.
    """

    def __init__(self, output: str | os.PathLike[str] | None, plan: Plan) -> None:
        self._folder = None if output is None else Path(output) / FOLDER
        self._plan = plan
        self._waiting: list[tuple[SeriesResult, Sequence[str]]] = []
        self._rows = 0
        self.warnings: list[str] = []
        self._files = 0
        self._last = time.monotonic()

    def add(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """Take in one result, and write those that wait where they are many, or have waited long."""
        if self._folder is None or result.purpose != SCORES:
            return
        # Counts are kept elsewhere and would fill the memory here.
        self._waiting.append((replace(result, counts=()), metrics))
        self._rows += len(metrics)
        if self._rows >= _ROWS_PER_FILE or time.monotonic() - self._last > _SECONDS_PER_FILE:
            self.flush()

    def flush(self) -> None:
        """Write what waits; where that is not possible, nothing more is written, and `warnings` say so."""
        if self._folder is not None and self._waiting:
            try:
                write_parquet([self._table()], self._folder / f"part-{self._files:05d}.parquet")
            except OSError as error:
                # The results themselves are not lost: the whole is written at the end, and says what is wrong then.
                self.warnings.append(f"finished scores cannot be read before the end: {error}")
                self._folder = None
            self._files += 1
            self._waiting, self._rows = [], 0
        self._last = time.monotonic()

    def _table(self) -> Any:
        import pyarrow as pa

        jobs = [self._plan.jobs[result.job] for result, _ in self._waiting]
        sizes = [len(metrics) for _, metrics in self._waiting]
        none = Cell(math.nan)
        cells = [
            (result.cells.get(metric, none._replace(reason=result.failure)), metric)
            for result, metrics in self._waiting
            for metric in metrics
        ]
        names = np.repeat([job.run for job in jobs], sizes)
        run = {"run": pa.array(names, pa.string())} if self._plan.jobs.entries.has_runs else {}
        return pa.table(
            {
                "detector": pa.array(np.repeat([job.detector for job in jobs], sizes), pa.string()),
                "series": pa.array(np.repeat([job.series for job in jobs], sizes), pa.string()),
                **run,
                "metric": pa.array([metric for _, metric in cells], pa.string()),
                "value": pa.array([cell.value for cell, _ in cells], pa.float64()),
                "reason": pa.array([cell.reason or None for cell, _ in cells], pa.string()),
            }
        )

    def __enter__(self) -> PartialScores:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._folder is None:
            return
        if kind is None:
            # All results are at hand now, and the files that hold them in order are written next.
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            self.flush()
