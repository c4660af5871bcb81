"""Thresholds from score files: a quantile of what a fit scored in training, or of that and its test scores together.

The quantile is that of the fit, whichever of its series are evaluated: parts of joined data share one threshold, as
they share one set of training scores, and series that were fitted each by itself have thresholds of their own.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pateval.evaluation.threshold_rules import TRAIN, ThresholdRule, known_level, share_of, uses_training_scores
from pateval.io import TableError
from pateval.io.score_files import read_fit_scores, read_training_scores
from pateval.thresholds import quantile_threshold

if TYPE_CHECKING:
    from collections.abc import Sequence


def rule_for_file(
    threshold: float | str,
    path: str | os.PathLike[str],
    series: Sequence[str],
    sizes: Sequence[int],
    *,
    run: str = "",
) -> float | str | ThresholdRule:
    """Return a threshold as it is, or, where it is a rule on training scores, with the levels of a score file.

    Parameters
    ----------
    threshold : float or str
        As users give it.
    path : path
        The score file.
    series : sequence of str
        The series that are evaluated together,
    sizes : sequence of int
        and how many steps each has, ignored ones included.
    run : str
        The run, where the file has several.

    Raises
    ------
    TableError
        If the file has no training scores of a series; the sentence says how to get some.
    """
    if not isinstance(threshold, str) or not uses_training_scores(threshold):
        return threshold
    levels = [level_in_file(threshold, path, series=name, run=run) for name in series]
    if len(set(levels)) == 1:
        return known_level(threshold, lambda _steps: levels[0])
    recorded = np.repeat(levels, sizes)
    return known_level(
        threshold, lambda steps: recorded if steps.step_numbers is None else recorded[steps.step_numbers]
    )


def level_in_file(threshold: str, path: str | os.PathLike[str], *, series: str, run: str = "") -> float:
    """Return the quantile that a rule on training scores asks for, from the scores of the fit a series belongs to.

    Raises
    ------
    TableError
        If the file has no training scores of the series.
    """
    try:
        if not os.path.isfile(path) or not os.fspath(path).lower().endswith((".parquet", ".pq")):
            raise ValueError("they are kept beside score files in Parquet")
        status = os.stat(path)
        return _level(threshold, os.fspath(path), series, run, (status.st_mtime_ns, status.st_size))
    except (ValueError, OSError) as error:
        why = str(error).removeprefix(f"{path}: ")
        raise TableError(
            f"{path}: threshold {threshold!r} needs the scores of the training steps ({why}); "
            f"`pateval detect DETECTOR --data DATA -o DIR` writes files that have them"
        ) from error


@lru_cache(maxsize=4096)
def _level(threshold: str, path: str, series: str, run: str, version: tuple[int, int]) -> float:
    del version  # a file that was written anew is read anew
    name, share = share_of(threshold)
    chosen = int(run) if run else None
    training = read_training_scores(path, series=series, run=chosen)
    if name == TRAIN:
        return quantile_threshold(training, fraction=share)
    fit_scores = read_fit_scores(path, series=series, run=chosen)
    return quantile_threshold(fit_scores, fraction=share, train_scores=training)
