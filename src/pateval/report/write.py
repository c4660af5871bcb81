"""From a leaderboard to a page, or to a folder of a page and its data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pateval.io.atomic import write_text
from pateval.leaderboards import Leaderboard
from pateval.output.html import asset, render_page, safe_json
from pateval.output.results import Result
from pateval.output.text_table import plain
from pateval.report.blocks import audit_here, board_block, by_spread, constant_values, metric_blocks, series_block
from pateval.report.series_data import plan_of_inputs, read_series
from pateval.time.timelines import Recording

PACKAGE = "pateval.report"
BUDGET = 25.0
_MEGABYTE = 1_000_000
_IMPORT = re.compile(r'^import \{([^}]*)\}\s+from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_NOT_UNDERSTOOD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def page(title: str, board: str, blocks: Iterable[str], *, folder: bool = False) -> str:
    """Put a page together from the block that every view needs and further ones; in a folder more lie beside it."""
    return render_page(
        asset("page.html", PACKAGE),
        look=asset("look.css") + asset("style.css", PACKAGE),
        code=f"{join_modules()};",
        blocks="\n".join([_embedded("board", board), *blocks]),
        scripts_from=" 'self' file:" if folder else "",
        title=title,
    )


def _embedded(name: str, content: str) -> str:
    """A block of JSON within the page; a browser runs no script of this type."""
    return f'<script type="application/json" id="{name}">{content}</script>'


def _read_module(name: str) -> str:
    return asset(f"{name}.js", PACKAGE)


def join_modules(entry: str = "start", read: Callable[[str], str] = _read_module) -> str:
    """Join a module and all it imports from, directly or not, into one expression, whose value is what it exports.

    Each module becomes a function with a scope of its own, after those it imports from.
    """
    modules: dict[str, _Module] = {}
    _collect(entry, read, modules, ())
    body = "\n".join(module.text for module in modules.values())
    return f'(() => {{\n"use strict";\n{body}\nreturn {entry}_module;\n}})()'


class _Module(NamedTuple):
    exported: tuple[str, ...]
    text: str


def _collect(name: str, read: Callable[[str], str], modules: dict[str, _Module], importing: tuple[str, ...]) -> None:
    """Add a module after those it imports from."""
    if name in modules:
        return
    if name in importing:
        raise ValueError(f"modules import from each other in a circle: {' -> '.join((*importing, name))}")
    text = read(name)
    for names, source in _IMPORT.findall(text):
        _collect(source, read, modules, (*importing, name))
        unknown = sorted(set(names.replace(",", " ").split()) - set(modules[source].exported))
        if unknown:
            raise ValueError(f"{name}.js imports {', '.join(unknown)} from {source}.js, which does not export that")
    exported = tuple(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = \2_module;", text)).strip()
    left = _NOT_UNDERSTOOD.search(body)
    if left:
        raise ValueError(f"{name}.js has a line that is not understood here: {left[0]}")
    result = f"{{ {', '.join(exported)} }}" if exported else "{}"
    modules[name] = _Module(exported, f"const {name}_module = (() => {{\n{body}\nreturn {result};\n}})();")


@dataclass(frozen=True)
class Written(Result):
    """What became of a report.

    Attributes
    ----------
    path : Path
        The page.
    size : int
        Its bytes, with those of the data beside it.
    shown : int
        How many series can be opened up.
    left_out : tuple of str
        Series that did not fit.
    missing : tuple of str
        Series whose labels and scores are gone or have changed.
    without : str
        Why no series can be opened up, where the board itself has none; empty otherwise.
    """

    path: Path
    size: int
    shown: int
    left_out: tuple[str, ...]
    missing: tuple[str, ...]
    without: str = ""

    def sentence(self) -> str:
        """Say it in one line."""
        opened = f"no series to open, since {self.without}" if self.without else f"{self.shown} series to open"
        parts = [f"{self.path}: {self.size / _MEGABYTE:.1f} MB, {opened}"]
        if self.left_out:
            parts.append(f"{len(self.left_out)} left out to keep within the budget")
        if self.missing:
            parts.append(f"{len(self.missing)} without scores, or whose inputs are gone or have changed")
        return "; ".join(parts)


def report_of_board(
    board: Leaderboard,
    path: str | os.PathLike[str],
    *,
    budget: float = BUDGET,
    title: str = "Leaderboard",
    folder: Path | None = None,
    by: str | None = None,
) -> Written:
    """Write a report, as `Leaderboard.to_report` says; inputs may lie beside the folder the board was read from."""
    if not budget > 0:
        raise ValueError(f"budget must be a positive number of megabytes; got {budget}")
    is_folder = os.fspath(path).endswith(("/", os.sep)) or Path(path).is_dir()
    kinds = None if by is None else plain(board.by_kind(by).to_dict())
    return _Writing(board, Path(path), None if is_folder else budget * _MEGABYTE, folder).write(title, kinds)


def report_of_folder(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    control: str | None = None,
    **options: Any,
) -> Written:
    """Write the report of a saved leaderboard; see `report_of_board`."""
    place = Path(folder)
    board = Leaderboard.load(place)
    board = board if control is None else board.against(control)
    return report_of_board(board, path, title=title or place.resolve().name, folder=place, **options)


class _Writing:
    """A report in the making: blocks are made one by one, and each is held only in its packed form."""

    def __init__(self, board: Leaderboard, path: Path, budget: float | None, folder: Path | None) -> None:
        self._board, self._path = board, path
        self._budget = budget  # bytes; None for a folder
        self._plan, self._problems = plan_of_inputs(board, folder)
        self._recordings: dict[str, Recording] = {}  # the first of each series
        self._missing: dict[str, str] = {}  # why there is nothing to show of a series
        self._left_out: list[str] = []
        self._beside: dict[Path, int] = {}  # files beside the page, and their bytes
        self._without = ""
        if board.pooled:
            self._without = "all series were taken for one sample"
        elif board.run.get("computed_elsewhere") and board.measures is None:
            self._without = "the values were computed elsewhere and came without scores"
        elif board.measures is None:
            self._without = "a metric of one's own that it has cannot be imported here"

    def write(self, title: str, kinds: Any) -> Written:
        """Write it."""
        is_folder = self._budget is None
        if is_folder:
            (self._path / "data").mkdir(parents=True, exist_ok=True)
        ranked = () if self._board.pooled else self._board.metrics
        tests = {metric: self._board.significance(metric) for metric in ranked}
        metrics = [
            self._placed(f"metric-{place}", block) for place, block in enumerate(metric_blocks(self._board, tests))
        ]
        series = {place: self._placed(f"series-{place}", block) for place, block in self._series_blocks()}
        board = board_block(self._board, tests, title, self._problems) | self._baselines() | {"kinds": kinds}
        if self._budget is not None:
            self._leave_out(series, self._budget - self._size_without_series(title, board, metrics))
        board |= self._shown(series)
        blocks = filter(None, (*metrics, *series.values()))
        whole = page(title, safe_json(board), blocks, folder=is_folder)
        target = self._path / "index.html" if is_folder else self._path
        write_text(whole, target)
        if is_folder:
            self._remove_others()
        return Written(
            target,
            sum(self._beside.values()) + len(whole.encode()),
            len(series),
            tuple(self._left_out),
            () if self._without else tuple(self._missing),
            self._without,
        )

    def _placed(self, name: str, block: dict[str, Any]) -> str:
        """A block as it stands in the page; nothing where it is written beside the page."""
        text = safe_json(block)
        if self._budget is not None:
            return _embedded(name, text)
        # As a script of its own, which a page opened from a disk may load where it may not fetch.
        content, target = f'patevalBlock("{name}", {text});\n', self._path / "data" / f"{name}.js"
        write_text(content, target)
        self._beside[target] = len(content.encode())
        return ""

    def _size_without_series(self, title: str, board: dict[str, Any], metrics: list[str]) -> int:
        """Bytes of the page without any timeline, or an error where that alone is over the budget."""
        named = board | self._shown({}) | {"left_out": list(self._board.series)}
        size = len(page(title, safe_json(named), metrics).encode())
        if self._budget is not None and size > self._budget:
            raise ValueError(
                f"without any timeline the page takes {size / _MEGABYTE:.1f} MB, more than the budget of "
                f"{self._budget / _MEGABYTE:g} MB: write a folder (-o DIR/), raise the budget, or choose fewer metrics"
            )
        return size

    def _series_blocks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        places = {name: place for place, name in enumerate(self._board.series)}
        known = set()
        for data in () if self._plan is None else read_series(self._board, self._plan):
            known.add(data.name)
            block = series_block(self._board, data)
            if block is None:
                self._missing[data.name] = next(iter(data.missing.values()), "it has no scores")
            else:
                recording = next(iter(data.tracks.values())).recording
                # Scores are packed already, and need not stay in memory.
                self._recordings[data.name] = replace(recording, scores=None, predictions=None)
                yield places[data.name], block
        why = self._without or "its input is gone"
        self._missing |= {name: why for name in self._board.series if name not in known}

    def _leave_out(self, series: dict[int, str], room: float) -> None:
        """Drop series until the rest fits, those first on which the detectors differ least."""
        sizes = {place: len(text.encode()) + 1 for place, text in series.items()}
        size = sum(sizes.values())
        for place in reversed(by_spread(self._board)):
            if size <= room:
                break
            if place in series:
                size -= sizes[place]
                del series[place]
                self._left_out.append(self._board.series[place])

    def _shown(self, series: dict[int, str]) -> dict[str, Any]:
        return {
            "made": self._board.run.get("made") or datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "folder": self._budget is None,
            "drilldowns": sorted(series),
            "drilldowns_shown": len(series),
            "left_out": self._left_out,
            "missing": list(self._missing.items()),
            "budget": None if self._budget is None else self._budget / _MEGABYTE,
        }

    def _baselines(self) -> dict[str, Any]:
        measures = self._board.measures
        if measures is None or not self._recordings:
            return {"constant": None, "audit": None}
        return {
            "constant": constant_values(list(self._recordings.values()), measures),
            "audit": audit_here(self._recordings, measures),
        }

    def _remove_others(self) -> None:
        """Remove data that an earlier report has left in the folder."""
        for pattern in ("metric-*.js", "series-*.js"):
            for path in set((self._path / "data").glob(pattern)) - self._beside.keys():
                path.unlink()
