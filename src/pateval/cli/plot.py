"""``pateval plot``: a figure from score files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pateval.cli import options
from pateval.io.text_table import hanging

if TYPE_CHECKING:
    from pateval.cli.plot_data import Drawable, Selection
    from pateval.explanations import Explanation
    from pateval.io import ColumnNames

KINDS = {
    "series": "Scores over time with events and zones; --value draws the series above them.",
    "categories": "What each step counts as, and its weights, solid where active.",
    "precision-recall": "Weighted precision-recall curves with lines of equal F1 and the threshold.",
    "buffers": "PATE as a heat map over the early and the delay buffer.",
    "buffer-size": "PATE of the detectors against the buffer size, early = delay.",
    "lengths": "What a delayed detection weighs against the length of its event.",
    "distribution": "Scores inside and outside events.",
    "comparison": "Two detectors on the same events, step by step and event by event.",
    "critical-difference": "Mean ranks over many series, and who cannot be told apart (FILE as in leaderboard).",
    "ranks": "Mean ranks of detectors under all metrics (FILE as in leaderboard).",
    "audit": "What worthless detectors get on the labels, metric by metric (FILE as in audit).",
}
_DEFAULT_BUFFER = 100
_MAX_PANELS = 8
_RANKED_BY = "pate_ap"
# The others are drawn step by step, in zones of whole steps.
_ON_CLOCK = ("precision-recall", "buffers", "critical-difference", "ranks", "audit")


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
    limits: tuple[int, int] | None
    log: bool
    test: str
    workers: int | None

    def buffers(self, default: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Early buffers and delays as given, each the default where it was not."""
        early, delay = self.buffers_given
        return self.early if early else default, self.delay if delay else default

    def require_steps(self) -> None:
        """Refuse what a figure that is drawn step by step cannot show."""
        lengths = (*self.early, *self.delay, self.window)
        asked = {
            "--ignore": self.selection.columns.get("ignore"),
            "--max-gap": self.max_gap,
            "--missing": self.selection.missing != "error",
            "a duration": any(isinstance(length, str) for length in lengths),
        }
        for name, is_asked in asked.items():
            if is_asked and self.kind not in _ON_CLOCK:
                raise click.UsageError(
                    f"'{self.kind}' is drawn step by step and does not take {name}; {', '.join(_ON_CLOCK)} do"
                )

    def metric_ids(self) -> list[str] | None:
        """The metrics named, in the one form in which tables hold them; None where none was."""
        from pateval.catalog import find_metrics

        values = {"early": self.early, "delay": self.delay, "window": self.window}
        return [metric.id for metric in find_metrics(self.metrics, global_values=values)] if self.metrics else None

    def pair(self) -> tuple[Any, Any]:
        """The one early buffer and the one delay that some figures need."""
        early, delay = self.buffers((_DEFAULT_BUFFER,))
        if len(early) > 1 or len(delay) > 1:
            raise click.UsageError(f"'{self.kind}' draws one pair of buffers; give --early and --delay one number each")
        return early[0], delay[0]


def _range(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Read ``1000..2000``, both included."""
    if value is None:
        return None
    first, separator, last = value.partition("..")
    if not separator or not first.strip().isdigit() or not last.strip().isdigit() or int(first) > int(last):
        raise click.BadParameter(f"{value!r} is not a range of steps; write 1000..2000", context, parameter)
    return int(first), int(last) + 1


@click.command(
    "plot",
    short_help="A figure from score files: PDF, PNG or SVG.",
    epilog="\b\nKinds:\n" + "\n".join(hanging(f"  {kind:20} ", text, 77) for kind, text in KINDS.items()),
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="x.pdf|png|svg",
    help="Where to write; by default FILE-KIND.png in the current folder.",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is not an earlier figure of the same kind.")
@options.columns
@options.metrics
@options.on_clock
@options.window
@options.threshold
@click.option("--only", metavar="NAME,...", help="Draw these detectors only, where there are several.")
@click.option("--only-series", metavar="NAME", help="Draw this series only, where there are several.")
@click.option("--value", metavar="COLUMN", help="Column of the series' own values.")
@click.option("--range", "limits", callback=_range, metavar="FIRST..LAST", help="Draw only these steps.")
@click.option("--log", is_flag=True, help="Shares on a logarithmic scale (distribution).")
@click.option(
    "--test",
    type=click.Choice(["nemenyi", "wilcoxon"]),
    default="nemenyi",
    show_default=True,
    help="Whose groups critical-difference joins.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes for ranks; one per core by default."
)
@click.pass_context
def command(
    context: click.Context,
    kind: str,
    files: tuple[str, ...],
    target: Path | None,
    overwrite: bool,
    columns: ColumnNames,
    metrics: tuple[str, ...],
    early: tuple[Any, ...],
    delay: tuple[Any, ...],
    max_gap: str | None,
    missing: str,
    window: int | str,
    threshold: float | str,
    only: str | None,
    only_series: str | None,
    value: str | None,
    limits: tuple[int, int] | None,
    log: bool,
    test: str,
    workers: int | None,
) -> None:
    """Draw a figure of the detectors in FILE... and write it as PDF, PNG or SVG, by suffix.

    The path of the figure goes to standard output. An earlier figure of the same kind is replaced; any other file that
    has the name is not, unless --overwrite is given. Buffers are 100 where one pair is drawn, and 0 to 100 or 0 to 200
    where many are.
    """
    from pateval.cli.plot_data import Selection
    from pateval.plots import save
    from pateval.plots.styling import style

    if target is None:
        target = Path(f"{Path(files[0]).stem or 'figure'}-{kind}.png")
    creator = f"pateval plot {kind}"
    _check_target(target, creator, overwrite)
    in_time = next((length for length in (*early, *delay) if isinstance(length, str)), None)
    needs_times = f"a buffer of {in_time}" if in_time else "" if max_gap is None else f"--max-gap {max_gap}"
    request = Request(
        kind,
        files,
        Selection(columns, options.split(only), only_series, value, missing, needs_times),
        options.metric_names(metrics),
        early,
        delay,
        max_gap,
        (_was_given(context, "early"), _was_given(context, "delay")),
        window,
        threshold,
        limits,
        log,
        test,
        workers,
    )
    request.require_steps()
    with style(), _notes_on_stderr():  # without matplotlib this says so before anything is computed
        drawn = _DRAWINGS[kind](request)
        save(drawn, target, creator=creator)
    click.echo(str(target))


def _was_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) != ParameterSource.DEFAULT


def _check_target(target: Path, creator: str, overwrite: bool) -> None:
    from pateval.plots.canvas import SUFFIXES

    if target.suffix.lower() not in SUFFIXES:
        found = f"'{target.suffix}'" if target.suffix else "no suffix"
        raise click.UsageError(f"{target}: figures are written as {', '.join(SUFFIXES)}; got {found}")
    if not target.absolute().parent.is_dir():
        raise click.UsageError(f"{target}: the folder {target.parent} does not exist")
    if target.exists() and not overwrite and creator.encode() not in target.read_bytes():
        raise click.UsageError(f"{target} exists and is no figure of this kind; give --overwrite, or another name")


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Turn warnings, such as that of coarse scores, into one line each on standard error."""
    import warnings

    from pateval import CoarseScoresWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CoarseScoresWarning)
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(text, err=True)


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
        times=data.times,
        limits=_limits(request, data),
        early=early,
        delay=delay,
    )


def _categories(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=1)
    ((_, explanation),) = _explanations(request, data, _thresholds(request, data)).items()
    return plots.categories(explanation, times=data.times, limits=_limits(request, data))


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
    if len({any(isinstance(length, str) for length in lengths) for lengths in (early, delay)}) > 1:
        raise click.UsageError("'buffers' draws both buffers in steps or both as durations; give --early and --delay")
    ((_, scores),) = data.scores.items()
    on_steps = {**data.steps, "series": data.series, "max_gap": request.max_gap}
    values = plots.pate_by_buffers(data.labels, scores, early=early, delay=delay, **on_steps)
    return plots.buffer_heat_map(values, early=early, delay=delay)


def _buffer_size(request: Request) -> Any:
    from pateval import plots

    data = _read(request, most=_MAX_PANELS)
    early, delay = request.buffers(tuple(range(0, 201, 10)))
    if all(request.buffers_given) and early != delay:
        raise click.UsageError("'buffer-size' draws early = delay; give both the same set, or only one")
    sizes = sorted(set(delay if request.buffers_given[1] else early))
    if len(sizes) < 2:
        raise click.UsageError("'buffer-size' needs several sizes, such as --early 0..200")
    values = plots.pate_by_sizes(data.labels, data.scores, sizes=sizes, series=data.series)
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
    return plots.score_distribution(data.labels, scores, threshold=_thresholds(request, data)[name], log=request.log)


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
        times=data.times,
        limits=_limits(request, data),
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
    click.echo(found.summary(), err=True)
    return plots.audit_chart(found)


_DRAWINGS: dict[str, Callable[[Request], Any]] = {
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
    from pateval.cli.plot_data import read_scores

    data = read_scores(request.files, request.selection)
    for note in data.notes:
        click.echo(note, err=True)
    if len(data.scores) > most:
        names = ", ".join(list(data.scores)[:12]) + (", ..." if len(data.scores) > 12 else "")
        raise click.UsageError(
            f"'{request.kind}' draws {'one detector' if most == 1 else f'at most {most} detectors'}, and there are "
            f"{len(data.scores)} ({names}); choose with --only or --score"
        )
    if not data.labels.any():
        raise click.UsageError(f"{request.files[0]} holds no anomaly: nothing to draw")
    return data


def _thresholds(request: Request, data: Drawable) -> dict[str, float]:
    """The threshold of each detector, said on standard error."""
    from pateval.threshold_rules import choose_threshold

    found = {}
    for name, scores in data.scores.items():
        counted = data.counted(scores)
        at, rule = choose_threshold(data.labels[counted], scores[counted], request.threshold)
        if at is None:
            raise click.UsageError(f"{request.files[0]} holds no anomaly: nothing to draw")
        click.echo(f"{name}: predictions where score >= {at:.6g} ({rule})", err=True)
        found[name] = at
    return found


def _explanations(request: Request, data: Drawable, thresholds: dict[str, float]) -> dict[str, Explanation]:
    from pateval import explain

    early, delay = request.pair()
    return {
        name: explain(data.labels, scores >= thresholds[name], series=data.series, early=early, delay=delay)
        for name, scores in data.scores.items()
    }


def _limits(request: Request, data: Drawable) -> tuple[int, int] | None:
    if request.limits is None:
        return None
    first, stop = request.limits
    if first >= data.labels.size:
        raise click.UsageError(f"--range begins at step {first}, and there are {data.labels.size} steps")
    return first, min(stop, data.labels.size)


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
