"""From scores to a threshold: what each one finds and costs, and the lowest that a budget of false alarms allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock
from pateval.alarms.figures import Figures, percent_limits, share
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.matching import Policy
from pateval.alarms.scored import ScoredSteps, scored_steps
from pateval.output.results import Rows, TableResult
from pateval.output.text_table import plain
from pateval.thresholds.alarm_rates import lowest_allowed, read_alarm_rate
from pateval.time.clocks import Duration
from pateval.time.dates import date_text, has_zone
from pateval.time.timelines import Recording, read_recording
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
        found: dict[str, Any] = {}
        for name in _COLUMNS:
            found[name] = [getattr(row, name) for row in self.rows]
            if name in ("recall", "false_rate"):
                limits = [getattr(row, f"{name}_limits") for row in self.rows]
                found[f"{name}_low"], found[f"{name}_high"] = ([pair[place] for pair in limits] for place in (0, 1))
        found["budgets"] = [", ".join(row.budgets) for row in self.rows]
        return found | {"rate_unit": [self.rate_unit] * len(self.rows)}

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
    policy = Policy(early, delay, merge, cooldown)
    return frontier_of(
        scored_steps(recording, incidents, clock=_clock(recording, times, time_unit), policy=policy), wanted
    )


def _series_names(names: object, starts: IntArray) -> tuple[str, ...]:
    """Names of the series, in order; none where there is one without a name."""
    values = [] if names is None else to_numpy(names, "series")[starts].tolist()
    try:
        return tuple(str(value) for value in values)
    except Exception:  # whatever an object raises that has no text
        raise TypeError(f"series must be names; got {in_words(values[0])}") from None


def _clock(recording: Recording, times: object, time_unit: str | None) -> AlarmClock:
    """The clock of a recording; steps where it has none."""
    if recording.clock is None:
        return AlarmClock()
    # Numbers have no unit without time_unit; what else has one are dates, or differences in time, which are numbers.
    is_difference = getattr(getattr(times, "dtype", None), "kind", "") == "m"
    has_dates = recording.clock.nanoseconds is not None and time_unit is None and not is_difference
    if not has_dates:
        return AlarmClock(recording.clock.nanoseconds)
    dates = to_numpy(times, "times")
    return AlarmClock(recording.clock.nanoseconds, True, date_text(dates), has_zone(dates))


def frontier_of(steps: ScoredSteps, budgets: Sequence[str]) -> AlarmFrontier:
    """Find the thresholds; `alarm_frontier` says which."""
    allowed = {budget: _allowed_false_alarms(budget, steps) for budget in budgets}
    find = _rows_by_sums if steps.policy.cooldown is None else _rows_one_by_one
    rows, chosen = find(steps, allowed)
    for place, row in enumerate(rows):
        kept = tuple(budget for budget, threshold in chosen.items() if threshold == row.threshold)
        rows[place] = replace(row, budgets=kept)
    return AlarmFrontier(tuple(rows), chosen, steps)


def _row(steps: ScoredSteps, counts: Sequence[Any]) -> FrontierRow:
    """A row of counts, in the order of the fields, over the time that was observed."""
    over: dict[str, Any] = {"observed": float(steps.observed), "days": steps.days}
    return FrontierRow(*counts, **over)


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
        return exact * steps.times.size / per
    if steps.clock.nanoseconds is None:
        raise ValueError(
            f"budget {in_words(budget)} is in time, and the steps have no times of a known unit: name their column "
            "with --time (times=...), or say what one unit is with --time-unit (time_unit=...)"
        )
    return exact * steps.observed / Fraction(steps.clock.length(per, "budgets"))


def _rows_by_sums(
    steps: ScoredSteps, allowed: dict[str, Fraction]
) -> tuple[list[FrontierRow], dict[str, float | None]]:
    """All thresholds at once: counts are sums over steps and cuts, as `pateval.kernels.alarm_levels` has them."""
    levels, thresholds, lowest = steps.levels, steps.thresholds, steps.lowest_candidate
    everything = np.ones(levels.is_counted.size, dtype=np.bool_)
    outside_counted, false = levels.outside(levels.is_counted), levels.outside(everything)
    alarms = levels.alarms() - (outside_counted - false)
    chosen = {budget: lowest_allowed(false, limit, lowest) for budget, limit in allowed.items()}
    wanted = {rank for rank in chosen.values() if rank is not None}
    found_at = np.sort(levels.found_at)
    ranks = np.array(sorted(wanted | set(found_at[found_at >= lowest].tolist()), reverse=True), dtype=np.intp)
    found = found_at.size - np.searchsorted(found_at, ranks, side="left")
    incidents = np.full(ranks.size, np.count_nonzero(levels.is_counted))
    in_alarm = levels.in_alarm(steps.lengths)[ranks]
    columns = (thresholds[ranks], found, incidents, alarms[ranks], false[ranks], _medians(steps, ranks), in_alarm)
    rows = [_row(steps, counts) for counts in zip(*(np.asarray(column).tolist() for column in columns), strict=True)]
    return rows, {budget: None if rank is None else float(thresholds[rank]) for budget, rank in chosen.items()}


def _medians(steps: ScoredSteps, ranks: npt.NDArray[np.intp]) -> list[float]:
    found: list[float] = []
    at_once = max(1, _CELLS_AT_ONCE // max(1, steps.incident_starts.size))
    for first in range(0, ranks.size, at_once):
        block = ranks[first : first + at_once]
        times = steps.levels.detection_times(block, steps.times, steps.incident_starts, float(steps.policy.early))
        is_found = ~np.isnan(times)
        ordered = np.sort(np.append(times, np.full((1, block.size), np.nan), axis=0), axis=0)  # NaN come last
        counts = is_found.sum(axis=0)
        places = np.arange(block.size)
        middle = (ordered[np.maximum(counts - 1, 0) // 2, places] + ordered[counts // 2, places]) / 2
        found += np.where(counts > 0, middle, np.nan).tolist()
    return found


def _rows_one_by_one(
    steps: ScoredSteps, allowed: dict[str, Fraction]
) -> tuple[list[FrontierRow], dict[str, float | None]]:
    """With a cooldown an alarm depends on those before it: every threshold is judged by itself."""
    chosen: dict[str, float | None] = dict.fromkeys(allowed)
    open_budgets, rows, found_before = dict(allowed), [], 0
    for threshold in steps.thresholds[steps.lowest_candidate :][::-1].tolist():
        judged = steps.judge(threshold)
        open_budgets = {budget: limit for budget, limit in open_budgets.items() if judged.false <= limit}
        chosen |= dict.fromkeys(open_budgets, threshold)
        median, in_alarm = judged.detection_quantiles()[1], float(judged.length_in_alarm)
        counts = (judged.found, judged.incidents, judged.alarms, judged.false, median, in_alarm)
        rows.append((_row(steps, (threshold, *counts)), judged.found != found_before))
        found_before = judged.found
    kept = set(chosen.values())
    return [row for row, has_changed in rows if has_changed or row.threshold in kept], chosen


def _chosen_rows(rows: Sequence[FrontierRow]) -> list[FrontierRow]:
    """Rows of budgets, and of the others as many as a screen holds, evenly apart."""
    if len(rows) <= _ROWS_SHOWN:
        return list(rows)
    places = set(np.linspace(0, len(rows) - 1, _ROWS_SHOWN).astype(int).tolist())
    return [row for place, row in enumerate(rows) if place in places or row.budgets]
