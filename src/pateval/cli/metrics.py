"""``pateval metrics``: the catalogue, or one of its entries in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options, output
from pateval.io.text_table import render

if TYPE_CHECKING:
    from pateval.catalog import Metric


@click.command("metrics", short_help="The catalogue of metrics.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="List the F-beta of every F1, too.")
@output.format_option
def command(ids: tuple[str, ...], everything: bool, style: str) -> None:
    """List all metrics, or describe those with the given IDs in full.

    An ID may carry options, as in 'pate(early=20,delay=20)', or be package.module:function.

    Properties are those of the first table of the PATE paper, by initial: sequential, early, delayed, onset, coverage,
    threshold-free; as `pateval audit` measures them.
    """
    from pateval.catalog import find_metrics

    found = find_metrics(options.metric_names(ids), with_f_beta=everything)
    if ids and style == "table":
        click.echo("\n\n".join(_in_full(metric) for metric in found))
    elif style in ("json", "csv"):
        facts = [_facts(metric, style) for metric in found]
        output.show(list(facts[0]), [list(fact.values()) for fact in facts], style)
    else:
        output.show(_columns(style), [_row(metric, style) for metric in found], style)
        if style == "markdown" and not ids:
            click.echo(f"\n{_after_the_table()}")


def _columns(style: str) -> list[str]:
    """Columns of the table; a page has room for more than a terminal."""
    columns = ["metric", "takes", "range", "better", "threshold", "properties", "paper"]
    return [*columns, "options", "definition"] if style == "markdown" else columns


def _row(metric: Metric, style: str) -> list[str]:
    from pateval.catalog import initials
    from pateval.option_text import value_text

    paper, link = _paper(metric)
    options_text = ", ".join(
        f"`{name}={value_text(default)}`" + ("*" if name in metric.global_options else "")
        for name, default in metric.parameters.items()
    )
    row = [
        metric.id,
        metric.takes,
        _range(metric),
        _better(metric),
        "needed" if metric.needs_threshold else "-",
        initials(metric.properties),
        f"[{paper}]({link})" if style == "markdown" and link else paper,
    ]
    return [*row, options_text or "-", str(metric.definition)] if style == "markdown" else row


def _after_the_table() -> str:
    """What the page says below its table."""
    from pateval.catalog import DEFINITION_HISTORY, PROPERTIES

    meanings = ", ".join(f"`{name[0]}` {text}" for name, text in PROPERTIES.items())
    history = [[line.date, line.functions, str(line.definition), line.change] for line in DEFINITION_HISTORY]
    reach = (
        "Options marked * are reached by `early=`, `delay=` and `window=` of `evaluate` and by `--early`, `--delay` "
        "and `--window`; an option in an id, as in `pate(early=20,delay=20)`, wins over them. Every metric that ends "
        "in `_f1` and has a `_precision` and a `_recall` has an `_f_beta` with the option `beta`, too."
    )
    rule = (
        "The definition of a metric goes up when its numbers change for the same input and options. "
        "[signatures.md](signatures.md) says what else may change."
    )
    table = render(["since", "functions", "definition", "what changed"], history, "markdown")
    return "\n\n".join([f"Properties: {meanings}.", reach, "## Definition history", rule, table])


def _in_full(metric: Metric) -> str:
    """Everything the catalogue knows of one metric, for people."""
    from pateval.catalog import PROPERTIES

    paper, link = _paper(metric)
    module = "pateval" if metric.in_package else metric.function.__module__
    parts = f"{module}.{metric.function.__name__}" + ("" if metric.field is None else f"(...).{metric.field}")
    accepted = ", ".join(f"{name}={default!r}" for name, default in metric.parameters.items())
    bound = ", ".join(f"{name}={value!r}" for name, value in metric.options.items())
    claimed = metric.paper_properties
    lines = [
        metric.id,
        *([f"  {metric.summary.replace('`', '')}"] if metric.summary else []),
        "",
        f"  computed by   {parts}",
        f"  takes         labels and {metric.takes}{': a threshold is needed' if metric.needs_threshold else ''}",
        f"  range         {_range(metric)}, {_better(metric)} is better",
        f"  options       {accepted or 'none'}",
        *([f"  set here      {bound}"] if bound else []),
        f"  reached by    {' '.join(f'--{name}' for name in metric.global_options) or 'no global option'}",
        f"  many series   {'all steps together' if metric.pools else 'mean over the series'}",
        f"  paper         {paper}",
        *([f"                {link}"] if link else []),
        f"  definition    {metric.definition}",
        f"  faults        {metric.faults or 'not stated'}",
    ]
    if not metric.in_package:
        return "\n".join([*lines, "  rewards       run `pateval audit` to measure it"])
    lines += ["", "  rewards           measured  PATE paper"]
    for name, text in PROPERTIES.items():
        measured = "yes" if name in metric.properties else "no"
        claim = "-" if claimed is None else "yes" if name in claimed else "no"
        differs = "  (differ)" if claimed is not None and claim != measured else ""
        lines.append(f"    {name:<16}{measured:<10}{claim:<10}  {text}{differs}")
    return "\n".join(lines)


def _facts(metric: Metric, style: str) -> dict[str, Any]:
    """Everything the catalogue knows of one metric, for programs; CSV has no lists or objects."""
    flat = style == "csv"
    paper, link = _paper(metric)
    claimed = metric.paper_properties
    accepted = {name: list(value) if isinstance(value, tuple) else value for name, value in metric.parameters.items()}
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
        "options": " ".join(f"{name}={value!r}" for name, value in metric.parameters.items()) if flat else accepted,
        "global_options": " ".join(metric.global_options) if flat else list(metric.global_options),
        "definition": metric.definition,
        "properties": " ".join(_sorted(metric.properties)) if flat else _sorted(metric.properties),
        "paper_properties": None if claimed is None else " ".join(_sorted(claimed)) if flat else _sorted(claimed),
        "faults": metric.faults,
        "paper": paper,
        "link": link,
    }


def _sorted(properties: frozenset[str]) -> list[str]:
    from pateval.catalog import PROPERTIES

    return [name for name in PROPERTIES if name in properties]


def _range(metric: Metric) -> str:
    low = "-inf" if metric.low == -float("inf") else f"{metric.low:g}"
    return f"{low} to {metric.high:g}"


def _better(metric: Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _paper(metric: Metric) -> tuple[str, str]:
    """Where a metric comes from, and a link one can follow."""
    if metric.paper is None:
        return f"your own, in {metric.function.__module__}", ""
    return metric.paper.text, _url(metric.paper.link)


def _url(link: str) -> str:
    """A link one can follow."""
    return link.replace("arXiv:", "https://arxiv.org/abs/", 1).replace("doi:", "https://doi.org/", 1)
