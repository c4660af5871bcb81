"""Alarms and incidents of several detectors and series, from files or tables."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pateval.alarms.clock import AlarmClock
from pateval.alarms.intervals import (
    NOTHING_OBSERVED,
    OF_ALARMS,
    OF_INCIDENTS,
    Columns,
    Intervals,
    as_one_type,
    common_clock,
    is_table,
    read_intervals,
    read_periods,
    require_observed,
    rows_by_name,
)
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.matching import Matching, Policy, match, observed_time
from pateval.io import TableError, expand
from pateval.output.results import Result, Rows, TableResult, columns_of_records
from pateval.output.text_table import TERMINAL_WIDTH, beside_names, folded, plain
from pateval.time.clocks import Duration
from pateval.validation.arrays import choice
from pateval.validation.wording import in_words, listed

BY = ("kind", "series")


@dataclass(frozen=True)
class AlarmDifference(Result):
    """Two alarm systems on the same incidents and observed time.

    Attributes
    ----------
    first, second : str
        The two.
    found_by_first_only, found_by_second_only : int
        Incidents that only one of them found,
    found_p_value : float
        and the exact two-sided McNemar test of the two counts.
    false_first, false_second : int
        False alarms of each,
    false_p_value : float
        and the exact two-sided binomial test that both have them equally often.
    found_by_both : int
        Incidents both found,
    time_difference : float
        the median difference of their times to detect (first less second, in units of the clock),
    time_p_value : float
        and Wilcoxon's signed-rank test of these differences.
    """

    first: str
    second: str
    found_by_first_only: int
    found_by_second_only: int
    found_p_value: float
    false_first: int
    false_second: int
    false_p_value: float
    found_by_both: int
    time_difference: float
    time_p_value: float

    def table(self, clock: AlarmClock) -> Rows:
        """Columns and rows for people."""
        sooner = "-" if math.isnan(self.time_difference) else "as soon"
        if abs(self.time_difference) > 0:
            words = "sooner" if self.time_difference < 0 else "later"
            sooner = f"{clock.duration(abs(self.time_difference))} {words}"
        p_values = [f"{p:.3g}" for p in (self.found_p_value, self.false_p_value, self.time_p_value)]
        return ["difference", self.first, self.second, "p"], [
            ["found by this one only", str(self.found_by_first_only), str(self.found_by_second_only), p_values[0]],
            ["false alarms", str(self.false_first), str(self.false_second), p_values[1]],
            [f"time to detect, on {self.found_by_both} found by both", sooner, "", p_values[2]],
        ]


def compare_alarms(one: AlarmJudgement, other: AlarmJudgement) -> AlarmDifference:
    """Test two judgements of the same incidents and observed time against each other."""
    from scipy.stats import binomtest, wilcoxon

    found = [np.concatenate([part.is_found for part in judged.parts]) for judged in (one, other)]
    both = found[0] & found[1]
    times = [np.concatenate([part.times_to_detect for part in judged.parts])[both] for judged in (one, other)]
    differences = (times[0] - times[1]).astype(np.float64)
    unequal = differences[differences != 0]
    first, second = int(np.count_nonzero(found[0] & ~found[1])), int(np.count_nonzero(found[1] & ~found[0]))

    def evenly(count: int, total: int) -> float:
        return float(binomtest(count, total).pvalue) if total else 1.0

    return AlarmDifference(
        one.name,
        other.name,
        first,
        second,
        evenly(first, first + second),
        one.false,
        other.false,
        evenly(one.false, one.false + other.false),
        int(np.count_nonzero(both)),
        float(np.median(differences)) if differences.size else math.nan,
        float(wilcoxon(unequal).pvalue) if unequal.size else 1.0,
    )


@dataclass(frozen=True, repr=False)
class AlarmTable(TableResult):
    """What `judge_alarm_files` gives: a judgement per detector. Prints as a table.

    Attributes
    ----------
    judgements : tuple of AlarmJudgement
        One per detector, over all series.
    by : {"kind", "series"} or None
        Also show recall and time to detect of each kind of incident, or everything of each series.
    notes : tuple of str
        Liberties taken in reading.
    """

    judgements: tuple[AlarmJudgement, ...]
    by: str | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, detector: str) -> AlarmJudgement:
        for judgement in self.judgements:
            if judgement.name == detector:
                return judgement
        raise KeyError(detector)

    def __len__(self) -> int:
        return len(self.judgements)

    @property
    def difference(self) -> AlarmDifference | None:
        """The tests of one detector against the other, where there are two."""
        return compare_alarms(*self.judgements) if len(self.judgements) == 2 else None

    def parts(self, judgement: AlarmJudgement) -> list[tuple[str, AlarmJudgement]]:
        """The kinds or series of a judgement, as ``by`` asks for them."""
        if self.by == "kind":
            return [(kind, judgement.of_kind(kind)) for kind in judgement.kinds]
        names = [part.series for part in judgement.parts] if self.by == "series" else []
        return [(str(name), judgement.of_series(name)) for name in names]

    def columns(self) -> dict[str, Any]:
        """Return columns at full precision: a row per detector, and one per kind or series if asked."""
        rows = []
        for judgement in self.judgements:
            for name, part in [(None, judgement), *self.parts(judgement)]:
                rows.append(
                    {"detector": judgement.name} | ({} if self.by is None else {self.by: name}) | part.figures()
                )
        return columns_of_records(rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        found: dict[str, Any] = {"detectors": [judgement.to_dict() for judgement in self.judgements]}
        if self.by is not None:
            found[f"by_{self.by}"] = self.row_dicts()
        if self.difference is not None:
            found["difference"] = self.difference.to_dict()
        return plain(found | {"notes": self.notes})

    def table(self) -> Rows:
        """Columns and rows of the main figures, for people."""
        return self.judgements[0].table()[0], [row for judged in self.judgements for row in judged.table()[1]]

    def remarks(self) -> list[str]:
        """What it means, in a sentence for each detector."""
        return [judgement.sentence() for judgement in self.judgements]

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """Tables and sentences, in lines of at most ``width`` characters; None is any width."""
        blocks = [beside_names(*self.table(), width=width)]
        for judgement in self.judgements:
            if self.by is not None:
                columns = judgement.table()[0]
                rows = [[name, *part.table()[1][0][1:]] for name, part in self.parts(judgement)]
                keep = [0, 1, 2, 6] if self.by == "kind" else range(len(columns))
                head = [self.by, *columns[1:]]
                cells = [[row[place] for place in keep] for row in rows]
                blocks.append(beside_names([head[place] for place in keep], cells, width=width))
            head = [f"{judgement.name}:"] if len(self.judgements) > 1 else []
            blocks.append("\n".join([*head, *(folded(line, width) for line in judgement.remarks())]))
        if self.difference is not None:
            blocks.append(beside_names(*self.difference.table(self.judgements[0].clock), width=width))
        return "\n\n".join(blocks)


def judge_alarm_files(
    alarms: object,
    incidents: object,
    *,
    period: object = None,
    ignore: object = None,
    early: Duration | float = 0,
    delay: Duration | float = 0,
    merge: Duration | float | None = None,
    cooldown: Duration | float | None = None,
    within: Duration | float | None = None,
    time_unit: str | None = None,
    time_zone: str | None = None,
    by: str | None = None,
    start: str | None = None,
    stop: str | None = None,
    series: str | None = None,
    detector: str | None = None,
    kind: str | None = None,
) -> AlarmTable:
    """Hold alarms against incidents: several detectors and series, from files or tables.

    Parameters
    ----------
    alarms : path, table, or list of these
        Tables with a column of times, or of start and stop, and where there are several, columns that name the series
        and the detector. A file per detector is named by its stem.
    incidents : path or table
        Columns of start and stop, or of times; optional series and kind.
    period : path, table or pairs, optional
        What was observed, as half-open periods, of all series or of each that its column names. By default, for each
        series, the time from its first to its last alarm or incident.
    ignore : path, table, pairs or str, optional
        Half-open periods to leave out, likewise; or the name of a column of the alarms or the incidents, whose rows are
        left out where it is 1.
    early, delay, merge, cooldown, within, time_unit, time_zone
        As in `judge_alarms`.
    by : {"kind", "series"}, optional
        Also tell the kinds of incidents, or the series, apart.
    start, stop, series, detector, kind : str, optional
        Names of columns, where their usual names are not used.

    Returns
    -------
    AlarmTable
        A judgement per detector; with two of them also the tests of one against the other.

    Raises
    ------
    ValueError, TypeError
        In one sentence, if a table cannot be read, times are of different kinds, a series is not in the table of
        periods, or nothing is observed.

    Examples
    --------
    >>> import pateval as pv
    >>> alarms = {"time": ["2026-03-01T04:05", "2026-03-02T10:00"], "detector": ["rule", "rule"]}
    >>> incidents = {"start": ["2026-03-01T04:10"], "stop": ["2026-03-01T05:20"]}
    >>> found = pv.judge_alarm_files(alarms, incidents, period=[("2026-03-01", "2026-03-05")], early="30min")
    >>> found["rule"].found, found["rule"].false_rate
    (1, 0.25)
    """
    if by is not None:
        choice(by, "by", BY)
    column = ignore if isinstance(ignore, str) and not os.path.exists(ignore) else None
    columns = Columns(start, stop, series, detector, kind, column, time_zone)
    beside = Columns(series=series, time_zone=time_zone, are_hints=True)
    ignore = ignore if column is None else None
    lists = [
        *_alarm_lists(alarms, columns),
        read_intervals(incidents, "incidents", replace(columns, are_hints=True), OF_INCIDENTS),
        *(read_periods(given, name, beside) for given, name in ((period, "period"), (ignore, "ignore"))),
    ]
    if column is not None and all(one.ignored is None for one in lists):
        raise TableError(
            f"{in_words(column)} is to be ignored, and is neither a file of periods nor a column of "
            f"{listed([one.where for one in lists[:-2]], 4)}; name one of these"
        )
    clock = common_clock(lists, time_unit)
    *fired, happened, periods, ignored = as_one_type(lists)
    policy = clock.policy(Policy(early, delay, merge, cooldown))
    asked = None if within is None else clock.length(within, "within")
    by_detector = _by_detector(fired)
    parts: dict[str, list[Matching]] = {name: [] for name in by_detector}
    for name in _series_names([*fired, happened], periods if period is not None else None, ignored):
        to_find = happened.of_series(name)
        bounds = {
            found: np.concatenate([one.of_series(name).bounds for one in several])
            for found, several in by_detector.items()
        }
        moments = np.concatenate([one.ravel() for one in (*bounds.values(), to_find.bounds)])
        within_periods = None if period is None else periods.of_series(name).bounds
        observed = observed_time(within_periods, ignored.of_series(name).bounds, moments)
        for found, alarm_bounds in bounds.items():
            part = match(alarm_bounds, to_find.bounds, observed, policy, series=name, kinds=to_find.kinds)
            parts[found].append(part)
    judgements = tuple(
        AlarmJudgement(tuple(found), clock, policy, asked, has_period=period is not None, name=name)
        for name, found in parts.items()
    )
    if (period is not None or ignore is not None) and not any(part.observed.length for part in judgements[0].parts):
        raise TableError(NOTHING_OBSERVED)
    notes = [note for one in lists for note in one.notes]
    return AlarmTable(judgements, by, tuple(dict.fromkeys(notes)))


def _alarm_lists(alarms: object, columns: Columns) -> list[Intervals]:
    """Read alarms: one table or several; names of files without a column of detectors must differ."""
    if isinstance(alarms, (str, os.PathLike)):
        sources: Sequence[Any] = expand(alarms)
    elif isinstance(alarms, (list, tuple)) and alarms and all(is_table(each) for each in alarms):
        sources = [one for each in alarms for one in (expand(each) if isinstance(each, (str, os.PathLike)) else [each])]
    else:
        sources = [alarms]
    found = []
    for place, source in enumerate(sources, start=1):
        one = read_intervals(source, "alarms" if len(sources) == 1 else f"alarms {place}", columns, OF_ALARMS)
        found.append(one if one.name else replace(one, name=one.where))
    stems = [one.name for one in found if one.detectors is None]
    twice = next((name for name in stems if stems.count(name) > 1), None)
    if twice is not None:
        raise TableError(f"two files of alarms are called {twice!r}; rename one, or name detectors in a column")
    return found


def _by_detector(lists: Iterable[Intervals]) -> dict[str, list[Intervals]]:
    """Alarms of each detector: those a column names, otherwise those of the file by its name."""
    found: dict[str, list[Intervals]] = {}
    for one in lists:
        named = {one.name: slice(None)} if one.detectors is None else rows_by_name(one.detectors)
        for name, rows in named.items():
            found.setdefault(name, []).append(one.chosen(rows))
    return found


def _series_names(events: Sequence[Intervals], periods: Intervals | None, ignored: Intervals) -> list[str | None]:
    """Names of all series; refuse lists that do not fit each other."""
    known = [one for one in events if len(one)]
    naming = [one for one in known if one.series is not None]
    if not naming:
        named = next((one for one in (periods, ignored) if one is not None and one.series is not None), None)
        if named is not None and known:
            raise TableError(f"{named.where} names series, and {known[0].where} does not; add a column 'series' there")
        return [None] if named is None or named.series is None else list(dict.fromkeys(named.series))
    silent = next((one for one in known if one.series is None), None)
    if silent is not None:
        raise TableError(
            f"{naming[0].where} names series, and {silent.where} does not; add a column 'series' there, or take it out"
        )
    names = list(dict.fromkeys(name for one in naming if one.series is not None for name in one.series.tolist()))
    if periods is not None and periods.series is not None:
        observed = list(dict.fromkeys(periods.series))
        require_observed(names, periods)
        names = list(dict.fromkeys([*names, *observed]))
    return list(names)
