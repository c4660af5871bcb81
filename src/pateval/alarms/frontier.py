"""From scores to a threshold: what each one finds and costs, and the lowest that a budget of false alarms allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock, Figures, percent_limits, share
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.lists import Intervals, ListReader, common_clock, recorded_times
from pateval.alarms.matching import Policy
from pateval.alarms.scored import ScoredSteps, incidents_by_series, scored_steps
from pateval.kernels.alarm_levels import NEVER
from pateval.output.results import Rows, TableResult
from pateval.output.text_table import plain
from pateval.thresholds.alarm_rates import lowest_allowed, read_alarm_rate
from pateval.time.clocks import Duration
from pateval.time.timelines import read_recording
from pateval.validation.arrays import IntArray
from pateval.validation.containers import times_of, to_numpy
from pateval.validation.wording import in_words

_CELLS_AT_ONCE = 5_000_000  # times to detect held at once, incidents by thresholds
_ROWS_SHOWN = 12
_COLUMNS = (
    *("threshold", "found", "incidents", "recall", "alarms", "false", "false_rate", "alarm_rate"),
    *("median_time_to_detect", "time_in_alarm", "share_in_alarm"),
)


@dataclass(frozen=True)
class FrontierRow(Figures):
    """One threshold: what its alarms find, and what they cost. Times are in units of the clock."""

    threshold: float  # steps with at least this score are flagged
    found: int
    incidents: int  # those that count
    alarms: int
    false: int  # alarms that meet no incident
    median_time_to_detect: float  # NaN where nothing is found
    time_in_alarm: float
    observed: float
    days: float  # observed time in days, or in units where no unit is known: what rates go over
    budgets: tuple[str, ...] = ()  # those for which this is the lowest allowed threshold

    @property
    def share_in_alarm(self) -> float:
        """Time in alarm as a share of observed time."""
        return share(self.time_in_alarm, self.observed)


@dataclass(frozen=True, repr=False)
class AlarmFrontier(TableResult):
    """Thresholds from the highest down: those at which more incidents are found, and those of the budgets.

    Attributes
    ----------
    rows : tuple of FrontierRow
        The thresholds.
    thresholds : dict of str to (float or None)
        The threshold of each budget; None where not even the highest score keeps it.
    steps : ScoredSteps
        The scores, which can be judged at every threshold.
    """

    rows: tuple[FrontierRow, ...]
    thresholds: dict[str, float | None]
    steps: ScoredSteps = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def clock(self) -> AlarmClock:
        """What a unit of the times is."""
        return self.steps.clock

    @property
    def observed(self) -> Fraction:
        """Length of observed time, in units of the clock."""
        return self.steps.observed

    @property
    def rate_unit(self) -> str:
        """What rates are per: "day" wherever a unit of time is known, otherwise "unit"."""
        return self.clock.rate_unit

    def judge(self, threshold: float, *, within: Duration | float | None = None) -> AlarmJudgement:
        """Everything about the alarms at a threshold."""
        asked = None if within is None else self.clock.length(within, "within")
        return self.steps.judge(float(threshold), asked)

    def of_budget(self, budget: str) -> FrontierRow | None:
        """The row that a budget chose; None where there is none."""
        return next((row for row in self.rows if budget in row.budgets), None)

    def columns(self) -> dict[str, Any]:
        """Return a row per threshold at full precision; times in units of the clock."""
        columns: dict[str, Any] = {}
        for name in _COLUMNS:
            columns[name] = [getattr(row, name) for row in self.rows]
            if name in ("recall", "false_rate"):
                limits = [getattr(row, f"{name}_limits") for row in self.rows]
                columns[f"{name}_low"], columns[f"{name}_high"] = ([pair[end] for pair in limits] for end in (0, 1))
        columns["budgets"] = [", ".join(row.budgets) for row in self.rows]
        return columns | {"rate_unit": [self.rate_unit] * len(self.rows)}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        figures = {"rate_unit": self.rate_unit, "observed": float(self.observed), "budgets": self.thresholds}
        return plain(figures | {"rows": self.row_dicts()})

    def table(self) -> Rows:
        """Columns and rows for people: budgets, and a choice of the other thresholds."""
        columns = ["threshold", "found", "95 %", f"false alarms per {self.clock.rate_words}", "median time to detect"]
        return [*columns, "time in alarm", "budget"], [
            [
                f"{row.threshold:.6g}",
                f"{row.found} of {row.incidents}",
                percent_limits(row.recall_limits),
                self.clock.rate_in_words(row.false_rate),
                self.clock.lead(row.median_time_to_detect),
                "-" if math.isnan(row.share_in_alarm) else f"{row.share_in_alarm:.1%}",
                ", ".join(row.budgets),
            ]
            for row in _chosen_rows(self.rows)
        ]

    def remarks(self) -> list[str]:
        """What the table means, in sentences."""
        lines = []
        hidden = len(self.rows) - len(_chosen_rows(self.rows))
        if hidden:
            lines.append(f"{hidden} more thresholds: --format csv has all of them")
        for budget, threshold in self.thresholds.items():
            row = self.of_budget(budget)
            if threshold is None or row is None:
                lines.append(f"budget {budget}: no threshold keeps it, not even the highest score")
                continue
            rate = f"{self.clock.rate_in_words(row.false_rate)} false alarms per {self.clock.rate_words}"
            lines.append(
                f"budget {budget}: flag scores from {threshold:.6g} on, which finds {row.found} of {row.incidents} "
                f"incidents at {rate} (oracle: the incidents chose it)"
            )
        if not self.rows and not self.thresholds:
            lines.append("no threshold finds an incident without flagging every step")
        return lines


def alarm_frontier(
    labels: npt.ArrayLike | None,
    scores: npt.ArrayLike,
    *,
    incidents: object = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    series: npt.ArrayLike | None = None,
    early: Duration | float = 0,
    delay: Duration | float = 0,
    merge: Duration | float | None = None,
    cooldown: Duration | float | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    budgets: str | Iterable[str] = (),
) -> AlarmFrontier:
    """Find out what each threshold finds and costs, and the lowest one that a budget of false alarms allows.

    Flagged steps that follow each other are one alarm. Candidates are the distinct scores, less one that flags every
    step. A budget chooses the lowest of them that keeps it together with all higher ones: lower thresholds may again
    have few false alarms, down to a single endless one.

    Parameters
    ----------
    labels : array-like of 0/1, or None
        Truth for each time step, whose runs are the incidents; None where ``incidents`` are given.
    scores : array-like of float
        The detector's scores, higher is more anomalous.
    incidents : pairs, array of times, table, or mapping of series to these, optional
        In place of labels, as in `judge_alarms`; a table of several series has a column that names them.
    times, time_unit, series
        When each step was recorded, and which series it belongs to, as in `evaluate`. Without times the clock counts
        steps.
    early, delay, merge, cooldown
        As in `judge_alarms`; numbers are steps without times, and units of times that are numbers.
    max_gap : duration, optional
        A longer hole ends an alarm, and is not observed.
    ignore : array-like of 0/1, optional
        Steps to leave out: they are not observed, and end no alarm.
    missing : {"error", "ignore", "normal"}
        What to do where a score is NaN or null, as in `evaluate`.
    budgets : str or iterable of str
        False alarms in so much time, or in so many steps: "1/1d", "5/1d", "2/1000".

    Returns
    -------
    AlarmFrontier
        The thresholds at which the number of incidents found changes, and those of the budgets, from the highest down.
        Scores of 0 and 1 have one candidate, 1; constant scores have none.

    Raises
    ------
    ValueError, TypeError
        If an input is not of the form described.

    Warnings
    --------
    A budget on false alarms uses the labels: it says what a detector could do, not what it will do on new data.
    With a cooldown every distinct score is judged one by one, which takes long for long series.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 1, 1, 0, 0, 0, 0, 1, 0]
    >>> scores = [1, 5, 2, 8, 1, 6, 1, 3, 4, 2]
    >>> found = pv.alarm_frontier(labels, scores, budgets="1/10")
    >>> [(row.threshold, row.found, row.false) for row in found.rows]
    [(8.0, 1, 0), (6.0, 1, 1), (4.0, 2, 2)]
    >>> found.thresholds
    {'1/10': 6.0}
    """
    if (labels is None) == (incidents is None):
        raise ValueError("pass labels or incidents: one of them says what is to be found, and the other is None")
    if scores is None:
        raise TypeError("scores must be one number per step; got None")
    wanted = [budgets] if isinstance(budgets, str) else list(budgets)
    for budget in wanted:
        if not isinstance(budget, str):
            raise TypeError(f"budgets must be texts such as '1/1d'; got {in_words(budget)}")
    truth = np.zeros(np.size(np.asarray(scores)), dtype=np.bool_) if labels is None else labels
    times = times_of(times, labels=truth, scores=scores)
    recording = read_recording(
        truth, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    ).as_given()  # as incidents are
    recording = replace(recording, names=_series_names(series, recording.starts))
    nanoseconds = None if recording.clock is None else recording.clock.nanoseconds
    # Numbers have no unit without time_unit; what else has one are dates, or differences in time.
    own_unit = None if nanoseconds is None or time_unit is not None else to_numpy(times, "times")
    has_dates = own_unit is not None and own_unit.dtype.kind != "m"
    recorded = recorded_times("the scores", own_unit)
    given = None if incidents is None else _incidents(incidents, recording.names, recorded)
    clock, policy = AlarmClock(nanoseconds, has_dates), Policy(early, delay, merge, cooldown)
    return frontier_of(scored_steps(recording, given, clock=clock, policy=policy), wanted)


def _series_names(names: object, starts: IntArray) -> tuple[str, ...]:
    """Names of the series, in order; none where there is one without a name."""
    values = [] if names is None else to_numpy(names, "series")[starts].tolist()
    try:
        return tuple(str(value) for value in values)
    except Exception:  # whatever an object raises that has no text
        raise TypeError(f"series must be names; got {in_words(values[0])}") from None


def _incidents(incidents: object, names: tuple[str, ...], recorded: Intervals) -> dict[str | None, Intervals]:
    """Incidents by series, on the clock of the scores: of a mapping of lists, or of one list."""
    given: dict[str | None, Intervals]
    if isinstance(incidents, Mapping) and names and set(incidents) <= set(names):
        given = {name: ListReader().read(incidents.get(name), f"incidents of {name!r}") for name in names}
        common_clock([recorded, *given.values()], None)
        return given
    listed = ListReader().read(incidents, "incidents")
    common_clock([recorded, listed], None)
    return incidents_by_series(listed, names)


def frontier_of(steps: ScoredSteps, budgets: Sequence[str]) -> AlarmFrontier:
    """Find the thresholds; `alarm_frontier` says which."""
    thresholds, lowest = steps.thresholds, steps.lowest_candidate
    allowed = {budget: _allowed_false_alarms(budget, steps) for budget in budgets}
    found, alarms, false = _counts(steps)
    chosen = {budget: lowest_allowed(false, limit, lowest) for budget, limit in allowed.items()}
    is_shown = np.diff(found, append=0) != 0
    is_shown[[rank for rank in chosen.values() if rank is not None]] = True
    ranks = lowest + np.flatnonzero(is_shown[lowest:])[::-1]
    medians, in_alarm = _times(steps, ranks)
    rows = [
        FrontierRow(
            threshold=float(thresholds[rank]),
            found=int(found[rank]),
            incidents=int(np.count_nonzero(steps.levels.is_counted)),
            alarms=int(alarms[rank]),
            false=int(false[rank]),
            median_time_to_detect=median,
            time_in_alarm=time,
            observed=float(steps.observed),
            days=steps.days,
            budgets=tuple(budget for budget, own in chosen.items() if own == rank),
        )
        for rank, median, time in zip(ranks.tolist(), medians, in_alarm, strict=True)
    ]
    levels = {budget: None if rank is None else float(thresholds[rank]) for budget, rank in chosen.items()}
    return AlarmFrontier(tuple(rows), levels, steps)


def _allowed_false_alarms(budget: str, steps: ScoredSteps) -> Fraction:
    """How many false alarms a budget allows in the time that was observed, as an exact fraction."""
    try:
        rate, per = read_alarm_rate(budget, budget)
    except ValueError:
        raise ValueError(
            "a budget must be a number of false alarms in a duration or a number of steps, as in 1/1d or 2/1000; got "
            f"{in_words(budget)}"
        ) from None
    exact = Fraction(str(rate))
    if isinstance(per, int):
        return exact * steps.joined("times").size / per
    if steps.clock.nanoseconds is None:
        raise ValueError(
            f"budget {in_words(budget)} is in time, and the steps have no times of a known unit: name their column "
            "with --time (times=...), or say what one unit is with --time-unit (time_unit=...)"
        )
    return exact * steps.observed / Fraction(steps.clock.length(per, "budgets"))


def _counts(steps: ScoredSteps) -> tuple[IntArray, IntArray, IntArray]:
    """Incidents found, alarms and false ones at each threshold, as sums over steps and cuts."""
    if steps.policy.cooldown is not None:  # an alarm depends on those before it: every threshold is judged by itself
        judgements = (steps.judge(threshold) for threshold in steps.thresholds.tolist())
        counts = np.array([(judged.found, judged.alarms, judged.false) for judged in judgements], dtype=np.intp)
        found, alarms, false = counts.reshape(-1, 3).T
        return found, alarms, false
    levels, false = steps.levels, steps.false_alarms
    found = levels.found_at.size - np.searchsorted(np.sort(levels.found_at), np.arange(false.size), side="left")
    set_aside = levels.outside(levels.is_counted) - false
    return found, levels.alarms() - set_aside, false


def _times(steps: ScoredSteps, ranks: IntArray) -> tuple[list[float], list[float]]:
    """Median time to detect and time in alarm at some thresholds."""
    if steps.policy.cooldown is not None:
        judgements = [steps.judge(threshold) for threshold in steps.thresholds[ranks].tolist()]
        medians = [judged.detection_quantiles()[1] for judged in judgements]
        return medians, [float(judged.length_in_alarm) for judged in judgements]
    levels, step_times, early = steps.levels, steps.joined("times"), float(steps.policy.early)
    starts = np.concatenate([series.incidents[:, 0] for series in steps.series])
    middles = np.full(ranks.size, np.nan)
    places = np.flatnonzero(ranks <= levels.found_at.max(initial=NEVER))  # where an incident is found
    at_once = max(1, _CELLS_AT_ONCE // max(1, starts.size))
    for first in range(0, places.size, at_once):
        block = places[first : first + at_once]
        times = np.sort(levels.detection_times(ranks[block], step_times, starts, early), axis=0)  # NaN come last
        numbers, columns = np.count_nonzero(~np.isnan(times), axis=0), np.arange(block.size)
        middles[block] = (times[(numbers - 1) // 2, columns] + times[numbers // 2, columns]) / 2
    return middles.tolist(), levels.in_alarm(steps.joined("lengths"))[ranks].tolist()


def _chosen_rows(rows: Sequence[FrontierRow]) -> list[FrontierRow]:
    """Rows of budgets, and of the others as many as a screen holds, evenly apart."""
    if len(rows) <= _ROWS_SHOWN:
        return list(rows)
    places = set(np.linspace(0, len(rows) - 1, _ROWS_SHOWN).astype(int).tolist())
    return [row for place, row in enumerate(rows) if place in places or row.budgets]
