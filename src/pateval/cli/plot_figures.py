"""The figures of ``pateval plot``: what was asked for, read and drawn; each kind by the function of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from pateval import audit as audit_labels
from pateval import plots
from pateval.cli import options
from pateval.cli.evaluate import labels_of, read_scores
from pateval.cli.options import Files, Given
from pateval.cli.output import tell, tell_all
from pateval.cli.plot import Limits
from pateval.evaluation.explanation import explain_recording
from pateval.evaluation.files import ScoredFiles
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Sample, with_predictions
from pateval.io import Reading, ScoredSeries, TableError, open_table
from pateval.io.plan import make_plan
from pateval.io.units import read_jobs
from pateval.leaderboards import Leaderboard, leaderboard
from pateval.output.explanation import Explanation
from pateval.plots.curves import steps_of
from pateval.time.clocks import length_order
from pateval.time.timelines import Recording, leave_out_for_all

_MAX_PANELS = 8
_RANKED_BY = "pate_ap"


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line: the kind of figure, files, and options by their names."""

    kind: str
    files: Files
    columns: Given
    parameters: Given
    only: str | None
    only_series: str | None
    value: str | None
    limits: Limits | None
    log: bool
    test: str
    control: str | None
    workers: int | None

    def buffers(self, default: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Early buffers and delays as given, each the default where it was not."""
        early, delay = (self.parameters[name] if options.was_given(name) else default for name in ("early", "delay"))
        return early, delay

    def read(self, *, most: int, **changes: Any) -> Drawable:
        """Read the detectors of one figure, no more than it can show; ``changes`` are to what is computed."""
        given = self.parameters | {"metrics": "pate_f1", "chance": 0} | changes
        if not isinstance(given["early"], int):
            self._require_one_unit(tuple(given["early"]), tuple(given["delay"]))
        measures = Measures.of(**given)
        read = read_scores(self.files, self.columns, measures)
        chosen = read.only(options.split(self.only), None if self.only_series is None else [self.only_series])
        data = _side_by_side(chosen, self, measures)
        names = list(data.recordings)
        if len(names) > most:
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise click.UsageError(
                f"'{self.kind}' draws {'one detector' if most == 1 else f'at most {most} detectors'}, and there are "
                f"{len(names)} ({shown}); choose with --only or --score"
            )
        if not data.first.counted(data.labels).any():
            what = "no anomaly" if not data.labels.any() else "no anomaly in the steps that count"
            raise click.UsageError(f"{self.files[0]} holds {what}: nothing to draw")
        return data

    def _require_one_unit(self, *buffers: tuple[Any, ...]) -> None:
        """Refuse buffers of which one is counted in steps and the other measured in time."""
        in_time = [any(isinstance(length, str) for length in lengths) for lengths in buffers]
        in_steps = [any(lengths) and not is_time for lengths, is_time in zip(buffers, in_time, strict=True)]
        if any(in_time) and any(in_steps):
            raise click.UsageError(
                f"'{self.kind}' draws both buffers in steps or both as durations; give --early and --delay"
            )

    def board(self, metrics: list[str] | None) -> Leaderboard:
        """The leaderboard in a folder, or that of score files."""
        if len(self.files) == 1 and (Path(self.files[0]) / "run.json").is_file():
            return Leaderboard.load(self.files[0])
        given = self.parameters | {"metrics": metrics, "pooled": False, "workers": self.workers}
        given |= {"control": self.control, "chance": 0, "event_draws": 0}
        board = leaderboard(list(self.files), **self.columns, **given, progress=True)
        tell_all((*board.notes, *board.failures))
        return board


@dataclass(frozen=True)
class Drawable:
    """Some detectors on the same steps, by name and run; a step that is left out for one of them is so for all."""

    request: Request
    measures: Measures
    recordings: dict[str, Recording]
    values: npt.NDArray[Any] | None  # the series itself, where asked for
    axis: dict[str, Any]  # ``times`` and ``time_unit`` of the horizontal axis, where the files have times

    @property
    def first(self) -> Recording:
        """The first detector; labels, series, clock and ignored steps are those of all."""
        return next(iter(self.recordings.values()))

    @property
    def labels(self) -> npt.NDArray[Any]:
        """Labels of all steps."""
        return self.first.labels

    @property
    def scores(self) -> dict[str, npt.NDArray[Any]]:
        """Scores by detector."""
        return {name: recording.scores for name, recording in self.recordings.items() if recording.scores is not None}

    @property
    def drawn_steps(self) -> dict[str, Any]:
        """Which series the steps belong to, and which are left out, as figures of scores take it."""
        return {"series": self.first.series_of_steps, "ignore": self.first.is_left_out}

    @property
    def computed_steps(self) -> dict[str, Any]:
        """Which steps count, which series they belong to and when they were, as figures of curves take it.

        Steps without a score are not among the ignored ones: a detector may have hardly any on a series, and no value
        there, which those who compute must know.
        """
        counted = {"ignore": self.first.ignore, "missing": self.first.missing, "pooled": self.measures.pooled}
        return steps_of(self.first) | counted

    @property
    def buffers(self) -> dict[str, Any]:
        """Both buffers."""
        return {"early": self.measures.early, "delay": self.measures.delay}

    def thresholds(self, *, quiet: bool = False) -> dict[str, float]:
        """The threshold of each detector, said on standard error; none where series have thresholds of their own."""
        thresholds, lines = {}, []
        for name, recording in self.recordings.items():
            own = self.measures.of_detector(name)
            (metric,) = own.metrics
            rule = own.rule(metric)
            (known,) = with_predictions([recording])
            levels: set[float | None] = {1.0}
            if known.predictions is None:
                parts = [known] if own.pooled else known.parts()
                levels = {Sample(part, own).predicted(metric).level for part in parts} - {None}
            if len(levels) != 1:
                lines.append(f"{name}: each series has a threshold of its own ({rule.description}); none is drawn")
                continue
            level = float(levels.pop() or 0.0)
            lines.append(f"{name}: predictions where score {rule.sign} {level:.6g} ({rule.description})")
            thresholds[name] = float(np.nextafter(level, np.inf)) if rule.strict else level
        tell_all(() if quiet else lines)
        return thresholds

    def explanations(self) -> dict[str, Explanation]:
        """What each detector's steps count as."""
        explanations = {}
        for name, recording in self.recordings.items():
            explanations[name] = explain_recording(recording, self.measures.of_detector(name))
        tell_all(f"{name}: predictions where {one.predictions_from}" for name, one in explanations.items())
        return explanations

    def limits(self) -> tuple[int, int] | None:
        """The steps to draw; all of them for None."""
        wanted, file, steps = self.request.limits, self.request.files[0], len(self.labels)
        if wanted is None:
            return None
        if not wanted.in_time:
            if wanted.first >= steps:
                raise click.UsageError(f"--range begins at step {wanted.first}, and there are {steps} steps")
            return wanted.first, min(wanted.stop, steps)
        times = self.axis.get("times")
        if times is None or times.dtype.kind != "M":
            raise click.UsageError(f"{file} has no dates; give --range in steps, as in 1000..2000")
        moments = times.view("int64")
        if self.first.starts.size > 1 and (moments[1:] <= moments[:-1]).any():
            raise click.UsageError(
                "--range by dates needs series that do not overlap in time; choose one with --only-series"
            )
        first, stop = (int(place) for place in moments.searchsorted([wanted.first, wanted.stop]))
        if first == stop:
            ends = [str(time.astype("datetime64[s]")).removesuffix("T00:00:00") for time in (times[0], times[-1])]
            raise click.UsageError(
                f"no step lies in the --range given; the times of {file} go from {ends[0]} to {ends[1]}"
            )
        return first, stop


def _side_by_side(read: ScoredFiles, request: Request, measures: Measures) -> Drawable:
    """Put detectors side by side; they must lie on the same series with the same labels."""
    titles = {(item.detector, item.run): item.title for _, item, _ in read.parts}
    by_title = {titles[key]: recording for key, recording in read.by_run().items()}
    first, *others = by_title
    for other in others:
        for part, expected in zip(by_title[other].parts(), by_title[first].parts(), strict=False):
            if part.names != expected.names or not np.array_equal(part.labels, expected.labels):
                raise TableError(
                    f"detectors {first!r} and {other!r} do not have the same labels on series {expected.names[0]!r}; "
                    "draw one at a time with --only"
                )
        if by_title[other].starts.size != by_title[first].starts.size:
            raise TableError(f"detectors {first!r} and {other!r} are not on the same series; draw one with --only")
    recordings = dict(zip(by_title, leave_out_for_all(list(by_title.values())), strict=True))
    counts = recordings[first].counts
    if without_score := counts.recorded - counts.ignored - counts.evaluated:
        of_all = f"{without_score:,} of {counts.recorded:,} steps"
        tell(f"{of_all} have no score: they are left out{'' if len(by_title) == 1 else ', for all detectors'}")
    detector = read.parts[0][1].detector
    items = [item for _, item, _ in read.parts if item.detector == detector]
    values = None if request.value is None else _column(items, request.columns, request.value)
    return Drawable(request, measures, recordings, values, _axis([item for item in items if item.title == first]))


def _column(items: Sequence[ScoredSeries], columns: Given, column: str) -> npt.NDArray[Any]:
    """A further column of the first file, row by row like the scores of a detector."""
    where = items[0].where
    known = open_table(where).kinds()
    if column not in known:
        raise TableError(f"{where}: there is no column {column!r}; its columns are {', '.join(known)}")
    plan = make_plan([where], Reading(**columns | {"score": [column]}))
    parts = {(item.series, item.run): item.scores for item in read_jobs(plan)}
    if len(parts) == 1:  # one series, which may have another name when it is read for this column
        return next(iter(parts.values()))
    return np.concatenate([parts[item.series, item.run] for item in items])


def _axis(items: Sequence[ScoredSeries]) -> dict[str, Any]:
    """Times as an axis draws them: dates, or numbers as they stand where all are in the same unit."""
    if any(item.times is None for item in items) or len({(item.has_dates, item.time_unit) for item in items}) > 1:
        return {}
    times = np.concatenate([item.times for item in items])
    if items[0].has_dates:
        return {"times": times.view("datetime64[ns]")}
    return {"times": times, "time_unit": items[0].time_unit}


def series(request: Request) -> Any:
    """Scores over time."""
    data = request.read(most=_MAX_PANELS)
    more: dict[str, Any] = data.buffers | data.drawn_steps | data.axis | {"max_gap": data.measures.max_gap}
    thresholds, limits = data.thresholds(), data.limits()
    return plots.series(data.labels, data.scores, values=data.values, threshold=thresholds, limits=limits, **more)


def categories(request: Request) -> Any:
    """What each step counts as."""
    data = request.read(most=1)
    (explanation,) = data.explanations().values()
    return plots.categories(explanation, limits=data.limits(), **data.axis)


def precision_recall(request: Request) -> Any:
    """Curves of several detectors, or of one."""
    data = request.read(most=_MAX_PANELS)
    curves = plots.pate_curves(data.labels, data.scores, **data.buffers, **data.computed_steps)
    thresholds = data.thresholds()
    if len(curves) > 1:
        return plots.precision_recall(curves, threshold=thresholds)
    ((name, curve),) = curves.items()
    return plots.precision_recall(curve, threshold=thresholds.get(name))


def buffers(request: Request) -> Any:
    """PATE over both buffers."""
    early, delay = request.buffers(tuple(range(0, 101, 10)))
    data = request.read(most=1, early=early, delay=delay)
    (scores,) = data.scores.values()
    values = plots.pate_by_buffers(data.labels, scores, early=early, delay=delay, **data.computed_steps)
    return plots.buffer_heat_map(values, early=early, delay=delay)


def buffer_size(request: Request) -> Any:
    """PATE against early = delay."""
    early, delay = request.buffers(tuple(range(0, 201, 10)))
    if options.was_given("early") and options.was_given("delay") and early != delay:
        raise click.UsageError("'buffer-size' draws early = delay; give both the same set, or only one")
    sizes = sorted(set(delay if options.was_given("delay") else early), key=length_order)
    if len(sizes) < 2:
        raise click.UsageError("'buffer-size' needs several sizes, such as --early 0..200 or --early 0min,30min,1h")
    data = request.read(most=_MAX_PANELS, early=sizes, delay=sizes)
    values = plots.pate_by_sizes(data.labels, data.scores, sizes=sizes, **data.computed_steps)
    random = next((name for name in values if name.lower() == "random"), None)
    return plots.buffer_sizes(sizes, values, random=random)


def lengths(request: Request) -> Any:
    """Weights against the length of events."""
    (explanation,) = request.read(most=1).explanations().values()
    return plots.weights_by_length(explanation)


def distribution(request: Request) -> Any:
    """Scores inside and outside events."""
    data = request.read(most=1, early=0, delay=0, max_gap=None)
    ((name, scores),) = data.scores.items()
    if any(map(options.was_given, ("early", "delay", "max_gap"))):
        tell("scores are counted inside and outside events: --early, --delay and --max-gap change nothing")
    more: dict[str, Any] = {"pooled": data.measures.pooled, "log": request.log, "missing": data.first.missing}
    at = data.thresholds().get(name)
    return plots.score_distribution(data.labels, scores, threshold=at, **more, **data.drawn_steps)


def comparison(request: Request) -> Any:
    """Two detectors on the same events."""
    data = request.read(most=2)
    if len(data.scores) != 2:
        raise click.UsageError("'comparison' draws two detectors; there is one")
    explanations, thresholds = data.explanations(), data.thresholds(quiet=True)
    return plots.comparison(explanations, scores=data.scores, threshold=thresholds, limits=data.limits(), **data.axis)


def critical_difference(request: Request) -> Any:
    """Mean ranks, and who cannot be told apart."""
    wanted = request.parameters["metrics"]
    if wanted and len(wanted) > 1:
        raise click.UsageError("'critical-difference' draws one metric; name one with --metrics")
    board = request.board(wanted or [_RANKED_BY])
    tests = board.significance(wanted[0] if wanted else None, control=request.control)
    return plots.critical_difference(tests, test=request.test)


def ranks(request: Request) -> Any:
    """Mean ranks under all metrics."""
    wanted = request.parameters["metrics"]
    return plots.rank_heat_map(request.board(wanted), metrics=wanted)


def audit(request: Request) -> Any:
    """What worthless detectors get on the labels."""
    needs_times = Measures.of(**request.parameters | {"chance": 0}).needs_times
    read = labels_of(request.files, request.columns, needs_times)
    judged = audit_labels(**options.chosen(request.parameters, "metrics early delay window max_gap"), **read.steps)
    tell(judged.summary())
    return plots.audit_chart(judged)


def frontier(request: Request) -> Any:
    """What each threshold finds and costs in false alarms."""
    from pateval.alarms.frontier import frontier_of
    from pateval.alarms.matching import Policy
    from pateval.alarms.scored import read_scored_steps

    early, delay = request.buffers((0,))
    if len(early) != 1 or len(delay) != 1:
        raise TableError("a frontier has one --early and one --delay")
    reading, policy = Reading(**request.columns), Policy(early[0], delay[0])
    on_clock = options.chosen(request.parameters, "max_gap missing")
    detectors, notes = read_scored_steps(request.files, None, reading, policy, **on_clock)
    tell_all(notes)
    only = options.split(request.only)
    wanted = [steps for steps in detectors if only is None or steps.name in only]
    if len(wanted) != 1:
        raise TableError(f"a frontier is of one detector; {len(wanted)} are there: choose one with --only NAME")
    rule, _, budget = str(request.parameters["threshold"]).partition(":")
    return plots.frontier(frontier_of(wanted[0], [budget] if rule == "false-alarms" else []))
