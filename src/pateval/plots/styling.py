"""How figures look, where they are drawn and how they are written: nothing is set globally or registered with pyplot.

Colours differ in lightness as well as in hue, so that a figure survives a grey printer and colour-blind eyes; lines
also differ in their dashes, and what is missed is hatched.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from pateval.io.atomic import replacing
from pateval.validation.checked import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure
else:  # matplotlib is imported when the first figure is drawn
    Axes = Figure = Any

Thresholds = float | Mapping[str, float]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

SUFFIXES = (".pdf", ".png", ".svg")
WIDTH = 6.6  # inches: the text width of most one-column papers

INK = "#222222"
QUIET = "#6E6E6E"
PALE = "#E4E4E4"
EVENT = "#F0CFA6"
EVENT_MARK = "#BF6C0F"
MARK_HEIGHT = 0.035  # of a panel: the strip at its top that marks events
EARLY_ZONE = "#DCE8F4"
DELAYED_ZONE = "#EFEBF5"
DELAYED_HATCH = "#C6BBDB"
LEFT_OUT = "#D5D5D5"
ALARM = "#A8320A"
COLOUR_MAP = "cividis"  # lightness grows evenly, and it looks the same to red-green blind eyes

# One colour per category of `explain`. Sorted by lightness, neighbours lie at least ten units of CIE L* apart.
CATEGORY_COLOURS = {
    "true detection": "#0B3C6F",
    "outside": "#A8320A",
    "early": "#2F7DB8",
    "partly missed": "#E2851A",
    "delayed": "#93C9EA",
    "totally missed": "#F8E29C",
}
HATCH_COLOUR = "#4A3000"
CATEGORY_HATCHES = {"partly missed": "////", "totally missed": "xxxx"}


class LineStyle(NamedTuple):
    """Colour, dashes and marker of one curve."""

    colour: str
    dashes: Any  # what matplotlib takes as a line style: a word, or an offset with lengths on and off
    marker: str

    def line(self, *, marked: bool = False) -> dict[str, Any]:
        """What `matplotlib.axes.Axes.plot` takes for the curve, with markers where asked for."""
        return {"color": self.colour, "linestyle": self.dashes} | (self._markers(4) if marked else {})

    def points(self, size: float = 4) -> dict[str, Any]:
        """What it takes for points without a line, which may lie on the edge of the axes."""
        return {"color": self.colour, "linestyle": "none", "clip_on": False} | self._markers(size)

    def _markers(self, size: float) -> dict[str, Any]:
        edges = {"markeredgecolor": "white", "markeredgewidth": 0.5}
        return {"marker": self.marker, "markersize": size} | edges


# Curves that stand next to each other in a legend are far apart in lightness.
_LINES = (
    LineStyle("#0B3C6F", "solid", "o"),
    LineStyle("#C95F14", (0, (5, 1.5)), "s"),
    LineStyle("#74B6E0", (0, (5, 1.5, 1, 1.5)), "^"),
    LineStyle("#8E2A4D", (0, (2, 1)), "D"),
    LineStyle("#6DB38A", (0, (8, 2)), "v"),
    LineStyle("#5B3F94", (0, (5, 1.5, 1, 1.5, 1, 1.5)), "P"),
    LineStyle("#C9A227", (0, (3, 1, 1, 1)), "X"),
    LineStyle("#1A1A1A", (0, (1, 1)), "*"),
)

# Any: some releases of matplotlib type the keys as a list of words.
_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8A8A8A",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": "#8A8A8A",
    "ytick.color": "#8A8A8A",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "butt",
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    # Text stays text in vector files, and equal figures are equal bytes.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "pateval",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw with the style of this package; the settings that were there before come back at the end."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("figures need matplotlib, which is not installed: pip install 'pateval[plot]'") from None
    with matplotlib.rc_context(_SETTINGS):
        yield


def styled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a drawing function within `style`."""

    @wraps(function)
    def draw(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with style():
            return function(*args, **kwargs)

    return draw


_EVERY_FIGURE = {"Parameters": "ax : Axes, optional\n    Where to draw.", "Returns": "matplotlib.axes.Axes"}


def figure(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Draw within `style`, and say in the docstring what holds for every figure: where it is drawn, what it returns."""
    return documented(styled(function), _EVERY_FIGURE)


@styled
def panels(
    rows: int = 1,
    columns: int = 1,
    *,
    size: tuple[float, float] = (WIDTH, 3.2),
    heights: Sequence[float] | None = None,
    share_x: bool | str = False,
    share_y: bool | str = False,
) -> Any:
    """Empty axes in the style of the figures here, to draw several of them side by side.

    Parameters
    ----------
    rows, columns : int
        How many axes.
    size : tuple of float
        Width and height of the whole figure in inches.
    heights : sequence of float, optional
        Relative heights of the rows.
    share_x, share_y : bool or str
        As in `matplotlib.figure.Figure.subplots`: False, True, "row" or "col".

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        Rows by columns.

    Examples
    --------
    >>> from pateval import plots
    >>> axes = plots.panels(1, 2)
    >>> axes.shape
    (1, 2)
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure.subplots(
        rows,
        columns,
        squeeze=False,
        sharex=share_x,  # type: ignore[arg-type]  # the stubs list the words, we take any of them as text
        sharey=share_y,  # type: ignore[arg-type]  # likewise
        height_ratios=heights,
    )


def one_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure."""
    return panels(size=size)[0, 0] if ax is None else ax


def several_axes(
    ax: Axes | Sequence[Axes] | None, heights: Sequence[float], *, share_x: bool = True
) -> tuple[Axes, ...]:
    """The axes given, one per panel, or those of a new figure, stacked; heights are in inches."""
    if ax is None:
        return tuple(panels(len(heights), size=(WIDTH, sum(heights)), heights=heights, share_x=share_x)[:, 0])
    given = tuple(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != len(heights):
        raise ValueError(f"this figure needs {len(heights)} axes, one per panel; got {len(given)}")
    return given


def figure_of(ax: Axes) -> Figure:
    """The whole figure an axes belongs to."""
    return ax.figure.figure  # the axes may lie in a part of the figure, whose figure is the whole


def line_style(place: int) -> LineStyle:
    """Style of the curve at a place in the list; after eight, colours come again with dashes moved on by one."""
    turn, index = divmod(place, len(_LINES))
    moved = _LINES[(index + turn) % len(_LINES)]
    return LineStyle(_LINES[index].colour, moved.dashes, moved.marker)


def threshold_of(threshold: Thresholds | None, name: str) -> float | None:
    """The threshold of a detector, where there is one for all or one by name."""
    return threshold.get(name) if isinstance(threshold, Mapping) else threshold


def legend_above(ax: Axes, *rows: Sequence[Any], width: float | None = None) -> None:
    """Put the legend above the axes, where it covers no data, in as many columns as fit.

    Each row of artists stands on lines of its own; by default all of the axes that have a name. ``width`` in inches is
    the room for it, where long tick labels leave less than usual.
    """
    from matplotlib.lines import Line2D

    given = [row for row in rows or (ax.get_legend_handles_labels()[0],) if row]
    room = 72 * (width_in_inches(ax) if width is None else width)
    nothing = Line2D([], [], linestyle="none", label=" ")
    columns: list[tuple[Any, ...]] = []
    for count in range(max(map(len, given), default=0), 0, -1):
        lines = [row[first : first + count] for row in given for first in range(0, len(row), count)]
        columns = list(zip_longest(*lines, fillvalue=nothing))
        if _legend_width(columns) <= room:
            break
    if columns:
        ax.legend(
            handles=[handle for column in columns for handle in column],
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=len(columns),
            borderaxespad=0.2,
            columnspacing=1.4,
            handletextpad=0.5,
        )


def _legend_width(columns: Sequence[Sequence[Any]]) -> float:
    """Width of a legend in points, from the number of letters in its columns."""
    letters = [max(len(str(handle.get_label())) for handle in column) for column in columns]
    return 8 * sum(2.4 + 0.5 + 1.4 + 0.52 * count for count in letters)


def width_in_inches(ax: Axes) -> float:
    """Width of the axes, roughly: the figure's, shared by the columns, less the room for tick labels."""
    place = ax.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    return 0.86 * float(ax.figure.figure.get_figwidth()) / columns


def name_panel(ax: Axes, name: str, longest: int) -> None:
    """Name the vertical axis after a detector, in letters small enough for the longest name of all panels."""
    place = ax.get_subplotspec()
    height = float(ax.figure.figure.get_figheight())
    if place is not None:
        grid = place.get_gridspec()
        shares = np.asarray(grid.get_height_ratios(), dtype=np.float64)
        height *= float(shares[place.rowspan.start : place.rowspan.stop].sum() / shares.sum())
    size = min(9.0, 72 * 0.68 * height / (0.6 * max(longest, 5)))
    ax.set_ylabel(f"{name}\nscore", fontsize=max(size, 5.0))


def save(drawn: Axes | Sequence[Axes], path: str | os.PathLike[str], *, creator: str = "pateval") -> Path:
    """Write the figure of some axes as PDF, PNG or SVG, by suffix.

    Text stays text, and the same figure gives the same bytes: no date is written.

    Parameters
    ----------
    drawn : Axes, or several of one figure
        What a function of this package returned.
    path : path
        Where to; replaced in one step once the figure is complete.
    creator : str
        Who made it, kept in the file.

    Returns
    -------
    pathlib.Path
        The path.

    Raises
    ------
    ValueError
        If the suffix is none of .pdf, .png and .svg.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{target}: figures are written as {', '.join(SUFFIXES)}; got {target.suffix or 'no suffix'}")
    first = np.ravel(np.asarray(drawn, dtype=object))[0]
    metadata: dict[str, dict[str, Any]] = {
        ".png": {"Software": creator},
        ".svg": {"Creator": creator, "Date": None},
        ".pdf": {"Creator": creator, "CreationDate": None},
    }
    content = io.BytesIO()
    with style():
        figure_of(first).savefig(content, format=suffix[1:], metadata=metadata[suffix])
    with replacing(target) as draft:
        draft.write_bytes(content.getvalue())
    return target
