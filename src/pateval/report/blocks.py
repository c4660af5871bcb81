"""The data of a page, in blocks: what every view needs, the values of each metric, and the scores of each series."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation.threshold_search import best_threshold
from pateval.leaderboards.render import group_letters, headline
from pateval.report.board_data import BoardData
from pateval.report.evaluated import EvaluatedTrack, evaluated_tracks
from pateval.report.inputs import SeriesInput
from pateval.report.metric_texts import describe
from pateval.report.packing import MOST_LEVELS, VALUE_LEVELS, pack_scores, pack_times, pack_values
from pateval.report.stability import as_plain, over_halves, under_doubt
from pateval.report.verdict import verdict
from pateval.time.clocks import is_duration, nanoseconds

FORMAT = 1


def board_block(data: BoardData) -> dict[str, Any]:
    """What every view needs, without values by series."""
    parameters = data.run.get("parameters", {})
    oracle = parameters.get("threshold") == "oracle"
    tests = data.significance
    return {
        "format": FORMAT,
        "title": data.title,
        "rank_by": data.rank_by,
        "detectors": list(data.detectors),
        "series": list(data.series),
        "metrics": [
            describe(
                metric,
                higher_is_better=data.directions[metric],
                signature=data.signatures.get(metric, ""),
                oracle=oracle,
            )
            for metric in data.metrics
        ],
        "headline": headline(data.metrics, data.rank_by),
        "coarse": list(data.coarse),
        "summary": data.summary,
        "verdicts": {
            metric: verdict(
                metric,
                tests[metric],
                data.summary[metric]["mean"],
                data.detectors,
                higher_is_better=data.directions[metric],
            )
            for metric in data.metrics
        },
        "letters": {metric: group_letters_of(tests[metric]) for metric in data.metrics},
        "stability": {
            metric: as_plain(over_halves(data.table(metric), higher_is_better=data.directions[metric]))
            for metric in data.metrics
        },
        "doubt": under_doubt(data.doubt, data.detectors),
        "agreement": data.agreement,
        "checks": list(all_checks(data)),
        "notes": data.notes,
        "failures": data.failures,
        "problems": data.problems,
        "run": {
            name: data.run.get(name)
            for name in ("parameters", "versions", "inputs", "columns", "chance_draws", "seed", "code", "seconds")
        },
        "buffers": _buffers(parameters),
        "packing": (
            f"Scores are kept as levels: every distinct score where there are at most {MOST_LEVELS:,}, otherwise no "
            f"more than {MOST_LEVELS:,} of them, densest at the top. At a level the flagged steps, categories, "
            f"precision and recall are exact; between two levels a score is drawn at the lower one. Values of a series "
            f"are drawn to 1/{VALUE_LEVELS:,} of their range. Long stretches are drawn as the lowest and highest point "
            f"of every pixel, so that no spike is lost."
        ),
    }


def _buffers(parameters: dict[str, Any]) -> dict[str, Any]:
    """The longest buffers, in steps or in seconds."""
    found: dict[str, Any] = {"unit": "steps"}
    for name in ("early", "delay"):
        value = parameters.get(name, 100)
        several = value if isinstance(value, (list, tuple)) else [value]
        if any(is_duration(length) for length in several):
            found["unit"] = "s"
            found[name] = max(float(nanoseconds(length) / 10**9) if is_duration(length) else 0.0 for length in several)
        else:
            found[name] = max(several)
    return found


def all_checks(data: BoardData) -> Iterator[dict[str, str]]:
    """Yield the checks that fired, then warnings that are none of them, failures and missing inputs."""
    yield from data.checks
    known = {check["sentence"] for check in data.checks}
    for line in data.warnings:
        if line not in known:
            yield {"code": "warning", "sentence": line, "remedy": ""}
    for line in data.failures:
        yield {"code": "failed", "sentence": line, "remedy": "Mend the input, or leave it out; then compute it again."}
    for line in data.problems:
        remedy = "Put it back where it was, or compute the leaderboard again, to see its timelines."
        yield {"code": "input-gone", "sentence": line, "remedy": remedy}


def group_letters_of(tests: dict[str, Any]) -> dict[str, str]:
    """Letters of the groups that are not told apart, from saved tests."""
    from types import SimpleNamespace

    return group_letters(SimpleNamespace(**tests))  # type: ignore[arg-type]  # saved tests have the same attributes


def metric_blocks(data: BoardData) -> Iterator[dict[str, Any]]:
    """For each metric its values on every series, reasons for the missing ones, and its tests."""
    reasons: list[dict[str, list[list[int]]]] = [{} for _ in data.metrics]
    for (d, s, m), text in data.reasons.items():
        reasons[m].setdefault(text, []).append([d, s])
    for place, own in enumerate(reasons):
        yield _metric_block(data, place, own)


def _metric_block(data: BoardData, place: int, reasons: dict[str, list[list[int]]]) -> dict[str, Any]:
    metric = data.metrics[place]
    values = data.values[:, :, place]
    tests = data.significance[metric]
    return {
        "metric": metric,
        "values": [[None if math.isnan(value) else value for value in row] for row in values.tolist()],
        "reasons": reasons,
        "tests": {
            "detectors": tests["detectors"],
            "left_out": tests["left_out"],
            "mean_ranks": tests["mean_ranks"],
            "series_used": tests["series_used"],
            "series_dropped": tests["series_dropped"],
            "friedman_p": tests["friedman"].get("f_p_value"),
            "critical_difference": tests["nemenyi_difference"],
            "groups": tests["wilcoxon_groups"],
            "alpha": tests["alpha"],
            "p_raw": _short(tests["wilcoxon_p"]),
            "p_holm": _short(tests["wilcoxon_holm_p"]),
            "rank_biserial": _short(tests["rank_biserial"]),
        },
    }


def series_block(data: BoardData, item: SeriesInput) -> dict[str, Any] | None:
    """Scores of all detectors on one series, its events, and the series itself; None where nothing can be shown."""
    tracks, reasons = evaluated_tracks(item, data.run.get("parameters", {}))
    if not tracks:
        return None
    first = next(iter(tracks.values()))
    block: dict[str, Any] = {"series": item.name} | _frame(first)
    if item.values is not None:
        values = item.values
        if first.step_numbers is not None and first.step_numbers[-1] < values.size:
            values = values[first.step_numbers]
        if values.size == first.labels.size:
            block["values"] = pack_values(values)
    block["detectors"] = {}
    for name in data.detectors:
        keys = [key for key in (*tracks, *reasons) if key[0] == name]
        entries = [
            _entry(tracks[key], first) | {"run": key[1]} if key in tracks else {"missing": reasons[key], "run": key[1]}
            for key in dict.fromkeys(keys)
        ]
        block["detectors"][name] = entries or [{"missing": "it has no scores on this series", "run": ""}]
    return block


def _frame(track: EvaluatedTrack) -> dict[str, Any]:
    """What a track says of its steps: how many, which events, and where they lie."""
    frame: dict[str, Any] = {"steps": int(track.labels.size), "events": _events(track)}
    if track.breaks:
        frame["breaks"] = track.breaks
    if track.step_numbers is not None:
        frame["positions"] = pack_times(track.step_numbers)
    if track.times is not None:
        frame["times"] = pack_times(track.times)
    return frame


def _entry(track: EvaluatedTrack, first: EvaluatedTrack) -> dict[str, Any]:
    """Scores of one run of one detector, and its own frame where it differs from that of the first."""
    marks = {}
    if track.labels.any():
        marks["best point F1"] = float(best_threshold(track.labels, _floored(track.scores))[0])
    packed = pack_scores(track.scores, tuple(marks.values()))
    reached = np.array(packed.thresholds)
    entry: dict[str, Any] = {
        "thresholds": packed.thresholds,
        "ranks": packed.ranks,
        "distinct": packed.distinct,
        "marks": {name: int(np.searchsorted(reached, value, side="right")) - 1 for name, value in marks.items()},
    }
    frame, usual = _frame(track), _frame(first) if track is not first else None
    return entry if usual is None or frame == usual else entry | {"frame": frame}


def _floored(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scores with something lower than all others in place of those that are never flagged."""
    finite = np.isfinite(scores)
    return scores if finite.all() else np.where(finite, scores, np.min(scores[finite], initial=0.0) - 1.0)


def telling(data: BoardData) -> list[int]:
    """Order the series by how much they tell about the detectors under `rank_by`, the most telling first.

    That is the spread of their values; a series on which nobody has one comes last.
    """
    table = data.table(data.rank_by)
    spreads = [float(np.nanstd(row)) if np.count_nonzero(~np.isnan(row)) > 1 else -1.0 for row in table]
    return sorted(range(len(spreads)), key=lambda place: (-spreads[place], place))


def _events(track: EvaluatedTrack) -> list[list[int]]:
    return np.stack([track.events.starts, track.events.stops], axis=1).tolist()


def _short(matrix: list[list[float | None]]) -> list[list[float | None]]:
    return [[None if value is None else float(f"{value:.4g}") for value in row] for row in matrix]
