"""The paper's two real series, weather and ECG: four detectors each, every cell beside the printed one.

`univariate` goes from the raw series to scores; here they are measured. The paper's ECG segment cannot be had, so the
record's next segment stands in for it, at stretches that look like the paper's; with a file of the paper's segment the
paper's own rule is followed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.compat import PATE
from pateval.datasets import data_root, load
from pateval.datasets.ecg import read_record
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.labels.events import find_events
from pateval.metrics.ranking import auc_pr, auc_roc, average_precision
from pateval.metrics.vus import vus_pr, vus_roc
from pateval.paper import paper_tables as paper
from pateval.paper.document import ExperimentSettings, MissingInputError, Report
from pateval.paper.univariate import (
    WEATHER_ANOMALY,
    WEATHER_TRAIN,
    Example,
    ecg,
    ecg_stretches,
    longest_normal,
    weather,
)
from pateval.validation.arrays import BoolArray

if TYPE_CHECKING:
    from pateval.datasets import Series

WEATHER_SERIES = "005_UCR_Anomaly_DISTORTEDCIMIS44AirTemperature1"
ECG_SEGMENT, ECG_STAND_IN = "MBA_ECG14046_data_0", "MBA_ECG14046_data_1"
ECG_STEPS, ECG_BEAT = 1050, 75
ECG_RANDOM_SEED = 20
# What the paper calls each detector of an example.
ROWS = {
    "perfect": "Perfect Model",
    "mvn": "Model 1",
    "lof": "Model 2",
    "autoencoder": "Model 2",
    "random": "Random Score",
}
ZERO_INCLUDED = "pate_zero_included"
_MAX_STRETCHES = 3


@dataclass(frozen=True)
class RealWorldCell:
    """One printed number and ours."""

    example: str
    detector: str
    metric: str
    printed: float
    found: float

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded to the two decimals of the paper, is the printed number."""
        return round(self.found, 2) == self.printed


@dataclass(frozen=True)
class RealWorld:
    """Both examples.

    Attributes
    ----------
    examples : dict of str to Example
        Series, labels and scores: ``weather``, and ``ecg`` or, for stretches of the stand-in, ``ecg at STEP``.
    values : dict
        By example and detector: the five metrics of the paper, and PATE with the zero buffer included.
    ecg_is_the_papers : bool
        Whether the ECG is the paper's segment, given by the user.
    ecg_starts : tuple of int
        Where a beat of 75 steps may begin in the paper's slice, so that random scores get the printed values, PATE's
        left aside.
    ranks : dict of str to int
        Weather: how many steps a detector scores as high as the anomaly or higher.
    precision : dict of str to float
        Weather: average precision, the other rule for an area under the precision-recall curve.
    missing : tuple of str
        A sentence for each thing that is not here.
    """

    examples: dict[str, Example]
    values: dict[tuple[str, str], dict[str, float]]
    ecg_is_the_papers: bool
    ecg_starts: tuple[int, ...]
    ranks: dict[str, int]
    precision: dict[str, float]
    missing: tuple[str, ...]

    def cells(self, example: str) -> list[RealWorldCell]:
        """The cells of one example."""
        printed = paper.REAL_WORLD_VALUES[example.split()[0]]
        return [
            RealWorldCell(example, detector, metric, value, self.values[example, detector][metric])
            for detector in self.examples[example].scores
            for metric, value in zip(paper.REAL_WORLD_METRICS, printed[ROWS[detector]], strict=True)
        ]

    @property
    def stand_ins(self) -> list[str]:
        """Names of the stretches that stand in for the paper's ECG."""
        return [name for name in self.examples if name.startswith("ecg at")]

    @property
    def nearest(self) -> tuple[str, float]:
        """The stretch on which MVN comes closest to its printed row, and its largest difference there."""
        away = {
            name: max(abs(cell.found - cell.printed) for cell in self.cells(name) if cell.detector == "mvn")
            for name in self.stand_ins
        }
        return min(away.items(), key=lambda pair: pair[1])


def compute(settings: ExperimentSettings) -> RealWorld:
    """Fit the detectors of both examples and measure their scores."""
    examples: dict[str, Example] = {}
    missing: list[str] = []
    is_the_papers = False
    settings.tell("ecg: where the paper's beat may lie")
    starts = places_of_the_beat()
    try:
        settings.tell("weather: MVN, LOF")
        examples["weather"] = weather(_weather_values(settings))
    except (MissingInputError, ImportError) as error:
        missing.append(_sentence(error))
    try:
        record, is_the_papers = _ecg_record(settings)
        examples |= _ecg_examples(record, is_the_papers, starts, settings)
    except (MissingInputError, ImportError) as error:
        missing.append(_sentence(error))
    if not examples:
        raise MissingInputError("real-world needs " + " ".join(missing).rstrip("."))
    if not is_the_papers:
        missing.append(
            f"The paper's ECG is {ECG_SEGMENT}, which is not published where the others are; whoever has the file "
            "gives it with --ecg FILE."
        )
    values = {
        (name, detector): measure(example.labels, scores, example.buffer)
        for name, example in examples.items()
        for detector, scores in example.scores.items()
    }
    of_weather = examples.get("weather")
    return RealWorld(
        examples,
        values,
        is_the_papers,
        tuple(starts),
        {} if of_weather is None else {name: _rank(of_weather, scores) for name, scores in of_weather.scores.items()},
        {}
        if of_weather is None
        else {name: average_precision(of_weather.labels, scores) for name, scores in of_weather.scores.items()},
        tuple(missing),
    )


def report(found: RealWorld) -> Report:
    """The page of the two examples."""
    from pateval.paper import real_world_page

    return real_world_page.report(found)


def measure(labels: BoolArray, scores: npt.ArrayLike, buffer: int) -> dict[str, float]:
    """The metrics of the paper's table, with its settings.

    Parameters
    ----------
    labels, scores : array-like
        Of the slice.
    buffer : int
        e = d; windows of VUS go up to twice of it.

    Returns
    -------
    dict of str to float
        The five metrics, and PATE as the mean over the buffers 0 and e, 0 and d.
    """
    surface: dict[str, Any] = {"window": 2 * buffer, "thresholds": 250, "variant": "original"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        return {
            "pate": PATE(labels, scores, buffer, buffer, include_zero=False),
            "vus_roc": vus_roc(labels, scores, **surface),
            "vus_pr": vus_pr(labels, scores, **surface),
            "auc_roc": auc_roc(labels, scores),
            "auc_pr": auc_pr(labels, scores),
            ZERO_INCLUDED: PATE(labels, scores, buffer, buffer),
        }


def beat(start: int) -> BoolArray:
    """Labels of the ECG slice with one beat of 75 steps.

    Examples
    --------
    >>> labels = beat(463)
    >>> labels.size, int(labels.sum()), int(labels.argmax())
    (1050, 75, 463)
    """
    labels = np.zeros(ECG_STEPS, dtype=np.bool_)
    labels[start : start + ECG_BEAT] = True
    return labels


def random_scores() -> npt.NDArray[np.float64]:
    """The random scores of the ECG example: they depend on no data."""
    return np.random.RandomState(ECG_RANDOM_SEED).uniform(0, 1, ECG_STEPS)


def places_of_the_beat() -> list[int]:
    """Where one beat of 75 steps may begin in the paper's slice, judged by the printed row of the random scores.

    Returns
    -------
    list of int
        Starts at which the random scores get the printed values of the four metrics beside PATE.
    """
    printed = dict(zip(paper.REAL_WORLD_METRICS, paper.REAL_WORLD_VALUES["ecg"]["Random Score"], strict=True))
    scores = random_scores()
    found = []
    for start in range(ECG_STEPS - ECG_BEAT + 1):
        labels = beat(start)
        # The cheap metric first: it leaves few places.
        if round(auc_roc(labels, scores), 2) != printed["auc_roc"]:
            continue
        values = measure(labels, scores, 50)
        if all(round(values[metric], 2) == value for metric, value in printed.items() if metric != "pate"):
            found.append(start)
    return found


def stretches_alike(labels: npt.ArrayLike, starts: Sequence[int]) -> list[int]:
    """First steps of slices with one beat of 75 steps where the paper's has one, and nothing else.

    Parameters
    ----------
    labels : array-like of bool
        Truth of a whole record.
    starts : sequence of int
        Where the beat may begin; the first place that fits is taken for each beat.

    Returns
    -------
    list of int

    Examples
    --------
    >>> labels = np.zeros(5000, dtype=bool)
    >>> labels[[*range(100, 175), *range(3000, 3075)]] = True
    >>> stretches_alike(labels, [463, 465])
    [2537]
    """
    truth = np.asarray(labels, dtype=np.bool_)
    events = find_events(truth)
    counted = np.append(0, np.cumsum(truth))
    found = []
    for begin in events.starts[events.lengths == ECG_BEAT].tolist():
        for start in starts:
            first = begin - start
            if (
                first >= 0
                and first + ECG_STEPS <= truth.size
                and counted[first + ECG_STEPS] - counted[first] == ECG_BEAT
            ):
                found.append(first)
                break
    return found


def _weather_values(settings: ExperimentSettings) -> npt.NDArray[np.float64]:
    try:
        records = load("UCR", root=settings.root or data_root())
    except (ValueError, OSError) as error:
        raise MissingInputError(_absent("the weather series (UCR 005)", "UCR")) from error
    for record in records:
        if record.name.startswith(WEATHER_SERIES) and record.train is not None and len(record.train) == WEATHER_TRAIN:
            values = np.concatenate([record.train, record.test])[:, 0]
            if int(np.argmax(record.labels)) + WEATHER_TRAIN == WEATHER_ANOMALY:
                return values
    raise MissingInputError(_absent("the weather series (UCR 005)", "UCR"))


def _ecg_record(settings: ExperimentSettings) -> tuple[Series, bool]:
    """The paper's segment where the user has it, else the next one of the same record."""
    if settings.ecg is not None:
        return read_record(settings.ecg), True
    try:
        records = {record.name: record for record in load("MBA_ECG", root=settings.root or data_root())}
    except (ValueError, OSError) as error:
        raise MissingInputError(_absent("the ECG (MBA)", "MBA_ECG")) from error
    for name in (ECG_SEGMENT, ECG_STAND_IN):
        if name in records:
            return records[name], name == ECG_SEGMENT
    raise MissingInputError(_absent(f"the ECG {ECG_SEGMENT}, or {ECG_STAND_IN} in its place,", "MBA_ECG"))


def _ecg_examples(
    record: Series, is_the_papers: bool, starts: Sequence[int], settings: ExperimentSettings
) -> dict[str, Example]:
    values = record.test[:, 0]
    settings.tell("ecg: MVN, autoencoder")
    if is_the_papers:
        return {"ecg": ecg(values, record.labels, device="cpu")}
    firsts = stretches_alike(record.labels, starts)[:_MAX_STRETCHES]
    parts = [slice(first, first + ECG_STEPS) for first in firsts]
    found = ecg_stretches(values, record.labels, train=longest_normal(record.labels), parts=parts, device="cpu")
    return {f"ecg at {first}": example for first, example in zip(firsts, found, strict=True)}


def _rank(example: Example, scores: npt.NDArray[np.float64]) -> int:
    return int(np.count_nonzero(scores >= scores[example.labels].max()))


def _absent(what: str, dataset: str) -> str:
    return (
        f"{what} is not in the data folder: 'pateval data info {dataset}' says where to get it; name the folder with "
        "--root or PATEVAL_DATA"
    )


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[0].upper() + text[1:].rstrip(".") + "."
