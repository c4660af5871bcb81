"""The big table: five detectors under the paper's protocol, each run, printed value and difference in each cell.

Series are laid end to end as one, incomplete last windows are dropped, and predictions are the steps strictly above the
configured percentile of training and test scores together. `impact_page` turns the numbers into text and figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pateval.datasets import Series, data_root, join, load
from pateval.detectors import make
from pateval.detectors.presets import threshold_ratio
from pateval.io.collapse_rules import ZSCORE_CORRELATION
from pateval.io.score_files import training_verdicts
from pateval.paper import own_protocol
from pateval.paper import paper_tables as paper
from pateval.paper.chance import PAPER_METRICS, knowing_nothing
from pateval.paper.document import ExperimentSettings, MissingInputError, Report
from pateval.paper.impact_gaps import SUBSET_DATASET, Gap, find_gaps
from pateval.paper.impact_values import CLOSE, Values, measured
from pateval.paper.label_sets import labels_at_hand
from pateval.paper.own_protocol import OwnProtocol
from pateval.paper.score_folders import (
    EARLIER,
    HELD_OUT,
    Scored,
    datasets_in,
    protocol_folder,
    read_runs,
    score_folder,
)
from pateval.thresholds import quantile_threshold
from pateval.validation.arrays import BoolArray

DATASETS = ("SMD", "MSL", "SMAP", "SWaT", "PSM")
BASELINES = ("random", "constant", "squared z-score")
DRAWS = 20
# With 14 of 19 machines values spread about as far as with 19 of 28: 1/14 - 1/19 = .019, 1/19 - 1/28 = .017.
KEPT_MACHINES = 14
# From this rank correlation on, scores order the steps as the squared z-score does.
SAME_ORDER = ZSCORE_CORRELATION

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrainingRow:
    """One training: what its record says, and how much its scores are those of the squared z-score.

    Attributes
    ----------
    protocol, dataset, detector : str
        Which training; ``protocol`` is the folder of its score file.
    run : int
        The seed.
    verdict : str
        Sound, collapsed and why, not judged, or no record.
    correlation : float or None
        Rank correlation of the test scores with the squared z-score; None where the data are not at hand.
    """

    protocol: str
    dataset: str
    detector: str
    run: int
    verdict: str
    correlation: float | None

    @property
    def dead(self) -> bool:
        """Whether the record says so, or the scores order the steps as the squared z-score does."""
        return self.verdict.startswith("collapsed") or (self.correlation or 0.0) >= SAME_ORDER


@dataclass(frozen=True)
class Impact:
    """All runs, beside the printed table.

    Attributes
    ----------
    runs : tuple of Values
        The detectors.
    baselines : tuple of Values
        Random scores (mean over seeds), a constant, the squared z-score, on the same steps.
    whole : tuple of Values
        Random scores and a constant on whole label sets: SMD with 28 machines, PSM.
    subsets : dict
        By detector and metric: mean and standard deviation over subsets of SMD's machines, seed 0.
    gaps : tuple of Gap
        Cells of seed 0 further than .03 from the printed value.
    collapse : tuple of TrainingRow
        What is known about the training of every run, of all protocols.
    own : OwnProtocol
        The same detectors by our own protocol.
    machines : dict of str to int
        Series in the score files, by data set.
    missing : tuple of str
        A sentence for each thing that is not here.
    """

    runs: tuple[Values, ...]
    baselines: tuple[Values, ...]
    whole: tuple[Values, ...]
    subsets: dict[tuple[str, str], tuple[float, float]]
    gaps: tuple[Gap, ...]
    collapse: tuple[TrainingRow, ...]
    own: OwnProtocol
    machines: dict[str, int]
    missing: tuple[str, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets with score files."""
        return tuple(self.machines)

    def of(self, dataset: str, detector: str) -> list[Values]:
        """The runs of one detector on one data set, without the earlier training."""
        return [
            values
            for values in (*self.runs, *self.baselines)
            if (values.dataset, values.detector, values.earlier) == (dataset, detector, False)
        ]

    def within(self, dataset: str, run: int, *, earlier: bool = False) -> tuple[int, int]:
        """How many printed cells a run comes within .03 of, and how many it has."""
        away = [
            abs(difference)
            for values in self.runs
            if (values.dataset, values.run, values.earlier) == (dataset, run, earlier)
            for metric in paper.IMPACT_VALUES
            if (difference := values.difference(metric)) is not None
        ]
        return sum(value <= CLOSE for value in away), len(away)

    def seeds(self, dataset: str) -> list[int]:
        """Seeds of which at least one detector has a run."""
        return sorted({values.run for values in self.runs if values.dataset == dataset and not values.earlier})

    def has_earlier(self, dataset: str) -> bool:
        """Whether there is an earlier training on a data set."""
        return any(values.earlier and values.dataset == dataset for values in self.runs)


def compute(settings: ExperimentSettings) -> Impact:
    """Evaluate every run in the score files, trained first where the user asks for it."""
    if settings.train:
        from pateval.paper import impact_training

        impact_training.train(settings)
    folder = score_folder(settings, "impact")
    present = [name for name in DATASETS if name in datasets_in(folder)]
    if not present:
        raise MissingInputError(f"impact needs score files of {', '.join(DATASETS)}; the folder has none of them")
    before = protocol_folder(settings, EARLIER)
    before = None if before == folder else before
    runs: list[Values] = []
    baselines: list[Values] = []
    gaps: list[Gap] = []
    subsets: dict[tuple[str, str], tuple[float, float]] = {}
    machines: dict[str, int] = {}
    missing: list[str] = []
    trainings: list[TrainingRow] = []
    for dataset in present:
        scored = read_runs(folder, dataset)
        runs_before = {} if before is None else read_runs(before, dataset)
        found = [_evaluated(run, settings) for all_runs in scored.values() for run in all_runs]
        first = next(iter(scored.values()))[0]
        machines[dataset] = np.unique(first.series).size
        missing += _missing_runs(dataset, scored)
        plain = _squared_zscores(dataset, settings)
        baselines += _baselines(dataset, first, plain, settings, missing)
        if dataset == SUBSET_DATASET and machines[dataset] > KEPT_MACHINES:
            settings.tell(f"{dataset}: {DRAWS} subsets of {KEPT_MACHINES} machines")
            for detector, all_runs in scored.items():
                subsets |= _over_subsets(detector, all_runs[0])
        gaps += find_gaps(dataset, scored, found, found, subsets)
        earlier = [replace(_evaluated(run, settings), earlier=True) for [run] in runs_before.values()]
        gaps += find_gaps(dataset, runs_before, earlier, [*earlier, *found], subsets)
        runs += [*found, *earlier]
        for place in (folder, before, protocol_folder(settings, HELD_OUT)):
            if place is not None:
                trainings += _trainings(place, dataset, plain)
    whole, absent = labels_at_hand(("SMD", "PSM"), settings)
    missing += [sentence[0].upper() + sentence[1:] + "." for sentence in absent]
    own = own_protocol.compute(settings, DATASETS)
    missing += [*own.missing, *_missing_data(present, machines)]
    return Impact(
        tuple(runs),
        tuple(baselines),
        tuple(
            _chance(label_set.name, f"{kind}, all labels", kind, label_set.whole_windows(), settings.seeds)
            for label_set in whole
            for kind in ("random", "constant")
        ),
        subsets,
        tuple(gaps),
        tuple(trainings),
        own,
        machines,
        tuple(missing),
    )


def _evaluated(scored: Scored, settings: ExperimentSettings) -> Values:
    settings.tell(f"{scored.dataset}: {scored.detector}, seed {scored.run}")
    return Values(scored.dataset, scored.detector, scored.run, measured(scored.labels, scored.scores, scored.flagged))


def _squared_zscores(dataset: str, settings: ExperimentSettings) -> tuple[Series, Scores, Scores] | None:
    """The joined data with the squared z-scores of their test and training steps; None where they are not at hand."""
    try:
        series = join(load(dataset, root=settings.root or data_root()), dataset)
    except (ValueError, OSError):
        return None
    if series.train is None:
        return None
    detector = make("squared_zscore").fit(series.train)
    test, training = (np.asarray(detector.score(part), dtype=np.float64) for part in (series.test, series.train))
    return series, test, training


def _trainings(folder: Path, dataset: str, plain: tuple[Series, Scores, Scores] | None) -> list[TrainingRow]:
    """Verdicts on all runs of a data set in a folder of one protocol."""
    if not (folder / dataset).is_dir():
        return []
    shown = {name: detector for detector, name in paper.DETECTOR_NAMES.items()}
    scored = {(one.detector, one.run): one for runs in read_runs(folder, dataset).values() for one in runs}
    rows = []
    for row in training_verdicts([folder / dataset]):
        detector, run = shown.get(str(row["detector"]), str(row["detector"])), row["run"] or 0
        run_scores = scored.get((detector, run))
        correlation = None
        if (
            run_scores is not None
            and plain is not None
            and np.array_equal(plain[0].labels[: run_scores.labels.size], run_scores.labels)
        ):
            correlation = rank_correlation(run_scores.scores, plain[1][: run_scores.scores.size])
        rows.append(TrainingRow(folder.name, dataset, detector, run, str(row["verdict"]), correlation))
    return rows


def rank_correlation(first: Scores, second: Scores) -> float:
    """Rank correlation with equal values sharing the mean of their places.

    Examples
    --------
    >>> round(rank_correlation(np.array([1.0, 2.0, 2.0, 9.0]), np.array([0.0, 5.0, 5.0, 7.0])), 3)
    1.0
    """

    def places(values: Scores) -> Scores:
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[inverse]

    return float(np.corrcoef(places(first), places(second))[0, 1])


def report(found: Impact) -> Report:
    """The page of the big table."""
    from pateval.paper import impact_page

    return impact_page.report(found)


def _percent(dataset: str) -> float:
    return threshold_ratio("anomaly_transformer", dataset)


def _chance(dataset: str, shown: str, kind: str, labels: BoolArray, seeds: int) -> Values:
    draws = []
    for seed in range(1 if kind == "constant" else seeds):
        scores, flagged = knowing_nothing(kind, labels, np.zeros(1, dtype=np.intp), _percent(dataset), seed)
        draws.append(measured(labels, scores, flagged))
    return Values(dataset, shown, 0, {name: float(np.mean([draw[name] for draw in draws])) for name in PAPER_METRICS})


def _baselines(
    dataset: str,
    first: Scored,
    plain: tuple[Series, Scores, Scores] | None,
    settings: ExperimentSettings,
    missing: list[str],
) -> list[Values]:
    """Random, constant and squared z-score on the steps that the detectors were scored on."""
    settings.tell(f"{dataset}: baselines")
    found = [_chance(dataset, kind, kind, first.labels, settings.seeds) for kind in ("random", "constant")]
    if plain is None:
        missing.append(f"The squared z-score on {dataset} needs the data: name their folder with --root.")
        return found
    series, test, training = plain
    if not np.array_equal(series.labels[: first.labels.size], first.labels):
        missing.append(f"The squared z-score on {dataset}: the data at hand are not those of the score files.")
        return found
    scores = test[: first.labels.size]
    threshold = quantile_threshold(scores, fraction=_percent(dataset) / 100, train_scores=training)
    found.append(Values(dataset, "squared z-score", 0, measured(first.labels, scores, scores > threshold)))
    return found


def _over_subsets(detector: str, scored: Scored) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and deviation over subsets of machines; the threshold is that of all of them."""
    names = np.unique(scored.series)
    place = np.searchsorted(names, scored.series)
    draw = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS):
        chosen = np.zeros(names.size, dtype=np.bool_)
        chosen[draw.permutation(names.size)[:KEPT_MACHINES]] = True
        drawn = chosen[place]
        found.append(
            measured(
                scored.labels[drawn], scored.scores[drawn], None if scored.flagged is None else scored.flagged[drawn]
            )
        )
    return {
        (detector, metric): (
            float(np.mean([values[metric] for values in found])),
            float(np.std([values[metric] for values in found], ddof=1)),
        )
        for metric in PAPER_METRICS
    }


def _missing_runs(dataset: str, scored: dict[str, list[Scored]]) -> list[str]:
    most = max(len(runs) for runs in scored.values())
    said = [
        f"{dataset}: no score file of {detector}; 'pateval detect {name} --data {dataset} --protocol paper' makes one."
        for detector, name in paper.DETECTOR_NAMES.items()
        if detector not in scored
    ]
    said += [
        f"{dataset}: {len(runs)} of {most} seeds of {detector} are here."
        for detector, runs in scored.items()
        if len(runs) < most
    ]
    said += [
        f"{dataset}: {detector} has no training scores, and so no threshold."
        for detector, runs in scored.items()
        if any(run.threshold is None for run in runs)
    ]
    return said


def _missing_data(present: list[str], machines: dict[str, int]) -> list[str]:
    said = []
    if "SWaT" not in present:
        said.append("SWaT is given out on request only; where you have it, 'pateval detect' makes its score files.")
    if "PSM" not in present:
        said.append("PSM: the labels are whole, the features are not; chance rows only.")
    if (have := machines.get("SMD", 28)) < 28:
        said.append(f"SMD: {have} of the paper's 28 machines have features here.")
    return said
