"""Which metrics answer a question, judged by what a trial measured."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

GOOD_ORDER = 0.8
"""Rank correlation with the known order from which on a question counts as answered."""
GAMED_OFTEN = 0.2
"""Share of series up to which a metric may be gamed and still be advised."""
BASIC_KINDS, BASIC_ORDER = ("events", "alarms", "noise"), 0.5
"""What an advised metric sees at least, whatever the question: who ignores misses or false alarms is fooled by them."""
SHOWN = 3

# What the boards of the field print beside each other (TSB-AD, NAB, TimeEval), by id.
REPORTED = (
    "average_precision",
    "auc_roc",
    "vus_pr",
    "vus_roc",
    "point_f1",
    "point_adjusted_f1",
    "range_based_f1",
    "affiliation_f1",
    "pate",
)


class Question(NamedTuple):
    """What a user wants to know of a detector.

    Attributes
    ----------
    text : str
        In words.
    kinds : tuple of str
        The kinds of damage that a metric must put in order to answer it; the lowest correlation counts.
    extent : bool
        Whether one flagged step per event is no answer, so that the fake with one must not get far.
    reported : bool
        Whether only metrics that papers report are asked for.
    """

    text: str
    kinds: tuple[str, ...]
    extent: bool = False
    reported: bool = False


QUESTIONS = {
    "every-event": Question("find every event", ("events",)),
    "early-warning": Question("raise the alarm early", ("delay",)),
    "few-alarms": Question("raise few false alarms", ("alarms",)),
    "exact-extent": Question("find the exact extent of events", ("coverage", "alarms"), extent=True),
    "papers": Question("be comparable with papers", ("coverage", "alarms", "noise"), reported=True),
}


class TriedMetric(Protocol):
    """What a trial knows of one metric."""

    @property
    def id(self) -> str:
        """Id of the metric."""

    @property
    def base(self) -> str:
        """Id without options."""

    @property
    def is_judged(self) -> bool:
        """Whether fakes could be held against real detectors under it."""

    @property
    def blind_share(self) -> float:
        """Share of series on which it is gamed by a fake that does not know the labels."""

    @property
    def minimal_share(self) -> float:
        """Share of series on which it is gamed by the fake that does."""

    @property
    def orders(self) -> Mapping[str, float]:
        """Rank correlation with the known order, by kind of damage."""

    @property
    def choices(self) -> Mapping[str, float]:
        """Whether a kind of quality wins where it competes with another: from -1, never, to 1, always."""

    @property
    def alone(self) -> float:
        """Share of series on which its winner is not that of the consensus."""


@dataclass(frozen=True)
class Answer:
    """The metrics that answered one question, the best first.

    Attributes
    ----------
    question : str
        A key of `QUESTIONS`.
    metrics : tuple of str
        Ids, at most three; empty where none answered it well.
    nearest : str
        Where none did: the metric that came nearest; empty where none was judged.
    why : str
        The figures behind the first metric, or behind the nearest.
    figures : tuple of tuple of float
        For each of ``metrics``: the rank correlation that counts, and the share of the series on which it is gamed.
    """

    question: str
    metrics: tuple[str, ...]
    nearest: str
    why: str
    figures: tuple[tuple[float, float], ...] = ()


def questions_named(names: Iterable[str] | str | None) -> list[str]:
    """Check the names of questions; all of them for None.

    Examples
    --------
    >>> questions_named("early-warning,few-alarms")
    ['early-warning', 'few-alarms']
    """
    if names is None:
        return list(QUESTIONS)
    wanted = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in QUESTIONS:
            close = difflib.get_close_matches(name, QUESTIONS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"there is no question {name!r}{hint} (there are {', '.join(QUESTIONS)})")
    return list(dict.fromkeys(wanted))


def advise(metrics: Sequence[TriedMetric], names: Iterable[str] | str | None = None) -> tuple[Answer, ...]:
    """Choose for each question the metrics that answered it well.

    A metric answers a question well where its rank correlation with the known order, for every kind of damage the
    question is about, is at least 0.8; where it is at least 0.5 for missed events, false alarms and noise, whatever the
    question; and where a fake that does not know the labels gets near the best real detector on at most a fifth of the
    series. For the exact extent the same is asked of the fake that flags one step per event.
    Those that do are listed by how often the question wins where it competes with another one
    (`pateval.auditing.CHOICES`), then by order, by how seldom they are gamed, by the order of all other kinds of
    damage, and by how seldom they decide alone.
    Metrics that cannot be judged so, since their values have no upper end, are not advised.

    Parameters
    ----------
    metrics : sequence of TriedMetric
        Rows of a trial.
    names : str or iterable of str, optional
        Keys of `QUESTIONS`, separated by commas or one by one; all of them by default.

    Returns
    -------
    tuple of Answer
    """
    return tuple(_answer(name, metrics) for name in questions_named(names))


def _answer(name: str, metrics: Sequence[TriedMetric]) -> Answer:
    question = QUESTIONS[name]
    candidates = [
        metric
        for metric in metrics
        if metric.is_judged
        and (not question.reported or metric.base in REPORTED)
        and not any(math.isnan(metric.orders[kind]) for kind in question.kinds)
    ]
    ordered = sorted(candidates, key=lambda metric: _preference(metric, question))
    good = [
        metric
        for metric in ordered
        if _order(metric, question) >= GOOD_ORDER
        and not any(metric.orders[kind] < BASIC_ORDER for kind in BASIC_KINDS)
        and _gamed(metric, question) <= GAMED_OFTEN
    ]
    if good:
        shown = good[:SHOWN]
        figures = tuple((_order(metric, question), _gamed(metric, question)) for metric in shown)
        return Answer(name, tuple(metric.id for metric in shown), "", _figures(good[0], question), figures)
    if not ordered:
        return Answer(name, (), "", "no metric could be measured on it")
    nearest = min(ordered, key=lambda metric: _gamed(metric, question) - _order(metric, question))
    return Answer(name, (), nearest.id, _figures(nearest, question))


def _preference(metric: TriedMetric, question: Question) -> tuple[float, ...]:
    """Sort key: the best metric for a question comes first."""
    wins = metric.choices.get(question.kinds[0], math.nan)
    return (
        0.0 if math.isnan(wins) else -round(wins, 1),
        -round(_order(metric, question), 2),
        round(_gamed(metric, question), 2),
        -round(_mean_order(metric), 1),
        0.0 if math.isnan(metric.alone) else metric.alone,
    )


def _mean_order(metric: TriedMetric) -> float:
    known = [value for value in metric.orders.values() if not math.isnan(value)]
    return sum(known) / len(known)


def _order(metric: TriedMetric, question: Question) -> float:
    return min(metric.orders[kind] for kind in question.kinds)


def _gamed(metric: TriedMetric, question: Question) -> float:
    return max(metric.blind_share, metric.minimal_share) if question.extent else metric.blind_share


def _figures(metric: TriedMetric, question: Question) -> str:
    kinds = ", ".join(f"{kind} {metric.orders[kind]:.2f}" for kind in question.kinds)
    return f"order by {kinds}; gamed on {100 * _gamed(metric, question):.0f} % of the series"
