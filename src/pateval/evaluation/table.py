"""What `evaluate` returns for several detectors: their evaluations side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pateval.evaluation.result import NOT_ABOVE, Evaluation
from pateval.output.results import TableResult, columns_of_records
from pateval.output.text_table import beside_names, plain, render


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
        evaluations = list(self.values())
        ((shared, number),) = Counter(evaluation.random_scores for evaluation in evaluations).most_common(1)
        is_shared = shared is not None and (number > 1 or len(self) == 1)
        level_of = next(evaluation for evaluation in evaluations if evaluation.random_scores is shared)
        named = next((evaluation for evaluation in evaluations if not evaluation.given), evaluations[0])
        with_own = [
            one.random_scores is not None and not (is_shared and one.random_scores is shared) for one in evaluations
        ]
        header = ["metric", *(["chance"] if is_shared else [])]
        for name, has_own in zip(self, with_own, strict=True):
            header += [name, f"chance of {name}"] if has_own else [name]
        is_marked = any(evaluation.mark(metric) for evaluation in evaluations for metric in self.metrics)
        rows = []
        for metric in self.metrics:
            row = [named.label(metric), *([_level(level_of, metric)] if is_shared else [])]
            for evaluation, has_own in zip(evaluations, with_own, strict=True):
                mark = evaluation.mark(metric) or " " * is_marked
                row.append("-" if metric in evaluation.reasons else f"{evaluation[metric]:.4f}{mark}")
                row += [_level(evaluation, metric)] if has_own else []
            rows.append(row)
        return header, rows

    def remarks(self) -> list[str]:
        """What stands below the table: reasons, where predictions came from, notes; what all share stands once."""
        lines: dict[str, list[str]] = {}
        for name, evaluation in self.items():
            said = [f"{metric}: {reason}" for metric, reason in evaluation.reasons.items()]
            for line in [*said, *(line for line in evaluation.remarks() if line != NOT_ABOVE)]:
                lines.setdefault(line, []).append(name)
        alone = len(self) == 1
        return [
            line if alone or len(names) == len(self) > 1 else f"{', '.join(names)}: {line}"
            for line, names in lines.items()
        ]

    def text(self, width: int | None = None) -> str:
        """The table with a legend, in lines of at most ``width`` characters; None is any width."""
        header, rows = self.table()
        table = beside_names(header, rows, width=width)
        is_marked = any(cell.endswith("*") for row in rows for cell in row)
        return f"{table}\n\n{NOT_ABOVE}" if is_marked else table

    def rendered(self, style: str, width: int | None = None) -> str:
        """The table in one of the formats of the command line: for programs a row per value, with all options."""
        if style not in ("json", "csv"):
            return super().rendered(style, width)
        rows = self.rows()
        for row in rows:
            options = plain(self[row["detector"]].options)
            text = " ".join(f"{name}={value}" for name, value in options.items())
            row["options"] = options if style == "json" else text
        return render(list(rows[0]), [list(row.values()) for row in rows], style)

    def __repr__(self) -> str:
        return "\n".join([self.text(), *self.remarks()])


def _level(evaluation: Evaluation, metric: str) -> str:
    level = evaluation.chance.get(metric)
    return "-" if level is None else f"{level:.4f}"
