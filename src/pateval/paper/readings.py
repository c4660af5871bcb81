"""PATE as the paper's text reads and as its program runs: three places where they part, and how far values part there.

* *zones*: a buffer that is cut short by a neighbour or the end of the series. The program lets the weights run to 0 at
  the cut; equations 2 and 5 divide by the distance to n + d and i − e, cut or not.
* *beside*: an event of which no step is detected while one in its buffers is. To the program it is missed whole; by the
  text only an event whose detections all lie outside its buffers is, and this one is missed in part, with a coverage
  of 0.
* *coverage*: r, the buffer at the beginning of an event. The program takes the length of the first detected run; the
  text the coverage of the event, all detected steps.

Written from the equations, threshold by threshold, and used for nothing but this comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kendalltau

from pateval import plots
from pateval.datasets import data_root
from pateval.io import read_table
from pateval.labels.events import Events, count_inside, find_events, first_inside, within
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
from pateval.paper.inputs import score_runs, starts_of
from pateval.plots.styling import QUIET, legend_above, line_style
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

# Which of zones, beside and coverage are read as in the text.
PROGRAM, TEXT = "program", "text"
READINGS = {
    PROGRAM: (False, False, False),
    "zones": (True, False, False),
    "beside": (False, True, False),
    "coverage": (False, False, True),
    TEXT: (True, True, True),
}
BUFFER = paper.IMPACT_BUFFER
THRESHOLDS = 100
_ROUNDING = 1e-12
_WANTED = ("SMD", "MSL")
# Small cases of 60 steps with buffers of 10, one for each place: what they show, events, alarms.
EXAMPLES: dict[str, tuple[str, list[tuple[int, int]], list[tuple[int, int]]]] = {
    "zones": ("an alarm between two events, whose zones cut each other", [(20, 26), (30, 36)], [(26, 34)]),
    "beside": ("an alarm after an event that is missed", [(20, 40)], [(40, 44)]),
    "coverage": ("an event found in two runs", [(20, 40)], [(22, 24), (30, 38)]),
}


# PATE by data set, detector and reading.
Values = dict[str, dict[str, dict[str, float]]]


class Zones(NamedTuple):
    """The steps inside events and in their buffers, each in the order of time, with the event that each belongs to.

    A step inside lies ``place`` steps after the beginning of its event. A step of a buffer that ``needs_event`` lies
    before it, and counts only where it is detected; it has a TP weight with the zone's own length (``cut``) and with
    the whole buffer's (``uncut``).
    """

    events: Events
    inside: IntArray
    owner: IntArray
    place: IntArray
    buffer: IntArray
    buffer_owner: IntArray
    needs_event: BoolArray
    cut: FloatArray
    uncut: FloatArray


def find_zones(labels: BoolArray, early: int, delay: int) -> Zones:
    """The zones of one series: a delayed zone comes before the early zone of the next event."""
    events = find_events(labels)
    starts, stops = events.starts, events.stops
    ends = np.minimum(stops + delay, np.append(starts[1:], labels.size))
    begins = np.maximum(starts - early, np.append(0, ends[:-1]))
    # Of every event the early zone and the delayed one, and the step at the outer end of each, cut short or not.
    zone_starts, zone_stops = np.stack([begins, stops], axis=1).ravel(), np.stack([starts, ends], axis=1).ravel()
    cut_ends = np.stack([begins, ends - 1], axis=1).ravel()
    whole_ends = np.stack([starts - early, stops - 1 + delay], axis=1).ravel()
    zone = np.repeat(np.arange(zone_starts.size), zone_stops - zone_starts)
    buffer, buffer_owner = within(zone_starts, zone_stops - zone_starts), zone // 2

    def distance(steps: IntArray) -> IntArray:
        """Sum of the distances to all steps of the event; 1 where a zone has no length and nothing is divided."""
        twice_from_middle = np.abs(2 * steps - (starts + stops - 1)[buffer_owner])
        return np.maximum(twice_from_middle * events.lengths[buffer_owner] // 2, 1)

    cut, uncut = (1 - distance(buffer) / distance(zone_ends[zone]) for zone_ends in (cut_ends, whole_ends))
    owner, place = np.repeat(np.arange(len(events)), events.lengths), within(np.zeros_like(starts), events.lengths)
    return Zones(events, np.flatnonzero(labels), owner, place, buffer, buffer_owner, zone % 2 == 0, cut, uncut)


def weighted_counts(zones: Zones, predicted: BoolArray) -> dict[str, tuple[float, float, float]]:
    """True positives, false positives and false negatives of 0/1 predictions under each of the `READINGS`."""
    starts, stops = zones.events.starts, zones.events.stops
    hits, first_hit = count_inside(predicted, starts, stops), first_inside(predicted, starts, stops)
    first_run = first_inside(~predicted, first_hit, stops) - first_hit
    in_buffer = predicted[zones.buffer]
    is_near = np.bincount(zones.buffer_owner[in_buffer], minlength=hits.size) > 0
    counts = in_buffer & (~zones.needs_event | (hits > 0)[zones.buffer_owner])
    is_missed = ~predicted[zones.inside]
    owner, u = zones.owner[is_missed], zones.place[is_missed]
    length = zones.events.lengths[owner]
    by_reading = {}
    for reading, (uncut, beside, coverage) in READINGS.items():
        true_positive = float(hits.sum() + (zones.uncut if uncut else zones.cut)[counts].sum())
        run = (hits if coverage else first_run)[owner]
        in_part = ((hits > 0) | is_near if beside else hits > 0)[owner]
        # The sum of |t − y| over the r + 1 first steps of the event, and that of the whole event seen from its end.
        lighter = ((run + 1) * u - run * (run + 1) / 2) / np.maximum(length * (length - 1) / 2, 1)
        false_negative = np.where(in_part & (u > run), 1 - lighter, 1.0).sum()
        by_reading[reading] = true_positive, float(np.count_nonzero(predicted)) - true_positive, float(false_negative)
    return by_reading


def f1_by_reading(labels: BoolArray, predicted: BoolArray, early: int, delay: int) -> dict[str, float]:
    """PATE-F1 under each reading."""
    counts = weighted_counts(find_zones(labels, early, delay), predicted)
    return {reading: 2 * hits / (2 * hits + alarms + missed) for reading, (hits, alarms, missed) in counts.items()}


def pate_by_reading(labels: BoolArray, scores: FloatArray, early: int, delay: int) -> dict[str, float]:
    """PATE of one series under each reading; where there are more scores than thresholds, at percentiles of them."""
    zones = find_zones(labels, early, delay)
    levels = np.unique(scores)[::-1]
    if levels.size > THRESHOLDS:
        levels = np.percentile(levels, np.linspace(100, 0, THRESHOLDS))
    areas = dict.fromkeys(READINGS, 0.0)
    before = dict.fromkeys(READINGS, (0.0, 1.0))  # recall and precision of the last point kept
    for level in levels:
        for reading, (hits, alarms, missed) in weighted_counts(zones, scores >= level).items():
            recall, precision = (hits / (hits + missed), hits / (hits + alarms)) if hits else (0.0, 0.0)
            last_recall, last_precision = before[reading]
            if recall >= last_recall - _ROUNDING:
                areas[reading] += max(recall - last_recall, 0.0) * (precision + last_precision) / 2
                before[reading] = max(recall, last_recall), precision
    return areas


def readings(settings: ExperimentSettings) -> Report:
    """Compute PATE under each reading on the scenarios and on NAB, SMD and MSL."""
    scenarios = list(_scenario_rows())
    values, missing = _on_datasets(settings)
    parted = list(_parted(values))
    of_every_detector = "PATE of every detector, mean over series"
    cells = {reading: [Cell(row["printed"], row[reading], "rounds") for row in scenarios] for reading in READINGS}
    return Report(
        "readings",
        {"thresholds": THRESHOLDS, "buffer": BUFFER, "parted": parted},
        tables=[
            PageTable("examples", "PATE-F1 of a small case for each place", list(_example_rows()), decimals=3),
            PageTable("scenarios", "The paper's scenarios under each reading", scenarios, decimals=3),
            PageTable("parted", "How far values and orders part from the program's", parted, decimals=4),
            PageTable.of("detectors", of_every_detector, values, "data set", "detector", decimals=4),
        ],
        figures=[Figure("readings", "PATE as the text reads against PATE as it was run.", partial(draw, values))],
        verdicts=[
            *(Verdict("scenarios", cells[reading], {"whose": f"the {reading}"}) for reading in (PROGRAM, TEXT)),
            *(Verdict("parted", None, {"row": row}) for row in parted if row["reading"] == TEXT),
        ],
        missing=missing,
    )


def _example_rows() -> Iterator[Row]:
    for place, (about, events, alarms) in EXAMPLES.items():
        values = f1_by_reading(paper.flagged(*events, steps=60), paper.flagged(*alarms, steps=60), 10, 10)
        yield {"place": place, "case": about, PROGRAM: values[PROGRAM], "as the text reads": values[place]}


def _scenario_rows() -> Iterator[Row]:
    buffer = paper.SCENARIO_BUFFER
    for number, (name, (labels, predicted)) in enumerate(paper.scenarios().items()):
        areas = pate_by_reading(labels, predicted.astype(float), buffer, buffer)
        for metric, values in (("pate", areas), ("pate_f1", f1_by_reading(labels, predicted, buffer, buffer))):
            printed = paper.SCENARIO_VALUES[metric][number]
            yield {"scenario": name, "metric": metric, "printed": printed, **values}


def _on_datasets(settings: ExperimentSettings) -> tuple[Values, list[str]]:
    """By data set and detector: PATE under each reading, mean over the series that hold an anomaly."""
    values: Values = {}
    missing = []
    published = (settings.root or data_root()) / "scores" / "NAB"
    if files := sorted(published.glob("*.parquet")):
        settings.tell("NAB: published scores of its detectors")
        values["NAB"] = {path.stem: _mean(read_table(path).columns) for path in files}
    else:
        missing.append("NAB's published scores are not below the data folder, in scores/NAB")
    for dataset, runs in score_runs(settings, _WANTED):
        settings.tell(f"{dataset}: five detectors")
        values[dataset] = {
            detector: _mean({"label": run.labels, "score": run.scores, "series": run.series})
            for detector, (run, *_) in runs.items()
        }
    missing += [f"{dataset}: there are no score files" for dataset in _WANTED if dataset not in values]
    return values, missing


def _mean(columns: Any) -> dict[str, float]:
    labels, scores = columns["label"].astype(np.bool_), columns["score"].astype(np.float64)
    parts = np.split(np.arange(labels.size), starts_of(columns["series"])[1:])
    by_series = [pate_by_reading(labels[part], scores[part], BUFFER, BUFFER) for part in parts if labels[part].any()]
    return {reading: float(np.mean([areas[reading] for areas in by_series])) for reading in READINGS}


def _parted(values: Values) -> Iterator[Row]:
    """How far each reading parts from the program's: differences of values, and of the order of detectors."""
    for dataset, by_detector in values.items():
        by_reading = {name: np.array([areas[name] for areas in by_detector.values()]) for name in READINGS}
        program = by_reading.pop(PROGRAM)
        for reading, other in by_reading.items():
            orders = [np.sign(np.subtract.outer(areas, areas)) for areas in (program, other)]
            yield {
                "data set": dataset,
                "reading": reading,
                "mean difference": float(np.mean(other - program)),
                "largest difference": float(np.max(np.abs(other - program))),
                "pairs that change places": int(np.count_nonzero(orders[0] * orders[1] < 0)) // 2,
                "pairs": math.comb(program.size, 2),
                "Kendall's tau": float(kendalltau(program, other).statistic),
                "leader": "the same" if int(np.argmax(program)) == int(np.argmax(other)) else "another",
            }


def draw(values: Values) -> Any:
    """A point per detector, the data sets apart, over the diagonal."""
    ax = plots.panels(size=(4.6, 4.2))[0, 0]
    ax.axline((0, 0), slope=1, color=QUIET, linewidth=0.8, zorder=1)
    for place, (dataset, by_detector) in enumerate(values.items()):
        looks = line_style(place)
        points = [(areas[PROGRAM], areas[TEXT]) for areas in by_detector.values()]
        shape = {"linestyle": "none", "marker": looks.marker, "markersize": 5.5, "color": looks.colour}
        ax.plot(*zip(*points, strict=True), label=dataset, **shape)
    ax.set_xlabel("PATE as the program runs")
    ax.set_ylabel("PATE as the text reads")
    legend_above(ax)
    return ax
