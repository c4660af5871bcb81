"""The pages "Coming from": every call in the real package, in an environment of its own, beside ours on one series.

``python benchmarks/coming_from.py`` writes all pages, or those of the packages named. A number that should be the same
and is not, or the other way round, is an error. Our half of each page is run again by the tests.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from peer_calls import CALLS, Call
from peer_environments import PEERS, PeerProcess, installed_version

DOCS = Path(__file__).parents[1] / "docs" / "coming-from"
SERIES = """\
import numpy as np
import pateval as pv
from pateval import compat
rng = np.random.default_rng(0)
labels = np.zeros(600, dtype=int)
for start, length in [(80, 12), (220, 25), (380, 8), (500, 20)]:
    labels[start : start + length] = 1

near = np.convolve(labels, np.ones(15) / 15, "same")
scores = 0.25 * rng.random(600) + 0.6 * np.roll(near, 4) * rng.random(600)
scores[300:306] += 0.35
predictions = (scores > 0.36).astype(int)
"""
# What counts as the same number: a peer that adds a tiny number to a denominator is still the same metric.
SAME = 1e-9

INTRODUCTIONS = {
    "PATE": (
        "the authors' package",
        """\
You have `from pate.PATE_metric import PATE` in your code, and you want the same number sooner. Change that one line
to `from pateval.compat import PATE`: the arguments are the same, and so are the numbers.

For new work we suggest `pv.pate`. It uses every threshold, where the package takes a sample of 250 by default, so
the number no longer depends on how the sample falls. It accepts lists, NumPy arrays, pandas and polars columns.
What to look out for: the package answers 0.0 when there is no anomaly at all, and so does `compat.PATE`; `pv.pate`
raises an error instead, because such a series says nothing about a detector. Both flatter scores with few distinct
values, because the area is taken under straight lines between few points; pateval warns when that happens, and
`pv.pate_ap` does not have that weakness.

The package needs old versions of NumPy (1.24) and scikit-learn, with which pateval cannot share an environment: it
needs NumPy 1.26 or newer, which leaves room for your model.""",
    ),
    "TSB-AD": (
        "TSB-AD",
        """\
You call `get_metrics(score, labels)` and report VUS-PR. The most important change is the order of the arguments:
TSB-AD takes the scores first, we take the labels first, as scikit-learn does. Swapped arguments raise an error here
as soon as the scores are not just zeros and ones.

To keep a program as it is, change one line to `from pateval.compat import get_metrics`: the arguments and all nine
numbers are TSB-AD's, faults included. These are: F1s without predictions, but for the first, are the best of 100
thresholds evenly spaced between the lowest and the highest score, so that one outlier hides the rest; 0.00001 is added
to the denominator of the best Standard-F1; PA-F1 does not fill the first step of the series; Event-based-F1 does not
see the last step of an event at its end; R-based-F1 is 0 where all is predicted, Affiliation-F NaN where nothing is.
Give labels as 0 and 1: R-based-F1 of TSB-AD is another number where they are booleans, ours is the same.
`python benchmarks/drop_ins.py` compares them with the real package on 200 random series and NAB. The rest of this page
is for new code.

VUS and affiliation give the same numbers without any option. For the range-based F1 you must name TSB-AD's choices.
When you pass no predictions, TSB-AD picks the best threshold for each metric separately, with the labels in view;
we only do that when you ask for it with `pv.best_threshold`, and `pv.evaluate` says beside every such number that
it is an oracle's.""",
    ),
    "vus": (
        "VUS",
        """\
You call `get_metrics(score, labels, metric="all")` of the `vus` package. As in TSB-AD the scores come first there,
and the labels come first here. VUS itself is the same number, at a small part of the cost, and without TensorFlow
in your environment.

Many repositories carry `get_range_vus_roc(score, labels, slidingWindow)` of the first release along, or the method
`RangeAUC_volume`. `from pateval.compat import RangeAUC_volume, get_range_vus_roc` has both, with their numbers: the
definition of the paper (`variant='original'`), 250 thresholds, widths up to twice the window. Kept is that the slope
after an event is one step shorter than that before it, and that areas of trapezoids flatter coarse scores.

Look out for everything that needs a threshold. The package cuts affiliation at 0.5 and the F scores three standard
deviations above the mean, and does not say so in the result. Here you pass predictions, or name a threshold rule in
`pv.evaluate(..., threshold=...)`, and the rule is written beside the value.""",
    ),
    "aeon": (
        "aeon",
        """\
You use the functions of `aeon.benchmarking.metrics.anomaly_detection`. The order of arguments is the same as ours,
and every number there can be had here. Two names need care. aeon's VUS is the definition of the original paper,
ours by default that of TSB-AD, and the two are far apart; write `variant='original'` to stay comparable with your
earlier results. And aeon's range-based functions start from other defaults than the authors of the metric, so write
those too.

aeon answers 0.0 with a warning, or NaN, where a metric has no value, for instance without any anomaly. pateval
raises `UndefinedMetricError` from a function, and `pv.evaluate` lists the metric as undefined with the reason. The
detectors of aeon run in `pateval detect`.""",
    ),
    "TimeEval": (
        "TimeEval",
        """\
You call metric objects such as `RangePrVUS()(y_true, y_score)`, or read `results.csv` of an experiment. The order
of arguments is the same as ours. TimeEval's VUS is a third definition beside the paper's and TSB-AD's;
`variant='timeeval'` gives its numbers, `variant='original'` those of its compatibility mode.

`pateval.compat.timeeval` has its classes by their own names where one function of ours gives the same number: `RocAUC`,
`PrAUC`, `AveragePrecision`, `PrecisionAtK`, `FScoreAtK`, `RangePrecision`, `RangeRecall`, `RangeFScore`, `RangePrAUC`,
`RangeRocAUC`, `RangePrVUS` and `RangeRocVUS`. They keep that scores which are all equal get 0.0, with a warning, and
that a missing score counts as 0, an infinite one as 1, and that the `r_bias` of `RangeFScore` is without effect.

TimeEval accepts a missing score and returns a number all the same. Here a missing score is an error until you say
what it means with `missing='normal'` or `missing='ignore'`.""",
    ),
    "dtaianomaly": (
        "dtaianomaly",
        """\
You call `.compute(y_true, y_pred)` of metric objects. The order of arguments is the same, and what is an object
with options there is a function with options here; precision, recall and F1 come from one call. Every metric we
compared is the same number once the options agree. The VUS of dtaianomaly follows TimeEval, so name that variant.

That definition gives a high value to a detector that always says the same. So does ours when you ask for it, but
with a warning that names the better choice. Where a metric has no value, dtaianomaly raises errors of several kinds
from deep inside; ours is one error, which says what is missing.""",
    ),
    "tsadmetrics": (
        "tsadmetrics",
        """\
You look metrics up in a registry and call `.compute(y_true, y_pred)`. In pateval each is a function, and its id in
the catalogue, with options, works in `pv.evaluate`, in the command line and in leaderboards. The order of arguments
is the same.

`pateval.compat.tsadmetrics` has nineteen of its classes by their own names, with their options and defaults, where one
function of ours gives the same number. They keep that AUC-PR is average precision, that ranges get an existence reward
in their precision, too, and that with a delay of `k` the k-th step of an event is too late. The others are other
numbers; the module says which.

The defaults are not. tsadmetrics uses buffers of 5 for PATE and a window of 4 for VUS, where the authors use 100;
the tolerance is part of the metric, so decide which you mean and write it down. Also note that its PATE answers 0.0
when one score is missing; ours raises an error.""",
    ),
    "scikit-learn": (
        "scikit-learn",
        """\
You evaluate a detector with `average_precision_score` or `f1_score`. Those numbers are the same here. They treat
every time step on its own, though: an alarm one step too early counts as much against a detector as one a thousand
steps away, and a detector that finds one long event and misses ten short ones can look good.

So keep them for comparison with other work, and add a metric that knows about time. To select a model by one,
`pv.sklearn.scorer` makes any metric a scorer for `cross_val_score` and `GridSearchCV`; see [With other
libraries](../guides/integrations.md).""",
    ),
}


def at_the_prompt(code: str) -> str:
    """Code as it looks in a session; an empty line ends a block."""
    shown = ["... " + line if line.startswith(" ") else ">>> " + line if line else "..." for line in code.splitlines()]
    return "\n".join(shown)


def section(call: Call, peer: str, theirs: float, ours: float) -> str:
    """One metric of a page."""
    same = abs(theirs - ours) <= SAME * max(1.0, abs(ours))
    if same == bool(call.differs):
        raise SystemExit(f"{peer}, {call.title}: theirs {theirs!r}, ours {ours!r}; the table says otherwise")
    verdict = "The same number." if same else f"Another number, because {call.differs}."
    words = " ".join(part for part in (verdict, call.note) if part)
    return f"""\
## {call.title}

In {peer} this gives {round(theirs, 6)}:

```python
{call.theirs}
```

Here:

```python
>>> round({call.ours}, 6)
{round(ours, 6)}

```

{words}
"""


def page(peer: str, series: dict[str, Any], case: Path) -> str:
    """Run all calls of a peer; return its page."""
    process = PeerProcess(PEERS[peer], 300.0)
    parts = []
    for call in CALLS[peer]:
        answer = process.ask(case, call.theirs)
        if "error" in answer:
            raise SystemExit(f"{peer}, {call.theirs}: {answer['error']}")
        parts.append(section(call, peer, answer["value"], float(eval(call.ours, dict(series)))))  # noqa: S307  # from the table
    process.close()
    title, words = INTRODUCTIONS[peer]
    setup = PEERS[peer].setup
    return f"""\
# Coming from {title}

{words}

Below, each call in {peer} {installed_version(PEERS[peer])} is followed by ours, on the same series of 600 steps with
four events. `python benchmarks/coming_from.py` ran both, {peer} in an environment of its own. The calls of {peer} need

```python
{setup}
```

and the series is this:

```python
{at_the_prompt(SERIES)}

```

{chr(10).join(parts)}"""


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="PEER", help="; ".join(CALLS))
    series: dict[str, Any] = {}
    exec(SERIES, series)  # noqa: S102  # the page shows what is run
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder) / "case.npz"
        np.savez(case, **{name: series[name] for name in ("labels", "scores", "predictions")})
        for peer in parser.parse_args().peers or list(CALLS):
            target = DOCS / f"{peer.lower()}.md"
            target.write_text(page(peer, series, case), encoding="utf-8")
            print(target.name)


if __name__ == "__main__":
    main()
