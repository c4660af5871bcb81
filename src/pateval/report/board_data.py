"""What a report says of a leaderboard, as plain data: from one in memory, or from the folder it was saved to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io import TableError
from pateval.output.text_table import plain
from pateval.report.inputs import Digests, Input, inputs_of_folder, inputs_of_plan, read_run, saved_digests
from pateval.validation.wording import listed, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from pateval.leaderboards.result import Leaderboard

SUMMARY = ("n", "undefined", "mean", "median", "low", "high", "pooled", "chance", "skill", "mean_rank")


@dataclass(frozen=True)
class BoardData:
    """A leaderboard as a report needs it.

    Attributes
    ----------
    detectors, series, metrics : tuple of str
        The axes.
    values : ndarray
        Detectors by series by metrics; NaN where there is none.
    reasons : dict
        (detector, series, metric), as places, to the reason why there is no value.
    rank_by : str
        The metric that orders the detectors.
    directions : dict
        Metric to whether higher is better.
    summary : dict
        Metric to the columns of the summary, a number per detector.
    significance : dict
        Metric to its tests.
    agreement : list
        Metrics by metrics: Kendall's tau.
    signatures : dict
        Metric to all that decided its values.
    coarse : tuple of str
        Detectors with coarse scores.
    doubt : dict or None
        What moving the edges of events does: ``doubt`` (how far), ``draws`` and ``rows``.
    checks, warnings, notes, failures : list
        What stands against the numbers, and what was noticed.
    run : dict
        What was run, with what.
    inputs : list of Input
        Where labels and scores are.
    digests : dict or None
        What their content must be; None where they are known to be the same.
    problems : list of str
        Inputs that are gone, a sentence each.
    title : str
        What to call it.
    """

    detectors: tuple[str, ...]
    series: tuple[str, ...]
    metrics: tuple[str, ...]
    values: npt.NDArray[np.float64]
    reasons: dict[tuple[int, int, int], str]
    rank_by: str
    directions: dict[str, bool]
    summary: dict[str, dict[str, list[Any]]]
    significance: dict[str, dict[str, Any]]
    agreement: list[list[float | None]]
    signatures: dict[str, str]
    coarse: tuple[str, ...] = ()
    doubt: dict[str, Any] | None = None
    checks: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    digests: Digests | None = None
    problems: list[str] = field(default_factory=list)
    title: str = "Leaderboard"

    def table(self, metric: str) -> npt.NDArray[np.float64]:
        """Values of one metric, series by detectors."""
        return self.values[:, :, self.metrics.index(metric)].T


def data_of_board(board: Leaderboard, title: str = "Leaderboard") -> BoardData:
    """Take what is needed from a leaderboard in memory."""
    places = np.argwhere((board.reason_codes > 0) & board.present[:, :, None])
    return BoardData(
        detectors=board.detectors,
        series=board.series,
        metrics=board.metrics,
        values=board.values,
        reasons={(d, s, m): board.reason_texts[board.reason_codes[d, s, m]] for d, s, m in places.tolist()},
        rank_by=board.rank_by,
        directions={metric: board.facts[metric].higher_is_better for metric in board.metrics},
        summary=_columns(board.summary().to_pylist(), board.detectors, board.metrics),
        significance={metric: board.significance(metric).to_dict() for metric in board.metrics},
        agreement=_matrix(board.agreement().to_pylist(), board.metrics),
        signatures=dict(board.signatures),
        coarse=board.coarse,
        doubt=None if board.doubt is None else plain(board.doubt.to_dict()),
        checks=[check._asdict() for check in board.checks],
        warnings=list(board.warnings),
        notes=list(board.notes),
        failures=list(board.failures),
        run=plain(dict(board.run)),
        inputs=[] if board.plan is None else inputs_of_plan(board.plan),
        title=title,
    )


def data_of_folder(folder: Path, title: str | None = None) -> BoardData:
    """Read what is needed from the folder of a saved leaderboard.

    Raises
    ------
    TableError
        If it is no such folder, or one of its files is missing or damaged.
    """
    from pyarrow import csv

    run = read_run(folder)
    detectors, series, metrics = (tuple(run[name]) for name in ("detectors", "series", "metrics"))
    values, reasons = _read_scores(folder / "scores.parquet", detectors, series, metrics)
    try:
        summary = csv.read_csv(folder / "summary.csv", convert_options=_texts("detector", "metric")).to_pylist()
        agreement = csv.read_csv(folder / "agreement.csv", convert_options=_texts("metric")).to_pylist()
        tests = json.loads((folder / "significance.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TableError(f"{folder}: the leaderboard is incomplete ({error}); compute it again") from error
    inputs, problems = inputs_of_folder(folder, run)
    return BoardData(
        detectors=detectors,
        series=series,
        metrics=metrics,
        values=values,
        reasons=reasons,
        rank_by=run["rank_by"],
        directions=run.get("directions") or _directions(metrics),
        summary=_columns(summary, detectors, metrics),
        significance=tests,
        agreement=_matrix(agreement, metrics),
        signatures=run.get("signatures", {}),
        coarse=tuple(run.get("coarse", ())),
        doubt=_read_doubt(folder, run),
        checks=run.get("checks", []),
        warnings=run.get("warnings", []),
        notes=run.get("notes", []),
        failures=run.get("failures", []),
        run=run,
        inputs=inputs,
        digests=saved_digests(folder),
        problems=problems,
        title=title or folder.resolve().name,
    )


def _read_doubt(folder: Path, run: Mapping[str, Any]) -> dict[str, Any] | None:
    from pyarrow import csv

    path, known = folder / "doubt.csv", run.get("doubt")
    if not known or not path.is_file():
        return None
    rows = csv.read_csv(path, convert_options=_texts("metric", "detector")).to_pylist()
    return {"doubt": known["amount"], "draws": known["draws"], "rows": plain(rows)}


def _read_scores(
    path: Path, detectors: tuple[str, ...], series: tuple[str, ...], metrics: tuple[str, ...]
) -> tuple[npt.NDArray[np.float64], dict[tuple[int, int, int], str]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=["detector", "series", "metric", "value", "reason"])
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: not readable ({one_line(error, 160)})") from error
    axes = (("detector", detectors), ("series", series), ("metric", metrics))
    places = tuple(
        np.asarray(pc.index_in(table[name].combine_chunks().cast(pa.string()), pa.array(names, pa.string())))
        for name, names in axes
    )
    # A detector with several runs has several rows for a series, which counts with their mean.
    given_values = np.asarray(table["value"].combine_chunks().to_numpy(zero_copy_only=False))
    defined = ~np.isnan(given_values)
    sums, counts = (np.zeros((len(detectors), len(series), len(metrics))) for _ in range(2))
    np.add.at(sums, tuple(place[defined] for place in places), given_values[defined])
    np.add.at(counts, tuple(place[defined] for place in places), 1.0)
    values = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    given = np.asarray(table["reason"].is_valid())
    texts = table["reason"].filter(pa.array(given)).to_pylist()
    rows = np.stack([place[given] for place in places], axis=1).tolist()
    reasons = {(d, s, m): text for (d, s, m), text in zip(rows, texts, strict=True) if np.isnan(values[d, s, m])}
    return values, reasons


def _columns(
    rows: list[dict[str, Any]], detectors: tuple[str, ...], metrics: tuple[str, ...]
) -> dict[str, dict[str, list[Any]]]:
    found = {(row["detector"], row["metric"]): row for row in rows}
    return {
        metric: {name: [plain(found[detector, metric].get(name)) for detector in detectors] for name in SUMMARY}
        for metric in metrics
    }


def _matrix(rows: list[dict[str, Any]], metrics: tuple[str, ...]) -> list[list[float | None]]:
    found = {row["metric"]: row for row in rows}
    return [[_rounded(found[metric][other]) for other in metrics] for metric in metrics]


def _rounded(value: Any) -> float | None:
    number = plain(value)
    return round(number, 4) if isinstance(number, (int, float)) else None


def _directions(metrics: tuple[str, ...]) -> dict[str, bool]:
    from pateval.report.metric_texts import known_metric

    found: Mapping[str, Any] = {metric: known_metric(metric) for metric in metrics}
    unknown = [metric for metric, entry in found.items() if entry is None]
    if unknown:
        raise TableError(f"it is not known whether higher is better for {listed(unknown)}; compute the board again")
    return {metric: entry.higher_is_better for metric, entry in found.items()}


def _texts(*columns: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    return csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False)
