"""What `evaluate` returns for several detectors: their evaluations side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pateval.evaluation.result import NOT_ABOVE, Evaluation
from pateval.output.results import Result


@dataclass(frozen=True, repr=False)
class EvaluationTable(Result, Mapping[str, Evaluation]):
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

    def columns(self) -> dict[str, list[Any]]:
        """One row per detector and metric, as columns."""
        found: dict[str, list[Any]] = {}
        for detector, evaluation in self.items():
            columns = evaluation.columns()
            for name, values in ({"detector": [detector] * len(evaluation)} | columns).items():
                found.setdefault(name, []).extend(values)
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per detector and metric as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        from pateval.output.frame_builder import build_frame

        return build_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry, by detector."""
        return {detector: evaluation.to_dict() for detector, evaluation in self.items()}

    def __repr__(self) -> str:
        first = next(iter(self.values()))
        has_chance = any(evaluation.chance for evaluation in self.values())
        # Chance is the same for all, unless scores decide which steps count or how many are predicted.
        one_level = all(evaluation.random_scores is first.random_scores for evaluation in self.values())
        titles = ["", "chance", *self] if has_chance and one_level else [""]
        rows = [[first.label(metric)] for metric in self.metrics]
        for row, metric in zip(rows, self.metrics, strict=True):
            if has_chance and one_level:
                row.append(_level(first, metric))
            for evaluation in self.values():
                missing = metric in evaluation.reasons
                row.append("-" if missing else f"{evaluation[metric]:.4f}{evaluation.mark(metric)}")
                if has_chance and not one_level:
                    row.append(_level(evaluation, metric))
        if not (has_chance and one_level):
            for detector in self:
                titles += [detector, "chance"] if has_chance else [detector]
        rows = [titles, *rows]
        widths = [max(len(row[place]) for row in rows) for place in range(len(titles))]
        lines = [
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        if any(evaluation.mark(metric) for evaluation in self.values() for metric in self.metrics):
            lines.append(NOT_ABOVE)
        for detector, evaluation in self.items():
            lines += [f"{detector}: {metric}: {reason}" for metric, reason in evaluation.reasons.items()]
            if evaluation.threshold_rule is not None:
                lines.append(f"{detector}: predictions: {evaluation.prediction_text}")
            lines += [f"{detector}: {note}" for note in evaluation.notes]
        return "\n".join(lines)


def _level(evaluation: Evaluation, metric: str) -> str:
    level = evaluation.chance.get(metric)
    return "-" if level is None else f"{level:.4f}"
