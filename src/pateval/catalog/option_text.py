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
from typing import Any

import numpy as np

from pateval.time.clocks import duration_text
from pateval.validation.wording import in_words

_CONSTANTS: dict[str, Any] = {"none": None, "true": True, "false": False}
_NOT_FINITE = ("nan", "inf", "infinity", "+inf", "-inf", "+infinity", "-infinity")
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+:/-]*")
_RANGE = re.compile(r"([+-]?\d+)\s*\.\.\s*([+-]?\d+)")
_RANGE_CALL = re.compile(r"range\((.*)\)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ID = re.compile(r"\s*(?P<name>[^()\s,=]+)\s*(?:\((?P<options>.*)\)\s*)?", re.DOTALL)
_LARGEST_RANGE = 1_000_000  # a longer one is a slip of the pen, and would fill the memory


def plain_value(value: Any) -> Any:
    """Return an option's value as plain Python: numbers, words and constants as they are, collections as tuples.

    Examples
    --------
    >>> import numpy as np
    >>> plain_value(range(3)), plain_value(np.float64(0.5)), plain_value({2, 1})
    ((0, 1, 2), 0.5, (1, 2))
    """
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
    items = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    parts = tuple(plain_value(item) for item in items)
    if any(isinstance(part, tuple) for part in parts):
        raise TypeError(f"an option must be a flat sequence; got {in_words(value)}")
    return parts


def value_text(value: Any) -> str:
    """Write a value in its one form.

    Examples
    --------
    >>> value_text((0, 100)), value_text(range(101)), value_text(2.0), value_text("tsb-ad"), value_text(None)
    ('[0,100]', '0..100', '2', 'tsb-ad', 'none')
    """
    value = plain_value(value)
    if not isinstance(value, tuple):
        return _scalar_text(value)
    return _range_text(value) or f"[{','.join(map(_scalar_text, value))}]"


def bare_text(value: Any) -> str:
    """Write a value as signatures do: as `value_text`, without brackets around two values or more.

    Examples
    --------
    >>> bare_text((0, 100)), bare_text((5,))
    ('0,100', '[5]')
    """
    text = value_text(value)
    several = isinstance(value, Iterable) and not isinstance(value, str) and len(plain_value(value)) > 1
    return text[1:-1] if several and text.startswith("[") else text


def read_value(text: str) -> Any:
    """Read a value in any spelling.

    Examples
    --------
    >>> read_value("(0, 100)"), read_value("0..3"), read_value("'original'"), read_value("0.2"), read_value("None")
    ((0, 100), (0, 1, 2, 3), 'original', 0.2, None)
    """
    text = text.strip()
    if not text:
        raise ValueError("a value is missing")
    inner = text[1:-1] if _CLOSING.get(text[0]) == text[-1] else None
    if inner is not None:
        parts = split_outside_brackets(inner)
        if len(parts) > 1 and not parts[-1]:
            parts.pop()  # (5,) is a sequence of one
        if parts == [""]:
            return ()
        return tuple(value for part in parts for value in _as_tuple(_read_item(part)))
    parts = split_outside_brackets(text)
    if len(parts) > 1:
        return tuple(value for part in parts for value in _as_tuple(_read_item(part)))
    return _read_item(text)


def split_outside_brackets(text: str) -> list[str]:
    """Split at commas that stand in no bracket and no quotes, and strip the parts.

    Examples
    --------
    >>> split_outside_brackets("pate(early=[0,100],delay=5), nab")
    ['pate(early=[0,100],delay=5)', 'nab']
    """
    parts, awaited, quote, begin, escaped = [], [], "", 0, False
    for place, character in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in _CLOSING:
            awaited.append(_CLOSING[character])
        elif character in ")]}":
            if not awaited or awaited.pop() != character:
                raise ValueError(f"{in_words(text)} has a {character!r} that closes nothing")
        elif character == "," and not awaited:
            parts.append(text[begin:place].strip())
            begin = place + 1
    if quote or awaited:
        raise ValueError(f"{in_words(text)} lacks a closing {quote or awaited[-1]!r}")
    return [*parts, text[begin:].strip()]


def read_id(text: str) -> tuple[str, dict[str, Any]]:
    """Take a metric id apart: its name, and its options with their values.

    Examples
    --------
    >>> read_id("pate( delay = 20, early=(0, 100) )")
    ('pate', {'delay': 20, 'early': (0, 100)})
    """
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


def id_text(name: str, options: Mapping[str, Any]) -> str:
    """Write a metric id.

    Examples
    --------
    >>> id_text("pate", {"early": (0, 100), "delay": 5}), id_text("pate", {})
    ('pate(early=[0,100],delay=5)', 'pate')
    """
    written = ",".join(f"{option}={value_text(value)}" for option, value in options.items())
    return f"{name}({written})" if written else name


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _range_text(values: tuple[Any, ...]) -> str:
    """Write three or more consecutive integers as ``first..last``; otherwise an empty text."""
    if len(values) < 3 or any(isinstance(value, bool) or not isinstance(value, int) for value in values):
        return ""
    consecutive = values == tuple(range(values[0], values[0] + len(values)))
    return f"{values[0]}..{values[-1]}" if consecutive else ""


def _scalar_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if not isinstance(value, str):
        return repr(value)
    try:
        is_plain = _WORD.fullmatch(value) is not None and _read_item(value) == value
    except ValueError:
        is_plain = False
    # A bar would end a field of a signature.
    return value if is_plain else json.dumps(value, ensure_ascii=False).replace("|", "\\u007c")


def _read_item(text: str) -> Any:
    """Read anything but a sequence in brackets."""
    if not text:
        raise ValueError("a value is missing")
    if text[0] in "'\"":
        return _read_quoted(text)
    lower = text.lower()
    if lower in _CONSTANTS:
        return _CONSTANTS[lower]
    if lower in _NOT_FINITE:
        return float(lower)
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    if match := _RANGE.fullmatch(text):
        return _integers(text, int(match[1]), int(match[2]) + 1)
    if match := _RANGE_CALL.fullmatch(text):
        limits = [part.strip() for part in match[1].split(",")]
        if not 1 <= len(limits) <= 3 or not all(_INTEGER.fullmatch(limit) for limit in limits) or limits[2:] == ["0"]:
            raise ValueError(f"{in_words(text)} is no range of integers")
        return _integers(text, *map(int, limits if len(limits) > 1 else ["0", *limits]))
    if _WORD.fullmatch(text):
        return text
    raise ValueError(f"{in_words(text)} is neither a number nor a word; put text with other characters in quotes")


def _read_quoted(text: str) -> str:
    try:
        read = json.loads(text) if text[0] == '"' else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        read = None
    if not isinstance(read, str):
        raise ValueError(f"{in_words(text)} is no text in quotes")
    return read


def _integers(text: str, start: int, stop: int, step: int = 1) -> tuple[int, ...]:
    values = range(start, stop, step)
    if not 0 < len(values) <= _LARGEST_RANGE:
        raise ValueError(f"{in_words(text)} must hold between one and {_LARGEST_RANGE:,} integers")
    return tuple(values)
