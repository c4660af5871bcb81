"""The newer metrics against the values of their reference implementations."""

from __future__ import annotations

import numpy as np
import pytest

import pateval as pv
from conftest import golden
from support.newer_cases import FILES, NewerCase, newer_cases


@pytest.mark.parametrize("case", [case for file in FILES for case in newer_cases(file)])
def test_golden(case: NewerCase):
    for name, options, value in case.expected:
        function = getattr(pv, name)
        if value is None:
            with pytest.raises(pv.UndefinedMetricError, match="the metric is undefined"):
                function(case.labels, case.second, **options)
            continue
        found = function(case.labels, case.second, **options)
        # Some functions return several numbers, some of them several arrays.
        np.testing.assert_array_equal(np.isnan(found), np.isnan(value))
        allowed = case.tolerance * np.maximum(1, np.abs(value))
        assert np.all((np.abs(np.subtract(found, value)) <= allowed) | np.isnan(value)), (name, options, found, value)


@pytest.mark.parametrize("file", FILES)
def test_every_line_tells_its_origin(file):
    for row in golden(f"newer/{file}"):
        assert row["origin"]["repository"]
        assert row["origin"]["call"]
        assert {entry["origin"] for entry in row["expected"]} <= {"reference", "derived", "contract"}
