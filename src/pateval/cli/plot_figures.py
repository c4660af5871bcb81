"""The figures of ``pateval plot``: what was asked for, read and drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pateval.cli.messages import tell

if TYPE_CHECKING:
    from pateval.cli.plot_data import Drawable
    from pateval.evaluation.measures import Measures
    from pateval.leaderboards import Leaderboard
    from pateval.output.explanation import Explanation

_MAX_PANELS = 8
_RANKED_BY = "pate_ap"


class Limits(NamedTuple):
    """What to draw: steps, or nanoseconds since 1970, from ``first`` up to, not including, ``stop``."""

    first: int
    stop: int
    in_time: bool = False


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line.

    Attributes
    ----------
    kind : str
        Of figure.
    files : tuple of str
        What to read.
    columns, parameters : dict
        Options of `pateval.io.Reading` and of `pateval.evaluate`.
    buffers_given : pair of bool
        Whether early buffers and delays were named.
    only, only_series : list of str or None
        The detectors and series wanted.
    value, limits, log, test, workers
        As the options of the same names.
    """

    kind: str
    files: tuple[str, ...]
    columns: dict[str, Any]
    parameters: dict[str, Any]
    buffers_given: tuple[bool, bool]
    only: list[str] | None
    only_series: list[str] | None
    value: str | None
    limits: Limits | None
    log: bool
    test: str
    workers: int | None

    def measures(self, **changes: Any) -> Measures:
        """What is computed for the figure."""
        from pateval.evaluation.measures import Measures

        return Measures.of(**{**self.parameters, "chance": 0, **changes})

    def buffers(self, default: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Early buffers and delays as given, each the default where it was not."""
        early, delay = self.buffers_given
        given = self.parameters["early"], self.parameters["delay"]
        return given[0] if early else default, given[1] if delay else default

    def require_one_unit(self, early: tuple[Any, ...], delay: tuple[Any, ...]) -> None:
        """Refuse buffers of which one is counted in steps and the other measured in time."""
        in_time = [any(isinstance(length, str) for length in lengths) for lengths in (early, delay)]
        if any(in_time) and not all(
            is_time or not any(lengths) for is_time, lengths in zip(in_time, (early, delay), strict=True)
        ):
            raise click.UsageError(
                f"'{self.kind}' draws both buffers in steps or both as durations; give --early and --delay"
            )


def _series(request: Request) -> Any:
    from pateval import plots

    data, measures = _read(request, most=_MAX_PANELS)
    return plots.series(
        data.first.labels,
        data.scores,
        values=data.values,
        threshold=_thresholds(data, measures),
        limits=_limits(request, data),
        early=measures.early,
        delay=measures.delay,
        max_gap=measures.max_gap,
        series=data.first.series_of_steps,
        ignore=data.first.is_left_out,
        **data.axis,
    )


def _categories(request: Request) -> Any:
    from pateval import plots

    data, measures = _read(request, most=1)
    ((_, explanation),) = _explanations(data, measures).items()
    return plots.categories(explanation, limits=_limits(request, data), **data.axis)


def _precision_recall(request: Request) -> Any:
    from pateval import plots

    data, measures = _read(request, most=_MAX_PANELS)
    curves = plots.pate_curves(
        data.first.labels,
        data.scores,
        early=measures.early,
        delay=measures.delay,
        pooled=measures.pooled,
        max_gap=measures.max_gap,
        **data.steps,
    )
    thresholds = _thresholds(data, measures)
    if len(curves) > 1:
        return plots.precision_recall(curves, threshold=thresholds)
    ((name, curve),) = curves.items()
    return plots.precision_recall(curve, threshold=thresholds.get(name))


def _buffers(request: Request) -> Any:
    from pateval import plots

    early, delay = request.buffers(tuple(range(0, 101, 10)))
    data, measures = _read(request, most=1, early=early, delay=delay)
    ((_, scores),) = data.scores.items()
    on_steps = {**data.steps, "pooled": measures.pooled, "max_gap": measures.max_gap}
    values = plots.pate_by_buffers(data.first.labels, scores, early=early, delay=delay, **on_steps)
    return plots.buffer_heat_map(values, early=early, delay=delay)


def _buffer_size(request: Request) -> Any:
    from pateval import plots
    from pateval.time.clocks import length_order

    early, delay = request.buffers(tuple(range(0, 201, 10)))
    if all(request.buffers_given) and early != delay:
        raise click.UsageError("'buffer-size' draws early = delay; give both the same set, or only one")
    sizes = sorted(set(delay if request.buffers_given[1] else early), key=length_order)
    if len(sizes) < 2:
        raise click.UsageError("'buffer-size' needs several sizes, such as --early 0..200 or --early 0min,30min,1h")
    data, measures = _read(request, most=_MAX_PANELS, early=sizes, delay=sizes)
    on_steps = {**data.steps, "pooled": measures.pooled, "max_gap": measures.max_gap}
    values = plots.pate_by_sizes(data.first.labels, data.scores, sizes=sizes, **on_steps)
    random = next((name for name in values if name.lower() == "random"), None)
    return plots.buffer_sizes(sizes, values, random=random)


def _lengths(request: Request) -> Any:
    from pateval import plots

    data, measures = _read(request, most=1)
    ((_, explanation),) = _explanations(data, measures).items()
    return plots.weights_by_length(explanation)


def _distribution(request: Request) -> Any:
    from pateval import plots

    data, measures = _read(request, most=1, early=0, delay=0, max_gap=None)
    ((name, scores),) = data.scores.items()
    if any(request.buffers_given) or request.parameters["max_gap"] is not None:
        tell("scores are counted inside and outside events: --early, --delay and --max-gap change nothing")
    return plots.score_distribution(
        data.first.labels,
        scores,
        threshold=_thresholds(data, measures).get(name),
        series=data.first.series_of_steps,
        pooled=measures.pooled,
        log=request.log,
        ignore=data.first.is_left_out,
        missing=data.steps["missing"],
    )


def _comparison(request: Request) -> Any:
    from pateval import plots

    data, measures = _read(request, most=2)
    if len(data.scores) != 2:
        raise click.UsageError("'comparison' draws two detectors; there is one")
    return plots.comparison(
        _explanations(data, measures),
        scores=data.scores,
        threshold=_thresholds(data, measures, quiet=True),
        limits=_limits(request, data),
        **data.axis,
    )


def _critical_difference(request: Request) -> Any:
    from pateval import plots

    wanted = request.parameters["metrics"]
    if wanted and len(wanted) > 1:
        raise click.UsageError("'critical-difference' draws one metric; name one with --metrics")
    board = _board(request, wanted or [_RANKED_BY])
    return plots.critical_difference(board.significance(wanted[0] if wanted else None), test=request.test)


def _ranks(request: Request) -> Any:
    from pateval import plots

    wanted = request.parameters["metrics"]
    return plots.rank_heat_map(_board(request, wanted), metrics=wanted)


def _audit(request: Request) -> Any:
    from pateval import audit, plots
    from pateval.io import Reading
    from pateval.io.plan import read_labels

    measures = request.measures()
    read = read_labels(request.files, Reading(**request.columns, labels_only=True), measures.needs_times)
    for note in read.notes:
        tell(note)
    options = {name: request.parameters[name] for name in ("metrics", "early", "delay", "window", "max_gap")}
    found = audit(**options, **read.steps)
    tell(found.summary())
    return plots.audit_chart(found)


def _frontier(request: Request) -> Any:
    from pateval import plots
    from pateval.alarms.frontier import frontier_of
    from pateval.alarms.matching import Policy
    from pateval.alarms.scored import read_scored_steps
    from pateval.io import Reading, TableError

    early, delay = request.buffers((0,))
    if len(early) != 1 or len(delay) != 1:
        raise TableError("a frontier has one --early and one --delay")
    lengths = {name: request.parameters[name] for name in ("max_gap", "missing")}
    policy = Policy(early[0], delay[0])
    steps, notes = read_scored_steps(request.files, None, Reading(**request.columns), policy, **lengths)
    for note in notes:
        tell(note)
    wanted = [one for one in steps if request.only is None or one.name in request.only]
    if len(wanted) != 1:
        raise TableError(f"a frontier is of one detector; {len(wanted)} are there: choose one with --only NAME")
    rule, _, budget = str(request.parameters["threshold"]).partition(":")
    return plots.frontier(frontier_of(wanted[0], [budget] if rule == "false-alarms" else []))


DRAWINGS: dict[str, Callable[[Request], Any]] = {
    "series": _series,
    "categories": _categories,
    "precision-recall": _precision_recall,
    "buffers": _buffers,
    "buffer-size": _buffer_size,
    "lengths": _lengths,
    "distribution": _distribution,
    "frontier": _frontier,
    "comparison": _comparison,
    "critical-difference": _critical_difference,
    "ranks": _ranks,
    "audit": _audit,
}


def _read(request: Request, *, most: int, **changes: Any) -> tuple[Drawable, Measures]:
    """Read the detectors of one figure, no more than it can show; ``changes`` are to what is computed."""
    from pateval.cli.plot_data import drawable
    from pateval.evaluation.files import ScoredFiles
    from pateval.io import Reading
    from pateval.io.plan import make_plan

    given = request.parameters | changes
    if not isinstance(given["early"], int):
        request.require_one_unit(tuple(given["early"]), tuple(given["delay"]))
    measures = request.measures(metrics="pate_f1", **changes)
    reading = Reading(**request.columns)
    plan = make_plan(request.files, reading, needs_times=measures.needs_times)
    for note in plan.notes:
        tell(note)
    data = drawable(ScoredFiles.read(plan, measures).only(request.only, request.only_series), reading, request.value)
    for note in data.notes:
        tell(note)
    if len(data.recordings) > most:
        names = ", ".join(list(data.recordings)[:12]) + (", ..." if len(data.recordings) > 12 else "")
        raise click.UsageError(
            f"'{request.kind}' draws {'one detector' if most == 1 else f'at most {most} detectors'}, and there are "
            f"{len(data.recordings)} ({names}); choose with --only or --score"
        )
    if not data.first.counted(data.first.labels).any():
        what = "no anomaly" if not data.first.labels.any() else "no anomaly in the steps that count"
        raise click.UsageError(f"{request.files[0]} holds {what}: nothing to draw")
    return data, measures


def _thresholds(data: Drawable, measures: Measures, *, quiet: bool = False) -> dict[str, float]:
    """The threshold of each detector, said on standard error; none where series have thresholds of their own."""
    say = (lambda _line: None) if quiet else tell
    import numpy as np

    from pateval.evaluation.values import Sample, with_predictions

    found = {}
    for name, recording in data.recordings.items():
        own = measures.of_detector(name)
        metric = own.metrics[0]
        rule = own.rule(metric)
        (recording,) = with_predictions([recording])
        parts = [recording] if own.pooled else recording.parts()
        levels = {Sample(part, own).predicted(metric).level for part in parts} - {None}
        if recording.predictions is not None:
            levels = {1.0}
        if len(levels) != 1:
            say(f"{name}: each series has a threshold of its own ({rule.description}); none is drawn")
            continue
        level = float(levels.pop() or 0.0)
        say(f"{name}: predictions where score {rule.sign} {level:.6g} ({rule.description})")
        found[name] = float(np.nextafter(level, np.inf)) if rule.strict else level
    return found


def _explanations(data: Drawable, measures: Measures) -> dict[str, Explanation]:
    from pateval.evaluation.explanation import explain_recording

    found = {
        name: explain_recording(recording, measures.of_detector(name)) for name, recording in data.recordings.items()
    }
    for name, explanation in found.items():
        tell(f"{name}: predictions where {explanation.predictions_from}")
    return found


def _limits(request: Request, data: Drawable) -> tuple[int, int] | None:
    """The steps to draw; all of them for None."""
    wanted = request.limits
    if wanted is None:
        return None
    if not wanted.in_time:
        if wanted.first >= len(data.first.labels):
            raise click.UsageError(
                f"--range begins at step {wanted.first}, and there are {len(data.first.labels)} steps"
            )
        return wanted.first, min(wanted.stop, len(data.first.labels))
    times = data.axis.get("times")
    if times is None or times.dtype.kind != "M":
        raise click.UsageError(f"{request.files[0]} has no dates; give --range in steps, as in 1000..2000")
    moments = times.view("int64")
    if data.first.starts.size > 1 and (moments[1:] <= moments[:-1]).any():
        raise click.UsageError(
            "--range by dates needs series that do not overlap in time; choose one with --only-series"
        )
    first, stop = (int(place) for place in moments.searchsorted([wanted.first, wanted.stop]))
    if first == stop:
        known = f"from {_date_text(times[0])} to {_date_text(times[-1])}"
        raise click.UsageError(f"no step lies in the --range given; the times of {request.files[0]} go {known}")
    return first, stop


def _date_text(time: Any) -> str:
    return str(time.astype("datetime64[s]")).removesuffix("T00:00:00")


def _board(request: Request, metrics: list[str] | None) -> Leaderboard:
    """The leaderboard in a folder, or that of score files."""
    from pathlib import Path

    from pateval.leaderboards import Leaderboard, leaderboard

    if len(request.files) == 1 and (Path(request.files[0]) / "run.json").is_file():
        return Leaderboard.load(request.files[0])
    board = leaderboard(
        list(request.files),
        **request.columns,
        **(request.parameters | {"metrics": metrics, "pooled": False}),
        workers=request.workers,
        chance=0,
        event_draws=0,
        progress=True,
    )
    for line in (*board.notes, *board.failures):
        tell(line)
    return board
