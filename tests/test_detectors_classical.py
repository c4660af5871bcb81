"""The detectors without a network, and the adapter, against literal versions of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from pateval.detectors import make
from pateval.detectors.adapter import (
    Adapter,
    AdapterSettings,
    SeriesAdapter,
    SeriesAdapterSettings,
    estimator_kind,
    high_means,
)


@pytest.fixture
def train() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.sin(np.arange(400)[:, None] / [4, 7]) + 0.1 * rng.normal(size=(400, 2))


@pytest.fixture
def values(train: np.ndarray) -> np.ndarray:
    result = train[100:220].copy()
    result[60:63] += 2
    return result


def rows(matrix: np.ndarray, window: int) -> np.ndarray:
    return np.array([matrix[start : start + window].reshape(-1) for start in range(len(matrix) - window + 1)])


def z_scored(train: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return (matrix - train.mean(axis=0)) / train.std(axis=0)


def test_moving_zscore_against_the_loop(train: np.ndarray, values: np.ndarray) -> None:
    scaled = z_scored(train, values)
    for combine in ("max", "mean"):
        expected = []
        for step in range(len(values)):
            if step < 15:
                each = np.abs(scaled[step])
            else:
                past = scaled[step - 15 : step]
                each = np.abs(scaled[step] - past.mean(axis=0)) / np.maximum(past.std(axis=0), 0.3)
            expected.append(getattr(np, combine)(each))
        detector = make("moving_zscore", window=15, floor=0.3, combine=combine).fit(train)
        np.testing.assert_allclose(detector.score(values), expected)


@pytest.mark.parametrize("combine", ["max", "mean"])
def test_rules_of_one_line_against_the_loop(train: np.ndarray, values: np.ndarray, combine: str) -> None:
    scaled = z_scored(train, values)
    variance, median, difference = [], [], []
    for step in range(len(values)):
        # What lies before the series is its first value.
        past = np.array([scaled[max(0, place)] for place in range(step - 14, step + 1)])
        variance.append(getattr(np, combine)(past.var(axis=0)))
        median.append(getattr(np, combine)(np.abs(scaled[step] - np.median(past, axis=0))))
        difference.append(getattr(np, combine)((scaled[step] - scaled[max(0, step - 1)]) ** 2))
    for name, expected in (("moving_variance", variance), ("moving_median", median)):
        found = make(name, window=15, combine=combine).fit(train).score(values)
        np.testing.assert_allclose(found, expected, atol=1e-10)
    found = make("squared_difference", combine=combine).fit(train).score(values)
    np.testing.assert_allclose(found, difference, atol=1e-12)


def test_the_window_of_a_rule_is_the_period_of_the_training_series() -> None:
    steps = np.arange(2000)
    wave = np.sin(2 * np.pi * steps / 24)[:, None] + 0.1 * np.random.default_rng(0).normal(size=(2000, 2))
    for name in ("moving_variance", "moving_median"):
        assert make(name).fit(wave).steps == 24
        assert make(name, window=7).fit(wave).steps == 7
    assert make("moving_zscore").fit(wave).steps == 100
    assert make("moving_zscore", window=None).fit(wave).steps == 24
    for flat in (np.zeros(50), np.arange(50.0), np.ones((3, 2))):
        assert make("moving_variance").fit(flat).steps == 100
    # Fewer than four steps are no window, and a peak below zero is no period.
    assert make("moving_variance").fit(np.tile([0.0, 1.0, 5.0], 60)).steps == 6
    assert make("moving_variance").fit([3.0, 1.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0, 2.0]).steps == 100


def test_moving_zscore_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="floor must be positive"):
        make("moving_zscore", floor=0.0)
    with pytest.raises(ValueError, match="combine must be one of"):
        make("moving_zscore", combine="sum")


def test_pca_against_the_singular_value_decomposition(train: np.ndarray, values: np.ndarray) -> None:
    window = 6
    learned = rows(z_scored(train, train), window)
    centre = learned.mean(axis=0)
    _, singular, directions = np.linalg.svd(learned - centre, full_matrices=False)
    explained = np.cumsum(singular**2) / np.sum(singular**2)
    kept = directions[: int(np.argmax(explained >= 0.8)) + 1]
    seen = rows(z_scored(train, values), window) - centre
    errors = np.square(seen - seen @ kept.T @ kept).reshape(len(seen), window, 2).mean(axis=2)
    expected = np.zeros(len(values))
    for step in range(len(values)):
        cover = range(max(0, step - window + 1), min(step, len(seen) - 1) + 1)
        expected[step] = np.mean([errors[start, step - start] for start in cover])
    found = make("pca", window=window, share=0.8).fit(train).score(values)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert int(np.argmax(found)) in range(58, 65)


def test_mvn_is_minus_the_log_density_at_the_last_step(train: np.ndarray, values: np.ndarray) -> None:
    learned, seen = rows(z_scored(train, train), 5), rows(z_scored(train, values), 5)
    density = multivariate_normal(learned.mean(axis=0), np.cov(learned, rowvar=False, bias=True) + 1e-6 * np.eye(10))
    found = make("mvn", window=5).fit(train).score(values)
    np.testing.assert_allclose(found[4:], -density.logpdf(seen), rtol=1e-6)
    assert (found[:4] == found[4]).all()


def test_knn_against_all_distances(train: np.ndarray, values: np.ndarray) -> None:
    learned, seen = rows(z_scored(train, train), 4), rows(z_scored(train, values), 4)
    distances = np.sort(np.linalg.norm(seen[:, None] - learned[None], axis=2), axis=1)
    found = make("knn", window=4, neighbors=3).fit(train).score(values)
    np.testing.assert_allclose(found[3:], distances[:, :3].mean(axis=1), atol=1e-7)


def test_lof_and_isolation_forest_turn_the_sign(train: np.ndarray, values: np.ndarray) -> None:
    learned, seen = rows(z_scored(train, train), 4), rows(z_scored(train, values), 4)
    lof = LocalOutlierFactor(n_neighbors=12, novelty=True).fit(learned)
    np.testing.assert_allclose(
        make("lof", window=4, neighbors=12).fit(train).score(values)[3:], -lof.decision_function(seen)
    )
    forest = IsolationForest(n_estimators=20, random_state=5).fit(learned)
    found = make("isolation_forest", window=4, trees=20, seed=5).fit(train).score(values)
    np.testing.assert_allclose(found[3:], -forest.decision_function(seen))


@pytest.mark.parametrize(
    "name", ["moving_zscore", "moving_variance", "moving_median", "pca", "knn", "isolation_forest", "mvn", "lof"]
)
def test_a_plain_anomaly_is_found(name: str, train: np.ndarray) -> None:
    values = train[150:350].copy()
    values[120:123] += 4
    scores = make(name).fit(train).score(values)
    assert 118 <= int(np.argmax(scores)) <= 175


def test_fewer_training_windows(train: np.ndarray, values: np.ndarray) -> None:
    learned = rows(z_scored(train, train), 4)
    chosen = learned[np.linspace(0, len(learned) - 1, 50).round().astype(int)]
    seen = rows(z_scored(train, values), 4)
    distances = np.linalg.norm(seen[:, None] - chosen[None], axis=2).min(axis=1)
    found = make("knn", window=4, neighbors=1, max_windows=50).fit(train).score(values)
    np.testing.assert_allclose(found[3:], distances, atol=1e-7)


# ---- adapter ----


class FromPyOD(BaseEstimator):
    """Looks like a PyOD detector: high is anomalous."""

    __module__ = "pyod.models.fake"

    def fit(self, data: np.ndarray, y: None = None) -> FromPyOD:  # noqa: ARG002 - PyOD's
        self.centre_ = data.mean(axis=0)
        return self

    def decision_function(self, data: np.ndarray) -> np.ndarray:
        return np.linalg.norm(data - self.centre_, axis=1)


class Homemade:
    """Comes from nowhere: nobody can tell what high means."""

    def fit(self, data: np.ndarray) -> Homemade:
        self.seen = len(data)
        return self

    def score_samples(self, data: np.ndarray) -> np.ndarray:
        return np.abs(data).sum(axis=1, keepdims=True)


class OurOutlier(OutlierMixin, BaseEstimator):
    """Follows scikit-learn's contract from outside: high is normal."""

    def fit(self, data: np.ndarray) -> OurOutlier:
        self.seen_ = len(data)
        return self

    def decision_function(self, data: np.ndarray) -> np.ndarray:
        return -np.abs(data).max(axis=1)


@pytest.mark.parametrize(
    "estimator",
    [
        OneClassSVM(gamma="scale"),
        IsolationForest(n_estimators=20, random_state=0),
        LocalOutlierFactor(novelty=True),
        GaussianMixture(random_state=0),
        KernelDensity(),
        make_pipeline(StandardScaler(), OneClassSVM()),
        make_pipeline(StandardScaler(), FromPyOD()),
        FromPyOD(),
        OurOutlier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_adapter_scores_are_high_where_anomalous(estimator: Any, train: np.ndarray, values: np.ndarray) -> None:
    before = str(vars(estimator))
    detector = Adapter(estimator, AdapterSettings(window=3))
    scores = detector.fit(train).score(values)
    assert scores.shape == (len(values),)
    assert int(np.argmax(scores)) in range(60, 66)
    assert str(vars(estimator)) == before


def test_adapter_refuses_to_guess(train: np.ndarray, values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="cannot tell what a high value of Homemade says"):
        Adapter(Homemade())
    up, down = (
        Adapter(Homemade(), AdapterSettings(window=1, high_means=word)).fit(train).score(values)
        for word in ("anomalous", "normal")
    )
    np.testing.assert_array_equal(up, -down)
    assert int(np.argmax(up)) in range(60, 63)


def test_adapter_without_scaling(train: np.ndarray, values: np.ndarray) -> None:
    settings = AdapterSettings(window=1, standardize=False, high_means="anomalous")
    found = Adapter(Homemade(), settings).fit(train).score(values)
    np.testing.assert_allclose(found, np.abs(values).sum(axis=1))


def test_adapter_needs_the_methods() -> None:
    with pytest.raises(TypeError, match="StandardScaler has not"):
        Adapter(StandardScaler())
    with pytest.raises(TypeError, match="novelty=True"):
        Adapter(LocalOutlierFactor())
    with pytest.raises(RuntimeError, match="call fit"):
        Adapter(OneClassSVM()).score([1.0])
    with pytest.raises(ValueError, match="high_means must be one of"):
        AdapterSettings(high_means="both")  # type: ignore[arg-type]  # the point of the test


# ---- whole series, as aeon's detectors take them ----


def base_of_aeon() -> type:
    """Stand in for the class all detectors of aeon share; those are tested by ``make test-integrations``."""
    return type("BaseSeriesAnomalyDetector", (), {"__module__": "aeon.anomaly_detection.series.base"})


class WholeSeries(base_of_aeon()):  # type: ignore[misc]  # made on the spot
    """Looks like a detector of aeon: high is anomalous, time goes along the axis that is named."""

    def fit(self, data: np.ndarray, axis: int = 1) -> WholeSeries:
        self.centre = data.mean(axis=axis)
        return self

    def predict(self, data: np.ndarray, axis: int = 1) -> np.ndarray:
        return np.linalg.norm(data - np.expand_dims(self.centre, axis), axis=1 - axis) + len(data)


def test_a_series_adapter_shows_the_whole_series(train: np.ndarray, values: np.ndarray) -> None:
    found = SeriesAdapter(WholeSeries(), SeriesAdapterSettings(standardize=False)).fit(train).score(values)
    np.testing.assert_allclose(found, np.linalg.norm(values - train.mean(axis=0), axis=1) + len(values))
    scaled = SeriesAdapter(WholeSeries()).fit(train).score(values)
    np.testing.assert_allclose(scaled, np.linalg.norm(z_scored(train, values), axis=1) + len(values))
    turned = SeriesAdapter(WholeSeries(), SeriesAdapterSettings(high_means="normal")).fit(train).score(values)
    np.testing.assert_array_equal(turned, -scaled)


def test_a_series_adapter_keeps_series_apart(train: np.ndarray, values: np.ndarray) -> None:
    detector = SeriesAdapter(WholeSeries())
    with pytest.raises(RuntimeError, match="call fit"):
        detector.score(values)
    detector.fit(train)
    parts = detector.score(values, boundaries=(0, 40))
    np.testing.assert_array_equal(parts, np.concatenate([detector.score(values[:40]), detector.score(values[40:])]))
    with pytest.raises(ValueError, match="train holds 2 laid end to end: fit it to each series by itself"):
        SeriesAdapter(WholeSeries()).fit(train, boundaries=(0, 40))


# ---- what estimators of other libraries are ----


def test_kinds_of_estimators() -> None:
    found = {
        type(each).__name__: (estimator_kind(each), high_means(each))
        for each in (
            LocalOutlierFactor(novelty=True),
            GaussianMixture(),
            KernelDensity(),
            LogisticRegression(),
            WholeSeries(),
            FromPyOD(),
            StandardScaler(),
            Homemade(),
        )
    }
    assert found == {
        "LocalOutlierFactor": ("outlier_detector", "normal"),
        "GaussianMixture": ("density_estimator", "normal"),
        "KernelDensity": ("density_estimator", "normal"),
        "LogisticRegression": ("classifier", "anomalous"),
        "WholeSeries": ("aeon", "anomalous"),
        "FromPyOD": ("pyod", "anomalous"),
        "StandardScaler": (None, None),
        "Homemade": (None, None),
    }


def test_what_is_inside_a_pipeline_or_a_search_decides() -> None:
    for inner, meaning in ((IsolationForest(), "normal"), (FromPyOD(), "anomalous"), (Homemade(), None)):
        pipeline = make_pipeline(StandardScaler(), inner)
        assert high_means(pipeline) == meaning
        assert high_means(GridSearchCV(pipeline, {})) == meaning
