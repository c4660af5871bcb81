"""What both audits share: the series they look at, how a detector that was made is judged, a row for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pateval.auditing.fakes import Detection
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Value, values_of
from pateval.output.results import Result, columns_of_records
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray


def series_with_anomalies(recording: Recording) -> list[Recording]:
    """The labels of each series in which a step that counts is anomalous, without any detector."""
    alone = replace(
        recording,
        scores=None,
        predictions=None,
        ignore=recording.is_left_out,
        absent=None,
        of_others=None,
        missing="error",
    )
    return [part for part in alone.parts() if counted_labels(part).any()]


def counted_labels(recording: Recording) -> BoolArray:
    """Labels of the steps that count, from which detectors are made; empty where none does."""
    return recording.labels if recording.is_left_out is None else recording.labels[~recording.is_left_out]


def judged(labels: Recording, detection: Detection, measures: Measures) -> dict[str, Value]:
    """Values of a detector that was made from the labels of one series; a metric that breaks has none."""
    scores, predictions = detection
    on_all_steps = labels.timeline.on_all_steps
    recording = replace(
        labels,
        scores=on_all_steps(scores),
        predictions=None if predictions is None else on_all_steps(predictions),
    )
    return values_of(recording, measures, keep_going=True)


class MetricRows(Result):
    """A row per metric, found by its id; the classes of both audits are such tables."""

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
        """Columns for programs, a row per metric at full precision."""
        return columns_of_records([row.record() for row in self.rows])
