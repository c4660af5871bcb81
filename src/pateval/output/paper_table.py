r"""Tables for papers: LaTeX with the rules of booktabs, a row per detector and a column per metric.

The best of a column, in its direction, is bold and the second underlined; chance and rules without training stand in
rows of their own; marks say what is not above chance and who cannot be told apart; the caption says what all of that
means, and the signatures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pateval.output.harmless import Markup, latex_text
from pateval.validation.wording import in_words, listed

_CAPITALS = {"pate", "ap", "vus", "pr", "auc", "roc", "f1", "nab", "ucr", "tapr", "etapr", "ts", "auprc", "szcore"}


class PaperCell(NamedTuple):
    """A value of one detector."""

    value: float | None
    spread: tuple[float, ...] = ()  # the limits of an interval, or one standard deviation; empty where neither is known
    above_chance: bool | None = None
    letters: str = ""  # of the groups that are not told apart


class PaperColumn(NamedTuple):
    """What a column holds."""

    id: str  # what it is renamed by
    name: str  # as tables show it
    higher_is_better: bool
    cells: Sequence[PaperCell]
    chance: Sequence[float] = ()  # of the detectors, where it is known
    signature: str = ""
    decimals: int = 3
    rules: Mapping[str, float] = {}  # means of rules without training


def paper_table(
    detectors: Sequence[str],
    columns: Sequence[PaperColumn],
    *,
    names: Mapping[str, str] | None = None,
    caption: str,
    label: str = "",
    others: Sequence[str] = (),
    control: str = "",
) -> str:
    """Return the table with its caption.

    ``names`` says what detectors and columns are called in it; ``others`` are detectors with predictions or thresholds
    of their own, for whom the signatures hold but for these; ``control`` is who the letters compare all others with.
    """
    shown_as = dict(names or {})
    known = [*detectors, *(column.id for column in columns)]
    unknown = next((name for name in shown_as if name not in known), None)
    if unknown is not None:
        raise ValueError(f"there is no detector and no metric {in_words(unknown)} to rename; there are {listed(known)}")
    bodies = [list(_cells(column)) for column in columns]
    heads = [_head(column, shown_as.get(column.id)) for column in columns]
    rows = [
        [latex_text(shown_as.get(detector, detector)), *(body[place] for body in bodies)]
        for place, detector in enumerate(detectors)
    ]
    own = [latex_text(f"With predictions or thresholds of their own: {', '.join(others)}.")] if others else []
    against = rf" from {latex_text(shown_as.get(control, control))}" if control else ""
    beside = [["chance", *map(_chance, columns)]] if any(column.chance for column in columns) else []
    for rule in dict.fromkeys(name for column in columns for name in column.rules):
        means = (f"{column.rules[rule]:.{column.decimals}f}" if rule in column.rules else "" for column in columns)
        beside.append([latex_text(f"{rule} (rule)"), *means])
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption[{latex_text(caption)}]{{{latex_text(caption)}. {' '.join([*_legend(columns, against), *own])}}}",
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        _line(["detector", *heads]),
        r"\midrule",
        *map(_line, rows),
        *([r"\midrule", *map(_line, beside)] if beside else []),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join([r"% needs \usepackage{booktabs}", *lines])


def display_name(name: str) -> str:
    """Return a metric's name as papers write it.

    Examples
    --------
    >>> display_name("pate_ap"), display_name("point_f1 (oracle)"), display_name("pate(early=20,delay=20)")
    ('PATE-AP', 'Point F1 (oracle)', 'PATE (early=20,delay=20)')
    """
    stem = name[: min(name.find(mark) % (len(name) + 1) for mark in " (")]
    words = [word.upper() if word in _CAPITALS else word for word in stem.split("_")]
    shown = words[0][:1].upper() + words[0][1:]
    for before, word in pairwise(words):
        shown += f"-{word}" if before.isupper() and word.isupper() else f" {word}"
    rest = name[len(stem) :].strip()
    return f"{shown} {rest}" if rest else shown


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _head(column: PaperColumn, name: str | None) -> str:
    shown = latex_text(display_name(column.name) if name is None else name)
    return rf"{shown} $\{'up' if column.higher_is_better else 'down'}arrow$"


def _cells(column: PaperColumn) -> Iterator[Markup]:
    """The cells of a column as LaTeX; values that are printed alike share their place."""
    texts = ["" if cell.value is None else f"{cell.value:.{column.decimals}f}" for cell in column.cells]
    best, second, *_ = [*sorted({text for text in texts if text}, key=float, reverse=column.higher_is_better), "", ""]
    for cell, text in zip(column.cells, texts, strict=True):
        if not text:
            yield Markup("--")
            continue
        number = f"$-${text[1:]}" if text.startswith("-") else text
        shown = rf"\textbf{{{number}}}" if text == best else rf"\underline{{{number}}}" if text == second else number
        marks = cell.letters + ("*" if cell.above_chance is False else "")
        shown += rf"\textsuperscript{{{marks}}}" if marks else ""
        if len(cell.spread) == 2:
            low, high = (f"{limit:.{column.decimals}f}" for limit in cell.spread)
            shown += rf" {{\scriptsize [{low}, {high}]}}"
        elif cell.spread:
            shown += rf" {{\scriptsize $\pm$ {cell.spread[0]:.{column.decimals}f}}}"
        yield Markup(shown)


def _chance(column: PaperColumn) -> str:
    """What random scores reach; from the lowest to the highest where detectors have different levels."""
    texts = sorted({f"{level:.{column.decimals}f}" for level in column.chance}, key=float)
    return "" if not texts else texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _legend(columns: Sequence[PaperColumn], against: str) -> Iterator[str]:
    """What marks and figures mean, in sentences, and what was computed."""
    cells = [cell for column in columns for cell in column.cells]
    yield "Bold: best of a column; underlined: second."
    if any(len(cell.spread) == 2 for cell in cells):
        yield r"In brackets: limits of 95\,\%."
    if any(len(cell.spread) == 1 for cell in cells):
        yield r"$\pm$: standard deviation over series."
    if any(column.chance for column in columns):
        yield "chance: the mean of random scores."
    if any(column.rules for column in columns):
        yield "rule: needs no training."
    if any(cell.above_chance is False for cell in cells):
        yield "*: not above chance."
    if any(cell.letters for cell in cells):
        yield rf"Same letter: not told apart{against} (Wilcoxon-Holm, 5\,\%)."
    signatures = [column.signature for column in columns if column.signature]
    if signatures:
        # A signature is one long word: it may be broken behind its bars.
        texts = (latex_text(text).replace(r"\textbar{}", r"\textbar{}\allowbreak{}") for text in signatures)
        yield "Signatures: " + "; ".join(texts) + "."
