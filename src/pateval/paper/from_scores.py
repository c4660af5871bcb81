"""What follows from scores of trained detectors: who leads, under each metric and buffer size, and what they look like.

Mean ranks are those of the five detectors on the printed table, and on our scores; PATE is computed at every buffer
size from 0 to 200; and segments are what the detectors say around a few events, under their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import rankdata

from pateval import plots
from pateval.labels.events import count_inside, find_events
from pateval.labels.events import runs as runs_of
from pateval.leaderboards.significance import Significance, compare_detectors
from pateval.metrics import point_adjusted
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, MissingInputError, PageTable, Report, Row, Verdict
from pateval.paper.inputs import Scored, required_runs, score_runs, starts_of
from pateval.pate.score import pate, pate_at_sizes
from pateval.plots.styling import line_style
from pateval.validation.arrays import BoolArray, FloatArray

# Rules for ties, as scipy calls them.
TIES = {"mean": "average", "lowest": "min", "highest": "max", "dense": "dense"}
SIZES = tuple(range(201))
RANDOM = "random"
LEADERS = ("Transformer", "LSTM")
SPIKY = ("AnomalyTrans", "DCDetector")
_EXTRA = ("SMAP",)  # not in the paper's mean
_IN_PAGE = tuple(range(0, 201, 25))

# Segments: the paper draws SWaT and SMD; SWaT is not public, and MSL stands in for it.
DRAWN = ("SWaT", "SMD", "MSL")
DRAWN_IN_PAPER = ("SWaT", "SMD")
SEGMENT_STEPS = 3000
STRETCHES = 2
_LONG = 30  # steps: shorter events cannot be seen in the figure
_CUT = 4.0  # times the threshold
_INSIDE = "share of alarms in events"

# By detector, random scores among them: PATE at each of `SIZES`.
Curves = dict[str, FloatArray]
Stretches = list[tuple[int, int]]


def rank_test(metric: str, table: Sequence[Sequence[float]]) -> Significance:
    """Mean ranks of a table of data sets by detectors, with Nemenyi's critical difference and groups."""
    values = np.array(table)
    order = np.argsort(rankdata(-values, axis=1).mean(axis=0), kind="stable")
    names = [paper.DETECTORS[place] for place in order]
    return compare_detectors(metric, names, values[:, order], higher_is_better=True)


def mean_ranks(test: Significance) -> dict[str, float]:
    """Mean ranks by detector, the first rank first."""
    return dict(zip(test.detectors, test.mean_ranks, strict=True))


def ranks(settings: ExperimentSettings) -> Report:
    """Rank the printed table, and our scores where there are any."""
    printed = {metric: rank_test(metric, paper.impact_table(metric)) for metric in paper.IMPACT_VALUES}
    values = _our_values(settings)
    ours = {metric: rank_test(metric, [list(row.values()) for row in rows.values()]) for metric, rows in values.items()}
    datasets = list(next(iter(values.values()), {}))
    rows = list(_rank_rows(printed, stated=True))
    tables = [PageTable("printed", "Mean ranks from the printed table", rows, decimals=3)]
    caption = "Mean ranks from the printed table; the metric decides who leads."
    figures = [Figure("ranks", caption, partial(draw_mean_ranks, printed))]
    for metric in ("PATE", "PA-F1"):
        diagram = partial(plots.critical_difference, printed[metric], test="nemenyi")
        figures.append(Figure(f"critical-difference-{metric.lower()}", f"{metric}, printed table.", diagram))
    if ours:
        caption = f"Mean ranks from our scores on {', '.join(datasets)}"
        tables += [
            PageTable("ours", caption, list(_rank_rows(ours, stated=False)), decimals=3),
            PageTable.of("our-values", "The values behind our ranks", values, "metric", "data set", decimals=3),
        ]
        figures.append(Figure("ranks-ours", f"{caption}.", partial(draw_mean_ranks, ours)))
    verdicts = [_rank_verdict(printed[metric]) for metric in paper.MEAN_RANKS]
    return Report(
        "ranks",
        {"datasets": datasets, "verdicts": verdicts},
        tables,
        figures,
        [*verdicts, Verdict("told_apart", None, {"tests": printed})],
    )


def _our_values(settings: ExperimentSettings) -> dict[str, dict[str, dict[str, float]]]:
    """By metric, data set and detector: the median over runs, where all five and their thresholds are there."""
    values: dict[str, dict[str, dict[str, float]]] = {metric: {} for metric in paper.IMPACT_VALUES}
    for dataset, scored in score_runs(settings):
        every_run = [run for runs in scored.values() for run in runs]
        if len(scored) < len(paper.DETECTORS) or any(run.flagged is None for run in every_run):
            settings.tell(f"{dataset}: not all five detectors with their thresholds are here; left out")
            continue
        settings.tell(f"scoring {dataset}")
        by_run = {detector: [run.measured() for run in runs] for detector, runs in scored.items()}
        for metric, by_dataset in values.items():
            by_dataset[dataset] = {name: median(run[metric] for run in by_run[name]) for name in paper.DETECTORS}
    return {metric: by_dataset for metric, by_dataset in values.items() if by_dataset}


def _rank_verdict(test: Significance) -> Verdict:
    """Whether the mean ranks that the text states follow from the table, to both decimals, by any rule for ties."""
    table = -np.array(paper.impact_table(test.metric))
    places = [paper.DETECTORS.index(name) for name in LEADERS]
    by_rule = {
        rule: tuple(rankdata(table, method=method, axis=1).mean(axis=0)[places].tolist())
        for rule, method in TIES.items()
    }
    stated, ranks = paper.MEAN_RANKS[test.metric], mean_ranks(test)
    cells = [Cell(rank, ranks[detector], "rounds") for detector, rank in stated.items()]
    return Verdict("stated", cells, {"metric": test.metric, "stated": stated, "ranks": ranks, "by_rule": by_rule})


def _rank_rows(tests: dict[str, Significance], *, stated: bool) -> Iterator[Row]:
    for metric, test in tests.items():
        mine = {detector: mean_ranks(test)[detector] for detector in paper.DETECTORS}
        yield {"metric": metric, "ranks": "from the table" if stated else "from our values", **mine}
        if stated and metric in paper.MEAN_RANKS:
            given = {detector: paper.MEAN_RANKS[metric].get(detector) for detector in paper.DETECTORS}
            away = {name: None if value is None else mine[name] - value for name, value in given.items()}
            yield {"metric": metric, "ranks": "stated in the text", **given}
            yield {"metric": metric, "ranks": "difference", **away}


def draw_mean_ranks(tests: dict[str, Significance]) -> Any:
    """Heat map of mean ranks: metrics by detectors."""
    return plots.heat_map(
        [[mean_ranks(test)[detector] for detector in paper.DETECTORS] for test in tests.values()],
        rows=list(tests),
        columns=list(paper.DETECTORS),
        value_label="mean rank (1 is best)",
        limits=(1, len(paper.DETECTORS)),
    )


def ablation(settings: ExperimentSettings) -> Report:
    """Evaluate every run in the score files at every buffer size, early = delay, and rank the means."""
    curves, counts, missing = _all_curves(settings)
    averaged = [name for name in paper.DATASETS if name in curves]
    if not averaged:
        raise MissingInputError(
            f"ablation needs score files of all five detectors on one of {', '.join(paper.DATASETS)} at least: "
            f"{' '.join(missing).rstrip('.')}"
        )
    mean = {name: np.mean([curves[dataset][name] for dataset in averaged], axis=0) for name in curves[averaged[0]]}
    curves = {"mean": mean, **curves}
    ranked = dict(zip(mean, rankdata(-np.array(list(mean.values())), axis=0), strict=True))
    # At each size the two with the highest mean, beside those that the paper names.
    order = np.argsort(-np.array(list(mean.values())), axis=0, kind="stable")[:2]
    leaders = [Cell(sorted(LEADERS), sorted(list(mean)[place] for place in two)) for two in order.T]
    one_seed = counts == {1}
    below = {
        name: {who: in_words(rows[who] < rows[RANDOM]) for who in paper.DETECTORS} for name, rows in curves.items()
    }
    of_the_spiky = {who: {name: by_detector[who] for name, by_detector in below.items()} for who in SPIKY}
    shown = f"Mean PATE over {' and '.join(averaged)}"
    crosses = "Shaded: below random scores; crosses mark detectors there."
    figures = [
        Figure("sizes", f"{shown} against the buffer size. {crosses}", partial(draw_sizes, mean, f"m{shown[1:]}")),
        Figure("ranks", "Ranks of the mean at each buffer size; 1 is the highest PATE.", partial(draw_ranks, ranked)),
    ]
    for name in list(curves)[1:]:
        drawn = partial(draw_sizes, curves[name], f"PATE on {name}")
        figures.append(Figure(f"sizes-{name.lower()}", f"{name}: PATE against the buffer size.", drawn))
    return Report(
        "ablation",
        {
            "leaders": LEADERS,
            "leading": sum(cell.agrees for cell in leaders),
            "sizes": len(SIZES),
            "below": {name: where["mean"] for name, where in of_the_spiky.items()},
            "averaged": averaged,
            "extra": [name for name in curves if name not in (*averaged, "mean")],
            "runs": sorted(counts),
            "draws": settings.seeds,
        },
        tables=_size_tables(curves, ranked, below, shown),
        figures=figures,
        verdicts=[
            Verdict("leaders", leaders, {"leaders": LEADERS, "averaged": averaged, "one_seed": one_seed}, one_seed),
            Verdict("order", None, {"changes": _changes(ranked)}),
            *(Verdict("below", None, {"detector": name, "below": where}) for name, where in of_the_spiky.items()),
        ],
        missing=missing,
    )


def _all_curves(settings: ExperimentSettings) -> tuple[dict[str, Curves], set[int], list[str]]:
    """By data set the curves of all detectors and of random scores; the numbers of runs; and what is missing."""
    on_datasets = required_runs("ablation", settings, (*paper.DATASETS, *_EXTRA))
    missing = [f"{name}: there are no score files." for name in paper.DATASETS if name not in on_datasets]
    curves: dict[str, Curves] = {}
    counts = set()
    for dataset, scored in on_datasets.items():
        if absent := [detector for detector in paper.DETECTORS if detector not in scored]:
            missing.append(f"{dataset}: there are no score files of {', '.join(absent)}.")
            continue
        curves[dataset] = {}
        for detector, runs in scored.items():
            settings.tell(f"{dataset}: {detector}, {len(SIZES)} sizes, {len(runs)} runs")
            curves[dataset][detector] = np.mean([pate_at_sizes(run.labels, run.scores, SIZES) for run in runs], axis=0)
            counts.add(len(runs))
        settings.tell(f"{dataset}: random scores, {settings.seeds} draws")
        labels = max((runs[0].labels for runs in scored.values()), key=len)
        draws = [np.random.default_rng(seed).random(labels.size) for seed in range(settings.seeds)]
        curves[dataset][RANDOM] = np.mean([pate_at_sizes(labels, scores, SIZES) for scores in draws], axis=0)
    return curves, counts, missing


def _changes(ranked: Curves) -> list[str]:
    """Sizes at which a rank differs from that of the size before, and whose."""
    moved = {size: [name for name, ranks in ranked.items() if ranks[size] != ranks[size - 1]] for size in SIZES[1:]}
    return [f"{size} ({' and '.join(names)})" for size, names in moved.items() if names]


def _size_tables(
    curves: dict[str, Curves], ranked: Curves, below: dict[str, dict[str, str]], shown: str
) -> list[PageTable]:
    mean = curves["mean"]
    marked = {
        size: {name: f"{row[size]:.3f}" + "*" * bool(row[size] < mean[RANDOM][size]) for name, row in mean.items()}
        for size in _IN_PAGE
    }

    def by_size(rows: Curves) -> dict[int, Row]:
        return {size: {name: float(row[size]) for name, row in rows.items()} for size in SIZES}

    values = {name: by_size(rows) for name, rows in curves.items()}
    return [
        PageTable.of("mean", f"{shown} (* below random scores)", marked, "buffer size", in_csv=False),
        PageTable.of("ranks", "Ranks of the mean", by_size(ranked), "buffer size", in_page=False),
        PageTable.of("below-random", "Sizes at which a detector lies below random scores", below, "data set"),
        PageTable.of("values", "All values", values, "data set", "buffer size", in_page=False),
    ]


def in_words(marked: BoolArray) -> str:
    """Sizes in words.

    Examples
    --------
    >>> in_words(np.array([True, True, False, True]))
    '0-1, 3'
    >>> in_words(np.ones(201, dtype=bool)), in_words(np.zeros(201, dtype=bool))
    ('all sizes', 'no size')
    """
    if marked.all():
        return "all sizes"
    starts, stops = runs_of(marked)
    stretches = zip(starts, stops - 1, strict=True)
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in stretches) or "no size"


def draw_sizes(curves: Curves, y_label: str) -> Any:
    """Curves of all detectors; crosses where one lies below random scores."""
    ax = plots.buffer_sizes(SIZES, curves, random=RANDOM, y_label=y_label)
    crosses: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 7, "markeredgewidth": 1.4, "zorder": 4}
    for place, detector in enumerate(paper.DETECTORS):
        places = [size for size in _IN_PAGE if curves[detector][size] < curves[RANDOM][size]]
        ax.plot(places, [curves[detector][size] for size in places], color=line_style(place).colour, **crosses)
    return ax


def draw_ranks(ranked: Curves) -> Any:
    """Rank of every detector at every size."""
    ax = plots.line_chart(
        SIZES, ranked, x_label="buffer size, early = delay (steps)", y_label="rank of the mean (1 is the highest PATE)"
    )
    ax.invert_yaxis()
    return ax


def segments(settings: ExperimentSettings) -> Report:
    """Choose the stretches with most events and look at them."""
    scored = {
        name: {detector: first for detector, (first, *_) in runs.items()}
        for name, runs in required_runs("segments", settings, DRAWN).items()
    }
    limits = {name: choose_stretches(_shortest(detectors)) for name, detectors in scored.items()}
    rows = [_segment_row(run, limits[name]) for name, detectors in scored.items() for run in detectors.values()]
    inside = {name: {row["detector"]: row[_INSIDE] for row in rows if row["data set"] == name} for name in scored}
    drawn = [
        {"data set": name, "first step": start, "last step": stop - 1}
        for name, stretches in limits.items()
        for start, stop in stretches
    ]
    shown = "stretches of the scores of the five detectors"
    return Report(
        "segments",
        {"inside": inside, "length": SEGMENT_STEPS, "long": _LONG, "stretches": STRETCHES, "cut": _CUT},
        tables=[
            PageTable("segments", "The detectors in the stretches drawn", rows, decimals=3),
            PageTable("stretches", "The stretches", drawn),
        ],
        figures=[
            Figure(f"segments-{name.lower()}", f"{name}: {shown}.", partial(draw_segments, detectors, limits[name]))
            for name, detectors in scored.items()
        ],
        verdicts=[_segment_verdict(name, inside[name]) for name in scored],
        missing=[] if "SWaT" in scored else ["SWaT's stretch: the data are given out on request only"],
    )


def _shortest(detectors: dict[str, Scored]) -> Scored:
    """Detectors with other windows drop other tails: the stretches lie where all of them have scores."""
    return min(detectors.values(), key=lambda run: run.labels.size)


def choose_stretches(scored: Scored) -> Stretches:
    """The stretches that hold most whole events of at least 30 steps, one per series, in order of time.

    Each begins a tenth of its length before an event; among equals the first is taken.
    """
    edges = [*starts_of(scored.series).tolist(), scored.labels.size]
    candidates = []
    for low, high in pairwise(edges):
        events = find_events(scored.labels[low:high])
        starts, stops = (low + places[events.lengths >= _LONG] for places in (events.starts, events.stops))
        firsts = np.clip(starts - SEGMENT_STEPS // 10, low, max(low, high - SEGMENT_STEPS)).tolist()
        held = [np.count_nonzero((starts >= first) & (stops <= first + SEGMENT_STEPS)) for first in firsts]
        if any(held) and high - low >= SEGMENT_STEPS // 3:
            first = firsts[held.index(max(held))]
            candidates.append((-max(held), first, min(first + SEGMENT_STEPS, high)))
    return sorted((start, stop) for _, start, stop in sorted(candidates)[:STRETCHES])


def _segment_row(scored: Scored, stretches: Stretches) -> Row:
    """Values of a detector over the stretches drawn: alarms are runs of flagged steps."""
    steps = np.concatenate([np.arange(start, stop) for start, stop in stretches])
    pieces = np.repeat(np.arange(len(stretches)), [stop - start for start, stop in stretches])
    labels = scored.labels[steps]
    events = find_events(labels, starts_of(pieces))
    adjusted = share = length = inside = float("nan")
    touched = 0
    if scored.flagged is not None:
        flagged = scored.flagged[steps]
        alarms = find_events(flagged, starts_of(pieces))
        adjusted, share = point_adjusted(labels, flagged).f1, float(flagged[labels].mean())
        touched = int(np.count_nonzero(count_inside(flagged, events.starts, events.stops)))
        if len(alarms):
            length = float(alarms.lengths.mean())
            inside = float(np.mean(count_inside(labels, alarms.starts, alarms.stops) > 0))
    return {
        "data set": scored.dataset,
        "detector": scored.detector,
        "PATE": pate(labels, scored.scores[steps], early=paper.IMPACT_BUFFER, delay=paper.IMPACT_BUFFER, series=pieces),
        "PA-F1": adjusted,
        "events touched": touched,
        "events": len(events),
        "share of event steps flagged": share,
        "steps per alarm": length,
        _INSIDE: inside,
    }


def _segment_verdict(dataset: str, inside: dict[str, float]) -> Verdict:
    """Whether the alarms of the two spiky detectors miss events more often than those of each other detector."""
    cells = [
        Cell(share, inside[spiky], "below")
        for spiky in SPIKY
        for other, share in inside.items()
        if spiky in inside and other not in SPIKY
    ]
    drawn = dataset in DRAWN_IN_PAPER
    values = {"dataset": dataset, "inside": inside, "spiky": SPIKY, "drawn": drawn}
    return Verdict("aligned", cells if drawn else None, values, one_seed=True)


def draw_segments(detectors: dict[str, Scored], stretches: Stretches) -> Any:
    """Detectors by stretches; scores in units of the threshold, where there is a positive one."""
    first = _shortest(detectors)
    steps = first.labels.size
    scaled = {name: at for name, run in detectors.items() if (at := run.threshold) is not None and at > 0}
    return plots.segments(
        first.labels,
        {
            name: np.minimum(run.scores[:steps] / scaled[name], _CUT) if name in scaled else run.scores[:steps]
            for name, run in detectors.items()
        },
        limits=stretches,
        threshold=dict.fromkeys(scaled, 1.0),
        series=first.series,
    )
