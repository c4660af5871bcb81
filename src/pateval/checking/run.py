"""Check data sets: what labels alone give away, what the values give away beside them, and series that occur twice."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.checking.one_liners import KINDS, RULES, RuleResult, try_rule
from pateval.checking.result import FAULT_KINDS, CheckedSeries, DataCheck, DataFault
from pateval.datasets import Series, load, title_of
from pateval.labels.events import find_events, runs
from pateval.time.windows import windows_in_a_row
from pateval.validation.arrays import BoolArray, FloatArray
from pateval.validation.wording import counted

Checkable = str | os.PathLike[str] | Series

MAX_SHARE = 0.2
"""Share of anomalous steps from which on they are no exception."""
MIN_GAP = 3
"""Normal steps between two events below which they are hardly two."""
DOMINANT_SHARE = 0.8
"""Share of the anomalous steps that one event of several may hold at most."""
END_SHARE, END_PROBABILITY = 0.6, 0.001
"""Share of the events in the last third that is too much, where chance makes it this unlikely."""
SOLVED = 0.9
"""F1 of events from which on a rule of one line counts as a solution."""
LUCK = 0.05
"""Probability that one of all rules tried is a solution by luck, up to which it is not taken for luck."""
HALF_FOUND = 2 / 3
"""F1 of a rule that finds half of the events without a false alarm: below it, it says little of what is anomalous."""
_INDEPENDENT_SHIFTS = 3  # of labels that are moved by up to the length of an event: earlier, in place, later
SHIFTED_AREA, SHIFT_GAIN = 0.9, 0.1
"""Area under ROC of moved labels, and what it must gain over the labels as they are."""
SAME = 0.99
"""Correlation of values from which on two series are nearly the same."""
_BLOCKS = 64  # means of so many blocks are compared first


def check(
    data: Checkable | Iterable[Checkable],
    *,
    root: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DataCheck:
    """Look for what makes labels and series worthless as a benchmark.

    Each fault has a code, a sentence with its figures, and what to do (`pateval.checking.FAULT_KINDS`):

    * one-liner: a threshold on the value, its differences, its distance from a moving mean or its moving deviation, of
      one column, finds the events with an F1 of at least 0.9. A solution that may be luck is none: that is where as
      many rules as were tried would find one that stands out as far by chance in more than 5 % of the cases.
    * end: at least 60 % of the events lie in the last third, which chance does less than once in a thousand times.
    * dense: more than 20 % of the steps are anomalous. close: at most three normal steps between two events.
    * dominant: one of at least three events holds 80 % of the anomalous steps.
    * shifted: moved by up to the length of the longest event, the labels fit one of the rules with an area under ROC of
      at least 0.9, and by 0.1 more than where they are; likewise less what may be luck, so that series with one event
      are never among them.
    * duplicate: a series repeats another, or nearly (correlation of every column at least 0.99).
    * train: a rule that finds at least half of the events without a false alarm flags something in the training
      stretch, too.
    * no-anomaly: nothing is labelled.
    * windows: the rows are windows of one series, each a step later than the one before, laid one after another.

    Parameters
    ----------
    data : str, path, Series, or iterable of these
        Names of known data sets, folders, files (as `pateval.datasets.load` takes them), or series themselves.
    root : path, optional
        Where known data sets are kept; `pateval.datasets.data_root` by default.
    progress : callable, optional
        Called with the number of series done and their total.

    Returns
    -------
    DataCheck

    Raises
    ------
    ValueError
        If something cannot be read or is no data set.

    References
    ----------
    .. [1] R. Wu, E. Keogh, "Current Time Series Anomaly Detection Benchmarks are Flawed and are Creating the Illusion
       of Progress", IEEE TKDE, 2021, arXiv:2009.13807.

    Examples
    --------
    >>> chance = np.random.default_rng(0)
    >>> labels = np.zeros(2000, dtype=bool)
    >>> labels[[400, 900, 1500]] = True
    >>> values = chance.normal(size=2000) + 20 * labels
    >>> found = check(Series("pump", values[:, None], labels, features=("pressure",)))
    >>> [fault.code for fault in found.faults]
    ['one-liner']
    """
    items = [data] if isinstance(data, (str, os.PathLike, Series)) else list(data)
    known = ["series" if isinstance(item, Series) else title_of(item) for item in items]
    named = []
    for item, title in zip(items, known, strict=True):
        if not isinstance(item, Series) and known.count(title) > 1:
            title = os.fspath(item)  # folders of one name are several data sets
        named += [(title, one) for one in ([item] if isinstance(item, Series) else load(os.fspath(item), root=root))]
    if not named:
        raise ValueError("there is nothing to check: no data set, no file, no series")
    titles = list(dict.fromkeys(title for title, _ in named))
    if len(titles) > 1:  # series of several data sets may share names
        named = [
            (title, replace(record, name=record.name if record.name == title else f"{title}/{record.name}", parts=()))
            for title, record in named
        ]
    faults: list[DataFault] = []
    checked: list[CheckedSeries] = []
    for done, (title, series) in enumerate(named, start=1):
        faults += check_labels(series.name, series.labels)
        rule, f1 = "", math.nan
        if series.labels.any() and not series.labels.all():
            wrong, rule, f1 = check_values(series)
            faults += wrong
        events = runs(series.labels)[0].size
        checked.append(CheckedSeries(title, series.name, series.steps, events, series.anomaly_share, rule, f1))
        if progress is not None:
            progress(done, len(named))
    for title in titles:
        mine = [series for other, series in named if other == title]
        faults += check_duplicates(mine)
        if len(mine) > 1:
            faults += check_places(title, np.concatenate([event_places(record.labels) for record in mine]))
    order = list(FAULT_KINDS)
    return DataCheck(tuple(checked), tuple(sorted(faults, key=lambda fault: order.index(fault.code))))


def check_labels(name: str, labels: BoolArray) -> Iterator[DataFault]:
    """Yield the faults of one series' labels."""
    window = windows_in_a_row(labels)
    if window is not None:
        steps = labels.size // window + window - 1
        yield DataFault(
            "windows", name, f"{labels.size:,} rows are windows of {window} steps, of a series of {steps:,}", window
        )
    events = find_events(labels)
    if not len(events):
        yield DataFault("no-anomaly", name, "no step is labelled", 0.0)
        return
    share = float(labels.mean())
    if share > MAX_SHARE:
        yield DataFault("dense", name, f"{100 * share:.0f} % of the steps are anomalous", share)
    gaps = events.starts[1:] - events.stops[:-1]
    few = int(np.count_nonzero(gaps <= MIN_GAP))
    if few:
        text = f"{few} of {gaps.size} gaps between events have at most {MIN_GAP} normal steps"
        yield DataFault("close", name, text, float(few))
    longest = int(events.lengths.max())
    part = longest / int(events.lengths.sum())
    if len(events) > 2 and part >= DOMINANT_SHARE:
        text = f"one of {len(events)} events, {longest:,} steps long, holds {100 * part:.0f} % of the anomalous steps"
        yield DataFault("dominant", name, text, part)
    yield from check_places(name, event_places(labels))


def event_places(labels: BoolArray) -> FloatArray:
    """Where the middle of each event lies, from 0 at the beginning of the series to 1 at its end."""
    events = find_events(labels)
    return np.asarray((events.starts + events.stops) / (2 * labels.size))


def check_places(name: str, places: FloatArray) -> Iterator[DataFault]:
    """Yield a fault where more events lie in the last third than chance explains."""
    from scipy.stats import binom

    late, total = int(np.count_nonzero(places >= 2 / 3)), places.size
    if total and late >= END_SHARE * total and binom.sf(late - 1, total, 1 / 3) < END_PROBABILITY:
        yield DataFault("end", name, f"{late} of {total} events lie in the last third", late / total)


class _Shift(NamedTuple):
    """By how many steps labels are to be moved to fit a score best, and the areas under ROC with and without."""

    steps: int
    area: float
    area_in_place: float
    rule: str


def check_values(series: Series) -> tuple[list[DataFault], str, float]:
    """Try every rule on every column of a series that has events.

    Return what is wrong, the best rule with its threshold (empty where no column varies), and how well it does.
    """
    from scipy.fft import next_fast_len

    events = find_events(series.labels)
    results: list[RuleResult] = []
    shifts: list[_Shift] = []
    size = next_fast_len(2 * series.steps, real=True)
    spectrum = np.fft.rfft(series.labels.astype(np.float64), size)
    for column in range(series.test.shape[1]):
        values = np.asarray(series.test[:, column], dtype=np.float64)
        if np.ptp(values) == 0:
            continue
        for rule in RULES:
            scores = rule.score(values)
            results.append(try_rule(rule, column, scores, events))
            if len(events) > 1 and (shift := _best_shift(scores, series.labels, spectrum, size)) is not None:
                shifts.append(shift._replace(rule=rule.expression.format(x=series.features[column])))
    if not results:
        return [], "", 0.0
    best = max(results, key=lambda result: result.merit)  # of equal ones the simplest, which comes first
    text, tries = best.text(series.features[best.column]), KINDS * len(results) // len(RULES)
    faults = [*_moved(series, shifts, tries, len(events))]
    if best.luck * tries <= LUCK:
        if best.f1 >= SOLVED:
            what = "the event" if len(events) == 1 else f"{len(events)} events"
            solved = f"{text} finds {what} with an F1 of {best.f1:.2f}"
            faults.append(DataFault("one-liner", series.name, solved, best.f1))
        faults += _trained(series, best)
    return faults, text, best.f1


def _moved(series: Series, shifts: Sequence[_Shift], tries: int, events: int) -> Iterator[DataFault]:
    if not shifts:
        return
    shift = max(shifts, key=lambda shift: shift.area)
    # An event at a random place of a smooth score lies in its highest 2 (1 - area) with that probability.
    luck = (2 * (1 - shift.area)) ** events
    if luck * tries * _INDEPENDENT_SHIFTS <= LUCK:
        side = "later" if shift.steps > 0 else "earlier"
        text = (
            f"moved {counted(abs(shift.steps), 'step')} {side}, the labels fit {shift.rule} with an area under ROC of "
            f"{shift.area:.2f} instead of {shift.area_in_place:.2f}"
        )
        yield DataFault("shifted", series.name, text, float(shift.steps))


def _trained(series: Series, best: RuleResult) -> Iterator[DataFault]:
    """Look for stretches of the training data that the best rule flags, where it flags nothing normal in the test."""
    if series.train is None or not series.train_steps or best.margin <= 0 or best.f1 < HALF_FOUND:
        return
    scores = best.rule.score(np.asarray(series.train[:, best.column], dtype=np.float64))
    flagged = runs(np.asarray(scores >= best.rule.sign * best.threshold))[0].size
    if flagged:
        text = (
            f"{best.text(series.features[best.column])} flags {flagged} stretch{'es' if flagged > 1 else ''} of the "
            "training data, and no normal step of the test"
        )
        yield DataFault("train", series.name, text, float(flagged))


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


def check_duplicates(series: Sequence[Series]) -> Iterator[DataFault]:
    """Yield a fault for each series that an earlier one repeats, column by column, in the same order.

    Two series are compared over the length of the shorter one, from the beginning of both and from the end of both.
    Columns that do not vary say nothing; where fewer than half do, the pair is not compared.
    """
    for place, one in enumerate(series):
        for other in series[:place]:
            if one.test.shape[1] != other.test.shape[1]:
                continue
            likeness = _likeness(one.test, other.test)
            if likeness >= SAME:
                same = "the same values as" if likeness == 1 else f"values that correlate by {likeness:.4f} with"
                text = f"has {same} {other.name}" + ("" if one.steps == other.steps else " where the shorter one lies")
                yield DataFault("duplicate", one.name, text, likeness)
                break


def _likeness(one: FloatArray, other: FloatArray) -> float:
    """Smallest correlation of two columns, in the better of two alignments; exactly 1 for equal values."""
    length = min(len(one), len(other))
    best = -1.0
    for first, second in {(0, 0), (len(one) - length, len(other) - length)}:
        left, right = one[first : first + length], other[second : second + length]
        if np.array_equal(left, right):
            return 1.0 if np.ptp(left, axis=0).any() else -1.0
        if length >= 2 * _BLOCKS and _correlation(_blocks(left), _blocks(right)) < SAME:
            continue
        best = max(best, _correlation(left, right))
    return min(best, 1 - 1e-12)


def _blocks(values: FloatArray) -> FloatArray:
    size = len(values) // _BLOCKS
    return np.asarray(values[: size * _BLOCKS].reshape(_BLOCKS, size, -1).mean(axis=1))


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """Smallest correlation over the columns that vary in both; -1 where fewer than half do."""
    first, second = (np.asarray(values - values.mean(axis=0), dtype=np.float64) for values in (one, other))
    norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    varies = norms > 0
    if 2 * np.count_nonzero(varies) < varies.size:
        return -1.0
    return float(((first * second).sum(axis=0)[varies] / norms[varies]).min())
