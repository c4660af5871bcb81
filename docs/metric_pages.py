"""Write one page per metric function from the catalogue, with a picture of what it rewards and what fools it.

    python docs/metric_pages.py [FOLDER]

The pages are made, not kept: `make docs` writes them to docs/metrics/ before it builds the site.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

import pateval as pv
from pateval import plots
from pateval.catalog import DEFINITION_HISTORY, PROPERTIES
from pateval.metric import Metric

mpl.use("Agg")

Mask = npt.NDArray[np.bool_]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STEPS = 200
EVENTS = ((30, 60), (105, 111), (150, 170))
BUFFER = 12
FAMILIES = {
    "pate": "PATE",
    "metrics.ranking": "Areas and rankings of single steps",
    "metrics.point": "Single steps",
    "metrics.point_adjusted": "Point adjustment and its corrections",
    "metrics.balanced_point_adjusted": "Point adjustment and its corrections",
    "metrics.vus": "Volumes under surfaces and range areas",
    "metrics.ts_auprc": "Ranges",
    "metrics.range_based": "Ranges",
    "metrics.tapr": "Ranges",
    "metrics.affiliation": "Distance to events",
    "metrics.affiliation_chance": "Distance to events",
    "metrics.tolerant": "Distance to events",
    "metrics.event_based": "Whole events",
    "metrics.event_weighted": "Whole events",
    "metrics.soft_event": "Whole events",
    "metrics.delays": "Delays and alarms",
    "metrics.latency": "Delays and alarms",
    "metrics.timing": "Delays and alarms",
    "metrics.nab": "Delays and alarms",
    "metrics.szcore": "Delays and alarms",
    "metrics.operator_interest": "Delays and alarms",
    "metrics.affected_channels": "Channels",
    "metrics.channel_ranking": "Channels",
}
OTHERS = "Others"


def example_labels() -> Mask:
    """Return 200 steps with a long, a short and a middling event."""
    labels = np.zeros(STEPS, dtype=bool)
    for start, stop in EVENTS:
        labels[start:stop] = True
    return labels


def example_detections(labels: Mask) -> dict[str, Mask]:
    """Return detections that do well, that do badly, and that have no skill at all."""
    shifted = {name: np.zeros(STEPS, dtype=bool) for name in ("8 steps late", "8 steps early", "one step per event")}
    half = np.zeros(STEPS, dtype=bool)
    for start, stop in EVENTS:
        shifted["8 steps late"][start + 8 : stop + 8] = True
        shifted["8 steps early"][start - 8 : stop - 8] = True
        shifted["one step per event"][(start + stop) // 2] = True
        half[start : (start + stop + 1) // 2] = True
    regular = np.zeros(STEPS, dtype=bool)
    regular[::12] = True
    return {
        "exact": labels.copy(),
        "first half": half,
        **shifted,
        "with false alarms": labels | (np.arange(STEPS) % 40 < 4),
        "random tenth": np.random.default_rng(3).random(STEPS) < 0.1,
        "every 12th step": regular,
        "everything": np.ones(STEPS, dtype=bool),
    }


def values_of(ids: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the value of every metric for every example detection; scores are the detections plus a little noise."""
    labels = example_labels()
    found = {}
    for number, (name, detection) in enumerate(example_detections(labels).items()):
        noise = np.random.default_rng(number).random(STEPS)
        with coarse_scores_allowed():
            result = pv.evaluate(
                labels,
                0.9 * detection + 0.1 * noise,
                predictions=detection,
                metrics=list(ids),
                early=BUFFER,
                delay=BUFFER,
                window=BUFFER,
            )
        found[name] = {each: float(result.get(each, np.nan)) for each in ids}
    return found


@contextmanager
def coarse_scores_allowed() -> Iterator[None]:
    """Silence the warning about coarse scores: the examples are coarse on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.CoarseScoresWarning)
        yield


def draw(metric_ids: Sequence[str], values: dict[str, dict[str, float]], path: Path) -> None:
    """Draw the detections as strips and beside them what the metrics give."""
    labels = example_labels()
    detections = example_detections(labels)
    shown = metric_ids[:3]
    with plots.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        axes = figure.subplots(1, 1 + len(shown), width_ratios=[2.2, *[1.0] * len(shown)], sharey=True)
        rows = np.arange(len(detections))
        for start, stop in EVENTS:
            axes[0].axvspan(start, stop, color="#c44e52", alpha=0.22, lw=0)
        for row, mask in zip(rows, detections.values(), strict=True):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
            axes[0].broken_barh(
                [(a, b - a) for a, b in edges.reshape(-1, 2).tolist()], (row - 0.3, 0.6), color="#33556e", lw=0
            )
        axes[0].set(xlim=(0, STEPS), xlabel="step (events shaded)", yticks=rows, yticklabels=list(detections))
        axes[0].invert_yaxis()
        for ax, each in zip(axes[1:], shown, strict=True):
            numbers = np.array([values[name][each] for name in detections])
            ax.barh(rows, np.nan_to_num(numbers), height=0.6, color="#7f9db3", lw=0)
            for row, number in zip(rows, numbers, strict=True):
                text = "undefined" if np.isnan(number) else f"{number:.3g}"
                ax.annotate(
                    text, (max(0.0, np.nan_to_num(number)), row), (3, 0), textcoords="offset points", va="center"
                )
            finite = numbers[np.isfinite(numbers)]
            ax.set_xlim(min(0.0, *finite, 0.0), max(1e-9, *finite, 0.0) * 1.35 if finite.size else 1)
            ax.set_xticks([])
            ax.set_title(each.removeprefix(f"{path.stem}_") if len(shown) > 1 else each, fontsize=9)
            ax.tick_params(length=0)
        figure.savefig(path, dpi=110)


def one_page(metrics: Sequence[Metric], values: dict[str, dict[str, float]] | None) -> str:
    """Return the page of a function with its ids."""
    first = metrics[0]
    name = first.function.__name__
    listed = [metric for metric in metrics if not metric.id.endswith("_f_beta")] or list(metrics)
    channel = any(metric.channels for metric in metrics)
    emerging = any(metric.emerging for metric in metrics)
    lines = [f"# {name}", ""]
    if emerging:
        lines += [
            ":::{note}",
            "This metric is *emerging*: so far it is a preprint's or one group's. It is computed where it is named.",
            ":::",
            "",
        ]
    lines += ["```{eval-rst}", f".. autofunction:: pateval.{name}", "   :no-index:", "```", ""]
    lines += ["## What it rewards, and what fools it", ""]
    if values is not None:
        ids = ", ".join(f"`{metric.id}`" for metric in listed[:3])
        text = (
            f"Nine detections of the same three events, and what {ids} make of them. The last three have no skill: a"
            f" metric that pays them well can be fooled. Buffers and windows are {BUFFER} steps; metrics on scores see"
            " the detection plus a little noise."
        )
        lines += [text, "", f"![Strips of nine detections and the values they get]({name}.png)", ""]
    elif channel:
        lines += ["It judges labels with several channels, so the pictures of one series do not apply.", ""]
    faults = dict.fromkeys(metric.faults for metric in listed if metric.faults)
    lines += [f"- {fault[0].upper()}{fault[1:]}." for fault in faults] + [""]
    lines += ["Measured against what the PATE paper's first table asks of a metric:", ""]
    lines += ["| property | " + " | ".join(f"`{metric.id}`" for metric in listed) + " |"]
    lines += ["| --- |" + " --- |" * len(listed)]
    for key, meaning in PROPERTIES.items():
        cells = " | ".join("yes" if key in metric.properties else "no" for metric in listed)
        lines.append(f"| {meaning} | {cells} |")
    lines += ["", "## Use it", "", "```python", "import pateval as pv", ""]
    what = "predictions" if first.takes == "predictions" else "scores"
    lines += [f"pv.{name}(labels, {what})", f'pv.evaluate(labels, scores, metrics=["{listed[-1].id}"])', "```", ""]
    lines += ["```", f"$ pateval score scores.csv --metrics {listed[-1].id}", "```", ""]
    lines += ["## Facts", "", "| | |", "| --- | --- |"]
    lines += [f"| ids | {', '.join(f'`{metric.id}`' for metric in listed)} |"]
    low, high = (
        ("−∞" if first.low == -np.inf else f"{first.low:g}"),
        ("∞" if first.high == np.inf else f"{first.high:g}"),
    )
    lines += [f"| range | {low} to {high}, {'higher' if first.higher_is_better else 'lower'} is better |"]
    options = ", ".join(f"`{key}={value!r}`" for key, value in first.parameters.items()) or "none"
    lines += [f"| options | {options} |"]
    lines += [f"| needs a threshold | {'yes' if first.needs_threshold else 'no'} |"]
    lines += [f"| many series | {'pooled' if first.pools else 'mean over the series'} |"]
    lines += [f"| signature | `{signature_example(first)}` |"]
    history = [
        change for change in DEFINITION_HISTORY if change.functions == "all" or name in change.functions.split(",")
    ]
    lines += [f"| definition | {'; '.join(f'{c.definition} since {c.date}: {c.change}' for c in history)} |"]
    oracle = oracle_of(first)
    if oracle is not None:
        lines += [f"| the same, literally | `{oracle}`, which the tests hold it against |"]
    lines += [f"| paper | [{first.paper.text}]({link(first.paper.link)}) |", ""]
    mentioned = disagreements(name)
    if mentioned:
        lines += ["## Who computes it differently", ""]
        lines += [f"- [{title}](../disagreements.md#{anchor})" for title, anchor in mentioned] + [""]
    return "\n".join(lines)


def signature_example(metric: Metric) -> str:
    """Return the signature of a value of the metric, as results carry it."""
    labels = [0, 0, 1, 1, 0, 0, 0, 1, 0, 0]
    if metric.channels:
        return "see [ids and signatures](../signatures.md)"
    with coarse_scores_allowed():
        result = pv.evaluate(
            labels, [0.1, 0.2, 0.9, 0.8, 0.3, 0.15, 0.05, 0.7, 0.12, 0.11], metrics=[metric.id], threshold=0.5
        )
    return result.signature(metric.id).replace("|", "\\|")


def oracle_of(metric: Metric) -> str | None:
    """Return where the literal version is, if it has the name of the function."""
    for path in sorted((ROOT / "tests" / "oracles").glob("*.py")):
        if f"def {metric.function.__name__}(" in path.read_text(encoding="utf-8"):
            return f"tests/oracles/{path.name}"
    same = ROOT / "tests" / "oracles" / f"{metric.function.__module__.rpartition('.')[2]}.py"
    return f"tests/oracles/{same.name}" if same.exists() else None


def link(reference: str) -> str:
    """Return the address of a reference."""
    for prefix, address in (("arXiv:", "https://arxiv.org/abs/"), ("doi:", "https://doi.org/")):
        if reference.startswith(prefix):
            return address + reference.removeprefix(prefix)
    return reference


def disagreements(name: str) -> list[tuple[str, str]]:
    """Return title and anchor of the sections about disagreements that name the function or its options."""
    found, title, body = [], "", ""
    for line in [*(HERE / "disagreements.md").read_text(encoding="utf-8").splitlines(), "## "]:
        if line.startswith("## "):
            if title and re.search(rf"\b{name}\b", body):
                found.append((title, anchor(title)))
            title, body = line.removeprefix("## "), ""
        else:
            body += line + "\n"
    return found


def anchor(title: str) -> str:
    """Return the anchor that MyST gives a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def family(metric: Metric) -> str:
    """Return the family a metric belongs to, by the module of its function."""
    module = inspect.getmodule(metric.function)
    name = module.__name__.removeprefix("pateval.") if module is not None else ""
    return FAMILIES.get(name, FAMILIES.get(name.split(".")[0], OTHERS))


def main(arguments: Iterable[str]) -> None:
    """Write all pages, their pictures and the list of them."""
    folder = Path(next(iter(arguments), HERE / "metrics"))
    folder.mkdir(parents=True, exist_ok=True)
    known = list(pv.catalogue(channels=True, emerging=True).values())
    by_function: dict[str, list[Metric]] = {}
    for metric in known:
        by_function.setdefault(metric.function.__name__, []).append(metric)
    plain = [metric.id for metric in known if not metric.channels]
    values = values_of(plain)
    for name, metrics in by_function.items():
        drawn = [metric.id for metric in metrics if not metric.channels]
        if drawn:
            draw(drawn[::-1] if len(drawn) > 2 else drawn, values, folder / f"{name}.png")
        (folder / f"{name}.md").write_text(one_page(metrics, values if drawn else None) + "\n", encoding="utf-8")
    lines = [
        "# The metrics, one page each",
        "",
        "Every metric of the catalogue: what it computes, what it rewards, what fools it,",
    ]
    lines += ["who computes it differently. [The table of all](../metrics.md) has the same facts side by side, and", ""]
    lines += ["```", "$ pateval metrics --for early-warning,few-alarms", "```", "", "picks by question.", ""]
    ordered = sorted(
        by_function.values(), key=lambda each: list(dict.fromkeys([*FAMILIES.values(), OTHERS])).index(family(each[0]))
    )
    for title, group in groupby(ordered, key=lambda each: family(each[0])):
        lines += [f"## {title}", "", "| metric | what it is |", "| --- | --- |"]
        chosen = list(group)
        for metrics in chosen:
            name = metrics[0].function.__name__
            lines.append(f"| [{name}]({name}.md) | {metrics[0].summary.replace('``', '`')} |")
        lines += ["", "```{toctree}", ":hidden:", "", *(each[0].function.__name__ for each in chosen), "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")
    print(f"{len(by_function)} pages about {len(known)} metrics in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
