"""What makes a benchmark worthless, by code: what was found, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple


class FaultKind(NamedTuple):
    """One way to be worthless.

    Attributes
    ----------
    text : str
        What it means.
    remedy : str
        What to do.
    """

    text: str
    remedy: str


FAULT_KINDS = {
    "one-liner": FaultKind(
        "a rule of one line finds the events",
        "leave the series out, or report the rule beside the detectors: who does not beat it has shown nothing",
    ),
    "end": FaultKind(
        "events crowd at the end",
        "compare with a detector that only flags the end, or cut the series at random places",
    ),
    "dense": FaultKind(
        "too much is anomalous for anomalies to be exceptions",
        "treat it as classification, or leave it out; precision is high there for everybody",
    ),
    "close": FaultKind(
        "events stand next to each other with hardly a normal step between them",
        "merge events with such gaps, or use a metric with buffers; each counts on its own otherwise",
    ),
    "dominant": FaultKind(
        "one event holds most of the anomalous steps",
        "use metrics that count events; those on steps judge this one event",
    ),
    "shifted": FaultKind(
        "the labels fit the values better when they are moved",
        "look at the events, and move the labels, or use buffers at least that long",
    ),
    "duplicate": FaultKind(
        "two series are the same, or nearly",
        "keep one of them: the other is counted twice, and adds nothing to a test of significance",
    ),
    "train": FaultKind(
        "the training stretch holds what counts as anomalous in the test",
        "label or cut these stretches: a detector that learns from them learns that anomalies are normal",
    ),
    "no-anomaly": FaultKind(
        "nothing is labelled",
        "keep it for false alarms only: most metrics are undefined there",
    ),
}
"""All kinds of fault, in the order in which they are reported."""


class DataFault(NamedTuple):
    """One fault that was found.

    Attributes
    ----------
    code : str
        A key of `FAULT_KINDS`.
    series : str
        Where; the name of the data set where it concerns all series together.
    text : str
        What was found, with its figures.
    value : float
        The figure that decided.
    """

    code: str
    series: str
    text: str
    value: float
