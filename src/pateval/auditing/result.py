"""What an audit found: a row per metric, as text and as a data frame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pateval.auditing.battery import BATTERY, PERFECT, RANDOM, REAL
from pateval.auditing.probes import Findings
from pateval.catalog import PROPERTIES, initials
from pateval.catalog.metric import Metric
from pateval.output.frame_builder import frame_of_rows
from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, cell_text, folded, plain, render

WORTHLESS = frozenset(entry.name for entry in BATTERY if entry.kind == "worthless")
FAKES = tuple(entry.name for entry in BATTERY if entry.kind in ("worthless", "poor"))
_TIE = 1e-9


@dataclass(frozen=True)
class AuditRow:
    """What one metric says of the battery.

    Attributes
    ----------
    metric : Metric
        Which metric.
    values : mapping of str to float
        Value of each detector of the battery, the mean over the draws where it depends on chance; NaN if undefined.
    spreads : mapping of str to float
        Standard deviation over the draws; 0 where there is no chance in it.
    reasons : mapping of str to str
        Why a value is undefined.
    findings : Findings
        What the metric rewards, measured by `probe`.
    """

    metric: Metric
    values: Mapping[str, float]
    spreads: Mapping[str, float]
    reasons: Mapping[str, str]
    findings: Findings

    @property
    def chance(self) -> float:
        """Mean value of uniform random scores."""
        return self.values[RANDOM]

    @property
    def spread(self) -> float:
        """Standard deviation of the value of uniform random scores."""
        return self.spreads[RANDOM]

    @property
    def beaten_by(self) -> tuple[str, ...]:
        """The fakes that get a better value than the real detector, ties not counted."""
        sign = 1 if self.metric.higher_is_better else -1
        return tuple(name for name in FAKES if sign * (self.values[name] - self.values[REAL]) > _TIE)

    @property
    def fooled(self) -> bool:
        """Whether a detector that finds nothing but by luck gets a better value than the real one."""
        return not WORTHLESS.isdisjoint(self.beaten_by)


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Every metric on a battery of detectors that should not win.

    Attributes
    ----------
    rows : tuple of AuditRow
        One per metric.
    steps, events, anomalous : int
        Size of the labels.
    seeds, seed : int
        How many draws were made of each detector that depends on chance, and from which seed.
    """

    rows: tuple[AuditRow, ...]
    steps: int
    events: int
    anomalous: int
    seeds: int
    seed: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, metric: str) -> AuditRow:
        """Row of one metric."""
        for row in self.rows:
            if row.metric.id == metric:
                return row
        raise KeyError(metric)

    @property
    def fooled(self) -> tuple[str, ...]:
        """The metrics under which a worthless detector beats the real one."""
        return tuple(row.metric.id for row in self.rows if row.fooled)

    def table(self, *, wide: bool = True) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for people.

        Parameters
        ----------
        wide : bool
            False leaves out what a terminal of 80 characters has no room for, and of the fakes that beat the real
            detector names the best and counts the others.
        """
        if not wide:
            return ["metric", "chance", REAL, "rewards", "real is beaten by"], [
                [
                    row.metric.id,
                    *(row.values[name] for name in (RANDOM, REAL)),
                    initials(row.findings.properties),
                    _best_and_count(row),
                ]
                for row in self.rows
            ]
        columns = ["metric", "chance", "constant", "always_on", REAL, PERFECT, "early/late", "rewards", "paper"]
        body = [
            [
                row.metric.id,
                _with_spread(row.chance, row.spread),
                *(row.values[name] for name in ("constant", "always_on", REAL, PERFECT)),
                "told apart" if row.findings.early_from_late else "alike",
                initials(row.findings.properties),
                "" if (claimed := row.metric.paper_properties) is None else initials(claimed),
                ", ".join(row.beaten_by),
            ]
            for row in self.rows
        ]
        return [*columns, "real is beaten by"], body

    def records(self) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for programs: every detector, at full precision."""
        names = [entry.name for entry in BATTERY]
        columns = ["metric", "higher_is_better", *names, "chance_spread", "beaten_by", "fooled", "early_from_late"]
        body = [
            [
                row.metric.id,
                row.metric.higher_is_better,
                *(row.values[name] for name in names),
                row.spread,
                " ".join(row.beaten_by),
                row.fooled,
                row.findings.early_from_late,
                *(name in row.findings.properties for name in PROPERTIES),
                " ".join(f"{name}: {reason}" for name, reason in row.reasons.items()),
            ]
            for row in self.rows
        ]
        return [*columns, *PROPERTIES, "reasons"], body

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame with a row per metric.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        return frame_of_rows(*self.records(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        columns, body = self.records()
        found: dict[str, Any] = plain(
            {
                "metrics": [dict(zip(columns, row, strict=True)) for row in body],
                "steps": self.steps,
                "events": self.events,
                "anomalous": self.anomalous,
                "seeds": self.seeds,
                "seed": self.seed,
            }
        )
        return found

    def summary(self) -> str:
        """One sentence."""
        return (
            f"{len(self.fooled)} of {len(self)} metrics give a worthless detector more than the real one "
            f"({self.steps:,} steps, {self.events:,} events, {self.anomalous / self.steps:.1%} anomalous, "
            f"{self.seeds} draw{'s' if self.seeds > 1 else ''} from seed {self.seed})"
        )

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        columns, rows = self.table()
        words = ("metric", "early/late", "rewards", "paper", "real is beaten by")
        return fragment(self.summary(), tables=[FragmentTable(columns, rows, [name not in words for name in columns])])

    def __repr__(self) -> str:
        table = render(*self.table(wide=False), width=TERMINAL_WIDTH)
        return f"{table}\n{folded(self.summary())}"


def _best_and_count(row: AuditRow) -> str:
    """Name the fake with the best value, and say how many others beat the real detector."""
    if not row.beaten_by:
        return ""
    sign = 1 if row.metric.higher_is_better else -1
    best = max(row.beaten_by, key=lambda name: sign * row.values[name])
    others = len(row.beaten_by) - 1
    return f"{best} +{others}" if others else best


def _with_spread(value: float, spread: float) -> str:
    return "-" if math.isnan(value) else f"{cell_text(value)} ± {cell_text(spread)}"
