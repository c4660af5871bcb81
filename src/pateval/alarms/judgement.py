"""How good a list of alarms is, given the incidents: what was found, what was missed, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pateval.alarms.clock import AlarmClock
from pateval.alarms.matching import FALSE, FIRST, REPEAT, ROLES, SET_ASIDE, Matching, Number, match, observed_time
from pateval.alarms.reading import as_one_type, common_clock, read_intervals, read_periods
from pateval.alarms.statistics import LimitPair, poisson_limits, wilson_limits
from pateval.alarms.tables import Rows, TableResult, as_records
from pateval.output.text_table import plain
from pateval.time.clocks import Duration, Times

ENDLESS = 0.2  # share of observed time in alarm above which the sentence opens with it
_MISSED_SHOWN = 5
_COUNTS = ("alarms", "first", "repeat", "false", "set_aside", "dropped", "suppressed")


@dataclass(frozen=True, repr=False)
class AlarmJudgement(TableResult):
    """Alarms of one detector held against incidents; what `judge_alarms` gives. Prints as a table.

    Counts are sums over series. Intervals are dates where the times are dates, and lengths are time differences there;
    otherwise both are numbers.

    Attributes
    ----------
    incidents, found : int
        Incidents that count, and those that an alarm meets.
    missed, left_out_intervals : ndarray of shape (n, 2)
        Start and stop of the incidents that were missed, and of those of which no moment is observed, as given.
    left_out : int
        How many incidents were left out.
    alarms, first, repeat, false : int
        Alarms; those that are the first of some incident, meet one without being first, and meet none.
    set_aside, dropped, suppressed : int
        Alarms that meet nothing but incidents that were left out, lie outside observed time, and come within the
        cooldown of another; they are in no other figure.
    observed, time_in_alarm
        Length of observed time, and of the union of the alarms within it.
    share_in_alarm : float
        The second as a share of the first.
    times_to_detect : ndarray
        Time from start to first alarm of each incident found, in the order given; below zero is an early warning.
    recall, precision, false_rate, alarm_rate : float
        Incidents found, and alarms that are not false, as shares; false alarms, and all alarms, per day wherever a unit
        of time is known, otherwise per unit. NaN where undefined.
    recall_limits, precision_limits, false_rate_limits, alarm_rate_limits : pair of float
        Limits at 95 %: Wilson's for shares, Garwood's exact ones for rates.
    parts : tuple of Matching
        The series.
    clock : AlarmClock
        What a unit of the times is.
    within : number or None
        The time asked for, in units of the clock.
    has_period : bool
        Whether a period was given; without one, the time from the first to the last alarm or incident is observed.
    name : str
        The detector.
    """

    parts: tuple[Matching, ...]
    clock: AlarmClock
    within: Number | None
    has_period: bool
    name: str
    incidents: int
    found: int
    missed: Times
    left_out: int
    left_out_intervals: Times
    alarms: int
    first: int
    repeat: int
    false: int
    set_aside: int
    dropped: int
    suppressed: int
    observed: Any
    time_in_alarm: Any
    share_in_alarm: float
    times_to_detect: Times
    recall: float
    recall_limits: LimitPair
    precision: float
    precision_limits: LimitPair
    false_rate: float
    false_rate_limits: LimitPair
    alarm_rate: float
    alarm_rate_limits: LimitPair

    @classmethod
    def of(
        cls,
        parts: Sequence[Matching],
        clock: AlarmClock,
        within: Number | None = None,
        *,
        has_period: bool = True,
        name: str = "alarms",
    ) -> AlarmJudgement:
        """Add up the series."""

        def intervals(pairs: list[Times]) -> Times:
            return clock.times(np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64))

        first, repeat, false, aside = (
            sum(int(np.count_nonzero(part.roles == role)) for part in parts)
            for role in (FIRST, REPEAT, FALSE, SET_ASIDE)
        )
        incidents = sum(int(np.count_nonzero(part.is_counted)) for part in parts)
        times = detection_times(parts)
        left_out = intervals([part.incidents[~part.is_counted] for part in parts])
        observed, in_alarm = observed_length(parts), sum((part.time_in_alarm for part in parts), 0)
        alarms, days = first + repeat + false, float(clock.in_rate_units(observed))
        return cls(
            tuple(parts),
            clock,
            within,
            has_period,
            name,
            incidents=incidents,
            found=times.size,
            missed=intervals([part.incidents[part.is_counted & ~part.is_found] for part in parts]),
            left_out=len(left_out),
            left_out_intervals=left_out,
            alarms=alarms,
            first=first,
            repeat=repeat,
            false=false,
            set_aside=aside,
            dropped=sum(part.dropped for part in parts),
            suppressed=sum(part.suppressed for part in parts),
            observed=clock.length_given(observed),
            time_in_alarm=clock.length_given(in_alarm),
            share_in_alarm=share(float(in_alarm), float(observed)),
            times_to_detect=clock.lengths(times),
            recall=share(times.size, incidents),
            recall_limits=wilson_limits(times.size, incidents),
            precision=share(first + repeat, alarms),
            precision_limits=wilson_limits(first + repeat, alarms),
            false_rate=share(false, days),
            false_rate_limits=poisson_limits(false, days),
            alarm_rate=share(alarms, days),
            alarm_rate_limits=poisson_limits(alarms, days),
        )

    @property
    def rate_unit(self) -> str:
        """What rates are per: "day" wherever a unit of time is known, otherwise "unit"."""
        return self.clock.rate_unit

    @property
    def early_share(self) -> float:
        """Share of the incidents found that were announced before they began."""
        return float(np.mean(detection_times(self.parts) < 0)) if self.found else math.nan

    @property
    def share_within(self) -> float:
        """Share of the incidents found at most ``within`` after their start; NaN where that is not asked for."""
        if self.within is None or not self.found:
            return math.nan
        return float(np.mean(detection_times(self.parts) <= float(self.within)))

    def detection_quantiles(self) -> tuple[float, float, float, float]:
        """Lower quartile, median, upper quartile and largest of the times to detect, in units of the clock."""
        if not self.found:
            return (math.nan,) * 4
        times = detection_times(self.parts)
        low, middle, high = np.quantile(times, [0.25, 0.5, 0.75]).tolist()
        return low, middle, high, float(times.max())

    def _of(self, parts: Sequence[Matching]) -> AlarmJudgement:
        return AlarmJudgement.of(parts, self.clock, self.within, has_period=self.has_period, name=self.name)

    def of_series(self, name: str | None) -> AlarmJudgement:
        """The judgement of one series."""
        return self._of([part for part in self.parts if part.series == name])

    def of_kind(self, kind: str) -> AlarmJudgement:
        """Recall and time to detect of one kind of incidents; the alarms stay those of all."""
        return self._of([part.of_kind(kind) for part in self.parts])

    @property
    def kinds(self) -> list[str]:
        """Kinds of the incidents that count."""
        named = [part.kinds[part.is_counted].tolist() for part in self.parts if part.kinds is not None]
        return list(dict.fromkeys(kind for kinds in named for kind in kinds))

    def incident_rows(self) -> Rows:
        """Columns and rows, one per incident: when, what became of it, and how early or late its first alarm came."""
        rows: list[list[Any]] = []
        for part in self.parts:
            kinds: Sequence[Any] = [None] * len(part.incidents) if part.kinds is None else part.kinds.tolist()
            for place, (start, stop) in enumerate(part.incidents.tolist()):
                is_found = bool(part.is_found[place])
                outcome = "found" if is_found else "missed" if part.is_counted[place] else "left out"
                time = part.times_to_detect[place].item() if is_found else None
                rows.append([part.series, start, stop, kinds[place], outcome, time])
        return ["series", "start", "stop", "kind", "outcome", "time_to_detect"], rows

    def alarm_rows(self) -> Rows:
        """Columns and rows, one per alarm after merge and cooldown: when, and what it is."""
        rows = [
            [part.series, start, stop, ROLES[role]]
            for part in self.parts
            for (start, stop), role in zip(part.alarms.tolist(), part.roles.tolist(), strict=True)
        ]
        return ["series", "start", "stop", "role"], rows

    def records(self) -> Rows:
        """Columns and one row of all figures, at full precision; lengths in units of the clock."""
        low, middle, high, largest = self.detection_quantiles()
        figures: dict[str, Any] = {"detector": self.name, "incidents": self.incidents, "found": self.found}
        figures |= {"missed": self.incidents - self.found, "left_out": self.left_out}
        figures |= {name: getattr(self, name) for name in _COUNTS} | {"rate_unit": self.rate_unit}
        for name in ("recall", "precision", "false_rate", "alarm_rate"):
            figures[name] = getattr(self, name)
            figures[f"{name}_low"], figures[f"{name}_high"] = getattr(self, f"{name}_limits")
        figures |= {"ttd_lower_quartile": low, "ttd_median": middle, "ttd_upper_quartile": high, "ttd_largest": largest}
        figures |= {name: getattr(self, name) for name in ("early_share", "share_within", "share_in_alarm")}
        figures["observed"] = float(observed_length(self.parts))
        figures["time_in_alarm"] = float(sum((part.time_in_alarm for part in self.parts), 0))
        return list(figures), [list(figures.values())]

    def to_dict(self) -> dict[str, Any]:
        """All figures, incidents and alarms as plain data that JSON can carry, with None for what is undefined."""

        def written(columns: list[str], rows: list[list[Any]]) -> list[dict[str, Any]]:
            return as_records(columns, [[row[0], *map(self.clock.written, row[1:3]), *row[3:]] for row in rows])

        lists = {"incident_list": written(*self.incident_rows()), "alarm_list": written(*self.alarm_rows())}
        found: dict[str, Any] = plain(as_records(*self.records())[0] | {"sentence": self.sentence()} | lists)
        return found

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and one row of the main figures, for people."""
        low, high = self.false_rate_limits
        limits = "-" if math.isnan(low) else f"{self.clock.rate_in_words(low)} to {self.clock.rate_in_words(high)}"
        columns = ["detector", "found", "95 %", f"false alarms per {self.clock.rate_words}", "95 %", "repeats"]
        found = [f"{self.found:,} of {self.incidents:,}", percent_limits(self.recall_limits)]
        cost = [self.clock.rate_in_words(self.false_rate), limits, f"{self.repeat:,}"]
        median = self.clock.lead(self.detection_quantiles()[1])
        return [*columns, "median time to detect"], [[self.name, *found, *cost, median]]

    def remarks(self) -> list[str]:
        """What the table does not show, in sentences; the last one says what it means."""
        lines = []
        missed = [row for row in self.incident_rows()[1] if row[4] == "missed"]
        for series, start, stop, kind, *_ in missed[:_MISSED_SHOWN]:
            words = [self.clock.interval(start, stop), *([] if kind is None else [f"({kind})"])]
            words += [] if series is None else [f"on {series}"]
            lines.append(f"missed: {' '.join(words)}")
        if len(missed) > _MISSED_SHOWN:
            lines.append(f"missed: {len(missed) - _MISSED_SHOWN} more (--format json lists all)")
        if self.left_out:
            outside = next(row for row in self.incident_rows()[1] if row[4] == "left out")
            when = self.clock.interval(*outside[1:3])
            lines.append(f"left out, since no moment of them is observed: {self.left_out} ({when} first)")
        counts = {
            "dropped": "outside observed time",
            "suppressed": "suppressed by the cooldown",
            "set_aside": "set aside, since they meet nothing but incidents that were left out",
        }
        lines += [f"alarms {words}: {getattr(self, name):,}" for name, words in counts.items() if getattr(self, name)]
        low, _, high, largest = self.detection_quantiles()
        if self.found:
            spread = f"{self.clock.lead(low)} to {self.clock.lead(high)}"
            lines.append(f"time to detect: quartiles {spread}, latest {self.clock.lead(largest)}")
            lines[-1] += f"; before the start: {self.early_share:.0%}"
            if self.within is not None:
                lines[-1] += f"; within {self.clock.duration(self.within)}: {self.share_within:.0%}"
        where = "" if self.has_period else ", from the first to the last alarm or incident (no period is given)"
        lines.append(f"observed: {self.clock.duration(observed_length(self.parts))}{where}")
        return [*lines, "", self.sentence()]

    def sentence(self) -> str:
        """What it means, in one sentence."""
        opening, found = "", "there was no incident to find"
        if self.share_in_alarm > ENDLESS:
            much = f"{self.share_in_alarm:.0%}"
            opening = f"{self.name} is in alarm {much} of the time, and an endless alarm finds everything: "
        if self.incidents:
            found = f"found {self.found:,} of {self.incidents:,} incidents ({percent_limits(self.recall_limits)})"
        if self.found:
            median = self.detection_quantiles()[1]
            most = "" if not median else "at least " if median < 0 else "at most "
            found += f", half of them {most}{self.clock.lead(median)}"
        cost = "; how often it is wrong is not known, since nothing is observed"
        if not math.isnan(self.false_rate):
            worth = f"{self.first + self.repeat:,} of its {self.alarms:,} alarms were about an incident"
            rate = f"{self.clock.rate_in_words(self.false_rate)} false alarms per {self.clock.rate_words}"
            cost = f", at {rate}: {worth if self.alarms else 'it never alarmed'}"
        subject = "" if not self.incidents else "it " if opening else f"{self.name} "
        return f"{opening}{subject}{found}{cost}."


def detection_times(parts: Sequence[Matching]) -> Times:
    """Times to detect of the incidents found, in units of the clock."""
    times = [part.times_to_detect[part.is_found] for part in parts]
    return np.concatenate(times) if times else np.zeros(0)


def observed_length(parts: Sequence[Matching]) -> Number:
    """Length of observed time, in units of the clock."""
    return sum((part.observed.length for part in parts), 0)


def percent_limits(limits: LimitPair) -> str:
    """Limits of a share, in words."""
    return "-" if math.isnan(limits[0]) else f"{limits[0]:.0%} to {limits[1]:.0%}"


def share(part: float, whole: float) -> float:
    """A share, or a rate; NaN of nothing."""
    return part / whole if whole else math.nan


def judge_alarms(
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
) -> AlarmJudgement:
    """Hold alarms against incidents on one series: what was found, how soon, and at how many false alarms.

    An incident is found if an alarm meets its window, from ``early`` before its start to ``delay`` after its stop. An
    alarm that meets no window is false. Incidents and alarms outside observed time do not count.

    Parameters
    ----------
    alarms, incidents : pairs, array of times, or table
        Intervals with both ends, or instants: pairs of start and stop, an array of times, or a table (or its path) with
        columns of start and stop, or one of times. Dates, or numbers.
    period : pairs, optional
        What was observed, as half-open periods. By default the time from the first to the last alarm or incident.
    ignore : pairs, optional
        Half-open periods to leave out, such as maintenance.
    early, delay : duration or number
        How long before its start and after its stop an alarm still belongs to an incident: "10min", a timedelta, or a
        number in the unit of numeric times.
    merge : duration or number, optional
        Alarms that begin at most this long after the end of another are one. By default none are joined.
    cooldown : duration or number, optional
        Alarms that start sooner than this after the last one are suppressed.
    within : duration or number, optional
        Also tell the share of incidents found that were found within this time.
    time_unit : str, optional
        Unit of times that are numbers, such as "s"; rates are then per day, otherwise per unit.

    Returns
    -------
    AlarmJudgement
        Counts, shares and rates with their limits, and times to detect.

    Raises
    ------
    ValueError, TypeError
        If times cannot be read, an interval ends before it starts, or dates stand beside numbers.

    See Also
    --------
    judge_alarm_files : several detectors and series, from files or tables.
    alarm_frontier : from a score per step.

    Examples
    --------
    >>> import pateval as pv
    >>> found = pv.judge_alarms([3, 40, 41, 90], [(5, 9), (60, 65)], period=[(0, 100)], early=2)
    >>> found.found, found.missed.tolist(), found.false, found.false_rate
    (1, [[60, 65]], 3, 0.03)
    >>> found.times_to_detect
    array([-2])
    """
    lists = [
        *(read_intervals(given, name) for given, name in ((alarms, "alarms"), (incidents, "incidents"))),
        *(read_periods(given, name) for given, name in ((period, "period"), (ignore, "ignore"))),
    ]
    clock = common_clock(lists, time_unit)
    fired, happened, periods, ignored = as_one_type(lists)
    policy = clock.policy(early, delay, merge, cooldown)
    moments = np.concatenate([fired.bounds.ravel(), happened.bounds.ravel()])
    observed = observed_time(None if period is None else periods.bounds, ignored.bounds, moments)
    part = match(fired.bounds, happened.bounds, observed, policy, kinds=happened.kinds)
    asked = None if within is None else clock.length(within, "within")
    return AlarmJudgement.of([part], clock, asked, has_period=period is not None)
