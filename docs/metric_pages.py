"""Write one page per metric function from the catalogue: definition, worked example, how it is fooled, facts.

    python docs/metric_pages.py [FOLDER]

The pages are made, not kept: `make docs` writes them to docs/metrics/ before it builds the site.
"""

from __future__ import annotations

import csv
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from metric_pictures import (
    MOST_PANELS,
    NAMES,
    STEPS,
    channel_detections,
    channel_labels,
    coarse_scores_allowed,
    draw_audit,
    draw_channels,
    draw_example,
    example_detections,
    example_labels,
)

import pateval as pv
from pateval.catalog import DEFINITION_HISTORY, PROPERTIES
from pateval.catalog.metric import Metric
from pateval.demo import make_series

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUFFER = 12
AUDIT_BUFFER, AUDIT_WINDOW, DRAWS = 24, 48, 20
FAMILIES = {
    "pate": "PATE",
    "metrics.ranking": "Areas and rankings of single steps",
    "metrics.point": "Single steps",
    "metrics.point_adjusted": "Point adjustment and its corrections",
    "metrics.vus": "Volumes under surfaces and range areas",
    "metrics.ts_auprc": "Ranges",
    "metrics.range_based": "Ranges",
    "metrics.tapr": "Ranges",
    "metrics.affiliation": "Distance to events",
    "metrics.tolerant": "Distance to events",
    "metrics.event_based": "Whole events",
    "metrics.event_weighted": "Whole events",
    "metrics.soft_event": "Whole events",
    "metrics.delays": "Delays and alarms",
    "metrics.timing": "Delays and alarms",
    "metrics.nab": "Delays and alarms",
    "metrics.szcore": "Delays and alarms",
    "metrics.operator_interest": "Delays and alarms",
    "metrics.affected_channels": "Channels",
    "metrics.channel_ranking": "Channels",
}
OTHERS = "Others"
# What metrics take, in the order of the sidebar, which shows the second text.
TAKEN = {
    "scores": ("On scores: no threshold to choose", "On scores"),
    "predictions": ("On predictions: a threshold, or what a detector flags", "On predictions"),
    "channels": ("On labels of several channels", "On several channels"),
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


def channel_values_of(ids: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the value of metrics on channels for every example detection of several channels."""
    labels = channel_labels()
    found = {}
    for number, (name, detection) in enumerate(channel_detections(labels).items()):
        scores = 0.9 * detection + 0.1 * np.random.default_rng(number).random(labels.shape)
        with coarse_scores_allowed():
            result = pv.evaluate(labels, scores, predictions=detection, metrics=list(ids), chance=0)
        found[name] = {each: float(result.get(each, np.nan)) for each in ids}
    return found


def audit_of(ids: Sequence[str]) -> pv.Audit:
    """Return what every metric gives to the fakes of the audit, on the labels of the demo's first series."""
    with coarse_scores_allowed():
        return pv.audit(
            make_series(0).labels,
            early=AUDIT_BUFFER,
            delay=AUDIT_BUFFER,
            window=AUDIT_WINDOW,
            metrics=list(ids),
            seeds=DRAWS,
        )


def listed_of(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of a function that its page lists: F-beta follows from the others."""
    return [metric for metric in metrics if not metric.id.endswith("_f_beta")] or list(metrics)


def shown_of(metrics: Sequence[Metric]) -> list[str]:
    """Return the ids that the pictures show; the last, F1 where there is one, comes first."""
    return [metric.id for metric in listed_of(metrics)][::-1][:MOST_PANELS]


def one_page(metrics: Sequence[Metric], audit: pv.Audit | None) -> str:
    """Return the page of a function with its ids."""
    first = metrics[0]
    name = first.function.__name__
    lines = [f"# {name}", ""]
    if any(metric.emerging for metric in metrics):
        text = (
            "This metric is *emerging*: so far it is a preprint's or one group's. pateval computes it where you name"
            " it, and never ranks by it unasked."
        )
        lines += [":::{note}", text, ":::", ""]
    lines += ["## Definition", ""]
    lines += ["```{eval-rst}", f".. autofunction:: pateval.{name}", "   :no-index:", "```", ""]
    lines += example_section(metrics)
    lines += fooled_section(metrics, audit)
    lines += use_section(metrics)
    lines += facts_section(metrics)
    lines += disagreement_section(name)
    return "\n".join(lines)


def example_section(metrics: Sequence[Metric]) -> list[str]:
    """Return the worked example with its picture, and what the metric rewards."""
    name, listed = metrics[0].function.__name__, listed_of(metrics)
    lines = ["## A worked example", ""]
    if metrics[0].channels:
        text = (
            "This metric judges labels with several channels: it asks not only when something is wrong, but where."
            " Here are five detections of two anomalies, one in channels 1 and 2 and one in channels 4 to 6, with the"
            " values below them. Anomalies are pale, detections are blue, and what is both is dark. The last two know"
            " nothing. A metric on scores sees the detection plus a little noise."
        )
        picture = f"![Maps of five detections over six channels, and below each the value of {name}]({name}.png)"
        lines += [text, "", picture, ""]
    else:
        ids = ", ".join(f"`{each}`" for each in shown_of(metrics))
        text = (
            f"Here are nine detections of the same three events, and the values of {ids}. The first six know where the"
            " events are; they differ in how much of them they flag, and when. The last three know nothing. Buffers"
            f" and windows are {BUFFER} steps. A metric on scores sees the detection plus a little noise."
        )
        picture = f"![Strips of nine detections of three events, and beside each the value of {name}]({name}.png)"
        lines += [text, "", picture, ""]
    lines += ["This is what the metric rewards, measured by moving and cutting detections:", ""]
    names = [metric.id.removeprefix(f"{name}_") or metric.id for metric in listed]
    lines += ["| property | " + " | ".join(f"`{each}`" for each in names) + " |"]
    lines += ["| --- |" + " --- |" * len(listed)]
    for key, meaning in PROPERTIES.items():
        cells = " | ".join("yes" if key in metric.properties else "no" for metric in listed)
        lines.append(f"| {meaning} | {cells} |")
    return [*lines, ""]


def fooled_section(metrics: Sequence[Metric], audit: pv.Audit | None) -> list[str]:
    """Return how the metric is fooled: its known faults, the figure from the audit, and the trial on real series."""
    name, listed = metrics[0].function.__name__, listed_of(metrics)
    lines = ["## How it is fooled", ""]
    faults = dict.fromkeys(metric.faults for metric in listed if metric.faults)
    lines += [f"- {fault[0].upper()}{fault[1:]}." for fault in faults] + [""]
    if audit is None:
        return lines
    text = (
        "`pv.audit` makes detectors from labels and lets the metric judge them, here on the first series of the demo."
        " Six are worthless, from random scores to the labels inverted. Four are poor. One is like a real detector: a"
        " little late, with a missed event and false alarms. A red bar is a fake that gets a better value than the real"
        " detector, which the dashed line marks."
    )
    if not metrics[0].higher_is_better:
        text += " Lower is better here."
    lines += [text, "", f"![What {name} gives to ten fakes, a real and a perfect detector]({name}-audit.png)", ""]
    for each in shown_of(metrics):
        beaten_by = ", ".join(f"*{NAMES[fake]}*" for fake in audit[each].beaten_by)
        lines.append(
            f"- `{each}`: " + (f"the real detector is beaten by {beaten_by}." if beaten_by else "no fake wins.")
        )
    lines += ["", *trial_sentence(shown_of(metrics)), ""]
    return lines


def trial_sentence(ids: Sequence[str]) -> list[str]:
    """Return how often fakes come close on NAB, from the committed trial, where one of the ids is in it."""
    with (HERE / "results" / "trial" / "oracle.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file) if row["judged"] == "True"}
    for each in ids:
        if each in rows:
            blind, minimal = (float(rows[each][share]) for share in ("blind_share", "minimal_share"))
            text = (
                f"On the {rows[each]['series']} series of NAB with anomalies, a fake that has never seen the labels"
                f" reaches 90 % of the best published detector under `{each}` on {blind:.0%} of the series, and one"
                f" flagged step per event does so on {minimal:.0%} ([metrics on trial](../trial.md))."
            )
            return [text]
    return []


def use_section(metrics: Sequence[Metric]) -> list[str]:
    """Return the calls that compute the metric."""
    name, last = metrics[0].function.__name__, listed_of(metrics)[-1].id
    what = "predictions" if metrics[0].takes == "predictions" else "scores"
    lines = ["## Use it", "", "```python", "import pateval as pv", "", f"pv.{name}(labels, {what})"]
    lines += [f'pv.evaluate(labels, scores, metrics=["{last}"])', "```", ""]
    if not metrics[0].channels:
        lines += ["```", f"$ pateval score scores.csv --metrics {last}", "```", ""]
    return lines


def facts_section(metrics: Sequence[Metric]) -> list[str]:
    """Return the table of facts: ids, range, options, signature, history of the definition, oracle, paper."""
    first = metrics[0]
    name = first.function.__name__
    low = "−∞" if first.low == -np.inf else f"{first.low:g}"
    high = "∞" if first.high == np.inf else f"{first.high:g}"
    options = ", ".join(f"`{key}={value!r}`" for key, value in first.parameters.items()) or "none"
    history = [
        change for change in DEFINITION_HISTORY if change.functions == "all" or name in change.functions.split(",")
    ]
    lines = ["## Facts", "", "| what | here |", "| --- | --- |"]
    lines += [f"| ids | {', '.join(f'`{metric.id}`' for metric in listed_of(metrics))} |"]
    lines += [f"| range | {low} to {high}, {'higher' if first.higher_is_better else 'lower'} is better |"]
    lines += [f"| options | {options} |"]
    lines += [f"| needs a threshold | {'yes' if first.needs_threshold else 'no'} |"]
    lines += [f"| many series | mean over the series{'; can be pooled' if first.pools else '; cannot be pooled'} |"]
    lines += [f"| [signature](../signatures.md) | `{signature_example(first)}` |"]
    lines += [f"| definition history | {'; '.join(f'{c.definition} since {c.date}: {c.change}' for c in history)} |"]
    oracle = oracle_of(first)
    if oracle is not None:
        lines += [f"| oracle | `{oracle}`: the definition taken literally, which the tests hold it against |"]
    lines += [f"| paper | [{first.paper.text}]({link(first.paper.link)}) |", ""]
    return lines


def disagreement_section(name: str) -> list[str]:
    """Return the sections of the page on disagreements that concern the metric."""
    mentioned = disagreements(name)
    lines = ["## Who computes it differently", ""]
    if mentioned:
        lines += ["These sections show with numbers where other libraries give another value:", ""]
        return [*lines, *(f"- [{title}](../disagreements.md#{anchor})" for title, anchor in mentioned), ""]
    return [*lines, "No section of [Where libraries disagree](../disagreements.md) names it.", ""]


def signature_example(metric: Metric) -> str:
    """Return the signature of a value of the metric, as results carry it."""
    labels = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 0])
    scores = np.array([0.1, 0.2, 0.9, 0.8, 0.3, 0.15, 0.05, 0.7, 0.12, 0.11])
    if metric.channels:
        labels, scores = np.stack([labels, labels[::-1]], axis=1), np.stack([scores, scores[::-1]], axis=1)
    with coarse_scores_allowed():
        result = pv.evaluate(labels, scores, metrics=[metric.id], threshold=0.5)
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


def taken_by(metric: Metric) -> str:
    """Return what a metric takes, a key of `TAKEN`."""
    return "channels" if metric.channels else "predictions" if metric.needs_threshold else "scores"


def main(arguments: Iterable[str]) -> None:
    """Write all pages, their pictures and the list of them."""
    folder = Path(next(iter(arguments), HERE / "metrics"))
    folder.mkdir(parents=True, exist_ok=True)
    known = list(pv.catalogue(channels=True, emerging=True).values())
    by_function: dict[str, list[Metric]] = {}
    for metric in known:
        by_function.setdefault(metric.function.__name__, []).append(metric)
    plain = [each for metrics in by_function.values() if not metrics[0].channels for each in shown_of(metrics)]
    values, audit = values_of(plain), audit_of(plain)
    for name, metrics in by_function.items():
        if metrics[0].channels:
            draw_channels(channel_values_of(shown_of(metrics)), folder / f"{name}.png")
        else:
            draw_example(shown_of(metrics), values, folder / f"{name}.png")
            draw_audit(shown_of(metrics), audit, folder / f"{name}-audit.png")
        page = one_page(metrics, None if metrics[0].channels else audit)
        (folder / f"{name}.md").write_text(page + "\n", encoding="utf-8")
    about = (
        "Each metric of the catalogue has a page. It says what the metric computes and what it rewards, shows with a"
        " figure how it can be fooled, and names the libraries that compute it differently."
        " [The table of all metrics](../metrics.md) has the same facts side by side."
    )
    ask = "If you do not know where to begin, read [Choose a metric](../choose.md), or ask by question:"
    lines = ["# Metrics", "", about, "", ask, ""]
    lines += ["```", "$ pateval metrics --for early-warning,few-alarms", "```", ""]
    families = list(dict.fromkeys([*FAMILIES.values(), OTHERS]))
    ordered = sorted((metrics[0] for metrics in by_function.values()), key=lambda each: families.index(family(each)))
    for kind, (title, caption) in TAKEN.items():
        chosen = [metric for metric in ordered if taken_by(metric) == kind]
        lines += [f"## {title}", ""]
        for name, group in groupby(chosen, key=family):
            lines += [f"### {name}", "", "| metric | what it is |", "| --- | --- |"]
            for metric in group:
                called = metric.function.__name__
                lines.append(f"| [{called}]({called}.md) | {metric.summary.replace('``', '`')} |")
            lines.append("")
        pages = [metric.function.__name__ for metric in chosen]
        lines += ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")
    print(f"{len(by_function)} pages about {len(known)} metrics in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
