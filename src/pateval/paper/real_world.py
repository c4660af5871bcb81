"""The paper's two real series, weather and ECG: four detectors each, every cell beside the printed one.

Both slice a short stretch out of the test part and score it by windows that slide within the slice. A window's score
goes to its last step, and the first steps repeat the first score. The paper's ECG segment cannot be had, so the
record's next segment stands in for it, at stretches that look like the paper's; with a file of the paper's segment the
paper's own rule is followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval import plots
from pateval.compat import PATE
from pateval.datasets import Series, data_root, load
from pateval.datasets.layouts import read_ecg_record as read_record
from pateval.detectors import make
from pateval.detectors.windows import series_matrix
from pateval.labels.events import find_events, runs
from pateval.metrics.ranking import auc_pr, auc_roc, average_precision
from pateval.metrics.vus import vus_pr, vus_roc
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, MissingInputError, PageTable, Report, Verdict
from pateval.validation.arrays import BoolArray, FloatArray, binary_array

WEATHER_SERIES = "005_UCR_Anomaly_DISTORTEDCIMIS44AirTemperature1"
WEATHER_TRAIN, WEATHER_SLICE, WEATHER_ANOMALY, WEATHER_BUFFER = 4000, slice(800, 1800), 5391, 100
ECG_SEGMENT, ECG_STAND_IN = "MBA_ECG14046_data_0", "MBA_ECG14046_data_1"
ECG_GAP, ECG_SLICE, ECG_STEPS, ECG_BEAT, ECG_BUFFER, ECG_SEED = 500, slice(24250, 25300), 1050, 75, 50, 20
ZERO_INCLUDED = "pate_zero_included"
# What the paper calls each detector of an example, and what pages call it; the metrics, likewise.
_ROWS = {
    "perfect": "Perfect Model",
    "mvn": "Model 1",
    "lof": "Model 2",
    "autoencoder": "Model 2",
    "random": "Random Score",
}
_DETECTORS = {"mvn": "MVN (Model 1)", "lof": "LOF (Model 2)", "autoencoder": "autoencoder (Model 2)"}
_METRICS = {"pate": "PATE", "vus_roc": "VUS-ROC", "vus_pr": "VUS-PR", "auc_roc": "AUC-ROC", "auc_pr": "AUC-PR"}
_MAX_STRETCHES = 3


@dataclass(frozen=True, eq=False)
class Example:
    """A slice of a series: raw values, labels, scores by detector, and the paper's e = d.

    ``first`` is the first step of a stretch of the ECG's stand-in; None in the paper's own slices.
    """

    printed_as: str
    values: FloatArray
    labels: BoolArray
    scores: Mapping[str, FloatArray]
    buffer: int
    first: int | None = None

    @property
    def name(self) -> str:
        """How files and tables call it."""
        return self.printed_as if self.first is None else f"{self.printed_as} at {self.first}"

    @property
    def title(self) -> str:
        """How the page calls it."""
        title = {"weather": "Weather", "ecg": "ECG"}[self.printed_as]
        return title if self.first is None else f"{title}, the stand-in's stretch at {self.first:,}"

    @cached_property
    def measured(self) -> dict[str, dict[str, float]]:
        """By detector: the values of `measure`."""
        return {detector: measure(self.labels, scores, self.buffer) for detector, scores in self.scores.items()}

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """By detector and metric: the printed value and ours."""
        return {
            (detector, metric): cell
            for detector, values in self.measured.items()
            for metric, cell in _cells(self.printed_as, detector, values).items()
        }

    @property
    def away(self) -> float:
        """How far MVN is from its printed row, at most."""
        cells = [self.cells["mvn", metric] for metric in _METRICS]
        return max(abs(cell.found - cell.printed) for cell in cells)


def real_world(settings: ExperimentSettings) -> Report:
    """Fit the detectors of both examples and measure their scores."""
    examples: list[Example] = []
    missing: list[str] = []
    is_the_papers = False
    settings.tell("ecg: where the paper's beat may lie")
    starts = places_of_the_beat()
    try:
        settings.tell("weather: MVN, LOF")
        examples.append(weather(_weather_values(settings)))
    except (MissingInputError, ImportError) as error:
        missing.append(str(error))
    try:
        record, is_the_papers = _ecg_record(settings)
        settings.tell("ecg: MVN, autoencoder")
        examples += _ecg_examples(record, is_the_papers, starts)
    except (MissingInputError, ImportError) as error:
        missing.append(str(error))
    if not examples:
        raise MissingInputError("real-world needs " + "; ".join(missing))
    if not is_the_papers:
        missing.append(
            f"The paper's ECG is {ECG_SEGMENT}; the authors' README points to TSB-UAD's public archive. Give the file "
            "with --ecg FILE, and its rows appear."
        )
    papers = [example for example in examples if example.first is None]
    stand_ins = [example for example in examples if example.first is not None]
    nearest = min(stand_ins, key=lambda example: example.away, default=None)
    whole = [Verdict(example.name, list(example.cells.values()), {"title": example.title}) for example in papers]
    every_cell = [
        {"series": example.name, "detector": detector, "metric": _METRICS[metric], **cell.row()}
        for example in examples
        for (detector, metric), cell in example.cells.items()
    ]
    drawn = "the series, its event with the buffers around it, and the scores of the detectors"
    named = {"segment": ECG_SEGMENT, "stand_in": ECG_STAND_IN, "beat": ECG_BEAT}
    return Report(
        "real-world",
        {"whole": whole, "stand_ins": len(stand_ins), **named},
        tables=[*map(_table, examples), PageTable("cells", "All cells", every_cell, in_page=False)],
        figures=[
            Figure(example.name.replace(" ", "-"), f"{example.title}: {drawn}.", partial(draw, example))
            for example in examples
            if example in papers or example is nearest
        ],
        verdicts=[
            *whole,
            *(verdict for example in papers if example.name == "weather" for verdict in _weather_cells(example)),
            *(_label_verdicts(starts, nearest) if starts else ()),
            *([_stand_in_verdict(stand_ins, nearest)] if nearest else ()),
        ],
        missing=missing,
    )


def weather(values: object) -> Example:
    """Weather temperature: UCR 005, DISTORTED CIMIS44 AirTemperature1, the whole series of 8184 steps.

    The first 4000 steps train; the slice is the steps 4800 to 5799 of the series. The anomaly is the single step 5391
    (0-based; 591 of the slice). Detectors: perfect, MVN (one Gaussian, window 50), LOF (30 neighbours, window 50),
    random (legacy seed 42).
    """
    series = _univariate(values, WEATHER_TRAIN + WEATHER_SLICE.stop)
    labels = paper.flagged((WEATHER_ANOMALY, WEATHER_ANOMALY + 1), steps=len(series))
    part = slice(WEATHER_TRAIN + WEATHER_SLICE.start, WEATHER_TRAIN + WEATHER_SLICE.stop)
    train = series[:WEATHER_TRAIN]
    models = {
        "mvn": make("mvn", window=50, components=1, max_windows=None, seed=42).fit(train),
        "lof": make("lof", window=50, neighbors=30, max_windows=None).fit(train),
        "random": make("random", seed=42, legacy=True).fit(train),
    }
    return _scored("weather", models, series[part], labels[part], WEATHER_BUFFER)


def ecg(
    values: object,
    labels: object,
    *,
    train: slice | None = None,
    parts: Sequence[slice] | None = None,
    device: str | None = None,
) -> list[Example]:
    """ECG: MBA_ECG14046_data_0, or another series in its place.

    By the paper's rule training ends 500 steps before the first anomaly, and the slice is the steps 24250 to 25299 of
    what follows. Segment 0 is hard to come by; segment 1 begins with an anomaly, so that the rule leaves nothing to
    train on: give ``train``, for example what :func:`longest_normal` finds, and the ``parts`` to score, each by windows
    within it. Detectors: perfect, MVN (four Gaussians, window 100), autoencoder (window 100, on ``device``), random
    (legacy seed 20).
    """
    truth = binary_array(labels, "labels")
    series = _univariate(values, 1)
    if truth.size != len(series):
        raise ValueError(f"labels and values must have the same length; got {truth.size} and {len(series)}")
    split = int(np.argmax(truth)) - ECG_GAP if truth.any() else 0
    normal = series[train or slice(0, max(split, 0))]
    slices = parts or [slice(split + ECG_SLICE.start, split + ECG_SLICE.stop)]
    shortest = min(len(series[part]) for part in slices)
    if len(normal) <= 200 or shortest < 100:
        raise ValueError(
            f"the paper's rule, or the slices given, leave {len(normal)} steps to train on and {shortest} to score; "
            "more than 200 and at least 100 are needed"
        )
    models = {
        "mvn": make("mvn", window=100, components=4, max_windows=None, seed=42).fit(normal),
        "autoencoder": make("autoencoder", window=100, seed=ECG_SEED, device=device).fit(normal),
        "random": make("random", seed=ECG_SEED, legacy=True).fit(normal),
    }
    firsts = [None if parts is None else part.start for part in slices]
    return [
        _scored("ecg", models, series[part], truth[part], ECG_BUFFER, first)
        for part, first in zip(slices, firsts, strict=True)
    ]


def _scored(
    name: str, models: Mapping[str, Any], series: FloatArray, labels: BoolArray, buffer: int, first: int | None = None
) -> Example:
    """A slice with the scores of all detectors, those of a perfect one first."""
    perfect = {"perfect": make("perfect").fit(series).score(series, labels=labels)}
    scores = perfect | {detector: model.score(series) for detector, model in models.items()}
    return Example(name, series, labels, scores, buffer, first)


def _univariate(values: object, steps: int) -> FloatArray:
    matrix = series_matrix(values)
    if matrix.shape[1] != 1 or len(matrix) < steps:
        raise ValueError(f"values must be one series of at least {steps} steps; got the shape {matrix.shape}")
    return matrix[:, 0]


def longest_normal(labels: object) -> slice:
    """Return the longest stretch without anomaly.

    Examples
    --------
    >>> longest_normal([0, 1, 0, 0, 0, 1])
    slice(2, 5, None)
    """
    starts, stops = runs(~binary_array(labels, "labels"))
    if not starts.size:
        raise ValueError("labels hold no normal step")
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))


def measure(labels: BoolArray, scores: npt.ArrayLike, buffer: int) -> dict[str, float]:
    """The five metrics of the paper's table with its settings, and PATE as the mean over the buffers 0 and e, 0 and d.

    The buffer is e = d; windows of VUS go up to twice of it.
    """
    surface: dict[str, Any] = {"window": 2 * buffer, "thresholds": 250, "variant": "original"}
    return {
        "pate": PATE(labels, scores, buffer, buffer, include_zero=False),
        "vus_roc": vus_roc(labels, scores, **surface),
        "vus_pr": vus_pr(labels, scores, **surface),
        "auc_roc": auc_roc(labels, scores),
        "auc_pr": auc_pr(labels, scores),
        ZERO_INCLUDED: PATE(labels, scores, buffer, buffer),
    }


def beat(start: int) -> BoolArray:
    """Labels of the ECG slice with one beat of 75 steps."""
    return paper.flagged((start, start + ECG_BEAT), steps=ECG_STEPS)


def random_scores() -> FloatArray:
    """The random scores of the ECG example: they depend on no data."""
    return np.random.RandomState(ECG_SEED).uniform(0, 1, ECG_STEPS)


def places_of_the_beat() -> list[int]:
    """Where one beat of 75 steps may begin in the paper's slice, judged by the printed row of the random scores.

    These are the starts at which random scores get the printed values of the four metrics beside PATE.
    """
    printed = dict(zip(paper.REAL_WORLD_METRICS, paper.REAL_WORLD_VALUES["ecg"]["Random Score"], strict=True))
    scores = random_scores()
    places = []
    for start in range(ECG_STEPS - ECG_BEAT + 1):
        labels = beat(start)
        # The cheap metric first: it leaves few places.
        if round(auc_roc(labels, scores), 2) != printed["auc_roc"]:
            continue
        values = measure(labels, scores, ECG_BUFFER)
        if all(round(values[metric], 2) == value for metric, value in printed.items() if metric != "pate"):
            places.append(start)
    return places


def stretches_alike(labels: npt.ArrayLike, starts: Sequence[int]) -> list[int]:
    """First steps of slices of a record with one beat of 75 steps where the paper's has one, and nothing else.

    ``starts`` are the places where the beat may begin; the first that fits is taken for each beat.

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
    chosen = []
    for begin in events.starts[events.lengths == ECG_BEAT].tolist():
        fitting = [
            first
            for start in starts
            if (first := begin - start) >= 0
            and first + ECG_STEPS <= truth.size
            and counted[first + ECG_STEPS] - counted[first] == ECG_BEAT
        ]
        chosen += fitting[:1]
    return chosen


def _weather_values(settings: ExperimentSettings) -> FloatArray:
    for record in _load("UCR", "the weather series (UCR 005)", settings):
        if record.name.startswith(WEATHER_SERIES) and record.train is not None and len(record.train) == WEATHER_TRAIN:
            values: FloatArray = np.concatenate([record.train, record.test])[:, 0]
            if int(np.argmax(record.labels)) + WEATHER_TRAIN == WEATHER_ANOMALY:
                return values
    raise _absent("the weather series (UCR 005)", "UCR")


def _ecg_record(settings: ExperimentSettings) -> tuple[Series, bool]:
    """The paper's segment where the user has it, else the next one of the same record."""
    if settings.ecg is not None:
        return read_record(settings.ecg), True
    records = {record.name: record for record in _load("MBA_ECG", "the ECG (MBA)", settings)}
    for name in (ECG_SEGMENT, ECG_STAND_IN):
        if name in records:
            return records[name], name == ECG_SEGMENT
    raise _absent(f"the ECG {ECG_SEGMENT}, or {ECG_STAND_IN} in its place,", "MBA_ECG")


def _ecg_examples(record: Series, is_the_papers: bool, starts: Sequence[int]) -> list[Example]:
    values = record.test[:, 0]
    if is_the_papers:
        return ecg(values, record.labels, device="cpu")
    firsts = stretches_alike(record.labels, starts)[:_MAX_STRETCHES]
    parts = [slice(first, first + ECG_STEPS) for first in firsts]
    return ecg(values, record.labels, train=longest_normal(record.labels), parts=parts, device="cpu")


def _load(dataset: str, what: str, settings: ExperimentSettings) -> list[Series]:
    try:
        return list(load(dataset, root=settings.root or data_root()))
    except (ValueError, OSError) as error:
        raise _absent(what, dataset) from error


def _absent(what: str, dataset: str) -> MissingInputError:
    return MissingInputError(
        f"{what} is not in the data folder: 'pateval data info {dataset}' says where to get it; name the folder with "
        "--root or PATEVAL_DATA"
    )


def _cells(printed_as: str, detector: str, values: dict[str, float]) -> dict[str, Cell]:
    """The printed cells of one detector beside ours, by metric."""
    printed = zip(paper.REAL_WORLD_METRICS, paper.REAL_WORLD_VALUES[printed_as][_ROWS[detector]], strict=True)
    return {metric: Cell(value, values[metric], "rounds") for metric, value in printed}


def _weather_cells(example: Example) -> Iterator[Verdict]:
    """The cells that differ: areas under the precision-recall curve where one step is anomalous."""
    for (detector, metric), cell in example.cells.items():
        if not cell.agrees:
            scores = example.scores[detector]
            values = {
                "detector": _DETECTORS.get(detector, detector),
                "metric": _METRICS[metric],
                "rank": int(np.count_nonzero(scores >= scores[example.labels].max())),
                "precision": average_precision(example.labels, scores),
            }
            yield Verdict("weather_cell", [cell], values)


def _label_verdicts(starts: list[int], nearest: Example | None) -> Iterator[Verdict]:
    """Rows that need no series, only labels, which the printed numbers give away."""
    truth, random = beat(starts[0]), random_scores()
    perfect = _cells("ecg", "perfect", measure(truth, truth.astype(float), ECG_BUFFER))
    measured = measure(truth, random, ECG_BUFFER)
    drawn = _cells("ecg", "random", measured)
    yield Verdict("labels", [*perfect.values(), *drawn.values()], {"beat": ECG_BEAT, "starts": starts})
    yield Verdict("random", [drawn["pate"]], {"measured": measured, "nearest": nearest and nearest.measured["mvn"]})


def _stand_in_verdict(stand_ins: list[Example], nearest: Example) -> Verdict:
    trained = {
        _DETECTORS[detector]: [example.measured[detector]["pate"] for example in stand_ins]
        for detector in ("mvn", "autoencoder")
    }
    places = [example.first for example in stand_ins]
    return Verdict("stand_in", (), {"trained": trained, "places": places, "away": nearest.away})


def _table(example: Example) -> PageTable:
    def shown(cell: Cell, printed: str) -> str:
        return f"{cell.found:.3f}{printed}" + ("" if cell.agrees else " *")

    rows = {}
    for detector, values in example.measured.items():
        cells = {metric: example.cells[detector, metric] for metric in _METRICS}
        row = {_METRICS[metric]: shown(cell, f" ({cell.printed:.2f})") for metric, cell in cells.items()}
        if example.printed_as == "ecg":
            row["PATE, zero buffer included"] = shown(cells["pate"]._replace(found=values[ZERO_INCLUDED]), "")
        rows[_DETECTORS.get(detector, detector)] = row
    caption = f"{example.title}: ours (printed; * differs)"
    return PageTable.of(example.name.replace(" ", "-"), caption, rows, "detector", in_csv=False)


def draw(example: Example) -> Any:
    """The slice of the series, its event and buffers, and the scores of the four detectors."""
    return plots.series(
        example.labels,
        {_DETECTORS.get(detector, detector).split(" (")[0]: scores for detector, scores in example.scores.items()},
        values=example.values,
        early=example.buffer,
        delay=example.buffer,
    )
