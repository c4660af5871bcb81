"""Long series keep their spikes, short events stay visible, and the time axis shows steps or times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

import pateval as pv
from pateval.labels.events import find_events
from pateval.plots.series_panels import zone_ends
from pateval.plots.styling import EVENT_MARK
from pateval.plots.time_axis import COLUMNS, VISIBLE_SHARE, draw_spans, envelope, time_axis
from support.figures import pixels
from support.messages import raises_exactly

MILLION = 1_000_000


class TestEnvelope:
    @given(st.integers(1, 400), st.integers(0, 2**32 - 1), st.integers(1, 20), st.booleans())
    def test_keeps_the_extremes_of_every_column_where_they_are(self, size, seed, columns, even):
        rng = np.random.default_rng(seed)
        positions = np.arange(size, dtype=float) if even else np.cumsum(rng.exponential(size=size) + 1e-6)
        values = rng.integers(-5, 5, size).astype(float)
        x, y = envelope(positions, values, columns)
        assert y.min() == values.min()
        assert y.max() == values.max()
        assert (np.diff(x) >= 0).all()
        assert y.size <= max(2 * columns, size if size <= 2 * columns else 0)
        np.testing.assert_array_equal(values[np.searchsorted(positions, x)], y)
        if size > 2 * columns:
            edges = positions[0] + (positions[-1] - positions[0]) * np.arange(columns) / columns
            column_of, drawn_in = (np.searchsorted(edges, where, side="right") for where in (positions, x))
            for column in np.unique(column_of):
                mine, shown = values[column_of == column], y[drawn_in == column]
                assert (shown.min(), shown.max()) == (mine.min(), mine.max())

    def test_gaps_stay_gaps(self):
        values = np.ones(1000)
        values[300:600] = np.nan
        x, y = envelope(np.arange(1000.0), values, 10)
        assert np.isnan(y[(x >= 300) & (x < 600)]).all()
        assert np.nanmax(y) == 1.0


@pytest.fixture(scope="module")
def drawn():
    labels = np.zeros(MILLION, dtype=bool)
    labels[[123_456, 500_000]] = True  # two events of one step
    labels[900_000:900_050] = True
    scores = np.random.default_rng(0).random(MILLION) * 0.5
    scores[123_457] = 7.0
    scores[777_777] = 9.0
    return labels, scores, pv.plots.series(labels, scores, early=100, delay=100)[0]


class TestMillionSteps:
    def test_the_highest_scores_are_drawn_where_they_are(self, drawn):
        _, _, ax = drawn
        (line,) = (line for line in ax.get_lines() if line.get_label().startswith("_"))
        x, y = line.get_data()
        assert y.max() == 9.0
        assert x[y.argmax()] == 777_777
        assert 7.0 in y
        assert y.size <= 2 * COLUMNS
        assert ax.get_ylim()[1] > 9.0

    def test_every_event_is_wide_enough_to_be_seen(self, drawn):
        _, _, ax = drawn
        (events,) = (found for found in ax.collections if found.get_label() == "event")
        boxes = [path.get_extents() for path in events.get_paths()]
        assert len(boxes) == 3
        width = np.diff(ax.get_xlim())[0]
        for box, step in zip(boxes, (123_456, 500_000, 900_025), strict=True):
            assert box.width >= 0.99 * VISIBLE_SHARE * width
            assert box.x0 <= step <= box.x1

    def test_every_event_has_pixels_of_its_own(self, drawn):
        _, _, ax = drawn
        image = pixels(ax).astype(int)
        marked = np.abs(image - np.round(np.array(to_rgb(EVENT_MARK)) * 255)).max(axis=2) < 30
        columns = np.flatnonzero(marked.any(axis=0))
        assert np.count_nonzero(np.diff(columns) > 1) + 1 >= 3

    def test_the_spike_has_pixels_of_its_own(self, drawn):
        labels, scores, ax = drawn
        lowered = scores.copy()
        lowered[777_777] = 0.0
        (other,) = pv.plots.series(labels, lowered, early=100, delay=100)
        other.set_ylim(ax.get_ylim())
        assert (pixels(ax) != pixels(other)).any(axis=2).sum() > 100

    def test_categories_of_a_million_steps_are_few_artists(self, drawn):
        labels, scores, _ = drawn
        explanation = pv.explain(labels, scores > 0.4999, early=100, delay=100)
        ax = pv.plots.categories(explanation)
        assert sum(len(found.get_paths()) for found in ax.collections) < 4 * COLUMNS
        names = [found.get_label() for found in ax.collections]
        assert {"event", "outside", "totally missed"} <= set(names)
        assert max(line.get_xdata().size for line in ax.get_lines()) <= 4 * COLUMNS


class TestTimeAxis:
    def test_dates_are_drawn_as_dates(self):
        times = np.datetime64("2024-03-01") + np.arange(48).astype("timedelta64[h]")
        labels = np.arange(48) == 10
        (ax,) = pv.plots.series(labels, np.arange(48.0), times=times)
        ax.figure.draw_without_rendering()
        assert ax.get_xlabel() == "time"
        assert any("Mar" in tick.get_text() for tick in ax.get_xticklabels())

    def test_numbers_carry_their_unit(self):
        labels = np.arange(5) == 2
        (ax,) = pv.plots.series(labels, np.arange(5.0), times=np.arange(5) * 0.1, time_unit="s")
        assert ax.get_xlabel() == "time (s)"
        assert ax.get_xlim() == pytest.approx((-0.05, 0.45))

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            (
                [0, 1, 1, 2],
                (
                    "times must increase within a series; the time at index 2, 1, is the same as the one before it, 1 "
                    "(1 such place): sort the steps by time and leave out repeated ones"
                ),
            ),
            ([0, 1, np.nan, 2], "times must be finite; found nan at index 2"),
            ([0, 1, 2], "times and labels must have the same length; got 3 and 4"),
            (
                ["a", "b", "c", "d"],
                "times must be dates from 1678 to 2261, such as datetime64 values, or numbers; got 'a' at index 0",
            ),
        ],
    )
    def test_bad_times_are_refused(self, times, message):
        with raises_exactly((ValueError, TypeError), message):
            pv.plots.series([0, 1, 0, 0], [0, 1, 0, 0], times=times)

    @pytest.mark.parametrize("limits", [(3, 3), (-1, 2), (0, 9)])
    def test_bad_limits_are_refused(self, limits):
        with pytest.raises(ValueError, match="limits must be two steps with 0 <= first < stop <= 4"):
            time_axis(4, limits=limits)

    def test_limits_show_only_these_steps(self):
        labels = np.zeros(100, dtype=bool)
        labels[50:60] = True
        scores = np.arange(100.0)
        (ax,) = pv.plots.series(labels, scores, limits=(40, 55))
        assert ax.get_xlim() == (39.5, 54.5)
        np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), scores[40:55])
        box = ax.collections[0].get_paths()[0].get_extents()
        assert (box.x0, box.x1) == (49.5, 54.5)


def test_spans_that_nobody_can_tell_apart_are_one_patch():
    ax = pv.plots.panels()[0, 0]
    ax.set_xlim(0, MILLION)
    lefts = np.arange(0, MILLION, 4, dtype=float)
    assert len(draw_spans(ax, lefts, lefts + 1).get_paths()) == 1


@given(st.lists(st.booleans(), min_size=3, max_size=40), st.integers(0, 8), st.integers(0, 8), st.integers(1, 39))
def test_zones_are_those_of_explain(labels, early, delay, cut):
    truth = np.array(labels)
    if not truth.any():
        truth[0] = True
    series = np.arange(truth.size) >= cut
    owner = pv.explain(truth, truth, early=early, delay=delay, series=series).points.event
    starts = np.unique([0, cut]) if cut < truth.size else np.zeros(1, dtype=int)
    events = find_events(truth, starts)
    zones = zone_ends(events, early, delay, None)
    expected = np.full(truth.size, -1)
    for k, (start, stop) in enumerate(zip(*zones, strict=True)):
        expected[start:stop] = k
    np.testing.assert_array_equal(owner, expected)
