"""Every detector of the registry: one score per step, deterministic, clear refusals, loaded only when asked for."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from pateval.detectors import REGISTRY, DetectorEntry, detector_class, make, settings_class

SMALL: dict[str, dict[str, Any]] = {
    "perfect": {},
    "random": {},
    "constant": {"value": 0.5},
    "squared_zscore": {},
    "moving_zscore": {"window": 10},
    "moving_variance": {"window": 7},
    "moving_median": {"window": 7},
    "squared_difference": {},
    "pca": {"window": 8},
    "knn": {"window": 6},
    "isolation_forest": {"window": 4, "trees": 10},
    "mvn": {"window": 6},
    "lof": {"window": 6, "neighbors": 10},
    "autoencoder": {"window": 10, "epochs": 1, "device": "cpu"},
    "lstm": {"window": 10, "hidden": 4, "epochs": 1, "device": "cpu"},
    "transformer": {"window": 10, "width": 8, "heads": 2, "hidden": 8, "blocks": 1, "epochs": 1, "device": "cpu"},
    "usad": {"epochs": 1, "device": "cpu"},
    "anomaly_transformer": {
        "window": 10,
        "width": 8,
        "heads": 2,
        "hidden": 8,
        "blocks": 1,
        "epochs": 1,
        "device": "cpu",
    },
    "dcdetector": {"window": 12, "patch_sizes": (2, 3), "width": 8, "epochs": 1, "device": "cpu"},
}
RULES = ["moving_zscore", "moving_variance", "moving_median", "squared_difference"]
WINDOWED = sorted(set(SMALL) - {"perfect", "random", "constant", "squared_zscore", *RULES})
LEARNING = [*WINDOWED, *RULES, "squared_zscore"]


def series(length: int, features: int | None) -> np.ndarray:
    rng = np.random.default_rng(length)
    shape = length if features is None else (length, features)
    return np.sin(np.arange(length) / 5).reshape(-1, *[1] * (len(np.empty(shape).shape) - 1)) + 0.1 * rng.normal(
        size=shape
    )


def scored(name: str, train: np.ndarray, values: np.ndarray) -> np.ndarray:
    detector = make(name, **SMALL[name]).fit(train)
    labels = {"labels": np.arange(len(values)) % 7 == 0} if name == "perfect" else {}
    result: np.ndarray = detector.score(values, **labels)
    return result


def test_the_table_here_has_every_detector() -> None:
    assert set(SMALL) == set(REGISTRY)


@pytest.mark.parametrize("features", [None, 1, 3])
@pytest.mark.parametrize("name", REGISTRY)
def test_one_finite_score_per_step_twice_the_same(name: str, features: int | None) -> None:
    train, values = series(150, features), series(67, features)
    before = train.copy(), values.copy()
    scores = scored(name, train, values)
    assert scores.shape == (67,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scored(name, train, values), scores)
    np.testing.assert_array_equal(train, before[0])
    np.testing.assert_array_equal(values, before[1])


@pytest.mark.parametrize("name", REGISTRY)
def test_containers_agree(name: str) -> None:
    train, values = series(150, None), series(67, None)
    np.testing.assert_array_equal(scored(name, train.tolist(), values.tolist()), scored(name, train, values))
    np.testing.assert_array_equal(scored(name, train[:, None], values[:, None]), scored(name, train, values))


@pytest.mark.parametrize("name", REGISTRY)
def test_fit_returns_the_detector_and_bad_series_are_refused(name: str) -> None:
    detector = make(name, **SMALL[name])
    assert detector.fit(series(150, 2)) is detector
    with pytest.raises(ValueError, match="train must be finite"):
        detector.fit([1.0, np.nan] * 75)
    with pytest.raises(ValueError, match="must be finite"):
        detector.score([np.inf] * 50, **({"labels": [0] * 50} if name == "perfect" else {}))


@pytest.mark.parametrize("name", LEARNING)
def test_other_features_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must have 2 features, as in training; got 3"):
        make(name, **SMALL[name]).fit(series(150, 2)).score(series(50, 3))


@pytest.mark.parametrize("name", LEARNING)
def test_score_before_fit_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="call fit"):
        make(name, **SMALL[name]).score(series(50, 1))


@pytest.mark.parametrize("name", WINDOWED)
def test_series_shorter_than_a_window_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="train must hold at least"):
        make(name, **SMALL[name]).fit([1.0, 2.0])
    detector = make(name, **SMALL[name]).fit(series(150, 1))
    with pytest.raises(ValueError, match="at least one window"):
        detector.score([1.0, 2.0])


@pytest.mark.parametrize("name", WINDOWED)
def test_a_series_of_one_window_is_scored(name: str) -> None:
    detector = make(name, **SMALL[name]).fit(series(150, 2))
    window = SMALL[name].get("window", 5)
    assert detector.score(series(window, 2)).shape == (window,)


@pytest.mark.parametrize("name", REGISTRY)
def test_constant_training_data_are_bearable(name: str) -> None:
    train, values = np.full((150, 2), 0.1), np.full((60, 2), 0.1)
    if name in ("mvn", "lof", "isolation_forest", "knn", "pca"):
        train[::2, 0] += np.random.default_rng(0).normal(size=75)
    assert np.isfinite(scored(name, train, values)).all()


@pytest.mark.parametrize("name", REGISTRY)
def test_settings_are_frozen_keyword_data(name: str) -> None:
    settings = settings_class(name)
    made = make(name, **SMALL[name]).settings
    assert isinstance(made, settings)
    assert dataclasses.asdict(made).items() >= SMALL[name].items()
    for field in dataclasses.fields(made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)
    with pytest.raises(TypeError):
        settings(1)
    assert detector_class(name)().settings == settings()


@pytest.mark.parametrize("name", REGISTRY)
def test_entries_read_well(name: str) -> None:
    entry = REGISTRY[name]
    assert isinstance(entry, DetectorEntry)
    assert entry.about
    assert len(entry.about) < 80
    assert entry.needs in ("", "scikit-learn", "torch")
    assert detector_class(name).__doc__
    assert settings_class(name).__doc__


def test_unknown_names_and_settings() -> None:
    with pytest.raises(ValueError, match="unknown detector 'nothing'; there are perfect, random"):
        make("nothing")
    with pytest.raises(ValueError, match="random has no setting speed; it has legacy, seed"):
        make("random", speed=3)


def test_perfect_needs_labels_of_the_same_length() -> None:
    detector = make("perfect").fit([0.0])
    with pytest.raises(ValueError, match="needs the labels"):
        detector.score([1.0, 2.0])
    with pytest.raises(ValueError, match="same length; got 3 and 2"):
        detector.score([1.0, 2.0], labels=[0, 1, 0])


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_neither_torch_nor_sklearn() -> None:
    code = (
        "import sys, pateval.detectors as d; d.make('pca'); d.make('random'); d.make('moving_zscore');"
        "import pateval.detectors.presets, pateval.detectors.adapter;"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'torch', 'sklearn', 'scipy', 'pyarrow', 'pandas'}))"
    )
    assert run_python(code) == "[]"


@pytest.mark.parametrize(("name", "package", "needs"), [("lstm", "torch", "torch"), ("lof", "sklearn", "scikit-learn")])
def test_a_missing_extra_is_named_with_the_command(name: str, package: str, needs: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from pateval.detectors import make\n"
        f"try:\n    make({name!r})\nexcept ImportError as error:\n    print(error)"
    )
    said = run_python(code)
    assert needs in said
    assert 'pip install "pateval[detectors]"' in said


def test_detector_files_do_not_import_each_other() -> None:
    import ast
    from pathlib import Path

    import pateval.detectors

    folder = Path(pateval.detectors.__file__).parent
    detectors = {entry.module for entry in REGISTRY.values()}
    for name in detectors:
        tree = ast.parse((folder / f"{name}.py").read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        assert not imported & {f"pateval.detectors.{other}" for other in detectors}, name
