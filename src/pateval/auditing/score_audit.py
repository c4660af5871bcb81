"""What an audit with scores found: a row per metric, as text, data frame and plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pateval.auditing.advice import Answer, advise
from pateval.auditing.fakes import CHOICES, DAMAGES, SKILL_FREE
from pateval.auditing.label_audit import MetricRows
from pateval.catalog.metric import Metric
from pateval.leaderboards.significance import kendall, rank_table
from pateval.output.text_table import TERMINAL_WIDTH, cell_text, folded, hanging, plain, render
from pateval.validation.arrays import BoolArray, FloatArray
from pateval.validation.wording import counted

MIN_VOTERS = 3  # fewer metrics make no consensus
MIN_SERIES = 4  # fewer cannot be halved
_SPLITS = 100
NEAR = 0.9
"""Share of the best real detector's value from which on a fake counts as near it."""
GAMED = 0.5
"""Share of the series from which on a metric is called gamed."""
_SILENT = 0.05  # rank correlation with the known order up to which a metric says nothing about it
_REVERSED = -0.5  # and up to which it reverses the order
_ALONE = 0.75  # share of series on which its winner is not that of the consensus
_TIE = 1e-9
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
_COLUMNS = ("metric", "blind", "minimal", "order", "weakest", "alone", "halves")
_WIDE_COLUMNS = ("metric", "blind", "minimal", "blind wins", "minimal wins", *DAMAGES, "alone", "halves", "faults")


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

    share: float = math.nan
    series: int = 0
    reached: tuple[str, ...] = ()
    won: tuple[str, ...] = ()
    by: str = ""

    @classmethod
    def of(cls, series: tuple[str, ...], real: FloatArray, fakes: FloatArray, kind: str) -> Gaming:
        """Hold the best of the fakes of a kind against the best real detector, series by series.

        Values are detectors, or the fakes of `SKILL_FREE`, by series; NaN where there is none.
        """
        chosen = [place for place, fake in enumerate(SKILL_FREE) if fake.kind == kind]
        best_real = np.where(np.isnan(real), -np.inf, real).max(axis=0)
        values = np.where(np.isnan(fakes[chosen]), -np.inf, fakes[chosen])
        best_fake = values.max(axis=0)
        counted = (best_real > -np.inf) & (best_fake > -np.inf)
        if not counted.any():
            return cls()
        is_near = (values >= NEAR * best_real - _TIE) & counted
        reached, won = is_near.any(axis=0), counted & (best_fake > best_real + _TIE)
        return cls(
            float(reached.sum() / counted.sum()),
            int(counted.sum()),
            tuple(name for name, is_reached in zip(series, reached, strict=True) if is_reached),
            tuple(name for name, is_won in zip(series, won, strict=True) if is_won),
            SKILL_FREE[chosen[int(is_near.sum(axis=1).argmax())]].name if reached.any() else "",
        )


@dataclass(frozen=True)
class MetricTrial:
    """What was found of one metric.

    Attributes
    ----------
    metric : Metric
        Which metric.
    label : str
        Name in tables: with "(oracle)" or "(best)" where labels chose the threshold.
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
    label: str
    is_judged: bool
    blind: Gaming
    minimal: Gaming
    orders: Mapping[str, float]
    choices: Mapping[str, float]
    alone: float
    halves: float

    @property
    def short_label(self) -> str:
        """The same without the rule that holds for all metrics."""
        return self.metric.id if self.metric.threshold is None else self.label

    @cached_property
    def _known_orders(self) -> dict[str, float]:
        return {kind: value for kind, value in self.orders.items() if not math.isnan(value)}

    @property
    def order(self) -> float:
        """Mean rank correlation with the known order over the kinds of damage."""
        known = self._known_orders.values()
        return sum(known) / len(known) if known else math.nan

    @property
    def weakest(self) -> str:
        """The kind of damage with the lowest rank correlation; empty where none could be measured."""
        return min(self._known_orders, key=self._known_orders.__getitem__, default="")

    @property
    def faults(self) -> tuple[str, ...]:
        """Codes of what is wrong with it on these data; `pateval.auditing.FAULTS` explains them."""
        known = self._known_orders.values()
        has = {
            "gamed": self.blind.share >= GAMED,
            "minimal": self.minimal.share >= GAMED,
            "silent": bool(known) and max(map(abs, known)) <= _SILENT,
            "reversed": bool(known) and min(known) <= _REVERSED,
            "alone": self.alone >= _ALONE,
            "unstable": self.halves < _UNSTABLE,
        }
        return tuple(code for code in FAULTS if has[code])

    def cells(self) -> dict[str, Any]:
        """What tables for people show of it, by the name of the column."""
        return {
            "metric": self.label,
            "blind": _per_cent(self.blind.share),
            "minimal": _per_cent(self.minimal.share),
            "blind wins": len(self.blind.won) if self.is_judged else None,
            "minimal wins": len(self.minimal.won) if self.is_judged else None,
            **{kind: cell_text(value, 2) for kind, value in self.orders.items()},
            "order": cell_text(self.order, 2),
            "weakest": self.weakest or "-",
            "alone": _per_cent(self.alone),
            "halves": cell_text(self.halves, 2),
            "faults": ", ".join(self.faults),
        }

    def record(self) -> dict[str, Any]:
        """All of it for programs, at full precision."""
        return {
            "metric": self.metric.id,
            "judged": self.is_judged,
            "blind_share": self.blind.share,
            "blind_wins": len(self.blind.won),
            "blind_by": self.blind.by,
            "minimal_share": self.minimal.share,
            "minimal_wins": len(self.minimal.won),
            "series": self.blind.series,
            **{f"order_{kind}": value for kind, value in self.orders.items()},
            "order": self.order,
            **{f"prefers_{kind}": value for kind, value in self.choices.items()},
            "alone": self.alone,
            "halves": self.halves,
            "faults": " ".join(self.faults),
        }


@dataclass(frozen=True, repr=False)
class ScoreAudit(MetricRows):
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

    @property
    def answers(self) -> tuple[Answer, ...]:
        """For each question, the metrics that answered it well on these data."""
        return self.answered()

    @cached_property
    def _one_per_function(self) -> list[MetricTrial]:
        """The rows of the metrics that vote."""
        return [self.rows[place] for place in voters([row.metric for row in self.rows])]

    def with_fault(self, code: str) -> tuple[str, ...]:
        """Ids of the metrics that have a fault, a key of `pateval.auditing.FAULTS`."""
        if code not in FAULTS:
            raise ValueError(f"there is no fault {code!r}; there are {', '.join(FAULTS)}")
        return tuple(row.metric.id for row in self.rows if code in row.faults)

    def table(self, *, wide: bool = False) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for people: one row per function in 80 columns, or all rows and all columns."""
        if wide:
            return list(_WIDE_COLUMNS), [[row.cells()[name] for name in _WIDE_COLUMNS] for row in self.rows]
        # The rule for all is said below the table; a terminal has no room for it in every row.
        rows = [row.cells() | {"metric": row.short_label} for row in self._one_per_function]
        return list(_COLUMNS), [[cells[name] for name in _COLUMNS] for cells in rows]

    def legend(self) -> dict[str, str]:
        """What the columns of the table mean."""
        return {
            "blind": "% of series where a fake without the labels reaches 90 % of the best real detector",
            "minimal": "% of series where one flagged step per event does",
            "order": "rank correlation with detectors of known order, and where it is weakest",
            "alone": "% of series where its winner is not the consensus",
            "halves": "Kendall's tau of its rankings on two halves of the series",
            "(best)": f"at the metric's own best threshold; other predictions by {self.threshold}",
        }

    def verdict(self) -> list[str]:
        """One sentence per fault that some metric has."""
        rows = self._one_per_function
        faulty = {code: [row.short_label for row in rows if code in row.faults] for code in FAULTS}
        return [
            f"{code} ({len(names)} of {len(rows)}; {FAULTS[code]}): {', '.join(names)}"
            for code, names in faulty.items()
            if names
        ]

    def advice(self, questions: Iterable[str] | str | None = None) -> list[str]:
        """One line per question, with the metrics that answered it well on these data."""
        return [answer.text() for answer in self.answered(questions)]

    def answered(self, questions: Iterable[str] | str | None = None) -> tuple[Answer, ...]:
        """Answers to the questions named, keys of `pateval.auditing.QUESTIONS`; to all of them by default."""
        return advise(self.rows, questions)

    def advised_metrics(self, questions: Iterable[str] | str | None = None) -> list[str]:
        """The best metric for each question, each once."""
        return list(dict.fromkeys(answer.metrics[0] for answer in self.answered(questions) if answer.metrics))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        won = [{"blind_series_won": row.blind.won, "minimal_series_won": row.minimal.won} for row in self.rows]
        metrics = [row.record() | {"faults": row.faults} | more for row, more in zip(self.rows, won, strict=True)]
        advice = {
            answer.question: {
                "metrics": answer.metrics,
                "nearest": "" if answer.nearest is None else answer.nearest.metric,
                "why": answer.why,
            }
            for answer in self.answers
        }
        about = {"detectors": self.detectors, "series": self.series, "series_without_anomaly": self.left_out}
        about |= {name: getattr(self, name) for name in ("consensus", "voters", "threshold", "draws", "seed")}
        return plain({"metrics": metrics, **about, "advice": advice, "notes": self.notes})

    def summary(self) -> str:
        """One sentence."""
        judged = [row for row in self._one_per_function if row.is_judged]
        gamed = sum("gamed" in row.faults for row in judged)
        return (
            f"{gamed} of {len(judged)} metrics in [0, 1], one for each function, are gamed by a fake that does not "
            f"know the labels on at least half of the series ({counted(len(self.detectors), 'detector')}, "
            f"{len(self.series)} series with anomalies, {self.left_out} without, predictions by {self.threshold}, "
            f"{counted(self.draws, 'draw')} from seed {self.seed})"
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
        fakes = [[fake.name, fake.text, fake.kind == "minimal"] for fake in SKILL_FREE]
        kinds = [
            [kind, damage.text, CHOICES[kind].text if kind in CHOICES else "-"] for kind, damage in DAMAGES.items()
        ]
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


def agreement_with_order(qualities: FloatArray, values: FloatArray) -> FloatArray:
    """Rank correlation of values with the known order: Somers' D, 1 for the same order, -1 for the reverse.

    Over all pairs that differ in quality, the share that the values put in the right order less the share that they put
    in the wrong one; a pair that they leave level counts for neither, so a constant gets 0. Pairs where a value is not
    defined are left out; NaN where none is left. Values are detectors by metrics, higher being better.
    """
    first, second = np.triu_indices(qualities.size, 1)
    is_apart = qualities[first] != qualities[second]
    first, second = first[is_apart], second[is_apart]
    truth = np.sign(qualities[first] - qualities[second])
    with np.errstate(invalid="ignore"):
        gaps = values[first] - values[second]
    pairs = np.count_nonzero(~np.isnan(gaps), axis=0)
    signs = np.where(np.abs(gaps) > _TIE, np.sign(gaps), 0.0)  # 0 where a value is not defined
    return np.asarray(np.where(pairs > 0, (signs * truth[:, None]).sum(axis=0) / np.maximum(pairs, 1), np.nan))


def shares_alone(values: FloatArray, voting: Sequence[int]) -> tuple[FloatArray, BoolArray]:
    """How often each metric's winner is not that of the consensus, and who that is, detectors by series.

    Values are detectors by series by metrics, higher being better. The consensus on a series is the detector with the
    lowest median rank over the metrics that vote and that have a value for every detector there. Where several share
    first place, under the metric or in the consensus, the share of the metric's winners that the consensus has counts.
    NaN where a metric has no series with a value for every detector, or fewer than three metrics vote.
    """
    detectors, series, metrics = values.shape
    is_consensus = np.zeros((detectors, series), dtype=np.bool_)
    if detectors < 2 or len(voting) < MIN_VOTERS:
        return np.full(metrics, np.nan), is_consensus
    agreed, counted = np.zeros(metrics), np.zeros(metrics)
    for s in range(series):
        complete = np.asarray(~np.isnan(values[:, s]).any(axis=0))
        ballot = [place for place in voting if complete[place]]
        if len(ballot) < MIN_VOTERS:
            continue
        medians: FloatArray = np.asarray(np.median(rank_table(values[:, s, ballot].T).per_series, axis=0))
        first = medians <= medians.min() + _TIE
        is_consensus[:, s] = first
        with np.errstate(invalid="ignore"):
            wins = values[:, s] >= values[:, s].max(axis=0) - _TIE
        shared = (wins & first[:, None]).sum(axis=0) / np.maximum(wins.sum(axis=0), 1)
        agreed += np.where(complete, shared, 0.0)
        counted += complete
    with np.errstate(invalid="ignore"):
        return np.where(counted > 0, 1 - agreed / np.maximum(counted, 1), np.nan), is_consensus


def halves_agreement(values: FloatArray, *, seed: int = 0) -> FloatArray:
    """How far each metric's ranking of the detectors on one half of the series is that on the other.

    Mean Kendall's tau of the mean ranks over 100 random ways to halve the series, 0 where a half tells no two detectors
    apart; NaN with fewer than four series or two detectors. Values are detectors by series by metrics.
    """
    agreement = np.full(values.shape[2], np.nan)
    for m in range(values.shape[2]):
        ranks = rank_table(values[:, :, m].T).per_series
        if ranks.shape[0] < MIN_SERIES or ranks.shape[1] < 2:
            continue
        chance = np.random.default_rng(seed)
        half = ranks.shape[0] // 2
        taus = []
        for _ in range(_SPLITS):
            order = chance.permutation(ranks.shape[0])
            both = [ranks[order[:half]].mean(axis=0), ranks[order[half:]].mean(axis=0)]
            taus.append(np.nan_to_num(kendall(np.round(both, 9))[0, 1]))
        agreement[m] = float(np.mean(taus))
    return agreement


def voters(metrics: Sequence[Metric]) -> list[int]:
    """Places of the metrics that vote: one for each function, its F1 where it has one."""
    chosen: dict[object, int] = {}
    for place, metric in enumerate(metrics):
        known = chosen.setdefault(metric.function, place)
        if metric.field == "f1" and metrics[known].field != "f1":
            chosen[metric.function] = place
    return sorted(chosen.values())
