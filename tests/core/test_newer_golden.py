"""The newer metrics against the values of their reference implementations."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import pateval as pv
from conftest import golden
from support.newer_cases import FILES, NewerCase, newer_cases

SHORT = 200  # steps that the oracles, which are slow, can take


@pytest.mark.parametrize("case", [case for file in FILES for case in newer_cases(file)])
def test_golden(case: NewerCase):
    for name, options, value in case.expected:
        function = getattr(pv, name)
        if value is None:
            with pytest.raises(pv.UndefinedMetricError, match="the metric is undefined"):
                function(case.labels, case.second, **options)
            continue
        assert_close(function(case.labels, case.second, **options), value, case.tolerance)


@pytest.mark.parametrize("file", FILES)
def test_oracles_agree_too(file):
    for case in (parameter.values[0] for parameter in newer_cases(file)):
        for name, options, value in case.expected:
            if value is None or len(case.labels) > SHORT:
                continue
            module = getattr(pv, name).__module__.rpartition(".")[2]
            oracle = getattr(importlib.import_module(f"oracles.{module}"), name)
            plain = {key: item.tolist() if isinstance(item, np.ndarray) else item for key, item in options.items()}
            assert_close(oracle(case.labels.tolist(), case.second.tolist(), **plain), value, case.tolerance)


def assert_close(found, value, tolerance):
    """Some functions return several numbers, some of them several arrays."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(value))
    allowed = tolerance * np.maximum(1, np.abs(value))
    assert np.all((np.abs(np.subtract(found, value)) <= allowed) | np.isnan(value)), (found, value)


@pytest.mark.parametrize("file", FILES)
def test_every_line_tells_its_origin(file):
    for row in golden(f"newer/{file}"):
        assert row["origin"]["repository"]
        assert row["origin"]["call"]
        assert {entry["origin"] for entry in row["expected"]} <= {"reference", "derived", "contract"}
