"""Compare this commit's speed with the committed one: CPU time over that of NumPy's sort, in the same process.

    python benchmarks/check.py            # fails past the margin
    python benchmarks/check.py --write    # keeps today's ratios in benchmarks/ratios.json

Ratios move with the machine and what else it does; the margin is wide enough for that and narrow enough for an
algorithm that went wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from side_by_side import cpu_seconds, labelled_scores, table

import pateval as pv

KEPT = Path(__file__).with_name("ratios.json")
MARGIN = 1.6


def cases() -> dict[str, Callable[[], object]]:
    """Return what is timed."""
    labels, scores = labelled_scores(1_000_000)
    few_labels, few_scores = labelled_scores(100_000)
    times = np.datetime64("2026-01-01") + np.arange(labels.size) * np.timedelta64(1, "s")
    predictions = few_scores > np.quantile(few_scores, 0.95)
    return {
        "pate, one pair, 10⁶": lambda: pv.pate(labels, scores, early=100, delay=100),
        "pate on a clock, 10⁶": lambda: pv.pate(labels, scores, times=times, early="100s", delay="100s"),
        "pate, 441 pairs, 10⁵": lambda: pv.pate(few_labels, few_scores, early=range(21), delay=range(21)),
        "average_precision, 10⁶": lambda: pv.average_precision(labels, scores),
        "vus_pr, 10⁵": lambda: pv.vus_pr(few_labels, few_scores),
        "affiliation, 10⁵": lambda: pv.affiliation(few_labels, predictions),
        "range_based, 10⁵": lambda: pv.range_based(few_labels, predictions),
        "evaluate, all, 10⁵": lambda: pv.evaluate(few_labels, few_scores, metrics="all"),
    }


def main() -> int:
    """Print the table; the exit status is 1 where a ratio is past the margin."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep today's ratios as the ones to compare with")
    write = parser.parse_args().write
    _, scores = labelled_scores(1_000_000)
    found = {}
    for name, function in cases().items():
        ours, sort = cpu_seconds(function, lambda: np.sort(scores))
        found[name] = round(ours / sort, 3)
    if write:
        KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    late = [name for name, ratio in found.items() if name in kept and ratio > MARGIN * kept[name]]
    rows = [
        [name, f"{ratio:.2f} x", f"{kept[name]:.2f} x" if name in kept else "new", "SLOWER" if name in late else "fine"]
        for name, ratio in found.items()
    ]
    print(table(["CPU time over np.sort of 10⁶ floats", "now", "kept", f"margin {MARGIN}"], rows))
    if late:
        print(f"slower than {MARGIN} x the kept ratio: {', '.join(late)}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
