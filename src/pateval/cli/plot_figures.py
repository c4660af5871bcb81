"""The figures of ``pateval plot``: what was asked for, read and drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pateval.cli.messages import tell

if TYPE_CHECKING:
    from pateval.cli.plot_data import Drawable, Selection
    from pateval.output.explanation import Explanation

_DEFAULT_BUFFER = 100
_MAX_PANELS = 8
_RANKED_BY = "pate_ap"


class Limits(NamedTuple):
    """What to draw: steps, or nanoseconds since 1970, from ``first`` up to, not including, ``stop``."""

    first: int
    stop: int
    in_time: bool = False


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line."""

    kind: str
    files: tuple[str, ...]
    selection: Selection
    metrics: list[str] | None
    early: tuple[Any, ...]
    delay: tuple[Any, ...]
    max_gap: str | None
    buffers_given: tuple[bool, bool]
    window: int | str
    threshold: float | str
    limits: Limits | None
    log: bool
    test: str
    workers: int | None

    def buffers(self, default: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Early buffers and delays as given, each the default where it was not."""
        early, delay = self.buffers_given
        return self.early if early else default, self.delay if delay else default

    def metric_ids(self) -> list[str] | None:
        """The metrics named, in the one form in which tables hold them; None where none was."""
        from pateval.catalog import find_metrics

        values = {"early": self.early, "delay": self.delay, "window": self.window}
        return [metric.id for metric in find_metrics(self.metrics, global_values=values)] if self.metrics else None

    def pair(self) -> tuple[Any, Any]:
        """The one early buffer and the one delay that some figures need."""
        early, delay = self.buffers((_DEFAULT_BUFFER,))
        if len(early) > 1 or len(delay) > 1:
            raise click.UsageError(f"'{self.kind}' draws one pair of buffers; give --early and --delay one length each")
        self.require_one_unit(early, delay)
        return early[0], delay[0]

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

    data = _read(request, most=_MAX_PANELS)
    early, delay = request.pair()
    return plots.series(
        data.labels,
        data.scores,
        values=data.values,
        threshold=_thresholds(request, data),
        series=data.series,
        limits=_limits(request, data),
        early=early,
        delay=delay,
        max_gap=request.max_gap,
        ignore=data.steps.get("ignore"),
        **data.axis,
    )


def _categories(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=1)
    ((_, explanation),) = _explanations(request, data, _thresholds(request, data)).items()
    return plots.categories(explanation, limits=_limits(request, data), **data.axis)


def _precision_recall(request: Request) -> Any:
    from pateval import pate_curve, plots

    data = _read(request, most=_MAX_PANELS)
    thresholds = _thresholds(request, data)
    early, delay = request.pair()
    curves = {
        name: pate_curve(
            data.labels, scores, series=data.series, early=early, delay=delay, max_gap=request.max_gap, **data.steps
        )
        for name, scores in data.scores.items()
    }
    if len(curves) == 1:
        ((name, curve),) = curves.items()
        return plots.precision_recall(curve, threshold=thresholds[name])
    return plots.precision_recall(curves, threshold=thresholds)


def _buffers(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=1)
    early, delay = request.buffers(tuple(range(0, 101, 10)))
    request.require_one_unit(early, delay)
    ((_, scores),) = data.scores.items()
    on_steps = {**data.steps, "series": data.series, "max_gap": request.max_gap}
    values = plots.pate_by_buffers(data.labels, scores, early=early, delay=delay, **on_steps)
    return plots.buffer_heat_map(values, early=early, delay=delay)


def _buffer_size(request: Request) -> Any:
    from pateval import plots
    from pateval.time.clocks import length_order

    data = _read(request, most=_MAX_PANELS)
    early, delay = request.buffers(tuple(range(0, 201, 10)))
    if all(request.buffers_given) and early != delay:
        raise click.UsageError("'buffer-size' draws early = delay; give both the same set, or only one")
    sizes = sorted(set(delay if request.buffers_given[1] else early), key=length_order)
    if len(sizes) < 2:
        raise click.UsageError("'buffer-size' needs several sizes, such as --early 0..200 or --early 0min,30min,1h")
    on_steps = {**data.steps, "series": data.series, "max_gap": request.max_gap}
    values = plots.pate_by_sizes(data.labels, data.scores, sizes=sizes, **on_steps)
    random = next((name for name in values if name.lower() == "random"), None)
    return plots.buffer_sizes(sizes, values, random=random)


def _lengths(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=1)
    ((_, explanation),) = _explanations(request, data, _thresholds(request, data)).items()
    return plots.weights_by_length(explanation)


def _distribution(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=1)
    ((name, scores),) = data.scores.items()
    if any(request.buffers_given) or request.max_gap is not None:
        tell("scores are counted inside and outside events: --early, --delay and --max-gap change nothing")
    return plots.score_distribution(
        data.labels,
        scores,
        threshold=_thresholds(request, data)[name],
        log=request.log,
        ignore=data.steps.get("ignore"),
        missing=data.steps["missing"],
    )


def _comparison(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=2)
    if len(data.scores) != 2:
        raise click.UsageError("'comparison' draws two detectors; there is one")
    thresholds = _thresholds(request, data)
    return plots.comparison(
        _explanations(request, data, thresholds),
        scores=data.scores,
        threshold=thresholds,
        limits=_limits(request, data),
        **data.axis,
    )


def _critical_difference(request: Request) -> Any:
    from pateval import plots
    from pateval.cli.plot_data import saved_significance

    wanted = request.metric_ids()
    if wanted and len(wanted) > 1:
        raise click.UsageError("'critical-difference' draws one metric; name one with --metrics")
    saved = saved_significance(request.files, wanted[0] if wanted else None)
    if saved is None:
        saved = _board(request, request.metrics or [_RANKED_BY]).significance()
    return plots.critical_difference(saved, test=request.test)


def _ranks(request: Request) -> Any:
    from pateval import plots
    from pateval.cli.plot_data import saved_ranks

    saved = saved_ranks(request.files)
    if saved is None:
        return plots.rank_heat_map(_board(request, request.metrics))
    return plots.rank_heat_map(saved, metrics=request.metric_ids())


def _audit(request: Request) -> Any:
    from pateval import audit, plots
    from pateval.catalog import find_metrics
    from pateval.cli.detector_data import labelled_steps, read_labels
    from pateval.evaluation.circumstances import what_needs_times

    lengths: dict[str, Any] = {"early": request.early, "delay": request.delay, "window": request.window}
    wanted = find_metrics(request.metrics, global_values=lengths)
    needs_times = what_needs_times(wanted, lengths, max_gap=request.max_gap)
    items = read_labels(request.files, request.selection.columns)
    found = audit(metrics=wanted, max_gap=request.max_gap, **lengths, **labelled_steps(items, needs_times))
    tell(found.summary())
    return plots.audit_chart(found)


DRAWINGS: dict[str, Callable[[Request], Any]] = {
    "series": _series,
    "categories": _categories,
    "precision-recall": _precision_recall,
    "buffers": _buffers,
    "buffer-size": _buffer_size,
    "lengths": _lengths,
    "distribution": _distribution,
    "comparison": _comparison,
    "critical-difference": _critical_difference,
    "ranks": _ranks,
    "audit": _audit,
}


def _read(request: Request, *, most: int) -> Drawable:
    """Read the detectors of one figure, no more than it can show."""
    from pateval.cli.plot_data import read_drawable

    data = read_drawable(request.files, request.selection)
    for note in data.notes:
        tell(note)
    if len(data.scores) > most:
        names = ", ".join(list(data.scores)[:12]) + (", ..." if len(data.scores) > 12 else "")
        raise click.UsageError(
            f"'{request.kind}' draws {'one detector' if most == 1 else f'at most {most} detectors'}, and there are "
            f"{len(data.scores)} ({names}); choose with --only or --score"
        )
    if not data.labels_that_count.any():
        what = "no anomaly" if not data.labels.any() else "no anomaly in the steps that count"
        raise click.UsageError(f"{request.files[0]} holds {what}: nothing to draw")
    return data


def _thresholds(request: Request, data: Drawable) -> dict[str, float]:
    """The threshold of each detector, said on standard error; steps are predicted whose score is at least that."""
    import numpy as np

    from pateval.evaluation.threshold_rules import ScoredSteps
    from pateval.time.timelines import read_scores

    found = {}
    for name, scores in data.scores.items():
        rule = data.rule(name, request.threshold)
        labels, values, timeline = read_scores(data.labels, scores, series=data.series, **data.steps)
        at: Any = rule.choose(ScoredSteps.on(timeline, labels, values))
        tell(f"{name}: predictions where score {rule.sign} {at:.6g} ({rule.description})")
        found[name] = np.nextafter(np.float64(at), np.inf) if rule.strict else at
    return found


def _explanations(request: Request, data: Drawable, thresholds: dict[str, float]) -> dict[str, Explanation]:
    from pateval import explain

    early, delay = request.pair()
    steps = {name: value for name, value in data.steps.items() if name != "missing"}
    return {
        # A step without a score is never predicted.
        name: explain(
            data.labels,
            scores >= thresholds[name],
            series=data.series,
            early=early,
            delay=delay,
            max_gap=request.max_gap,
            **steps,
        )
        for name, scores in data.scores.items()
    }


def _limits(request: Request, data: Drawable) -> tuple[int, int] | None:
    """The steps to draw; all of them for None."""
    wanted = request.limits
    if wanted is None:
        return None
    if not wanted.in_time:
        if wanted.first >= data.labels.size:
            raise click.UsageError(f"--range begins at step {wanted.first}, and there are {data.labels.size} steps")
        return wanted.first, min(wanted.stop, data.labels.size)
    times = data.axis.get("times")
    if times is None or times.dtype.kind != "M":
        raise click.UsageError(f"{request.files[0]} has no dates; give --range in steps, as in 1000..2000")
    moments = times.view("int64")
    if data.series is not None and (moments[1:] <= moments[:-1]).any():
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


def _board(request: Request, metrics: list[str] | None) -> Any:
    from pateval import leaderboard

    columns = request.selection.columns
    return leaderboard(
        list(request.files),
        label=columns.get("label"),
        score=columns.get("score"),
        series=columns.get("series"),
        detector=columns.get("detector"),
        time=columns.get("time"),
        time_unit=columns.get("time_unit"),
        sort=columns.get("sort", False),
        positive=columns.get("positive"),
        events=columns.get("events"),
        closed_events=columns.get("closed_events", False),
        ignore=columns.get("ignore"),
        missing=request.selection.missing,
        max_gap=request.max_gap,
        metrics=metrics,
        early=request.early,
        delay=request.delay,
        window=request.window,
        threshold=request.threshold,
        workers=request.workers,
        chance=0,
        event_draws=0,
        progress=True,
    )
