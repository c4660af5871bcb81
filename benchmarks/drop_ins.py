"""Drop-in replacements against the real packages, each in an environment of its own: 200 random cases, and NAB.

Every value must be the original's to 1e-9. Prints a row per call: how many cases, the largest difference, and the CPU
time of theirs to ours. ``--golden`` writes the first cases to tests/golden/drop_ins.json, which `make test` compares
without the packages. Needs a package index the first time; NAB is taken from the data folder, where it is there.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from peer_environments import PEERS, Peer, PeerProcess
from side_by_side import table

from pateval import compat
from pateval.compat import timeeval, tsadmetrics

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "drop_ins.json"
LIMIT = 1e-9
IN_GOLDEN = 12
NAB_SERIES = 3
# The first release of vus still has the call that others copied; its detectors, which need tsfresh, are not used.
FIRST_VUS = Peer(
    "vus-first",
    "0.0.1",
    "import sys, types\nsys.modules['tsfresh'] = types.SimpleNamespace(extract_features=None)\n"
    "from vus.metrics import get_range_vus_roc\nfrom vus.utils.metrics import metricor",
    (("--no-deps", "vus==0.0.1"), *PEERS["vus"].install[1:]),
)
_TSADMETRICS = Peer(
    "tsadmetrics",
    "1.0.16",
    "import types\nfrom tsadmetrics.metrics.Registry import Registry\n"
    "tsadmetrics = types.SimpleNamespace(**{each.__name__: each for each in Registry._registry.values()})",
    PEERS["tsadmetrics"].install,
)
_TIMEEVAL = Peer("TimeEval", "1.5.0", "from timeeval import metrics as timeeval", PEERS["TimeEval"].install)

# By package: what is typed in both, or theirs where it has another way to the same function.
CALLS: dict[Peer, dict[str, str]] = {
    PEERS["TSB-AD"]: {
        "get_metrics(scores, labels, slidingWindow=20)": "",
        "get_metrics(scores, labels, 10, predictions, 'opt_mem', 50)": "",
    },
    FIRST_VUS: {
        "get_range_vus_roc(scores, labels, 10)": "",
        "RangeAUC_volume(labels, scores, 12)": "metricor().RangeAUC_volume(labels, scores, 12)",
    },
    _TIMEEVAL: dict.fromkeys(
        [
            "timeeval.RocAUC()(labels, scores)",
            "timeeval.PrAUC()(labels, scores)",
            "timeeval.AveragePrecision()(labels, scores)",
            "timeeval.PrecisionAtK()(labels, scores)",
            "timeeval.PrecisionAtK(k=2)(labels, scores)",
            "timeeval.FScoreAtK()(labels, scores)",
            "timeeval.RangePrAUC()(labels, scores)",
            "timeeval.RangePrAUC(buffer_size=10, compatibility_mode=True)(labels, scores)",
            "timeeval.RangeRocAUC(buffer_size=10, max_samples=50)(labels, scores)",
            "timeeval.RangePrVUS(max_buffer_size=10)(labels, scores)",
            "timeeval.RangeRocVUS(max_buffer_size=10, compatibility_mode=True)(labels, scores)",
            "timeeval.RangePrecision()(labels, predictions)",
            "timeeval.RangePrecision(alpha=.3, bias='front')(labels, predictions)",
            "timeeval.RangeRecall(alpha=.3, bias='back', cardinality='one')(labels, predictions)",
            "timeeval.RangeRecall(bias='middle')(labels, predictions)",
            "timeeval.RangeFScore()(labels, predictions)",
            "timeeval.RangeFScore(beta=2, p_alpha=.2, p_bias='front', r_bias='back')(labels, predictions)",
        ],
        "",
    ),
    _TSADMETRICS: dict.fromkeys(
        [
            "tsadmetrics.PointwiseFScore(beta=.5).compute(labels, predictions)",
            "tsadmetrics.DiceCoefficient().compute(labels, predictions)",
            "tsadmetrics.PrecisionAtK().compute(labels, scores)",
            "tsadmetrics.PointwiseAucRoc().compute(labels, scores)",
            "tsadmetrics.PointwiseAucPr().compute(labels, scores)",
            "tsadmetrics.PointadjustedFScore().compute(labels, predictions)",
            "tsadmetrics.DelayThresholdedPointadjustedFScore().compute(labels, predictions)",
            "tsadmetrics.DelayThresholdedPointadjustedFScore(k=4, beta=2.0).compute(labels, predictions)",
            "tsadmetrics.CompositeFScore(beta=2.0).compute(labels, predictions)",
            "tsadmetrics.SegmentwiseFScore(beta=.5).compute(labels, predictions)",
            "tsadmetrics.RangebasedFScore().compute(labels, predictions)",
            "tsadmetrics.RangebasedFScore(p_alpha=.1, p_bias='front', r_bias='back').compute(labels, predictions)",
            "tsadmetrics.RangebasedFScore(cardinality_mode='reciprocal').compute(labels, predictions)",
            "tsadmetrics.TimeseriesAwareFScore().compute(labels, predictions)",
            "tsadmetrics.TimeseriesAwareFScore(theta=.2, delta=2, alpha=.8, beta=2.0).compute(labels, predictions)",
            "tsadmetrics.EnhancedTimeseriesAwareFScore(theta_r=.1).compute(labels, predictions)",
            "tsadmetrics.AffiliationbasedFScore(beta=.5).compute(labels, predictions)",
            "tsadmetrics.TimeTolerantFScore(t=2).compute(labels, predictions)",
            "tsadmetrics.TemporalDistance().compute(labels, predictions)",
            "tsadmetrics.VusPr().compute(labels, scores)",
            "tsadmetrics.VusRoc(window=10).compute(labels, scores)",
            "tsadmetrics.Pate().compute(labels, scores)",
            "tsadmetrics.PateFScore(early=10, delay=3).compute(labels, predictions)",
        ],
        "",
    ),
}
OURS: dict[str, Any] = {name: getattr(compat, name) for name in compat.__all__}
OURS |= {"timeeval": timeeval, "tsadmetrics": tsadmetrics}

Case = dict[str, Any]


def random_cases(number: int) -> Iterator[Case]:
    """Short series with events at their ends, ties, smooth scores, and few or many predictions."""
    draw = np.random.default_rng(0)
    for place in range(number):
        size = int(draw.integers(12, 220))
        labels = np.zeros(size, dtype=np.int64)
        for start in draw.integers(size, size=draw.integers(1, 5)):
            labels[start : start + draw.integers(1, 20)] = 1
        if place % 5 == 0:
            labels[: draw.integers(1, 5)] = 1
        if place % 5 == 1:
            labels[-draw.integers(1, 5) :] = 1
        if labels.all():
            labels[size // 2] = 0
        scores = draw.random(size) + 0.6 * draw.random() * labels
        if place % 3 == 0:
            scores = np.round(scores, 1)
        if place % 7 == 0:
            scores = np.convolve(scores, np.ones(5) / 5, "same")
        predictions = (scores > np.quantile(scores, draw.choice([0.5, 0.8, 0.95]))).astype(np.int64)
        predictions[draw.integers(size)] = 1
        if place % 11 == 0:
            predictions[:3] = 1
        if place % 13 == 0:
            predictions[-3:] = 1
        yield {"labels": labels, "scores": scores, "predictions": predictions}


def nab_cases() -> Iterator[Case]:
    """The shortest series of NAB that hold an anomaly, with the scores of Numenta's detector."""
    from pateval.datasets import data_root
    from pateval.io import read_table

    path = data_root() / "scores" / "NAB" / "numenta.parquet"
    if not path.is_file():
        print("NAB: its published scores are not in the data folder; left out", file=sys.stderr)
        return
    columns = read_table(path).columns
    borders = np.flatnonzero(columns["series"][1:] != columns["series"][:-1]) + 1
    parts = np.split(np.arange(columns["label"].size), borders)
    anomalous = [part for part in parts if columns["label"][part].any()]
    for part in sorted(anomalous, key=len)[:NAB_SERIES]:
        scores = columns["score"][part].astype(np.float64)
        flagged = (scores > np.quantile(scores, 0.98)).astype(np.int64)
        yield {"labels": columns["label"][part].astype(np.int64), "scores": scores, "predictions": flagged}


def difference(theirs: Any, ours: Any) -> float:
    """The largest difference between two numbers, or between all numbers of two answers."""
    if isinstance(ours, dict):
        return max((difference(theirs[name], value) for name, value in ours.items()), default=0.0)
    if isinstance(ours, (list, tuple, np.ndarray)):
        return max((difference(*pair) for pair in zip(theirs, ours, strict=True)), default=0.0)
    if math.isnan(theirs) or math.isnan(ours):
        return 0.0 if math.isnan(theirs) and math.isnan(ours) else math.inf
    return abs(theirs - float(ours))


def main() -> None:
    """Compare, print, and say where a number is not the original's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="those to compare; all by default")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--golden", action="store_true", help=f"write the first {IN_GOLDEN} cases to {GOLDEN.name}")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # coarse and constant scores are meant
    random = list(random_cases(chosen.cases))
    cases = [*random, *nab_cases()]
    rows, golden, failed = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            np.savez(Path(folder) / f"{number}.npz", **case)
        for peer, calls in CALLS.items():
            if chosen.packages and peer.name not in chosen.packages:
                continue
            process = PeerProcess(peer, limit=300.0)
            for ours, theirs in calls.items():
                worst, ratios, answers = 0.0, [], []
                for number, case in enumerate(cases):
                    answer = process.ask(Path(folder) / f"{number}.npz", theirs or ours)
                    if "error" in answer:
                        raise SystemExit(f"{peer.name}, {theirs or ours}, case {number}: {answer['error']}")
                    begin = time.process_time()
                    value = eval(ours, {**OURS, **case})  # noqa: S307  # from the table
                    spent = time.process_time() - begin
                    worst = max(worst, difference(answer["value"], value))
                    ratios.append(answer["seconds"] / spent)
                    answers.append(answer["value"])
                if not ours.startswith("RangeAUC_volume"):  # whole surfaces are more than a repository should carry
                    source = f"{peer.name} {peer.version}"
                    golden.append({"package": source, "call": ours, "values": answers[:IN_GOLDEN]})
                faster = statistics.median(ratios)
                rows.append([peer.name, f"`{ours}`", str(len(cases)), f"{worst:.1e}", f"{faster:.1f}"])
                if worst > LIMIT:
                    failed.append(f"{peer.name}: {ours}")
            process.close()
    print(table(["package", "call", "cases", "largest difference", "theirs / ours"], rows))
    if chosen.golden:
        kept = [{name: values.tolist() for name, values in case.items()} for case in random[:IN_GOLDEN]]
        compared = {entry["package"] for entry in golden}
        before = json.loads(GOLDEN.read_text(encoding="utf-8"))["calls"] if GOLDEN.is_file() else []
        others = [entry for entry in before if entry["package"] not in compared]
        GOLDEN.write_text(json.dumps({"cases": kept, "calls": others + golden}) + "\n", encoding="utf-8")
    if failed:
        raise SystemExit("not the original's number: " + "; ".join(failed))


if __name__ == "__main__":
    main()
