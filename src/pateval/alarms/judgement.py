"""How good a list of alarms is, given the incidents: what was found, what was missed, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock
from pateval.alarms.figures import Figures, percent_limits, share
from pateval.alarms.intervals import OF_INCIDENTS, Columns, as_one_type, common_clock, read_intervals, read_periods
from pateval.alarms.matching import (
    FALSE,
    FIRST,
    REPEAT,
    ROLES,
    SET_ASIDE,
    Matching,
    Number,
    Policy,
    match,
    observed_time,
)
from pateval.output.results import Rows, TableResult
from pateval.output.text_table import plain
from pateval.time.clocks import Duration

ENDLESS = 0.2  # share of observed time in alarm above which the sentence opens with it
_MISSED_SHOWN = 5
_COUNTS = ("alarms", "first", "repeat", "false", "set_aside", "dropped", "suppressed")


@dataclass(frozen=True, repr=False)
class AlarmJudgement(Figures, TableResult):
    """Alarms of one detector held against incidents; what `judge_alarms` gives. Prints as a table.

    Counts are sums over series. Intervals are dates where the times are dates, and lengths are time differences there;
    otherwise both are numbers.

    Attributes
    ----------
    parts : tuple of Matching
        The series.
    clock : AlarmClock
        What a unit of the times is.
    within : number or None
        The time asked for, in units of the clock.
    has_period : bool
        Whether a period was given; without one, the time from the first to the last alarm or incident is observed.
    policy : Policy
        How alarms were counted, in units of the clock.
    name : str
        The detector.
    """

    parts: tuple[Matching, ...]
    clock: AlarmClock
    policy: Policy
    within: Number | None = None
    has_period: bool = True
    name: str = "alarms"

    def _sum(self, role: int) -> int:
        return sum(int(np.count_nonzero(part.roles == role)) for part in self.parts)

    def _intervals(self, pairs: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return self.clock.times(np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64))

    @cached_property
    def incidents(self) -> int:
        """Incidents that count: some moment of them is observed."""
        return sum(int(np.count_nonzero(part.is_counted)) for part in self.parts)

    @property
    def found(self) -> int:
        """Incidents that an alarm meets."""
        return self._detection_times.size

    @cached_property
    def missed(self) -> npt.NDArray[Any]:
        """Start and stop of the incidents that were missed, as given."""
        return self._intervals([part.incidents[part.is_counted & ~part.is_found] for part in self.parts])

    @cached_property
    def left_out_intervals(self) -> npt.NDArray[Any]:
        """Start and stop of the incidents of which no moment is observed, as given."""
        return self._intervals([part.incidents[~part.is_counted] for part in self.parts])

    @property
    def left_out(self) -> int:
        """How many incidents were left out."""
        return len(self.left_out_intervals)

    @property
    def alarms(self) -> int:
        """Alarms, less those that are dropped, suppressed or set aside."""
        return self.first + self.repeat + self.false

    @cached_property
    def first(self) -> int:
        """Alarms that are the first of some incident."""
        return self._sum(FIRST)

    @cached_property
    def repeat(self) -> int:
        """Alarms that meet an incident without being its first."""
        return self._sum(REPEAT)

    @cached_property
    def false(self) -> int:
        """Alarms that meet no incident."""
        return self._sum(FALSE)

    @cached_property
    def set_aside(self) -> int:
        """Alarms that meet nothing but incidents that were left out; they are in no other figure."""
        return self._sum(SET_ASIDE)

    @property
    def dropped(self) -> int:
        """Alarms outside observed time."""
        return sum(part.dropped for part in self.parts)

    @property
    def suppressed(self) -> int:
        """Alarms within the cooldown of another."""
        return sum(part.suppressed for part in self.parts)

    @property
    def observed_length(self) -> Number:
        """Length of observed time, in units of the clock."""
        return sum((part.observed.length for part in self.parts), 0)

    @property
    def length_in_alarm(self) -> Number:
        """Length of the union of the alarms within observed time, in units of the clock."""
        return sum((part.time_in_alarm for part in self.parts), 0)

    @property
    def observed(self) -> Any:
        """Length of observed time."""
        return self.clock.length_given(self.observed_length)

    @property
    def time_in_alarm(self) -> Any:
        """Length of the union of the alarms within observed time."""
        return self.clock.length_given(self.length_in_alarm)

    @property
    def share_in_alarm(self) -> float:
        """Time in alarm as a share of observed time."""
        return share(float(self.length_in_alarm), float(self.observed_length))

    @property
    def days(self) -> float:
        """Observed time in days, or in units where no unit is known: what rates go over."""
        return self.clock.in_rate_units(self.observed_length)

    @cached_property
    def _detection_times(self) -> npt.NDArray[Any]:
        times = [part.times_to_detect[part.is_found] for part in self.parts]
        return np.concatenate(times) if times else np.zeros(0)

    @property
    def times_to_detect(self) -> npt.NDArray[Any]:
        """Time from start to first alarm of each incident found, in the order given; below zero is an early warning."""
        return self.clock.lengths(self._detection_times)

    @property
    def rate_unit(self) -> str:
        """What rates are per: "day" wherever a unit of time is known, otherwise "unit"."""
        return self.clock.rate_unit

    @property
    def early_share(self) -> float:
        """Share of the incidents found that were announced before they began."""
        return float(np.mean(self._detection_times < 0)) if self.found else math.nan

    @property
    def share_within(self) -> float:
        """Share of the incidents found at most ``within`` after their start; NaN where that is not asked for."""
        if self.within is None or not self.found:
            return math.nan
        return float(np.mean(self._detection_times <= float(self.within)))

    def detection_quantiles(self) -> tuple[float, float, float, float]:
        """Lower quartile, median, upper quartile and largest of the times to detect, in units of the clock."""
        if not self.found:
            return (math.nan,) * 4
        low, middle, high = np.quantile(self._detection_times, [0.25, 0.5, 0.75]).tolist()
        return low, middle, high, float(self._detection_times.max())

    def of_series(self, name: str | None) -> AlarmJudgement:
        """The judgement of one series."""
        return replace(self, parts=tuple(part for part in self.parts if part.series == name))

    def of_kind(self, kind: str) -> AlarmJudgement:
        """Recall and time to detect of one kind of incidents; the alarms stay those of all."""
        return replace(self, parts=tuple(part.of_kind(kind) for part in self.parts))

    @property
    def kinds(self) -> list[str]:
        """Kinds of the incidents that count."""
        named = [part.kinds[part.is_counted].tolist() for part in self.parts if part.kinds is not None]
        return list(dict.fromkeys(kind for kinds in named for kind in kinds))

    def incident_list(self) -> list[dict[str, Any]]:
        """Incidents: when, what became of each, and how early or late its first alarm came."""
        found = []
        for part in self.parts:
            kinds = [None] * len(part.incidents) if part.kinds is None else part.kinds.tolist()
            for place, (start, stop) in enumerate(part.incidents.tolist()):
                is_found = bool(part.is_found[place])
                outcome = "found" if is_found else "missed" if part.is_counted[place] else "left out"
                time = part.times_to_detect[place].item() if is_found else None
                when = {"series": part.series, "start": start, "stop": stop, "kind": kinds[place]}
                found.append(when | {"outcome": outcome, "time_to_detect": time})
        return found

    def alarm_list(self) -> list[dict[str, Any]]:
        """Alarms after merge and cooldown: when, and what each is."""
        return [
            {"series": part.series, "start": start, "stop": stop, "role": ROLES[role]}
            for part in self.parts
            for (start, stop), role in zip(part.alarms.tolist(), part.roles.tolist(), strict=True)
        ]

    def figures(self) -> dict[str, Any]:
        """All figures by name, at full precision; lengths in units of the clock."""
        low, middle, high, largest = self.detection_quantiles()
        figures: dict[str, Any] = {"detector": self.name, "incidents": self.incidents, "found": self.found}
        figures |= {"missed": self.incidents - self.found, "left_out": self.left_out}
        figures |= {name: getattr(self, name) for name in _COUNTS} | {"rate_unit": self.rate_unit}
        for name in ("recall", "precision", "false_rate", "alarm_rate"):
            figures[name] = getattr(self, name)
            figures[f"{name}_low"], figures[f"{name}_high"] = getattr(self, f"{name}_limits")
        figures |= {"ttd_lower_quartile": low, "ttd_median": middle, "ttd_upper_quartile": high, "ttd_largest": largest}
        figures |= {name: getattr(self, name) for name in ("early_share", "share_within", "share_in_alarm")}
        figures["observed"] = float(self.observed_length)
        figures["time_in_alarm"] = float(self.length_in_alarm)
        return figures

    def columns(self) -> dict[str, Any]:
        """One row of all `figures`."""
        return {name: [figure] for name, figure in self.figures().items()}

    def to_dict(self) -> dict[str, Any]:
        """All figures, incidents and alarms as plain data that JSON can carry, with None for what is undefined."""
        lists = {"incident_list": self.incident_list(), "alarm_list": self.alarm_list()}
        for row in (row for rows in lists.values() for row in rows):
            row |= {name: self.clock.written(row[name]) for name in ("start", "stop")}
        words = {"rules": self.rules(), "sentence": self.sentence()}
        return plain(self.figures() | words | lists)

    def table(self) -> Rows:
        """Columns and one row of the main figures, for people."""
        low, high = self.false_rate_limits
        limits = "-" if math.isnan(low) else f"{self.clock.rate_in_words(low)}–{self.clock.rate_in_words(high)}"
        columns = ["detector", "found", "95 %", f"false alarms per {self.clock.rate_words}", "95 %", "repeats"]
        found = [f"{self.found:,} of {self.incidents:,}", percent_limits(self.recall_limits)]
        cost = [self.clock.rate_in_words(self.false_rate), limits, f"{self.repeat:,}"]
        median = self.clock.lead(self.detection_quantiles()[1])
        return [*columns, "median time to detect"], [[self.name, *found, *cost, median]]

    def remarks(self) -> list[str]:
        """What the table does not show, in sentences; the last one says what it means."""
        lines = []
        by_outcome: dict[str, list[dict[str, Any]]] = {"found": [], "missed": [], "left out": []}
        for incident in self.incident_list():
            by_outcome[incident["outcome"]].append(incident)
        missed = by_outcome["missed"]
        for incident in missed[:_MISSED_SHOWN]:
            kind = "" if incident["kind"] is None else f" ({incident['kind']})"
            series = "" if incident["series"] is None else f" on {incident['series']}"
            lines.append(f"missed: {self.clock.interval(incident['start'], incident['stop'])}{kind}{series}")
        if len(missed) > _MISSED_SHOWN:
            lines.append(f"missed: {len(missed) - _MISSED_SHOWN} more (--format json lists all)")
        if self.left_out:
            outside = by_outcome["left out"][0]
            when = self.clock.interval(outside["start"], outside["stop"]) + (" first" if self.left_out > 1 else "")
            lines.append(f"left out, since no moment of them is observed: {self.left_out} ({when})")
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
        return [*lines, self.observed_words(), "", self.sentence()]

    def observed_words(self) -> str:
        """How long was observed, in words."""
        where = "" if self.has_period else ", from the first to the last alarm or incident (no period is given)"
        return f"observed: {self.clock.duration(self.observed_length)}{where}"

    def rules(self) -> str:
        """How alarms were counted, in words."""
        words, policy = self.clock.duration, self.policy
        start = f"{words(policy.early)} before its start" if policy.early else "its start"
        stop = f"{words(policy.delay)} after its end" if policy.delay else "its end"
        found = [f"an alarm belongs to an incident from {start} to {stop}"]
        if policy.merge is not None:
            found.append(f"alarms at most {words(policy.merge)} apart are one")
        if policy.cooldown is not None:
            found.append(f"an alarm sooner than {words(policy.cooldown)} after the last one is suppressed")
        return "; ".join(found)

    def sentence(self) -> str:
        """What it means, in one sentence."""
        opening, found = "", "there was no incident to find"
        if self.share_in_alarm > ENDLESS:
            much = f"{self.share_in_alarm:.0%}"
            opening = f"{self.name} is in alarm {much} of the time, and an endless alarm finds everything: "
        if self.incidents:
            low, high = self.recall_limits
            found = f"found {self.found:,} of {self.incidents:,} incidents ({low:.0%} to {high:.0%})"
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
    time_zone: str | None = None,
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
    time_zone : str, optional
        Where dates without a time zone were recorded, such as "Europe/Berlin"; without it dates with a zone and dates
        without one do not go together.

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
    columns = Columns(time_zone=time_zone)
    lists = [
        read_intervals(alarms, "alarms", columns),
        read_intervals(incidents, "incidents", columns, OF_INCIDENTS),
        *(read_periods(given, name, columns) for given, name in ((period, "period"), (ignore, "ignore"))),
    ]
    for one in lists:
        if one.series is not None and len(set(one.series)) > 1:
            raise ValueError(f"{one.where} must be of one series; pateval.judge_alarm_files judges several")
    clock = common_clock(lists, time_unit)
    fired, happened, periods, ignored = as_one_type(lists)
    policy = clock.policy(Policy(early, delay, merge, cooldown))
    moments = np.concatenate([fired.bounds.ravel(), happened.bounds.ravel()])
    observed = observed_time(None if period is None else periods.bounds, ignored.bounds, moments)
    part = match(fired.bounds, happened.bounds, observed, policy, kinds=happened.kinds)
    asked = None if within is None else clock.length(within, "within")
    return AlarmJudgement((part,), clock, policy, asked, has_period=period is not None)
