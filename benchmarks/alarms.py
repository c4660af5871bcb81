"""How long judging alarms takes, in CPU seconds, and how it grows: beside each size the ratio to half of it.

python benchmarks/alarms.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import pateval as pv


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    before = time.process_time()
    work()
    return time.process_time() - before


def alarm_lists(alarms: int, incidents: int, series: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Alarms and incidents of several series, in seconds of a year."""
    rng = np.random.default_rng(0)
    year = 365 * 86_400
    names = np.array([f"machine {number}" for number in range(series)])
    tables = []
    for size, longest in ((alarms, 60), (incidents, 3600)):
        start = rng.integers(0, year, size)
        stop = start + rng.integers(0, longest, size)
        tables.append({"start": start, "stop": stop, "series": rng.choice(names, size)})
    return tables[0], tables[1]


def scores(steps: int, incidents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and dates of one series, a step a minute."""
    rng = np.random.default_rng(0)
    labels = np.zeros(steps, dtype=bool)
    for start in rng.choice(steps - 60, incidents, replace=False):
        labels[start : start + rng.integers(1, 60)] = True
    times = np.datetime64("2024-01-01") + np.arange(steps) * np.timedelta64(1, "m")
    return labels, rng.normal(size=steps) + labels, times


def main() -> None:
    """Print the times."""
    alarms, incidents = alarm_lists(100_000, 10_000, 100)
    policy = {"early": "10min", "merge": "1min", "cooldown": "5min"}
    seconds = cpu_seconds(lambda: pv.judge_alarm_files(alarms, incidents, time_unit="s", **policy))
    print(f"100,000 alarms, 10,000 incidents, 100 series: {seconds:.2f} s")
    before: list[float] = []
    for steps in (250_000, 500_000, 1_000_000, 2_000_000):
        labels, values, times = scores(steps, 1_000)
        found = [
            cpu_seconds(
                lambda merge=merge, labels=labels, values=values, times=times: pv.alarm_frontier(
                    labels, values, times=times, early="10min", merge=merge, budgets=["1/1d", "5/1d"]
                )
            )
            for merge in (None, "30min")
        ]
        growth = "".join(f", {now / then:.1f} x" for now, then in zip(found, before, strict=False))
        print(f"frontier of {steps:,} steps, 1,000 incidents: {found[0]:.2f} s; with merge {found[1]:.2f} s{growth}")
        before = found


if __name__ == "__main__":
    main()
