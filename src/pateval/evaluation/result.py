"""What `evaluate` returns: the values of one detector, with what decided them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pateval.catalog import canonical_id
from pateval.catalog.metric import Metric
from pateval.catalog.signatures import signature
from pateval.evaluation.threshold_rules import ORACLE
from pateval.output.results import Result
from pateval.time.timelines import StepCounts
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from pateval.evaluation.chance import RandomScores

NOT_ABOVE = "* not above chance: random scores do as well"


@dataclass(frozen=True, repr=False)
class Evaluation(Result, Mapping[str, float]):
    """Metric values by id; NaN where a metric is undefined.

    Attributes
    ----------
    values_by_id : dict
        The values themselves.
    reasons : dict
        For each undefined metric, why.
    threshold : float or None
        The threshold that turned scores into predictions, where one was needed and is the same for all steps.
    threshold_rule : str or None
        Where it came from. One that begins with "oracle" has used the labels.
    threshold_sign : {">=", ">"}
        Whether scores equal to the threshold are predicted.
    means : frozenset of str
        With several series: the metrics whose value is the mean over the series where they are defined; all others
        are computed over all steps together.
    notes : tuple of str
        What a reader should know, such as scores that are coarse.
    seconds : dict
        Time spent on each metric; work shared by several is booked on the first.
    metrics : tuple of Metric
        What was computed.
    options : dict
        The global options: ``early``, ``delay``, ``window``.
    predictions_from : str or float
        How predictions were made, as signatures say it: "given", a threshold, or a rule.
    several_series : bool
        Whether there was more than one series.
    steps : StepCounts
        How many steps and events were recorded, ignored, without a score and left out; ``steps.coverage``.
    circumstances : dict
        For each metric the fields ``clock``, ``ignored`` and ``missing`` of its signature, where they apply.
    lengths_in_steps : dict
        For metrics whose durations became steps: by id and option the number of steps, one per series.
    random_scores : RandomScores or None
        The random scores that ``chance`` is computed from; None where chance is left out.
    """

    values_by_id: dict[str, float]
    reasons: dict[str, str]
    threshold: float | None = None
    threshold_rule: str | None = None
    threshold_sign: str = ">="
    means: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    metrics: tuple[Metric, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    predictions_from: str | float = "given"
    several_series: bool = False
    steps: StepCounts | None = None
    circumstances: dict[str, dict[str, str]] = field(default_factory=dict)
    lengths_in_steps: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    random_scores: RandomScores | None = field(default=None, compare=False)

    def __getitem__(self, key: str) -> float:
        return self.values_by_id[self._id(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_id)

    def __len__(self) -> int:
        return len(self.values_by_id)

    def _id(self, key: str) -> str:
        """Find the id that a spelling means, of those that were computed."""
        if key in self.values_by_id or not isinstance(key, str) or "(" not in key:
            return key
        try:
            return canonical_id(key, self.metrics, global_values=self.options)
        except (ValueError, TypeError):
            return key

    @cached_property
    def signatures(self) -> dict[str, str]:
        """For each metric, one line that holds everything that decided its value; `parse_signature` reads it."""
        return {
            metric.id: signature(
                metric,
                self.options,
                predictions=self.predictions_from,
                series=("mean" if metric.id in self.means else "pooled") if self.several_series else None,
                **self.circumstances.get(metric.id, {}),
            )
            for metric in self.metrics
        }

    def signature(self, metric_id: str) -> str:
        """Everything that decided a metric's value, in one line.

        Parameters
        ----------
        metric_id : str
            Id of a metric that was computed, in any spelling.

        Examples
        --------
        >>> from pateval import evaluate
        >>> found = evaluate([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.3], metrics="point_f_beta(beta=0.5)")
        >>> found.signature("point_f_beta(beta=0.5)").rpartition("|")[0]
        'point_f_beta|beta:0.5|predictions:oracle:point_f1|definition:1'
        """
        return self.signatures[self._id(metric_id)]

    def label(self, metric: str) -> str:
        """Name of a metric for a table, with "(oracle)" where its threshold has used the labels."""
        uses_labels = (self.threshold_rule or "").startswith(ORACLE)
        needs = any(found.id == self._id(metric) and found.needs_threshold for found in self.metrics)
        return f"{metric} (oracle)" if uses_labels and needs else metric

    @property
    def prediction_text(self) -> str:
        """How scores became predictions, in words; empty where they did not.

        Examples
        --------
        >>> from pateval.evaluation import evaluate
        >>> evaluate([0, 1, 0], [0.1, 0.9, 0.2], metrics="point_f1").prediction_text
        'score >= 0.9 (oracle: best point F1)'
        """
        if self.threshold_rule is None:
            return ""
        level = f"{self.threshold:.6g}" if isinstance(self.threshold, float) else in_words(self.threshold)
        if self.threshold is None:
            level = "a threshold for each fit"
        return f"score {self.threshold_sign} {level} ({self.threshold_rule})"

    @property
    def chance(self) -> dict[str, float]:
        """For each metric the mean over random scores, computed when first asked for; empty with ``chance=0``.

        Examples
        --------
        >>> from pateval import evaluate
        >>> round(evaluate([0, 0, 1, 0], [0.1, 0.3, 0.9, 0.2], metrics="auc_roc", chance=200).chance["auc_roc"], 1)
        0.5
        """
        return {} if self.random_scores is None else self.random_scores.levels

    def is_above_chance(self, metric: str) -> bool | None:
        """Whether a value is better than what random scores reach; None where that is not known.

        Examples
        --------
        >>> from pateval import evaluate
        >>> found = evaluate([0, 0, 1, 0], [0.4, 0.3, 0.2, 0.1], metrics="auc_roc", chance=20)
        >>> found.is_above_chance("auc_roc")
        False
        """
        name = self._id(metric)
        level, value = self.chance.get(name), self.values_by_id[name]
        if level is None or math.isnan(value):
            return None
        higher = next(found.higher_is_better for found in self.metrics if found.id == name)
        return value > level if higher else value < level

    def mark(self, metric: str) -> str:
        """Return a star where a value is not above chance."""
        return "*" if self.is_above_chance(metric) is False else ""

    def columns(self) -> dict[str, list[Any]]:
        """One row per metric, as columns; NaN where there is no number."""
        coverage = None if self.steps is None else self.steps.coverage
        needs = {metric.id: metric.needs_threshold for metric in self.metrics}
        return {
            "metric": list(self),
            "value": list(self.values()),
            "reason": [self.reasons.get(metric) for metric in self],
            "chance": [self.chance.get(metric, math.nan) for metric in self],
            "above_chance": [self.is_above_chance(metric) for metric in self],
            "threshold": [self.threshold if needs.get(metric) else None for metric in self],
            "threshold_rule": [self.threshold_rule if needs.get(metric) else None for metric in self],
            "mean_over_series": [metric in self.means for metric in self],
            "coverage": [coverage] * len(self),
            "signature": [self.signatures.get(metric) for metric in self],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per metric as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.

        Examples
        --------
        >>> from pateval import evaluate
        >>> found = evaluate([0, 1, 0], [0.1, 0.9, 0.2], metrics=["auc_roc", "point_f1"])
        >>> found.to_frame("pyarrow").column("value").to_pylist()
        [1.0, 1.0]
        """
        from pateval.output.frame_builder import build_frame

        return build_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined.

        Examples
        --------
        >>> from pateval import evaluate
        >>> evaluate([0, 0, 0], [0.1, 0.2, 0.3], metrics="auc_roc").to_dict()["metrics"]["auc_roc"]["value"] is None
        True
        """
        from pateval.output.text_table import plain

        metrics = {
            name: {
                "value": value,
                "reason": self.reasons.get(name),
                "chance": self.chance.get(name),
                "above_chance": self.is_above_chance(name),
                "signature": self.signatures.get(name),
                "mean_over_series": name in self.means,
            }
            for name, value in self.items()
        }
        found: dict[str, Any] = plain(
            {
                "metrics": metrics,
                "threshold": self.threshold,
                "threshold_rule": self.threshold_rule,
                "threshold_sign": self.threshold_sign,
                "options": dict(self.options),
                "steps": None if self.steps is None else asdict(self.steps) | {"coverage": self.steps.coverage},
                "lengths_in_steps": self.lengths_in_steps,
                "notes": self.notes,
            }
        )
        return found

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        columns = ["metric", "value", *(["chance"] if self.chance else []), *(["why"] if self.reasons else [])]
        rows = [
            [
                self.label(metric),
                f"{value:.4f}{self.mark(metric)}" if metric not in self.reasons else "-",
                *([self.chance.get(metric)] if self.chance else []),
                *([self.reasons.get(metric, "")] if self.reasons else []),
            ]
            for metric, value in self.items()
        ]
        lines = [f"predictions: {self.prediction_text}"] if self.threshold_rule is not None else []
        if any(self.mark(metric) for metric in self):
            lines.append(NOT_ABOVE)
        if self.means:
            lines.append(f"mean over series: {', '.join(metric for metric in self if metric in self.means)}")
        right = [name in ("value", "chance") for name in columns]
        return fragment(tables=[FragmentTable(columns, rows, right)], lines=[*lines, *self.notes])

    def __repr__(self) -> str:
        width = max(len(self.label(metric)) for metric in self)
        lines = [
            f"{self.label(metric):{width}}  " + self.reasons.get(metric, f"{value:.4f}{self._beside(metric)}")
            for metric, value in self.items()
        ]
        if any(self.mark(metric) for metric in self):
            lines.append(NOT_ABOVE)
        if self.threshold_rule is not None:
            lines.append(f"predictions: {self.prediction_text}")
        if self.means:
            lines.append(f"mean over series: {', '.join(metric for metric in self if metric in self.means)}")
        return "\n".join([*lines, *self.notes])

    def _beside(self, metric: str) -> str:
        level = self.chance.get(metric)
        return "" if level is None else f"{self.mark(metric):1}  chance {level:.4f}"
