"""What columns are called in the field: the names by which labels, scores, series, detectors and times are known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Each role has tiers: a name of an earlier tier is taken before one of a later tier, and two columns of the same tier
# are equals, between which nothing is guessed.
LABELS = (
    ("label", "labels", "is_anomaly", "anomaly_label", "is_outlier", "y_true", "ground_truth", "truth", "gt"),
    ("anomaly", "outlier", "attack", "is_attack", "target", "label_window"),
)
SCORES = (("score", "scores", "anomaly_score", "anomaly_scores", "outlier_score", "outlier_scores", "y_score"),)
SERIES = (
    ("series", "series_id", "series_name", "unique_id", "ts_id", "item_id"),
    ("entity", "machine", "machine_id", "host", "hostname", "device", "device_id", "channel", "chan_id"),
)
DETECTORS = (("detector", "model", "algorithm", "method"),)
RUNS = (("run",),)
TIMES = ("timestamp", "timestamps", "time_stamp", "datetime", "date_time", "ds", "time", "times", "date")
PREDICTIONS = ("prediction", "predictions", "predicted", "pred", "y_pred")
_FORECASTS = ("yhat", "y_hat", "forecast", "forecasts")
_STEPS = ("step", "index", "t", "row", "id", "run", "seed", "")
_VALUES = ("value", "values", "data", "y", "x", "threshold", "thresholds", "temperature", "pressure", "humidity")
_NUMBERED = re.compile(r"(f|x|v|feature|feat|col|column|var|sensor|channel|value|dim)_?\d+")
_LIMITS = re.compile(
    r"(yhat|y_hat|forecast|prediction|pred)_(lower|upper|low|high|lo|hi)(_\d+)?|threshold_.*|.*_threshold"
)
_SCORED = re.compile(r".*[a-z0-9]_scores?|scores?_[a-z0-9].*")
_LABEL_OF_CHANNEL = re.compile(r"labels?_(?P<before>.+)|(?P<after>.+)_labels?")
_SCORE_OF_CHANNEL = re.compile(r"scores?_(?P<before>.+)|(?P<after>.+)_scores?")
_NOT_CHANNELS = ("window", "anomaly", "is", "y", "outlier")  # what other columns of labels and scores are called


def plain(name: str) -> str:
    """Return a column's name as it is compared: lower case, with one underscore for blanks, dashes and dots.

    Examples
    --------
    >>> plain(" Anomaly-Score ")
    'anomaly_score'
    """
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def equals(names: Iterable[str], tiers: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the columns that are the most likely for a role; one where it is clear, several where it is not.

    Examples
    --------
    >>> equals(["ds", "Label", "attack"], LABELS)
    ['Label']
    >>> equals(["label", "is_anomaly"], LABELS)
    ['label', 'is_anomaly']
    """
    columns = list(names)
    for tier in tiers:
        found = [name for name in columns if plain(name) in tier]
        if found:
            return found
    return []


def is_label(name: str) -> bool:
    """Whether a column is called like labels."""
    known = plain(name)
    return known.startswith("label") or any(known in tier for tier in LABELS)


def is_score(name: str) -> bool:
    """Whether a column is called like scores: ``score``, ``lstm_score``, ``anomaly_score_pca``.

    Examples
    --------
    >>> [name for name in ("lstm_score", "score.pca", "scoreboard", "temperature") if is_score(name)]
    ['lstm_score', 'score.pca']
    """
    known = plain(name)
    return known in SCORES[0] or bool(_SCORED.fullmatch(known))


def is_time(name: str) -> bool:
    """Whether a column is called like times."""
    known = plain(name)
    return known in TIMES or known.startswith("timestamp")


def is_step(name: str) -> bool:
    """Whether a column is called like a running number, as data frames add it."""
    known = plain(name)
    return known in _STEPS or known.startswith(("unnamed", "__"))


def is_prediction(name: str) -> bool:
    """Whether a column is called like predictions, or the limits of a forecast."""
    known = plain(name)
    return known in (*PREDICTIONS, *_FORECASTS) or bool(_LIMITS.fullmatch(known))


def is_value(name: str) -> bool:
    """Whether a column is called like what was measured: ``value``, ``temperature``, ``f00``.

    Examples
    --------
    >>> [name for name in ("f37", "Sensor 1", "threshold", "lstm", "usad2") if is_value(name)]
    ['f37', 'Sensor 1', 'threshold']
    """
    known = plain(name)
    return known in _VALUES or known.endswith("_threshold") or bool(_NUMBERED.fullmatch(known))


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
    labels, scores = _by_channel(columns, _LABEL_OF_CHANNEL), _by_channel(columns, _SCORE_OF_CHANNEL)
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
