"""The door to pyarrow: where it cannot be imported it counts as absent, and only Parquet and Arrow do not work."""

from __future__ import annotations

import struct
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from pateval.io.content import BYTES_OF_VALUE, TableError
from pateval.validation.wording import one_line


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
    except ModuleNotFoundError as error:
        if error.name == "pyarrow":
            return f"is not installed; install it with: pip install {wanted}"
        reason = one_line(error, 100)
    except Exception as error:  # an extension that was built for another NumPy raises anything
        reason = one_line(error, 100)
    else:
        return ""
    return f"cannot be imported beside NumPy {np.__version__} ({reason}); install one that can: pip install {wanted}"


def size_in_memory(data: bytes, kind: str) -> tuple[int, int]:
    """How many values a table of Arrow or Parquet holds, and what they take up, before any of it is unpacked."""
    if kind == "parquet":
        known = arrow("parquet").read_metadata(arrow().BufferReader(data))
        groups = [known.row_group(place).total_byte_size for place in range(known.num_row_groups)]
        values, nbytes = known.num_rows * known.num_columns, sum(groups)
        return values, max(BYTES_OF_VALUE * values, nbytes)
    pa = arrow()
    # A file is a stream with something before and after it.
    stream = pa.py_buffer(data)[8:] if data.startswith(b"ARROW1") else pa.py_buffer(data)
    values = nbytes = 0
    with pa.ipc.open_stream(stream) as reader:
        columns = len(reader.schema)
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "record batch":
            rows, size = _size_of_batch(message.metadata.to_pybytes(), message.body)
            values, nbytes = values + rows * columns, nbytes + size
    return values, max(BYTES_OF_VALUE * values, nbytes)


def _size_of_batch(description: bytes, body: Any) -> tuple[int, int]:
    """Rows of a record batch, and its bytes where they are compressed, from its description, a flatbuffer."""

    def number(kind: str, place: int) -> int:
        return struct.unpack_from(f"<{kind}", description, place)[0]

    def field(table: int, which: int) -> int | None:
        """Where a field of a table lies, if it is there."""
        fields = table - number("i", table)
        offset = number("H", fields + 4 + 2 * which) if 4 + 2 * which < number("H", fields) else 0
        return table + offset if offset else None

    header = field(number("I", 0), 2)
    if header is None:
        return 0, 0
    batch = header + number("I", header)
    length, buffers, compression = field(batch, 0), field(batch, 2), field(batch, 3)
    size = 0
    if compression is not None and buffers is not None:
        first = buffers + number("I", buffers)
        for place in range(first + 4, first + 4 + 16 * number("I", first), 16):
            start, stored = number("q", place), number("q", place + 8)
            # Each buffer begins with its length; -1 is one that is not compressed.
            size += max(struct.unpack("<q", body[start : start + 8])[0], stored) if stored > 8 else 0
    return 0 if length is None else number("q", length), size
