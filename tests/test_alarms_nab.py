"""NAB's scores at a threshold, turned into files of alarms, give what the scores themselves give."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pateval as pv
from support.command_line import console

# Of steps, not of lists: a step counts up to the next one, a list of alarms from start to stop.
TIME_IN_ALARM = {"detector", "time_in_alarm", "share_in_alarm", "sentence"}
POLICIES = {
    "plain": (),
    "windows": ("--early", "1h", "--delay", "10min", "--merge", "30min"),
    "cooldown": ("--early", "15min", "--cooldown", "6h"),
}


def recordings(real_data, nab, detector, chosen=slice(None)):
    """Series of NAB by name: times, labels and scores; in order of time, and without the steps that come twice."""
    import pyarrow.parquet as pq

    scores = pq.read_table(nab / f"{detector}.parquet")
    times = pq.read_table(real_data / "NAB" / "NAB.parquet")["timestamp"].to_numpy()
    names = scores["series"].combine_chunks().dictionary_decode().to_numpy(zero_copy_only=False)
    labels, values = scores["label"].to_numpy(), scores["score"].to_numpy()
    found = {}
    for name in list(dict.fromkeys(names))[chosen]:
        rows = np.flatnonzero(names == name)
        order = rows[np.unique(times[rows], return_index=True)[1]]
        found[name] = times[order].astype("datetime64[ns]"), labels[order], values[order]
    return found


def write(path, columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""]))


def write_lists(folder, series, threshold):
    """Write alarms, incidents, and the time for which each step counts."""
    lists = {name: {"series": [], "start": [], "stop": []} for name in ("alarms", "incidents", "period")}
    for name, (times, labels, scores) in series.items():
        ends = np.append(times[1:], times[-1] + np.median(np.diff(times)))
        pairs = {
            "alarms": pv.intervals_from_labels(scores >= threshold, times, closed=True),
            "incidents": pv.intervals_from_labels(labels, times, closed=True),
            "period": np.stack([times, ends], axis=1),
        }
        for kind, bounds in pairs.items():
            lists[kind]["series"] += [name] * len(bounds)
            lists[kind]["start"] += list(bounds[:, 0])
            lists[kind]["stop"] += list(bounds[:, 1])
    for kind, columns in lists.items():
        write(folder / f"{kind}.csv", columns)


def write_scores(path, series):
    columns = {"series": [], "timestamp": [], "label": [], "score": []}
    for name, steps in series.items():
        columns["series"] += [name] * len(steps[0])
        for kind, values in zip(("timestamp", "label", "score"), steps, strict=True):
            columns[kind] += list(values)
    write(path, columns)


def assert_same(folder, series, threshold, policy):
    write_scores(folder / "scores.csv", series)
    write_lists(folder, series, threshold)
    options = (*policy, "--series", "series", "--by", "series", "--format", "json")
    from_scores = console("alarms", folder / "scores.csv", "--threshold", str(threshold), *options)
    lists = ("--incidents", folder / "incidents.csv", "--period", folder / "period.csv")
    from_lists = console("alarms", folder / "alarms.csv", *lists, *options)
    one, other = (json.loads(printed.out) for printed in (from_scores, from_lists))
    assert len(one["by_series"]) == len(series) + 1
    assert one["detectors"][0]["alarms"] > 10
    rows = [
        [*result["detectors"], *sorted(result["by_series"][1:], key=lambda row: row["series"])]
        for result in (one, other)
    ]
    for listed in (row[name] for result in rows for row in result[:1] for name in ("incident_list", "alarm_list")):
        listed.sort(key=lambda one: (one["series"], one["start"]))  # series come in the order of each file
    for expected, found in zip(*rows, strict=True):
        compared = set(expected) - TIME_IN_ALARM
        assert {name: found[name] for name in compared} == {name: expected[name] for name in compared}


@pytest.mark.parametrize("policy", POLICIES)
def test_four_series(real_data, nab, tmp_path, policy):
    series = recordings(real_data, nab, "numenta", slice(9, 13))
    assert_same(tmp_path, series, 0.02, POLICIES[policy])


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("detector", "share"), [("numenta", 0.99), ("windowedGaussian", 0.98), ("expose", 0.999)])
def test_all_series(real_data, nab, tmp_path, detector, share, policy):
    series = recordings(real_data, nab, detector)
    assert len(series) == 58
    threshold = float(np.quantile(np.concatenate([steps[2] for steps in series.values()]), share))
    assert_same(tmp_path, series, threshold, POLICIES[policy])
