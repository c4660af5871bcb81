"""`evaluate`: one detector or several, with what chance reaches beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack, overload

import numpy.typing as npt

from pateval.catalog import MetricLike
from pateval.evaluation.chance import with_chance
from pateval.evaluation.columns import detector_columns
from pateval.evaluation.one_detector import Evaluated, evaluate_detector
from pateval.evaluation.result import Evaluation
from pateval.evaluation.table import EvaluationTable
from pateval.evaluation.threshold_rules import ORACLE, ThresholdRule
from pateval.labels.classes import labels_of_classes
from pateval.time.clocks import Duration, canonical_lengths
from pateval.validation.arrays import Buffers, count, has_channels, non_negative_integer
from pateval.validation.indexes import times_of
from pateval.validation.wording import shortened

CHANCE_DRAWS = 5


class EvaluationOptions(TypedDict, total=False):
    """The options of `evaluate`."""

    metrics: Iterable[MetricLike] | MetricLike | None
    early: Buffers
    delay: Buffers
    window: int | Duration
    threshold: float | str | ThresholdRule
    train_scores: npt.ArrayLike | None
    series: npt.ArrayLike | None
    times: npt.ArrayLike | None
    time_unit: str | None
    max_gap: Duration | None
    ignore: npt.ArrayLike | None
    missing: str
    positive: object
    chance: int
    seed: int


@overload
def evaluate(
    labels: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    predictions: Mapping[str, npt.ArrayLike] | None = None,
    **options: Unpack[EvaluationOptions],
) -> EvaluationTable: ...


@overload
def evaluate(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike | None = None,
    predictions: npt.ArrayLike | None = None,
    **options: Unpack[EvaluationOptions],
) -> Evaluation: ...


def evaluate(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None,
    predictions: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None,
    *,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: float | str | ThresholdRule = ORACLE,
    train_scores: npt.ArrayLike | None = None,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    positive: object = None,
    chance: int = CHANCE_DRAWS,
    seed: int = 0,
) -> Evaluation | EvaluationTable:
    """Compute metrics of a detector, or of several, by default all but the emerging ones.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step. Labels of two dimensions are steps by channels, and so must scores and predictions be:
        metrics that judge channels then have a value, all others are undefined, with that as the reason.
    scores : array-like of float, optional
        Higher is more anomalous. With one label per step a mapping of names to scores, a data frame or an array of two
        dimensions are several detectors, one per column, and the result is a table.
    predictions : array-like of 0/1, optional
        Where given, metrics on predictions use them; otherwise they are made from the scores with ``threshold``.
        Those of several detectors come like their scores, under the same names.
    metrics : str, Metric, function, or iterable of these, optional
        Metric ids, as ``pateval metrics`` lists them, with options or without: ``"pate(early=20,delay=20)"``; functions
        whose second parameter is named ``scores`` or ``predictions``, or ``"package.module:function"``; what
        `define_metric` makes. By default the whole catalogue, less emerging metrics, which are named to be computed,
        and, for labels of one dimension, those that need channels.
    early, delay : int, duration or iterable of these
        Buffer lengths for PATE and its kin; options in a metric's id win over them. Integers are steps; durations such
        as ``"10min"`` or a timedelta need ``times``. PATE measures them on the clock; other metrics, here and in the
        options of an id, take the nearest number of median intervals, at least one, in each series.
    window : int or duration
        Largest window of VUS and range-AUC; likewise.
    threshold : float or str
        A number (a step is predicted where its score is at least that), or a rule: "oracle" (the threshold with the
        best point F1: it uses the labels, and tables say so), "quantile", "standard-deviation", "median-deviation" or
        "peaks-over-threshold", each with an optional figure as in "quantile:0.02" or "standard-deviation:3";
        "train-quantile:0.01" or "train-test-quantile:0.01", strictly above the quantile of the training scores, or of
        training and given scores together, as many papers do; "alarms:2/1000", the lowest threshold with at most two
        alarms in a thousand steps (:func:`pateval.thresholds.alarm_rate_threshold`). With channels, one threshold for
        all of them, from the scores of all.
    train_scores : array-like of float, optional
        Scores of the training steps, for the rules whose names begin with "train-".
    series : array-like, optional
        Which series each step belongs to. Metrics that can be are computed over all steps together; the others are the
        mean over the series where they are defined, and listed in ``means``.
    times : array-like, optional
        When each step was recorded: dates, or numbers with ``time_unit``; increasing within a series. Times give
        durations a meaning; they change no number asked for in steps.
    time_unit : str, optional
        What one unit of numeric times is, such as "s" or "min".
    max_gap : str or timedelta, optional
        Holes in time longer than this part events and zones of PATE. To all other metrics a series stays one.
    ignore : array-like of 0/1, optional
        Steps left out as if they had never been recorded, in all channels where there are several; their labels and
        scores may be missing. PATE keeps their place on its clock; to other metrics the steps around them become
        neighbours, and ``notes`` name events that become one by it.
    missing : {"error", "ignore", "normal"}
        What to do where a score is NaN or null: refuse it, leave the step out, or count it as never predicted. Of
        several channels one score is enough to leave a step out; the channel alone is never predicted, and ranks below
        the others. ``steps.coverage`` tells how many steps have all scores: abstaining flatters.
    positive : label or collection of labels, optional
        The labels that mean an anomaly, where labels are words or classes.
    chance : int
        Over how many vectors of random scores to average what chance reaches, to stand beside the values; a detector
        that is not above it is marked. Each costs as much as a detector, but only when chance is first asked for, by
        ``chance``, by printing, or by `to_frame` and the like. 0 leaves chance out.
    seed : int
        Seed of the random scores.

    Returns
    -------
    Evaluation or EvaluationTable
        A mapping from metric id to value, NaN where undefined, with ``reasons``; with several detectors a mapping from
        their names to these.

    Raises
    ------
    ValueError, TypeError
        If an input is not of the form described, or a metric is unknown. An undefined metric does not raise.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    >>> scores = [0.1, 0.3, 0.2, 0.6, 0.9, 0.8, 0.5, 0.2, 0.1, 0.7]
    >>> pv.evaluate(labels, scores, metrics=["pate", "auc_roc", "point_f1", "mean_detection_delay"], early=2, delay=2)
    pate                           0.7931   chance 0.2458
    auc_roc                        0.8750   chance 0.4375
    point_f1 (oracle)              0.6667   chance 0.4448
    mean_detection_delay (oracle)  1.0000*  chance 0.2000
    * not above chance: random scores do as well
    predictions: score >= 0.9 (oracle: best point F1)
    >>> pv.evaluate([[0, 0], [1, 0]], [[0.1, 0.2], [0.9, 0.3]], metrics="channel_ndcg", chance=0)
    channel_ndcg  1.0000
    >>> pv.evaluate([0, 0, 0], [0.1, 0.2, 0.3], metrics="pate").reasons
    {'pate': 'the metric is undefined: the labels hold no anomaly'}
    >>> wanted = ["pate", "pate(early=0,delay=0)", "vus_pr(variant=original)"]
    >>> pv.evaluate(labels, scores, metrics=wanted, window=4, chance=0)
    pate                      0.7816
    pate(early=0,delay=0)     0.7083
    vus_pr(variant=original)  0.7116
    >>> pv.evaluate([0, 0, 1, 1], {"a": [0.1, 0.2, 0.9, 0.8], "b": [4, 3, 2, 1]}, metrics=["auc_roc", "pate_ap"])
             chance       a        b
    auc_roc  0.1500  1.0000  0.0000*
    pate_ap  0.5142  1.0000  0.4694*
    * not above chance: random scores do as well
    b: the scores look inverted: AUC-ROC is 0.00, and 1.00 with the sign turned; higher must mean more anomalous
    """
    draws, seed = count(chance, "chance"), non_negative_integer(seed, "seed")
    options: dict[str, Any] = {
        "metrics": metrics if metrics is None or isinstance(metrics, str) or callable(metrics) else _listed(metrics),
        "early": canonical_lengths(early, "early"),
        "delay": canonical_lengths(delay, "delay"),
        "window": window,
        "threshold": threshold,
        "series": series,
        "times": times,
        "time_unit": time_unit,
        "max_gap": max_gap,
        "ignore": ignore,
        "missing": missing,
    }
    columns = None if has_channels(labels) else detector_columns(scores, predictions)
    # Indexes are read here: labels made of classes below have none, nor have the random scores of chance.
    options["times"] = times_of(times, labels=labels, **_columns_by_name(scores, predictions, columns), series=series)
    if positive is not None:
        labels = labels_of_classes(labels, positive)
    if columns is None:
        one: Any = scores, predictions  # of a single detector, whatever the types say of several
        alone = evaluate_detector(labels, *one, train_scores=train_scores, **options)
        return with_chance({"": alone}, threshold=threshold, max_gap=max_gap, draws=draws, seed=seed)[""]
    if train_scores is not None:
        raise ValueError("train_scores are those of one detector; evaluate the detectors one by one")
    results = {name: _one_of_several(name, labels, given, options) for name, given in columns.items()}
    return EvaluationTable(with_chance(results, threshold=threshold, max_gap=max_gap, draws=draws, seed=seed))


def _one_of_several(name: str, labels: Any, given: tuple[Any, Any], options: dict[str, Any]) -> Evaluated:
    """Evaluate one detector of a table; what is wrong with its values is said with its name."""
    try:
        return evaluate_detector(labels, *given, **options)
    except (TypeError, ValueError) as error:
        whose = f" of {shortened(name)}"
        named = re.sub(r"^((?:labels and )?(?:scores|predictions))\b", lambda kind: kind[0] + whose, str(error))
        raise (error if named == str(error) else type(error)(named)) from None


def _listed(metrics: Any) -> Any:
    return metrics if not isinstance(metrics, Iterable) else list(metrics)


def _columns_by_name(scores: Any, predictions: Any, columns: Mapping[str, tuple[Any, Any]] | None) -> dict[str, Any]:
    if columns is None:
        return {"scores": scores, "predictions": predictions}
    kinds = ("scores", "predictions")
    return {
        f"{kind} of {name}": values
        for name, both in columns.items()
        for kind, values in zip(kinds, both, strict=True)
        if values is not None
    }
