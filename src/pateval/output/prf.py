"""Precision, recall and F1: what every metric on predictions returns."""

from __future__ import annotations

from typing import NamedTuple

from pateval.output.results import Result
from pateval.validation.checked import BETA


class _PrfFields(NamedTuple):
    precision: float
    recall: float
    f1: float


class PRF(_PrfFields, Result):
    """Precision, recall and their harmonic mean.

    Examples
    --------
    >>> PRF.of(0.5, 1.0)
    PRF(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """

    __slots__ = ()

    @classmethod
    def of(cls, precision: float, recall: float) -> PRF:
        """Complete precision and recall with F1, which is 0 where both are 0."""
        precision, recall = float(precision), float(recall)
        return cls(precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0)

    @classmethod
    def from_counts(cls, true_positive: float, false_positive: float, false_negative: float) -> PRF:
        """Precision and recall from (possibly weighted) counts; 0 where there is nothing to divide by."""
        return cls.of(
            ratio(true_positive, true_positive + false_positive), ratio(true_positive, true_positive + false_negative)
        )

    def f_beta(self, beta: float) -> float:
        r"""Weighted harmonic mean, in which recall counts ``beta`` times as much as precision.

        .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

        It is 0 where precision and recall are 0. A precision below 0, which some metrics have, counts by its size and
        gives the result its sign.

        Parameters
        ----------
        beta : float
            Not negative: 0 gives the precision, 1 the F1.

        Examples
        --------
        >>> PRF.of(0.5, 1.0).f_beta(2)
        0.8333333333333334
        """
        square = BETA.check(beta, "beta") ** 2
        if square == 1.0:
            return self.f1
        return ratio((1 + square) * self.precision * self.recall, square * abs(self.precision) + self.recall)


def ratio(part: float, whole: float) -> float:
    """Return ``part / whole``, and 0 where ``whole`` is 0."""
    return float(part) / float(whole) if whole else 0.0
