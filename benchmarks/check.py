"""Compare this commit's speed with the committed one, and with the limits that the package has set itself.

    python benchmarks/check.py            # fails past the margins
    python benchmarks/check.py --write    # keeps today's ratios in benchmarks/ratios.json
    python benchmarks/check.py --only limits

The first table has CPU times over that of NumPy's stable sort (the other one is several times as fast on processors
whose instructions it knows), in the same process, beside those that were kept. Ratios move with the machine and what
else it does; the margin is wide enough for that and narrow enough for an algorithm that went wrong. The second has what
`compare` and sets of buffers may cost, and how large the engine of PATE may be: the package `pate`, and all of
`kernels` that it imports, directly or through another kernel.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from compare import METRICS, seconds, two_detectors
from pate import grid_cases, sets_of_buffers, smd_labels
from side_by_side import cpu_seconds, labelled_scores, table

import pateval as pv

KEPT = Path(__file__).with_name("ratios.json")
MARGIN = 1.6
LIMIT_MARGIN = 1.25  # for what is measured; lines and files have none
PACKAGE = Path(pv.__file__).parent


class Limited(NamedTuple):
    """A figure, and what it may be at most."""

    what: str
    value: float
    most: float
    unit: str
    margin: float = LIMIT_MARGIN

    @property
    def is_past(self) -> bool:
        """Whether it is above what it may be, by more than the margin."""
        return self.value > self.margin * self.most


def engine_files() -> list[Path]:
    """Files of the engine: all of `pate`, and of `kernels` what these import, directly or through another kernel."""
    found = sorted((PACKAGE / "pate").glob("*.py"))
    for file in found:  # which grows
        for name in re.findall(r"pateval\.kernels(?:\.| import )(\w+)", file.read_text(encoding="utf-8")):
            kernel = PACKAGE / "kernels" / f"{name}.py"
            if kernel not in found:
                found.append(kernel)
    return found


def limited() -> Iterator[Limited]:
    """Yield what has a limit."""
    files = engine_files()
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    yield Limited("files of PATE's engine", len(files), 10, "", 1.0)
    yield Limited("lines of PATE's engine", lines, 1_900, "", 1.0)
    for steps, events, most, unit in (
        (1_200, 6, 0.5, "s"),
        (200_000, 100, 400, "x one pate_ap"),
        (1_000_000, 100, 12, "s"),
    ):
        labels, one, other = two_detectors(steps, events)
        # On the clock: the threads of the linear algebra library, which sums the draws, spin when they are done.
        single = seconds(lambda y=labels, a=one: pv.pate_ap(y, a), 20)
        taken = seconds(lambda y=labels, a=one, b=other: pv.compare(y, a, b, metrics=METRICS))
        taken /= 1.0 if unit == "s" else single
        yield Limited(f"compare, {steps:,} steps, {events} events, {len(METRICS)} metrics", taken, most, unit)
    for found in sets_of_buffers():
        what = f"{found.pairs:,} pairs, {found.steps:,} steps, events every {found.period}"
        yield Limited(what, found.over_cheaper_way, 1.3, "x the cheaper way", 1.1)
        if found.pairs > 10**4 and found.period == 200:
            yield Limited(what, found.over_one_pair, 150, "x one pair")
    labels, which = smd_labels()
    scores = grid_cases(labels)["random-ish"]
    (one_pair,) = cpu_seconds(lambda: pv.pate(labels, scores, early=100, delay=100))
    (all_pairs,) = cpu_seconds(lambda: pv.pate(labels, scores, early=range(101), delay=range(101)), rounds=2)
    yield Limited(f"10,201 pairs, {which}", all_pairs / one_pair, 75, "x one pair")


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


def check_ratios(*, write: bool) -> list[str]:
    """Print today's ratios beside those that were kept; returns what is slower past the margin."""
    _, scores = labelled_scores(1_000_000)
    found = {}
    for name, function in cases().items():
        ours, sort = cpu_seconds(function, lambda: np.sort(scores, kind="stable"))
        found[name] = round(ours / sort, 3)
    if write:
        KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    late = [name for name, ratio in found.items() if name in kept and ratio > MARGIN * kept[name]]
    rows = [
        [name, f"{ratio:.2f} x", f"{kept[name]:.2f} x" if name in kept else "new", "SLOWER" if name in late else "fine"]
        for name, ratio in found.items()
    ]
    print(table(["CPU time over a stable np.sort of 10⁶ floats", "now", "kept", f"margin {MARGIN}"], rows), flush=True)
    return late


def check_limits() -> list[str]:
    """Print what has a limit, as it is measured; returns what is past its margin."""
    print("\n| what | now | at most | |\n| --- | --- | --- | --- |", flush=True)
    past = []
    for figure in limited():
        now, verdict = f"{figure.value:,.4g} {figure.unit}".strip(), "PAST" if figure.is_past else "fine"
        print(f"| {figure.what} | {now} | {figure.most:,g} | {verdict} |", flush=True)
        past += [figure.what] if figure.is_past else []
    return past


def main() -> int:
    """Print the tables; the exit status is 1 where a figure is past its margin."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep today's ratios as the ones to compare with")
    parser.add_argument("--only", choices=("ratios", "limits"), help="one of the two tables")
    given = parser.parse_args()
    late = [] if given.only == "limits" else check_ratios(write=given.write)
    past = [] if given.only == "ratios" else check_limits()
    if late:
        print(f"slower than {MARGIN} x the kept ratio: {', '.join(late)}", file=sys.stderr)
    if past:
        print(f"past the limit and its margin: {', '.join(past)}", file=sys.stderr)
    return 1 if late or past else 0


if __name__ == "__main__":
    sys.exit(main())
