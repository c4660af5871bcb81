"""From a leaderboard to a page, or to a folder of a page and its data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
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


def embedded(name: str, content: str) -> str:
    """A block of JSON within the page; a browser runs no script of this type."""
    return f'<script type="application/json" id="{name}">{content}</script>'


def loaded(name: str, content: str) -> str:
    """A block of JSON as a script of its own, which a page opened from a disk may load where it may not fetch."""
    return f'patevalBlock("{name}", {content});\n'


def page(title: str, board: str, blocks: list[str], *, folder: bool = False) -> str:
    """Put a page together from the block that every view needs and further ones; in a folder more lie beside it."""
    return render_page(
        asset("page.html", PACKAGE),
        look=asset("look.css") + asset("style.css", PACKAGE),
        code=f"{join_modules()};",
        blocks="\n".join([embedded("board", board), *blocks]),
        scripts_from=" 'self' file:" if folder else "",
        title=title,
    )


def read_module(name: str) -> str:
    """Read a module of the page."""
    return asset(f"{name}.js", PACKAGE)


def join_modules(entry: str = "start", read: Callable[[str], str] = read_module) -> str:
    r"""Join a module and all it imports from, directly or not, into one expression, whose value is what it exports.

    Examples
    --------
    >>> modules = {"start": 'import { one } from "./numbers.js";\nshow(one);\n', "numbers": "export const one = 1;\n"}
    >>> print(join_modules("start", modules.__getitem__))
    (() => {
    "use strict";
    const numbers_module = (() => {
    const one = 1;
    return { one };
    })();
    const start_module = (() => {
    const { one } = numbers_module;
    show(one);
    return {};
    })();
    return start_module;
    })()
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
        unknown = sorted(set(_names(names)) - set(modules[source].exported))
        if unknown:
            raise ValueError(f"{name}.js imports {', '.join(unknown)} from {source}.js, which does not export that")
    exported = tuple(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {found[2]}_module;", text)).strip()
    left = _NOT_UNDERSTOOD.search(body)
    if left:
        raise ValueError(f"{name}.js has a line that is not understood here: {left[0]}")
    result = f"{{ {', '.join(exported)} }}" if exported else "{}"
    modules[name] = _Module(exported, f"const {name}_module = (() => {{\n{body}\nreturn {result};\n}})();")


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


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
    """Write the report of a leaderboard.

    Parameters
    ----------
    board : Leaderboard
        The numbers.
    path : path
        A file, or a folder where it ends in a slash or is one already.
    budget : float
        Megabytes that a single file may have.
    title : str
        What to call it.
    folder : Path, optional
        Where the leaderboard was read from; its inputs may lie beside it.
    by : {"length", "class"}, optional
        Also show each kind of event by itself (`Leaderboard.by_kind`).
    """
    if not budget > 0:
        raise ValueError(f"budget must be a positive number of megabytes; got {budget}")
    is_folder = os.fspath(path).endswith(("/", os.sep)) or Path(path).is_dir()
    return _Writing(board, title, Path(path), None if is_folder else budget * _MEGABYTE, folder, by).write()


def report_of_folder(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    budget: float = BUDGET,
    title: str | None = None,
    control: str | None = None,
    by: str | None = None,
) -> Written:
    """Write the report of a saved leaderboard; see `report_of_board`."""
    place = Path(folder)
    board = Leaderboard.load(place)
    board = board if control is None else board.against(control)
    return report_of_board(board, path, budget=budget, title=title or place.resolve().name, folder=place, by=by)


class _Writing:
    """A report in the making: blocks are made one by one, and each is held only in its packed form."""

    def __init__(
        self, board: Leaderboard, title: str, path: Path, budget: float | None, folder: Path | None, by: str | None
    ) -> None:
        self._board, self._title, self._path, self._budget = board, title, path, budget
        self._plan, self._problems = plan_of_inputs(board, folder)
        self._recordings: dict[str, Recording] = {}  # the first of each series
        self._missing: dict[str, str] = {}
        self._without = ""
        if board.measures is None:
            elsewhere = board.run.get("computed_elsewhere")
            came = "the values were computed elsewhere and came without scores"
            self._without = came if elsewhere else "a metric of one's own that it has cannot be imported here"
        if board.pooled:
            self._without = "all series were taken for one sample"
        self._left_out: list[str] = []
        self._beside: set[Path] = set()
        self._size = 0
        self._kinds = None if by is None else plain(board.by_kind(by).to_dict())

    def write(self) -> Written:
        """Write it."""
        if self._budget is None:
            (self._path / "data").mkdir(parents=True, exist_ok=True)
        ranked = () if self._board.pooled else self._board.metrics
        tests = {metric: self._board.significance(metric) for metric in ranked}
        metrics = {f"metric-{place}": safe_json(block) for place, block in enumerate(metric_blocks(self._board, tests))}
        series: dict[str, str] = {}
        for place, content in self._series_blocks():
            text = safe_json(content)
            if self._budget is None:
                self._write_beside(f"series-{place}", text)
                text = ""
            series[f"series-{place}"] = text
        board = board_block(self._board, tests, self._title, self._problems) | self._baselines()
        board |= {"kinds": self._kinds}
        if self._budget is None:
            for name, text in metrics.items():
                self._write_beside(name, text)
            metrics = {}
        else:
            self._leave_out(series, self._budget - self._size_without(board, metrics))
        board |= self._shown(series)
        target = self._path / "index.html" if self._budget is None else self._path
        blocks = [embedded(name, text) for name, text in (metrics | series).items() if text]
        whole = page(self._title, safe_json(board), blocks, folder=self._budget is None)
        write_text(whole, target)
        self._remove_others()
        return Written(
            target,
            self._size + len(whole.encode()),
            board["drilldowns_shown"],
            tuple(self._left_out),
            () if self._without else tuple(self._missing),
            self._without,
        )

    def _size_without(self, board: dict[str, Any], metrics: dict[str, str]) -> int:
        """Bytes of the page without any timeline, or an error where that alone is over the budget."""
        named = board | self._shown({}) | {"left_out": list(self._board.series)}
        whole = page(self._title, safe_json(named), [embedded(name, text) for name, text in metrics.items()])
        size = len(whole.encode())
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

    def _leave_out(self, series: dict[str, str], room: float) -> None:
        """Drop series until the rest fits, those first on which the detectors differ least."""
        sizes = {name: len(embedded(name, text).encode()) + 1 for name, text in series.items()}
        size = sum(sizes.values())
        for place in reversed(by_spread(self._board)):
            if size <= room:
                break
            name = f"series-{place}"
            if name in series:
                size -= sizes[name]
                del series[name]
                self._left_out.append(self._board.series[place])

    def _shown(self, series: dict[str, str]) -> dict[str, Any]:
        places = sorted(int(name.removeprefix("series-")) for name in series)
        return {
            "made": self._board.run.get("made") or datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "folder": self._budget is None,
            "drilldowns": places,
            "drilldowns_shown": len(places),
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

    def _write_beside(self, name: str, text: str) -> None:
        content = loaded(name, text)
        target = self._path / "data" / f"{name}.js"
        write_text(content, target)
        self._beside.add(target)
        self._size += len(content.encode())

    def _remove_others(self) -> None:
        """Remove data that an earlier report has left in the folder."""
        if self._budget is None:
            for pattern in ("metric-*.js", "series-*.js"):
                for path in set((self._path / "data").glob(pattern)) - self._beside:
                    path.unlink()
