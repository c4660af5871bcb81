"""Alarms and incidents of several detectors and series, from files or tables."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pateval.alarms.clock import AlarmClock
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.matching import match, observed_time
from pateval.alarms.reading import (
    Columns,
    Intervals,
    as_one_type,
    common_clock,
    read_intervals,
    read_periods,
    rows_by_name,
)
from pateval.alarms.statistics import binomial_p_value, signed_rank_p_value
from pateval.alarms.tables import Rows, TableResult, as_records, shown_table
from pateval.io import TableError, expand
from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, folded, plain
from pateval.time.clocks import Duration
from pateval.validation.arrays import choice

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

    def table(self, clock: AlarmClock) -> tuple[list[str], list[list[str]]]:
        """Columns and rows for people."""
        sooner = "-"
        if not math.isnan(self.time_difference):
            words = "as soon" if not self.time_difference else "sooner" if self.time_difference < 0 else "later"
            sooner = words if not self.time_difference else f"{clock.duration(abs(self.time_difference))} {words}"
        p_values = [f"{p:.3g}" for p in (self.found_p_value, self.false_p_value, self.time_p_value)]
        return ["difference", self.first, self.second, "p"], [
            ["found by this one only", str(self.found_by_first_only), str(self.found_by_second_only), p_values[0]],
            ["false alarms", str(self.false_first), str(self.false_second), p_values[1]],
            [f"time to detect, on {self.found_by_both} found by both", sooner, "", p_values[2]],
        ]


def compare_alarms(one: AlarmJudgement, other: AlarmJudgement) -> AlarmDifference:
    """Test two judgements of the same incidents and observed time against each other."""
    found = [np.concatenate([part.is_found for part in judged.parts]) for judged in (one, other)]
    both = found[0] & found[1]
    times = [np.concatenate([part.times_to_detect for part in judged.parts])[both] for judged in (one, other)]
    differences = (times[0] - times[1]).astype(np.float64)
    first, second = int(np.count_nonzero(found[0] & ~found[1])), int(np.count_nonzero(found[1] & ~found[0]))
    return AlarmDifference(
        one.name,
        other.name,
        first,
        second,
        binomial_p_value(first, first + second),
        one.false,
        other.false,
        binomial_p_value(one.false, one.false + other.false),
        int(np.count_nonzero(both)),
        float(np.median(differences)) if differences.size else math.nan,
        signed_rank_p_value(differences),
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

    def records(self) -> Rows:
        """Columns and rows for programs, at full precision: a row per detector, and one per kind or series if asked."""
        columns = self.judgements[0].records()[0]
        if self.by is None:
            return columns, [judgement.records()[1][0] for judgement in self.judgements]
        rows = []
        for judgement in self.judgements:
            for name, part in [(None, judgement), *self.parts(judgement)]:
                cells = part.records()[1][0]
                rows.append([cells[0], name, *cells[1:]])
        return [columns[0], self.by, *columns[1:]], rows

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        found: dict[str, Any] = {"detectors": [judgement.to_dict() for judgement in self.judgements]}
        if self.by is not None:
            found[f"by_{self.by}"] = as_records(*self.records())
        if self.difference is not None:
            found["difference"] = self.difference.to_dict()
        written: dict[str, Any] = plain(found | {"notes": self.notes})
        return written

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of the main figures, for people."""
        return self.judgements[0].table()[0], [row for judged in self.judgements for row in judged.table()[1]]

    def remarks(self) -> list[str]:
        """What it means, in a sentence for each detector."""
        return [judgement.sentence() for judgement in self.judgements]

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """Tables and sentences, in lines of at most ``width`` characters; None is any width."""
        blocks = [shown_table(*self.table(), width)]
        for judgement in self.judgements:
            if self.by is not None:
                columns = judgement.table()[0]
                rows = [[name, *part.table()[1][0][1:]] for name, part in self.parts(judgement)]
                keep = [0, 1, 2, 6] if self.by == "kind" else range(len(columns))
                head = [self.by, *columns[1:]]
                cells = [[row[place] for place in keep] for row in rows]
                blocks.append(shown_table([head[place] for place in keep], cells, width))
            head = [f"{judgement.name}:"] if len(self.judgements) > 1 else []
            blocks.append("\n".join([*head, *(folded(line, width) for line in judgement.remarks())]))
        if self.difference is not None:
            blocks.append(shown_table(*self.difference.table(self.judgements[0].clock), width))
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
    ignore : path, table or pairs, optional
        Half-open periods to leave out, likewise.
    early, delay, merge, cooldown, within, time_unit
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
    columns = Columns(start, stop, series, detector, kind)
    fired = _alarm_lists(alarms, columns)
    happened = read_intervals(incidents, "incidents", columns)
    beside = Columns(series=series)
    periods, ignored = read_periods(period, "period", beside), read_periods(ignore, "ignore", beside)
    clock = common_clock([*fired, happened, periods, ignored], time_unit)
    *fired, happened, periods, ignored = as_one_type([*fired, happened, periods, ignored])
    policy = clock.policy(early, delay, merge, cooldown)
    asked = None if within is None else clock.length(within, "within")
    names = _series_names([*fired, happened], periods if period is not None else None, ignored)
    parts: dict[str, list[Any]] = {name: [] for name in _detector_names(fired)}
    for name in names:
        lists = [(alarm_list.name, alarm_list.of_series(name)) for alarm_list in fired]
        of_series = happened.of_series(name)
        moments = np.concatenate([one.bounds.ravel() for one in (*(each for _, each in lists), of_series)])
        given = None if period is None else periods.of_series(name).bounds
        observed = observed_time(given, ignored.of_series(name).bounds, moments)
        bounds: dict[str, list[Any]] = {detector: [] for detector in parts}
        for stem, alarm_list in lists:
            if alarm_list.detectors is None:
                bounds[stem].append(alarm_list.bounds)
            else:
                for found, rows in rows_by_name(alarm_list.detectors.tolist()).items():
                    bounds[found].append(alarm_list.bounds[rows])
        for found, pieces in bounds.items():
            joint = np.concatenate(pieces) if pieces else np.zeros((0, 2), dtype=of_series.bounds.dtype)
            parts[found].append(match(joint, of_series.bounds, observed, policy, series=name, kinds=of_series.kinds))
    judgements = tuple(
        AlarmJudgement.of(found, clock, asked, has_period=period is not None, name=name)
        for name, found in parts.items()
    )
    if (period is not None or ignore is not None) and not any(part.observed.length for part in judgements[0].parts):
        raise TableError("nothing is observed: the period is empty, or all of it is ignored")
    notes = [note for one in (*fired, happened, periods, ignored) for note in one.notes]
    return AlarmTable(judgements, by, tuple(dict.fromkeys(notes)))


def _alarm_lists(alarms: object, columns: Columns) -> list[Intervals]:
    """Read alarms: one table or several; names of files without a column of detectors must differ."""
    if isinstance(alarms, (str, os.PathLike)):
        sources: Sequence[Any] = expand(alarms)
    elif isinstance(alarms, (list, tuple)) and alarms and all(_is_table(each) for each in alarms):
        sources = [one for each in alarms for one in (expand(each) if isinstance(each, (str, os.PathLike)) else [each])]
    else:
        sources = [alarms]
    found = []
    for place, source in enumerate(sources, start=1):
        one = read_intervals(source, "alarms" if len(sources) == 1 else f"alarms {place}", columns)
        found.append(one if one.name else replace(one, name=one.where))
    stems = [one.name for one in found if one.detectors is None]
    twice = next((name for name in stems if stems.count(name) > 1), None)
    if twice is not None:
        raise TableError(f"two files of alarms are called {twice!r}; rename one, or name detectors in a column")
    return found


def _is_table(source: object) -> bool:
    return isinstance(source, (str, os.PathLike, dict)) or hasattr(source, "columns")


def _detector_names(lists: Iterable[Intervals]) -> list[str]:
    names = [
        name
        for one in lists
        for name in ([one.name] if one.detectors is None else dict.fromkeys(one.detectors.tolist()))
    ]
    return list(dict.fromkeys(names))


def _series_names(events: Sequence[Intervals], periods: Intervals | None, ignored: Intervals) -> list[str | None]:
    """Names of all series; refuse lists that do not fit each other."""
    known = [one for one in events if len(one)]
    naming = [one for one in known if one.series is not None]
    if not naming:
        named = next((one for one in (periods, ignored) if one is not None and one.series is not None), None)
        if named is not None and known:
            raise TableError(f"{named.where} names series, and {known[0].where} does not; add a column 'series' there")
        return [None] if named is None or named.series is None else list(rows_by_name(named.series.tolist()))
    silent = next((one for one in known if one.series is None), None)
    if silent is not None:
        raise TableError(
            f"{naming[0].where} names series, and {silent.where} does not; add a column 'series' there, or take it out"
        )
    names = list(dict.fromkeys(name for one in naming if one.series is not None for name in one.series.tolist()))
    if periods is not None and periods.series is not None:
        observed = list(rows_by_name(periods.series.tolist()))
        absent = next((name for name in names if name not in set(observed)), None)
        if absent is not None:
            raise TableError(f"{periods.where}: series {absent!r} is not there; say when it was observed")
        names = list(dict.fromkeys([*names, *observed]))
    return list(names)
