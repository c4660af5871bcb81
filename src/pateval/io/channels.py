"""Columns of several channels: a column of labels for each, and a column of scores with the same name behind it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pateval.io.guesses import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

_LABEL = re.compile(r"labels?_(?P<before>.+)|(?P<after>.+)_labels?")
_SCORE = re.compile(r"scores?_(?P<before>.+)|(?P<after>.+)_scores?")
_NOT_CHANNELS = ("window", "anomaly", "is", "y", "outlier")  # what other columns of labels and scores are called


def channel_columns(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return columns of labels and of scores, channel by channel; both empty where there are not several channels.

    Examples
    --------
    >>> channel_columns(["time", "label_pump", "label_valve", "score_valve", "score_pump"])
    (['label_pump', 'label_valve'], ['score_pump', 'score_valve'])
    >>> channel_columns(["label", "lstm_score", "pca_score"])
    ([], [])
    """
    columns = list(names)
    labels, scores = _by_channel(columns, _LABEL), _by_channel(columns, _SCORE)
    if len(labels) < 2 or set(labels) - set(scores):
        return [], []
    return list(labels.values()), [scores[channel] for channel in labels]


def _by_channel(names: Iterable[str], pattern: re.Pattern[str]) -> dict[str, str]:
    found = {}
    for name in names:
        match = pattern.fullmatch(plain(name))
        channel = match and (match["before"] or match["after"])
        if channel and channel not in _NOT_CHANNELS:
            found[channel] = name
    return found
