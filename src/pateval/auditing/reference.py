"""What a trial says of the metrics without anybody's data: on a few series made up for it."""

from __future__ import annotations

from functools import cache

import numpy as np

from pateval.auditing.score_audit import ScoreAudit
from pateval.auditing.scored_run import audit_scores

SERIES, STEPS = 4, 1000
NOISE = (0.5, 0.75, 1.0)  # standard deviations: the point F1 falls from about 0.8 to 0.5


@cache
def reference_audit() -> ScoreAudit:
    """Try the catalogue on four series of 1,000 steps with two to six events each, from 5 to 100 steps long.

    The detectors that stand for real ones score 1 in events and 0 elsewhere, with normal noise.

    Examples
    --------
    >>> "segment_f1" in reference_audit().with_fault("gamed")
    True
    """
    chance = np.random.default_rng(0)
    tables = {}
    for number in range(SERIES):
        labels = np.zeros(STEPS, dtype=np.bool_)
        events = int(chance.integers(2, 7))
        for start in (np.arange(events) * STEPS) // events:
            length = int(np.exp(chance.uniform(np.log(5), np.log(100))))
            begin = int(start + chance.integers(20, STEPS // events - length))
            labels[begin : begin + length] = True
        columns = {f"noise-{deviation}": labels + deviation * chance.normal(size=STEPS) for deviation in NOISE}
        tables[f"series-{number}"] = {"label": labels, **columns}
    return audit_scores(tables, seeds=2, workers=1)
