"""Check data sets: series by series, then all of them together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pateval.checking.duplicates import check_duplicates
from pateval.checking.faults import DataFault
from pateval.checking.labels import check_labels, check_places, event_places
from pateval.checking.result import CheckedSeries, DataCheck, in_order
from pateval.checking.values import check_values
from pateval.datasets import Series, info, load
from pateval.labels.events import runs

Checkable = str | os.PathLike[str] | Series


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
    known = [_title(item) for item in items]
    named = []
    for item, title in zip(items, known, strict=True):
        if not isinstance(item, Series) and known.count(title) > 1:
            title = os.fspath(item)  # folders of one name are several data sets
        named += [(title, record) for record in _loaded(item, root)]
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
            found = check_values(series)
            faults += found.faults
            rule, f1 = found.rule, found.f1
        events = runs(series.labels)[0].size
        checked.append(CheckedSeries(title, series.name, series.steps, events, series.anomaly_share, rule, f1))
        if progress is not None:
            progress(done, len(named))
    for title in titles:
        mine = [series for other, series in named if other == title]
        faults += check_duplicates(mine)
        if len(mine) > 1:
            faults += check_places(title, np.concatenate([event_places(record.labels) for record in mine]))
    return DataCheck(tuple(checked), in_order(faults))


def _title(item: Checkable) -> str:
    """Name of the data set of one item."""
    if isinstance(item, Series):
        return "series"
    text = os.fspath(item)
    try:
        return info(text)[0].name
    except ValueError:
        return Path(text).resolve().name.split(".")[0] or text


def _loaded(item: Checkable, root: str | os.PathLike[str] | None) -> list[Series]:
    return [item] if isinstance(item, Series) else load(os.fspath(item), root=root)
