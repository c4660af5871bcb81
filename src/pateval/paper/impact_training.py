"""The retraining behind the big table: which detectors, settings, protocols and seeds, as plans of the runner.

`pateval reproduce impact --train` runs them here; ``results/train.py`` runs the same plans on a machine with an
accelerator that has neither the data sets nor pyarrow.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pateval.datasets import Series, contents_of, data_root, info, join, load, missing
from pateval.detectors import make, settings_class
from pateval.detectors.presets import dataset_settings
from pateval.paper.document import ExperimentSettings, MissingInputError
from pateval.runner import Candidate, DetectionPlan, DetectionProgress, run_plans

# Long trainings first.
DETECTORS = ("usad", "transformer", "lstm", "anomaly_transformer", "dcdetector")
DATASETS = ("SMD", "SMAP", "MSL", "PSM", "SWaT")
PROTOCOLS = ("paper", "held-out")
SEEDS = (0, 1, 2, 3, 4)

JoinedData = tuple[Series, dict[str, Any]]


def candidates(
    dataset: str, protocol: str, detectors: Sequence[str], device: str, changes: Mapping[str, Any]
) -> list[Candidate]:
    """Return the detectors with the settings of the paper's table.

    Parameters
    ----------
    dataset, protocol : str
        With the paper's protocol the test set chooses the weights where the published code lets it.
    detectors : sequence of str
        Some of `DETECTORS`.
    device : str
        Named and not looked for: what a training made is put together where there is no such device.
    changes : mapping
        Settings that differ, for those detectors that have them.

    Returns
    -------
    list of Candidate
    """
    found = []
    for name in detectors:
        known = settings_class(name).__dataclass_fields__
        settings = {**dataset_settings(name, dataset), "device": device, "cuda_graph": device != "cpu", **changes}
        if "select_on_test" in known:
            settings["select_on_test"] = protocol == "paper"
        made = make(name, **{key: value for key, value in settings.items() if key in known})
        chosen = dataclasses.asdict(made.settings)
        found.append(Candidate(name, functools.partial(make, name, **chosen), chosen))
    return found


def plans(
    data: Mapping[str, JoinedData],
    folder: Path,
    *,
    protocols: Sequence[str] = PROTOCOLS,
    detectors: Sequence[str] = DETECTORS,
    seeds: Sequence[int] = SEEDS,
    device: str = "cpu",
    changes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> list[DetectionPlan]:
    """Return a plan for each protocol and data set; score files go to folder/protocol/data set.

    Parameters
    ----------
    data : mapping of str to tuple
        By data set: all its series joined, and what the score files shall say about them.
    folder : Path
        Where score files go.
    protocols, detectors, seeds, device, changes, overwrite
        As in `candidates` and in the runner.

    Returns
    -------
    list of DetectionPlan
    """
    return [
        DetectionPlan(
            candidates(name, protocol, detectors, device, changes or {}),
            [series],
            folder / protocol / name,
            seeds,
            protocol,  # type: ignore[arg-type]  # checked by the plan
            single=True,
            overwrite=overwrite,
            about_data=about,
        )
        for protocol in protocols
        for name, (series, about) in data.items()
    ]


def joined_data(root: Path, names: Sequence[str] = DATASETS) -> tuple[dict[str, JoinedData], list[str]]:
    """Join the series of each data set that can be trained on; a sentence for each that cannot.

    Parameters
    ----------
    root : Path
        Where data sets are kept.
    names : sequence of str
        The data sets.

    Returns
    -------
    tuple
        By data set what `plans` takes; and the sentences.
    """
    found: dict[str, JoinedData] = {}
    absent = []
    for name in names:
        try:
            parts = load(name, root=root)
        except (ValueError, OSError) as error:
            absent.append(f"{name}: left out: {error}")
            continue
        lacks = missing(info(name)[0], contents_of(parts))
        if any(part.train is None for part in parts):
            absent.append(f"{name}: left out: there is nothing to train on ({lacks})")
            continue
        found[name] = join(parts, name), {"name": name, "series": len(parts), "missing": lacks}
    return found, absent


def train(settings: ExperimentSettings) -> None:
    """Train whatever is not in the folder of scores yet, with both protocols; an interrupted training goes on later.

    Raises
    ------
    MissingInputError
        If no folder of scores is named, or no data set can be trained on.
    """
    if settings.scores is None:
        raise MissingInputError(
            "impact --train needs --scores FOLDER: there score files go, and those that are finished are found again"
        )
    data, absent = joined_data(settings.root or data_root())
    for sentence in absent:
        settings.tell(sentence)
    if not data:
        raise MissingInputError(f"impact --train needs a data set with a training stretch: {'; '.join(absent)}")
    from pateval.detectors.training import choose_device

    device = choose_device(settings.device).type
    if device == "cpu":
        settings.tell("training on the CPU takes many hours; what is finished is kept, and a later call goes on")

    def show(progress: DetectionProgress) -> None:
        if progress.state in ("finished", "failed", "kept"):
            settings.tell(
                f"[{progress.done} of {progress.total}] {progress.detector} on {progress.series}, seed {progress.run}: "
                f"{progress.state} {progress.message}".rstrip()
            )

    results = run_plans(plans(data, settings.scores, seeds=range(settings.seeds), device=device), show=show)
    for plan in results:
        for result in plan:
            for series, reason in result.failures.items():
                settings.tell(f"{result.detector} on {series} failed: {reason}")
