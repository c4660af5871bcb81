"""Parquet in: files opened but not read, then read row group by row group through ``pyarrow.dataset``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from pateval.io.content import damaged
from pateval.io.source import (
    kind_of_arrow,
    missing_column,
    numpy_column,
    refuse_repeated,
    require_readable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_BATCH_ROWS = 1 << 17


class RowGroup(NamedTuple):
    """Rows ``[start, stop)`` of a source that are stored, and so read, together."""

    start: int
    stop: int
    piece: int
    number: int


@dataclass(frozen=True)
class ParquetFiles:
    """One Parquet file, or the files of a partitioned folder in path order, opened but not read.

    It can be pickled; a footer is read once for each process that uses it. Each file comes with the constant columns
    its folders name (``detector=lstm/...``). Where some files of a folder were chosen, ``first_row`` is where they
    begin in it, for messages.
    """

    name: str
    pieces: tuple[tuple[Path, dict[str, str]], ...]
    where: str
    notes: tuple[str, ...] = ()
    first_row: int = 0

    from_file: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        """Number of rows in all pieces."""
        return self.row_groups[-1].stop if self.row_groups else 0

    @cached_property
    def fragments(self) -> list[Any]:
        """The files as fragments of a ``pyarrow.dataset``, with their footers."""
        return [_fragment(path) for path, _ in self.pieces]

    @cached_property
    def row_groups(self) -> list[RowGroup]:
        """All row groups in order, with the rows they hold."""
        groups: list[RowGroup] = []
        start = 0
        for piece, fragment in enumerate(self.fragments):
            for number, group in enumerate(fragment.row_groups):
                groups.append(RowGroup(start, start + group.num_rows, piece, number))
                start += group.num_rows
        return groups

    def locate(self, start: int, stop: int) -> tuple[str, int]:
        """Return the file that holds some rows, for messages, and the number of the first of them in it.

        Rows that lie in several files are counted through the whole folder.
        """
        groups = self._overlapping(start, stop)
        numbers = {group.piece for group in groups}
        if len(numbers) == 1 and len(self.pieces) > 1:
            (piece,) = numbers
            begin = next(group.start for group in self.row_groups if group.piece == piece)
            return str(self.pieces[piece][0]), start - begin
        return self.where, start + self.first_row

    def kinds(self) -> dict[str, str]:
        """Say of each column what it holds: ``number``, ``text``, ``time`` or ``other``."""
        path, constants = self.pieces[0]
        schema = self.fragments[0].physical_schema
        refuse_repeated(schema.names, path)
        return {field.name: kind_of_arrow(field.type) for field in schema} | dict.fromkeys(constants, "text")

    def stored_bytes(self, names: Sequence[str], start: int, stop: int) -> int:
        """Return how many bytes the columns take up in the row groups that overlap ``[start, stop)``."""
        wanted = set(names)
        total = 0
        for group in self._overlapping(start, stop):
            stored = self.fragments[group.piece].metadata.row_group(group.number)
            columns = (stored.column(place) for place in range(stored.num_columns))
            total += sum(column.total_compressed_size for column in columns if column.path_in_schema in wanted)
        return total

    def batches(
        self, names: Sequence[str], start: int = 0, stop: int | None = None, *, encoded: bool = False
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (row number of the first row, columns) for the row groups that overlap ``[start, stop)``.

        Only the columns asked for are read, each byte of them once, and decoded a batch at a time. ``encoded`` yields
        Arrow's arrays, with texts as numbers into a dictionary, which costs a tenth where texts repeat.
        """
        import pyarrow as pa
        from pyarrow import dataset

        # Without these a scan reads ahead over several row groups, in threads that workers do not want.
        options = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        for piece, (path, constants) in enumerate(self.pieces):
            chosen = [group for group in self._overlapping(start, stop) if group.piece == piece]
            if not chosen:
                continue
            fragment = self.fragments[piece]
            stored = [name for name in names if name not in constants]
            schema = fragment.physical_schema
            absent = [name for name in stored if name not in schema.names]
            if absent:
                raise missing_column(str(path), absent[0], schema.names)
            plain_texts = [name for name in stored if _is_plain_text(schema.field(name).type)]
            if encoded and plain_texts:
                fragment = _fragment(path, texts=plain_texts)
            at = chosen[0].start
            try:
                for batch in fragment.subset(row_group_ids=[group.number for group in chosen]).to_batches(
                    columns=stored, batch_size=_BATCH_ROWS, use_threads=False, fragment_scan_options=options
                ):
                    columns: dict[str, Any] = {
                        name: batch.column(name) if encoded else numpy_column(batch.column(name)) for name in stored
                    }
                    columns |= {name: np.full(batch.num_rows, constants[name]) for name in names if name in constants}
                    yield at, columns
                    at += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise damaged(path, "parquet", error) from error

    def _overlapping(self, start: int, stop: int | None) -> list[RowGroup]:
        return [group for group in self.row_groups if group.stop > start and (stop is None or group.start < stop)]

    def __getstate__(self) -> dict[str, Any]:
        # Footers stay behind: they are larger than the files' names, and each process reads its own.
        return {name: self.__dict__[name] for name in ("name", "pieces", "where", "notes", "first_row")}


def _is_plain_text(type_: Any) -> bool:
    return kind_of_arrow(type_) == "text" and not hasattr(type_, "value_type")


def _fragment(path: Path, texts: Sequence[str] = ()) -> Any:
    """Open a Parquet file, or say in one line why not."""
    import pyarrow as pa
    from pyarrow import dataset, fs

    require_readable(path)
    kind = dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(dictionary_columns=texts))
    try:
        fragment = kind.make_fragment(str(path), filesystem=fs.LocalFileSystem())
        fragment.ensure_complete_metadata()
    except (pa.ArrowException, OSError, ValueError) as error:
        with path.open("rb") as file:
            raise damaged(path, "parquet", error, file.read(1 << 12)) from error
    return fragment
