"""The audit of labels alone: every metric on detectors that should not win, beside a real and a perfect one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.auditing.fakes import (
    BATTERY,
    PERFECT,
    RANDOM,
    REAL,
    Fake,
    as_many_as,
    counted_labels,
    judged,
    series_with_anomalies,
)
from pateval.auditing.probes import Findings, probe
from pateval.catalog import PROPERTIES, MetricLike, initials
from pateval.catalog.metric import BEST, Metric
from pateval.evaluation.measures import Measures
from pateval.evaluation.notes import common_interval, require_clock
from pateval.evaluation.values import Value, mean_values
from pateval.labels.events import find_events
from pateval.output.results import Result, columns_of_records
from pateval.output.text_table import TERMINAL_WIDTH, cell_text, folded, plain, render
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, read_recording
from pateval.validation.arrays import Buffers, positive_integer, require_anomaly
from pateval.validation.wording import counted

FAKES = tuple(fake.name for fake in BATTERY if fake.kind in ("worthless", "poor"))
WORTHLESS = frozenset(fake.name for fake in BATTERY if fake.kind == "worthless")
_TIE = 1e-9


class MetricRows(Result):
    """A row per metric, found by its id; the results of both audits are such tables."""

    rows: Sequence[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, metric: str) -> Any:
        """Row of one metric, by its id or, where it was judged at its own best, by its id without the threshold."""
        for row in self.rows:
            if metric in (row.metric.id, row.metric.plain_id):
                return row
        raise KeyError(metric)

    def columns(self) -> dict[str, Any]:
        """Columns for programs, at full precision."""
        return columns_of_records([row.record() for row in self.rows])


@dataclass(frozen=True)
class AuditRow:
    """What one metric says of the battery.

    Attributes
    ----------
    metric : Metric
        Which metric.
    values : mapping of str to float
        Value of each detector of the battery, the mean over the draws where it depends on chance; NaN if undefined.
    spreads : mapping of str to float
        Standard deviation over the draws; 0 where there is no chance in it.
    reasons : mapping of str to str
        Why a value is undefined.
    findings : Findings
        What the metric rewards, measured by `probe`.
    """

    metric: Metric
    values: Mapping[str, float]
    spreads: Mapping[str, float]
    reasons: Mapping[str, str]
    findings: Findings

    @property
    def label(self) -> str:
        """Name in tables: with "(best)" where it is judged at its own best threshold."""
        return f"{self.metric.plain_id} ({BEST})" if self.metric.threshold == BEST else self.metric.id

    @property
    def chance(self) -> float:
        """Mean value of uniform random scores."""
        return self.values[RANDOM]

    @property
    def spread(self) -> float:
        """Standard deviation of the value of uniform random scores."""
        return self.spreads[RANDOM]

    def _lead(self, name: str) -> float:
        """How much better than the real detector one of the battery is."""
        difference = self.values[name] - self.values[REAL]
        return difference if self.metric.higher_is_better else -difference

    @property
    def beaten_by(self) -> tuple[str, ...]:
        """The fakes that get a better value than the real detector, ties not counted."""
        return tuple(name for name in FAKES if self._lead(name) > _TIE)

    @property
    def best_fake(self) -> str:
        """The best of those, with the number of others: "always_on +2"; empty where there is none."""
        best, others = max(self.beaten_by, key=self._lead, default=""), len(self.beaten_by) - 1
        return f"{best} +{others}" if others > 0 else best

    @property
    def fooled(self) -> bool:
        """Whether a detector that finds nothing but by luck gets a better value than the real one."""
        return not WORTHLESS.isdisjoint(self.beaten_by)

    def record(self) -> dict[str, Any]:
        """All of it for programs, at full precision."""
        return {
            "metric": self.metric.id,
            "higher_is_better": self.metric.higher_is_better,
            **{fake.name: self.values[fake.name] for fake in BATTERY},
            "chance_spread": self.spread,
            "beaten_by": " ".join(self.beaten_by),
            "fooled": self.fooled,
            "early_from_late": self.findings.early_from_late,
            **{name: name in self.findings.properties for name in PROPERTIES},
            "reasons": " ".join(f"{name}: {reason}" for name, reason in self.reasons.items()),
        }


@dataclass(frozen=True, repr=False)
class Audit(MetricRows):
    """Every metric on a battery of detectors that should not win.

    Attributes
    ----------
    rows : tuple of AuditRow
        One per metric.
    steps, events, anomalous : int
        Size of the labels, of the series that hold an anomaly.
    seeds, seed : int
        How many draws were made of each detector that depends on chance, and from which seed.
    """

    rows: tuple[AuditRow, ...]
    steps: int
    events: int
    anomalous: int
    seeds: int
    seed: int

    @property
    def fooled(self) -> tuple[str, ...]:
        """The metrics under which a worthless detector beats the real one."""
        return tuple(row.metric.id for row in self.rows if row.fooled)

    def table(self, *, wide: bool = True) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows for people.

        Parameters
        ----------
        wide : bool
            False leaves out what a terminal of 80 characters has no room for, and of the fakes that beat the real
            detector names the best and counts the others.
        """
        if not wide:
            return ["metric", "chance", REAL, "rewards", "real is beaten by"], [
                [row.label, row.chance, row.values[REAL], initials(row.findings.properties), row.best_fake]
                for row in self.rows
            ]
        detectors = ("constant", "always_on", REAL, PERFECT)
        columns = ["metric", "chance", *detectors, "early/late", "rewards", "paper", "real is beaten by"]
        return columns, [
            [
                row.label,
                "-" if math.isnan(row.chance) else f"{cell_text(row.chance)} ± {cell_text(row.spread)}",
                *(row.values[name] for name in detectors),
                "told apart" if row.findings.early_from_late else "alike",
                initials(row.findings.properties),
                "" if (claimed := row.metric.paper_properties) is None else initials(claimed),
                ", ".join(row.beaten_by),
            ]
            for row in self.rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined."""
        about = {name: getattr(self, name) for name in ("steps", "events", "anomalous", "seeds", "seed")}
        return plain({"metrics": [row.record() for row in self.rows], **about})

    def rendered(self, style: str, width: int | None = TERMINAL_WIDTH) -> str:
        """The result in one of the formats of the command line."""
        if style in ("json", "csv"):
            return render(*self.records(), style)
        return render(*self.table(wide=style != "table" or width is None), style, width=width)

    def summary(self) -> str:
        """One sentence."""
        return (
            f"{len(self.fooled)} of {len(self)} metrics give a worthless detector more than the real one "
            f"({self.steps:,} steps, {self.events:,} events, {self.anomalous / self.steps:.1%} anomalous, "
            f"{counted(self.seeds, 'draw')} from seed {self.seed})"
        )

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        columns, rows = self.table()
        words = ("metric", "early/late", "rewards", "paper", "real is beaten by")
        return fragment(self.summary(), tables=[FragmentTable(columns, rows, [name not in words for name in columns])])

    def __repr__(self) -> str:
        return f"{render(*self.table(wide=False), width=TERMINAL_WIDTH)}\n{folded(self.summary())}"


def audit(
    labels: npt.ArrayLike,
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    seeds: int = 20,
    seed: int = 0,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Show which metrics can be fooled on these labels.

    Every metric judges a battery of detectors made from the labels (`pateval.auditing.BATTERY` describes them). Six are
    worthless: uniform random scores, a constant score, everything flagged, a random step per typical event length,
    spikes at regular intervals, the labels inverted. Four are poor: one step per event, every event moved ahead or
    back by its own length, and the real detector with every other step of its alarms switched off.

    The real detector they should not beat finds nine of ten events, a tenth of their length late at both ends, each
    with an alarm of a height drawn between 0.5 and 1; it raises a false alarm of typical length for every four events,
    at least one, of a height drawn between 0.25 and 0.75; elsewhere its score is noise below 0.5, and on alarms noise
    of 0.1. Where a detector has graded scores, as many steps are flagged as are anomalous; metrics that name a
    threshold, as ``point_adjusted_f1(threshold=best)`` does, choose it themselves.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    early, delay : int, duration or iterable of these
        Buffer lengths for PATE and its kin.
    window : int or duration
        Largest window of VUS and range-AUC.
    metrics : str, Metric, function, or iterable of these, optional
        As for `evaluate`; the whole catalogue by default.
    seeds : int
        How many draws to make of each detector that depends on chance; their mean counts.
    seed : int
        Where the draws begin: the same seed gives the same audit.
    series : array-like, optional
        Which series each step belongs to. Detectors are made, and judged, on each series that holds an anomaly; every
        value is the mean over the series where it is defined.
    times, time_unit, max_gap
        The clock, as for `evaluate`.
    ignore : array-like of 0/1, optional
        Steps left out, as for `evaluate`; detectors are made from what remains.
    progress : callable, optional
        Called with the number of evaluations done and their total.

    Returns
    -------
    Audit
        Per metric: the chance level and its spread, the value of every detector, the fakes that beat the real one,
        and what the metric rewards (`probe`).

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.

    Examples
    --------
    >>> labels = np.zeros(1000, dtype=int)
    >>> labels[200:240] = labels[500:620] = labels[800:830] = 1
    >>> found = audit(labels, metrics=["point_adjusted_f1", "point_f1"], seeds=5)
    >>> found["point_adjusted_f1"].beaten_by
    ('periodic', 'one_point', 'fragmented')
    >>> found["point_f1"].beaten_by
    ()
    """
    recording = read_recording(labels, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore)
    measures = Measures.of_keywords(locals(), metrics="all" if metrics is None else metrics, chance=0)
    seeds = positive_integer(seeds, "seeds")
    require_clock(measures, recording.clock)
    require_anomaly(counted_labels(recording))
    parts = series_with_anomalies(recording)
    findings = probe(measures.metrics, interval=common_interval([recording]), **measures.options)

    draws: dict[str, list[dict[str, Value]]] = {fake.name: [] for fake in BATTERY}
    all_draws = [(fake, draw) for fake in BATTERY for draw in fake.draws(seeds)]
    for done, (fake, draw) in enumerate(all_draws, start=1):
        draws[fake.name].append(_draw(fake, draw, parts, measures))
        if progress is not None:
            progress(done, len(all_draws))

    rows = []
    for metric in measures.metrics:
        drawn = {name: [values[metric.id] for values in of_fake] for name, of_fake in draws.items()}
        defined = {name: [value.value for value in values if not value.reason] for name, values in drawn.items()}
        rows.append(
            AuditRow(
                metric,
                values={name: float(np.mean(values)) if values else math.nan for name, values in defined.items()},
                spreads={name: float(np.std(values)) if values else math.nan for name, values in defined.items()},
                reasons={name: values[0].reason for name, values in drawn.items() if not defined[name]},
                findings=findings[metric.id],
            )
        )
    truth = [counted_labels(part) for part in parts]
    events, anomalous = sum(len(find_events(labels)) for labels in truth), sum(map(np.count_nonzero, truth))
    return Audit(tuple(rows), sum(map(len, truth)), events, anomalous, seeds, measures.seed)


def _draw(fake: Fake, draw: int, parts: list[Recording], measures: Measures) -> dict[str, Value]:
    """Values of one draw of a detector: means over the series."""
    # The fragmented detector of a draw is the real one of that draw: equal seeds, whoever draws.
    chance = np.random.default_rng([measures.seed, draw])
    by_series = []
    for part in parts:
        labels = counted_labels(part)
        (detection,) = fake.detections(labels, chance)
        values = {}
        if detection.predictions is None:
            # A metric that names a threshold chooses it itself.
            own = [metric for metric in measures.metrics if metric.threshold is not None]
            values = judged(part, detection, replace(measures, metrics=tuple(own)))
            detection = detection._replace(predictions=as_many_as(labels, detection.scores))
        by_series.append(judged(part, detection, measures) | values)
    return mean_values(by_series)
