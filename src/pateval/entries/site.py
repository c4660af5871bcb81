"""From entries to a site: the board, its report, a page for each entry, and a history of what changed and why.

All of it follows from the entries, the labels and the history so far: what was killed half-way and is started again
ends in the same bytes, but for how long it took, and where nothing is new no byte changes. Values that are known come
from the cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pateval.catalog.signatures import parse_signature
from pateval.entries.entry import Entry, read_entries, read_entry
from pateval.io import Reading, TableError
from pateval.io.atomic import write_text
from pateval.io.files import data_files, stem_of
from pateval.io.plan import make_plan
from pateval.leaderboards import Leaderboard, leaderboard
from pateval.leaderboards.board_files import RUN
from pateval.output.html import asset, render_page
from pateval.output.results import Result
from pateval.validation.wording import listed

HISTORY = "history.json"
PAGES = "entries"  # where in a site their pages are
_OF_WORK = ("computed", "from_cache", "seconds", "where")  # what run.json says of a computation, and not of the board


@dataclass(frozen=True)
class Built(Result):
    """What a build came to: the board, and the line that the history got; None where nothing changed."""

    board: Leaderboard
    news: Mapping[str, Any] | None


def objections(folder: Path, board: Leaderboard, labels: Path | None = None) -> Iterator[str]:
    """Say why an entry does not go with a board: other series, labels or options, definitions of another release.

    Where labels lie elsewhere and are not at hand, only the series are looked at.
    """
    entry = read_entry(folder)
    if labels is None and entry.data == entry.folder:
        series = {stem_of(path) for path in data_files(folder)}
    else:
        try:
            _require_own(entry, labels)
            new = board.add([str(entry.data)], overwrite=True, workers=1, **_reading(labels))
        except (TableError, ValueError, TypeError) as error:
            yield str(error)
            return
        place = new.detectors.index(entry.detector_name)
        series = {name for s, name in enumerate(new.series) if new.present[place, s]}
    lacking = [name for name in board.series if name not in series]
    others = sorted(series - {*board.series})
    if lacking:
        have = "has" if len(lacking) == 1 else "have"
        yield f"{folder}: {len(lacking)} of the board's {len(board.series)} series {have} no scores ({listed(lacking)})"
    if others:
        are = "is" if len(others) == 1 else "are"
        yield f"{folder}: {len(others)} series {are} not on the board ({listed(others)})"


def build(
    entries: Path,
    site: Path,
    *,
    labels: Path | None = None,
    private: Path | None = None,
    day: date | None = None,
    **options: Any,
) -> Built:
    """Evaluate all entries of a folder, and write the site.

    Parameters
    ----------
    entries, site : Path
        A folder with a folder for each entry, and where the site goes.
    labels : Path, optional
        Where labels lie, known to the organiser only: then nothing is published that they could be found from, and the
        board, which has a digest of each series' labels, goes to ``private``, outside of the site.
    private : Path, optional
        Where board and cache are kept; ``site/board`` by default.
    day : datetime.date, optional
        That of the history's new line; today by default.
    **options
        Keyword arguments of `pateval.leaderboard`: metrics, buffers, and so on.

    Raises
    ------
    TableError
        If an entry, or what was built before, has something wrong with it; then nothing was written but the cache.
    """
    private = private or site / "board"
    if labels is not None and private.resolve().is_relative_to(site.resolve()):
        raise TableError(f"{private}: the board would tell the labels held back; name a folder outside of {site}")
    if site.resolve().is_relative_to(entries.resolve()) or (site / PAGES).resolve() == entries.resolve():
        raise TableError(f"{site}: the site would lie among the entries; name a folder outside of {entries}")
    held = [name for name in ("index.html", "report.html", PAGES) if (site / name).exists()]
    if held and not (site / HISTORY).exists():
        raise TableError(f"{site}: the folder holds other things ({held[0]}), and no {HISTORY}; name another one")
    received = read_entries(entries)
    for entry in received:
        if (entry.data == entry.folder) != (labels is not None):
            raise TableError(
                f"{entry.folder}: scores lie in a file for each series where labels lie elsewhere (--labels), and "
                f"otherwise, with the labels, in one table called {entry.detector_name}.parquet, or another suffix"
            )
        _require_own(entry, labels)
    before = Leaderboard.load(private) if (private / RUN).is_file() else None
    history = _read_history(site / HISTORY, before)
    cache = private / "cache"
    board = leaderboard([str(entry.data) for entry in received], cache=cache, **_reading(labels), **options)
    differing = next((check.sentence for check in board.checks if check.code == "labels-differ"), None)
    if differing is not None:
        raise TableError(differing)
    if before is not None:
        known = _labels_by_series(before)
        if moved := [name for name, text in _labels_by_series(board).items() if known.get(name, text) != text]:
            raise TableError(
                f"{entries}: the labels of {len(moved)} series ({listed(moved)}) are not those that {private} was made "
                f"with; take them back, or build another site"
            )
    news = None
    if before is None and history:
        # A board that was being written when its build was killed; what it was to be is known.
        if history[-1]["after"] != _state(board):
            raise _other_history(site / HISTORY)
    elif before is not None and _state(before) == _state(board):
        board = _as_computed_before(board, before)
    else:
        news = {"day": (day or datetime.now(UTC).date()).isoformat(), **_news(before, board)}
        news["digest"] = _line_digest(news, history[-1]["digest"] if history else "")
        history = [*history, news]
    site.mkdir(parents=True, exist_ok=True)
    # First the history: where the board beside it is still the old one, the next build takes the line back.
    write_text(json.dumps(history, indent=1, ensure_ascii=False) + "\n", site / HISTORY)
    board.save(private, overwrite=True)
    _write_pages(site, board, received, history)
    shown = board if labels is None else _without_labels(board)
    shown = replace(shown, run={**shown.run, "made": history[-1]["day"]})
    shown.to_report(site / "report.html", title=entries.resolve().name)
    return Built(board, news)


def _require_own(entry: Entry, labels: Path | None) -> None:
    """Refuse scores of other detectors: a column may name any, those of other entries, too."""
    reading = Reading(label="label", score="score", defaults=True, **_reading(labels))
    detectors = make_plan([str(entry.data)], reading).detectors
    if detectors != (entry.detector_name,):
        raise TableError(
            f"{entry.data}: it has scores of {listed(detectors)}, and is to have those of {entry.detector_name} alone: "
            f"one column called score, and none that names detectors"
        )


def _reading(labels: Path | None) -> dict[str, Any]:
    """How entries are read: where labels lie elsewhere, each is a folder with a file for each series."""
    return {"layout": None if labels is None else "detector/series", "labels": labels}


def _without_labels(board: Leaderboard) -> Leaderboard:
    """A board whose report cannot show events, nor how long they are, since it does not know where they are."""
    told = {check.sentence for check in board.checks if check.code == "long-buffers"}
    checks = tuple(check for check in board.checks if check.sentence not in told)
    warnings = tuple(line for line in board.warnings if line not in told)
    run = {name: value for name, value in board.run.items() if name != "reading"}
    return replace(board, plan=None, run=run, checks=checks, warnings=warnings)


def _labels_by_series(board: Leaderboard) -> dict[str, str]:
    return dict(zip(board.series_table["series"], board.series_table["labels"], strict=True))


def _state(board: Leaderboard) -> str:
    """Digest of all that a board says: who, on what, by which definitions, with which values."""
    ids = sorted(board.signatures.items()), sorted(board.digests.items())
    facts = (board.detectors, board.series, board.metrics, *ids)
    return hashlib.sha256(repr(facts).encode() + np.ascontiguousarray(board.values).tobytes()).hexdigest()


def _read_history(path: Path, before: Leaderboard | None) -> list[dict[str, Any]]:
    """The lines so far, less one whose board was never written; refused where it is not the history of the board."""
    try:
        history = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        states = [(line["before"], line["after"]) for line in history]
        digests = [line["digest"] for line in history]
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path}: not the history that a build writes; take it from where the site is kept") from error
    if digests != [_line_digest(line, known) for line, known in zip(history, ["", *digests], strict=False)]:
        raise TableError(f"{path}: a line is not as it was written; take the history from where the site is kept")
    state = "" if before is None else _state(before)
    if states and states[-1][1] != state and states[-1][0] == state:
        return history[:-1]
    if before is not None and (not states or states[-1][1] != state):
        raise _other_history(path)
    return history


def _other_history(path: Path) -> TableError:
    return TableError(f"{path}: not the history of the board beside it; take both from where the site is kept")


def _as_computed_before(board: Leaderboard, before: Leaderboard) -> Leaderboard:
    """A board that says nothing new, with how long its values took when they were computed."""
    run = {**board.run, **{name: before.run[name] for name in _OF_WORK}}
    jobs = {**board.jobs, **{name: before.jobs[name] for name in ("seconds", "cached")}}
    beside = board.one_liners
    if beside is not None and before.one_liners is not None and beside.digests == before.one_liners.digests:
        beside = _as_computed_before(beside, before.one_liners)
    return replace(board, run=run, jobs=jobs, one_liners=beside)


def _line_digest(line: Mapping[str, Any], known: str) -> str:
    """Digest of a line of the history and of the one before, so that none can be changed or taken out unseen."""
    text = json.dumps({name: value for name, value in line.items() if name != "digest"}, sort_keys=True)
    return hashlib.sha256(f"{known}{text}".encode()).hexdigest()


def _news(before: Leaderboard | None, board: Leaderboard) -> dict[str, Any]:
    """What is new on a board: who came and went, and which means changed, by what."""
    known = () if before is None else before.detectors
    # One digest for all series: of a single one, labels could be tried out until they fit.
    labels = hashlib.sha256(repr(sorted(_labels_by_series(board).items())).encode()).hexdigest()
    return {
        "before": "" if before is None else _state(before),
        "after": _state(board),
        "entered": [name for name in board.detectors if name not in known],
        "left": [name for name in known if name not in board.detectors],
        "changed": [] if before is None else list(_changed(before, board)),
        "series": len(board.series),
        "metrics": list(board.metrics),
        "labels": labels,
    }


def _means(board: Leaderboard) -> dict[tuple[str, str], Any]:
    return {(row["detector"], row["metric"]): row["mean"] for row in board.summary_rows}


def _changed(before: Leaderboard, board: Leaderboard) -> Iterator[dict[str, Any]]:
    old = _means(before)
    for (detector, metric), mean in _means(board).items():
        if (detector, metric) in old and old[detector, metric] != mean:
            yield {
                "detector": detector,
                "metric": metric,
                "from": old[detector, metric],
                "to": mean,
                "by": _cause(before, board, detector, metric),
            }


def _cause(before: Leaderboard, board: Leaderboard, detector: str, metric: str) -> str:
    """Why a mean is another one: another definition or option, other scores, other series."""
    boards = (before, board)
    old, new = (parse_signature(each.own_signatures.get(detector, each.signatures)[metric]) for each in boards)
    options = [name for name in {**old, **new} if name != "pateval" and old.get(name) != new.get(name)]
    causes = [f"{name} {old.get(name)} became {new.get(name)}" for name in options]
    was, now = ({key[1:]: text for key, text in each.digests.items() if key[0] == detector} for each in boards)
    if was.keys() != now.keys():
        causes.append("other series or runs")
    elif was != now:
        causes.append("other scores")
    return "; ".join(causes) or f"pateval {old['pateval']} became {new['pateval']}"


def _write_pages(
    site: Path, board: Leaderboard, entries: Sequence[Entry], history: Sequence[Mapping[str, Any]]
) -> None:
    """Write the first page and one for each entry, and take away those of entries that left."""
    means = _means(board)
    by_name = {entry.detector_name: entry for entry in entries}
    rows = [
        (place, by_name[name], [means[name, metric] for metric in board.metrics])
        for place, name in enumerate(board.best_first(board.rank_by), start=1)
    ]
    facts: dict[str, Any] = {
        "metrics": board.metrics,
        "signatures": board.signatures,
        "history": history[::-1],
        "rows": rows,
        "series": len(board.series),
        "labels": history[-1]["labels"],
    }
    folder = site / PAGES
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.html"):
        if path.stem not in by_name:
            path.unlink()
    template, look = asset("site.html", "pateval.entries"), asset("look.css")
    pages = {site / "index.html": None, **{folder / f"{name}.html": entry for name, entry in by_name.items()}}
    for path, entry in pages.items():
        write_text(render_page(template, look=look, code="", blocks="", entry=entry, **facts), path)
