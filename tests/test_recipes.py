"""Recipes whose framework is at hand run here; `make test-integrations` runs all of them with the real packages."""

from __future__ import annotations

import importlib.util
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import pytest

RECIPES = Path(__file__).parents[1] / "examples" / "recipes"


@pytest.mark.skipif(not RECIPES.exists(), reason="the recipes are in the repository only")
@pytest.mark.parametrize(
    ("recipe", "package", "printed"),
    [
        ("scikit_learn_search", "sklearn", "{'n_estimators': 100} [0.5491 0.7963]\n"),
        ("torchmetrics_epoch", "torchmetrics", "PATE 0.5154 of three series\n"),
        ("lightning_module", "lightning", "PATE 0.8646 of four series\n"),
        ("optuna_study", "optuna", "{'window': 40} 0.3923\n"),
    ],
)
def test_the_recipe_runs_and_prints_its_number(recipe, package, printed, capsys):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    runpy.run_path(str(RECIPES / f"{recipe}.py"))
    assert capsys.readouterr().out == printed


def test_the_recipe_of_optuna_with_a_stand_in(monkeypatch, capsys):
    """A grid of five trials in turn: what the study does with a sampler that goes through them."""
    if importlib.util.find_spec("optuna") is not None:
        pytest.skip("the real package is installed")

    class Trial:
        def __init__(self, params):
            self.params = params

        def suggest_int(self, name, low, high):
            assert low <= self.params[name] <= high
            return self.params[name]

    class Study:
        def optimize(self, objective, n_trials):
            trials = [(objective(Trial({"window": window})), {"window": window}) for window in self.grid["window"]]
            assert len(trials) == n_trials
            self.best_value, self.best_params = max(trials, key=lambda trial: trial[0])

    def create_study(direction, sampler):
        assert direction == "maximize"
        study = Study()
        study.grid = sampler
        return study

    optuna = types.ModuleType("optuna")
    optuna.create_study = create_study
    optuna.samplers = types.SimpleNamespace(GridSampler=lambda grid, **_: grid)
    optuna.trial = types.SimpleNamespace(FixedTrial=Trial)
    monkeypatch.setitem(sys.modules, "optuna", optuna)
    runpy.run_path(str(RECIPES / "optuna_study.py"))
    assert capsys.readouterr().out == "{'window': 40} 0.3923\n"


def test_the_number_of_the_recipe_of_lightning():
    """What its module logs, by the metric alone."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    import pateval as pv

    torch.manual_seed(0)
    labels = torch.zeros(4, 500, dtype=torch.int)
    labels[:, 300:310] = 1
    values = torch.randn(4, 500) + 4 * labels
    scores = values.abs()
    metric = pv.torchmetrics.PateMetric(early=20, delay=20)
    for batch in (slice(0, 2), slice(2, 4)):
        metric.update(scores[batch], labels[batch])
    series = np.repeat(np.arange(4), 500)
    assert metric.compute().item() == pv.pate_ap(labels.ravel(), scores.ravel(), early=20, delay=20, series=series)
    assert round(metric.compute().item(), 4) == 0.8646
