"""PATE in Optuna: the objective is the metric, and the study finds the window with the highest one."""

import numpy as np
import optuna

import pateval as pv
from pateval.detectors import make

rng = np.random.default_rng(0)
labels = np.zeros(2_000, dtype=int)
for start in (700, 1200, 1700):
    labels[start : start + 15] = 1
values = np.sin(np.arange(2_000) / 40) + 0.2 * rng.normal(size=2_000) + 1.5 * labels


def objective(trial):
    """PATE of the moving z-score with the window of the trial, on the second half."""
    detector = make("moving_zscore", window=trial.suggest_int("window", 10, 160)).fit(values[:600])
    return pv.pate_ap(labels[600:], detector.score(values[600:]), early=20, delay=20)


grid = {"window": [10, 20, 40, 80, 160]}
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GridSampler(grid, seed=0))
study.optimize(objective, n_trials=5)
print(study.best_params, round(study.best_value, 4))
by_hand = {window: objective(optuna.trial.FixedTrial({"window": window})) for window in grid["window"]}
assert study.best_value == max(by_hand.values()) == by_hand[study.best_params["window"]]
