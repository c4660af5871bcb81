"""PATE in scikit-learn: a scorer chooses among models, on folds that cut no event in two."""

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import GridSearchCV

import pateval as pv

rng = np.random.default_rng(0)
values, labels = rng.normal(size=(600, 1)), np.zeros(600, dtype=int)
for start in range(50, 600, 100):
    values[start : start + 10] += 3
    labels[start : start + 10] = 1

search = GridSearchCV(
    IsolationForest(random_state=0),
    {"n_estimators": [2, 100]},
    scoring=pv.sklearn.scorer("pate_ap", early=20, delay=20),
    cv=list(pv.sklearn.event_folds(labels, 3)),
).fit(values, labels)
print(search.best_params_, search.cv_results_["mean_test_score"].round(4))
assert search.best_params_ == {"n_estimators": 100}
train, test = next(iter(pv.sklearn.event_folds(labels, 3)))
best = IsolationForest(n_estimators=100, random_state=0).fit(values[train])
expected = pv.pate_ap(labels[test], -best.decision_function(values[test]), early=20, delay=20)
assert abs(search.cv_results_["split0_test_score"][1] - expected) < 1e-12
