"""Hypothesis strategies shared by the tests: small series that meet every edge case often."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def binary_series(draw: st.DrawFn, min_size: int = 1, max_size: int = 40) -> np.ndarray:
    """0/1 series made of runs: events at both edges, of length one, adjacent to short gaps, none, all."""
    kind = draw(st.sampled_from(["runs", "runs", "runs", "bits", "ones", "zeros", "single"]))
    size = draw(st.integers(min_size, max_size))
    if kind == "ones":
        return np.ones(size, dtype=int)
    if kind == "zeros":
        return np.zeros(size, dtype=int)
    if kind == "single":
        array = np.zeros(size, dtype=int)
        array[draw(st.integers(0, size - 1))] = 1
        return array
    if kind == "bits":
        return np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), dtype=int)
    value, parts, total = draw(st.integers(0, 1)), [], 0
    while total < size:
        length = min(draw(st.integers(1, 9)), size - total)
        parts.append(np.full(length, value, dtype=int))
        total, value = total + length, 1 - value
    return np.concatenate(parts)


@st.composite
def labels_and_predictions(
    draw: st.DrawFn, max_size: int = 40, with_anomaly: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Truth (with at least one anomaly unless told otherwise) and predictions of one length."""
    labels = draw(binary_series(max_size=max_size))
    if with_anomaly and not labels.any():
        labels = labels.copy()
        labels[draw(st.integers(0, labels.size - 1))] = 1
    predictions = draw(binary_series(min_size=labels.size, max_size=labels.size))
    return labels, predictions


@st.composite
def labels_and_scores(draw: st.DrawFn, max_size: int = 40, with_anomaly: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Truth and scores: many ties, none, constant, binary, or following the labels with noise."""
    labels = draw(binary_series(max_size=max_size))
    if with_anomaly and not labels.any():
        labels = labels.copy()
        labels[draw(st.integers(0, labels.size - 1))] = 1
    size = labels.size
    kind = draw(st.sampled_from(["distinct", "ties", "constant", "binary", "follows"]))
    if kind == "constant":
        return labels, np.full(size, float(draw(st.integers(-3, 3))))
    if kind == "binary":
        return labels, draw(binary_series(min_size=size, max_size=size)).astype(float)
    if kind == "ties":
        return labels, np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)), dtype=float) / 4
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.permutation(size) / size
    if kind == "follows":
        scores = np.round(scores + labels * draw(st.floats(0, 1)), 3)
    return labels, scores


@st.composite
def channel_pairs(draw: st.DrawFn, *, scores: bool) -> tuple[np.ndarray, np.ndarray]:
    """Truth of a few channels, with at least one anomaly, and scores or predictions of the same shape."""
    size, channels = draw(st.integers(1, 15)), draw(st.integers(1, 4))
    columns = [draw(binary_series(min_size=size, max_size=size)) for _ in range(channels)]
    labels = np.column_stack(columns)
    if not labels.any():
        labels[draw(st.integers(0, size - 1)), draw(st.integers(0, channels - 1))] = 1
    if not scores:
        return labels, np.column_stack([draw(binary_series(min_size=size, max_size=size)) for _ in range(channels)])
    levels = draw(st.sampled_from([1, 2, 4, 1000]))  # constant, many ties, hardly any
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return labels, rng.integers(0, levels, size=(size, channels)) / levels


def split_series(draw: st.DrawFn, size: int) -> np.ndarray:
    """Cut ``size`` steps into one or more contiguous series; return the series number per step."""
    cuts = sorted(draw(st.lists(st.integers(1, max(1, size - 1)), max_size=3, unique=True)))
    return np.searchsorted(np.array(cuts, dtype=int), np.arange(size), side="right")
