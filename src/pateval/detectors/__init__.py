"""Detectors: ``fit(train)``, then ``score(values)``, one float per step, higher where more anomalous.

:data:`REGISTRY` is the table of them. Importing this package loads neither torch nor scikit-learn: a detector's module
is loaded when it is asked for, and says which extra to install where something is missing. An estimator of scikit-learn
or PyOD becomes a detector through :class:`pateval.detectors.adapter.Adapter`, and one of aeon through
:class:`pateval.detectors.adapter.SeriesAdapter`. Only ``perfect`` is shown the labels:
``score(values, labels=...)``.

Examples
--------
>>> import numpy as np
>>> detector = make("moving_zscore", window=5)
>>> values = np.sin(np.arange(100.0))
>>> values[60] = 9
>>> int(detector.fit(values[:50]).score(values).argmax())
60
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, NamedTuple

__all__ = ["REGISTRY", "DetectorEntry", "detector_class", "make", "settings_class"]


class DetectorEntry(NamedTuple):
    """One line of the registry."""

    module: str  # where the detector is
    detector: str  # its class
    about: str  # what it does, in one line
    needs: str = ""  # the package beyond NumPy that it needs: "torch" or "scikit-learn"


REGISTRY: dict[str, DetectorEntry] = {
    name: DetectorEntry(*entry)
    for name, entry in {
        "perfect": ("classical", "Perfect", "the labels themselves: the most a metric can give"),
        "random": ("classical", "Random", "uniform noise: what luck gives"),
        "constant": ("classical", "Constant", "one score for all: what saying nothing gives"),
        "squared_zscore": ("classical", "SquaredZScore", "mean squared z-score: what a dead network gives"),
        "moving_zscore": ("classical", "MovingZScore", "distance from the recent mean"),
        "moving_variance": ("classical", "MovingVariance", "variance of the last steps"),
        "moving_median": ("classical", "MovingMedian", "distance from the median of the last steps"),
        "squared_difference": ("classical", "SquaredDifference", "squared difference from the step before"),
        "pca": ("classical", "PCA", "what the main directions of training windows leave unexplained"),
        "knn": ("estimators", "KNN", "distance to the nearest training windows", "scikit-learn"),
        "isolation_forest": ("estimators", "IsolationForest", "random splits isolate it soon", "scikit-learn"),
        "mvn": ("estimators", "MVN", "Gaussian mixture on windows: improbable windows", "scikit-learn"),
        "lof": ("estimators", "LOF", "local outlier factor of windows", "scikit-learn"),
        "autoencoder": ("autoencoders", "Autoencoder", "dense autoencoder on windows", "torch"),
        "lstm": ("reconstruction", "LSTM", "recurrent reconstruction of windows", "torch"),
        "transformer": ("reconstruction", "Transformer", "attention reconstruction", "torch"),
        "usad": ("autoencoders", "USAD", "two autoencoders trained against each other", "torch"),
        "anomaly_transformer": (
            "associations",
            "AnomalyTransformer",
            "reconstruction weighted by association discrepancy",
            "torch",
        ),
        "dcdetector": ("associations", "DCdetector", "discrepancy of two attention views of patches", "torch"),
    }.items()
}


def detector_class(name: str) -> Any:
    """Return the class of a detector, a key of :data:`REGISTRY`, loading its module.

    Raises
    ------
    ValueError
        For an unknown name.
    ImportError
        Where the extra that holds torch or scikit-learn is not installed.
    """
    if name not in REGISTRY:
        raise ValueError(f"unknown detector {name!r}; there are {', '.join(REGISTRY)}")
    entry = REGISTRY[name]
    try:
        module = importlib.import_module(f"pateval.detectors.{entry.module}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("torch", "sklearn"):
            raise
        raise ImportError(
            f'the detector {name!r} needs {entry.needs}, which is not installed: run pip install "pateval[detectors]"'
        ) from error
    return getattr(module, entry.detector)


def settings_class(name: str) -> Any:
    """Return the settings class of a detector, loading its module; raises as :func:`detector_class` does."""
    return detector_class(name).Settings


def make(name: str, **settings: Any) -> Any:
    """Return a detector by name, with settings by keyword.

    Examples
    --------
    >>> make("random", seed=3).settings
    RandomSettings(seed=3, legacy=False)
    """
    kind = detector_class(name)
    known = {field.name for field in dataclasses.fields(kind.Settings)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ValueError(f"{name} has no setting {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    return kind(kind.Settings(**settings))
