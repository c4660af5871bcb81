"""What `evaluate` returns: the values of one detector, with what decided them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from pateval.catalog.metric import Metric
from pateval.evaluation.chance import chance_key, chance_of
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Value, is_above_chance, mean_value
from pateval.output.results import Result, columns_of_records
from pateval.time.timelines import Recording, StepCounts

NOT_ABOVE = "* not above chance: random scores do as well"
BINARY = "the scores are 0 and 1 only: they are taken as predictions, and no threshold rule is applied"


@dataclass(frozen=True, eq=False)
class Chance:
    """What random scores reach on the steps of an evaluation, computed when it is first asked for.

    Several draws cost several times what a detector does, and most evaluations are asked for a few values only. So that
    the answer does not hang on what callers do to their arrays in between, the arrays here are copies.

    Attributes
    ----------
    parts : list of list of tuple
        For each series, and each run on it, the recording and the detector's values there.
    measures : Measures
        What to compute.
    """

    parts: list[list[tuple[Recording, dict[str, Value]]]]
    measures: Measures

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal where random scores reach the same."""
        return tuple(tuple(chance_key(part, self.measures, values) for part, values in runs) for runs in self.parts)

    @cached_property
    def levels(self) -> dict[str, float]:
        """Mean of each metric over the draws, the runs and the series where the detector has a value."""
        if not self.measures.chance:
            return {}
        by_series = [
            [(chance_of(recording, self.measures, found), found) for recording, found in runs] for runs in self.parts
        ]
        levels = {}
        for metric in self.measures.ids:
            reached = [
                mean_value([drawn[metric] for drawn, _ in runs if metric in drawn])
                for runs in by_series
                if any(metric in drawn and not found[metric].reason for drawn, found in runs)
            ]
            mean = mean_value(reached) if reached else None
            if mean is not None and not mean.reason:
                levels[metric] = mean.value
        return levels


@dataclass(frozen=True, repr=False)
class Evaluation(Result, Mapping[str, float]):
    """Metric values by id; NaN where a metric is undefined.

    With several series a value is the mean over the series where it is defined, thresholds chosen on each; with
    ``pooled=True`` all steps are one sample.

    Attributes
    ----------
    values_by_id : dict
        The values themselves.
    reasons : dict
        For each undefined metric, why.
    measures : Measures
        What was computed, with which options.
    by_series : tuple of dict
        For each series that counts, the values by metric: what the means are taken over. One where series are pooled.
    series, runs : int
        How many series there are, and how many runs of the detector, whose mean on each series is taken.
    given : bool
        Whether predictions were given, or scores are 0 and 1 and so were taken for them.
    notes : tuple of str
        What a reader should know, such as scores that are coarse.
    seconds : dict
        Time spent on each metric; work shared by several is booked on the first.
    steps : StepCounts
        How many steps and events were recorded, ignored, without a score and left out; ``steps.coverage``.
    circumstances : dict
        For each metric the fields ``clock``, ``ignored`` and ``missing`` of its signature, where they apply.
    lengths_in_steps : dict
        For metrics whose durations became steps: by id and option the number of steps, one per series.
    random_scores : Chance or None
        What ``chance`` is computed from; None where chance is left out.
    """

    values_by_id: dict[str, float]
    reasons: dict[str, str]
    measures: Measures
    by_series: tuple[dict[str, Value], ...] = ()
    series: int = 1
    runs: int = 1
    given: bool = False
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    steps: StepCounts | None = None
    circumstances: dict[str, dict[str, str]] = field(default_factory=dict)
    lengths_in_steps: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    random_scores: Chance | None = field(default=None, compare=False)

    def __getitem__(self, key: str) -> float:
        return self.values_by_id[self.measures.id_of(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_id)

    def __len__(self) -> int:
        return len(self.values_by_id)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What was computed."""
        return self.measures.metrics

    @property
    def options(self) -> dict[str, Any]:
        """The global options: ``early``, ``delay``, ``window``."""
        return self.measures.options

    def thresholds(self, metric: str) -> tuple[float | None, ...]:
        """The threshold that turned scores into predictions on each series; None where there was no need of one."""
        return tuple(values[self.measures.id_of(metric)].threshold for values in self.by_series)

    @property
    def threshold(self) -> float | None:
        """The threshold of the metrics that name none, where it is the same on all series."""
        first = self._first_cut
        levels = set() if first is None else set(self.thresholds(first.id))
        return levels.pop() if len(levels) == 1 else None

    @property
    def threshold_rule(self) -> str | None:
        """Where the threshold of the metrics that name none comes from; None where no threshold was needed."""
        first = self._first_cut
        return None if first is None else self.measures.rule(first).description

    @property
    def threshold_sign(self) -> str:
        """Whether scores equal to the threshold are predicted: ">=" or ">"."""
        return ">=" if self._first_cut is None else self.measures.rule(self._first_cut).sign

    @property
    def _first_cut(self) -> Metric | None:
        """The first metric for which a threshold was chosen by the rule for all that name none."""
        for metric in self.metrics:
            if metric.needs_threshold and metric.threshold is None and any(map(_is_known, self.thresholds(metric.id))):
                return metric
        return None

    @property
    def means(self) -> frozenset[str]:
        """The metrics whose value is a mean over several series."""
        return frozenset(self if self.series > 1 and not self.measures.pooled else ())

    def defined_on(self, metric: str) -> int:
        """On how many series a metric is defined."""
        return sum(not values[self.measures.id_of(metric)].reason for values in self.by_series)

    @cached_property
    def signatures(self) -> dict[str, str]:
        """For each metric, one line that holds everything that decided its value; `parse_signature` reads it."""
        return {
            metric.id: self.measures.signature(
                metric, series=self.series, given=self.given, **self.circumstances.get(metric.id, {})
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
        return self.signatures[self.measures.id_of(metric_id)]

    def label(self, metric: str) -> str:
        """Name of a metric for a table, with "(oracle)" or "(best)" where its threshold has used the labels."""
        name = self.measures.id_of(metric)
        return self.measures.by_id[name].plain_id if self.given else self.measures.labels[name]

    @property
    def prediction_text(self) -> str:
        """How scores became predictions for the metrics that name no threshold, in words; empty where they did not.

        Examples
        --------
        >>> from pateval.evaluation import evaluate
        >>> evaluate([0, 1, 0], [0.1, 0.9, 0.2], metrics="point_f1").prediction_text
        'score >= 0.9 (oracle: best point F1)'
        """
        if self.threshold_rule is None:
            return ""
        level = "a threshold for each series" if self.threshold is None else f"{self.threshold:.6g}"
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
        name = self.measures.id_of(metric)
        return is_above_chance(self.values_by_id[name], self.chance.get(name), self.measures.by_id[name])

    def mark(self, metric: str) -> str:
        """Return a star where a value is not above chance."""
        return "*" if self.is_above_chance(metric) is False else ""

    def rows(self) -> list[dict[str, Any]]:
        """One row per metric; None where there is no number."""
        coverage = None if self.steps is None else self.steps.coverage
        found = []
        for metric in self.metrics:
            rule = self.measures.rule(metric) if metric.needs_threshold and not self.given else None
            levels = set(self.thresholds(metric.id))
            found.append(
                {
                    "metric": metric.id,
                    "value": self.values_by_id[metric.id],
                    "reason": self.reasons.get(metric.id),
                    "chance": self.chance.get(metric.id),
                    "above_chance": self.is_above_chance(metric.id),
                    "threshold": next(iter(levels)) if len(levels) == 1 else None,
                    "threshold_rule": None if rule is None else rule.description,
                    "series": self.series,
                    "defined_on": self.defined_on(metric.id),
                    "coverage": coverage,
                    "signature": self.signatures[metric.id],
                }
            )
        return found

    def columns(self) -> dict[str, Any]:
        """Return the columns of `rows`, by name.

        Examples
        --------
        >>> from pateval import evaluate
        >>> found = evaluate([0, 1, 0], [0.1, 0.9, 0.2], metrics=["auc_roc", "point_f1"])
        >>> found.to_frame("pyarrow").column("value").to_pylist()
        [1.0, 1.0]
        """
        return columns_of_records(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, with None for what is undefined.

        Examples
        --------
        >>> from pateval import evaluate
        >>> evaluate([0, 0, 0], [0.1, 0.2, 0.3], metrics="auc_roc").to_dict()["metrics"]["auc_roc"]["value"] is None
        True
        """
        from pateval.output.text_table import plain

        found: dict[str, Any] = plain(
            {
                "metrics": {row.pop("metric"): row for row in self.rows()},
                "threshold": self.threshold,
                "threshold_rule": self.threshold_rule,
                "threshold_sign": self.threshold_sign,
                "options": dict(self.options),
                "pooled": self.measures.pooled,
                "steps": None if self.steps is None else asdict(self.steps) | {"coverage": self.steps.coverage},
                "lengths_in_steps": self.lengths_in_steps,
                "notes": self.notes,
            }
        )
        return found

    def remarks(self) -> list[str]:
        """What stands below the values: marks, where predictions came from, how series were joined, notes."""
        lines = [NOT_ABOVE] if any(self.mark(metric) for metric in self) else []
        if self.threshold_rule is not None:
            lines.append(f"predictions: {self.prediction_text}")
        if self.series > 1:
            lines.append(self._over())
        if self.runs > 1:
            lines.append(f"{self.runs} runs: each series counts with its mean over them")
        return [*lines, *self.notes]

    def _over(self) -> str:
        if self.measures.pooled:
            return f"all steps of {self.series} series are one sample"
        fewer = [f"{metric} on {self.defined_on(metric)}" for metric in self if self.defined_on(metric) < self.series]
        return f"means over {self.series} series{'; defined on fewer: ' if fewer else ''}{', '.join(fewer)}"

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
        right = [name in ("value", "chance") for name in columns]
        return fragment(tables=[FragmentTable(columns, rows, right)], lines=self.remarks())

    def __repr__(self) -> str:
        width = max(len(self.label(metric)) for metric in self)
        lines = [
            f"{self.label(metric):{width}}  " + self.reasons.get(metric, f"{value:.4f}{self._beside(metric)}")
            for metric, value in self.items()
        ]
        return "\n".join([*lines, *self.remarks()])

    def _beside(self, metric: str) -> str:
        level = self.chance.get(metric)
        return "" if level is None else f"{self.mark(metric):1}  chance {level:.4f}"


def _is_known(threshold: float | None) -> bool:
    return threshold is not None
