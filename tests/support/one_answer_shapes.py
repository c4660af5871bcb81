"""Small data of every shape, made from one seed: series of labels, clock and scores, what is asked of them, and files.

To add a shape write a function that returns one and list it in `SHAPES`.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pateval as pv
from support.one_answer import DETECTORS, DURATIONS, METRICS, ON_CLOCK, RUN_OF_ALL, SLOW, STEPS, Series, Shape

ALL_ON_CLOCK = tuple(METRICS | ON_CLOCK)


def made(seed: int, size: int, scale: float = 1.0, *, events: int = 3, detectors: Sequence[str] = DETECTORS) -> Series:
    """A series with some events, and detectors that find them more or less late, on a scale of their own."""
    rng = np.random.default_rng([19, seed])
    labels = np.zeros(size, dtype=int)
    strengths = np.zeros((len(detectors), size))
    for number in range(events):
        start = (2 * number + 1) * size // (2 * events + 1) + int(rng.integers(0, 6))
        event = slice(start, start + int(rng.integers(5, 11)))
        labels[event] = 1
        strengths[:, event] = rng.permutation(np.linspace(-0.1, 0.7, len(detectors)))[:, None]
    scores = {}
    for place, name in enumerate(detectors):
        found = np.roll(strengths[place], 1 + 2 * place)
        scores[name] = {RUN_OF_ALL: np.round((rng.random(size) + found) * scale, 9)}
    return Series(labels, scores)


def several(**changes: Any) -> dict[str, Series]:
    """Three series of other lengths and scales, the third with other detectors ahead, and one without an anomaly."""
    return {
        "first": made(1, 90, 0.01, **changes),
        "second": made(2, 130, 1.0, **changes),
        "third": made(3, 110, 1000.0, **changes),
        "quiet": made(4, 60, 1.0, events=0, **changes),
    }


def with_times(one: Series, times: np.ndarray) -> Series:
    """The same series on a clock."""
    return Series(one.labels, one.scores, times, one.ignore)


def uneven(size: int, seed: int) -> np.ndarray:
    """Seconds of steps that come about once a minute."""
    return np.cumsum(np.random.default_rng([7, seed]).choice([55, 60, 60, 65], size))


def one_series() -> Shape:
    """One series, without a clock."""
    return Shape("one series", {"only": made(0, 150)}, STEPS, metrics=tuple(METRICS | SLOW))


def several_series() -> Shape:
    """Several series in one file, of other lengths and scales."""
    return Shape("several series", several(), STEPS, metrics=tuple(METRICS), column="score_{}")


def on_dates() -> Shape:
    """Dates, with durations for buffers; a file per series."""
    start = np.datetime64("2024-03-01T08:00:00", "s")
    series = {
        name: with_times(one, start + uneven(one.labels.size, place).astype("timedelta64[s]"))
        for place, (name, one) in enumerate(several().items())
    }
    return Shape("dates", series, DURATIONS, layout="wide files", metrics=ALL_ON_CLOCK)


def on_seconds() -> Shape:
    """Whole seconds, with durations for buffers."""
    series = {
        name: with_times(one, 10_000 + uneven(one.labels.size, place))
        for place, (name, one) in enumerate(several().items())
    }
    return Shape("seconds", series, DURATIONS, time_unit="s", metrics=ALL_ON_CLOCK)


def on_milliseconds() -> Shape:
    """Whole milliseconds in a Parquet file, with durations for buffers."""
    series = {
        name: with_times(one, 1000 * uneven(one.labels.size, place) + 17)
        for place, (name, one) in enumerate(several().items())
    }
    return Shape("milliseconds", series, DURATIONS, time_unit="ms", suffix="parquet", metrics=ALL_ON_CLOCK)


def on_fractions() -> Shape:
    """Minutes with fractions, which binary numbers cannot hold exactly."""
    series = {name: with_times(one, np.arange(one.labels.size) * 0.7 + 0.1) for name, one in several().items()}
    return Shape("fractions", series, DURATIONS, time_unit="min", metrics=ALL_ON_CLOCK)


def with_gaps() -> Shape:
    """Dates with long holes, at which zones and events of PATE end."""
    start = np.datetime64("2024-03-01T08:00:00", "s")
    series = {}
    for place, (name, one) in enumerate(several().items()):
        seconds = uneven(one.labels.size, place)
        event = int(np.argmax(one.labels))
        for at in (event + 3, event + 12, 2 * one.labels.size // 3):
            seconds[at:] += 1200
        series[name] = with_times(one, start + seconds.astype("timedelta64[s]"))
    return Shape("gaps", series, DURATIONS | {"max_gap": "10min"}, layout="long", metrics=(*ALL_ON_CLOCK, *SLOW))


def with_ignored() -> Shape:
    """Some steps are ignored, among them parts of events and what lies between two."""
    series = {}
    for place, (name, one) in enumerate(several().items()):
        rng = np.random.default_rng([3, place])
        ignore = rng.random(one.labels.size) < 0.1
        ignore[20:32] = True
        series[name] = Series(one.labels, one.scores, one.times, ignore)
    return Shape("ignored", series, STEPS, metrics=tuple(METRICS))


def with_missing(missing: str) -> Shape:
    """Detectors without a score here and there, and one without scores for most of a series."""
    series = {}
    for place, (name, one) in enumerate(several().items()):
        scores = {}
        for number, (detector, runs) in enumerate(one.scores.items()):
            rng = np.random.default_rng([5, place, number])
            share = 0.7 if (name, detector) == ("second", "gamma") else 0.08
            values = runs[RUN_OF_ALL].copy()
            values[rng.random(values.size) < share] = np.nan
            scores[detector] = {RUN_OF_ALL: values}
        series[name] = Series(one.labels, scores)
    return Shape(f"missing={missing}", series, STEPS | {"missing": missing}, metrics=tuple(METRICS))


def with_runs() -> Shape:
    """Runs of detectors in a long table; one ran once, and the others not as often on every series."""
    series = {}
    for place, (name, one) in enumerate(several().items()):
        scores = {}
        for number, (detector, runs) in enumerate(one.scores.items()):
            rng = np.random.default_rng([11, place, number])
            values = runs[RUN_OF_ALL]
            names = ("1",) if detector == "gamma" else ("1", "2") if name == "third" else ("1", "2", "3")
            spread = values.std()
            scores[detector] = {run: np.round(values + spread * rng.random(values.size), 9) for run in names}
        series[name] = Series(one.labels, scores)
    return Shape("runs", series, STEPS, layout="long", metrics=tuple(METRICS))


def in_long_table() -> Shape:
    """A column of detectors."""
    return Shape("long", several(), STEPS, layout="long", metrics=tuple(METRICS))


def file_per_detector() -> Shape:
    """A file per detector; one of them lacks a series."""
    series = several()
    second = series["second"]
    series["second"] = Series(second.labels, {name: second.scores[name] for name in ("alpha", "beta")})
    return Shape("a file per detector", series, STEPS, layout="files", metrics=tuple(METRICS))


def with_predictions() -> Shape:
    """One detector gives 0 and 1 everywhere, and so its predictions; another does on one series alone."""
    series = {}
    for name, one in several().items():
        scores = {detector: runs[RUN_OF_ALL] for detector, runs in one.scores.items()}
        scores["beta"] = (scores["beta"] > np.quantile(scores["beta"], 0.85)).astype(float)
        if name == "second":
            scores["gamma"] = (scores["gamma"] > np.quantile(scores["gamma"], 0.7)).astype(float)
        series[name] = Series(one.labels, {detector: {RUN_OF_ALL: values} for detector, values in scores.items()})
    return Shape("predictions", series, STEPS, metrics=tuple(METRICS))


def six_series() -> Shape:
    """Six series of scales from .01 to 1,000 and two detectors, with nothing said: nine metrics."""
    scales = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    series = {
        f"series {place}": made(20 + place, 120 + 10 * place, scale, detectors=("ours", "forest"))
        for place, scale in enumerate(scales)
    }
    return Shape("six series", series, metrics=tuple(pv.DEFAULT_METRICS), by_default=True, column="{}_score")


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        one_series(),
        several_series(),
        on_dates(),
        on_seconds(),
        on_milliseconds(),
        on_fractions(),
        with_gaps(),
        with_ignored(),
        with_missing("ignore"),
        with_missing("normal"),
        with_runs(),
        in_long_table(),
        file_per_detector(),
        with_predictions(),
        six_series(),
    )
}


# Files.


def rows_of(shape: Shape, detector: str | None = None) -> list[dict[str, Any]]:
    """Rows of a long table, of one detector or all; wide ones have a column per detector."""
    rows = []
    for name, one in shape.series.items():
        shared: list[dict[str, Any]] = [
            {"series": name, "label": int(label)}
            | ({} if one.times is None else {"time": one.times[step]})
            | ({} if one.ignore is None else {"skip": int(one.ignore[step])})
            for step, label in enumerate(one.labels)
        ]
        if shape.layout.startswith("wide"):
            columns = {key: runs[RUN_OF_ALL] for key, runs in one.scores.items()}
            rows += [
                row | {shape.column.format(key): values[step] for key, values in columns.items()}
                for step, row in enumerate(shared)
            ]
            continue
        for key, runs in one.scores.items():
            if detector in (None, key):
                for run, values in runs.items():
                    more = {} if shape.layout == "files" else {"detector": key}
                    more |= {"run": run} if shape.has_runs else {}
                    rows += [row | more | {"score": values[step]} for step, row in enumerate(shared)]
    return rows


def write_shape(shape: Shape, folder: Path) -> list[Path]:
    """Write the files of a shape; numbers are written so that they are read back exactly."""
    folder.mkdir(parents=True, exist_ok=True)
    if shape.layout == "files":
        tables = {name: rows_of(shape, name) for name in shape.detectors}
    elif shape.layout == "wide files":
        rows = rows_of(shape)
        tables = {name: [row for row in rows if row["series"] == name] for name in shape.series}
        tables = {name: [{k: v for k, v in row.items() if k != "series"} for row in t] for name, t in tables.items()}
    else:
        tables = {"all": rows_of(shape)}
    return [write_table(rows, folder / f"{name}.{shape.suffix}") for name, rows in tables.items()]


def write_parts(shape: Shape, folder: Path) -> list[Path]:
    """Write the same in parts that can be evaluated one after the other: a file per detector, or per series."""
    if shape.layout in ("files", "wide files"):
        return write_shape(shape, folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = {name: [row for row in rows_of(shape) if row["series"] == name] for name in shape.series}
    return [write_table(rows, folder / f"{name}.{shape.suffix}") for name, rows in tables.items()]


def write_table(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write rows to a CSV or Parquet file."""
    columns = list(rows[0])
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({name: [row[name] for row in rows] for name in columns}), path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([[_text(row[name]) for name in columns] for row in rows])
    return path


def _text(value: Any) -> str:
    if isinstance(value, float):  # also NumPy's
        return "" if math.isnan(value) else repr(float(value))
    return str(value)
