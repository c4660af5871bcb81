"""PATE's speed and memory against what everybody has: scikit-learn's average precision and NumPy's sort.

Prints a Markdown table of ratios. ``--big`` adds 10**8 scores (several gigabytes), ``--only NAME`` picks one part.
``--against SRC`` compares the grids with those of another checkout, whose ``src`` folder is named, turn by turn.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from side_by_side import cpu_seconds, labelled_scores, table

import pateval as pv

Row = tuple[str, str, str]


def pair() -> list[Row]:
    """One pair of buffers on a million scores."""
    from sklearn.metrics import average_precision_score

    labels, scores = labelled_scores(10**6)
    ours, theirs, sort = cpu_seconds(
        lambda: pv.pate(labels, scores, early=100, delay=100),
        lambda: average_precision_score(labels, scores),
        lambda: np.sort(scores),
    )
    return [
        (
            "`pate`, e = d = 100, 10⁶ scores",
            f"{ours / theirs:.2f} x",
            "scikit-learn's average precision",
        ),
        ("", f"{ours / sort:.2f} x", "`np.sort` of the scores"),
    ]


def curves() -> list[Row]:
    """The other areas that count scores at thresholds, on a million scores."""
    from sklearn.metrics import average_precision_score

    labels, scores = labelled_scores(10**6)
    functions = (pv.average_precision, pv.auc_pr, pv.auc_roc)
    theirs, *ours = cpu_seconds(
        lambda: average_precision_score(labels, scores),
        *(lambda function=function: function(labels, scores) for function in functions),
    )
    return [
        (f"`{function.__name__}`, 10⁶ scores", f"{seconds / theirs:.2f} x", "scikit-learn's average precision")
        for function, seconds in zip(functions, ours, strict=True)
    ]


def clock() -> list[Row]:
    """One pair of buffers on a clock of dates, and on one of floats."""
    labels, scores = labelled_scores(10**6)
    dates = np.datetime64("2024-01-01", "ns") + np.arange(10**6) * np.timedelta64(60, "s")
    tenths = np.arange(10**6) * 0.1
    steps, *in_time = cpu_seconds(
        lambda: pv.pate(labels, scores, early=100, delay=100),
        lambda: pv.pate(labels, scores, early="100min", delay="100min", times=dates),
        lambda: pv.pate(labels, scores, early="10s", delay="10s", times=tenths, time_unit="s"),
    )
    return [
        (f"one pair on a clock of {kind}, 10⁶ scores", f"{seconds / steps:.2f} x", "the same in steps")
        for kind, seconds in zip(("dates", "floats"), in_time, strict=True)
    ]


def smd_labels() -> tuple[np.ndarray, str]:
    """Labels of all machines of SMD, or made ones of the same size; and which they are."""
    data = Path(os.environ.get("PATEVAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    stored = data / "SMD" / "SMD_test_labels_all28.npz"
    if not stored.is_file():
        return labelled_scores(708_420, share=0.0416, length=90)[0], "made labels"
    machines = np.load(stored)
    return np.concatenate([machines[name] for name in sorted(machines)]).astype(np.int64), "real SMD labels"


def grid_cases(labels: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of three kinds on given labels."""
    rng = np.random.default_rng(0)
    return {
        "random": rng.random(labels.size),
        "random-ish": rng.random(labels.size) + 0.3 * labels * rng.random(labels.size),
        "smooth": np.convolve(rng.random(labels.size) + 0.1 * labels, np.ones(50) / 50, "same"),
    }


def short_events() -> tuple[np.ndarray, np.ndarray]:
    """A million steps with 10,000 short events whose zones meet."""
    rng = np.random.default_rng(0)
    labels = np.zeros(10**6, dtype=np.bool_)
    for start in np.arange(10**4) * 100 + rng.integers(0, 60, 10**4):
        labels[start : start + rng.integers(1, 20)] = True
    return labels, rng.random(10**6) + 0.3 * labels


def grid_seconds() -> list[float]:
    """CPU time of the full grid on SMD's labels, random and smooth scores, and on short events."""
    labels, _ = smd_labels()
    cases = [(labels, scores, 3) for kind, scores in grid_cases(labels).items() if kind != "random-ish"]
    cases.append((*short_events(), 1))
    full = {"early": range(101), "delay": range(101)}
    return [
        cpu_seconds(lambda truth=truth, scores=scores: pv.pate(truth, scores, **full), rounds=rounds)[0]
        for truth, scores, rounds in cases
    ]


def against(other: str) -> list[Row]:
    """The grids of this checkout over those of another one, in processes that take turns."""
    here = str(Path(pv.__file__).parents[1])
    seconds: dict[str, list[list[float]]] = {here: [], other: []}
    for _ in range(2):
        for source, found in seconds.items():
            environment = os.environ | {"PYTHONPATH": source}
            child = [sys.executable, __file__, "--grid-seconds"]
            printed = subprocess.run(child, env=environment, check=True, capture_output=True, text=True).stdout
            found.append([float(each) for each in printed.split()])
    ours, theirs = (np.min(found, axis=0) for found in seconds.values())
    names = ("SMD's labels, random scores", "SMD's labels, smooth scores", "10⁴ short events whose zones meet")
    return [
        (f"10,201 pairs, {name}", f"{mine / yours:.2f} x", f"the other checkout's {yours:.1f} s")
        for name, mine, yours in zip(names, ours, theirs, strict=True)
    ]


def grid() -> list[Row]:
    """The paper's full set of buffers."""
    from sklearn.metrics import average_precision_score

    labels, what = smd_labels()
    rows = []
    for kind, scores in grid_cases(labels).items():
        (one,) = cpu_seconds(lambda scores=scores: pv.pate(labels, scores, early=100, delay=100))
        (all_pairs,) = cpu_seconds(
            lambda scores=scores: pv.pate(labels, scores, early=range(101), delay=range(101)), rounds=3
        )
        (theirs,) = cpu_seconds(lambda scores=scores: average_precision_score(labels, scores), rounds=3)
        rows += [
            (
                f"10,201 pairs, {labels.size:,} {what}, {kind} scores",
                f"{all_pairs:.1f} s",
                "",
            ),
            ("", f"{all_pairs / theirs:.1f} x", "scikit-learn's average precision of the same"),
            ("", f"{all_pairs / one:.0f} x", "one pair"),
        ]
    return rows


class SetOfBuffers(NamedTuple):
    """What a set of buffers costs: over one pair, and over the cheaper of one by one and the grid."""

    pairs: int
    steps: int
    period: int
    over_one_pair: float
    over_cheaper_way: float


def sets_of_buffers() -> Iterator[SetOfBuffers]:
    """Measure sets of buffers, events close together and far apart: the way that is taken against either by itself."""
    from pateval.pate import _counts

    for steps in (10**5, 10**6):
        for gap in (40, 180, 2_000):
            labels = np.resize(np.repeat([0, 1], [gap, 20]), steps)
            scores = np.random.default_rng(0).random(steps) + 0.3 * labels
            (one,) = cpu_seconds(lambda x=labels, s=scores: pv.pate(x, s, early=100, delay=100))
            for number in (5, 11, 21, 41, 101):
                buffers = np.linspace(0, 100, number).round().astype(int).tolist()

                def seconds(most: float, some: list[int], x: Any = labels, s: Any = scores) -> float:
                    with mock.patch.object(_counts, "_MAX_PAIRS_ONE_BY_ONE", most):
                        return cpu_seconds(lambda: pv.pate(x, s, early=some, delay=some), rounds=2)[0]

                taken, grid_way = seconds(_counts._MAX_PAIRS_ONE_BY_ONE, buffers), seconds(0, buffers)
                few = buffers if number <= 11 else buffers[:: number // 5]  # one by one, each pair takes its time
                one_by_one = seconds(math.inf, few) * number**2 / len(few) ** 2
                yield SetOfBuffers(number**2, steps, gap + 20, taken / one, taken / min(grid_way, one_by_one))


def sets() -> list[Row]:
    """Sets of buffers."""
    return [
        (
            f"{found.pairs:,} pairs, {found.steps:,} steps, events every {found.period}",
            f"{found.over_one_pair:.1f} x",
            f"one pair; {found.over_cheaper_way:.2f} x the cheaper way",
        )
        for found in sets_of_buffers()
    ]


def growth() -> list[Row]:
    """Ten times the scores."""
    from sklearn.metrics import average_precision_score

    small, large = labelled_scores(10**6), labelled_scores(10**7)
    seconds = [
        cpu_seconds(lambda data=data: pv.pate(*data, early=100, delay=100), rounds=3)[0] for data in (small, large)
    ]
    (theirs,) = cpu_seconds(lambda: average_precision_score(*large), rounds=2)
    return [
        ("10⁷ scores", f"{seconds[1] / theirs:.2f} x", "scikit-learn's average precision of the same"),
        ("", f"{seconds[1] / seconds[0]:.1f} x", "10⁶ scores"),
    ]


def memory() -> list[Row]:
    """Memory that the call itself allocates."""
    labels, scores = labelled_scores(10**7)
    labels = labels.astype(np.bool_)
    tracemalloc.start()
    pv.pate(labels, scores, early=100, delay=100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [("peak extra memory at 10⁷ scores", f"{peak / scores.nbytes:.1f} x", "the scores' bytes")]


def big() -> list[Row]:
    """A hundred million scores."""
    labels, scores = labelled_scores(10**8)
    labels, scores = labels.astype(np.bool_), scores.astype(np.float32)
    (seconds,) = cpu_seconds(lambda: pv.pate(labels, scores, early=100, delay=100), rounds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [("10⁸ float32 scores", f"{seconds:.0f} s CPU", f"{peak:.1f} GB for the whole process")]


def start() -> list[Row]:
    """From nothing to a first number."""

    def child(*arguments: str) -> float:
        best = float("inf")
        for _ in range(7):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    numpy = child("-c", "import numpy")
    first = "import pateval; pateval.pate([0, 1, 0, 0], [0.1, 0.9, 0.3, 0.2])"
    return [
        ("`import pateval`", f"{child('-c', 'import pateval') / numpy:.2f} x", "`import numpy`"),
        ("`pateval --help`", f"{child('-m', 'pateval', '--help') / numpy:.2f} x", "`import numpy`"),
        ("first number in a fresh process", f"{child('-c', first) / numpy:.2f} x", "`import numpy`"),
    ]


PARTS = {
    "pair": pair,
    "curves": curves,
    "clock": clock,
    "grid": grid,
    "sets": sets,
    "growth": growth,
    "memory": memory,
    "start": start,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--against", metavar="SRC")
    parser.add_argument("--grid-seconds", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.grid_seconds:
        print(*grid_seconds())
        return
    if chosen.against:
        print(table(["what", "CPU time", "of"], against(chosen.against)))
        return
    rows: list[Row] = []
    for name, part in PARTS.items():
        if chosen.only in (None, name):
            print(f"measuring: {name}", file=sys.stderr)
            rows += part()
    if chosen.big:
        rows += big()
    print(table(["what", "CPU time or memory", "of"], rows))


if __name__ == "__main__":
    main()
