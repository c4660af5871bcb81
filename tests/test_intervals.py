"""Labels from intervals and back, in steps and in times."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from support.messages import raises_exactly

TIMES = np.array(
    ["2024-01-01T10:00", "2024-01-01T10:10", "2024-01-01T10:20", "2024-01-01T11:00"], dtype="datetime64[m]"
)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.booleans(), st.sampled_from(["steps", "dates", "floats"]))
def test_there_and_back(labels: list[bool], closed: bool, kind: str) -> None:
    size = len(labels)
    times = {
        "steps": None,
        "dates": np.datetime64("2024-01-01") + np.cumsum(np.arange(1, size + 1)).astype("timedelta64[s]"),
        "floats": np.cumsum(np.linspace(0.1, 3, size)),
    }[kind]
    intervals = pv.intervals_from_labels(labels, times, closed=closed)
    again = pv.labels_from_intervals(intervals, size if times is None else times, closed=closed)
    assert again.tolist() == labels
    assert intervals.shape == (sum(np.diff([False, *labels]) & np.array(labels)), 2)


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(1, 9)), max_size=6), st.booleans())
def test_every_step_inside_an_interval_is_marked_and_no_other(pairs: list[tuple[int, int]], closed: bool) -> None:
    intervals = [(start, start + length) for start, length in pairs]
    expected = [any(a <= step < b + closed for a, b in intervals) for step in range(40)]
    assert pv.labels_from_intervals(intervals, 40, closed=closed).tolist() == expected


def test_times_of_every_kind() -> None:
    expected = [False, True, True, False]
    pair = ("2024-01-01T10:05", "2024-01-01T11:00")
    for times in (TIMES, [str(time) for time in TIMES], pd.Series(TIMES), TIMES.astype(datetime.datetime).tolist()):
        assert pv.labels_from_intervals([pair], times).tolist() == expected
    aware = pd.Series(TIMES).dt.tz_localize("UTC")
    assert pv.labels_from_intervals([(f"{pair[0]}Z", "2024-01-01T12:00+01:00")], aware).tolist() == expected
    assert pv.labels_from_intervals([pair], TIMES, closed=True).tolist() == [False, True, True, True]
    assert pv.labels_from_intervals([], TIMES).tolist() == [False] * 4
    assert pv.labels_from_intervals([(0, 99)], [1, 2, 3]).tolist() == [True] * 3


def test_the_stop_at_the_end_of_a_recording() -> None:
    assert pv.intervals_from_labels([0, 0, 1, 1], TIMES).tolist() == [
        [np.datetime64("2024-01-01T10:20", "ns").item(), np.datetime64("2024-01-01T11:40", "ns").item()]
    ]
    assert pv.intervals_from_labels([1], [5]).tolist() == [[5, 6]]
    assert pv.intervals_from_labels([0, 0]).tolist() == []


@pytest.mark.parametrize(
    ("intervals", "size_or_times", "message"),
    [
        ([(3, 2)], 5, "interval 0, from 3 to 2, ends before it starts"),
        (
            [(0, 1), (3, 3)],
            5,
            "interval 1, from 3 to 3, is empty, since the stop does not belong to it: pass closed=True if it does",
        ),
        ([(3, 6)], 5, "interval 0, from 3 to 6, reaches beyond the steps 0 to 4"),
        ([(-1, 2)], 5, "interval 0, from -1 to 2, reaches beyond the steps 0 to 4"),
        ([3, 6], 5, "intervals must be pairs of start and stop; got an array of shape (2,)"),
        (
            [("2024-01-01", "2024-01-02")],
            5,
            (
                "intervals must be step numbers where the number of steps is given; for intervals in time, pass the "
                "times of the steps"
            ),
        ),
        ([(0, 1)], TIMES, "intervals and times must both be dates or both be numbers"),
        (
            [("2025-01-01T00:00", "2025-01-02T00:00")],
            TIMES,
            (
                "interval 0, from 2025-01-01T00:00 to 2025-01-02T00:00, holds none of the times 2024-01-01T10:00 to "
                "2024-01-01T11:00"
            ),
        ),
        ([(0, 1)], 0, "size_or_times must be the number of steps or their times; got 0"),
        ([(0, 1)], 2.5, "size_or_times must be the number of steps or their times; got 2.5"),
    ],
)
def test_refusals(intervals: object, size_or_times: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        pv.labels_from_intervals(intervals, size_or_times)
    assert str(caught.value) == message


def test_times_must_increase() -> None:
    with raises_exactly(
        ValueError,
        "times must increase within a series; the time at index 1, 2, lies before the one before it, 3 (2 such "
        "places): sort the steps by time and leave out repeated ones",
    ):
        pv.labels_from_intervals([(1, 2)], [3, 2, 1])
    with raises_exactly(ValueError, "times and labels must have the same length; got 2 and 3"):
        pv.intervals_from_labels([0, 1, 0], [1, 2])
