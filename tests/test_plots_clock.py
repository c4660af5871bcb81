"""Figures on a clock: what is drawn at a step is what `explain` and `pate` say of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.plots.series_panels import zone_ends
from pateval.plots.time_axis import time_axis
from pateval.time.timelines import read_recording, read_zone_buffers

plots = pv.plots

RNG = np.random.default_rng(11)
LABELS = np.tile(np.repeat([0, 1, 0], [9, 4, 7]), 6)
SIZE = LABELS.size
SCORES = 0.4 * LABELS + RNG.random(SIZE)
MINUTES = np.cumsum(RNG.integers(1, 9, SIZE))
MINUTES[50:] += 300  # a hole inside an event
MINUTES[77:] += 90
START = np.datetime64("2026-03-01T00:00")
TIMES = START + MINUTES.astype("m8[m]")
IGNORED = np.zeros(SIZE, dtype=bool)
IGNORED[[0, 1, 2, 31, 32, 70, 71, 72, 73, 90, 91, 92, 93]] = True  # one event, and the middle of another, among them
ON_CLOCK = {"early": "15min", "delay": "25min", "times": TIMES, "max_gap": "1h", "ignore": IGNORED}
COUNTED = np.flatnonzero(~IGNORED)


def covered(ax, name, positions):
    """Steps whose position lies in the shading of this name."""
    found = np.zeros(positions.size, dtype=bool)
    for shading in ax.collections:
        if shading.get_label() == name:
            for path in shading.get_paths():
                box = path.get_extents()
                found |= (positions >= box.x0) & (positions <= box.x1)
    return np.flatnonzero(found)


def days(times):
    from matplotlib.dates import date2num

    return date2num(times)


def expected_zones(explanation):
    """Steps of events, early zones and delayed zones, by the steps that `explain` gives to an event."""
    owner, inside = explanation.points.event, explanation.is_inside()
    starts, stops = explanation.event_places()
    steps = np.arange(owner.size)
    known = np.maximum(owner, 0)
    early = (owner >= 0) & ~inside & (steps < starts[known])
    delayed = (owner >= 0) & ~inside & (steps >= stops[known])
    numbers = explanation.explained_steps.original(steps)
    return {"event": numbers[inside], "early zone": numbers[early], "delayed zone": numbers[delayed]}


def test_a_series_is_shaded_where_explain_has_its_zones():
    (ax,) = plots.series(LABELS, SCORES, threshold=0.9, **ON_CLOCK)
    found = pv.explain(LABELS, SCORES >= 0.9, **ON_CLOCK)
    for name, steps in expected_zones(found).items():
        assert steps.size
        np.testing.assert_array_equal(covered(ax, name, days(TIMES)), steps)
    np.testing.assert_array_equal(covered(ax, "left out", days(TIMES)), np.flatnonzero(IGNORED))
    holes = [shading for shading in ax.collections if shading.get_label() == "hole"]
    boxes = [path.get_extents() for path in holes[0].get_paths()]
    gaps = np.flatnonzero(np.diff(days(TIMES)) > 1 / 24)
    assert len(boxes) == gaps.size == 2
    for box, before in zip(boxes, gaps, strict=True):
        assert days(TIMES)[before] < box.x0 < box.x1 < days(TIMES)[before + 1]


def test_a_hole_is_a_line_where_steps_are_counted():
    found = pv.explain(LABELS, SCORES >= 0.9, **ON_CLOCK)
    ax = plots.categories(found)
    (lines,) = (drawn for drawn in ax.collections if drawn.get_label() == "hole")
    assert [segment[0, 0] for segment in lines.get_segments()] == [49.5, 76.5]


def test_scores_are_interrupted_where_nothing_counts():
    (ax,) = plots.series(LABELS, SCORES, **ON_CLOCK)
    x, y = ax.get_lines()[0].get_data()
    drawn = ~np.isnan(y)
    np.testing.assert_allclose(x[drawn], days(TIMES)[COUNTED])
    np.testing.assert_array_equal(y[drawn], SCORES[COUNTED])
    for step in (50, 77):  # the first ones after a hole
        place = np.flatnonzero(x == days(TIMES)[step])
        assert np.isnan(y[place[0]])
    assert ax.get_xlabel() == "time"


def test_missing_scores_are_marked_and_a_lonely_one_is_a_dot():
    scores = SCORES.copy()
    scores[[4, 5, 7, 20, 31]] = np.nan
    (ax,) = plots.series(LABELS, scores, **ON_CLOCK)
    np.testing.assert_array_equal(covered(ax, "no score", days(TIMES)), [4, 5, 7, 20])  # step 31 is left out
    dots = next(line for line in ax.get_lines() if line.get_marker() == ".")
    assert days(TIMES)[6] in dots.get_xdata()


def test_shading_ends_midway_to_a_near_step():
    labels = np.array([0, 0, 0, 1, 0, 0, 0])
    times = np.array([0.0, 10.0, 20.0, 21.0, 22.0, 32.0, 42.0])
    (ax,) = plots.series(labels, np.zeros(7), times=times, time_unit="s")
    box = ax.collections[0].get_paths()[0].get_extents()
    assert (box.x0, box.x1) == (20.5, 21.5)
    assert ax.get_xlim() == (-5.0, 47.0)


@given(st.data())
def test_zones_on_a_clock_are_those_of_explain(data):
    size = data.draw(st.integers(3, 30))
    labels = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    ignore = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    labels[0], ignore[0] = True, False
    times = np.cumsum(data.draw(st.lists(st.integers(1, 20), min_size=size, max_size=size))) * 10
    buffers = [f"{data.draw(st.integers(0, 90))}s" for _ in range(2)]
    given_ = {"times": times, "time_unit": "s", "max_gap": data.draw(st.sampled_from([None, "100s"])), "ignore": ignore}
    recording = read_recording(labels, **given_)
    (early,), (delay,), clock = read_zone_buffers(recording.timeline, *buffers)
    zones = zone_ends(recording.timeline.events(recording.counted(labels)), early, delay, clock)
    owner = pv.explain(labels, labels, early=buffers[0], delay=buffers[1], **given_).points.event
    expected = np.full(owner.size, -1)
    for k, (start, stop) in enumerate(zip(*zones, strict=True)):
        expected[start:stop] = k
    np.testing.assert_array_equal(owner, expected)


@pytest.mark.parametrize("buffers", [{}, {"delay": ["0min", "30min"]}, {"early": 2, "delay": 4}])
def test_weights_are_drawn_where_their_steps_are(buffers):
    found = pv.explain(LABELS, SCORES >= 0.9, **(ON_CLOCK | buffers))
    ax = plots.categories(found, times=TIMES)
    positions = days(TIMES)
    predicted = SCORES >= 0.9
    lines = {line.get_label(): line for line in ax.get_lines()}
    for name, weights, active in (
        ("TP weight", found.points.true_positive, predicted[COUNTED] & (found.points.event >= 0)),
        ("FN weight", found.points.false_negative, found.is_inside() & ~predicted[COUNTED]),
    ):
        x, y = lines[name].get_data()
        known = ~np.isnan(y)
        centres = x[known].reshape(-1, 2).mean(axis=1)  # a dash for each step
        steps = [np.argmin(np.abs(positions - at)) for at in centres]
        np.testing.assert_array_equal(steps, COUNTED[active])
        np.testing.assert_allclose(y[known], np.repeat(weights[active], 2))
    np.testing.assert_array_equal(covered(ax, "event", positions), COUNTED[found.is_inside()])


def test_a_band_does_not_cross_a_hole_or_what_is_left_out():
    predictions = np.ones(SIZE, dtype=bool)
    found = pv.explain(LABELS, predictions, **(ON_CLOCK | {"early": "0s", "delay": "0s"}))
    ax = plots.categories(found, times=TIMES)
    for name in ("true detection", "outside"):
        steps = COUNTED[found.points.category == name]
        np.testing.assert_array_equal(covered(ax, name, days(TIMES)), steps)
        for shading in ax.collections:
            if shading.get_label() == name:
                widest = max(path.get_extents().width for path in shading.get_paths())
                assert widest < 300 / 1440  # the longer hole, in days


def test_limits_are_recorded_steps_on_a_clock():
    found = pv.explain(LABELS, SCORES >= 0.9, **ON_CLOCK)
    ax = plots.categories(found, times=TIMES, limits=(30, 45))
    low, high = ax.get_xlim()
    assert days(TIMES)[28] < low < days(TIMES)[30]
    assert days(TIMES)[44] < high < days(TIMES)[46]


def test_two_detectors_need_the_same_steps():
    one = pv.explain(LABELS, SCORES >= 0.9, **ON_CLOCK)
    bands, _ = plots.comparison({"a": one, "b": pv.explain(LABELS, LABELS, **ON_CLOCK)}, times=TIMES)
    assert bands.get_xlabel() == "time"
    more = IGNORED.copy()
    more[4] = True
    other = pv.explain(LABELS, LABELS, **(ON_CLOCK | {"ignore": more}))
    with pytest.raises(ValueError, match="must leave out the same steps; pass the same ignore to both"):
        plots.comparison({"a": one, "b": other})


def test_series_that_overlap_in_time_are_drawn_by_steps():
    labels, scores = np.tile(LABELS, 2), np.tile(SCORES, 2)
    series = np.repeat(["a", "b"], SIZE)
    given_ = {"early": "15min", "delay": "25min", "series": series}
    (ax,) = plots.series(labels, scores, times=np.concatenate([TIMES, TIMES]), **given_)
    assert ax.get_xlabel() == "time step"
    found = pv.explain(labels, scores >= 0.9, times=np.concatenate([TIMES, TIMES]), **given_)
    for name, steps in expected_zones(found).items():
        np.testing.assert_array_equal(covered(ax, name, np.arange(2.0 * SIZE)), steps)
    (ax,) = plots.series(labels, scores, times=np.concatenate([TIMES, TIMES + np.timedelta64(9, "D")]), **given_)
    assert ax.get_xlabel() == "time"
    ignore = np.tile(IGNORED, 2)  # the second series begins with a step that is left out
    (ax,) = plots.series(labels, scores, times=np.concatenate([TIMES, TIMES]), ignore=ignore, **given_)
    assert ax.get_xlabel() == "time step"
    with pytest.raises(ValueError, match="times must increase within a series; the time at index 120"):
        time_axis(2 * SIZE, times=np.concatenate([TIMES, TIMES]))


def test_times_that_floats_cannot_tell_apart_are_drawn_by_steps():
    times = np.datetime64("2026-03-01", "ns") + np.arange(5).astype("m8[ns]")
    (ax,) = plots.series([0, 0, 1, 0, 0], np.arange(5.0), times=times, delay="1ns")
    assert ax.get_xlabel() == "time step"
    np.testing.assert_array_equal(covered(ax, "delayed zone", np.arange(5.0)), [3])


def test_lengths_on_an_even_clock_are_those_in_steps():
    times = START + 5 * np.arange(SIZE).astype("m8[m]")
    in_steps = plots.weights_by_length(pv.explain(LABELS, LABELS, early=0, delay=6), distances=[1, 3])
    in_time = plots.weights_by_length(
        pv.explain(LABELS, LABELS, early=0, delay="30min", times=times), distances=["5min", "15min"]
    )
    assert in_time.get_xlabel() == "event length (min)"
    assert in_time.get_ylabel() == "TP weight of a detection (delay 30min)"
    for one, other in zip(in_steps.get_lines(), in_time.get_lines(), strict=True):
        np.testing.assert_allclose(5 * one.get_xdata(), other.get_xdata())
        np.testing.assert_allclose(one.get_ydata(), other.get_ydata(), atol=1e-12)


def test_lengths_are_those_of_the_clock_and_of_what_is_left():
    found = pv.explain(LABELS, LABELS, **ON_CLOCK)
    ax = plots.weights_by_length(found, distances=["1min"])
    starts, stops = found.event_places()
    interval = np.median(np.diff(MINUTES[COUNTED]))
    lengths = MINUTES[COUNTED][stops - 1] - MINUTES[COUNTED][starts] + interval
    points = ax.get_lines()[1]
    np.testing.assert_allclose(points.get_xdata(), lengths)
    for at, weight in zip(*points.get_data(), strict=True):
        assert weight <= (25 - 1) / (25 + (at - interval) / 2) + 1e-12
    with pytest.raises(ValueError, match="distances must lie between 0 and the delay"):
        plots.weights_by_length(found, distances=["26min"])


def test_sizes_on_a_clock_are_what_pate_gives():
    scores = np.where(np.arange(SIZE) % 17 == 0, np.nan, SCORES)
    given_ = {"times": TIMES, "max_gap": "1h", "ignore": IGNORED, "missing": "normal"}
    sizes = ["0min", "20min", "2h"]
    values = plots.pate_by_sizes(LABELS, {"a": scores}, sizes=sizes, **given_)
    expected = [pv.pate(LABELS, scores, early=size, delay=size, **given_) for size in sizes]
    assert values["a"] == pytest.approx(expected, abs=1e-12)
    line = plots.buffer_sizes(sizes, values).get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [0, 20, 120])
    np.testing.assert_array_equal(line.get_ydata(), values["a"])


@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_shares_of_scores_count_what_counts(missing):
    scores = np.where(np.arange(SIZE) % 17 == 0, np.nan, SCORES)
    ax = plots.score_distribution(LABELS, scores, ignore=IGNORED, missing=missing, bins=8)
    has_score = ~IGNORED & ~np.isnan(scores)
    edges = np.linspace(scores[has_score].min(), scores[has_score].max(), 9)
    for patch, inside in zip(ax.patches, (LABELS == 0, LABELS == 1), strict=True):
        steps = has_score if missing == "ignore" else ~IGNORED
        counts = np.histogram(scores[has_score & inside], edges)[0]
        np.testing.assert_allclose(patch.get_data().values, counts / np.count_nonzero(steps & inside))
    with pytest.raises(ValueError, match="found a missing one at index 17"):
        plots.score_distribution(LABELS, scores, ignore=IGNORED)
    with pytest.raises(ValueError, match="every score is missing"):
        plots.score_distribution([0, 1], [np.nan, np.nan], missing="normal")
