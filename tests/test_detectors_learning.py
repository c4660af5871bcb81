"""Every detector learns: clearly better than luck where the specification says it can be.

AnomalyTransformer and DCdetector give each window the same total weight, so that their raw scores can hardly rank steps
across windows; they are compared with random scores and the outcome is printed, whatever it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from pateval.detectors import make

torch.set_num_threads(1)
pytestmark = pytest.mark.slow

SETTINGS: dict[str, dict[str, Any]] = {
    "moving_zscore": {"window": 50},
    "pca": {},
    "knn": {},
    "isolation_forest": {},
    "mvn": {"window": 10},
    "lof": {"window": 10},
    "autoencoder": {"window": 20, "epochs": 20},
    "lstm": {"epochs": 60, "batch_size": 8},
    "transformer": {"epochs": 40, "batch_size": 8},
    "usad": {"epochs": 30, "batch_size": 64},
}


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five noisy oscillations that share their phases; anomalies of four kinds, 4 % of the test steps."""
    rng = np.random.default_rng(seed)

    def normal(length: int, start: int) -> np.ndarray:
        steps = np.arange(start, start + length)[:, None]
        waves = np.sin(2 * np.pi * steps / [25, 40, 25, 60, 40] + [0, 1, 2, 3, 4])
        return waves + 0.05 * rng.normal(size=(length, 5))

    train, test = normal(4000, 0), normal(3040, 4000)
    labels = np.zeros(3040, dtype=int)
    for index, start in enumerate(range(200, 3000, 230)):
        part = slice(start, start + 10)
        labels[part] = 1
        channels = [index % 5, (index + 2) % 5]
        for channel in channels:
            if index % 4 == 0:
                test[part, channel] += 2.5
            elif index % 4 == 1:
                test[part, channel] = test[start, channel] - 2
            elif index % 4 == 2:
                test[part, channel] += rng.normal(size=10) * 2
            else:
                test[part, channel] *= -2.5
    return train, test, labels


@pytest.mark.parametrize("name", SETTINGS)
def test_better_than_luck(name: str) -> None:
    train, test, labels = data()
    settings = dict(SETTINGS[name])
    if name in ("autoencoder", "lstm", "transformer", "usad"):
        settings["device"] = "cpu"
    found = average_precision_score(labels, make(name, **settings).fit(train).score(test))
    luck = average_precision_score(labels, make("random").fit(train).score(test))
    print(f"\n{name}: average precision {found:.3f}, random {luck:.3f}, prevalence {labels.mean():.3f}")
    assert found > 3 * max(luck, labels.mean())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("anomaly_transformer", {"epochs": 10, "batch_size": 8, "width": 64, "hidden": 64}),
        ("dcdetector", {"epochs": 10, "batch_size": 8, "width": 32, "patch_sizes": (3, 5)}),
    ],
)
def test_compared_with_luck_whatever_comes_out(name: str, settings: dict[str, Any]) -> None:
    train, test, labels = data()
    detector = make(name, **settings, device="cpu").fit(train)
    scores = detector.score(test)
    found = average_precision_score(labels, scores)
    luck = [average_precision_score(labels, np.random.default_rng(seed).random(len(labels))) for seed in range(20)]
    print(f"\n{name}: average precision {found:.3f}, random {np.mean(luck):.3f} ± {np.std(luck):.3f}")
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 100
    if name == "anomaly_transformer":
        # What it does learn is to reconstruct.
        losses = [epoch.loss for epoch in detector.history_]
        assert losses[-1] < losses[0]
    else:
        # Its loss is zero throughout, by construction; the scores of a window sum to one.
        assert all(epoch.loss == 0 for epoch in detector.history_)
        np.testing.assert_allclose(scores[: len(scores) // 105 * 105].reshape(-1, 105).sum(axis=1), 1, rtol=1e-4)


def test_the_baselines_are_what_they_say() -> None:
    train, test, labels = data()
    perfect = make("perfect").fit(train).score(test, labels=labels)
    constant = make("constant").fit(train).score(test)
    assert average_precision_score(labels, perfect) == 1
    assert average_precision_score(labels, constant) == pytest.approx(labels.mean())
