"""Whether a detector has seen the future: its scores on growing prefixes of a series."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, folded
from pateval.pate.score import pate_ap
from pateval.validation.arrays import Buffers, FloatArray, binary_array, number_array, positive_integer, positive_number

Scorer = Callable[[npt.NDArray[Any]], Any]

# Share of the largest score up to which scores of single precision may differ: networks sum in another order where a
# batch has another size. Measured on autoencoder and USAD here: up to 8e-8.
_SINGLE_PRECISION = 1e-5


@dataclass(frozen=True, repr=False)
class CausalCheck(Result):
    """Whether the score of a step changed when later steps came.

    Attributes
    ----------
    causal : bool
        No score changed: nothing speaks for look-ahead.
    steps, prefixes : int
        Length of the series, and how many of its beginnings were scored, the whole included.
    shortest : int
        Steps of the shortest beginning that can be scored.
    changed : int
        Steps whose score changed later.
    first : int or None
        The first of them.
    before, after : float
        Its score when it was first seen, and at the end; NaN where none changed.
    largest : float
        The largest change of any score.
    reach : int
        Steps after a step whose arrival still changed its score, as far as the prefixes tell.
    pate_ap, pate_ap_causal : float
        With the scores of the whole series, and with those each step had in the shortest beginning that held it; NaN
        without labels.
    every_step : bool
        All beginnings were scored, so that this one is the beginning that ends with the step.
    """

    causal: bool
    steps: int
    prefixes: int
    shortest: int
    changed: int
    first: int | None
    before: float
    after: float
    largest: float
    reach: int
    pate_ap: float
    pate_ap_causal: float
    every_step: bool

    def sentences(self) -> list[str]:
        """Say what was found, in sentences."""
        tried = f"{self.prefixes:,} beginnings of {self.steps:,} steps"
        if self.causal:
            return [f"no look-ahead: no score of an earlier step changed over {tried}"]
        first = f"step {self.first:,} from {self.before:.4g} to {self.after:.4g}"
        sentences = [
            f"look-ahead: the scores of {self.changed:,} of {self.steps:,} steps changed when later steps came",
            f"the first is {first}; the largest change of all is {self.largest:.4g}",
            f"steps up to {self.reach:,} later still changed a score ({tried})",
        ]
        if not np.isnan(self.pate_ap):
            what = "beginning that ends with it" if self.every_step else "shortest beginning tried that holds it"
            sentences.append(
                f"pate_ap {self.pate_ap:.4f} with the whole series, {self.pate_ap_causal:.4f} where each step has the "
                f"score of the {what}"
            )
        return sentences

    def __repr__(self) -> str:
        return "\n".join(folded(line, TERMINAL_WIDTH) for line in self.sentences())


def check_causal(
    detector: Any,
    values: npt.ArrayLike,
    *,
    labels: npt.ArrayLike | None = None,
    prefixes: int | None = 100,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    seed: int = 0,
    tolerance: float = 1e-9,
) -> CausalCheck:
    """Find out whether a detector uses the future: score growing beginnings of a series, and see what changes.

    The score of a step that changes when later steps come depends on them, or on where the series ends: nobody could
    have had it at the time. That nothing changes proves nothing of steps and series that were not tried.

    Parameters
    ----------
    detector : object or callable
        With ``score(values)``, fitted on other values; or a function from values to scores, such as
        ``lambda values: MyDetector().fit(values).score(values)`` for one that is fitted on what it scores.
    values : array-like
        Shape (steps,) or (steps, features).
    labels : array-like, optional
        One per step: then PATE is computed with and without the future.
    prefixes : int or None
        How many beginnings to score, of lengths drawn at random; None scores all of them, one for each step, which is
        exact and takes as many calls as there are steps.
    early, delay : int or iterable of int
        Buffers of PATE.
    seed : int
        Of the lengths.
    tolerance : float
        Share of the largest score up to which a difference is rounding; at least 1e-5 where scores have single
        precision.

    Returns
    -------
    CausalCheck

    Raises
    ------
    ValueError
        If the detector gives other scores for the same values when it is asked twice, or not one for each step.

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> values = np.random.default_rng(0).normal(size=300)
    >>> pv.check_causal(lambda values: np.abs(np.diff(values, prepend=values[:1])), values).causal
    True
    >>> found = pv.check_causal(lambda values: np.abs(values - values.mean()), values, prefixes=20)
    >>> found.causal, found.changed > 200
    (False, True)
    """
    series = np.asarray(values)
    if series.ndim not in (1, 2) or len(series) < 2:
        raise ValueError(f"values must have the shape (steps,) or (steps, features), two at least; got {series.shape}")
    steps = len(series)
    count = steps if prefixes is None else positive_integer(prefixes, "prefixes")
    if count < 2:
        raise ValueError("prefixes must be 2 at least: the whole series is one of them; got 1")
    tolerance = positive_number(tolerance, "tolerance")
    truth = None if labels is None else binary_array(labels, "labels")
    if truth is not None and truth.size != steps:
        raise ValueError(f"labels and values must have the same length; got {truth.size} and {steps}")
    score: Scorer = method if callable(method := getattr(detector, "score", None)) else detector
    if not callable(score):
        raise TypeError(f"detector must have score(values), or be a function of values; got {type(detector).__name__}")
    whole = _scores(score, series)
    if not np.array_equal(whole, _scores(score, series), equal_nan=True):
        raise ValueError("the detector gives other scores for the same values when it is asked twice: give it a seed")
    with np.errstate(over="ignore"):
        if np.array_equal(whole, whole.astype(np.float32), equal_nan=True):
            tolerance = max(tolerance, _SINGLE_PRECISION)
    allowed = tolerance * float(np.nanmax(np.abs(whole), initial=0.0))
    shortest = _shortest(score, series)
    if shortest == steps:
        raise ValueError(
            f"the detector scores no beginning that is shorter than all {steps} steps: nothing can be compared"
        )
    lengths = np.arange(shortest, steps)
    if lengths.size > count - 1:
        lengths = np.sort(np.random.default_rng(seed).choice(lengths, count - 1, replace=False))
    # What a step had when it was first seen, the largest change since, and after how many more steps there was one.
    first_seen, change, reach = np.full(steps, np.nan), np.zeros(steps), 0
    before: FloatArray = np.empty(0)
    for length in [*lengths.tolist(), steps]:
        now = whole if length == steps else _scores(score, series[:length])
        known = len(before)
        moved = np.flatnonzero(_difference(now[:known], before) > allowed)
        if moved.size:
            reach = max(reach, length - 1 - int(moved[0]))
        change[:known] = np.maximum(change[:known], _difference(now[:known], first_seen[:known]))
        first_seen[known:length] = now[known:]
        before = now
    is_changed = change > allowed
    first = int(np.argmax(is_changed)) if is_changed.any() else None
    both = [np.nan, np.nan]
    if truth is not None:
        both = [pate_ap(truth, scores, early=early, delay=delay, missing="ignore") for scores in (whole, first_seen)]
    return CausalCheck(
        causal=first is None,
        steps=steps,
        prefixes=len(lengths) + 1,
        shortest=shortest,
        changed=int(is_changed.sum()),
        first=first,
        before=np.nan if first is None else float(first_seen[first]),
        after=np.nan if first is None else float(whole[first]),
        largest=float(change.max()) if first is not None else 0.0,
        reach=reach,
        pate_ap=float(both[0]),
        pate_ap_causal=float(both[1]),
        every_step=len(lengths) == steps - shortest,
    )


def _scores(score: Scorer, values: npt.NDArray[Any]) -> FloatArray:
    with np.errstate(over="ignore"):
        scores = number_array(score(values), "the detector's scores", allow_missing=True).astype(np.float64)
    if scores.size != len(values):
        raise ValueError(f"the detector gave {scores.size} scores for {len(values)} steps")
    if np.isinf(scores).any():
        raise ValueError("the detector's scores must be finite, or NaN where there is none; found an infinite one")
    return scores


def _difference(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Distance of scores; a score that is there in one of them only is infinitely far."""
    missing = np.isnan(scores), np.isnan(others)
    distance = np.where(missing[0] | missing[1], np.inf, np.abs(scores - others))
    return np.where(missing[0] & missing[1], 0.0, distance)


def _shortest(score: Scorer, values: npt.NDArray[Any]) -> int:
    """Return the fewest steps that can be scored: detectors refuse series that are shorter than their window."""

    def is_scored(length: int) -> bool:
        try:
            _scores(score, values[:length])
        except ValueError:
            return False
        return True

    return 1 + bisect_left(range(1, len(values)), True, key=is_scored)
