"""``pateval metrics``: the catalogue, or one of its entries in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import output

if TYPE_CHECKING:
    from pateval.catalog import Metric


@click.command("metrics", short_help="The catalogue of metrics.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@output.format_option
def command(ids: tuple[str, ...], style: str) -> None:
    """List all metrics, or describe those with the given IDs in full.

    Properties are those of the first table of the PATE paper, by initial: sequential, early, delayed, onset, coverage,
    threshold-free; as `pateval audit` measures them.
    """
    from pateval.catalog import find_metrics

    found = find_metrics(ids or None)
    if ids and style == "table":
        click.echo("\n\n".join(_in_full(metric) for metric in found))
    elif style in ("json", "csv"):
        facts = [_facts(metric, style) for metric in found]
        output.show(list(facts[0]), [list(each.values()) for each in facts], style)
    else:
        columns = ["metric", "takes", "range", "better", "threshold", "properties", "paper"]
        output.show(columns, [_row(metric, style) for metric in found], style)


def _row(metric: Metric, style: str) -> list[str]:
    from pateval.catalog import initials

    paper, link = metric.paper.text, _url(metric.paper.link)
    return [
        metric.id,
        metric.takes,
        _range(metric),
        _better(metric),
        "needed" if metric.needs_threshold else "-",
        initials(metric.properties),
        f"[{paper}]({link})" if style == "markdown" else paper,
    ]


def _in_full(metric: Metric) -> str:
    """Everything the catalogue knows of one metric, for people."""
    from pateval.catalog import PROPERTIES

    parts = metric.function.__name__ + ("" if metric.field is None else f"(...).{metric.field}")
    options = ", ".join(f"{name}={default!r}" for name, default in metric.parameters.items())
    claimed = metric.paper_properties
    lines = [
        metric.id,
        f"  {metric.summary.replace('`', '')}",
        "",
        f"  computed by   pateval.{parts}",
        f"  takes         labels and {metric.takes}{': a threshold is needed' if metric.needs_threshold else ''}",
        f"  range         {_range(metric)}, {_better(metric)} is better",
        f"  options       {options or 'none'}",
        f"  many series   {'all steps together' if metric.pools else 'mean over the series'}",
        f"  paper         {metric.paper.text}",
        f"                {_url(metric.paper.link)}",
        f"  faults        {metric.faults}",
        "",
        "  rewards           measured  PATE paper",
    ]
    for name, text in PROPERTIES.items():
        measured = "yes" if name in metric.properties else "no"
        claim = "-" if claimed is None else "yes" if name in claimed else "no"
        differs = "  (differ)" if claimed is not None and claim != measured else ""
        lines.append(f"    {name:<16}{measured:<10}{claim:<10}  {text}{differs}")
    return "\n".join(lines)


def _facts(metric: Metric, style: str) -> dict[str, Any]:
    """Everything the catalogue knows of one metric, for programs; CSV has no lists or objects."""
    flat = style == "csv"
    claimed = metric.paper_properties
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in metric.parameters.items()}
    return {
        "metric": metric.id,
        "summary": metric.summary,
        "function": metric.function.__name__,
        "field": metric.field,
        "takes": metric.takes,
        "low": metric.low,
        "high": metric.high,
        "higher_is_better": metric.higher_is_better,
        "needs_threshold": metric.needs_threshold,
        "pools_series": metric.pools,
        "options": " ".join(f"{name}={value!r}" for name, value in metric.parameters.items()) if flat else options,
        "properties": " ".join(_sorted(metric.properties)) if flat else _sorted(metric.properties),
        "paper_properties": None if claimed is None else " ".join(_sorted(claimed)) if flat else _sorted(claimed),
        "faults": metric.faults,
        "paper": metric.paper.text,
        "link": _url(metric.paper.link),
    }


def _sorted(properties: frozenset[str]) -> list[str]:
    from pateval.catalog import PROPERTIES

    return [name for name in PROPERTIES if name in properties]


def _range(metric: Metric) -> str:
    low = "-inf" if metric.low == -float("inf") else f"{metric.low:g}"
    return f"{low} to {metric.high:g}"


def _better(metric: Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _url(link: str) -> str:
    """A link one can follow."""
    return link.replace("arXiv:", "https://arxiv.org/abs/", 1).replace("doi:", "https://doi.org/", 1)
