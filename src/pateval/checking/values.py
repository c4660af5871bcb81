"""What the values give away beside the labels: rules of one line, shifted labels, anomalies in the training stretch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.checking.faults import DataFault
from pateval.checking.one_liners import KINDS, RULES, RuleResult, try_rule
from pateval.datasets import Series
from pateval.labels.events import find_events, runs
from pateval.validation.arrays import BoolArray, FloatArray

SOLVED = 0.9
"""F1 of events from which on a rule of one line counts as a solution."""
LUCK = 0.05
"""Probability that one of all rules tried is a solution by luck, up to which it is not taken for luck."""
HALF_FOUND = 2 / 3
"""F1 of a rule that finds half of the events without a false alarm: below it, it says little of what is anomalous."""
_INDEPENDENT_SHIFTS = 3  # of labels that are moved by up to the length of an event: earlier, in place, later
SHIFTED_AREA, SHIFT_GAIN = 0.9, 0.1
"""Area under ROC of moved labels, and what it must gain over the labels as they are."""


class ValueCheck(NamedTuple):
    """What was found of one series' values.

    Attributes
    ----------
    faults : list of DataFault
        What is wrong.
    rule : str
        The best rule of one line, with its threshold; empty where no column varies.
    f1 : float
        How well it does.
    """

    faults: list[DataFault]
    rule: str
    f1: float


class _Shift(NamedTuple):
    """By how many steps labels are to be moved to fit a score best, and the areas under ROC with and without."""

    steps: int
    area: float
    area_in_place: float
    rule: str


def check_values(series: Series) -> ValueCheck:
    """Try every rule on every column of a series that has events."""
    from scipy.fft import next_fast_len

    events = find_events(series.labels)
    best: RuleResult | None = None
    shift: _Shift | None = None
    tries = 0
    size = next_fast_len(2 * series.steps, real=True)
    spectrum = np.fft.rfft(series.labels.astype(np.float64), size)
    for column in range(series.test.shape[1]):
        values = np.asarray(series.test[:, column], dtype=np.float64)
        if np.ptp(values) == 0:
            continue
        tries += KINDS
        for rule in RULES:
            scores = rule.score(values)
            found = try_rule(rule, column, scores, events)
            if best is None or _merit(found) > _merit(best):  # of equal ones the simplest, which comes first
                best = found
            moved = _best_shift(scores, series.labels, spectrum, size) if len(events) > 1 else None
            if moved is not None and (shift is None or moved.area > shift.area):
                shift = moved._replace(rule=rule.expression.format(x=series.features[column]))
    if best is None:
        return ValueCheck([], "", 0.0)
    faults = [*_moved(series, shift, tries, len(events))]
    if best.luck * tries <= LUCK:
        faults += [*_solved(series, best, len(events)), *_trained(series, best)]
    return ValueCheck(faults, best.text(series.features[best.column]), best.f1)


def _merit(found: RuleResult) -> tuple[float, float]:
    """How good a rule is; margins beyond one are as good as each other."""
    return found.f1, min(found.margin, 1.0)


def _solved(series: Series, best: RuleResult, events: int) -> Iterator[DataFault]:
    if best.f1 >= SOLVED:
        what = "the event" if events == 1 else f"{events} events"
        text = f"{best.text(series.features[best.column])} finds {what} with an F1 of {best.f1:.2f}"
        yield DataFault("one-liner", series.name, text, best.f1)


def _moved(series: Series, shift: _Shift | None, tries: int, events: int) -> Iterator[DataFault]:
    if shift is None:
        return
    # An event at a random place of a smooth score lies in its highest 2 (1 - area) with that probability.
    luck = (2 * (1 - shift.area)) ** events
    if luck * tries * _INDEPENDENT_SHIFTS <= LUCK:
        side = "later" if shift.steps > 0 else "earlier"
        text = (
            f"moved {abs(shift.steps)} steps {side}, the labels fit {shift.rule} with an area under ROC of "
            f"{shift.area:.2f} instead of {shift.area_in_place:.2f}"
        )
        yield DataFault("shifted", series.name, text, float(shift.steps))


def _trained(series: Series, best: RuleResult) -> Iterator[DataFault]:
    """Look for stretches of the training data that the best rule flags, where it flags nothing normal in the test."""
    if series.train is None or not series.train_steps or best.margin <= 0 or best.f1 < HALF_FOUND:
        return
    scores = best.rule.score(np.asarray(series.train[:, best.column], dtype=np.float64))
    found = runs(np.asarray(scores >= best.rule.sign * best.threshold))[0].size
    if found:
        text = (
            f"{best.text(series.features[best.column])} flags {found} stretch{'es' if found > 1 else ''} of the "
            "training data, and no normal step of the test"
        )
        yield DataFault("train", series.name, text, float(found))


def _best_shift(
    scores: FloatArray, labels: BoolArray, spectrum: npt.NDArray[np.complex128], size: int
) -> _Shift | None:
    """Find how far labels must be moved to fit a score best; None where they are best as they are.

    The area under ROC is a sum of ranks over the labelled steps, so a correlation of ranks with labels has it for all
    shifts at once. Shifts of up to the length of the longest event are tried, as far as no event leaves the series.
    """
    from scipy.stats import rankdata

    starts, stops = runs(labels)
    reach = int((stops - starts).max())
    ranks = rankdata(scores)
    correlation = np.fft.irfft(np.fft.rfft(ranks, size) * np.conj(spectrum), size)
    shifts = np.arange(-min(reach, int(starts[0])), min(reach, labels.size - int(stops[-1])) + 1)
    positive = int(np.count_nonzero(labels))
    areas = (correlation[shifts] - positive * (positive + 1) / 2) / (positive * max(1, labels.size - positive))
    place, here = int(areas.argmax()), int(np.flatnonzero(shifts == 0)[0])
    if areas[place] < SHIFTED_AREA or areas[place] - areas[here] < SHIFT_GAIN:
        return None
    return _Shift(int(shifts[place]), float(areas[place]), float(areas[here]), "")
