"""What makes a benchmark worthless, by code; and what a check found, as text, data frame and plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pateval.output.results import TableResult, columns_of
from pateval.output.text_table import TERMINAL_WIDTH, folded, hanging, plain, render

_NAMED = 8  # series of one fault that a terminal names


class FaultKind(NamedTuple):
    """One way to be worthless: what it means, and what to do."""

    text: str
    remedy: str


FAULT_KINDS = {
    "windows": FaultKind(
        "the rows are overlapping windows, laid one after another",
        "give every step one row, as pv.scores_from_windows does with scores: steps and events are counted many times, "
        "and nothing else that is found says anything",
    ),
    "one-liner": FaultKind(
        "a rule of one line finds the events",
        "leave the series out, or report the rule beside the detectors: who does not beat it has shown nothing",
    ),
    "end": FaultKind(
        "events crowd at the end",
        "compare with a detector that only flags the end, or cut the series at random places",
    ),
    "dense": FaultKind(
        "too much is anomalous for anomalies to be exceptions",
        "treat it as classification, or leave it out; precision is high there for everybody",
    ),
    "close": FaultKind(
        "events stand next to each other with hardly a normal step between them",
        "merge events with such gaps, or use a metric with buffers; each counts on its own otherwise",
    ),
    "dominant": FaultKind(
        "one event holds most of the anomalous steps",
        "use metrics that count events; those on steps judge this one event",
    ),
    "shifted": FaultKind(
        "the labels fit the values better when they are moved",
        "look at the events, and move the labels, or use buffers at least that long",
    ),
    "duplicate": FaultKind(
        "two series are the same, or nearly",
        "keep one of them: the other is counted twice, and adds nothing to a test of significance",
    ),
    "train": FaultKind(
        "the training stretch holds what counts as anomalous in the test",
        "label or cut these stretches: a detector that learns from them learns that anomalies are normal",
    ),
    "no-anomaly": FaultKind(
        "nothing is labelled",
        "keep it for false alarms only: most metrics are undefined there",
    ),
}
"""All kinds of fault, in the order in which they are reported."""


class DataFault(NamedTuple):
    """One fault that was found.

    Attributes
    ----------
    code : str
        A key of `FAULT_KINDS`.
    series : str
        Where; the name of the data set where it concerns all series together.
    text : str
        What was found, with its figures.
    value : float
        The figure that decided.
    """

    code: str
    series: str
    text: str
    value: float


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
class DataCheck(TableResult):
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

    @property
    def by_kind(self) -> dict[str, tuple[DataFault, ...]]:
        """The faults by their codes, those kinds left out that were not found."""
        return {code: found for code in FAULT_KINDS if (found := self.of(code))}

    def counts(self) -> tuple[list[str], list[list[Any]]]:
        """How many series of each data set have each kind of fault."""
        names = list(dict.fromkeys(item.dataset for item in self.series))
        dataset_of = {item.name: item.dataset for item in self.series} | {name: name for name in names}
        rows = [["series", *(sum(item.dataset == name for item in self.series) for name in names), ""]]
        for code, kind in FAULT_KINDS.items():
            datasets = [dataset_of[series] for series in {fault.series for fault in self.of(code)}]
            rows.append([code, *(datasets.count(name) for name in names), kind.text])
        return ["fault", *names, "what it means"], rows

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """For a terminal: each kind of fault with what it means, where it was found, and what to do."""
        blocks = []
        for code, faults in self.by_kind.items():
            shown = faults if width is None else faults[:_NAMED]
            lines = [folded(f"{code} ({len(faults)}): {FAULT_KINDS[code].text}", width)]
            lines += [hanging("  ", f"{fault.series}: {fault.text}", width) for fault in shown]
            if len(shown) < len(faults):
                lines.append(f"  and {len(faults) - len(shown)} more (--wide names all)")
            blocks.append("\n".join([*lines, hanging("  do: ", FAULT_KINDS[code].remedy, width)]))
        return "\n\n".join([*blocks, folded(self.summary(), width)])

    def markdown(self) -> str:
        """As a part of a page: counts by data set, then every fault found, by kind."""
        parts = [render(*self.counts(), "markdown")]
        for code, faults in self.by_kind.items():
            text, remedy = FAULT_KINDS[code]
            table = render(["series", "found"], [[fault.series, fault.text] for fault in faults], "markdown")
            parts.append(f"### {code}\n\n{text[0].upper()}{text[1:]}. What to do: {remedy}.\n\n{table}")
        return "\n\n".join([*parts, f"{self.summary()}."])

    def summary(self) -> str:
        """One sentence."""
        what, sound = "no fault found", ""
        if self.faults:
            what = f"{len(self.faults)} fault{'' if len(self.faults) == 1 else 's'} ({', '.join(self.by_kind)})"
            sound = f"; {len(self.sound)} of them without any"
        steps = sum(item.steps for item in self.series)
        return f"{what} in {len(self.series)} series with {steps:,} steps{sound}"

    def remarks(self) -> list[str]:
        """The summary."""
        return [self.summary()]

    def columns(self) -> dict[str, Any]:
        """Columns of the faults, a row each."""
        return columns_of(*self.table())

    def rendered(self, style: str, width: int | None = TERMINAL_WIDTH) -> str:
        """The result in one of the formats of the command line."""
        if style == "markdown":
            return self.markdown()
        return render(*self.table(), style) if style == "latex" else super().rendered(style, width)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        codes: dict[str, dict[str, None]] = {item.name: {} for item in self.series}
        for fault in self.faults:
            codes.setdefault(fault.series, {})[fault.code] = None
        faults = [{**fault._asdict(), "remedy": FAULT_KINDS[fault.code].remedy} for fault in self.faults]
        series = [{**item._asdict(), "faults": " ".join(codes[item.name])} for item in self.series]
        return plain({"faults": faults, "series": series})
