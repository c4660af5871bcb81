"""Events as epileptologists count seizures: merged, cut, widened, and alarms per day.

Parameters
----------
start_tolerance, end_tolerance : int, default 30 and 60
    Steps by which a true piece is widened ahead of it and after it.
minimum_overlap : float, default 0
    Share of the widened piece that must be exceeded; below 1.
maximum_length : int, default 300
    Steps after which a run is cut.
minimum_gap : int, default 90
    Runs nearer to each other than this are joined.

References
----------
.. [1] J. Dan et al., "SzCORE: seizure community open-source research evaluation framework", Epilepsia 2024,
   arXiv:2402.13005.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pateval.labels.events import runs, within
from pateval.output.results import PRF
from pateval.time.clocks import Duration, steps_of_period
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly
from pateval.validation.checked import FRACTION_BELOW_1, PERIOD, POSITIVE_STEPS, STEPS, on_predictions

_OPTIONS = {
    "start_tolerance": STEPS,
    "end_tolerance": STEPS,
    "minimum_overlap": FRACTION_BELOW_1,
    "maximum_length": POSITIVE_STEPS,
    "minimum_gap": STEPS,
}
_SLACK = 1e-6  # by which an overlap must exceed the minimum


@on_predictions(**_OPTIONS)
def szcore_event(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    start_tolerance: int = 30,
    end_tolerance: int = 60,
    minimum_overlap: float = 0.0,
    maximum_length: int = 300,
    minimum_gap: int = 90,
) -> PRF:
    r"""Event-based precision, recall and F1 of SzCORE.

    In labels and predictions alike, runs with a gap shorter than ``minimum_gap`` are joined, and runs longer than
    ``maximum_length`` are cut into pieces of that length from their start. Each true piece is widened by the
    tolerances, within the series. It is detected where more than ``minimum_overlap`` of its widened steps are
    predicted; a false alarm is a predicted piece that shares no step with a detected widened piece.

    .. math:: P = \frac{TP}{TP + FP}, \quad R = \frac{TP}{\text{true pieces}}

    Warnings
    --------
    The defaults suit seizures with one step per second; on short series they join nearly everything. One predicted step
    may detect several widened pieces, and flagging every step scores up to 1.

    Examples
    --------
    >>> labels = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    >>> szcore_event(labels, [0, 0, 1, 0, 0, 0, 0, 0, 1, 0], start_tolerance=1, end_tolerance=2, minimum_gap=3)
    PRF(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    require_anomaly(labels)
    options = start_tolerance, end_tolerance, minimum_overlap, maximum_length, minimum_gap
    return PRF.from_counts(*_counts(labels, predictions, *options))


@on_predictions(per=PERIOD.or_word(None, "86400"), **_OPTIONS)
def szcore_false_alarm_rate(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    per: int | Duration | None = None,
    start_tolerance: int = 30,
    end_tolerance: int = 60,
    minimum_overlap: float = 0.0,
    maximum_length: int = 300,
    minimum_gap: int = 90,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    """Rate of the false alarms of `szcore_event` per unit of time.

    Their number, times ``per``, over the length of the series. It needs no event: without any, all alarms are false.

    Parameters
    ----------
    per : int or duration, optional
        The unit of time, in steps, or a duration such as ``"1d"``, measured by the median interval of ``times``. By
        default a day: on the clock where ``times`` and their unit are known, and 86,400 steps without, a second each.

    Returns
    -------
    float
        0 or more, **lower is better**; 0 where nothing is predicted.

    Raises
    ------
    ValueError, TypeError
        If an input is not of the form described.

    Warnings
    --------
    Silence scores 0. Read it next to the recall of `szcore_event`.

    Examples
    --------
    >>> labels, predictions = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    >>> szcore_false_alarm_rate(labels, predictions, per=60, start_tolerance=1, end_tolerance=2, minimum_gap=3)
    6.0
    """
    options = start_tolerance, end_tolerance, minimum_overlap, maximum_length, minimum_gap
    steps = steps_of_period(per, labels.size, times, time_unit, name="per", without_clock=86400)
    _, false_alarms, _ = _counts(labels, predictions, *options)
    return false_alarms * steps / labels.size


def _counts(
    labels: BoolArray, predictions: BoolArray, ahead: int, after: int, overlap: float, longest: int, gap: int
) -> tuple[int, int, int]:
    """True pieces that are detected, false alarms, and true pieces that are missed."""
    size = labels.size
    merged = _merged(predictions, gap)
    alarm_starts, alarm_stops = _cut(*merged, min(longest, size))
    starts, stops = _cut(*_merged(labels, gap), min(longest, size))
    wide_starts = np.maximum(starts - min(ahead, size), 0)
    wide_stops = np.minimum(stops + min(after, size), size)
    covered = _covered(wide_stops, *merged) - _covered(wide_starts, *merged)
    detected = covered / (wide_stops - wide_starts) > overlap + _SLACK
    detected_events = int(np.count_nonzero(detected))
    # Widened pieces stay in order, so the first that ends after an alarm begins is the one that could meet it.
    meets = np.searchsorted(wide_stops[detected], alarm_starts, side="right")
    true_alarms = np.append(wide_starts[detected], size)[meets] < alarm_stops
    return detected_events, int(np.count_nonzero(~true_alarms)), starts.size - detected_events


def _merged(mask: BoolArray, minimum_gap: int) -> tuple[IntArray, IntArray]:
    starts, stops = runs(mask)
    apart = starts[1:] - stops[:-1] >= minimum_gap
    return (starts[np.append(True, apart)], stops[np.append(apart, True)]) if starts.size else (starts, stops)


def _cut(starts: IntArray, stops: IntArray, longest: int) -> tuple[IntArray, IntArray]:
    """Runs cut into pieces of at most so many steps."""
    pieces = -(-(stops - starts) // longest)
    begins = np.repeat(starts, pieces) + longest * within(np.zeros_like(starts), pieces)
    return begins, np.minimum(begins + longest, np.repeat(stops, pieces))


def _covered(places: IntArray, starts: IntArray, stops: IntArray) -> IntArray:
    lengths = stops - starts
    before = np.append(0, np.cumsum(lengths))
    run = np.searchsorted(starts, places)  # the runs that begin ahead of it
    beyond = np.maximum(np.append(0, stops)[run] - places, 0)
    return before[run] - beyond
