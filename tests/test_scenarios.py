"""The paper's scenario tables, every column: 109 of 110 printed numbers."""

from __future__ import annotations

import pytest

import pateval as pv
from support.cases import PAPER, SCENARIOS

# Columns that `cases` does not hold, as printed: the threshold-free half of the first table, and PATE-F1 of the second.
PRINTED = {
    "pate": [0.03, 0.76, 1.00, 0.69, 0.31, 0.87, 0.85, 0.77, 0.95, 0.88],
    "vus_roc": [0.63, 0.79, 0.87, 0.79, 0.63, 0.99, 0.69, 0.69, 0.78, 0.78],
    "vus_pr": [0.37, 0.72, 0.88, 0.70, 0.34, 0.91, 0.71, 0.71, 0.79, 0.79],
    "auc_roc": [0.48, 0.74, 1.00, 0.74, 0.48, 0.98, 0.75, 0.75, 0.88, 0.88],
    "auc_pr": [0.02, 0.51, 1.00, 0.51, 0.02, 0.75, 0.76, 0.76, 0.88, 0.88],
    "pate_f1": [0.00, 0.75, 1.00, 0.66, 0.28, 0.85, 0.81, 0.67, 0.95, 0.86],
    **PAPER,
}
COMPUTED = {
    "pate": lambda labels, flagged: pv.pate(labels, flagged, early=20, delay=20),
    "vus_roc": lambda labels, flagged: pv.vus_roc(labels, flagged, window=40, variant="original"),
    "vus_pr": lambda labels, flagged: pv.vus_pr(labels, flagged, window=40, variant="original"),
    "auc_roc": pv.auc_roc,
    "auc_pr": pv.auc_pr,
    "pate_f1": lambda labels, flagged: pv.pate_f1(labels, flagged, early=20, delay=20),
    "point": lambda labels, flagged: pv.point(labels, flagged).f1,
    "point_adjusted": lambda labels, flagged: pv.point_adjusted(labels, flagged).f1,
    "range_based": lambda labels, flagged: pv.range_based(labels, flagged, alpha=0.2, precision_alpha=0.2).f1,
    "etapr": lambda labels, flagged: pv.etapr(labels, flagged, theta_p=0.5, theta_r=0.01, delta=0.0).f1,
    "affiliation": lambda labels, flagged: pv.affiliation(labels, flagged).f1,
}
# Printed .63, which only a symmetric slope gives; the paper's own code, whose other 19 VUS cells agree, gives .62.
MISPRINTED = {("S5", "vus_roc"): 0.62}


@pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")
def test_the_tables_of_the_paper():
    agree, others = 0, {}
    for column, printed in PRINTED.items():
        for (scenario, (labels, flagged)), cell in zip(SCENARIOS.items(), printed, strict=True):
            found = COMPUTED[column](labels, flagged)
            if round(found, 2) == cell:
                agree += 1
            else:
                others[scenario, column] = round(found, 2)
    assert others == MISPRINTED
    assert agree == 109


@pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")
def test_the_same_numbers_through_evaluate():
    for number, (labels, flagged) in enumerate(SCENARIOS.values()):
        found = pv.evaluate(labels, flagged, flagged, early=20, delay=20)
        for metric, column in {"pate": "pate", "pate_f1": "pate_f1", "auc_pr": "auc_pr", "point_f1": "point"}.items():
            assert round(found[metric], 2) == PRINTED[column][number]
