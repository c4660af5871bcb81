"""What a check of data found, as text, data frame and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pateval.checking.faults import FAULT_KINDS, DataFault
from pateval.output.frame_builder import frame_of_rows
from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, folded, hanging, plain, render

_NAMED = 8  # series of one fault that a terminal names


class CheckedSeries(NamedTuple):
    """One series, and the best rule of one line on it.

    Attributes
    ----------
    dataset, name : str
        Which series of which data set.
    steps, events : int
        Size of the labelled stretch.
    share : float
        Of its steps that are anomalous.
    rule : str
        The rule of one line that finds its events best; empty where there is none.
    f1 : float
        How well, as F1 of events found and false alarms; NaN where there is no event.
    """

    dataset: str
    name: str
    steps: int
    events: int
    share: float
    rule: str
    f1: float


@dataclass(frozen=True, repr=False)
class DataCheck(Result):
    """What makes labels and series worthless as a benchmark.

    Attributes
    ----------
    series : tuple of CheckedSeries
        What was looked at.
    faults : tuple of DataFault
        What was found, by kind and series; none where the data are sound as far as this can be seen.
    """

    series: tuple[CheckedSeries, ...]
    faults: tuple[DataFault, ...]

    def __len__(self) -> int:
        return len(self.faults)

    def of(self, code: str) -> tuple[DataFault, ...]:
        """Faults of one kind, a key of `pateval.checking.FAULT_KINDS`."""
        if code not in FAULT_KINDS:
            raise ValueError(f"there is no fault {code!r}; there are {', '.join(FAULT_KINDS)}")
        return tuple(fault for fault in self.faults if fault.code == code)

    @property
    def sound(self) -> tuple[str, ...]:
        """Names of the series without any fault."""
        odd = {fault.series for fault in self.faults}
        return tuple(item.name for item in self.series if item.name not in odd)

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for people and programs: one row for each fault."""
        return ["code", "series", "found", "value"], [list(fault) for fault in self.faults]

    def counts(self) -> tuple[list[str], list[list[Any]]]:
        """How many series of each data set have each kind of fault."""
        names = list(dict.fromkeys(item.dataset for item in self.series))
        of = {item.name: item.dataset for item in self.series} | {name: name for name in names}
        rows = []
        for code, kind in FAULT_KINDS.items():
            found = {(of[fault.series], fault.series) for fault in self.of(code)}
            rows.append([code, *(sum(dataset == name for dataset, _ in found) for name in names), kind.text])
        sizes = ["series", *(sum(item.dataset == name for item in self.series) for name in names), ""]
        return ["fault", *names, "what it means"], [sizes, *rows]

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """For a terminal: each kind of fault with what it means, where it was found, and what to do."""
        blocks = []
        for code, kind in FAULT_KINDS.items():
            found = self.of(code)
            if not found:
                continue
            shown = found if width is None else found[:_NAMED]
            lines = [folded(f"{code} ({len(found)}): {kind.text}", width)]
            lines += [hanging("  ", f"{fault.series}: {fault.text}", width) for fault in shown]
            if len(shown) < len(found):
                lines.append(f"  and {len(found) - len(shown)} more (--wide names all)")
            blocks.append("\n".join([*lines, hanging("  do: ", kind.remedy, width)]))
        return "\n\n".join([*blocks, folded(self.summary(), width)])

    def markdown(self) -> str:
        """As a part of a page: counts by data set, then every fault found, by kind."""
        parts = [render(*self.counts(), "markdown")]
        for code, kind in FAULT_KINDS.items():
            found = self.of(code)
            if found:
                body = [[fault.series, fault.text] for fault in found]
                table = render(["series", "found"], body, "markdown")
                parts.append(
                    f"### {code}\n\n{kind.text[0].upper()}{kind.text[1:]}. What to do: {kind.remedy}.\n\n{table}"
                )
        return "\n\n".join([*parts, f"{self.summary()}."])

    def summary(self) -> str:
        """One sentence."""
        kinds = [code for code in FAULT_KINDS if self.of(code)]
        number = f"{len(self.faults)} fault{'' if len(self.faults) == 1 else 's'}"
        what = f"{number} ({', '.join(kinds)})" if kinds else "no fault found"
        steps = sum(item.steps for item in self.series)
        sound = f"; {len(self.sound)} of them without any" if kinds else ""
        return f"{what} in {len(self.series)} series with {steps:,} steps{sound}"

    def series_records(self) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows of what was looked at, with the best rule of one line on each series."""
        codes = {item.name: [fault.code for fault in self.faults if fault.series == item.name] for item in self.series}
        columns = [*CheckedSeries._fields, "faults"]
        return columns, [[*item, " ".join(dict.fromkeys(codes[item.name]))] for item in self.series]

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per fault.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        return frame_of_rows(*self.table(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        columns, body = self.series_records()
        found: dict[str, Any] = plain(
            {
                "faults": [{**fault._asdict(), "remedy": FAULT_KINDS[fault.code].remedy} for fault in self.faults],
                "series": [dict(zip(columns, row, strict=True)) for row in body],
            }
        )
        return found

    def __repr__(self) -> str:
        return self.text()


def in_order(faults: Sequence[DataFault]) -> tuple[DataFault, ...]:
    """Faults by kind; those of one kind stay in the order in which they were found."""
    order = {code: place for place, code in enumerate(FAULT_KINDS)}
    return tuple(sorted(faults, key=lambda fault: order[fault.code]))
