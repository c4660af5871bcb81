"""The shared counts and areas, against counting one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from pateval.kernels.threshold_counts import (
    above,
    at_least,
    distinct_descending,
    run_counts,
    standing,
    steps,
    trapezoids,
)
from support.strategies import labels_and_scores


@given(labels_and_scores())
def test_counts(pair):
    labels, scores = pair[0].astype(bool), pair[1]
    ascending = np.sort(scores)
    levels = distinct_descending(ascending)
    assert levels.tolist() == sorted(set(scores.tolist()), reverse=True)
    assert at_least(ascending, levels).tolist() == [(scores >= level).sum() for level in levels]
    assert above(ascending, levels).tolist() == [(scores > level).sum() for level in levels]
    assert run_counts(scores, ascending, levels).tolist() == [
        np.count_nonzero(np.diff(scores >= level, prepend=False) & (scores >= level)) for level in levels
    ]
    place = standing(labels, scores)
    assert place.thresholds.tolist() == sorted(scores[labels].tolist(), reverse=True)
    assert place.true_positive.tolist() == [(labels & (scores >= level)).sum() for level in place.thresholds]
    assert place.flagged_above.tolist() == [(scores > level).sum() for level in place.thresholds]


def test_areas_along_the_last_axis():
    x, y = np.array([[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]]), np.array([[1.0, 1.0, 0.0], [2.0, 4.0, 6.0]])
    assert trapezoids(x, y) == pytest.approx([1.5, 4])
    assert steps(x, y) == pytest.approx([1, 5])
