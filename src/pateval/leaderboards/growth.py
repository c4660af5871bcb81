"""Boards that grow: what is new is computed with only its own files at hand, and put beside what is there.

What comes out is the board that all files together give, whoever was added first: names are in one order, and whatever
hangs on all detectors, such as ranks, is made anew from the values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pateval.evaluation.files import binary_note
from pateval.evaluation.measures import Measures, Metrics
from pateval.io import Reading, TableError
from pateval.io.content import arrow
from pateval.io.plan import JobTable, merged_notes, unevenness
from pateval.leaderboards import diagnostics
from pateval.leaderboards.arrays import in_order
from pateval.leaderboards.board_files import RUN, already_there, doubt_of, file_digest
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.run import bare, make_board
from pateval.leaderboards.tasks import Settings
from pateval.output.text_table import plain
from pateval.validation.wording import in_words, listed, one_line


def add(
    board: Leaderboard,
    data: object,
    reading: Reading,
    *,
    metrics: Metrics = None,
    overwrite: bool = False,
    cache: str | os.PathLike[str] | None = None,
    where: object = "the leaderboard",
    **work: Any,
) -> Leaderboard:
    """Compute what is new as the board was computed, and put it beside what is there; see `Leaderboard.add`."""
    _require_jobs(board, where)
    settings = settings_of(board.run, board.detectors, where, measures=board.measures, metrics=metrics)
    if metrics is not None and (common := [name for name in settings.ids if name in board.metrics]):
        raise TableError(f"{where}: {listed(common)} is there already; name metrics that it lacks")
    for metric in settings.metrics:  # before anything is computed
        known = board.signatures.get(metric.id, "")
        if "|definition:" in known and f"|definition:{metric.definition}|" not in f"{known}|":
            raise TableError(
                f"{where}: {metric.id} is of another definition than here ({metric.definition}), {known}; compute the "
                f"leaderboard again from all files"
            )
    rank_by = board.rank_by if board.rank_by in settings.ids else settings.rank_by
    settings = replace(settings, rank_by=rank_by, cache=None if cache is None else os.fspath(cache))
    new = make_board(data, reading, settings, base=board, overwrite=overwrite, **work)
    return merge(board, new, overwrite=overwrite, names=(where, "what is added"))


def settings_of(
    run: Mapping[str, Any],
    detectors: Sequence[str],
    where: object,
    *,
    measures: Measures | None = None,
    metrics: Metrics = None,
    with_doubt: bool = True,
) -> Settings:
    """What was computed of some detectors, as run.json says, or the same for other metrics."""
    doubt = (run["doubt"] if with_doubt else None) or {"amount": None, "draws": 1, "metrics": ()}
    try:
        measures = measures or Measures.from_record(run["measures"])
        own = tuple((name, threshold) for name, threshold in measures.thresholds if name in detectors)
        measures = replace(measures, thresholds=own)
        doubted = {"doubt": doubt["amount"], "doubt_draws": doubt["draws"]}
        settings = Settings.of(measures, event_draws=run["event_draws"], **doubted)
    except (TypeError, ValueError, KeyError) as error:
        raise TableError(f"{where}: its metrics cannot be computed here: {one_line(error)}") from error
    if metrics is not None:
        measures = replace(measures, metrics=tuple(measures.find(metrics)))
        return Settings.of(measures, event_draws=run["event_draws"], **doubted)
    return replace(settings, event_metrics=tuple(run["event_metrics"]), doubt_metrics=tuple(doubt["metrics"]))


def grow(
    folder: Path, data: object, reading: Reading, *, overwrite: bool = False, control: str | None = None, **work: Any
) -> Leaderboard:
    """The board in a folder with what is new, not written yet; refused where others have added to it meanwhile."""
    before, board = file_digest(folder / RUN), Leaderboard.load(folder)
    grown = add(board, data, reading, overwrite=overwrite, where=folder, **work)
    if file_digest(folder / RUN) != before:
        raise TableError(f"{folder}: the leaderboard has changed meanwhile; run this again, finished work is kept")
    return grown if control is None else grown.against(control)


def merge(
    first: Leaderboard,
    second: Leaderboard,
    *,
    overwrite: bool = False,
    names: tuple[object, object] = ("the first leaderboard", "the second"),
) -> Leaderboard:
    """Put two boards together, or refuse where they do not go together; see `Leaderboard.merge`."""
    boards = first, second
    for board, name in zip(boards, names, strict=True):
        _require_jobs(board, name)
    for sentence in _objections(first, second, overwrite=overwrite):
        raise TableError(f"{names[0]}: {names[1]} does not go with it: {sentence}")
    jobs = _joined_jobs(first, second)
    series = {row["series"]: row for board in (second, first) for row in diagnostics.rows_of(board.series_table)}
    axes = (
        in_order([*first.detectors, *second.detectors]),
        in_order([*first.series, *second.series]),
        tuple(dict.fromkeys([*first.metrics, *second.metrics])),
    )
    settings = _settings(first, second, several=len(axes[1]) > 1)
    own_signatures: dict[str, Mapping[str, str]] = {}
    for part in boards:
        own_signatures |= {name: {**own_signatures.get(name, {}), **own} for name, own in part.own_signatures.items()}
    # What both have is that of the second.
    replaced = tuple(f"detector {detector!r}, series {series!r}" for detector, series, _ in second.digests)
    failures = [line for line in first.failures if not (replaced and line.startswith(replaced))]
    board = Leaderboard.of_cells(
        _concatenated([part.score_table(chance=True) for part in boards]),
        {**first.facts, **second.facts},
        axes=axes,
        rank_by=first.rank_by,
        signatures={**second.signatures, **first.signatures},
        own_signatures={name: own_signatures[name] for name in axes[0] if name in own_signatures},
        measures=settings.measures,
        intervals={} if len(axes[1]) > 1 else {**first.intervals, **second.intervals},
        jobs=jobs,
        series_table=diagnostics.series_table([series[name] for name in axes[1] if name in series]),
        failures=tuple(dict.fromkeys([*failures, *second.failures])),
        run=_record(first, second, settings, units=len(jobs["detector"])),
    )
    if first.doubt is not None and second.doubt is not None:
        moved = _concatenated([part.doubt.value_table(part.series) for part in boards if part.doubt is not None])
        board = replace(board, doubt=doubt_of(moved, board.run["doubt"], board))
    beside = first.one_liners or second.one_liners
    if first.one_liners is not None and second.one_liners is not None:
        of_both = "the one-liners", "those of the other"
        beside = bare(merge(first.one_liners, second.one_liners, overwrite=True, names=of_both))
    differing = dict.fromkeys(check for part in boards for check in part.checks if check.code == "labels-differ")
    board = diagnostics.with_checks(replace(board, one_liners=beside), differing, settings.measures)
    derived = [_derived_notes(part) for part in boards]
    of_reading = [note for part, known in zip(boards, derived, strict=True) for note in part.notes if note not in known]
    return replace(board, notes=(*merged_notes(of_reading), *_derived_notes(board)))


def _derived_notes(board: Leaderboard) -> list[str]:
    """What the notes say of all detectors together; the others are on how files were read."""
    columns = _with_runs(board.jobs)
    runs = in_order(columns["run"])
    codes: dict[str, Any] = {}
    for name, axis in (("detector", board.detectors), ("series", board.series), ("run", runs)):
        places = {text: place for place, text in enumerate(axis)}
        codes[f"{name}_code"] = np.array([places[text] for text in columns[name]])
    steps = np.array(columns["steps"])
    rows: dict[str, Any] = dict.fromkeys(("source", "score", "start", "stop"), np.zeros_like(steps))
    jobs = JobTable(board.detectors, board.series, runs, ("",), **codes, **rows, steps=steps)
    missing = "error" if board.measures is None else board.measures.missing
    return [*unevenness(jobs), *binary_note(board.predicting), *diagnostics.left_out_lines(columns, missing)]


def _require_jobs(board: Leaderboard, name: object) -> None:
    if board.run.get("computed_elsewhere"):
        raise TableError(f"{name}: its values were computed elsewhere, and how is not known, so nothing can be added")
    if board.pooled:
        raise TableError(f"{name}: a pooled leaderboard does not grow; compute it again from all files")
    if not board.jobs or not board.series_table or board.measures is None:
        raise TableError(f"{name}: how its values were computed is not known here; compute it again from all files")


def _objections(first: Leaderboard, second: Leaderboard, *, overwrite: bool) -> Iterator[str]:
    """Say why two boards do not go together: criteria in the order in which they matter."""
    old, new = (plain(dict(board.run)) for board in (first, second))
    for name, value in old["measures"].items():
        if name not in ("metrics", "thresholds", "not_pooled") and new["measures"][name] != value:
            yield f"{name} is {in_words(new['measures'][name])} instead of {in_words(value)}"
    doubts = [{**(run["doubt"] or {}), "metrics": None} for run in (old, new)]
    if doubts[0] != doubts[1]:
        yield "labels are in doubt in another way"
    for metric in [metric for metric in first.metrics if metric in second.metrics]:
        texts = [board.signatures[metric].rpartition("|")[0] for board in (first, second)]
        if texts[0] != texts[1]:
            yield f"{metric} is measured otherwise or of another definition, {texts[1]} instead of {texts[0]}"
    yield from diagnostics.other_series(first, diagnostics.jobs_of(second))
    for name in sorted({*first.detectors} & {*second.detectors}):
        if (name in first.predicting) != (name in second.predicting):
            yield f"detector {in_words(name)} has scores of 0 and 1 only in one of them"
    if {*first.metrics} != {*second.metrics}:
        if common := [metric for metric in second.metrics if metric in first.metrics]:
            yield f"{listed(common)} is there already; other metrics can be added, alone and for all detectors"
        if first.digests != second.digests:
            yield "metrics are added for all detectors and series at once, with the same files"
    elif not overwrite:
        yield from already_there(first, second.digests)
    yield from _new_runs(first, second)


def _new_runs(first: Leaderboard, second: Leaderboard) -> Iterator[str]:
    """What is a mean over the runs of a detector cannot take in another run."""
    runs = [{(detector, run) for detector, _, run in board.digests} for board in (first, second)]
    common = {detector for detector, _ in runs[0]} & {detector for detector, _ in runs[1] - runs[0]}
    has_means = first.doubt is not None or first.intervals or common & {*first.own_signatures}
    if common and has_means:
        yield (
            f"{listed(sorted(common))} has other runs, and the limits, chance or moved labels of the leaderboard are "
            f"means over runs; compute the leaderboard again from all files"
        )


def _joined_jobs(first: Leaderboard, second: Leaderboard) -> dict[str, list[Any]]:
    """The jobs of both, less those of the first that the second has, too, by detector, series and run."""
    tables = [_with_runs(board.jobs) for board in (first, second)]
    keys = ("detector", "series", "run")
    rows = {tuple(row[name] for name in keys): row for table in tables for row in diagnostics.rows_of(table)}
    if {*first.metrics} != {*second.metrics}:  # how long it took is what both took
        for row in diagnostics.rows_of(tables[0]):
            rows[tuple(row[name] for name in keys)]["seconds"] += row["seconds"]
    orders = [{name: place for place, name in enumerate(in_order(key[axis] for key in rows))} for axis in range(3)]
    chosen = sorted(rows, key=lambda key: [order[name] for order, name in zip(orders, key, strict=True)])
    columns = {name: [rows[key].get(name) for key in chosen] for name in tables[0]}
    if not any(columns["run"]):
        del columns["run"]
    return columns


def _with_runs(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    return {
        "detector": columns["detector"],
        "series": columns["series"],
        "run": [""] * len(columns["series"]),
        **columns,
    }


def _concatenated(tables: Sequence[Any]) -> Any:
    """Tables below each other; where one has no runs, and another has, its runs have no name."""
    pa = arrow()
    if any("run" in table.column_names for table in tables):
        tables = [
            table
            if "run" in table.column_names
            else table.append_column("run", pa.array([""] * len(table), pa.string()))
            for table in tables
        ]
    return pa.concat_tables(tables, promote_options="default").combine_chunks()


def _settings(first: Leaderboard, second: Leaderboard, *, several: bool) -> Settings:
    """What was computed of both: the metrics and thresholds of either, and otherwise what they have in common."""
    old, new = (settings_of(board.run, board.detectors, "it", measures=board.measures) for board in (first, second))
    known = {**new.measures.by_id, **old.measures.by_id}
    metrics = tuple(known[name] for name in dict.fromkeys([*old.ids, *new.ids]))
    thresholds = dict.fromkeys([*old.measures.thresholds, *new.measures.thresholds])
    return replace(
        old,
        measures=replace(old.measures, metrics=metrics, thresholds=tuple(thresholds)),
        event_draws=0 if several else old.event_draws,
        event_metrics=tuple(dict.fromkeys([*old.event_metrics, *new.event_metrics])),
        doubt_metrics=tuple(dict.fromkeys([*old.doubt_metrics, *new.doubt_metrics])),
    )


def _record(first: Leaderboard, second: Leaderboard, settings: Settings, *, units: int) -> dict[str, Any]:
    """What run.json says of how both were made, and of where their inputs are."""
    old, new = (plain(dict(board.run)) for board in (first, second))
    directory = old["reading"]["directory"]
    new = _anchored(new) if new["reading"]["directory"] != directory else new
    again = list(_inputs_as_read(new))  # a file may be read twice, for other columns
    kept = [place for place, known in enumerate(_inputs_as_read(old)) if known not in again]
    readings = old["reading"], new["reading"]
    shift = len(readings[0]["layouts"])
    reading = {
        "directory": directory,
        "event_files": list(dict.fromkeys(path for reading in readings for path in reading["event_files"])),
        "layouts": [layout for reading in readings for layout in reading["layouts"]],
        "layout_of_input": [
            *(readings[0]["layout_of_input"][place] for place in kept),
            *(number + shift for number in readings[1]["layout_of_input"]),
        ],
    }
    return {
        **new,
        "inputs": [*(old["inputs"][place] for place in kept), *new["inputs"]],
        "reading": reading,
        **settings.record(),
        "units": units,
        **{name: old[name] + new[name] for name in ("computed", "from_cache", "failed")},
        "seconds": round(old["seconds"] + new["seconds"], 3),
    }


def _inputs_as_read(run: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each input with how it was read."""
    reading = run["reading"]
    for path, number in zip(run["inputs"], reading["layout_of_input"], strict=True):
        yield path, reading["layouts"][number]


def _anchored(run: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose relative paths say where they are, since the board beside it was computed elsewhere."""
    folder = Path(run["reading"]["directory"])

    def anchored(path: Any) -> Any:
        return str(folder / path) if isinstance(path, str) and (folder / path).exists() else path

    layouts = []
    for layout in run["reading"]["layouts"]:
        moved = {**layout, "labels_folder": anchored(layout["labels_folder"])}
        for name in ("events", "ignored"):
            if moved[name] is not None:
                moved[name] = {**moved[name], "where": anchored(moved[name]["where"])}
        layouts.append(moved)
    files = [anchored(path) for path in run["reading"]["event_files"]]
    reading = {**run["reading"], "layouts": layouts, "event_files": files}
    return {**run, "inputs": [anchored(path) for path in run["inputs"]], "reading": reading}
