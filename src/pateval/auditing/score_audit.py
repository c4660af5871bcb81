"""What an audit with scores found: a row per metric, as text, data frame and plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pateval.auditing.advice import QUESTIONS, Answer, advise
from pateval.auditing.consensus import voters
from pateval.auditing.damage import CHOICES, DAMAGES
from pateval.auditing.fakes import SKILL_FREE
from pateval.catalog.metric import Metric
from pateval.output.frame_builder import frame_of_rows
from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, folded, hanging, plain, render

GAMED = 0.5
"""Share of the series from which on a metric is called gamed."""
_SILENT = 0.05  # rank correlation with the known order up to which a metric says nothing about it
_REVERSED = -0.5  # and up to which it reverses the order
_ALONE = 0.75  # share of series on which its winner is not that of the consensus
_UNSTABLE = 0.5  # rank correlation between two halves of the series
FAULTS = {
    "gamed": "a fake that does not know the labels reaches 90 % of the best real detector on half of the series",
    "minimal": "one flagged step per event reaches 90 % of the best real detector on half of the series",
    "silent": "detectors of known order are all the same to it",
    "reversed": "worse detectors of known order get better values",
    "alone": "its winner is not that of most metrics on three of four series",
    "unstable": "half of the series ranks the detectors otherwise than the other half",
}
"""What may be wrong with a metric, by code."""


@dataclass(frozen=True)
class Gaming:
    """How far fakes get under one metric.

    Attributes
    ----------
    share : float
        Share of the series on which one of them reaches 90 % of the best real detector; NaN if not judged.
    series : int
        Series judged: those where the metric has a value for a real detector and for a fake.
    reached, won : tuple of str
        The series where that is so, and those where a fake gets more than the best real detector.
    by : str
        The fake that reached it most often; empty where none did.
    """

    share: float
    series: int
    reached: tuple[str, ...]
    won: tuple[str, ...]
    by: str


@dataclass(frozen=True)
class MetricTrial:
    """What was found of one metric.

    Attributes
    ----------
    metric : Metric
        Which metric.
    is_judged : bool
        Whether fakes were held against real detectors: its values lie in [0, 1] and higher is better.
    blind, minimal : Gaming
        How far fakes get that do not know the labels, and the one that flags a step per event.
    orders : mapping of str to float
        Mean rank correlation with the known order, by kind of damage (`pateval.auditing.DAMAGES`).
    choices : mapping of str to float
        Where one kind of quality competes with another (`pateval.auditing.CHOICES`): 1 where it always wins, -1 where
        it never does, the mean over the series.
    alone : float
        Share of the series on which its winner is not that of the consensus.
    halves : float
        Mean Kendall's tau between the rankings on two halves of the series.
    """

    metric: Metric
    is_judged: bool
    blind: Gaming
    minimal: Gaming
    orders: Mapping[str, float]
    choices: Mapping[str, float]
    alone: float
    halves: float

    @property
    def id(self) -> str:
        """Id of the metric."""
        return self.metric.id

    @property
    def base(self) -> str:
        """Id of the metric without options."""
        return self.metric.name

    @property
    def blind_share(self) -> float:
        """Share of series on which it is gamed by a fake that does not know the labels."""
        return self.blind.share

    @property
    def minimal_share(self) -> float:
        """Share of series on which it is gamed by one flagged step per event."""
        return self.minimal.share

    @property
    def order(self) -> float:
        """Mean rank correlation with the known order over the kinds of damage."""
        known = [value for value in self.orders.values() if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan

    @property
    def weakest(self) -> str:
        """The kind of damage with the lowest rank correlation; empty where none could be measured."""
        known = {kind: value for kind, value in self.orders.items() if not math.isnan(value)}
        return min(known, key=known.__getitem__) if known else ""

    @property
    def faults(self) -> tuple[str, ...]:
        """Codes of what is wrong with it on these data; `pateval.auditing.score_audit.FAULTS` explains them."""
        known = [value for value in self.orders.values() if not math.isnan(value)]
        found = {
            "gamed": self.blind.share >= GAMED,
            "minimal": self.minimal.share >= GAMED,
            "silent": bool(known) and max(map(abs, known)) <= _SILENT,
            "reversed": bool(known) and min(known) <= _REVERSED,
            "alone": self.alone >= _ALONE,
            "unstable": self.halves < _UNSTABLE,
        }
        return tuple(code for code in FAULTS if found[code])


@dataclass(frozen=True, repr=False)
class ScoreAudit(Result):
    """Every metric tried on real scores, on fakes, and on detectors of known order.

    Attributes
    ----------
    rows : tuple of MetricTrial
        One per metric.
    detectors, series : tuple of str
        The real detectors, and the series with an anomaly, on which all was measured.
    left_out : int
        Series without an anomaly.
    consensus : mapping of str to int
        On how many series each detector is a winner of the consensus.
    voters : int
        How many metrics made the consensus.
    threshold : str
        The rule that made predictions of scores.
    draws, seed : int
        Draws of each fake that depends on chance, and where they begin.
    notes : tuple of str
        What a reader should know of the input.
    answers : tuple of Answer
        For each question, the metrics that answered it well on these data.
    """

    rows: tuple[MetricTrial, ...]
    detectors: tuple[str, ...]
    series: tuple[str, ...]
    left_out: int
    consensus: Mapping[str, int]
    voters: int
    threshold: str
    draws: int
    seed: int
    notes: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.answers:
            object.__setattr__(self, "answers", advise(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, metric: str) -> MetricTrial:
        """Row of one metric."""
        for row in self.rows:
            if row.id == metric:
                return row
        raise KeyError(metric)

    def with_fault(self, code: str) -> tuple[str, ...]:
        """Ids of the metrics that have a fault, a key of `pateval.auditing.score_audit.FAULTS`."""
        if code not in FAULTS:
            raise ValueError(f"there is no fault {code!r}; there are {', '.join(FAULTS)}")
        return tuple(row.id for row in self.rows if code in row.faults)

    def table(self, *, wide: bool = False) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for people: one row per function in 80 columns, or all rows and all columns."""
        shares = ["blind", "minimal"]
        if wide:
            columns = ["metric", *shares, "blind wins", "minimal wins", *DAMAGES, "alone", "halves", "faults"]
            return columns, [
                [
                    row.id,
                    _per_cent(row.blind.share),
                    _per_cent(row.minimal.share),
                    len(row.blind.won) if row.is_judged else None,
                    len(row.minimal.won) if row.is_judged else None,
                    *(_two(row.orders[kind]) for kind in DAMAGES),
                    _per_cent(row.alone),
                    _two(row.halves),
                    ", ".join(row.faults),
                ]
                for row in self.rows
            ]
        chosen = voters([row.metric for row in self.rows])
        return ["metric", *shares, "order", "weakest", "alone", "halves"], [
            [
                row.id,
                _per_cent(row.blind.share),
                _per_cent(row.minimal.share),
                _two(row.order),
                row.weakest or "-",
                _per_cent(row.alone),
                _two(row.halves),
            ]
            for row in (self.rows[place] for place in chosen)
        ]

    def legend(self) -> dict[str, str]:
        """What the columns of the table mean."""
        return {
            "blind": "% of series where a fake without the labels reaches 90 % of the best real detector",
            "minimal": "% of series where one flagged step per event does",
            "order": "rank correlation with detectors of known order, and where it is weakest",
            "alone": "% of series where its winner is not the consensus",
            "halves": "Kendall's tau of its rankings on two halves of the series",
        }

    def verdict(self) -> list[str]:
        """One sentence per fault that some metric has."""
        chosen = {self.rows[place].id for place in voters([row.metric for row in self.rows])}
        lines = []
        for code, text in FAULTS.items():
            found = [name for name in self.with_fault(code) if name in chosen]
            if found:
                lines.append(f"{code} ({len(found)} of {len(chosen)}; {text}): {', '.join(found)}")
        return lines

    def advice(self, questions: Iterable[str] | str | None = None) -> list[str]:
        """One line per question, with the metrics that answered it well on these data."""
        lines = []
        for answer in self.answered(questions):
            text = QUESTIONS[answer.question].text
            if answer.metrics:
                lines.append(f"to {text}: {', '.join(answer.metrics)} ({answer.why})")
            elif answer.nearest:
                lines.append(f"to {text}: none answered it well; nearest is {answer.nearest} ({answer.why})")
            else:
                lines.append(f"to {text}: {answer.why}")
        return lines

    def answered(self, questions: Iterable[str] | str | None = None) -> tuple[Answer, ...]:
        """Answers to the questions named, keys of `pateval.auditing.QUESTIONS`; to all of them by default."""
        return self.answers if questions is None else advise(self.rows, questions)

    def advised_metrics(self, questions: Iterable[str] | str | None = None) -> list[str]:
        """The best metric for each question, each once."""
        return list(dict.fromkeys(answer.metrics[0] for answer in self.answered(questions) if answer.metrics))

    def records(self) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for programs, at full precision."""
        columns = ["metric", "judged", "blind_share", "blind_wins", "blind_by", "minimal_share", "minimal_wins"]
        columns += [
            "series",
            *(f"order_{kind}" for kind in DAMAGES),
            "order",
            *(f"prefers_{kind}" for kind in CHOICES),
            "alone",
            "halves",
            "faults",
        ]
        return columns, [
            [
                row.id,
                row.is_judged,
                row.blind.share,
                len(row.blind.won),
                row.blind.by,
                row.minimal.share,
                len(row.minimal.won),
                row.blind.series,
                *(row.orders[kind] for kind in DAMAGES),
                row.order,
                *(row.choices[kind] for kind in CHOICES),
                row.alone,
                row.halves,
                " ".join(row.faults),
            ]
            for row in self.rows
        ]

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
        metrics = [
            {
                **dict(zip(columns, values, strict=True)),
                "faults": list(row.faults),
                "blind_series_won": list(row.blind.won),
                "minimal_series_won": list(row.minimal.won),
            }
            for row, values in zip(self.rows, body, strict=True)
        ]
        found: dict[str, Any] = plain(
            {
                "metrics": metrics,
                "detectors": self.detectors,
                "series": self.series,
                "series_without_anomaly": self.left_out,
                "consensus": dict(self.consensus),
                "voters": self.voters,
                "threshold": self.threshold,
                "draws": self.draws,
                "seed": self.seed,
                "advice": {
                    answer.question: {"metrics": answer.metrics, "nearest": answer.nearest, "why": answer.why}
                    for answer in self.answers
                },
                "notes": self.notes,
            }
        )
        return found

    def summary(self) -> str:
        """One sentence."""
        chosen = [self.rows[place] for place in voters([row.metric for row in self.rows])]
        judged = [row for row in chosen if row.is_judged]
        gamed = sum("gamed" in row.faults for row in judged)
        return (
            f"{gamed} of {len(judged)} metrics in [0, 1], one for each function, are gamed by a fake that does not "
            f"know the labels on at least half of the series ({_count(len(self.detectors), 'detector')}, "
            f"{len(self.series)} series with anomalies, {self.left_out} without, predictions by {self.threshold}, "
            f"{_count(self.draws, 'draw')} from seed {self.seed})"
        )

    def __repr__(self) -> str:
        return self.text(width=TERMINAL_WIDTH)

    def text(self, *, questions: Iterable[str] | str | None = None, width: int | None = None) -> str:
        """The table, what its columns mean, the faults found and the advice, for a terminal.

        Parameters
        ----------
        questions : str or iterable of str, optional
            What to give advice on; see `answered`.
        width : int, optional
            Characters of a line; by default all columns and rows are shown, however wide they are.
        """
        table = render(*self.table(wide=width is None), width=width)
        lines = [hanging(f"{head}: ", text, width) for head, text in self.legend().items()]
        faults = [hanging("- ", line, width) for line in self.verdict()]
        advice = [hanging("- ", line, width) for line in self.advice(questions)]
        parts = [[table], lines, [folded(self.summary(), width)], faults, ["On these data:", *advice]]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def markdown(self, *, questions: Iterable[str] | str | None = None) -> str:
        """All of it as a part of a page: what was tried, in words, the whole table, the faults and the advice."""
        fakes = [[fake.name, fake.text, fake.knows_labels] for fake in SKILL_FREE]
        kinds = [[kind, text, CHOICES.get(kind, "-")] for kind, text in DAMAGES.items()]
        winners = ", ".join(f"{name} {count}" for name, count in self.consensus.items() if count)
        legend = ". ".join(f"*{head}*: {text}" for head, text in self.legend().items())
        return "\n\n".join(
            [
                f"{self.summary()}.",
                render(["fake", "what it does", "knows the labels"], fakes, "markdown"),
                render(["damage", "detectors of known order", "where it competes"], kinds, "markdown"),
                f"Consensus of {self.voters} metrics, one for each function; series won: {winners or 'none'}.",
                f"{legend}.",
                render(*self.table(wide=True), "markdown"),
                "\n".join(f"- {line}" for line in self.verdict()),
                "On these data:",
                "\n".join(f"- {line}" for line in self.advice(questions)),
            ]
        )


def _per_cent(share: float) -> int | None:
    return None if math.isnan(share) else round(100 * share)


def _two(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
