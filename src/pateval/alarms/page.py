"""One page about alarms for whoever runs the plant: a sentence, a timeline, and the incidents, worst first.

Python packs times, incidents and alarms as JSON; the script beside the template draws them. Where there are scores, it
also packs the rank of every score, and the script judges each threshold anew by the rules of `pateval.alarms.matching`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from pateval.alarms.clock import AlarmClock, poisson_limits
from pateval.alarms.frontier import AlarmFrontier
from pateval.alarms.judgement import AlarmJudgement, AlarmTable
from pateval.alarms.matching import ROLES, Matching
from pateval.io.atomic import write_text
from pateval.output.html import asset, render_page, safe_json
from pateval.output.text_table import plain
from pateval.time.dates import Times

Slider = tuple[AlarmFrontier, float]
_PACKAGE = "pateval.alarms"
_MOST_STEPS = 500_000  # of all detectors; more would make a page that no browser likes
_MOST_LIMITS = 3_000  # numbers of false alarms for which limits are packed


class _Axis:
    """Times as the page has them: numbers that a browser holds exactly, from the earliest one on.

    Dates are counted in the longest of second, milli-, micro- and nanosecond that all of them are whole numbers of.
    """

    def __init__(self, arrays: Sequence[Times], clock: AlarmClock) -> None:
        self.clock, self.origin, self.size = clock, 0, 1
        times = np.concatenate([array.ravel() for array in arrays if array.size] or [np.zeros(1, dtype=np.int64)])
        if clock.has_dates:
            second = 10**9
            self.origin = int(times.min()) // second * second
            self.size = next(size for size in (second, 10**6, 10**3, 1) if not ((times - self.origin) % size).any())

    def packed(self, times: Times) -> list[Any]:
        """Times, or pairs of them."""
        return ((times - self.origin) // self.size if self.clock.has_dates else times).tolist()

    def length(self, length: Any) -> float | None:
        """A length of time."""
        return None if length is None else float(length) / self.size

    def described(self) -> dict[str, Any]:
        """What the script needs to write times."""
        unit = None if self.clock.nanoseconds is None else self.clock.nanoseconds * self.size
        return {"origin": self.origin / 1e6 if self.clock.has_dates else None, "nanoseconds": unit}


def write_page(table: AlarmTable, path: str | os.PathLike[str], *, sliders: Sequence[Slider] = ()) -> None:
    """Write the page, where there are scores with a slider: the frontier of each detector, and where it stands."""
    text = render_page(
        asset("page.html", _PACKAGE),
        look=asset("look.css") + asset("page.css", _PACKAGE),
        code=asset("page.js", _PACKAGE),
        blocks=safe_json(page_data(table, sliders)),
        sentence=table.judgements[0].sentence(),
    )
    write_text(text, path)


def page_data(table: AlarmTable, sliders: Sequence[Slider] = ()) -> dict[str, Any]:
    """What the script of the page is given."""
    parts = [part for judged in table.judgements for part in judged.parts]
    steps = [series for frontier, _ in sliders for series in frontier.steps.series]
    clock = table.judgements[0].clock
    arrays = [series.times for series in steps]
    for part in parts:
        arrays += [part.incidents, part.alarms, part.observed.starts, part.observed.stops]
    axis = _Axis(arrays, clock)
    is_small = sum(series.times.size for series in steps) <= _MOST_STEPS
    tables = [table.table()] if len(table) > 1 and not sliders else []
    if tables and table.difference is not None:
        tables.append(table.difference.table(clock))
    chosen: Sequence[Slider | None] = sliders if sliders and is_small else [None] * len(table)
    return plain(
        {
            "clock": axis.described(),
            "roles": ROLES,
            "rate": clock.rate_words,
            "tooLong": not is_small,
            "tables": tables,
            "detectors": [_detector(judged, axis, one) for judged, one in zip(table.judgements, chosen, strict=True)],
        }
    )


def _detector(judged: AlarmJudgement, axis: _Axis, slider: Slider | None) -> dict[str, Any]:
    return {
        "name": judged.name,
        "sentence": judged.sentence(),
        "rules": [judged.rules(), judged.observed_words()],
        "rateLength": judged.days / judged.clock.rate_scale,
        "limits": list(judged.false_rate_limits),
        "inAlarm": judged.share_in_alarm,
        "series": [_series(part, axis) for part in judged.parts],
        "scores": None if slider is None else _scores(*slider, axis),
    }


def _series(part: Matching, axis: _Axis) -> dict[str, Any]:
    detected = zip(part.times_to_detect, part.is_found, strict=True)
    return {
        "name": part.series,
        "incidents": axis.packed(part.incidents),
        "kinds": part.kinds.tolist(),
        "counted": part.is_counted.tolist(),
        "times": [axis.length(time) if is_found else None for time, is_found in detected],
        "alarms": axis.packed(part.alarms),
        "roles": part.roles.tolist(),
        "observed": axis.packed(np.stack([part.observed.starts, part.observed.stops], axis=1)),
    }


def _scores(frontier: AlarmFrontier, threshold: float, axis: _Axis) -> dict[str, Any]:
    """Ranks of all scores, and what the rules need, so that the script can judge every threshold."""
    steps = frontier.steps
    most_false = min(int(steps.false_alarms.max(initial=0)), _MOST_LIMITS)
    series = []
    for one in steps.series:
        times = np.array(axis.packed(one.times))
        usual = np.diff(times, append=times[-1:])
        lengths = one.lengths / axis.size
        unusual = np.flatnonzero(lengths != usual)
        series.append(
            {
                "gaps": np.diff(times, prepend=0).tolist(),
                "ranks": steps.ranks(one.scores).tolist(),
                "parted": np.flatnonzero(one.is_parted).tolist(),
                "unusual": [unusual.tolist(), lengths[unusual].tolist()],
            }
        )
    return {
        "name": steps.name,
        "thresholds": steps.thresholds.tolist(),
        "lowest": steps.lowest_candidate,
        "start": int(np.searchsorted(steps.thresholds, threshold)),
        "budgets": frontier.thresholds,
        "policy": {name: axis.length(length) for name, length in vars(steps.policy).items()},
        "observed": float(steps.observed) / axis.size,
        "limits": [poisson_limits(count, steps.days) for count in range(most_false + 1)],
        "series": series,
    }
