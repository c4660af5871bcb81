"""Where figures are drawn, and how they are written: nothing is registered with pyplot."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io.atomic import replacing
from pateval.plots.styling import style, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".pdf", ".png", ".svg")
WIDTH = 6.6  # inches: the text width of most one-column papers


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
    if ax is not None:
        return ax
    made: Axes = panels(size=size)[0, 0]
    return made


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
    figure: Figure = ax.figure.figure  # the axes may lie in a part of the figure, whose figure is the whole
    return figure


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
    metadata: dict[str, Any] = {"Software": creator} if suffix == ".png" else {"Creator": creator}
    if suffix == ".svg":
        metadata["Date"] = None
    if suffix == ".pdf":
        metadata["CreationDate"] = None
    content = io.BytesIO()
    with style():
        figure_of(first).savefig(content, format=suffix[1:], metadata=metadata)
    with replacing(target) as draft:
        draft.write_bytes(content.getvalue())
    return target
