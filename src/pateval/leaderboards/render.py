"""The leaderboard on paper: text, Markdown, HTML, and a folder of files."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pateval.evaluation import ORACLE
from pateval.leaderboards.result import without_nan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pateval.leaderboards.result import Leaderboard, Significance

# Shown where a leaderboard has more metrics than fit on a page; the files hold all.
_HEADLINE = (
    "pate",
    "pate_ap",
    "vus_pr",
    "average_precision",
    "auc_roc",
    "affiliation_f1",
    "point_f1",
    "point_adjusted_f1",
)


def main_metric(board: Leaderboard) -> str:
    """Return the metric that orders the overview: `pate` where it is there, else the first one."""
    return "pate" if "pate" in board.metrics else board.metrics[0]


def headline(board: Leaderboard) -> list[str]:
    """Choose the metrics of the overview: all where they are few, the best known where they are many."""
    if len(board.metrics) <= len(_HEADLINE):
        return list(board.metrics)
    chosen = [metric for metric in _HEADLINE if metric in board.metrics]
    return chosen or list(board.metrics[: len(_HEADLINE)])


def label(board: Leaderboard, metric: str) -> str:
    """Name a metric for a table, with "(oracle)" where its threshold has used the labels."""
    oracle = dict(board.run.get("parameters", {})).get("threshold") == ORACLE
    return f"{metric} (oracle)" if oracle and board.facts[metric].needs_threshold else metric


def overview(board: Leaderboard) -> tuple[list[str], list[list[str]], list[str]]:
    """Build the table for people: header, one row per detector with the best first, and the lines below it."""
    main = main_metric(board)
    shown = [main, *(metric for metric in headline(board) if metric != main)]
    found = board.significance(main)
    letters = group_letters(found)
    rows = {(row["detector"], row["metric"]): row for row in board.summary().to_pylist()}
    body = []
    for detector in (*found.detectors, *found.left_out):
        row = rows[detector, main]
        limits = "" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
        body.append(
            [
                f"{detector} *" if detector in board.coarse else detector,
                "" if row["mean_rank"] is None else f"{row['mean_rank']:.2f}",
                letters.get(detector, ""),
                _figure(row["mean"]),
                limits,
                "" if row["skill"] is None else _figure(row["skill"]),
                *(_figure(rows[detector, metric]["mean"]) for metric in shown[1:]),
            ]
        )
    named = [label(board, metric) for metric in shown]
    header = ["detector", f"rank ({main})", "alike", named[0], "95 %", "skill", *named[1:]]
    keep = [index for index in range(len(header)) if index < 4 or index > 5 or any(row[index] for row in body)]
    return [header[i] for i in keep], [[row[i] for i in keep] for row in body], list(_remarks(board, found))


def _remarks(board: Leaderboard, found: Significance) -> Iterator[str]:
    dropped = f", {found.series_dropped} left out" if found.series_dropped else ""
    yield f"means over series; ranks over {found.series_used} series where all have a value{dropped}"
    p_value = found.friedman["f_p_value"]
    if not math.isnan(p_value):
        yield (
            f"Friedman (Iman-Davenport) p = {p_value:.2g}; critical difference of ranks (Nemenyi, 5 %) "
            f"{found.nemenyi_difference:.2f}; same letter: not told apart (Wilcoxon-Holm, 5 %)"
        )
    if board.coarse and "pate" in board.metrics:
        yield "* coarse scores, which pate flatters: see pate_ap"
    if any("(oracle)" in label(board, metric) for metric in headline(board)):
        yield "oracle: predictions by the threshold with the best point F1 of each series, which uses the labels"
    hidden = len(board.metrics) - len(headline(board))
    if hidden > 0:
        yield f"{hidden} more metrics in the files"


def group_letters(found: Significance) -> dict[str, str]:
    """Give each detector the letters of its critical-difference groups; those who share one are not told apart."""
    letters: dict[str, str] = dict.fromkeys(found.detectors, "")
    for number, group in enumerate(found.wilcoxon_groups):
        for name in group:
            letters[name] += _letter(number)
    return letters


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return chr(ord("a") + second) + (str(first) if first else "")


def text(board: Leaderboard) -> str:
    """Render the overview as aligned plain text."""
    header, body, remarks = overview(board)
    widths = [max(len(row[i]) for row in [header, *body]) for i in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) if i in (0, 2) else cell.rjust(width) for i, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in [header, *body])
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*(line.rstrip() for line in lines), "", *remarks])


def markdown(board: Leaderboard) -> str:
    """Render the overview as a Markdown table."""
    header, body, remarks = overview(board)
    lines = [header, ["---" if i in (0, 2) else "---:" for i in range(len(header))], *body]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return "\n".join([table, "", *(f"{remark}  " for remark in remarks)]).rstrip()


def as_json(board: Leaderboard) -> str:
    """Render summary, warnings, failures and the main metric's tests as JSON."""
    return json.dumps(
        {
            "summary": board.summary().to_pylist(),
            "significance": board.significance(main_metric(board)).to_dict(),
            "warnings": list(board.warnings),
            "failures": list(board.failures),
            "notes": list(board.notes),
        },
        indent=1,
    )


def as_csv(table: Any) -> str:
    """Render a table as CSV."""
    buffer = io.StringIO()
    _write_rows([table], buffer)
    return buffer.getvalue()


def fragment(board: Leaderboard) -> str:
    """Render the overview as an HTML fragment, for notebooks."""
    header, body, remarks = overview(board)
    lines = [_table_html(header, body)]
    lines += [f"<p>{html.escape(remark)}</p>" for remark in remarks]
    if board.warnings or board.failures:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in (*board.failures, *board.warnings))
        lines.append(f"<ul>{items}</ul>")
    return "\n".join(lines)


def page(board: Leaderboard) -> str:
    """Render overview, ranks and summary of all metrics as one HTML page that needs nothing from outside."""
    rows = board.summary().to_pylist()
    columns = list(rows[0])
    body = [
        [
            _figure(row[name]) if isinstance(row[name], float) else str(row[name] if row[name] is not None else "")
            for name in columns
        ]
        for row in rows
    ]
    style = (
        "body{font-family:sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;margin:1em 0}"
        "td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child"
        "{text-align:left}"
    )
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Leaderboard</title>',
            f"<style>{style}</style></head><body><h1>Leaderboard</h1>",
            f"<p>{len(board.detectors)} detectors, {len(board.series)} series, {len(board.metrics)} metrics</p>",
            fragment(board),
            "<h2>All metrics</h2>",
            _table_html(columns, body),
            "</body></html>",
        ]
    )


def _table_html(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"


def save(board: Leaderboard, folder: str | os.PathLike[str]) -> None:
    """Write all tables of a leaderboard into a folder, each file whole or not at all."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_parquet(board.score_parts(), target / "scores.parquet")
    write_csv(board.score_parts(), target / "scores.csv")
    write_csv([board.summary()], target / "summary.csv")
    write_csv([board.ranks()], target / "ranks.csv")
    write_csv([board.agreement()], target / "agreement.csv")
    write_csv([timing_table(board)], target / "timings.csv")
    tests = {metric: board.significance(metric).to_dict() for metric in board.metrics}
    write_text(json.dumps(tests), target / "significance.json")
    described = dict(board.run) | {
        "detectors": list(board.detectors),
        "series": list(board.series),
        "metrics": list(board.metrics),
        "notes": list(board.notes),
        "warnings": list(board.warnings),
        "failures": list(board.failures),
    }
    write_text(json.dumps(without_nan(described), indent=1, default=str), target / "run.json")


def timing_table(board: Leaderboard) -> Any:
    """Return how long each job took (pyarrow Table)."""
    import pyarrow as pa

    return pa.table(
        {
            "detector": pa.array([each.detector for each in board.timings], pa.string()),
            "series": pa.array([each.series for each in board.timings], pa.string()),
            "steps": pa.array([each.steps for each in board.timings], pa.int64()),
            "seconds": pa.array([round(each.seconds, 6) for each in board.timings], pa.float64()),
            "cached": pa.array([each.cached for each in board.timings], pa.bool_()),
        }
    )


def write_parquet(parts: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write tables of one kind into one Parquet file, a row group each; equal tables give equal bytes."""
    import pyarrow.parquet as pq

    with _draft(path) as draft:
        writer = None
        try:
            for part in parts:
                writer = writer or pq.ParquetWriter(draft, part.schema)
                writer.write_table(part)
        finally:
            if writer is not None:
                writer.close()


def write_csv(parts: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write tables of one kind into one CSV file; missing and undefined values are empty."""
    with _draft(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        _write_rows(parts, file)


def write_text(content: str, path: str | os.PathLike[str]) -> None:
    """Write text."""
    with _draft(path) as draft:
        draft.write_text(content, encoding="utf-8")


def _write_rows(parts: Iterable[Any], file: io.TextIOBase) -> None:
    writer = csv.writer(file, lineterminator="\n")
    for number, part in enumerate(parts):
        if number == 0:
            writer.writerow(part.column_names)
        for batch in part.to_batches(max_chunksize=1 << 14):
            columns = [[None if value != value else value for value in column.to_pylist()] for column in batch.columns]
            writer.writerows(zip(*columns, strict=True))


@contextmanager
def _draft(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write beside the file, then put it in its place."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield draft
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
