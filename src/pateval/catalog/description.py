"""What the catalogue says of metrics: in full, in a table, on the page of the documentation, and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pateval.catalog.metric import Metric
from pateval.catalog.option_text import value_text
from pateval.catalog.table import DEFINITION_HISTORY, PROPERTIES, all_metrics, catalogue, initials
from pateval.output.harmless import Markup
from pateval.output.text_table import folded, hanging, render

_ON_A_TERMINAL = ("metric", "takes", "range", "better", "properties")
_EMERGING = "a preprint's or one group's so far. They are computed where they are named, and rank nothing by default."


def described(metrics: Sequence[Metric], style: str, width: int | None) -> str:
    """Describe some metrics: in full for people, in a table or as records otherwise."""
    if style == "table":
        return "\n\n".join(_in_full(metric, width) for metric in metrics)
    return _records(metrics, style) if style in ("json", "csv") else _table(metrics, style, width)


def listing(style: str, width: int | None, *, emerging: bool, with_f_beta: bool) -> str:
    """List the metrics of the catalogue, those on channels, too; in Markdown as the page of the documentation."""
    metrics = list((all_metrics() if with_f_beta else catalogue(channels=True, emerging=emerging)).values())
    if style in ("json", "csv"):
        return _records(metrics, style)
    table = _table([metric for metric in metrics if not metric.emerging], style, width)
    if style == "markdown":
        return _page(table)
    if not emerging:
        return table
    about = f"{folded(f'Emerging: {_EMERGING}', width)}\n" if style == "table" else ""
    return f"{table}\n\n{about}{_emerging(metrics, style, width)}"


def _records(metrics: Sequence[Metric], style: str) -> str:
    facts = [_facts(metric, style) for metric in metrics]
    return render(list(facts[0]), [list(fact.values()) for fact in facts], style)


def _table(metrics: Sequence[Metric], style: str, width: int | None, *, with_faults: bool = False) -> str:
    """The table of some metrics; a terminal has room for some of its columns."""
    rows = [_cells(metric, style) for metric in metrics]
    columns = [name for name in rows[0] if name != "faults" or with_faults]
    if style == "table" and width is not None:
        columns = list(_ON_A_TERMINAL)
    return render(columns, [[row[name] for name in columns] for row in rows], style, width=width)


def _cells(metric: Metric, style: str) -> dict[str, str]:
    """What the table says of one metric, by column; a page has room for more than a terminal."""
    is_page = style == "markdown"
    paper, link = _paper(metric)
    accepted = ", ".join(
        f"`{name}={value_text(default)}`" + ("*" if name in metric.global_options else "")
        for name, default in metric.parameters.items()
    )
    return {
        "metric": metric.id,
        "takes": metric.takes,
        "range": _range(metric),
        "better": _better(metric),
        "threshold": "needed" if metric.needs_threshold else "-",
        "properties": initials(metric.properties),
        "paper": Markup(f"[{paper}]({link})") if is_page and link else paper,
        **({"options": accepted or "-", "definition": str(metric.definition)} if is_page else {}),
        "faults": metric.faults,
    }


def _emerging(metrics: Iterable[Metric], style: str, width: int | None = None) -> str:
    """The emerging ones of some metrics, each with what is wrong with it; on a terminal that stands below the table."""
    emerging = [metric for metric in metrics if metric.emerging]
    if style != "table" or width is None:
        return _table(emerging, style, None, with_faults=True)
    faults: dict[str, list[str]] = {}
    for metric in emerging:
        faults.setdefault(metric.faults, []).append(metric.id)
    named = [folded(f"{', '.join(ids)}: {text}", width) for text, ids in faults.items()]
    return "\n".join([_table(emerging, style, width), "", *named])


def _page(table: str) -> str:
    """The page of the documentation around its table."""
    about = (
        "Every metric that `--metrics all` computes, with what it takes and where it comes from. The letters in the "
        "column *properties* say what was measured of it:"
    )
    meanings = "\n".join(f"- `{name[0]}`: {text}" for name, text in PROPERTIES.items())
    reach = (
        "Options marked * are reached by `early=`, `delay=` and `window=` of `evaluate` and by `--early`, `--delay` "
        "and `--window`; an option in an id, as in `pate(early=20,delay=20)`, wins over them. Every metric that ends "
        "in `_f1` and has a `_precision` and a `_recall` has an `_f_beta` with the option `beta`, too."
    )
    shape = (
        "`channel_` and `affected_channels` metrics take labels, scores and predictions of steps by channels; "
        "`anomalies` and `subsystems` of the latter describe the data, so they are given to the function and are no "
        "part of an id."
    )
    emerging = _emerging(catalogue(channels=True, emerging=True).values(), "markdown")
    rule = (
        "The definition of a metric goes up when its numbers change for the same input and options. "
        "[signatures.md](signatures.md) says what else may change."
    )
    history = [[line.date, line.functions, str(line.definition), line.change] for line in DEFINITION_HISTORY]
    changes = render(["since", "functions", "definition", "what changed"], history, "markdown")
    return "\n\n".join(
        [
            *("# All metrics side by side", about, meanings, table, reach, shape),
            *("## Emerging", f"Emerging metrics are {_EMERGING}", emerging),
            *("## Definition history", rule, changes),
        ]
    )


def _in_full(metric: Metric, width: int | None) -> str:
    """Everything the catalogue knows of one metric, for people."""
    paper, link = _paper(metric)
    module = "pateval" if metric.in_package else metric.function.__module__
    parts = f"{module}.{metric.function.__name__}" + ("" if metric.field is None else f"(...).{metric.field}")
    accepted = ", ".join(f"{name}={default!r}" for name, default in metric.parameters.items())
    bound = ", ".join(f"{name}={value!r}" for name, value in metric.options.items())
    claimed = metric.paper_properties
    channels = ", steps by channels" if metric.channels else ""
    facts = {
        "computed by": parts,
        "takes": f"labels and {metric.takes}{channels}{': a threshold is needed' if metric.needs_threshold else ''}",
        "range": f"{_range(metric)}, {_better(metric)} is better",
        "options": accepted or "none",
        "set here": bound,
        "reached by": " ".join(f"--{name}" for name in metric.global_options) or "no global option",
        "many series": "all steps together" if metric.pools else "mean over the series",
        "paper": paper,
        "": link,
        "emerging": "computed where it is named: a preprint's or one group's so far" if metric.emerging else "",
        "definition": str(metric.definition),
        "faults": metric.faults or "not stated",
    }
    summary = [hanging("  ", metric.summary.replace("`", ""), width)] if metric.summary else []
    lines = [metric.id, *summary, "", *(hanging(f"  {name:<14}", text, width) for name, text in facts.items() if text)]
    if not metric.in_package:
        return "\n".join([*lines, "  rewards       run `pateval audit` to measure it"])
    lines += ["", "  rewards           measured  PATE paper"]
    for name, text in PROPERTIES.items():
        measured = "yes" if name in metric.properties else "no"
        claim = "-" if claimed is None else "yes" if name in claimed else "no"
        differs = "  (differ)" if claimed is not None and claim != measured else ""
        lines.append(hanging(f"    {name:<16}{measured:<10}{claim:<10}  ", f"{text}{differs}", width))
    return "\n".join(lines)


def _facts(metric: Metric, style: str) -> dict[str, Any]:
    """Everything the catalogue knows of one metric, for programs; CSV has no lists or objects."""
    paper, link = _paper(metric)
    rewarded, claimed = (
        None if names is None else [name for name in PROPERTIES if name in names]
        for names in (metric.properties, metric.paper_properties)
    )
    same = ("takes", "low", "high", "higher_is_better", "needs_threshold")
    facts = {
        "metric": metric.id,
        "summary": metric.summary,
        "function": metric.function.__name__,
        "field": metric.field,
        **{name: getattr(metric, name) for name in same},
        "pools_series": metric.pools,
        "channels": metric.channels,
        "emerging": metric.emerging,
        "options": dict(metric.parameters),
        "global_options": list(metric.global_options),
        "definition": metric.definition,
        "properties": rewarded,
        "paper_properties": claimed,
        "faults": metric.faults,
        "paper": paper,
        "link": link,
    }
    if style == "json":
        return facts
    facts["options"] = [f"{name}={value!r}" for name, value in metric.parameters.items()]
    return {name: " ".join(fact) if isinstance(fact, list) else fact for name, fact in facts.items()}


def _range(metric: Metric) -> str:
    low = "-inf" if metric.low == -float("inf") else f"{metric.low:g}"
    return f"{low} to {metric.high:g}"


def _better(metric: Metric) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _paper(metric: Metric) -> tuple[str, str]:
    """Where a metric comes from, and a link one can follow."""
    if metric.paper is None:
        return f"your own, in {metric.function.__module__}", ""
    link = metric.paper.link.replace("arXiv:", "https://arxiv.org/abs/", 1)
    return metric.paper.text, link.replace("doi:", "https://doi.org/", 1)
