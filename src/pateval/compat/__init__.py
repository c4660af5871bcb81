"""Calls of other packages, with their arguments, their numbers and their faults: change the import, keep the program.

`PATE` is the authors' call (PyPI ``PATE`` 0.1.1), `get_metrics` that of TSB-AD 1.5, `get_range_vus_roc` and
`RangeAUC_volume` those of the first VUS package, which many repositories carry along. Classes of TimeEval 1.5.0 are in
`pateval.compat.timeeval`, those of tsadmetrics 1.0.16 in `pateval.compat.tsadmetrics`. New code is better off with the
functions of `pateval` itself, which do not have the faults named here.

Two things are not kept. Where labels leave a metric undefined, since no step is anomalous or every one is, it raises
`UndefinedMetricError`; some of theirs answer 0, 0.5 or NaN. And labels as booleans give the numbers of 0 and 1; from
the R-based-F1 of TSB-AD, and the PrecisionAtK and DiceCoefficient of tsadmetrics, they get other ones.
"""

from pateval.compat.authors import PATE, RangeAUC_volume, get_metrics, get_range_vus_roc

__all__ = ["PATE", "RangeAUC_volume", "get_metrics", "get_range_vus_roc"]
