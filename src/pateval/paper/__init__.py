"""The paper's tables and figures, and the table of them.

An experiment is a function of its name that takes the settings and returns a `Report`: the numbers in tables, the
statements of the paper with the cells that decide them, and figures. Its text stands in ``pages``. To add one is to add
a line to `EXPERIMENTS`. Modules are imported when they are asked for.

>>> "scenarios" in EXPERIMENTS
True
"""

from __future__ import annotations

import difflib
import warnings
from importlib import import_module
from typing import NamedTuple, cast

from pateval.kernels.precision_recall import CoarseScoresWarning
from pateval.paper.document import ExperimentSettings, MissingInputError, Report

__all__ = ["EXPERIMENTS", "Experiment", "ExperimentSettings", "MissingInputError", "Report", "compute"]


class Experiment(NamedTuple):
    """One line of the table: the file, the table or figure of the paper that it makes, and what it does."""

    module: str
    place: str
    about: str


EXPERIMENTS = {
    "properties": Experiment("definitions", "first figure and table", "What metrics consider: claimed, and measured."),
    "scenarios": Experiment("scenarios", "both scenario tables and figures", "Ten synthetic detections, all metrics."),
    "categories": Experiment("definitions", "categorisation figure", "Categories and weights of every step."),
    "readings": Experiment("readings", "equations 2, 5 and 8", "PATE as the text reads, and as it was run."),
    "real-world": Experiment("real_world", "table and figure of two series", "Weather and ECG, four detectors each."),
    "impact": Experiment("impact", "big table", "Five trained detectors, each run, with the paper's protocol."),
    "ranks": Experiment("from_scores", "rank figure", "Mean ranks under each metric, with critical differences."),
    "ablation": Experiment("from_scores", "figure of buffer sizes", "PATE at every buffer size from 0 to 200."),
    "lengths": Experiment("definitions", "appendix figure", "Weights beside an event against its length."),
    "early-late": Experiment("definitions", "appendix figure", "Too early and too late are not the same."),
    "segments": Experiment("from_scores", "figure of score segments", "Stretches of the scores of trained detectors."),
    "chance": Experiment("from_labels", "a row the big table lacks", "What detectors without knowledge get."),
    "consistency": Experiment("from_labels", "big table, times", "Printed numbers held against labels and each other."),
    "timing": Experiment("timing", "times, table and figure", "Computing times from 10³ to 10⁷ steps."),
}


def compute(name: str, settings: ExperimentSettings | None = None) -> Report:
    """Run an experiment.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    settings : ExperimentSettings, optional
        What the user chose.

    Returns
    -------
    Report
        Its numbers, statements and figures.

    Raises
    ------
    ValueError
        If there is no such experiment.
    MissingInputError
        If data or scores are missing; the message says how to get them.

    Examples
    --------
    >>> compute("scenarios").summary
    '109 of 110 printed cells agree to both decimals.'
    """
    if name not in EXPERIMENTS:
        close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(EXPERIMENTS)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    run = getattr(import_module(f"pateval.paper.{EXPERIMENTS[name].module}"), name.replace("-", "_"))
    with warnings.catch_warnings():
        # The paper's own detectors are binary, or full of ties.
        warnings.simplefilter("ignore", CoarseScoresWarning)
        return cast("Report", run(settings or ExperimentSettings()))
