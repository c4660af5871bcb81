"""How good lists of alarms are, given the incidents: what was found, what was missed, and what it cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock, Figures, percent_limits, share
from pateval.alarms.matching import FALSE, FIRST, REPEAT, ROLES, SET_ASIDE, Matching, Number, Policy
from pateval.evaluation.paired import signed_ranks
from pateval.output.results import Result, Rows, TableResult, columns_of_records
from pateval.output.text_table import TERMINAL_WIDTH, beside_names, folded, plain

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

    def _joined(self, name: str) -> npt.NDArray[Any]:
        """A field of the matchings that is an array, of all series one after the other."""
        arrays = [getattr(part, name) for part in self.parts]
        return np.concatenate(arrays) if arrays else np.zeros((0, 2), dtype=np.int64)

    def _intervals(self, is_chosen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.clock.times(self._joined("incidents")[is_chosen].reshape(-1, 2))

    @cached_property
    def _role_counts(self) -> list[int]:
        return np.bincount(self._joined("roles").ravel(), minlength=len(ROLES)).tolist()

    @cached_property
    def incidents(self) -> int:
        """Incidents that count: some moment of them is observed."""
        return int(np.count_nonzero(self._joined("is_counted")))

    @property
    def found(self) -> int:
        """Incidents that an alarm meets."""
        return self._detection_times.size

    @cached_property
    def missed(self) -> npt.NDArray[Any]:
        """Start and stop of the incidents that were missed, as given."""
        return self._intervals(self._joined("is_counted") & ~self._joined("is_found"))

    @cached_property
    def left_out_intervals(self) -> npt.NDArray[Any]:
        """Start and stop of the incidents of which no moment is observed, as given."""
        return self._intervals(~self._joined("is_counted"))

    @property
    def left_out(self) -> int:
        """How many incidents were left out."""
        return len(self.left_out_intervals)

    @property
    def alarms(self) -> int:
        """Alarms, less those that are dropped, suppressed or set aside."""
        return self.first + self.repeat + self.false

    @property
    def first(self) -> int:
        """Alarms that are the first of some incident."""
        return self._role_counts[FIRST]

    @property
    def repeat(self) -> int:
        """Alarms that meet an incident without being its first."""
        return self._role_counts[REPEAT]

    @property
    def false(self) -> int:
        """Alarms that meet no incident."""
        return self._role_counts[FALSE]

    @property
    def set_aside(self) -> int:
        """Alarms that meet nothing but incidents that were left out; they are in no other figure."""
        return self._role_counts[SET_ASIDE]

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
        return self._joined("times_to_detect")[self._joined("is_found")]

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
        named = self._joined("kinds")[self._joined("is_counted")].tolist()
        return list(dict.fromkeys(kind for kind in named if kind is not None))

    def incident_list(self) -> list[dict[str, Any]]:
        """Incidents: when, what became of each, and how early or late its first alarm came."""
        rows = []
        for part in self.parts:
            outcomes = np.where(part.is_found, "found", np.where(part.is_counted, "missed", "left out"))
            columns = (part.incidents, part.kinds, outcomes, part.times_to_detect)
            for (start, stop), kind, outcome, time in zip(*(column.tolist() for column in columns), strict=True):
                row = {"series": part.series, "start": start, "stop": stop, "kind": kind, "outcome": outcome}
                rows.append(row | {"time_to_detect": time if outcome == "found" else None})
        return rows

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
        incidents = self.incident_list()
        missed = [incident for incident in incidents if incident["outcome"] == "missed"]
        for incident in missed[:_MISSED_SHOWN]:
            kind = "" if incident["kind"] is None else f" ({incident['kind']})"
            series = "" if incident["series"] is None else f" on {incident['series']}"
            lines.append(f"missed: {self.clock.interval(incident['start'], incident['stop'])}{kind}{series}")
        if len(missed) > _MISSED_SHOWN:
            lines.append(f"missed: {len(missed) - _MISSED_SHOWN} more (--format json lists all)")
        if self.left_out:
            first = next(incident for incident in incidents if incident["outcome"] == "left out")
            when = self.clock.interval(first["start"], first["stop"]) + (" first" if self.left_out > 1 else "")
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
            latest = f"latest {self.clock.lead(largest)}; before the start: {self.early_share:.0%}"
            within = ""
            if self.within is not None:
                within = f"; within {self.clock.duration(self.within)}: {self.share_within:.0%}"
            lines.append(f"time to detect: quartiles {spread}, {latest}{within}")
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
        rules = [f"an alarm belongs to an incident from {start} to {stop}"]
        if policy.merge is not None:
            rules.append(f"alarms at most {words(policy.merge)} apart are one")
        if policy.cooldown is not None:
            rules.append(f"an alarm sooner than {words(policy.cooldown)} after the last one is suppressed")
        return "; ".join(rules)

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


def found_by_one_only(one: AlarmJudgement, other: AlarmJudgement) -> tuple[int, int]:
    """How many incidents only the one found, and how many only the other; both are judged on the same incidents."""
    first, second = one._joined("is_found"), other._joined("is_found")
    return int(np.count_nonzero(first & ~second)), int(np.count_nonzero(second & ~first))


def compare_alarms(one: AlarmJudgement, other: AlarmJudgement) -> AlarmDifference:
    """Test two judgements of the same incidents and observed time against each other."""
    from scipy.stats import binomtest

    def evenly(count: int, total: int) -> float:
        return float(binomtest(count, total).pvalue) if total else 1.0

    is_by_both = one._joined("is_found") & other._joined("is_found")
    times = [judged._joined("times_to_detect")[is_by_both] for judged in (one, other)]
    differences = (times[0] - times[1]).astype(np.float64)
    unequal = differences[differences != 0]
    alone = found_by_one_only(one, other)
    return AlarmDifference(
        one.name,
        other.name,
        *alone,
        evenly(alone[0], sum(alone)),
        one.false,
        other.false,
        evenly(one.false, one.false + other.false),
        differences.size,
        float(np.median(differences)) if differences.size else math.nan,
        float(signed_ranks(unequal[None])[0][0]) if unequal.size else 1.0,
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

    def __post_init__(self) -> None:
        parts = [part for judgement in self.judgements for part in judgement.parts]
        names = [name for part in parts for name in (part.kinds.tolist() if self.by == "kind" else [part.series])]
        if self.by is not None and None in names:
            raise ValueError(
                f"by={self.by!r} needs a column that names the {self.by}, and there is none; name it with --{self.by} "
                f"({self.by}=...), or leave out --by (by=...)"
            )

    def __getitem__(self, detector: str) -> AlarmJudgement:
        return {judgement.name: judgement for judgement in self.judgements}[detector]

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
                about = {"detector": judgement.name} | ({} if self.by is None else {self.by: name})
                rows.append(about | part.figures())
        return columns_of_records(rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        content: dict[str, Any] = {"detectors": [judgement.to_dict() for judgement in self.judgements]}
        if self.by is not None:
            content[f"by_{self.by}"] = self.row_dicts()
        if self.difference is not None:
            content["difference"] = self.difference.to_dict()
        return plain(content | {"notes": self.notes})

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
                rows = [[self.by, *judgement.table()[0][1:]]]
                rows += [[name, *part.table()[1][0][1:]] for name, part in self.parts(judgement)]
                if self.by == "kind":  # false alarms are of no kind
                    rows = [[*row[:3], row[6]] for row in rows]
                blocks.append(beside_names(rows[0], rows[1:], width=width))
            name = [f"{judgement.name}:"] if len(self.judgements) > 1 else []
            blocks.append("\n".join([*name, *(folded(line, width) for line in judgement.remarks())]))
        if self.difference is not None:
            blocks.append(beside_names(*self.difference.table(self.judgements[0].clock), width=width))
        return "\n\n".join(blocks)
