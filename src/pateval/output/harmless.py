"""Text from users made harmless in each format: names of files, columns, detectors and series may hold anything.

The raw value is kept in Parquet and JSON; text for people and spreadsheets is written by these functions.
"""

from __future__ import annotations

import re

HIDDEN = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
"""Codes that command a terminal, lines that are none, text that runs the other way, and halves of characters.

Ranges as they stand between the brackets of a regular expression, here and in the scripts of a page.
"""
_HIDDEN_IN_CELL = re.compile(f"[{HIDDEN}]")
_HIDDEN_IN_TEXT = re.compile(f"(?!\n)[{HIDDEN}]")
_NUMBER = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+)?%?")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # After the end of a row a bracket would be read as the space to leave below it.
    "[": "{[}",
    # Two in a row would become a dash.
    "-": "-{}",
}


class Markup(str):
    """Markdown or LaTeX of our own, which is written as it is."""

    __slots__ = ()


def visible(text: str) -> str:
    """Show control codes, line ends and marks of direction as escapes."""
    return text if isinstance(text, Markup) else _HIDDEN_IN_CELL.sub(_escape, text)


def visible_lines(text: str) -> str:
    """Return text of several lines as `visible` does, with its line ends as they are."""
    return _HIDDEN_IN_TEXT.sub(_escape, text)


def visible_json(text: str) -> str:
    """Write the codes that JSON leaves as they are in the manner of JSON, so that its values stay the same."""
    return _HIDDEN_IN_TEXT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "backslashreplace").decode("ascii")


def csv_text(text: str) -> str:
    """Return a text as it stands in a CSV file: visible, and behind a quote where a spreadsheet would compute it.

    Examples
    --------
    >>> print(csv_text("lstm"), csv_text("=1+1"), csv_text("-"), csv_text("-5"))
    lstm '=1+1 - -5
    """
    shown = visible(text)
    is_formula = shown[:1] in ("=", "+", "-", "@") and len(shown) > 1 and not _NUMBER.fullmatch(shown)
    return f"'{shown}" if is_formula else shown


def csv_cell(text: str) -> str:
    """Return a text as a cell of a CSV file, in quotes where it needs them."""
    shown = csv_text(text)
    return '"' + shown.replace('"', '""') + '"' if "," in shown or '"' in shown else shown


def markdown_text(text: str) -> str:
    r"""Return a text as a cell of a Markdown table shows it: no tag, no link, no end of the cell.

    Examples
    --------
    >>> print(markdown_text("a|b"), markdown_text("<img src=x>"), markdown_text("[a](javascript:b)"))
    a\|b &lt;img src=x> [a\](javascript:b)
    >>> print(markdown_text("x <= 3 [0.1, 0.2]"), markdown_text(Markup("[a](b)")))
    x <= 3 [0.1, 0.2] [a](b)
    """
    if isinstance(text, Markup):
        return text.replace("|", r"\|")
    # A backslash before a mark would take what is written there for one that stands for itself.
    shown = re.sub(r"\\(?=[!-/:-@\[-`{-~])", r"\\\\", visible(text.strip()))
    shown = re.sub(r"&(?=#?\w+;)", "&amp;", shown)
    shown = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", shown)
    return re.sub(r"\](?=[(\[:])", r"\]", shown).replace("|", r"\|")


def latex_text(text: str) -> str:
    """Return a text as LaTeX shows it unchanged."""
    if isinstance(text, Markup):
        return text
    escaped = "".join(_LATEX.get(mark, mark) for mark in visible(" ".join(text.split())))
    return re.sub(r"-\{\}(?!-)", "-", escaped)  # a single hyphen, or the last, needs no help
