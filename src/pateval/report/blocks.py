"""The data of a page, in blocks: what every view needs, the values of each metric, and the scores of each series."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pateval.auditing import BATTERY, audit
from pateval.catalog import PROPERTIES, find_metrics
from pateval.catalog.metric import BEST, ORACLE
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Sample, mean_value, values_of
from pateval.leaderboards.render import alike_texts, headline
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.significance import Significance
from pateval.output.harmless import HIDDEN, latex_text
from pateval.output.text_table import plain
from pateval.report.packing import MOST_LEVELS, VALUE_LEVELS, pack_clock, pack_numbers, pack_scores, pack_values
from pateval.report.series_data import SeriesData, Track
from pateval.report.verdict import over_halves, under_doubt, verdict
from pateval.time.clocks import is_duration, nanoseconds
from pateval.time.timelines import Recording, joined

FORMAT = 2
# Twelve detectors under every metric: some seconds for all metrics of the catalogue.
AUDIT_STEPS = 12_000
AUDIT_SEEDS = 2
_SUMMARY = ("n", "undefined", "mean", "median", "low", "high", "chance", "skill", "mean_rank")
_RUN = ("versions", "inputs", "columns", "code", "seconds")
_MARKDOWN = {mark: f"\\{mark}" for mark in "\\|`*_[]"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_PACKING = (
    f"Scores are kept as levels: every distinct score where there are at most {MOST_LEVELS:,}, otherwise no more than "
    f"{MOST_LEVELS:,} of them, densest at the top. At a level the flagged steps, categories, precision and recall are "
    "exact; between two levels a score is drawn at the lower one. Times are kept exactly. Values of a series are drawn "
    f"to 1/{VALUE_LEVELS:,} of their range. Where steps are many, the lowest and highest point of every pixel are "
    "drawn, so that no spike is lost."
)


Tests = Mapping[str, "Significance"]
"""Tests under each metric; none where all series are one sample."""


def board_block(board: Leaderboard, tests: Tests, title: str, problems: list[str]) -> dict[str, Any]:
    """What every view needs, without values by series."""
    metrics, places = board.metrics, {name: place for place, name in enumerate(board.detectors)}
    rows = {(row["detector"], row["metric"]): row for row in board.summary_rows}
    summary = {
        metric: {name: [plain(rows[detector, metric][name]) for detector in board.detectors] for name in _SUMMARY}
        for metric in metrics
    }
    alike = {metric: alike_texts(tests[metric]) if metric in tests else {} for metric in metrics}
    return {
        "format": FORMAT,
        "title": title,
        "rank_by": board.rank_by,
        "control": board.control,
        "detectors": list(board.detectors),
        "series": list(board.series),
        "pooled": board.pooled,
        "metrics": [describe(board, metric) for metric in metrics],
        "headline": headline(metrics, board.rank_by),
        "coarse": list(board.coarse),
        "summary": summary,
        "order": {metric: [places[name] for name in board.best_first(metric)] for metric in metrics},
        "chance": {metric: _mean(summary[metric]["chance"]) for metric in metrics},
        "not_above_chance": {
            metric: [d for name, d in places.items() if board.is_above_chance(rows[name, metric]) is False]
            for metric in metrics
        },
        "verdicts": {metric: verdict(board, metric, tests.get(metric)) for metric in metrics},
        "alike": {metric: [alike[metric].get(name, "") for name in places] for metric in metrics},
        # The groups of many detectors are many more: the page draws a matrix from the tests instead.
        "groups": {metric: found.wilcoxon_groups if found.has_few else None for metric, found in tests.items()},
        "stability": {
            metric: over_halves(board.by_series(metric), higher_is_better=board.facts[metric].higher_is_better)
            for metric in metrics
        },
        "doubt": plain(under_doubt(board.doubt)),
        "agreement": [[_rounded(row[metric]) for metric in metrics] for row in board.agreement_rows.values()],
        "checks": list(all_checks(board, problems)),
        "notes": list(board.notes),
        "failures": list(board.failures),
        "run": plain({name: board.run.get(name) for name in _RUN}) | {"parameters": _parameters(board.run)},
        "buffers": _buffers(board.measures),
        "escapes": {"latex": _changed_by(latex_text), "markdown": _MARKDOWN, "hidden": HIDDEN},
        "packing": _PACKING,
    }


def _parameters(run: Mapping[str, Any]) -> dict[str, Any]:
    """How it was computed, without the metrics, which are listed, and what was left at nothing."""
    given = plain(dict(run.get("measures") or {}))
    return {name: value for name, value in given.items() if name != "metrics" and value not in (None, False, [], ())}


def _changed_by(write: Any) -> dict[str, str]:
    """The signs that a writer of text changes, and what it makes of them."""
    return {mark: text for mark in map(chr, range(33, 127)) if (text := write(mark)) != mark}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _buffers(measures: Measures | None) -> dict[str, Any]:
    """The longest buffers, in steps or in seconds."""
    longest: dict[str, Any] = {"unit": "steps", "early": 100, "delay": 100}
    for name, lengths in () if measures is None else (("early", measures.early), ("delay", measures.delay)):
        if any(map(is_duration, lengths)):
            longest |= {"unit": "s", name: max(float(nanoseconds(length) / 10**9) for length in lengths)}
        else:
            longest[name] = max(lengths)
    return longest


def all_checks(board: Leaderboard, problems: list[str]) -> Iterator[dict[str, str]]:
    """Yield the checks that fired, then warnings that are none of them, failures and missing inputs."""
    yield from (check._asdict() for check in board.checks)
    known = {check.sentence for check in board.checks}
    for line in board.warnings:
        if line not in known:
            yield {"code": "warning", "sentence": line, "remedy": ""}
    for line in board.failures:
        yield {"code": "failed", "sentence": line, "remedy": "Mend the input, or leave it out; then compute it again."}
    for line in problems:
        remedy = "Put it back where it was, or compute the leaderboard again, to see its timelines."
        yield {"code": "input-gone", "sentence": line, "remedy": remedy}


def metric_blocks(board: Leaderboard, tests: Tests) -> Iterator[dict[str, Any]]:
    """For each metric its values on every series, reasons for the missing ones, and its tests."""
    reasons: list[dict[str, list[list[int]]]] = [{} for _ in board.metrics]
    for d, s, m in np.argwhere((board.reason_codes > 0) & board.present[:, :, None]).tolist():
        reasons[m].setdefault(board.reason_texts[board.reason_codes[d, s, m]], []).append([d, s])
    for m, metric in enumerate(board.metrics):
        values = [[None if math.isnan(value) else value for value in row] for row in board.values[:, :, m].tolist()]
        yield {"metric": metric, "values": values, "reasons": reasons[m], "tests": _plain_tests(tests.get(metric))}


def _plain_tests(found: Significance | None) -> dict[str, Any]:
    if found is None:
        return {"detectors": []}
    tests = found.to_dict()
    return {
        **{name: tests[name] for name in ("detectors", "mean_ranks", "series_used", "series_dropped", "alpha")},
        "friedman_p": tests["friedman"].get("f_p_value"),
        "p_raw": _short(tests["wilcoxon_p"]),
        "p_holm": _short(tests["wilcoxon_holm_p"]),
        "rank_biserial": _short(tests["rank_biserial"]),
    }


def _short(matrix: list[list[float | None]]) -> list[list[float | None]]:
    return [[None if value is None else float(f"{value:.4g}") for value in row] for row in matrix]


def series_block(board: Leaderboard, data: SeriesData) -> dict[str, Any] | None:
    """Scores of all detectors on one series, its events, and the series itself; None where nothing can be shown."""
    samples, missing = {}, dict(data.missing)
    for key, track in data.tracks.items():
        try:
            samples[key] = Sample(track.recording, track.measures)
        except (TypeError, ValueError) as error:
            missing[key] = str(error)
    if not samples:
        return None
    first = next(iter(samples))
    frame = _frame(samples[first], data.tracks[first])
    block: dict[str, Any] = {"series": data.name} | frame
    steps = samples[first].timeline
    if data.values is not None and data.values.size == steps.size:
        block["values"] = pack_values(samples[first].recording.counted(data.values))
    block["detectors"] = {name: [] for name in board.detectors}
    for key, sample in samples.items():
        own = _frame(sample, data.tracks[key])
        entry = _entry(sample) | {"run": key[1]} | ({} if own == frame else {"frame": own})
        block["detectors"][key[0]].append(entry)
    for (name, run), why in missing.items():
        block["detectors"][name].append({"missing": why, "run": run})
    nothing = [{"missing": "it has no scores on this series", "run": ""}]
    block["detectors"] = {name: entries or nothing for name, entries in block["detectors"].items()}
    return block


def _frame(sample: Sample, track: Track) -> dict[str, Any]:
    """What a track says of its steps: how many, which events, and where they lie."""
    timeline = sample.timeline
    events = timeline.events(sample.labels)
    frame: dict[str, Any] = {"steps": int(sample.labels.size)}
    frame["events"] = np.stack([events.starts, events.stops], axis=1).tolist()
    if timeline.stretches.size > 1:
        frame["breaks"] = timeline.stretches[1:].tolist()
    if timeline.step_numbers is not None:
        frame["numbers"] = pack_numbers(timeline.step_numbers)
    if track.clock is not None:
        clock = track.clock if timeline.step_numbers is None else track.clock.chosen(timeline.step_numbers)
        frame["clock"] = pack_clock(clock, dates=track.has_dates)
    return frame


def _entry(sample: Sample) -> dict[str, Any]:
    """Scores of one run of one detector, and the thresholds of its values."""
    scores = np.asarray(sample.scores, dtype=np.float64)
    # The lowest score that each threshold flags stands for it; above every score there is none.
    marks = {}
    for name, flags in thresholds_in_use(sample).items():
        flagged = scores[flags & (scores > -np.inf)]
        marks[name] = float(flagged.min()) if flagged.size else None
    packed = pack_scores(scores, tuple(score for score in marks.values() if score is not None))
    levels = np.array(packed.thresholds)
    places = [
        [name, levels.size if score is None else int(np.searchsorted(levels, score, side="right")) - 1]
        for name, score in marks.items()
    ]
    return packed._asdict() | {"marks": places}


def thresholds_in_use(sample: Sample) -> dict[str, Any]:
    """What thresholds flag on a series: that of most values of the board first, then those of single metrics.

    The best point F1 is always among them, where there is one.
    """
    measures = sample.measures
    metrics = [metric for metric in measures.metrics if metric.needs_threshold and not metric.channels]
    metrics.sort(key=lambda metric: metric.threshold is not None)
    flagged: dict[str, Any] = {}
    for metric in [*metrics, *find_metrics(["point_f1(threshold=oracle)"])]:
        rule = measures.rule(metric)
        name = {ORACLE: "best point F1", BEST: f"best {metric.plain_id}"}.get(rule.kind, str(rule.text))
        name = "its predictions" if sample.recording.predictions is not None else name
        with suppress(TypeError, ValueError):  # no threshold can be chosen, as where there is no score at all
            flags = sample.predicted(metric).flags if name not in flagged else None
            flagged |= {} if flags is None else {name: flags}
    return flagged


def by_spread(board: Leaderboard) -> list[int]:
    """Order the series by how far apart the detectors' values lie under `rank_by`, the furthest first.

    A series on which nobody has a value comes last.
    """
    table = board.by_series(board.rank_by)
    spreads = [float(np.nanstd(row)) if np.count_nonzero(~np.isnan(row)) > 1 else -1.0 for row in table]
    return sorted(range(len(spreads)), key=lambda place: (-spreads[place], place))


def describe(board: Leaderboard, metric: str) -> dict[str, Any]:
    """Describe a metric of a leaderboard: what it rewards, how it can be fooled, where it comes from."""
    measures = board.measures
    known = None if measures is None else measures.by_id.get(metric)
    described: dict[str, Any] = {
        "id": metric,
        "label": board.label(metric),
        "higher": board.facts[metric].higher_is_better,
        "signature": board.signatures.get(metric, ""),
        "threshold": "",
        "uses_labels": False,
    }
    if known is None or measures is None:
        unknown = {"text": "Its values were computed elsewhere.", "rewards": [], "faults": "", "paper": ""}
        return described | unknown | {"range": [None, None]}
    if known.needs_threshold:
        rule = measures.rule(known)
        described |= {"threshold": rule.description, "uses_labels": rule.uses_labels}
    part = "" if known.field is None else f" Shown is its {known.field.replace('_', ' ')}."
    text = " ".join((inspect.getdoc(known.function) or "").split("\n\n")[0].split()).replace("`", "").rstrip(".")
    return described | {
        "text": (f"{text}." if text else "A metric of your own.") + part,
        "rewards": [text for name, text in PROPERTIES.items() if name in known.properties],
        "faults": known.faults,
        "paper": "" if known.paper is None else f"{known.paper.text} ({known.paper.link})",
        "range": [value if math.isfinite(value) else None for value in (known.low, known.high)],
    }


def constant_values(recordings: Sequence[Recording], measures: Measures) -> dict[str, float | None]:
    """Mean value of a constant score over the series, None where it has none."""
    values: list[dict[str, Any]] = []
    for recording in recordings:
        scores = np.zeros(len(recording.labels))
        constant = replace(recording, scores=scores, predictions=None, ignore=recording.is_left_out, absent=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values.append(values_of(constant, measures, keep_going=True))
    means = {metric: mean_value([of_series[metric] for of_series in values]) for metric in measures.ids}
    return {metric: None if mean.reason else mean.value for metric, mean in means.items()}


def audit_here(recordings: Mapping[str, Recording], measures: Measures) -> dict[str, Any] | None:
    """Put the metrics on trial on some of the series: as many, shortest first, as the audit can judge in some seconds.

    None where no series has an event.
    """
    parts = {name: recording.part(slice(0, 4 * AUDIT_STEPS)) for name, recording in recordings.items()}
    sizes = {name: len(recording.labels) for name, recording in recordings.items() if not recording.labels.all()}
    chosen: list[str] = []
    for size, name in sorted(
        (size, name) for name, size in sizes.items() if parts[name].counted(parts[name].labels).any()
    ):
        if chosen and size + sum(sizes[other] for other in chosen) > AUDIT_STEPS:
            break
        chosen.append(name)
    if not chosen:
        return None
    together = joined([parts[name] for name in chosen])
    clock = together.clock
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judged = audit(
            together.labels,
            series=together.series_of_steps,
            times=None if clock is None else clock.times,
            time_unit=None if clock is None else clock.unit,
            max_gap=measures.max_gap,
            ignore=together.is_left_out,
            metrics=measures.metrics,
            seeds=AUDIT_SEEDS,
            **measures.options,
        )
    return {
        "series": chosen,
        "sentence": judged.summary(),
        "fakes": {entry.name: entry.text for entry in BATTERY},
        "rows": {
            row.metric.id: {"values": plain(dict(row.values)), "beaten_by": row.beaten_by, "fooled": row.fooled}
            for row in judged.rows
        },
    }
