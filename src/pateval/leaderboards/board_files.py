"""A leaderboard on disk: one writer of its folder, and one reader.

``run.json`` is written last and holds a digest of every file, so that a reader can tell a folder that was written whole
from one where a write failed, or a file was changed afterwards.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation.bootstrap import Interval
from pateval.evaluation.measures import Measures
from pateval.io import TableError
from pateval.io.atomic import write_csv, write_parquet, write_text
from pateval.leaderboards.diagnostics import BoardCheck
from pateval.leaderboards.doubt import LabelDoubt
from pateval.leaderboards.statistics import ChanceLevels, MetricFacts
from pateval.output.harmless import csv_text
from pateval.output.text_table import plain
from pateval.validation.wording import in_words, named_error, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.leaderboards.collect import Entries
    from pateval.leaderboards.result import Leaderboard

RUN = "run.json"
SCORES, CHANCE, DOUBT = "scores.parquet", "chance.parquet", "doubt.parquet"
SCORES_AS_TEXT, CONTENTS, TIMINGS, SIGNIFICANCE = "scores.csv", "contents.csv", "timings.csv", "significance.json"
FORMAT = 3
"""Raised when a folder is laid out otherwise; boards of other formats are refused with what to do."""
_DIGEST = '"digest": "{}"'


def save(board: Leaderboard, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write every table of a leaderboard into a folder; see :meth:`Leaderboard.save`."""
    target = Path(folder)
    if not overwrite:
        refuse_other_board(target, describe(board), board.digests)
    target.mkdir(parents=True, exist_ok=True)
    with writing(target):
        _save(board, target)


def _save(board: Leaderboard, target: Path) -> None:
    (target / RUN).unlink(missing_ok=True)  # without it the folder is no leaderboard until all is written
    written = tables_of(board)
    for name in (*_WHERE_THERE, *_RANKED):
        (target / name).unlink(missing_ok=True)  # of an earlier leaderboard in this folder
    board.to_parquet(target / SCORES)
    board.to_csv(target / SCORES_AS_TEXT)
    for name, table in written.items():
        (write_parquet if name.endswith(".parquet") else write_csv)([table], target / name)
    write_csv([timing_table(board)], target / TIMINGS)
    names = [SCORES, SCORES_AS_TEXT, *written, TIMINGS]
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


def refuse_other_board(folder: Path, described: Mapping[str, Any], rows: Collection[tuple[str, str, str]]) -> None:
    """Refuse to replace a leaderboard by one of another question, or by one that lacks some of its rows.

    Parameters
    ----------
    folder : Path
        Where the new one would be written.
    described : mapping
        What run.json would say of it: ``detectors``, ``series``, ``metrics``, ``measures``, ``doubt``.
    rows : collection of tuple
        Detector, series and run of all that it has.
    """
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


def describe(board: Leaderboard) -> dict[str, Any]:
    """What run.json says of a leaderboard, and of how it was made, as plain data."""
    otherwise = {
        "facts": {metric: asdict(board.facts[metric]) for metric in board.metrics},
        "intervals": [[*key, *limits] for key, limits in board.intervals.items()],
        "checks": [check._asdict() for check in board.checks],
    }
    fields = {name: otherwise.get(name, getattr(board, name)) for name in _DESCRIBED}
    return dict(plain(dict(board.run) | {"format": FORMAT} | fields))


# What run.json says of the board itself, beside how it was made.
_DESCRIBED = (
    *("rank_by", "signatures", "own_signatures", "facts", "detectors", "series", "metrics", "pooled"),
    *("intervals", "coarse", "notes", "warnings", "checks", "failures"),
)
_RANKED = ("ranks.csv", "agreement.csv", SIGNIFICANCE)
_WHERE_THERE = (CHANCE, "doubt.csv", DOUBT)
_ALWAYS = (SCORES, SCORES_AS_TEXT, "summary.csv", CONTENTS, TIMINGS)
OUTPUTS = (*_ALWAYS, *_RANKED, *_WHERE_THERE, RUN)
"""All files that `save` may write."""


def tables_of(board: Leaderboard) -> dict[str, Any]:
    """The tables that follow from a leaderboard's values, by the names of their files (pyarrow Tables)."""
    found = {"summary.csv": board.summary(), CONTENTS: content_table(board)}
    if not board.pooled:
        found |= {"ranks.csv": board.ranks(), "agreement.csv": board.agreement()}
    if board.chance is not None:
        found[CHANCE] = chance_table(board)
    if board.doubt is not None:
        found |= {"doubt.csv": board.doubt.to_frame("pyarrow"), DOUBT: board.doubt.value_table(board.series)}
    return found


def load(folder: str | os.PathLike[str], *, check: bool = True) -> Leaderboard:
    """Read a leaderboard from its folder; see :meth:`Leaderboard.load`.

    Without ``check`` a folder that is not as it was written is read as far as it makes sense.
    """
    path = Path(folder)
    run = read_run(path)
    if check and (changed := changed_files(path, run)):
        name, what = next(iter(changed.items()))
        raise TableError(
            f"{path}: {name} {what}; the folder was not written whole, or was changed since: 'pateval verify {path}' "
            f"says what differs, and computing the leaderboard again makes it anew"
        )
    try:
        return _board(path, run)
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
    is_whole = _is_sealed((folder / RUN).read_text(encoding="utf-8"), run.get("digest"))
    found = {} if is_whole else {RUN: "is not as it was written"}
    for name in dict.fromkeys([*_ALWAYS, *digests]):
        if not (folder / name).is_file():
            found[name] = "is not there"
        elif file_digest(folder / name) != digests.get(name):
            found[name] = "is not as it was written"
    return found


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
    return text.replace(_DIGEST.format(""), _DIGEST.format(_text_digest(text)))


def _is_sealed(text: str, digest: object) -> bool:
    return _text_digest(text.replace(_DIGEST.format(digest), _DIGEST.format(""))) == digest


def _text_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _board(folder: Path, run: Mapping[str, Any]) -> Leaderboard:
    from pateval.leaderboards.collect import RunTable
    from pateval.leaderboards.result import Leaderboard

    axes = tuple(tuple(map(str, run[axis])) for axis in ("detectors", "series", "metrics"))
    detectors, series, metrics = axes
    table = read_parquet(folder / SCORES, "detector", "series", "metric", "value", "reason")
    d, s, m = (
        _codes(table[column], axis, folder) for column, axis in zip(("detector", "series", "metric"), axes, strict=True)
    )
    entries = _entries(table, d, detectors, folder)
    shape = (len(entries.names), len(series))
    values, coverage = np.full((*shape, len(metrics)), np.nan), np.full(shape, np.nan)
    values[entries.of_job, s, m] = table["value"].to_numpy()
    present = np.zeros(shape, dtype=np.bool_)
    present[entries.of_job, s] = True
    texts = ("", *dict.fromkeys(text for text in table["reason"].to_pylist() if text is not None))
    codes = np.zeros(values.shape, dtype=np.int32)
    codes[entries.of_job, s, m] = _codes(table["reason"].fill_null(""), texts, folder)
    if "coverage" in table.column_names:
        coverage[entries.of_job, s] = table["coverage"].to_numpy()
    runs = RunTable(entries, values, present, codes)
    means, is_there, reasons = runs.of_detectors()
    facts = {metric: MetricFacts(**run["facts"][metric]) for metric in metrics}
    return Leaderboard(
        detectors,
        series,
        metrics,
        means,
        is_there,
        reasons,
        texts,
        facts,
        rank_by=run["rank_by"],
        signatures=run["signatures"],
        own_signatures=run["own_signatures"],
        measures=_measures(run),
        pooled=int(run["pooled"]),
        chance=_chance(folder, axes),
        intervals={(row[0], row[1]): Interval(_number(row[2]), _number(row[3])) for row in run["intervals"]},
        runs=runs if entries.has_runs else None,
        doubt=_doubt(folder, run, axes, means, facts),
        coverage=coverage if "coverage" in table.column_names else None,
        coarse=tuple(run["coarse"]),
        timings=_read_csv(folder / TIMINGS, (*detectors, *series)),
        notes=tuple(run["notes"]),
        warnings=tuple(run["warnings"]),
        checks=tuple(BoardCheck(**check) for check in run["checks"]),
        failures=tuple(run["failures"]),
        run={name: value for name, value in run.items() if name not in ("format", *_DESCRIBED, "digests", "digest")},
        digests={
            (row["detector"], row["series"], row.get("run") or ""): row["digest"]
            for row in _read_csv(folder / CONTENTS, (*detectors, *series)).to_pylist()
        },
    )


def _entries(table: Any, detector_code: npt.NDArray[np.intp], detectors: Sequence[str], folder: Path) -> Entries:
    """The runs of each detector, in the order of the rows."""
    from pateval.leaderboards.collect import Entries

    names = tuple(dict.fromkeys(table["run"].to_pylist())) if "run" in table.column_names else ("",)
    runs = _codes(table["run"], names, folder) if "run" in table.column_names else np.zeros_like(detector_code)
    known, first, of_row = np.unique(detector_code * len(names) + runs, return_index=True, return_inverse=True)
    order = np.lexsort((first, known // len(names)))
    missing = np.setdiff1d(np.arange(len(detectors)), detector_code)
    if missing.size:
        name = in_words(detectors[missing[0]])
        raise TableError(f"{folder}: {name} is in {RUN} and not in {SCORES}; compute the leaderboard again")
    code = known[order]
    return Entries(code // len(names), tuple(names[run] for run in code % len(names)), np.argsort(order)[of_row])


def _measures(run: Mapping[str, Any]) -> Measures | None:
    """What was computed; None where values were given, or metrics of the user's cannot be found here."""
    if not run.get("measures"):
        return None
    try:
        return Measures.from_record(run["measures"])
    except (TypeError, ValueError, KeyError):
        return None


_KINDS = {"detector": "string", "series": "string", "run": "string", "digest": "string", "seconds": "float64"}


def _read_csv(path: Path, names: Sequence[str]) -> Any:
    """Read what was written as text (pyarrow Table), without columns where there is no such file.

    ``names`` are those of detectors and series as they are: the file has them as spreadsheets may read them.
    """
    import pyarrow as pa
    from pyarrow import csv

    if not path.is_file():
        return pa.table({})
    try:
        kinds = csv.ConvertOptions(column_types={name: pa.type_for_alias(kind) for name, kind in _KINDS.items()})
        table = csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=kinds)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: it cannot be read ({one_line(error, 100)})") from error
    raw = {written: name for name in names if (written := csv_text(name)) != name}
    for place, column in enumerate(table.column_names) if raw else ():
        if column in ("detector", "series"):
            cells = [raw.get(cell, cell) for cell in table[column].to_pylist()]
            table = table.set_column(place, column, pa.array(cells, pa.string()))
    return table


def _chance(folder: Path, axes: tuple[tuple[str, ...], ...]) -> ChanceLevels | None:
    detectors, series, metrics = axes
    if not (folder / CHANCE).is_file():
        return None
    rows: dict[tuple[str, str], list[float]] = {}
    for row in read_parquet(folder / CHANCE, "series", "detector", "metric", "chance").to_pylist():
        levels = rows.setdefault((row["detector"] or "", row["series"]), [math.nan] * len(metrics))
        levels[metrics.index(row["metric"])] = _number(row["chance"])
    places = {key: place for place, key in enumerate(rows)}
    numbers = [[places.get((name, one), places.get(("", one), -1)) for one in series] for name in detectors]
    return ChanceLevels(np.array(list(rows.values())), np.array(numbers, dtype=np.int32))


def _doubt(
    folder: Path,
    run: Mapping[str, Any],
    axes: tuple[tuple[str, ...], ...],
    values: npt.NDArray[np.float64],
    facts: Mapping[str, MetricFacts],
) -> LabelDoubt | None:
    if not run.get("doubt"):
        return None
    detectors, series, metrics = axes
    chosen = tuple(run["doubt"]["metrics"])
    moved = np.full((len(detectors), len(series), len(chosen), int(run["doubt"]["draws"])), np.nan)
    table = read_parquet(folder / DOUBT, "metric", "detector", "series", "draw", "value")
    names = (("detector", detectors), ("series", series), ("metric", chosen))
    places = (_codes(table[column], axis, folder) for column, axis in names)
    moved[*places, table["draw"].to_numpy()] = table["value"].to_numpy()
    columns = [metrics.index(metric) for metric in chosen]
    own = {metric: facts[metric] for metric in chosen}
    return LabelDoubt(run["doubt"]["amount"], detectors, chosen, values[:, :, columns], moved, own)


def read_parquet(path: Path, *columns: str) -> Any:
    """Read a table of the leaderboard, or refuse a file that is damaged, no longer there, or lacks a column."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: it cannot be read ({one_line(error, 150)})") from error
    for name in columns:
        if name not in table.column_names:
            raise TableError(f"{path}: the column {name!r} is missing; compute the leaderboard again")
    return table


def _codes(column: Any, names: Sequence[str], folder: Path) -> npt.NDArray[np.intp]:
    """Numbers of the names in a column."""
    encoded = column.combine_chunks().dictionary_encode()
    places = {name: place for place, name in enumerate(names)}
    known = encoded.dictionary.to_pylist()
    for name in known:
        if name not in places:
            raise TableError(
                f"{folder}: {in_words(name)} is in its tables and not in {RUN}; compute the leaderboard again"
            )
    return np.array([places[name] for name in known], dtype=np.intp)[encoded.indices.to_numpy()]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def timing_table(board: Leaderboard) -> Any:
    """Return how long each job took (pyarrow Table)."""
    import pyarrow as pa

    none: list[Any] = []
    nothing = {"detector": none, "series": none, "steps": none, "seconds": none, "cached": none}
    return pa.table(nothing) if board.timings is None else board.timings


def chance_table(board: Leaderboard) -> Any:
    """Return what random scores reach (pyarrow Table): series, detector, metric, chance.

    The detector is null where all detectors of a series have the same level.
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

    detectors, series, runs, digests = (
        zip(*((*key, digest) for key, digest in board.digests.items()), strict=True)
        if board.digests
        else ((), (), (), ())
    )
    columns = {"detector": detectors, "series": series}
    columns |= {} if board.runs is None else {"run": runs}
    return pa.table({name: pa.array(column, pa.string()) for name, column in (columns | {"digest": digests}).items()})


def strings(codes: npt.NDArray[Any], names: Sequence[str], nulls: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return names by their numbers, as a column of texts; null where asked for."""
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=nulls)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())
