"""What every result offers: a data frame, plain data, JSON, text in every format, HTML in notebooks; and `PRF`.

A result that is a dataclass inherits from `Result`. One that is a tuple is made of two classes, because a `NamedTuple`
takes no other base: the fields, and the public class of these fields and `Result`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, cast

import numpy as np

from pateval.output.text_table import TERMINAL_WIDTH, beside_names, folded, numeric_columns, plain, render
from pateval.validation.checked import BETA

BACKENDS = ("pandas", "polars", "pyarrow")
_ROWS_SHOWN = 20  # in a notebook; to_frame has all of them

Rows = tuple[list[str], list[list[Any]]]


class Result:
    """Frame, plain data, JSON and HTML of a named tuple or a dataclass, from its fields.

    The frame, rows for programs and HTML follow from `columns`: a class with other rows than its fields has a method of
    its own in place of that one, and no other.

    Examples
    --------
    >>> from pateval import PRF
    >>> found = PRF(0.5, 1.0, float("nan"))
    >>> found.to_dict(), found.to_json()
    ({'precision': 0.5, 'recall': 1.0, 'f1': None}, '{"precision": 0.5, "recall": 1.0, "f1": null}')
    >>> found.to_frame("pyarrow").to_pylist()
    [{'precision': 0.5, 'recall': 1.0, 'f1': nan}]
    """

    __slots__ = ()

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table this is, by name: arrays are columns, and single values make one row."""
        return {
            name: value if isinstance(value, np.ndarray) else [str(value) if isinstance(value, PathLike) else value]
            for name, value in _fields(self).items()
        }

    def records(self) -> Rows:
        """Return the names of the columns, and the rows at full precision, for programs."""
        return _transposed(self.columns())

    def row_dicts(self) -> list[dict[str, Any]]:
        """Return the rows of `records`, each by the names of the columns."""
        names, rows = self.records()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame of `columns`.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        return build_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data that JSON can carry, with None for NaN and "inf" for infinity."""
        return plain(_fields(self))

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        whole = self.columns()
        steps = max(map(len, whole.values()), default=0)
        columns, rows = _transposed({name: column[:_ROWS_SHOWN] for name, column in whole.items()})
        more = steps - len(rows)
        return fragment(
            type(self).__name__,
            tables=[FragmentTable(columns, rows, numeric_columns(columns, rows))],
            lines=[f"and {more:,} more rows: to_frame() has all of them"] if more else [],
        )


class TableResult(Result):
    """A result that people read as a table with remarks below it; a subclass says what is in them."""

    __slots__ = ()

    def table(self) -> Rows:
        """Return the names of the columns, and the rows, for people."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """Return what the table means, in sentences."""
        raise NotImplementedError

    def headline(self) -> str:
        """Return what a notebook shows above the table."""
        return ""

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """Return table and remarks in lines of at most ``width`` characters; None is any width."""
        columns, rows = self.table()
        shown = [beside_names(columns, rows, width=width), ""] if rows else []
        return "\n".join([*shown, *(folded(line, width) for line in self.remarks())])

    def rendered(self, style: str, width: int | None = TERMINAL_WIDTH) -> str:
        """Return the result in one of the formats of the command line."""
        if style == "json":
            return self.to_json()
        if style == "csv":
            return render(*self.records(), style)
        return self.text(width) if style == "table" else beside_names(*self.table(), style)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        columns, rows = self.table()
        sides = [place > 0 for place in range(len(columns))]
        lines = [line for line in self.remarks() if line]
        return fragment(self.headline(), tables=[FragmentTable(columns, rows, sides)], lines=lines)


def _fields(result: Any) -> dict[str, Any]:
    """Return the fields of a named tuple or a dataclass by name."""
    names = getattr(result, "_fields", None) or result.__dataclass_fields__
    return {name: getattr(result, name) for name in names}


def _transposed(columns: Mapping[str, Any]) -> Rows:
    lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return list(columns), [list(row) for row in zip(*lists, strict=True)]


def columns_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Turn rows into columns by name."""
    cells = list(rows)
    return {name: [row[place] for row in cells] for place, name in enumerate(names)}


def columns_of_records(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn dictionaries with the same keys, at least one, into columns by name."""
    return {name: [record[name] for record in records] for name in records[0]}


def build_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Build a data frame from columns of equal length, as `Result.to_frame` does."""
    import narwhals as nw

    return nw.from_dict(dict(columns), backend=cast(Any, choose_backend(backend))).to_native()


def choose_backend(backend: str | None) -> str:
    """Return the backend asked for, or the first one that is installed; refuse what is not known."""
    from importlib.util import find_spec  # loading it takes a millisecond, which a first number can do without

    chosen = backend or next(name for name in BACKENDS if find_spec(name))
    if chosen not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}; got {chosen!r}")
    return chosen


class _PrfFields(NamedTuple):
    precision: float
    recall: float
    f1: float


class PRF(_PrfFields, Result):
    """Precision, recall and their harmonic mean.

    Examples
    --------
    >>> PRF.of(0.5, 1.0)
    PRF(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """

    __slots__ = ()

    @classmethod
    def of(cls, precision: float, recall: float) -> PRF:
        """Complete precision and recall with F1, which is 0 where both are 0."""
        precision, recall = float(precision), float(recall)
        return cls(precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0)

    @classmethod
    def from_counts(cls, true_positive: float, false_positive: float, false_negative: float) -> PRF:
        """Precision and recall from (possibly weighted) counts; 0 where there is nothing to divide by."""
        return cls.of(
            ratio(true_positive, true_positive + false_positive), ratio(true_positive, true_positive + false_negative)
        )

    def f_beta(self, beta: float) -> float:
        r"""Weighted harmonic mean, in which recall counts ``beta`` times as much as precision.

        .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

        It is 0 where precision and recall are 0. A precision below 0, which some metrics have, counts by its size and
        gives the result its sign.

        Parameters
        ----------
        beta : float
            Not negative: 0 gives the precision, 1 the F1.

        Examples
        --------
        >>> PRF.of(0.5, 1.0).f_beta(2)
        0.8333333333333334
        """
        square = BETA.check(beta, "beta") ** 2
        if square == 1.0:
            return self.f1
        return ratio((1 + square) * self.precision * self.recall, square * abs(self.precision) + self.recall)


def ratio(part: float, whole: float) -> float:
    """Return ``part / whole``, and 0 where ``whole`` is 0."""
    return float(part) / float(whole) if whole else 0.0
