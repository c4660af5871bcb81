"""What `evaluate` returns: the values of one detector with what decided them, or those of several side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from pateval.catalog import DEFAULT_METRICS
from pateval.catalog.metric import Metric
from pateval.evaluation.chance import Chance
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Value, deviation, is_above_chance
from pateval.output.results import Result, TableResult, columns_of_records
from pateval.output.text_table import beside_names, folded, how_many_fit, plain, render
from pateval.time.timelines import StepCounts
from pateval.validation.wording import counted

NOT_ABOVE = "* not above chance: random scores do as well"
BINARY = "scores of 0 and 1 only are predictions; no threshold is applied"
_MOST_THRESHOLDS = 3  # of several detectors, told one by one below a table; JSON and CSV have all


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
    circumstances: dict[str, dict[str, Any]] = field(default_factory=dict)
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
            levels = self.thresholds(metric.id) if metric.needs_threshold and metric.threshold is None else ()
            if any(level is not None for level in levels):
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
        """Name of a metric for a table: "(oracle)" or "(best)" where labels chose its threshold, and a rate's unit."""
        name = self.measures.id_of(metric)
        label = self.measures.by_id[name].plain_id if self.given else self.measures.labels[name]
        return f"{label}{self.measures.unit(name, self.signatures[name])}"

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
        higher_is_better = self.measures.by_id[name].higher_is_better
        return is_above_chance(self.values_by_id[name], self.chance.get(name), higher_is_better=higher_is_better)

    def mark(self, metric: str) -> str:
        """Return a star where a value is not above chance."""
        return "*" if self.is_above_chance(metric) is False else ""

    def rows(self) -> list[dict[str, Any]]:
        """One row per metric; None where there is no number."""
        return [self._row(metric) for metric in self.metrics]

    def _row(self, metric: Metric) -> dict[str, Any]:
        is_cut, levels = metric.needs_threshold and not self.given, set(self.thresholds(metric.id))
        return {
            "metric": metric.id,
            "value": self.values_by_id[metric.id],
            "reason": self.reasons.get(metric.id),
            "chance": self.chance.get(metric.id),
            "above_chance": self.is_above_chance(metric.id),
            "threshold": levels.pop() if len(levels) == 1 else None,
            "threshold_rule": self.measures.rule(metric).description if is_cut else None,
            "series": self.series,
            "defined_on": self.defined_on(metric.id),
            "coverage": None if self.steps is None else self.steps.coverage,
            "signature": self.signatures[metric.id],
        }

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
        return plain(
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

        values = {metric: f"{value:.4f}{self.mark(metric)}" for metric, value in self.items()}
        columns: dict[str, list[Any]] = {"metric": list(map(self.label, self))}
        columns["value"] = ["-" if metric in self.reasons else value for metric, value in values.items()]
        if self.chance:
            columns["chance"] = list(map(self.chance.get, self))
        if self.reasons:
            columns["why"] = [self.reasons.get(metric, "") for metric in self]
        rows = list(map(list, zip(*columns.values(), strict=True)))
        right = [name in ("value", "chance") for name in columns]
        return fragment(tables=[FragmentTable(list(columns), rows, right)], lines=self.remarks())

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


@dataclass(frozen=True, repr=False)
class EvaluationTable(TableResult, Mapping[str, Evaluation]):
    """Evaluations by the name of the detector.

    Attributes
    ----------
    evaluations : dict
        The evaluations themselves.

    Examples
    --------
    >>> import pateval as pv
    >>> table = pv.evaluate([0, 0, 1, 1], {"a": [0.1, 0.2, 0.9, 0.8], "b": [0.3, 0.1, 0.2, 0.4]}, metrics="auc_roc")
    >>> table["b"]["auc_roc"]
    0.75
    """

    evaluations: dict[str, Evaluation]

    def __getitem__(self, detector: str) -> Evaluation:
        return self.evaluations[detector]

    def __iter__(self) -> Iterator[str]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids of the metrics."""
        return tuple(next(iter(self.values())))

    def rows(self) -> list[dict[str, Any]]:
        """One row per detector and metric."""
        return [{"detector": name, **row} for name, evaluation in self.items() for row in evaluation.rows()]

    def columns(self) -> dict[str, Any]:
        """Return the columns of `rows`, by name."""
        return columns_of_records(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, by detector."""
        return {detector: evaluation.to_dict() for detector, evaluation in self.items()}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people: a row per metric, a column per detector, and what chance reaches.

        A star marks what is not above chance. Chance has one column where it is the same for most; detectors with
        another, since their scores decide which steps count or how many are predicted, have one of their own.
        """
        evaluations, metrics = list(self.values()), self.metrics
        ((shared, number),) = Counter(evaluation.random_scores for evaluation in evaluations).most_common(1)
        shared = shared if number > 1 or len(self) == 1 else None
        is_marked = any(evaluation.mark(metric) for evaluation in evaluations for metric in metrics)
        columns = [["metric", *map(self._named.label, metrics)]]
        columns += [] if shared is None else [["chance", *_levels(shared, metrics)]]
        for name, evaluation in self.items():
            columns.append([name])
            for metric in metrics:
                mark = evaluation.mark(metric) or " " * is_marked
                columns[-1].append("-" if metric in evaluation.reasons else f"{evaluation[metric]:.4f}{mark}")
            own = evaluation.random_scores
            if own is not None and own is not shared:
                columns.append([f"chance of {name}", *_levels(own, metrics)])
        header, *rows = map(list, zip(*columns, strict=True))
        return header, rows

    @property
    def _named(self) -> Evaluation:
        """The first of which a rule made predictions, where there is one: it says which."""
        return next((one for one in self.values() if not one.given), next(iter(self.values())))

    def remarks(self) -> list[str]:
        """What stands below the table: reasons, where predictions came from, notes; what all share stands once."""
        lines: dict[str, list[str]] = {}
        together = self._thresholds_in_one_line()
        for name, evaluation in self.items():
            said = [f"{metric}: {reason}" for metric, reason in evaluation.reasons.items()]
            for line in [*said, *(line for line in evaluation.remarks() if line != NOT_ABOVE)]:
                is_threshold = evaluation.threshold is not None and line == f"predictions: {evaluation.prediction_text}"
                lines.setdefault(together if together and is_threshold else line, []).append(name)
        alone = len(self) == 1
        return [
            line if alone or line == together or len(names) == len(self) > 1 else f"{', '.join(names)}: {line}"
            for line, names in lines.items()
        ]

    def _thresholds_in_one_line(self) -> str:
        """What stands for the thresholds of many detectors by one rule; empty where each is told."""
        rules = {(one.threshold_sign, one.threshold_rule) for one in self.values() if one.threshold_rule is not None}
        thresholds = {one.threshold for one in self.values() if one.threshold is not None}
        if len(rules) != 1 or len(thresholds) <= _MOST_THRESHOLDS:
            return ""
        ((sign, rule),) = rules
        return f"predictions: score {sign} a threshold for each detector ({rule})"

    def text(self, width: int | None = None) -> str:
        """The table with a legend, in lines of at most ``width`` characters; None is any width.

        Detectors that do not fit side by side stand in rows, where that takes fewer lines. Of the default metrics as
        many are shown then as fit, and the legend names the others; metrics that were asked for are shown all.
        """
        header, rows = self.table()
        is_marked = any(cell.endswith("*") for row in rows for cell in row)
        table, hidden = beside_names(header, rows, width=width), list[str]()
        if width is not None and how_many_fit(header, rows, width) < len(header):
            names, lines = _turned(header, rows, is_marked)
            if self.metrics == DEFAULT_METRICS:
                shown = how_many_fit(names, lines, width)
                names, hidden, lines = names[:shown], names[shown:], [line[:shown] for line in lines]
            turned = beside_names(names, lines, width=width)
            if turned.count("\n") < table.count("\n"):
                table = turned
            else:
                hidden = []
        legend = [NOT_ABOVE] if is_marked else []
        legend += [folded(f"not shown for want of room (--wide): {', '.join(hidden)}", width)] if hidden else []
        return "\n".join([table, "", *legend] if legend else [table])

    def to_latex(self, *, names: Mapping[str, str] | None = None, caption: str | None = None, label: str = "") -> str:
        """Return a table for a paper, for the package booktabs; see :meth:`pateval.Leaderboard.to_latex`.

        With several series the standard deviation over them stands behind every mean.
        """
        from pateval.output.paper_table import PaperCell, PaperColumn, paper_table

        evaluations = list(self.values())
        named = self._named
        columns = []
        for metric in named.metrics:
            cells = []
            for one in evaluations:
                value = None if metric.id in one.reasons else one[metric.id]
                spread = deviation([values[metric.id].value for values in one.by_series])
                limits = () if spread is None else (spread,)
                cells.append(PaperCell(value, limits, one.is_above_chance(metric.id)))
            levels = [one.chance.get(metric.id) for one in evaluations]
            chance = [level for level in levels if level is not None]
            facts = (metric.id, named.label(metric.id), metric.higher_is_better)
            columns.append(PaperColumn(*facts, cells, chance, named.signatures[metric.id]))
        over = "one series" if named.series == 1 else named._over()
        about = f"{counted(len(self), 'detector')}, {over}" if caption is None else caption
        others = [name for name, one in self.items() if one.signatures != named.signatures]
        return paper_table(list(self), columns, names=names, caption=about, label=label, others=others)

    def rendered(self, style: str, width: int | None = None) -> str:
        """The table in one of the formats of the command line: for programs a row per value, with all options."""
        if style not in ("json", "csv"):
            return self.to_latex() if style == "latex" else super().rendered(style, width)
        rows = self.rows()
        for row in rows:
            options = plain(self[row["detector"]].options)
            text = " ".join(f"{name}={value}" for name, value in options.items())
            row["options"] = options if style == "json" else text
        return render(list(rows[0]), [list(row.values()) for row in rows], style)

    def __repr__(self) -> str:
        return "\n".join([self.text(), *self.remarks()])


def _levels(chance: Chance, metrics: Iterable[str]) -> list[str]:
    return [f"{chance.levels[metric]:.4f}" if metric in chance.levels else "-" for metric in metrics]


def _turned(header: list[str], rows: list[list[str]], is_marked: bool) -> tuple[list[str], list[list[str]]]:
    """A row per metric as a row per detector; where some values have a star, all leave room for it."""
    labels = [row[0] for row in rows]
    columns = list(zip(*rows, strict=True))[1:]
    cells = [[f"{cell} " if is_marked and cell[-1] not in "* " else cell for cell in column] for column in columns]
    return ["detector", *labels], [[name, *line] for name, line in zip(header[1:], cells, strict=True)]
