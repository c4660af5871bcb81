"""A leaderboard on disk: all its tables in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io.atomic import write_text
from pateval.io.table_files import write_csv, write_parquet
from pateval.leaderboards.timings import Timings
from pateval.output.text_table import plain

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy.typing as npt

    from pateval.leaderboards.result import Leaderboard


def save(board: Leaderboard, folder: str | os.PathLike[str]) -> None:
    """Write every table of a leaderboard into a folder; see :meth:`Leaderboard.save`."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    board.to_parquet(target / "scores.parquet")
    board.to_csv(target / "scores.csv")
    write_csv([board.summary()], target / "summary.csv")
    write_csv([board.ranks()], target / "ranks.csv")
    write_csv([board.agreement()], target / "agreement.csv")
    write_csv([board.timing_table()], target / "timings.csv")
    write_csv([board.content_table()], target / "contents.csv")
    for name in ("chance.parquet", "doubt.csv", "doubt.parquet"):
        (target / name).unlink(missing_ok=True)  # of an earlier leaderboard in this folder, which this one may not have
    if board.chance is not None:
        write_parquet([chance_table(board)], target / "chance.parquet")
    if board.doubt is not None:
        write_csv([board.doubt.to_frame("pyarrow")], target / "doubt.csv")
        write_parquet([board.doubt.draw_table()], target / "doubt.parquet")
    tests = (f"{json.dumps(metric)}: {board.significance(metric).to_json()}" for metric in board.metrics)
    write_text("{" + ", ".join(tests) + "}", target / "significance.json")
    described = dict(board.run) | {
        "rank_by": board.rank_by,
        "signatures": dict(board.signatures),
        "directions": {metric: board.facts[metric].higher_is_better for metric in board.metrics},
        "detectors": list(board.detectors),
        "series": list(board.series),
        "metrics": list(board.metrics),
        "coarse": list(board.coarse),
        "notes": list(board.notes),
        "warnings": list(board.warnings),
        "checks": [check._asdict() for check in board.checks],
        "failures": list(board.failures),
    }
    write_text(json.dumps(plain(described), indent=1, default=str), target / "run.json")


def timing_table(board: Leaderboard) -> Any:
    """Return how long each job took (pyarrow Table)."""
    import pyarrow as pa

    none = np.empty(0, dtype=np.int32)
    found = board.timings or Timings(none, none, none.astype(np.int64), none.astype(float), none.astype(bool))
    return pa.table(
        {
            "detector": strings(found.detector_code, board.detectors),
            "series": strings(found.series_code, board.series),
            **({} if found.runs is None else {"run": pa.array(found.runs, pa.string())}),
            "steps": found.steps,
            "seconds": found.seconds.round(6),
            "cached": found.cached,
        }
    )


def chance_table(board: Leaderboard) -> Any:
    """Return what random scores reach (pyarrow Table): series, detector, metric, chance.

    The detector is null where all detectors of a series have the same labels, and so the same level.
    """
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"series": [], "detector": [], "metric": [], "chance": []}
    if board.chance is not None:
        for s, series in enumerate(board.series):
            of_detector = {d: row for d, row in enumerate(board.chance.rows[:, s].tolist()) if row >= 0}
            alike = len(set(of_detector.values())) == 1
            for d, row in list(of_detector.items())[: 1 if alike else None]:
                columns["series"] += [series] * len(board.metrics)
                columns["detector"] += [None if alike else board.detectors[d]] * len(board.metrics)
                columns["metric"] += board.metrics
                columns["chance"] += plain(board.chance.levels[row].tolist())
    kinds = (pa.string(), pa.string(), pa.string(), pa.float64())
    return pa.table({name: pa.array(columns[name], kind) for name, kind in zip(columns, kinds, strict=True)})


def content_table(board: Leaderboard) -> Any:
    """Return the digest of what each detector's values on each series were computed from (pyarrow Table)."""
    import pyarrow as pa

    columns: dict[str, Any] = {"detector": [], "series": [], "digest": []}
    if board.plan is not None and board.contents is not None:
        done = np.flatnonzero(board.contents != b"")
        columns = {
            "detector": strings(board.plan.jobs.detector_code[done], board.detectors),
            "series": strings(board.plan.jobs.series_code[done], board.series),
            **({} if board.runs is None else {"run": strings(board.plan.jobs.run_code[done], board.plan.jobs.runs)}),
            "digest": board.contents[done].astype(str),
        }
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})


def strings(codes: npt.NDArray[Any], names: Sequence[str], nulls: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return names by their numbers, as a column of texts; null where asked for."""
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=nulls)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())
