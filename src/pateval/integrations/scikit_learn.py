"""Any metric as a scorer of scikit-learn, and folds of a time series that each hold events."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pateval.catalog import MetricLike, find_metrics
from pateval.catalog.metric import Metric
from pateval.detectors.adapter import estimator_kind, high_means
from pateval.evaluation import evaluate
from pateval.labels.events import find_events
from pateval.validation.arrays import binary_array

Direction = Literal["auto", "higher", "lower"]


@dataclass(frozen=True)
class DetectorScorer:
    """A callable ``(estimator, X, y) -> float`` for ``scoring=``; made by `scorer`."""

    metric: Metric
    anomalous: Direction = "auto"
    undefined: float = float("nan")

    def __call__(self, estimator: Any, X: Any, y: npt.ArrayLike) -> float:  # noqa: N803 - scikit-learn's names
        """Score a fitted estimator on steps in order of time; greater is better, whatever the metric's direction."""
        labels = binary_array(y, "y")
        if self.metric.needs_threshold:
            if not hasattr(estimator, "predict"):
                raise TypeError(
                    f"{self.metric.id} takes predictions, and {type(estimator).__name__} has no predict; take a metric "
                    "on scores, such as pate_ap, or an estimator that predicts"
                )
            predicted = np.asarray(estimator.predict(X))
            if estimator_kind(estimator) == "outlier_detector":
                predicted = predicted == -1
            predictions = binary_array(predicted, "predictions of the estimator")
            result = evaluate(labels, predictions=predictions, metrics=[self.metric])
        else:
            result = evaluate(labels, self._scores(estimator, X), metrics=[self.metric])
        value = result[self.metric.id]
        if math.isnan(value):
            warnings.warn(
                f"{self.metric.id} is undefined on a fold ({result.reasons[self.metric.id]}); its score is "
                f"{self.undefined}: take folds that hold events, as pateval.sklearn.event_folds makes them",
                stacklevel=2,
            )
            return self.undefined
        return value if self.metric.higher_is_better else -value

    def _scores(self, estimator: Any, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        kind = type(estimator).__name__
        if self.anomalous == "auto" and hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_"):
            probabilities = np.asarray(estimator.predict_proba(X), dtype=np.float64)
            if len(estimator.classes_) != 2:
                raise ValueError(f"the estimator must tell two classes apart; it has {len(estimator.classes_)}")
            return probabilities[:, 1]
        function = getattr(estimator, "decision_function", getattr(estimator, "score_samples", None))
        if function is None:
            raise TypeError(
                f"{kind} has neither predict_proba, decision_function nor score_samples: "
                "it gives no scores to evaluate; take a metric on predictions"
            )
        scores = np.asarray(function(X), dtype=np.float64)
        if self.anomalous != "auto":
            return -scores if self.anomalous == "lower" else scores
        meaning = high_means(estimator)
        if meaning is None:
            raise ValueError(
                f"it is not known whether high or low scores of {kind} are anomalous; "
                "say anomalous='higher' or anomalous='lower'"
            )
        return -scores if meaning == "normal" else scores


def scorer(
    metric: MetricLike = "pate_ap", *, anomalous: Direction = "auto", undefined: float = float("nan"), **options: Any
) -> DetectorScorer:
    """Return a scorer for `cross_val_score`, `GridSearchCV` and the like.

    Parameters
    ----------
    metric : str, Metric or callable
        What `pateval.evaluate` takes for a metric. Those on predictions see ``estimator.predict``.
    anomalous : {"auto", "higher", "lower"}
        Which scores of the estimator are anomalous. By default: low ones for outlier detectors and density estimators
        of scikit-learn, high ones for classifiers (the probability of the larger class) and detectors of PyOD; for
        others it must be said.
    undefined : float
        The score of a fold on which the metric is undefined, such as one without an anomaly. NaN by default, which
        makes a search useless; a number is the same for all candidates and leaves their order alone.
    **options
        Options of the metric, such as ``early`` and ``delay``.

    Returns
    -------
    DetectorScorer

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from sklearn.model_selection import cross_val_score
    >>> import pateval as pv
    >>> rng = np.random.default_rng(0)
    >>> values, labels = rng.normal(size=(600, 1)), np.zeros(600, dtype=int)
    >>> for start in range(50, 600, 100):
    ...     values[start : start + 10] += 6
    ...     labels[start : start + 10] = 1
    >>> scoring = pv.sklearn.scorer("pate_ap", early=20, delay=20)
    >>> folds = list(pv.sklearn.event_folds(labels, 3))
    >>> found = cross_val_score(IsolationForest(random_state=0), values, labels, scoring=scoring, cv=folds)
    >>> found.round(2)
    array([0.77, 0.97, 0.72])
    """
    if anomalous not in ("auto", "higher", "lower"):
        raise ValueError(f"anomalous must be 'auto', 'higher' or 'lower'; got {anomalous!r}")
    (chosen,) = find_metrics([metric])
    return DetectorScorer(chosen.with_options(**options) if options else chosen, anomalous, float(undefined))


def event_folds(
    labels: npt.ArrayLike, folds: int = 5, *, gap: int = 0
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Split a series into folds in order of time, each with as many events as the others, none cut in two.

    Training steps always lie before the test steps, as in `TimeSeriesSplit`; the first stretch is trained on only. A
    fold without an anomaly cannot be scored, and cuts by equal length make such folds where events are few.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    folds : int
        How many test folds; the series needs one event more.
    gap : int
        Steps left out before each test fold, for windows that would look into it.

    Yields
    ------
    train, test : ndarray of int
        Numbers of steps.

    Examples
    --------
    >>> labels = [0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    >>> for train, test in event_folds(labels, 2):
    ...     print(train.tolist(), test.tolist())
    [0, 1, 2, 3] [4, 5, 6, 7]
    [0, 1, 2, 3, 4, 5, 6, 7] [8, 9, 10, 11]
    """
    checked = binary_array(labels, "labels")
    if folds < 1 or gap < 0:
        raise ValueError(f"folds must be at least 1 and gap at least 0; got folds={folds}, gap={gap}")
    events = find_events(checked)
    if events.starts.size < folds + 1:
        raise ValueError(
            f"{folds} folds need at least {folds + 1} events, one to train on and one each; "
            f"there are {events.starts.size}"
        )
    # Midway between an event and the next one.
    middles = (events.stops[:-1] + events.starts[1:]) // 2
    chosen = np.linspace(0, events.starts.size, folds + 2).round().astype(np.intp)[1:-1] - 1
    cuts = [*middles[chosen].tolist(), checked.size]
    for begin, end in pairwise(cuts):
        yield np.arange(max(0, begin - gap)), np.arange(begin, end)
