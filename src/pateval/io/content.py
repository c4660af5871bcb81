"""The bytes of a file or of standard input: decompressed, decoded, and told apart by how they begin.

Every failure, here and wherever a table is read, is a `TableError`: one sentence that names the file and, where there
is one, the column. A pyarrow that cannot be imported counts as absent, and only Parquet and Arrow do not work.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
import zlib
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pateval.validation.wording import in_words, one_line, shortened

STANDARD_INPUT = "-"
PACKED = {".gz": "gzip", ".zst": "zstd"}
# How files begin, and what they are; spreadsheets and NPZ archives are both zip archives.
_MAGIC = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow"),
    (b"PK\x03\x04", "npz"),
    (b"\x93NUMPY", "npy"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_NAMES = {"parquet": "Parquet", "arrow": "Arrow", "npz": "NPZ", "npy": "NumPy"} | {
    kind: f"{kind} compressed" for kind in PACKED.values()
}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", ""),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_BEGINNING = 4096  # bytes that tell text from anything else
_NOT_SUPPORTED = re.compile(r"not (yet )?(built|supported|implemented)|unsupported|encrypted|password", re.IGNORECASE)
_MOST_UNPACKED = 4 * 10**8  # bytes; short rows take up eight times as much as columns
BYTES_OF_VALUE = 16  # of a column and an array made of it; metrics take several times as much
_MOST_GROWTH = 4  # times the size of a file that what it holds may take up in any case
_UNPACKED_VARIABLE = "PATEVAL_MOST_UNPACKED"


class TableError(ValueError):
    """A table cannot be read or lacks what is asked of it; the message is one sentence naming file and column."""


class NoScoresError(TableError):
    """A table has labels and no column that could be scores; what needs labels alone can go on."""


class NoRowsError(TableError):
    """A table has a header and nothing below it; a list of events may well be empty."""


class NoArrowError(TableError, ImportError):
    """Something needs pyarrow, which is not there; the message is one sentence that says what to install."""


def arrow(module: str = "", what: str = "this") -> Any:
    """Import pyarrow, or a module of it; where that is not possible the message begins with what needs it."""
    if fault := _fault():
        raise NoArrowError(f"{what} needs pyarrow, which {fault}")
    return import_module(f"pyarrow.{module}" if module else "pyarrow")


def has_arrow() -> bool:
    """Whether pyarrow can be imported."""
    return not _fault()


@cache
def _fault() -> str:
    """Say why pyarrow cannot be imported and which version can, or nothing where it can be."""
    # NumPy 2 came with pyarrow 16, and pyarrow 24 and later refuse NumPy 1.
    wanted = "'pyarrow>=16,<24'" if np.__version__.startswith("1.") else "'pyarrow>=16'"
    try:
        import_module("pyarrow")
    except Exception as error:  # an extension that was built for another NumPy raises anything
        if isinstance(error, ModuleNotFoundError) and error.name == "pyarrow":
            return f"is not installed; install it with: pip install {wanted}"
        beside = f"cannot be imported beside NumPy {np.__version__} ({one_line(error, 100)})"
        return f"{beside}; install one that can: pip install {wanted}"
    return ""


class Content(NamedTuple):
    """The bytes of a file, decompressed, what messages call it, and a line for each liberty taken in decoding it."""

    where: str
    data: bytes
    notes: tuple[str, ...] = ()
    stored: int = 0  # bytes of the file itself


def read_content(path: Path) -> Content:
    """Read a whole file, decompressed where its name says so; ``-`` is standard input."""
    if str(path) == STANDARD_INPUT:
        where, data = "standard input", sys.stdin.buffer.read()
        if not data:
            raise TableError(f"{where}: nothing came in; give a file, or pipe one in")
        packed = next((kind for kind in PACKED.values() if kind == begins_like(data)), None)
    else:
        require_readable(path)
        where, packed = str(path), PACKED.get(path.suffix.lower())
        try:
            data = path.read_bytes()
        except OSError as error:
            raise TableError(f"{path}: {reason(error)}") from error
    return Content(where, data if packed is None else _unpacked(where, data, packed), stored=len(data))


def require_readable(path: Path) -> None:
    """Raise TableError unless the file is there, may be read and is not empty."""
    try:
        with path.open("rb", buffering=0) as file:
            empty = not file.read(1)
    except OSError as error:
        raise TableError(f"{path}: {reason(error)}") from error
    if empty:
        raise TableError(f"{path}: the file is empty; write or fetch it again")


def reason(error: OSError) -> str:
    """Say in a few words why the system refused a file."""
    if error.errno in (errno.ENOENT, errno.ELOOP) and os.path.islink(error.filename or ""):
        return "it is a link to a file that is not there; make the link anew, or name the file itself"
    known = {
        FileNotFoundError: "there is no such file or folder",
        PermissionError: "no permission to read it; change its permissions, or copy it as its owner",
        IsADirectoryError: "it is a folder, not a file; name a file in it",
    }
    return known.get(type(error), error.strerror or str(error))


def begins_like(data: bytes) -> str | None:
    """Say which format data are in, by their first bytes: the name of a format or a compression, None for text."""
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def read_text(content: Content, kind: str, *, guess_encoding: bool = True) -> Content:
    """Turn content into UTF-8, and refuse what is no text.

    A mark at the beginning says which encoding it is in. Without one it is UTF-8, or, where that cannot be and may be
    guessed, cp1252, as Windows programs in western Europe write it.
    """
    where, data = content.where, content.data
    other = begins_like(data)
    if other is not None and not data.startswith(codecs.BOM_UTF16_LE):
        raise _other_content(where, kind, other)
    for mark, encoding, name in _MARKS:
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise damaged(where, f"{name or 'UTF-8'} text", error) from error
            return content._replace(data=text.encode(), notes=(f"{where}: read as {name}",) if name else ())
    try:
        data.decode()
    except UnicodeDecodeError as error:
        place = data.count(b"\n", 0, error.start) + 1
        if not guess_encoding:
            raise TableError(
                f"{where}: line {place} is not UTF-8, which {kind} is written in; write it again"
            ) from error
    else:
        if b"\x00" in data:
            line = data.count(b"\n", 0, data.index(b"\x00")) + 1
            raise TableError(
                f"{where}: line {line} holds a zero byte, so the file is damaged or UTF-16 without a mark; write it "
                f"again as UTF-8"
            )
        return content
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise TableError(
            f"{where}: line {place} is neither UTF-8 nor cp1252 text, so the file is damaged or in another encoding; "
            f"write it again as UTF-8"
        ) from None
    notes = (f"{where}: read as cp1252, since line {place} is not UTF-8",)
    return content._replace(data=text.encode(), notes=notes)


def damaged(where: Path | str, kind: str, error: Exception, data: bytes = b"") -> TableError:
    """Build the error for content that cannot be read as its suffix says, from its first bytes where they are known.

    Content of another format is called that; it is damaged only where it begins as it should.
    """
    other = begins_like(data) or ("text" if _is_text(data[:_BEGINNING]) else None)
    if other not in (None, kind):
        return _other_content(where, _NAMES[kind], str(other))
    detail = "".join(letter if letter.isprintable() else "?" for letter in " ".join(str(error).split()))
    # Libraries begin with the path, which is said already, and add sentences of advice.
    detail = detail.split(f"'{where}': ")[-1].split(". ")[0].rstrip(".")
    name, detail = _NAMES.get(kind, kind), shortened(detail, 160)
    if isinstance(error, MemoryError):
        return TableError(f"{where}: the {name} file does not fit into memory; write it in parts, or as Parquet")
    if isinstance(error, NotImplementedError) or _NOT_SUPPORTED.search(detail):
        return TableError(f"{where}: the {name} file uses something that is not read here ({detail}); write it without")
    return TableError(
        f"{where}: not a readable {name} file, perhaps truncated or damaged ({detail}); write or fetch it again"
    )


def _other_content(where: Path | str, kind: str, other: str) -> TableError:
    known = {"npz": "a zip archive or a spreadsheet", "text": "text"}
    name = known.get(other, f"in the format {other}")
    return TableError(f"{where}: the content is not {kind} but {name}; give the file the suffix of what it is")


def _is_text(beginning: bytes) -> bool:
    """Whether there is at least one whole line, and nothing but UTF-8."""
    lines = beginning.rpartition(b"\n")[0]
    try:
        return bool(lines.decode()) and b"\x00" not in lines
    except UnicodeDecodeError:
        return False


def require_bounded(where: Path | str, packed: int, unpacked: int) -> None:
    """Refuse what grows beyond a limit when it is decompressed; it would fill the memory."""
    limit = most_unpacked()
    if unpacked > limit:
        raise TableError(
            f"{where}: its {packed:,} bytes grow to more than {limit:,} when decompressed; decompress the file, or "
            f"raise the limit by {_UNPACKED_VARIABLE}={max(2 * limit // 10**9, 1)}GB in the environment"
        )


def require_fitting(where: Path | str, stored: int, values: int, needed: int | None = None) -> None:
    """Refuse a file of so many bytes with more values than fit, before they are read; a large file may hold more.

    What they take up in memory is the usual for each where it is not known better.
    """
    limit = max(most_unpacked(), _MOST_GROWTH * stored)
    needed = BYTES_OF_VALUE * values if needed is None else needed
    if needed > limit:
        what = f"{values:,} values" if values else "text and numbers"
        raise TableError(
            f"{where}: its {stored:,} bytes hold {what} that take up {needed:,} bytes in memory, more than "
            f"{limit:,}; read it in parts, or raise the limit by {_UNPACKED_VARIABLE}={-(-needed // 10**9)}GB in the "
            f"environment"
        )


def most_unpacked() -> int:
    """How many bytes compressed content may have, from the environment where that says so."""
    given = os.environ.get(_UNPACKED_VARIABLE, "")
    if not given:
        return _MOST_UNPACKED
    number = re.fullmatch(r"\s*(\d{1,9})\s*([MG]B)\s*", given, re.IGNORECASE)
    if number is None:
        raise TableError(f"{_UNPACKED_VARIABLE} must be a size such as 500MB or 8GB; got {in_words(given)}")
    return int(number[1]) * (10**6 if number[2].upper() == "MB" else 10**9)


def _unpacked(where: str, data: bytes, packed: str) -> bytes:
    import gzip

    most = most_unpacked()
    opened: Any = gzip.open
    if packed != "gzip":
        opened = partial(arrow(what=f"{where}: text compressed by {packed}").input_stream, compression=packed)
    try:
        with opened(io.BytesIO(data)) as stream:
            content = bytes(stream.read(most + 1))
    except (OSError, EOFError, ValueError, zlib.error) as error:  # those of Arrow are of these
        raise damaged(where, packed, error, data) from error
    require_bounded(where, len(data), len(content))
    return content
