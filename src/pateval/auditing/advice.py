"""Which metrics answer a question, judged by what a trial measured."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pateval.output.text_table import folded, render

if TYPE_CHECKING:
    from pateval.auditing.score_audit import MetricTrial, ScoreAudit

GOOD_ORDER = 0.8
"""Rank correlation with the known order from which on a question counts as answered."""
GAMED_OFTEN = 0.2
"""Share of series up to which a metric may be gamed and still be advised."""
BASIC_KINDS, BASIC_ORDER = ("events", "alarms", "noise"), 0.5
"""What an advised metric sees at least, whatever the question: who ignores misses or false alarms is fooled by them."""
SHOWN = 3
_MAX_FILES_NAMED = 4  # in the command that is advised
_INDENT = "  "  # of the lines a command goes on in

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
    """What a user wants to know of a detector, in words, and what a metric must show to answer it."""

    text: str
    kinds: tuple[str, ...]  # the kinds of damage that a metric must put in order; the lowest correlation counts
    extent: bool = False  # whether one flagged step per event is no answer, so that the fake with one must not get far
    reported: bool = False  # whether only metrics that papers report are asked for


QUESTIONS = {
    "every-event": Question("find every event", ("events",)),
    "early-warning": Question("raise the alarm early", ("delay",)),
    "few-alarms": Question("raise few false alarms", ("alarms",)),
    "exact-extent": Question("find the exact extent of events", ("coverage", "alarms"), extent=True),
    "papers": Question("be comparable with papers", ("coverage", "alarms", "noise"), reported=True),
}


class Evidence(NamedTuple):
    """How well one metric answers one question."""

    metric: str
    orders: Mapping[str, float]  # rank correlation with the known order, for the kinds of damage that count
    gamed: float  # share of the series on which it is gamed, by the fakes that count

    @property
    def order(self) -> float:
        """The rank correlation that counts: the lowest."""
        return min(self.orders.values())

    def text(self) -> str:
        """The figures, in words."""
        kinds = ", ".join(f"{kind} {value:.2f}" for kind, value in self.orders.items())
        return f"order by {kinds}; gamed on {100 * self.gamed:.0f} % of the series"


@dataclass(frozen=True)
class Answer:
    """The metrics that answered one question, the best first.

    Attributes
    ----------
    question : str
        A key of `QUESTIONS`.
    found : tuple of Evidence
        Of the metrics that answered it well, at most three.
    nearest : Evidence or None
        Where none did: of the metric that came nearest; None where none was judged.
    """

    question: str
    found: tuple[Evidence, ...] = ()
    nearest: Evidence | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids of the metrics that answered it well."""
        return tuple(evidence.metric for evidence in self.found)

    @property
    def why(self) -> str:
        """The figures behind the first metric, or behind the nearest."""
        shown = self.found[0] if self.found else self.nearest
        return "no metric could be measured on it" if shown is None else shown.text()

    def text(self) -> str:
        """The answer in one line."""
        if self.found:
            what = f"{', '.join(self.metrics)} ({self.why})"
        elif self.nearest is not None:
            what = f"none answered it well; nearest is {self.nearest.metric} ({self.why})"
        else:
            what = self.why
        return f"to {QUESTIONS[self.question].text}: {what}"


def questions_named(names: Iterable[str] | str | None) -> list[str]:
    """Check the names of questions; all of them for None."""
    if names is None:
        return list(QUESTIONS)
    wanted = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in QUESTIONS:
            close = difflib.get_close_matches(name, QUESTIONS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"there is no question {name!r}{hint} (there are {', '.join(QUESTIONS)})")
    return list(dict.fromkeys(wanted))


def advise(rows: Sequence[MetricTrial], names: Iterable[str] | str | None = None) -> tuple[Answer, ...]:
    """Choose for each question the metrics that answered it well.

    A metric answers a question well where its rank correlation with the known order, for every kind of damage the
    question is about, is at least 0.8; where it is at least 0.5 for missed events, false alarms and noise, whatever the
    question; and where a fake that does not know the labels gets near the best real detector on at most a fifth of the
    series. For the exact extent the same is asked of the fake that flags one step per event.
    Those that do are listed by that rank correlation, the highest first; then by how often the question wins where it
    competes with another one (`pateval.auditing.CHOICES`), by how seldom they are gamed, by the order of all kinds of
    damage, and by how seldom they decide alone.
    Metrics that cannot be judged so, since their values have no upper end, are not advised.

    Parameters
    ----------
    rows : sequence of MetricTrial
        What a trial found of each metric.
    names : str or iterable of str, optional
        Keys of `QUESTIONS`, separated by commas or one by one; all of them by default.

    Returns
    -------
    tuple of Answer
    """
    return tuple(_answer(name, rows) for name in questions_named(names))


def _answer(name: str, rows: Sequence[MetricTrial]) -> Answer:
    question = QUESTIONS[name]
    candidates: list[tuple[tuple[float, ...], bool, Evidence]] = []
    for row in rows:
        is_asked_for = not question.reported or row.metric.name in REPORTED
        if row.is_judged and is_asked_for and not any(math.isnan(row.orders[kind]) for kind in question.kinds):
            gamed = max(row.blind.share, row.minimal.share) if question.extent else row.blind.share
            evidence = Evidence(row.metric.id, {kind: row.orders[kind] for kind in question.kinds}, gamed)
            sees_basics = not any(row.orders[kind] < BASIC_ORDER for kind in BASIC_KINDS)
            is_good = evidence.order >= GOOD_ORDER and sees_basics and gamed <= GAMED_OFTEN
            candidates.append((_preference(evidence, row, question), is_good, evidence))
    candidates.sort(key=lambda candidate: candidate[0])
    if good := tuple(evidence for _, is_good, evidence in candidates if is_good):
        return Answer(name, good[:SHOWN])
    every = [evidence for _, _, evidence in candidates]
    return Answer(name, nearest=min(every, key=lambda evidence: evidence.gamed - evidence.order, default=None))


def _preference(evidence: Evidence, row: MetricTrial, question: Question) -> tuple[float, ...]:
    """Sort key: the best metric for a question comes first."""
    wins = row.choices.get(question.kinds[0], math.nan)
    return (
        -round(evidence.order, 4),  # as tables print it, so that they are in the order of their column
        0.0 if math.isnan(wins) else -round(wins, 1),
        round(evidence.gamed, 2),
        -round(row.order, 1),
        0.0 if math.isnan(row.alone) else row.alone,
    )


def answers_text(reference: ScoreAudit, names: Sequence[str], style: str, width: int | None) -> str:
    """Show which metrics answer some questions, by a trial on made-up series, and the command that asks them."""
    columns = ["question", "metric", "order", "gamed"]
    rows = [
        [answer.question, evidence.metric, evidence.order, evidence.gamed]
        for answer in reference.answered(names)
        for evidence in answer.found
    ]
    words = "; ".join(f"{name}: to {QUESTIONS[name].text}" for name in names)
    about = (
        f"{words}. order: rank correlation with detectors of known order; gamed: share of series where a fake gets "
        "near the real detectors; both on made-up series. The highest order comes first; of equals, who holds to the "
        "question where it competes with another one. 'pateval audit FILE...' measures all of it on your series."
    )
    table = render(columns, rows, style, width=width)
    command = board_command(["FILE..."], reference.advised_metrics(names))
    return "\n\n".join([table, folded(about, width), command]) if style == "table" else table


def audit_text(audit: ScoreAudit, files: Sequence[str], questions: str | None, style: str, width: int | None) -> str:
    """Show a trial on real scores, and the command for a leaderboard of the files by the metrics that are advised."""
    if style == "json":
        return audit.to_json()
    if style in ("csv", "latex"):
        return render(*(audit.records() if style == "csv" else audit.table(wide=True)), style)
    named = [shlex.quote(file) for file in files] if len(files) <= _MAX_FILES_NAMED else ["FILE..."]
    advised = audit.advised_metrics(questions)
    if style == "markdown":
        return audit.markdown(questions=questions) + (f"\n\n`{board_command(named, advised)}`" if advised else "")
    shown = audit.text(questions=questions, width=width)
    return shown + (f"\n\n{board_command(named, advised, width)}" if advised else "")


def board_command(files: Sequence[str], metrics: Sequence[str], width: int | None = None) -> str:
    """Write the command for a leaderboard by these metrics, which goes on in further lines where one is too short."""

    def option(names: Sequence[str]) -> str:
        return f"--metrics {shlex.quote(','.join(names))}"

    whole = " ".join(["pateval leaderboard", *files, option(metrics)])
    if width is None or len(whole) <= width:
        return whole
    room = width - len(f"{_INDENT} \\")
    lines = [" ".join(words) for words in _packed(["pateval leaderboard", *files], " ".join, room)]
    return f" \\\n{_INDENT}".join([*lines, *map(option, _packed(metrics, option, room))])


def _packed(words: Sequence[str], written: Callable[[Sequence[str]], str], room: int) -> list[list[str]]:
    """Words in groups, each as many as fit when they are written."""
    groups = [[words[0]]]
    for word in words[1:]:
        if len(written([*groups[-1], word])) <= room:
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups
