"""Files out, put in place whole or not at all: text, and Arrow tables as Parquet and CSV.

A file is written under a hidden name beside its target and then renamed over it, so that a reader, a crash or a full
disk never meets half a file.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pateval.io.content import arrow
from pateval.output.harmless import csv_cell


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a draft beside ``path`` to write to, and put it in place when the block ends without an error.

    What was there before stays until the new content is complete.

    Raises
    ------
    OSError
        If the draft cannot be written or renamed; the message names ``path``, also where the disk is full.
    """
    target = Path(path)
    # A device or a pipe takes what is written as it comes, and must not be replaced by a file.
    is_stream = target.exists() and not target.is_file()
    draft = target if is_stream else target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield draft
        if not is_stream:
            os.replace(draft, target)
    except OSError as error:
        # The error of a write names no file, and that of a rename the draft, which the user has never heard of.
        message = f"the file could not be written ({reason_of(error)}); {remedy_of(error)}"
        raise type(error)(error.errno, message, str(target)) from error
    finally:
        if not is_stream:
            draft.unlink(missing_ok=True)


def reason_of(error: OSError) -> str:
    """Say why the system refused to write, without numbers and paths."""
    # Arrow wraps the system's words in its own.
    return os.strerror(error.errno) if error.errno else error.strerror or str(error)


def remedy_of(error: OSError) -> str:
    """Say what helps where a file could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room there, or write to another place"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "ask for the right to write there, or write to another place"
    return "write to another place"


def write_text(content: str, path: str | os.PathLike[str]) -> None:
    """Write text in UTF-8, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(content, encoding="utf-8", newline="\n")


def write_parquet(parts: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write tables of one schema into one Parquet file, a row group each; equal tables give equal bytes."""
    pq = arrow("parquet", f"{path}: Parquet")
    with replacing(path) as draft:
        writer = None
        try:
            for part in parts:
                writer = writer or pq.ParquetWriter(draft, part.schema)
                writer.write_table(part)
        finally:
            if writer is not None:
                writer.close()


def write_csv(parts: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write tables of one schema, or columns by name, into one CSV file; missing and undefined values are empty."""
    with replacing(path) as draft, draft.open("wb") as file:
        for block in _csv_blocks(parts):
            file.write(block)


def as_csv(table: Any) -> str:
    """Return a table as CSV."""
    return b"".join(bytes(block) for block in _csv_blocks([table])).decode()


def _csv_blocks(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield the header, then the rows of each part as one block of bytes.

    The lines are put together by Arrow: a row-by-row writer takes fifteen times as long. (Arrow's own CSV writer puts
    quotes around every text and writes ``nan``.)
    """
    for number, part in enumerate(parts):
        if number == 0:
            names = part if isinstance(part, Mapping) else part.column_names
            yield f"{','.join(map(csv_cell, names))}\n".encode()
        if isinstance(part, Mapping):
            rows = zip(*(map(_csv_text, column) for column in part.values()), strict=True)
            yield "".join(f"{','.join(row)}\n" for row in rows).encode()
            continue
        pa, pc = arrow(), arrow("compute")
        for batch in part.to_batches(max_chunksize=1 << 16):
            cells = [_csv_column(column) for column in batch.columns]
            ends = pa.repeat(pa.scalar("\n"), batch.num_rows)
            joined = pc.binary_join_element_wise(*cells, ",")
            lines = pc.binary_join_element_wise(joined, ends, "")
            if batch.num_rows:
                # The texts of an Arrow column lie one after another in memory: together they are the file.
                offsets = memoryview(lines.buffers()[1]).cast("i")
                first, last = offsets[lines.offset], offsets[lines.offset + len(lines)]
                yield memoryview(lines.buffers()[2])[first:last]


def _csv_text(value: Any) -> str:
    if value is None or value != value:  # NaN differs from itself
        return ""
    return csv_cell(value) if isinstance(value, str) else str(value).removesuffix(".0")


def _csv_column(column: Any) -> Any:
    pa, pc = arrow(), arrow("compute")
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        names = pa.array([csv_cell(name) for name in encoded.dictionary.to_pylist()], pa.string())
        cells = pa.DictionaryArray.from_arrays(encoded.indices, names).cast(pa.string())
    elif pa.types.is_floating(column.type):
        cells = pc.if_else(pc.is_nan(column), None, column).cast(pa.string())
    elif pa.types.is_boolean(column.type):
        cells = pc.if_else(column, "True", "False")
    else:
        cells = column.cast(pa.string())
    return pc.fill_null(cells, "")
