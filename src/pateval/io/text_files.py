"""Text tables in: commas, semicolons, tabs or blanks between the cells, a decimal comma, comment lines."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

from pateval.io.content import Text
from pateval.io.source import Column, TableError, damaged, numpy_column, refuse_repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLE = 1 << 16  # bytes at the beginning that tell how a file is written
_SAMPLE_LINES = 50
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


def read_text_table(text: Text, usual: str) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Read a table with a header; what is not as usual is announced.

    Parameters
    ----------
    text : Text
        The file, as UTF-8.
    usual : str
        What is expected between the cells by the suffix; blank where the suffix does not say.

    Returns
    -------
    columns : dict
    notes : tuple of str
        One line for each liberty taken.
    """
    where, notes = text.where, list(text.notes)
    data, comments = _without_comments(text.data)
    if comments:
        notes.append(f"{where}: {comments} comment line{'s' if comments > 1 else ''} left out")
    lines = _first_lines(data)
    if not lines:
        raise TableError(f"{where}: there are no rows; at least one time step is needed")
    delimiter = _delimiter(lines, usual)
    if delimiter == " ":
        data = re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", data)
        data = re.sub(rb"[ \t]+", b"\t", data)
    cells = [_split(line, delimiter) for line in lines]
    _require_header(cells[0], where)
    if delimiter != usual and len(cells[0]) > 1:
        notes.append(f"{where}: columns are taken as separated by {_NAMES[delimiter]}")
    decimal_comma = delimiter != "," and any(DECIMAL_COMMA.fullmatch(cell.strip()) for row in cells[1:] for cell in row)
    if decimal_comma:
        notes.append(f"{where}: numbers are taken as written with a decimal comma")
    table = _parsed(where, data, "\t" if delimiter == " " else delimiter, "," if decimal_comma else ".")
    refuse_repeated(table.column_names, where)
    # A column of empty cells has no type; it counts as missing numbers.
    return {name: numpy_column(table.column(name)) for name in table.column_names}, tuple(notes)


def _without_comments(data: bytes) -> tuple[bytes, int]:
    """Take out lines that begin with ``#``, and count them; a header may be written as one, as NumPy does."""
    if not data.startswith(b"#") and b"\n#" not in data:
        return data, 0
    lines = data.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    if 0 < first < len(lines):
        header, row = lines[first - 1].lstrip(b"# ").strip(), lines[first].strip()
        marks = r"[,;\t|]" if re.search(rb"[,;\t|]", header) else r"\s+"
        names, values = (re.split(marks, line.decode()) for line in (header, row))
        is_header = any(map(_is_number, values)) and not any(map(_is_number, names))
        if len(names) == len(values) > 1 and is_header:
            lines[first - 1] = header + b"\n"
    rows = [line for line in lines if not line.startswith(b"#")]
    return b"".join(rows), len(lines) - len(rows)


def _first_lines(data: bytes) -> list[str]:
    """Return the first lines that are not empty; the last of them is whole."""
    lines = data[:_SAMPLE].decode("utf-8", "ignore").splitlines()
    if len(data) > _SAMPLE and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()][:_SAMPLE_LINES]


def _delimiter(lines: Sequence[str], usual: str) -> str:
    """Choose what stands between the cells: what all of the first lines have as often as the header."""
    candidates = dict.fromkeys([*([usual] if usual.strip(" ") else []), ",", ";", "\t", "|", " "])
    header = lines[0]
    several = [mark for mark in candidates if mark in header.strip()]
    for mark in several:
        counts = {len(_split(line, mark)) for line in lines}
        if len(counts) == 1:
            return mark
    return several[0] if several else usual if usual.strip(" ") else ","


def _split(line: str, mark: str) -> list[str]:
    return line.split() if mark == " " else next(csv.reader([line], delimiter=mark), [])


def _require_header(header: Sequence[str], where: str) -> None:
    if header and all(_is_number(cell) for cell in header):
        shown = ", ".join(header[:4]) + (" ..." if len(header) > 4 else "")
        raise TableError(
            f"{where}: the first line holds numbers ({shown}), not names; put a line such as label,score above it"
        )


def _parsed(where: str, data: bytes, delimiter: str, decimal_point: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    wrong: list[Any] = []

    def remember(row: Any) -> str:
        wrong.append(row)
        return "error"

    def read(*, use_threads: bool) -> Any:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            read_options=pa.csv.ReadOptions(use_threads=use_threads),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter, invalid_row_handler=None if use_threads else remember
            ),
            convert_options=pa.csv.ConvertOptions(decimal_point=decimal_point),
        )

    try:
        return read(use_threads=True)
    except (pa.ArrowException, OSError, ValueError):
        pass
    try:
        return read(use_threads=False)  # rows are counted only without threads
    except (pa.ArrowException, OSError, ValueError) as error:
        if wrong and wrong[0].number is not None:
            row = wrong[0]
            cells = f"{row.actual_columns} {'cell' if row.actual_columns == 1 else 'cells'}"
            raise TableError(
                f"{where}: row {row.number - 1} has {cells}, and the header {row.expected_columns}; "
                f"the file is damaged, or a cell with {_NAMES.get(delimiter, 'commas')} lacks its quotes"
            ) from None
        raise damaged(where, "CSV", error) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
