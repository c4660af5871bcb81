"""What experiments read: labels of the public data sets, and score files of trained detectors; and how to train them.

Labels are whole wherever they can be had without the features. Score files lie in a folder per data set, a file per
detector, below a folder per protocol.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.datasets import Series, contents_of, data_root, info, join, load
from pateval.datasets import missing as lacking
from pateval.detectors import make, settings_class
from pateval.detectors.presets import dataset_settings, preset_settings, threshold_ratio
from pateval.evaluation import evaluate
from pateval.io import read_table
from pateval.io.score_files import read_metadata, read_training_scores
from pateval.labels.events import find_events
from pateval.paper.document import ExperimentSettings, MissingInputError
from pateval.paper.paper_tables import DETECTOR_NAMES, IMPACT_BUFFER, IMPACT_CHUNK, IMPACT_VUS_WINDOW
from pateval.runner import Candidate, DetectionProgress, detect
from pateval.thresholds import quantile_threshold
from pateval.validation.arrays import BoolArray, FloatArray

# Where a checkout keeps scores, and the folders in it: trained as the paper's were, and by our own protocol.
_IN_CHECKOUT = Path("results/scores")
PAPER, HELD_OUT = "paper", "held-out"
# The big table's metrics by their printed names, with PATE-AP beside them, and those of predictions among them.
PAPER_METRICS = {
    "PATE": f"pate(early={IMPACT_BUFFER},delay={IMPACT_BUFFER})",
    "PATE-AP": f"pate_ap(early={IMPACT_BUFFER},delay={IMPACT_BUFFER})",
    "PA-F1": "point_adjusted_f1",
    "Standard-F1": "point_f1",
    "PA-AUC-ROC": "pa_auc_roc",
    "AUC-ROC": "auc_roc",
    "VUS-ROC": f"vus_roc(window={IMPACT_VUS_WINDOW},variant=original)",
}
THRESHOLDED = ("PA-F1", "Standard-F1", "PA-AUC-ROC")
# Trained by --train: long trainings first.
TRAINED = ("usad", "transformer", "lstm", "anomaly_transformer", "dcdetector")
TRAINED_ON = ("SMD", "SMAP", "MSL", "PSM", "SWaT")


def measured(
    labels: BoolArray, scores: FloatArray, flagged: BoolArray | None, steps: slice | BoolArray = slice(None)
) -> dict[str, float]:
    """The big table's metrics, by name, the chosen steps one series; NaN for those on predictions without any."""
    wanted = {name: metric for name, metric in PAPER_METRICS.items() if flagged is not None or name not in THRESHOLDED}
    predictions = None if flagged is None else flagged[steps]
    values = evaluate(labels[steps], scores[steps], predictions, metrics=list(wanted.values())).values()
    by_name = dict(zip(wanted, map(float, values), strict=True))
    return {name: by_name.get(name, float("nan")) for name in PAPER_METRICS}


def starts_of(series: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Where each series begins."""
    return np.flatnonzero(np.r_[True, series[1:] != series[:-1]])


@dataclass(frozen=True, eq=False)
class LabelSet:
    """Truth of one data set, its series laid end to end, and which series each step belongs to."""

    name: str
    labels: BoolArray
    series: npt.NDArray[Any]

    @property
    def events(self) -> int:
        """Number of events, none across the boundary of two series."""
        return len(find_events(self.labels, starts_of(self.series)))

    def whole_windows(self) -> BoolArray:
        """Labels as the paper's protocol has them: laid end to end, without the last, incomplete window of 100."""
        return self.labels[: self.labels.size // IMPACT_CHUNK * IMPACT_CHUNK]


def read_labels(name: str, settings: ExperimentSettings) -> LabelSet:
    """Read the labels of a data set, or fail with a message that says how to get it."""
    root = settings.root or data_root()
    # Files of labels that are whole although features are missing.
    smd, psm = root / "SMD" / "SMD_test_labels_all28.npz", root / "PSM" / "PSM_test_labels.parquet"
    try:
        if name == "SMD" and smd.is_file():
            with np.load(smd) as machines:
                order = sorted(machines.files, key=lambda machine: [int(part) for part in machine.split("-")[1:]])
                parts = [machines[machine] for machine in order]
        elif name == "PSM" and psm.is_file():
            parts = [read_table(psm).columns["label"]]
        else:
            parts = [part.labels for part in load(name, root=root)]
    except (ValueError, OSError) as error:
        (known,) = info(name)
        how = f"'pateval data fetch {known.name}'" if known.downloads else f"'pateval data info {known.name}' says how"
        raise MissingInputError(
            f"the labels of {name} are not in the data folder: get them ({how}) and name the folder with --root or "
            "PATEVAL_DATA"
        ) from error
    series = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    return LabelSet(name, np.concatenate(parts).astype(np.bool_), series)


def labels_at_hand(names: Sequence[str], settings: ExperimentSettings) -> tuple[dict[str, LabelSet], list[str]]:
    """Labels of the data sets that are there, by name, and a sentence for each one that is not."""
    at_hand, absent = {}, []
    for name in names:
        settings.tell(f"reading the labels of {name}")
        try:
            at_hand[name] = read_labels(name, settings)
        except MissingInputError as error:
            absent.append(str(error))
    return at_hand, absent


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one run of a detector, as the paper names it, on one data set, all series laid end to end.

    The ``run`` is its seed, the ``record`` what its training left, None without one; ``training`` are the scores of the
    training steps, None where they were not kept.
    """

    detector: str
    dataset: str
    run: int
    labels: BoolArray
    scores: FloatArray
    series: npt.NDArray[Any]
    record: dict[str, Any] | None
    training: npt.NDArray[np.float32] | None

    def threshold_at(self, percent: float, *, with_test: bool = True) -> float | None:
        """The score that so many per cent of training scores, and of test scores with them, exceed; None if unknown."""
        if self.training is None:
            return None
        scores, more = (self.scores, self.training) if with_test else (self.training, None)
        return float(quantile_threshold(scores, fraction=percent / 100, train_scores=more))

    @functools.cached_property
    def threshold(self) -> float | None:
        """The paper's: the configured percentile of training and test scores together."""
        try:
            return self.threshold_at(threshold_ratio(DETECTOR_NAMES[self.detector], self.dataset))
        except ValueError:
            return None  # no percentile is configured

    @property
    def flagged(self) -> BoolArray | None:
        """Steps strictly above the threshold, as the paper's code has it."""
        return None if self.threshold is None else self.scores > self.threshold

    def measured(self, steps: slice | BoolArray = slice(None)) -> dict[str, float]:
        """The big table's metrics, of all steps or of those chosen."""
        return measured(self.labels, self.scores, self.flagged, steps)


# By detector, as the paper names it.
Runs = dict[str, list[Scored]]


def score_runs(
    settings: ExperimentSettings, wanted: Sequence[str] | None = None, protocol: str = PAPER
) -> Iterator[tuple[str, Runs]]:
    """All runs of a protocol by data set, in the order wanted or of the alphabet; nothing where there are no files."""
    folder = _protocol_folder(settings, protocol)
    if folder is not None:
        present = sorted({path.parent.name for path in folder.glob("*/*.parquet")})
        for dataset in present if wanted is None else [name for name in wanted if name in present]:
            yield dataset, read_runs(folder, dataset)


def required_runs(name: str, settings: ExperimentSettings, wanted: Sequence[str]) -> dict[str, Runs]:
    """All runs of the paper's protocol on the data sets wanted, or an error that says how to get score files."""
    if _protocol_folder(settings, PAPER) is None:
        raise MissingInputError(
            f"{name} needs score files of trained detectors, and there are none: run in a checkout of the project, or "
            "give --scores FOLDER with DATASET/DETECTOR.parquet, as 'pateval detect' writes them"
        )
    runs = dict(score_runs(settings, wanted))
    if not runs:
        raise MissingInputError(f"{name} needs score files of {', '.join(wanted)}; the folder has none of them")
    return runs


def _protocol_folder(settings: ExperimentSettings, protocol: str) -> Path | None:
    """The folder of one protocol below the folder of scores; None where it holds no score files.

    The paper's protocol is found in the folder itself too.
    """
    base = _IN_CHECKOUT if settings.scores is None else settings.scores
    places = (base, base / PAPER) if protocol == PAPER else (base / protocol,)
    return next((place for place in places if any(place.glob("*/*.parquet"))), None)


def read_runs(folder: Path, dataset: str) -> Runs:
    """All runs of all detectors of the paper on one data set, in the paper's order."""
    return {
        shown: list(_runs_in(path, shown, dataset))
        for shown, name in DETECTOR_NAMES.items()
        if (path := folder / dataset / f"{name}.parquet").is_file()
    }


def _runs_in(path: Path, detector: str, dataset: str) -> Iterator[Scored]:
    columns = read_table(path).columns
    records = {fit["seed"] or 0: fit["training"] for fit in read_metadata(path)["runs"]}
    runs = columns["run"] if "run" in columns else np.full(len(columns["label"]), next(iter(records)))
    for run in np.unique(runs).tolist():
        labels, scores, series = (columns[name][runs == run] for name in ("label", "score", "series"))
        try:
            training = read_training_scores(path, run=run)
        except ValueError:
            training = None
        truth, values = labels.astype(np.bool_), scores.astype(np.float64)
        yield Scored(detector, dataset, run, truth, values, series, records[run], training)


def joined_data(dataset: str, settings: ExperimentSettings) -> Series | None:
    """All series of a data set laid end to end; None where they, or a stretch to train on, are not at hand."""
    try:
        series = join(load(dataset, root=settings.root or data_root()), dataset)
    except (ValueError, OSError):
        return None
    return None if series.train is None else series


class ZScore(NamedTuple):
    """The squared z-score of a data set, which needs no training: labels, scores of test steps and training steps."""

    labels: BoolArray
    test: FloatArray
    training: FloatArray

    def on(self, labels: BoolArray) -> FloatArray | None:
        """Scores of the steps that score files have; None where the data at hand are others."""
        return self.test[: labels.size] if np.array_equal(self.labels[: labels.size], labels) else None


def squared_zscore(dataset: str, settings: ExperimentSettings) -> ZScore | None:
    """The squared z-score on all series of a data set; None where they are not at hand."""
    series = joined_data(dataset, settings)
    if series is None or series.train is None:
        return None
    detector = make("squared_zscore").fit(series.train)
    test, training = (np.asarray(detector.score(part), dtype=np.float64) for part in (series.test, series.train))
    return ZScore(series.labels, test, training)


def train(settings: ExperimentSettings) -> None:
    """Train whatever is not in the folder of scores yet, with both protocols; an interrupted training goes on later."""
    if settings.scores is None:
        raise MissingInputError(
            "impact --train needs --scores FOLDER: there score files go, and those that are finished are found again"
        )
    data = {name: series for name in TRAINED_ON if (series := joined_data(name, settings)) is not None}
    for name in TRAINED_ON:
        if name not in data:
            settings.tell(f"{name}: left out: there is nothing to train on")
    if not data:
        raise MissingInputError("impact --train needs a data set with a training stretch: there is none")
    from pateval.detectors.devices import choose_device

    device = choose_device(settings.device).type
    if device == "cpu":
        settings.tell("training on the CPU takes many hours; what is finished is kept, and a later call goes on")

    def show(progress: DetectionProgress) -> None:
        if progress.state in ("finished", "failed", "kept"):
            settings.tell(
                f"[{progress.done} of {progress.total}] {progress.detector} on {progress.series}, seed {progress.run}: "
                f"{progress.state} {progress.message}".rstrip()
            )

    for protocol, (name, series) in itertools.product((PAPER, HELD_OUT), data.items()):
        missing = lacking(info(name)[0], contents_of([series]))
        results = detect(
            [_candidate(detector, name, protocol, device) for detector in TRAINED],
            [series],
            settings.scores / protocol / name,
            seeds=range(settings.seeds),
            protocol=protocol,  # type: ignore[arg-type]  # one of the two
            single=True,
            about_data={"name": name, "series": len(series.parts), "missing": missing},
            show=show,
        )
        for result in results:
            for failed, reason in result.failures.items():
                settings.tell(f"{result.detector} on {failed} failed: {reason}")


def _candidate(detector: str, dataset: str, protocol: str, device: str) -> Candidate:
    """A detector with the settings of the paper's table.

    With the paper's protocol the test set chooses the weights, and everything else is as in the authors' program too,
    but for the seed of the weights, of which there are several.
    """
    known = settings_class(detector).__dataclass_fields__
    preset = preset_settings("authors", detector) if protocol == PAPER else {}
    wanted = {
        **{key: value for key, value in preset.items() if key != "seed"},
        **dataset_settings(detector, dataset),
        "device": device,
        "cuda_graph": device != "cpu",
        "select_on_test": protocol == PAPER,
    }
    made = make(detector, **{key: value for key, value in wanted.items() if key in known})
    chosen = dataclasses.asdict(made.settings)
    return Candidate(detector, functools.partial(make, detector, **chosen), chosen)
