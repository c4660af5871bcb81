"""`evaluate`: one detector or several, with what chance reaches beside them; and the best threshold of any metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack, cast, overload

import numpy as np
import numpy.typing as npt

from pateval.catalog.lookup import parameter_names
from pateval.catalog.metric import KINDS, ORACLE, Metric
from pateval.evaluation.chance import Chance
from pateval.evaluation.measures import CHANCE_DRAWS, Measures, Metrics, Threshold
from pateval.evaluation.notes import circumstances, lengths_in_steps, notes_on, require_clock
from pateval.evaluation.result import BINARY, Evaluation, EvaluationTable
from pateval.evaluation.threshold_rules import TRAIN, TRAIN_TEST, training_level, uses_training_scores
from pateval.evaluation.values import (
    Sample,
    Value,
    mean_values,
    parts_by_series,
    search,
    unchangeable,
    values_of,
    with_predictions,
)
from pateval.labels.classes import labels_of_classes
from pateval.output.results import PRF
from pateval.thresholds.sweeps import BestThreshold
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, leave_out_for_all, read_recording
from pateval.validation.arrays import (
    Buffers,
    FloatArray,
    finite_array,
    has_channels,
    positive_integer,
    require_anomaly,
    without_gaps,
)
from pateval.validation.checked import documented
from pateval.validation.containers import times_of, to_numpy
from pateval.validation.wording import InputError, InputTypeError, in_words, shortened


class EvaluationOptions(TypedDict, total=False):
    """The options of `evaluate`."""

    metrics: Metrics
    early: Buffers
    delay: Buffers
    window: int | Duration
    threshold: Threshold
    train_scores: npt.ArrayLike | None
    series: npt.ArrayLike | None
    times: npt.ArrayLike | None
    time_unit: str | None
    max_gap: Duration | None
    ignore: npt.ArrayLike | None
    missing: str
    positive: object
    pooled: bool
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
    metrics: Metrics = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: Threshold = ORACLE,
    train_scores: npt.ArrayLike | None = None,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    positive: object = None,
    pooled: bool = False,
    chance: int = CHANCE_DRAWS,
    seed: int = 0,
) -> Evaluation | EvaluationTable:
    """Compute metrics of a detector, or of several, by default the nine of `pateval.DEFAULT_METRICS`.

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
        `define_metric` makes. Ids may stand in one text with commas between them. ``"all"`` is the whole catalogue,
        less emerging metrics; "scores", "predictions", "events" and "emerging" are parts of it. By default nine of
        them, or all that judge channels where labels have two dimensions.
    early, delay : int, duration or iterable of these
        Buffer lengths for PATE and its kin; options in a metric's id win over them. Integers are steps; durations such
        as ``"10min"`` or a timedelta need ``times``. PATE measures them on the clock; other metrics, here and in the
        options of an id, take the nearest number of median intervals, at least one, in each series.
    window : int or duration
        Largest window of VUS and range-AUC; likewise.
    threshold : float, str or mapping of these
        How scores become predictions, for the metrics that name no threshold of their own as
        ``"point_adjusted_f1(threshold=best)"`` does; chosen on each series. A number (a step is predicted where its
        score is at least that), or a rule: "oracle" (the threshold with the best point F1) or "best" (that with the
        best value of the metric itself), which use the labels, and tables say so; "quantile", "standard-deviation",
        "median-deviation" or "peaks-over-threshold", each with an optional figure as in "quantile:0.02" or
        "standard-deviation:3"; "train-quantile:0.01" or "train-test-quantile:0.01", strictly above the quantile of the
        training scores, or of training and given scores together, as many papers do; "alarms:2/1000", the lowest
        threshold with at most two alarms in a thousand steps (:func:`pateval.thresholds.alarm_rate_threshold`). With
        channels, one threshold for all of them, from the scores of all. Scores that are 0 and 1 only are predictions,
        and no rule is applied. A mapping gives detectors thresholds of their own, by their names; None in the place of
        a name stands for all others.
    train_scores : array-like of float, optional
        Scores of the training steps, for the rules whose names begin with "train-".
    series : array-like, optional
        Which series each step belongs to. Every value is then the mean over the series where it is defined, with
        thresholds chosen on each series.
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
    pooled : bool
        Take all steps of several series for one sample, with one threshold, instead of means over the series. Events
        and buffers still end at the end of a series. Metrics that cannot be pooled are refused where they are named.
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
    pate                           0.7931   chance 0.2887
    auc_roc                        0.8750   chance 0.3750
    point_f1 (oracle)              0.6667   chance 0.4394
    mean_detection_delay (oracle)  1.0000*  chance 0.0000
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
    metric   chance        a        b
    ---------------------------------
    auc_roc  0.4500  1.0000   0.0000*
    pate_ap  0.6667  1.0000   0.4694*
    <BLANKLINE>
    * not above chance: random scores do as well
    b: the scores look inverted: AUC-ROC is 0.00, and 1.00 with the sign turned; higher must mean more anomalous
    """
    channels = has_channels(labels)
    measures = Measures.of_keywords(locals())
    given: dict[str, Any] = {"scores": scores, "predictions": predictions}
    columns = None if channels else _detector_columns(given)
    judged = given
    if columns is not None:
        judged = {f"{kind} of {name}": values for name, own in columns.items() for kind, values in own.items()}
    # Indexes are read here: labels made of classes below have none.
    times = times_of(times, labels=labels, **judged, series=series)
    if positive is not None:
        labels = labels_of_classes(labels, positive)
    if scores is None and predictions is None:
        raise ValueError("evaluate needs scores, predictions or both")
    steps: dict[str, Any] = {"series": series, "times": times, "time_unit": time_unit, "max_gap": max_gap}
    steps |= {"ignore": ignore, "missing": missing, "channels": channels}
    if columns is None:
        recording = read_recording(labels, **given, **steps)
        return evaluate_runs([with_training(recording, train_scores, measures)], measures)
    if train_scores is not None:
        raise ValueError("train_scores are those of one detector; evaluate the detectors one by one")
    return evaluate_detectors({name: [_read(name, labels, own, steps)] for name, own in columns.items()}, measures)


def evaluate_detectors(detectors: Mapping[str, Sequence[Recording]], measures: Measures) -> EvaluationTable:
    """Evaluate several detectors, each with its runs, on the same series; steps are left out for all of them."""
    measures.require_detectors(detectors)
    recordings = iter(leave_out_for_all([run for runs in detectors.values() for run in runs]))
    evaluations: dict[str, Evaluation] = {}
    known: dict[tuple[Any, ...], Chance] = {}
    for name, runs in detectors.items():
        result = evaluate_runs([next(recordings) for _ in runs], measures.of_detector(name))
        own = result.random_scores  # which detectors share where they are the same
        evaluations[name] = result if own is None else replace(result, random_scores=known.setdefault(own.key, own))
    return EvaluationTable(evaluations)


def evaluate_runs(runs: Sequence[Recording], measures: Measures) -> Evaluation:
    """Evaluate one detector: the mean over its runs on each series, then the mean over the series."""
    for run in runs:
        require_clock(measures, run.clock)
    given = runs[0].predictions is not None
    runs = with_predictions(runs)
    parts = [runs] if measures.pooled else list(parts_by_series(runs).values())
    seconds: dict[str, float] = {}
    judged = [[(part, values_of(part, measures, seconds=seconds)) for part in several] for several in parts]
    by_series = [mean_values([values for _, values in several]) for several in judged]
    means = mean_values(by_series)
    scored = [part for several in parts for part in several if not part.is_mostly_missing]
    values = {metric: mean.value for metric, mean in means.items()}
    failures, is_masked = _failures(by_series), any(run.ignore is not None for run in runs)
    taken = [BINARY] if runs[0].predictions is not None and not given and measures.needs_predictions else []
    return Evaluation(
        values,
        {metric: mean.reason for metric, mean in means.items() if mean.reason},
        measures,
        by_series=tuple(by_series),
        series=runs[0].timeline.starts.size if measures.pooled else len(parts),
        runs=len(runs),
        given=runs[0].predictions is not None,
        notes=(*taken, *notes_on(runs[0], measures, values), *failures),
        seconds=seconds,
        steps=runs[0].counts,
        circumstances=circumstances(measures, scored, ignored=is_masked),
        lengths_in_steps=lengths_in_steps(measures, scored),
        random_scores=Chance.of(judged, measures) if measures.chance else None,
    )


def _failures(by_series: Sequence[Mapping[str, Value]]) -> list[str]:
    """Say which metrics of a user broke on some of the series; those that broke on all have that for a reason."""
    sentences = []
    for metric in by_series[0] if len(by_series) > 1 else ():
        failed = [values[metric].reason for values in by_series if values[metric].failed]
        if 0 < len(failed) < len(by_series):
            sentences.append(f"on {len(failed)} of {len(by_series)} series {failed[0]}")
    return sentences


def with_training(recording: Recording, train_scores: npt.ArrayLike | None, measures: Measures) -> Recording:
    """Give a recording the levels of rules on training scores: one fit, so all its series have the same."""
    if train_scores is None:
        return recording
    texts = [measures.threshold, *(metric.threshold for metric in measures.metrics)]
    if not any(uses_training_scores(text) for text in texts):
        raise ValueError(
            f"train_scores are for the rules {TRAIN!r} and {TRAIN_TEST!r}; the threshold is "
            f"{in_words(measures.threshold)}"
        )
    trained = finite_array(train_scores, "train_scores")
    scores = without_gaps(recording.counted(cast(FloatArray, recording.scores)))
    level = partial(training_level, train_scores=trained, scores=lambda: scores)
    return replace(recording, training=(level,) * recording.starts.size)


def _read(name: str, labels: Any, given: dict[str, Any], steps: dict[str, Any]) -> Recording:
    """Read one detector of a table; what is wrong with its values is said with its name."""
    try:
        return read_recording(labels, **given, **steps)
    except (InputError, InputTypeError) as error:
        if error.argument == "labels":
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(error.sentence(argument=f"{error.argument} of {shortened(name)}")) from None


def _detector_columns(given: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Scores, predictions or both of each detector by its name; None where there is a single one, without a name."""
    by_kind = {kind: _named_columns(values, kind) for kind, values in given.items() if values is not None}
    names = next((list(columns) for columns in by_kind.values() if columns is not None), None)
    if names is None:
        return None
    by_detector: dict[str, dict[str, Any]] = {name: {} for name in names}
    for kind, columns in by_kind.items():
        if columns is None or list(columns) != names:
            raise ValueError(
                "scores and predictions must be of the same detectors in the same order; got "
                f"{in_words(names)} and {'one without a name' if columns is None else in_words(list(columns))}"
            )
        for name in names:
            by_detector[name][kind] = columns[name]
    return by_detector


def _named_columns(given: Any, what: str) -> dict[str, Any] | None:
    """Columns of a mapping, a frame or an array of two dimensions; None for anything else."""
    if isinstance(given, Mapping):
        columns = {str(name): values for name, values in given.items()}
    elif hasattr(given, "column_names"):  # pyarrow
        columns = {str(name): given.column(name) for name in given.column_names}
    elif hasattr(given, "columns") and hasattr(given, "shape"):  # pandas and polars
        columns = {str(name): given[name] for name in given.columns}
    elif np.ndim(to_numpy(given, what, allow_missing=True)) != 2:
        return None
    else:
        array = to_numpy(given, what, allow_missing=True)
        columns = {str(number): array[:, number] for number in range(array.shape[1])}
    if not columns:
        raise ValueError(f"{what} must hold at least one detector; got none")
    return columns


@documented
def best_threshold(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    metric: str | Metric | Callable[..., Any] = "point_f1",
    candidates: int | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    missing: str = "error",
) -> BestThreshold:
    """Find the threshold with the best value of a metric; the highest such threshold if there are several.

    All distinct scores are tried, a step being predicted where its score is at least the threshold. For `pate_f1` and
    the F1 of `point`, `point_adjusted`, `point_adjusted_k`, `delay_adjusted`, `composite` and `segment` that costs no
    more than a few sorts. Any other metric is computed once per distinct score, which on long series of fine-grained
    scores takes minutes; ``candidates`` bounds their number.

    Parameters
    ----------
    metric : str, Metric or callable, default "point_f1"
        A metric on predictions: its id, with options or without, or ``"package.module:function"``; a `Metric` made with
        `define_metric`; one where lower is better is minimised. Or a function of labels and predictions, whose result,
        a number or the F1 of a `PRF`, is maximised.
    candidates : int, optional
        Try at most this many of the distinct scores, evenly spaced by rank, the highest and the lowest among them. The
        result is then a lower bound of the best. The seven metrics above are always searched in full.
    early, delay, window
        Lengths for the metrics that take them, as in `evaluate`.

    Returns
    -------
    BestThreshold
        The pair ``(threshold, value)``. Thresholds at which the metric is undefined are passed over.

    Raises
    ------
    UndefinedMetricError
        If no step is anomalous, or if the metric is undefined at every threshold.
    ValueError
        If the metric is unknown or needs no threshold.

    Warnings
    --------
    The search uses the labels, so the value is that of an oracle: an upper bound that no detector in use can count on.
    Metrics that false alarms cost nothing have their best at the lowest score, where everything is flagged.

    References
    ----------
    .. [1] S. Kim et al., "Towards a Rigorous Evaluation of Time-Series Anomaly Detection", AAAI 2022, on what the best
       threshold hides; arXiv:2109.05257.

    Examples
    --------
    >>> best_threshold([0, 1, 1, 0, 0], [0.1, 0.9, 0.3, 0.5, 0.2])
    BestThreshold(threshold=0.3, value=0.8)
    >>> best_threshold([0, 1, 1, 0, 0], [0.1, 0.9, 0.3, 0.5, 0.2], metric="point_adjusted_f1")
    BestThreshold(threshold=0.9, value=1.0)
    >>> best_threshold([0, 1, 1, 0, 0], [0.1, 0.4, 0.9, 0.5, 0.2], metric="mean_detection_delay")
    BestThreshold(threshold=0.4, value=0.0)
    """
    number = None if candidates is None else positive_integer(candidates, "candidates")
    recording = read_recording(labels, scores, missing=missing)
    if callable(metric) and not _names_what_it_takes(metric):
        function, sample = metric, Sample(recording, Measures(()))
        require_anomaly(sample.labels)
        truth: Any = unchangeable(sample.labels)
        levels: Any = sample.scores  # there, since scores were given
        return search(levels, lambda flags: _number(function(truth, flags)), number, sign=1)
    measures = Measures.of(metrics=[metric], early=early, delay=delay, window=window)
    (wanted,) = measures.metrics
    if not wanted.needs_threshold:
        raise ValueError(f"{wanted.id} is computed from scores and needs no threshold; name a metric on predictions")
    sample = Sample(recording, measures)
    require_anomaly(sample.labels)
    return sample.best(wanted, number)


def _names_what_it_takes(function: Callable[..., Any]) -> bool:
    """Whether a function can stand for a metric by itself; if not, only its value counts here."""
    is_told = any(name in KINDS for name in parameter_names(function)[1:2])
    return is_told and getattr(function, "__name__", "").isidentifier()


def _number(result: Any) -> float:
    return float(result.f1 if isinstance(result, PRF) else result)
