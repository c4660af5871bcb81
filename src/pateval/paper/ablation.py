"""How much the size of the buffers matters: PATE at every size from 0 to 200, early = delay, and the ranks it gives."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.kernels.coarse import CoarseScoresWarning
from pateval.leaderboards import statistics as stats
from pateval.paper import paper_tables as paper
from pateval.paper.document import (
    ADDED,
    DIFFERS,
    OPEN,
    REPRODUCES,
    ExperimentSettings,
    Figure,
    MissingInputError,
    Report,
    ReportTable,
    Verdict,
)
from pateval.paper.score_folders import Scored, datasets_in, read_runs, score_folder
from pateval.pate.sizes import pate_at_sizes
from pateval.validation.arrays import BoolArray

SIZES = tuple(range(201))
RANDOM = "random"
LEADERS = ("Transformer", "LSTM")
SPIKY = ("AnomalyTrans", "DCDetector")
EXTRA = ("SMAP",)  # not in the paper's mean
_IN_PAGE = tuple(range(0, 201, 25))

Curve = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ablation:
    """PATE against the size of the buffers.

    Attributes
    ----------
    curves : dict
        By data set, then detector (random scores among them): PATE at each of `SIZES`, mean over runs or draws.
    runs : dict
        By data set and detector: how many runs or draws.
    averaged : tuple of str
        The data sets of the paper that the mean runs over.
    missing : tuple of str
        A sentence for each data set that is not here.
    """

    curves: dict[str, dict[str, Curve]]
    runs: dict[tuple[str, str], int]
    averaged: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def mean(self) -> dict[str, Curve]:
        """By detector: PATE at each size, mean over the data sets of the paper at hand."""
        return {
            name: np.mean([self.curves[dataset][name] for dataset in self.averaged], axis=0)
            for name in (*paper.DETECTORS, RANDOM)
        }

    @property
    def ranks(self) -> dict[str, Curve]:
        """By detector: rank of the mean at each size, 1 the highest; random scores are ranked too."""
        means = self.mean
        ordered = stats.rank_table(np.array(list(means.values())).T).per_series
        return dict(zip(means, ordered.T, strict=True))

    def leaders(self) -> list[frozenset[str]]:
        """The two detectors with the highest mean at each size."""
        means = self.mean
        names = list(means)
        order = np.argsort(-np.array([means[name] for name in names]), axis=0, kind="stable")[:2]
        return [frozenset(names[place] for place in column) for column in order.T]

    def below_random(self, dataset: str | None, detector: str) -> BoolArray:
        """At which sizes a detector lies below random scores: on a data set, or in the mean."""
        curves = self.mean if dataset is None else self.curves[dataset]
        return curves[detector] < curves[RANDOM]


def compute(settings: ExperimentSettings) -> Ablation:
    """Evaluate every run in the score files at every size."""
    folder = score_folder(settings, "ablation")
    present = [name for name in (*paper.DATASETS, *EXTRA) if name in datasets_in(folder)]
    curves: dict[str, dict[str, Curve]] = {}
    runs: dict[tuple[str, str], int] = {}
    missing = [f"{name}: there are no score files." for name in paper.DATASETS if name not in present]
    for dataset in present:
        scored = read_runs(folder, dataset)
        if absent := [detector for detector in paper.DETECTORS if detector not in scored]:
            missing.append(f"{dataset}: there are no score files of {', '.join(absent)}.")
            continue
        curves[dataset] = {}
        for detector, all_runs in scored.items():
            settings.tell(f"{dataset}: {detector}, {len(SIZES)} sizes, {len(all_runs)} runs")
            curves[dataset][detector] = np.mean([_curve(run.labels, run.scores) for run in all_runs], axis=0)
            runs[dataset, detector] = len(all_runs)
        settings.tell(f"{dataset}: random scores, {settings.seeds} draws")
        curves[dataset][RANDOM] = _random(scored, settings.seeds)
        runs[dataset, RANDOM] = settings.seeds
    averaged = tuple(name for name in paper.DATASETS if name in curves)
    if not averaged:
        raise MissingInputError(
            f"ablation needs score files of all five detectors on one of {', '.join(paper.DATASETS)} at least: "
            f"{' '.join(missing).rstrip('.')}"
        )
    return Ablation(curves, runs, averaged, tuple(missing))


def _curve(labels: BoolArray, scores: npt.NDArray[np.float64]) -> Curve:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        return pate_at_sizes(labels, scores, SIZES)


def _random(scored: dict[str, list[Scored]], draws: int) -> Curve:
    """Uniform scores on the labels of the detector that has most steps."""
    labels = max((runs[0].labels for runs in scored.values()), key=len)
    return np.mean([_curve(labels, np.random.default_rng(seed).random(labels.size)) for seed in range(draws)], axis=0)


def report(found: Ablation) -> Report:
    """Curves, ranks, and where detectors lie below random scores."""
    leading = sum(pair == set(LEADERS) for pair in found.leaders())
    below = {name: found.below_random(None, name) for name in SPIKY}
    return Report(
        "The size of the buffers",
        f"{' and '.join(LEADERS)} lead at {leading} of {len(SIZES)} buffer sizes; "
        + ", ".join(f"{name} lies below random scores at {_sizes(marked)}" for name, marked in below.items())
        + ".",
        [
            (
                "PATE with early = delay at every size from 0 to 200, series laid end to end as in the paper, mean "
                f"over {' and '.join(found.averaged)}"
                + (f"; {', '.join(_extra(found))} apart, since the paper has none" if _extra(found) else "")
                + f". Runs: {_runs(found)}. Random scores are the mean of "
                f"{next(iter(found.runs[name, RANDOM] for name in found.averaged))} draws on the same labels."
            ),
            (
                "What to see: every curve rises with the buffer, that of random scores too, since zones grow and more "
                "of what lies anywhere counts. So a value means little without its buffer and its random row; the "
                "order hardly changes."
            ),
        ],
        tables=_tables(found),
        figures=[
            Figure(
                "sizes",
                f"Mean PATE over {' and '.join(found.averaged)} against the buffer size. Shaded: below random "
                "scores; crosses mark detectors there.",
                lambda: draw(found, None),
            ),
            Figure("ranks", "Ranks of the mean at each buffer size; 1 is the highest PATE.", lambda: draw_ranks(found)),
            *(
                Figure(
                    f"sizes-{name.lower()}",
                    f"{name}: PATE against the buffer size.",
                    lambda name=name: draw(found, name),  # type: ignore[misc]  # mypy infers no type for a default
                )
                for name in found.curves
            ),
        ],
        verdicts=_verdicts(found),
    )


def _verdicts(found: Ablation) -> list[Verdict]:
    leaders = found.leaders()
    leading = sum(pair == set(LEADERS) for pair in leaders)
    changes = _rank_changes(found)
    verdicts = [
        Verdict(
            f"{' and '.join(LEADERS)} lead whatever the buffer size",
            "at all sizes",
            f"at {leading} of {len(SIZES)} sizes",
            REPRODUCES if leading == len(SIZES) else DIFFERS,
            f"Mean over {' and '.join(found.averaged)}, every size from 0 to 200."
            + ("" if leading == len(SIZES) else " Others lead at " + _sizes(_not_leading(leaders)) + "."),
        ),
        Verdict(
            "order of all six, random scores among them, across sizes",
            "not tabulated",
            "the same at all sizes" if not changes else f"two or more change places at {len(changes)} sizes",
            ADDED,
            "Ranked by their mean."
            if not changes
            else "At " + "; ".join(f"{size} ({who})" for size, who in changes[:6]) + ".",
        ),
    ]
    for detector in SPIKY:
        places = "; ".join(f"{dataset}: {_sizes(found.below_random(dataset, detector))}" for dataset in found.averaged)
        verdicts.append(
            Verdict(
                f"{detector} below random scores",
                "no such row",
                f"in the mean at {_sizes(found.below_random(None, detector))}",
                ADDED,
                f"By data set: {places}.",
            )
        )
    verdicts += [Verdict("what is not here", "-", "-", OPEN, sentence) for sentence in found.missing]
    return verdicts


def _not_leading(leaders: list[frozenset[str]]) -> BoolArray:
    return np.array([pair != set(LEADERS) for pair in leaders])


def _rank_changes(found: Ablation) -> list[tuple[int, str]]:
    """Sizes at which a rank differs from that of the size before, and whose."""
    ranks = found.ranks
    names = list(ranks)
    table = np.array([ranks[name] for name in names])
    return [
        (size, " and ".join(names[row] for row in np.flatnonzero(table[:, size] != table[:, size - 1])))
        for size in SIZES[1:]
        if (table[:, size] != table[:, size - 1]).any()
    ]


def _tables(found: Ablation) -> list[ReportTable]:
    names = (*paper.DETECTORS, RANDOM)
    means, ranks = found.mean, found.ranks
    marked = [
        [f"{means[name][size]:.3f}" + ("*" if means[name][size] < means[RANDOM][size] else "") for name in names]
        for size in _IN_PAGE
    ]
    return [
        ReportTable(
            "mean",
            f"Mean PATE over {' and '.join(found.averaged)} (* below random scores)",
            ["buffer size", *names],
            [[size, *row] for size, row in zip(_IN_PAGE, marked, strict=True)],
            in_csv=False,
        ),
        ReportTable(
            "ranks",
            "Ranks of the mean",
            ["buffer size", *names],
            [[size, *(float(ranks[name][size]) for name in names)] for size in SIZES],
            decimals=1,
            in_page=False,
        ),
        ReportTable(
            "below-random",
            "Sizes at which a detector lies below random scores",
            ["data set", *paper.DETECTORS],
            [
                ["mean", *(_sizes(found.below_random(None, name)) for name in paper.DETECTORS)],
                *(
                    [dataset, *(_sizes(found.below_random(dataset, name)) for name in paper.DETECTORS)]
                    for dataset in found.curves
                ),
            ],
        ),
        ReportTable(
            "values",
            "All values",
            ["data set", "buffer size", *names],
            [
                [shown, size, *(float(curves[name][size]) for name in names)]
                for shown, curves in (("mean", means), *found.curves.items())
                for size in SIZES
            ],
            in_page=False,
        ),
    ]


def _sizes(marked: BoolArray) -> str:
    """Sizes in words.

    Examples
    --------
    >>> _sizes(np.array([True, True, False, True]))
    '0-1, 3'
    >>> _sizes(np.ones(201, dtype=bool)), _sizes(np.zeros(201, dtype=bool))
    ('all sizes', 'no size')
    """
    if marked.all():
        return "all sizes"
    places = np.flatnonzero(marked)
    if not places.size:
        return "no size"
    stretches = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return ", ".join(str(part[0]) if part.size == 1 else f"{part[0]}-{part[-1]}" for part in stretches)


def _extra(found: Ablation) -> list[str]:
    return [name for name in found.curves if name not in found.averaged]


def _runs(found: Ablation) -> str:
    counts = {count for (_, name), count in found.runs.items() if name != RANDOM}
    return "one seed each" if counts == {1} else f"{min(counts)} to {max(counts)} seeds, averaged"


def draw(found: Ablation, dataset: str | None) -> Any:
    """Curves of all detectors; crosses where one lies below random scores."""
    from pateval import plots
    from pateval.plots.styling import line_style

    curves = found.mean if dataset is None else found.curves[dataset]
    shown = f"mean PATE over {' and '.join(found.averaged)}" if dataset is None else f"PATE on {dataset}"
    ax = plots.buffer_sizes(SIZES, curves, random=RANDOM, y_label=shown)
    for place, detector in enumerate(paper.DETECTORS):
        places = [size for size in _IN_PAGE if found.below_random(dataset, detector)[size]]
        ax.plot(
            places,
            [curves[detector][size] for size in places],
            linestyle="none",
            marker="x",
            markersize=7,
            markeredgewidth=1.4,
            color=line_style(place).colour,
            zorder=4,
        )
    return ax


def draw_ranks(found: Ablation) -> Any:
    """Rank of every detector at every size."""
    from pateval import plots

    ax = plots.line_chart(
        SIZES,
        found.ranks,
        x_label="buffer size, early = delay (steps)",
        y_label="rank of the mean (1 is the highest PATE)",
    )
    ax.invert_yaxis()
    return ax
