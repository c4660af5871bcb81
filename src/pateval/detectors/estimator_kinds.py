"""What an estimator of another library is, and so what its numbers say.

Half of the libraries turn the sign around: an outlier detector of scikit-learn gives *low* values to anomalies, one of
PyOD or aeon high ones, and nothing in the numbers would show it. This is the one place that decides; none of the
libraries is imported for it.
"""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal["outlier_detector", "density_estimator", "classifier", "pyod", "aeon"]
Meaning = Literal["normal", "anomalous"]

_HIGH_MEANS: dict[Kind, Meaning] = {
    "outlier_detector": "normal",
    "density_estimator": "normal",
    # The decision function of a classifier is high for the larger class.
    "classifier": "anomalous",
    "pyod": "anomalous",
    "aeon": "anomalous",
}


def high_means(estimator: Any) -> Meaning | None:
    """Say what a high value of an estimator means, or None where its class does not tell.

    Parameters
    ----------
    estimator : object
        Of scikit-learn, PyOD or aeon, one that follows their rules, or a pipeline or search around it.

    Returns
    -------
    str or None
        "normal" or "anomalous".

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> high_means(IsolationForest())
    'normal'
    """
    kind = estimator_kind(estimator)
    return None if kind is None else _HIGH_MEANS[kind]


def estimator_kind(estimator: Any) -> Kind | None:
    """Say what an estimator is, or None where its class does not tell; of a pipeline its last step decides.

    PyOD comes first: its detectors call themselves outlier detectors of scikit-learn, with the other sign.
    """
    inner = _innermost(estimator)
    packages = {base.__module__.partition(".")[0] for base in type(inner).__mro__}
    if "pyod" in packages:
        return "pyod"
    if sees_whole_series(type(inner)):
        return "aeon"
    known: tuple[Kind, ...] = ("outlier_detector", "density_estimator", "classifier")
    for kind in known:
        if _scikit_learn_type(inner) == kind:
            return kind
    # KernelDensity and PCA carry no such mark; the samples they score highest are those they find most likely.
    if type(inner).__module__.partition(".")[0] == "sklearn" and hasattr(inner, "score_samples"):
        return "density_estimator"
    return None


def sees_whole_series(kind: type[Any]) -> bool:
    """Whether a class is a detector of aeon, which is shown a series as it is and cuts its own windows."""
    return any(
        base.__name__ == "BaseSeriesAnomalyDetector" and base.__module__.partition(".")[0] == "aeon"
        for base in kind.__mro__
    )


def _innermost(estimator: Any) -> Any:
    """The estimator at the end of a pipeline, or inside a search, which decides what scores mean."""
    if hasattr(estimator, "steps"):
        return _innermost(estimator.steps[-1][1])
    if type(estimator).__module__.startswith("sklearn.model_selection."):
        return _innermost(estimator.estimator)
    return estimator


def _scikit_learn_type(estimator: Any) -> str | None:
    try:
        found = estimator.__sklearn_tags__().estimator_type
    except (AttributeError, TypeError):  # It is older than these tags, or no estimator of scikit-learn.
        found = getattr(estimator, "_estimator_type", None)
    if found is not None:
        return str(found)
    # Before its tags, scikit-learn marked density estimators by their base class alone.
    return "density_estimator" if any(base.__name__ == "DensityMixin" for base in type(estimator).__mro__) else None
