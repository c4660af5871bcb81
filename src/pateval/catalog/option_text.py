"""Options as text: how a value is written in a metric id or a signature, and how it is read back.

A value is a number, a word, ``none``, ``true``, ``false``, or a sequence of these: ``[0,100]``, or ``0..100`` for
consecutive integers. Reading is lenient (spaces, quotes, round brackets, ``range(101)``); writing has one form only.
"""

from __future__ import annotations

import ast
import datetime
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sized
from contextlib import suppress
from typing import Any

import numpy as np

from pateval.time.clocks import duration_text
from pateval.validation.wording import in_words

_CONSTANTS: dict[str, Any] = {"none": None, "true": True, "false": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?|nan", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+:/-]*")
_RANGE = re.compile(r"([+-]?\d+)\s*\.\.\s*([+-]?\d+)")
_ID = re.compile(r"\s*(?P<name>[^()\s,=]+)\s*(?:\((?P<options>.*)\)\s*)?", re.DOTALL)
_QUOTED = r"""\"(\\.|[^"\\])*"|'(\\.|[^'\\])*'"""
_PIECE = re.compile(rf"{_QUOTED}|(?P<quote>[\"'])|(?P<open>[(\[{{])|(?P<close>[)\]}}])|,")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LARGEST_RANGE = 1_000_000  # a longer one is a slip of the pen, and would fill the memory


def read_id(text: str) -> tuple[str, dict[str, Any]]:
    """Take a metric id apart: its name, and its options with their values."""
    match = _ID.fullmatch(text)
    if match is None:
        raise ValueError(f"{in_words(text)} is no metric id; write one like pate or pate(early=20,delay=20)")
    options: dict[str, Any] = {}
    inner = (match["options"] or "").strip()
    for part in split_outside_brackets(inner) if inner else []:
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise ValueError(
                f"the options of {in_words(text)} must be written name=value, with commas between; got {in_words(part)}"
            )
        if name in options:
            raise ValueError(f"{in_words(text)} gives the option {in_words(name)} twice")
        try:
            options[name] = read_value(value)
        except ValueError as error:
            raise ValueError(f"the option {in_words(name)} of {in_words(text)} cannot be read: {error}") from None
    return match["name"], options


def split_outside_brackets(text: str) -> list[str]:
    """Split at commas that stand in no bracket and no quotes, and strip the parts."""
    parts, awaited, begin = [], [], 0
    for piece in _PIECE.finditer(text):
        if piece["quote"]:
            raise ValueError(f"{in_words(text)} lacks a closing {piece['quote']!r}")
        if piece["open"]:
            awaited.append(_CLOSING[piece["open"]])
        elif piece["close"] and (not awaited or awaited.pop() != piece["close"]):
            raise ValueError(f"{in_words(text)} has a {piece['close']!r} that closes nothing")
        elif piece[0] == "," and not awaited:
            parts.append(text[begin : piece.start()].strip())
            begin = piece.end()
    if awaited:
        raise ValueError(f"{in_words(text)} lacks a closing {awaited[-1]!r}")
    return [*parts, text[begin:].strip()]


def read_value(text: str) -> Any:
    """Read a value in any spelling.

    Examples
    --------
    >>> read_value("(0, 100)"), read_value("0..3"), read_value("'original'"), read_value("0.2"), read_value("None")
    ((0, 100), (0, 1, 2, 3), 'original', 0.2, None)
    """
    text = text.strip()
    has_brackets = bool(text) and _CLOSING.get(text[0]) == text[-1]
    parts = split_outside_brackets(text[1:-1] if has_brackets else text)
    if not has_brackets and len(parts) == 1:
        return _read_item(text)
    if has_brackets and not parts[-1]:
        parts.pop()  # () is empty, and (5,) a sequence of one
    values = [_read_item(part) for part in parts]
    return tuple(item for value in values for item in (value if isinstance(value, tuple) else (value,)))


def _read_item(text: str) -> Any:
    """Read anything but a sequence in brackets."""
    if not text:
        raise ValueError("a value is missing")
    if text[0] in "'\"":
        with suppress(ValueError, SyntaxError):
            if isinstance(quoted := ast.literal_eval(text), str):
                return quoted
        raise ValueError(f"{in_words(text)} is no text in quotes")
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    if match := _RANGE.fullmatch(text):
        return _integers(text, range(int(match[1]), int(match[2]) + 1))
    if text.startswith("range(") and text.endswith(")"):
        try:
            return _integers(text, range(*map(int, text[6:-1].split(","))))
        except (ValueError, TypeError):
            raise ValueError(f"{in_words(text)} is no range of integers") from None
    if _WORD.fullmatch(text):
        return text
    raise ValueError(f"{in_words(text)} is neither a number nor a word; put text with other characters in quotes")


def _integers(text: str, values: range) -> tuple[int, ...]:
    if not values or values[_LARGEST_RANGE:]:  # its length may be more than an integer of the machine's
        raise ValueError(f"{in_words(text)} must hold between one and {_LARGEST_RANGE:,} integers")
    return tuple(values)


def plain_value(value: Any) -> Any:
    """Return an option's value as plain Python: numbers, words and constants as they are, collections as tuples."""
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return duration_text(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise ValueError(f"an option must be a number that a float can hold; got {in_words(value)}")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (Mapping, bytes)) or not isinstance(value, Iterable):
        raise TypeError(
            f"an option must be a number, a word, None, a truth value or a sequence of these; got {in_words(value)}"
        )
    if isinstance(value, Sized) and len(value) > _LARGEST_RANGE:
        raise ValueError(f"an option must hold at most {_LARGEST_RANGE:,} values; got {in_words(value)}")
    parts = tuple(plain_value(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value))
    if any(isinstance(part, tuple) for part in parts):
        raise TypeError(f"an option must be a flat sequence; got {in_words(value)}")
    return parts


def id_text(name: str, options: Mapping[str, Any]) -> str:
    """Write a metric id."""
    written = ",".join(f"{option}={value_text(value)}" for option, value in options.items())
    return f"{name}({written})" if written else name


def value_text(value: Any) -> str:
    """Write a value in its one form.

    Examples
    --------
    >>> value_text((0, 100)), value_text(range(101)), value_text(2.0), value_text("tsb-ad"), value_text(None)
    ('[0,100]', '0..100', '2', 'tsb-ad', 'none')
    """
    value = plain_value(value)
    if not isinstance(value, tuple):
        return _item_text(value)
    are_integers = len(value) > 2 and all(type(item) is int for item in value)
    if are_integers and value == tuple(range(value[0], value[0] + len(value))):
        return f"{value[0]}..{value[-1]}"
    return f"[{','.join(map(_item_text, value))}]"


def bare_text(value: Any) -> str:
    """Write a value as signatures do: as `value_text`, without brackets around two values or more."""
    text = value_text(value)
    several = isinstance(value, Iterable) and not isinstance(value, str) and len(plain_value(value)) > 1
    return text[1:-1] if several and text.startswith("[") else text


def _item_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if not isinstance(value, str):
        return repr(value)
    with suppress(ValueError):
        if _WORD.fullmatch(value) and _read_item(value) == value:
            return value
    return json.dumps(value, ensure_ascii=False).replace("|", "\\u007c")  # a bar would end a field of a signature
