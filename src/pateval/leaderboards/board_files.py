"""A leaderboard on disk: one writer of its folder, and one reader.

``run.json`` is written last and holds a digest of every file, so that a reader can tell a folder that was written whole
from one where a write failed, or a file was changed afterwards.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation.bootstrap import Interval
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Value
from pateval.io import TableError
from pateval.io.atomic import write_csv, write_parquet, write_text
from pateval.io.content import arrow
from pateval.io.units import SCORES as OF_SCORES
from pateval.leaderboards.arrays import AXES, ChanceLevels, MetricFacts, cells_of, codes_of, table_of, written_columns
from pateval.leaderboards.diagnostics import BoardCheck
from pateval.leaderboards.doubt import LabelDoubt
from pateval.output.results import columns_of
from pateval.output.text_table import plain
from pateval.validation.wording import in_words, named_error, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pateval.io.plan import Plan
    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.tasks import SeriesResult

RUN = "run.json"
SCORES, CHANCE, DOUBT = "scores.parquet", "chance.parquet", "doubt.parquet"
SCORES_AS_TEXT, CONTENTS, TIMINGS, SIGNIFICANCE = "scores.csv", "contents.csv", "timings.csv", "significance.json"
JOBS, SERIES = "jobs.parquet", "series.parquet"
FORMAT = 4
"""Raised when a folder is laid out otherwise; boards of other formats are refused with what to do."""
ONE_LINERS = "one-liners"
"""Folder with what stands beside the detectors, a leaderboard as well."""
PARTIAL = "scores.partial"
"""Folder with what is finished, while the work goes on."""
CELLS = ("detector", "series", "run", "metric", "value", "reason")
_OF_TIMINGS = ("seconds", "cached")
_ROWS_PER_FILE = 30_000
_SECONDS_PER_FILE = 20.0


def require_parquet(folder: str | os.PathLike[str]) -> None:
    """Refuse to write a folder where Parquet cannot be written, before anything is computed for it."""
    arrow("parquet", f"{folder}: the folder of a leaderboard")


def save(board: Leaderboard, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write every table of a leaderboard into a folder; see :meth:`Leaderboard.save`."""
    target = Path(folder)
    require_parquet(target)
    if not overwrite:
        refuse_other_board(target, describe(board), board.digests)
    target.mkdir(parents=True, exist_ok=True)
    board = replace(board, control="") if board.control else board
    with writing(target):
        (target / RUN).unlink(missing_ok=True)  # without it the folder is no leaderboard until all is written
        tables = tables_of(board) | {TIMINGS: board.timing_table()}
        for name in _WHERE_THERE:
            (target / name).unlink(missing_ok=True)  # of an earlier leaderboard in this folder
        board.to_parquet(target / SCORES)
        board.to_csv(target / SCORES_AS_TEXT)
        for name, table in tables.items():
            (write_parquet if name.endswith(".parquet") else write_csv)([table], target / name)
        names = [SCORES, SCORES_AS_TEXT, *tables]
        if (target / ONE_LINERS / RUN).is_file():
            shutil.rmtree(target / ONE_LINERS)
        if board.one_liners is not None:
            save(board.one_liners, target / ONE_LINERS)
            names.append(f"{ONE_LINERS}/{RUN}")
        if not board.pooled:
            tests = (f"{json.dumps(metric)}: {board.significance(metric).to_json()}" for metric in board.metrics)
            write_text("{" + ", ".join(tests) + "}", target / SIGNIFICANCE)
            names.append(SIGNIFICANCE)
        described = describe(board) | {"digests": {name: file_digest(target / name) for name in names}}
        write_text(sealed(described), target / RUN)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Keep others from writing into a folder meanwhile, or refuse where somebody does; it ends with its process."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # where folders cannot be locked
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise TableError(
            f"{folder}: another run is writing into this folder; wait until it is done, or name another folder"
        ) from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(descriptor)


class PartialScores:
    """Writes results as they come in files of bounded size, which stay after an interruption until the next run."""

    def __init__(self, output: str | os.PathLike[str] | None, plan: Plan) -> None:
        self._folder = None if output is None else Path(output) / PARTIAL
        self._plan, self._lock = plan, ExitStack()
        self._waiting: list[tuple[Any, ...]] = []
        self.warnings: list[str] = []
        self._files = 0
        self._last = time.monotonic()

    def add(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """Take in one result, and write those that wait where they are many, or have waited long."""
        if self._folder is None or result.purpose != OF_SCORES:
            return
        job, failed = self._plan.jobs[result.job], Value(math.nan, result.failure)
        for metric in metrics:
            value = result.values.get(metric, failed)
            self._waiting.append((job.detector, job.series, job.run, metric, value.value, value.reason))
        if len(self._waiting) >= _ROWS_PER_FILE or time.monotonic() - self._last > _SECONDS_PER_FILE:
            self.flush()

    def flush(self) -> None:
        """Write what waits; where that is not possible, nothing more is written, and `warnings` say so."""
        if self._folder is not None and self._waiting:
            try:
                table = cells_of(self._waiting, CELLS)
                table = table if any(self._plan.jobs.runs) else table.drop_columns("run")
                write_parquet([table], self._folder / f"part-{self._files:05d}.parquet")
            except OSError as error:
                # The results themselves are not lost: the whole is written at the end, and says what is wrong then.
                self.warnings.append(f"finished scores cannot be read before the end: {error}")
                self._folder = None
            self._files += 1
            self._waiting = []
        self._last = time.monotonic()

    def __enter__(self) -> PartialScores:
        if self._folder is not None:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(writing(self._folder.parent))
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            if kind is not None:
                self.flush()
            if self._folder is not None and (kind is None or not self._files):
                # There are none, or all are at hand now, and the files that hold them in order are written next.
                shutil.rmtree(self._folder, ignore_errors=True)


def refuse_other_board(folder: Path, described: Mapping[str, Any], rows: Collection[tuple[str, str, str]]) -> None:
    """Refuse to replace a leaderboard by one of another question, or by one that lacks some of its rows."""
    try:
        saved = load(folder)
    except TableError:  # there is none that could be read
        return
    if what := next(_lost(saved, plain(dict(described)), rows), ""):
        raise TableError(
            f"{folder}: the folder holds another leaderboard ({what}); name another folder, or replace it "
            f"(overwrite=True, --overwrite)"
        )


def _lost(saved: Leaderboard, described: Mapping[str, Any], rows: Collection[tuple[str, str, str]]) -> Iterator[str]:
    """Say what one leaderboard has and another would not, or would have otherwise."""
    for axis, one in (("metrics", "metric"), ("detectors", "detector"), ("series", "series")):
        kept = set(described[axis])
        yield from (f"it has the {one} {in_words(name)}" for name in getattr(saved, axis) if name not in kept)
    old, new = (run.get("measures") or {} for run in (saved.run, described))
    for name in old if new else ():
        if name != "metrics" and old[name] != new.get(name):
            yield f"with {name} {in_words(old[name])} instead of {in_words(new.get(name))}"
    if saved.doubt is not None and saved.run["doubt"] != described.get("doubt"):
        yield "with labels in doubt"
    for detector, series, run in saved.digests if rows else ():
        if (detector, series, run) not in rows:
            yield f"it has {in_words(detector)} on {in_words(series)}"


def other_content(folder: Path, inputs: Iterable[Path]) -> str:
    """Say what a folder holds that is no leaderboard of these inputs, or of other files alone, and what to do."""
    if not folder.is_dir():
        return ""
    there = sorted(path.name for path in folder.iterdir() if not path.name.endswith(".tmp"))
    unfinished = {"cache", PARTIAL}
    begun = {RUN, *unfinished}.intersection(there)
    foreign = [name for name in there if not begun or name not in {*OUTPUTS, *unfinished, "report.html"}]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        remedy = "name another one, or use --overwrite to write into it all the same"
        return f"other things ({foreign[0]}{more}); {remedy}"
    try:
        known = json.loads((folder / RUN).read_text(encoding="utf-8"))["inputs"]
        if not known or not {Path(path).resolve() for path in known}.isdisjoint(path.resolve() for path in inputs):
            return ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    more = f" and {len(known) - 1} more" if len(known) > 1 else ""
    return f"a leaderboard of other files ({known[0]}{more}); name another one, or use --overwrite to replace it"


def already_there(board: Leaderboard, keys: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Say that a board has some of these detectors, series and runs already, where it has."""
    again = [key for key in keys if key in board.digests]
    for detector, series, run in again[:1]:
        of_run = f", run {in_words(run)}" if run else ""
        more = f", and {len(again) - 1:,} more," if len(again) > 1 else ""
        yield (
            f"detector {in_words(detector)} on series {in_words(series)}{of_run}{more} is there already; replace it "
            f"(overwrite=True, --overwrite), or give the new one another name"
        )


def describe(board: Leaderboard) -> dict[str, Any]:
    """What run.json says of a leaderboard, and of how it was made, as plain data."""
    otherwise = {
        "facts": {metric: asdict(board.facts[metric]) for metric in board.metrics},
        "intervals": [
            [*key, *board.intervals[key]] for key in product(board.detectors, board.metrics) if key in board.intervals
        ],
        "checks": [check._asdict() for check in board.checks],
    }
    fields = {name: otherwise.get(name, getattr(board, name)) for name in DESCRIBED}
    return plain({**board.run, "format": FORMAT, **fields})


# What run.json says of the board itself, beside how it was made.
DESCRIBED = (
    *("rank_by", "signatures", "own_signatures", "facts", "detectors", "series", "metrics", "pooled"),
    *("intervals", "coarse", "notes", "warnings", "checks", "failures"),
)
# Of what kind these are in a run.json that was written here: nobody who takes them from a board checks them again.
_KINDS: dict[Any, tuple[str, ...]] = {
    dict: ("signatures", "own_signatures", "facts"),
    list: ("inputs", "detectors", "series", "metrics", "coarse", "notes", "warnings", "checks", "failures"),
}
_KINDS_OF_WORK: dict[Any, tuple[str, ...]] = {
    dict: ("reading", "measures"),
    list: ("event_metrics",),
    int: ("event_draws", "units", "computed", "from_cache", "failed"),
    (dict, type(None)): ("doubt",),
}
_ALWAYS = (SCORES, SCORES_AS_TEXT, "summary.csv", CONTENTS, TIMINGS)
_WHERE_THERE = ("ranks.csv", "agreement.csv", SIGNIFICANCE, CHANCE, "doubt.csv", DOUBT, JOBS, SERIES)
_SEALED = (*_ALWAYS, *_WHERE_THERE, f"{ONE_LINERS}/{RUN}")
OUTPUTS = (*_ALWAYS, *_WHERE_THERE, ONE_LINERS, RUN)
"""All files and folders that `save` may write."""


def tables_of(board: Leaderboard) -> dict[str, Any]:
    """The tables that follow from a leaderboard's values, by the names of their files (pyarrow Tables)."""
    tables = {"summary.csv": board.summary(), CONTENTS: board.content_table()}
    if not board.pooled:
        tables |= {"ranks.csv": board.ranks(), "agreement.csv": board.agreement()}
    if board.chance is not None:
        tables[CHANCE] = chance_table(board, board.chance)
    if board.doubt is not None:
        tables |= {"doubt.csv": board.doubt.to_frame("pyarrow"), DOUBT: board.doubt.value_table(board.series)}
    if board.jobs:  # without what took how long, so that equal results are equal bytes
        tables[JOBS] = table_of({name: column for name, column in board.jobs.items() if name not in _OF_TIMINGS})
    if board.series_table:
        tables[SERIES] = table_of(board.series_table)
    return tables


def load(folder: str | os.PathLike[str], *, check: bool = True) -> Leaderboard:
    """Read a leaderboard; without ``check`` also one that is not as it was written, as far as it makes sense."""
    path = Path(folder)
    run = read_run(path)
    if check and (changed := changed_files(path, run)):
        name, what = next(iter(changed.items()))
        raise TableError(
            f"{path}: {name} {what}; the folder was not written whole, or was changed since: 'pateval verify {path}' "
            f"says what differs, and computing the leaderboard again makes it anew"
        )
    try:
        return _board(path, run, check=check)
    except TableError:
        raise
    except Exception as error:  # files that anybody may have edited do not fit in more ways than can be listed
        raise TableError(
            f"{path}: its files do not fit together ({shortened(named_error(error), 100)}); compute the leaderboard "
            f"again"
        ) from error


def read_run(folder: Path) -> dict[str, Any]:
    """Read run.json, or refuse a folder that holds no leaderboard that this release can read."""
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        run = None
    if not isinstance(run, dict):
        raise TableError(
            f"{folder}: no leaderboard, which has {RUN} and {SCORES}; make one with "
            f"'pateval leaderboard FILE... -o {folder}'"
        )
    if run.get("format") != FORMAT:
        inputs = run.get("inputs")
        files = " ".join(map(str, inputs)) if isinstance(inputs, list) and 0 < len(inputs) <= 3 else "FILE..."
        raise TableError(
            f"{folder}: the leaderboard was written by another release of pateval, whose means and thresholds had "
            f"other meanings; make it anew with 'pateval leaderboard {files} -o {folder} --overwrite'"
        )
    return run


def changed_files(folder: Path, run: Mapping[str, Any]) -> dict[str, str]:
    """Say which files are not those that were written together with run.json, and what is wrong with each."""
    digests = run.get("digests")
    digests = digests if isinstance(digests, dict) else {}
    is_whole = (folder / RUN).read_bytes() == sealed(run).encode()
    changed = {} if is_whole else {RUN: "is not as it was written"}
    beside = (name for name in _SEALED if (folder / name).exists())  # one that was put there later is read, too
    for name in dict.fromkeys([*_ALWAYS, *digests, *beside]):
        if not (folder / name).is_file():
            changed[name] = "is not there"
        elif file_digest(folder / name) != digests.get(name):
            changed[name] = "is not as it was written"
    return changed


def file_digest(path: Path) -> str:
    """Hash a file's content; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return ""


def sealed(described: Mapping[str, Any]) -> str:
    """The text of run.json, with a digest of itself, taken while that is empty."""
    text = json.dumps({**described, "digest": ""}, indent=1, default=str)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return text.replace('"digest": ""', f'"digest": "{digest}"')


def _board(folder: Path, run: Mapping[str, Any], *, check: bool) -> Leaderboard:
    from pateval.leaderboards.result import Leaderboard

    for kind, names in _KINDS.items() if run.get("computed_elsewhere") else (*_KINDS.items(), *_KINDS_OF_WORK.items()):
        for name in names:
            if not isinstance(run[name], kind):
                raise TypeError(f"{name} of {RUN} must not be {in_words(run[name])}")
    axes = tuple(tuple(map(str, run[axis])) for axis in ("detectors", "series", "metrics"))
    board = Leaderboard.of_cells(
        read_parquet(folder / SCORES, *(name for name in CELLS if name != "run")),
        {metric: MetricFacts(**run["facts"][metric]) for metric in axes[2]},
        axes=axes,
        where=folder,
        measures=_measures(run),
        chance=_chance(folder, axes),
        intervals={(row[0], row[1]): Interval(_number(row[2]), _number(row[3])) for row in run["intervals"]},
        jobs=_jobs(folder),
        series_table=written_columns(read_parquet(folder / SERIES, "series")) if (folder / SERIES).is_file() else {},
        checks=tuple(BoardCheck(**check) for check in run["checks"]),
        run={name: value for name, value in run.items() if name not in ("format", *DESCRIBED, "digests", "digest")},
        **{name: run[name] for name in ("rank_by", "signatures", "own_signatures")},
        pooled=int(run["pooled"]),
        **{name: tuple(run[name]) for name in ("coarse", "notes", "warnings", "failures")},
        one_liners=load(folder / ONE_LINERS, check=check) if (folder / ONE_LINERS / RUN).is_file() else None,
    )
    if not run.get("doubt"):
        return board
    return replace(board, doubt=doubt_of(read_parquet(folder / DOUBT), run["doubt"], board, folder))


def _measures(run: Mapping[str, Any]) -> Measures | None:
    """What was computed; None where values were given, or metrics of the user's cannot be found here."""
    if not run.get("measures"):
        return None
    try:
        return Measures.from_record(run["measures"])
    except (TypeError, ValueError, KeyError):
        return None


def _jobs(folder: Path) -> dict[str, list[Any]]:
    """The table of jobs, with how long each took."""
    pa, csv = arrow(), arrow("csv")
    if not (folder / JOBS).is_file():
        return {}
    jobs = written_columns(read_parquet(folder / JOBS, "detector", "series", "digest"))
    path = folder / TIMINGS
    try:
        timings = csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True))
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: it cannot be read ({one_line(error, 100)})") from error
    for name in _OF_TIMINGS:
        if name in timings.column_names and timings.num_rows == len(jobs["detector"]):
            jobs[name] = timings[name].to_pylist()
    return dict(jobs)


def _chance(folder: Path, axes: tuple[tuple[str, ...], ...]) -> ChanceLevels | None:
    detectors, series, metrics = axes
    if not (folder / CHANCE).is_file():
        return None
    rows: dict[tuple[str, str], list[float]] = {}
    for row in read_parquet(folder / CHANCE, "series", "detector", "metric", "chance").to_pylist():
        levels = rows.setdefault((row["detector"] or "", row["series"]), [math.nan] * len(metrics))
        levels[metrics.index(row["metric"])] = _number(row["chance"])
    places = {key: place for place, key in enumerate(rows)}
    numbers = [[places.get((name, on), places.get(("", on), -1)) for on in series] for name in detectors]
    return ChanceLevels(np.array(list(rows.values())), np.array(numbers, dtype=np.int32))


def doubt_of(table: Any, how: Mapping[str, Any], board: Leaderboard, where: object = "") -> LabelDoubt:
    """Labels in doubt, from the table of the values of every draw, and what run.json says of how they were computed."""
    axes = board.detectors, board.series, tuple(how["metrics"])
    moved = np.full((*map(len, axes), int(how["draws"])), np.nan)
    places = (codes_of(table[name].combine_chunks(), axis, where) for name, axis in zip(AXES, axes, strict=True))
    moved[*places, table["draw"].to_numpy()] = table["value"].to_numpy()
    return LabelDoubt.on_board(board, how["amount"], axes[2], moved)


def read_parquet(path: Path, *columns: str) -> Any:
    """Read a table of the leaderboard, or refuse a file that is damaged, no longer there, or lacks a column."""
    pa, parquet = arrow(), arrow("parquet")
    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: it cannot be read ({one_line(error, 150)})") from error
    for name in columns:
        if name not in table.column_names:
            raise TableError(f"{path}: the column {name!r} is missing; compute the leaderboard again")
    return table


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def chance_table(board: Leaderboard, chance: ChanceLevels) -> Any:
    """Return what random scores reach; the detector is null where all of a series have the same level."""
    cells: list[tuple[Any, ...]] = []
    for s, series in enumerate(board.series):
        rows = {d: int(chance.rows[d, s]) for d in np.flatnonzero(board.present[:, s]).tolist()}
        alike = len(set(rows.values())) == 1
        of_detector = [(d, row) for d, row in rows.items() if row >= 0]
        for d, row in of_detector[: 1 if alike else None]:
            name = None if alike else board.detectors[d]
            levels = plain(chance.levels[row].tolist())
            cells += [(series, name, metric, level) for metric, level in zip(board.metrics, levels, strict=True)]
    return table_of(columns_of(("series", "detector", "metric", "chance"), cells))
