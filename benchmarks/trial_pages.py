"""Print the pages on metrics and data on trial: ``docs/trial.md`` with its CSV files, and ``docs/check.md``.

    python benchmarks/trial_pages.py metrics DATA/scores/NAB
    PATEVAL_DATA=DATA python benchmarks/trial_pages.py data

The first takes about a minute and a half for each threshold rule on two cores that have nothing else to do. The tables
are those of ``pateval audit DATA/scores/NAB --threshold RULE --format markdown`` (and ``csv``), and of ``pateval check
NAB SMD SMAP MSL --format markdown``.
"""

from __future__ import annotations

import argparse
import csv
import io
import shlex
from pathlib import Path

import pateval as pv
from pateval.output.text_table import render

DOCS = Path(__file__).parents[1] / "docs"
RULES = {"oracle": "oracle", "quantile": "quantile:0.05"}
DATASETS = ("NAB", "SMD", "SMAP", "MSL")
# What Lyu (arXiv:2607.11969) reports, and our metrics of that kind.
PUBLISHED = {
    "affiliation F1": ("99 %", ("affiliation_f1",)),
    "VUS-ROC": ("62 to 64 %", ("vus_roc",)),
    "precision-recall curves": ("14 to 18 %", ("average_precision", "vus_pr", "pate_ap")),
    "PA%K": ("14 to 18 %", ("point_adjusted_k_f1", "point_adjusted_k_area")),
}

TRIAL_HEAD = """\
# Metrics on trial

Before you trust a metric, you want to know whether something that knows nothing can get a good value under it. This
page puts every metric on trial on real data: the Numenta Anomaly Benchmark, with 16 published detectors on 58 series,
52 of them with anomalies. `pateval audit FILE...` asks the same of yours. Each metric has to answer three questions:

1. **Can it be gamed?** Fakes without skill are judged beside the real detectors. A metric is *gamed* on a series where
   a fake reaches at least 90 % of the value of the best real detector; the fake *wins* where it gets more.
2. **Does it see what is better?** Detectors are made from the labels, each worse than the one before: they find fewer
   events, cover less, come later, raise more false alarms, or are noisier. The metric should put them in that order.
3. **Does it decide alone?** A metric whose winner differs from that of most other metrics may be right. You should
   know of it.

The short answer: `pate_ap`, `vus_pr` and `average_precision` are hardly gamed, on at most one series.
`point_adjusted_f1` is gamed on more than nine series of ten, and `pate`, because of its trapezoid rule, on all.

What to look out for when you read the tables:

- The value of a fake that depends on chance is the mean of 20 draws. Only metrics with values between 0 and 1, of which
  higher is better, can be judged by question 1.
- Predictions of the real detectors and of random scores are made by one threshold rule; there is a section for each of
  two rules. The other fakes flag steps themselves, and their scores are 0 and 1.
- Two of the 16 published detectors are without skill themselves: `random`, and `null`, which is a constant. They count
  as real ones here, which makes it harder for fakes to win. `null` is the best of the 16 under the trapezoid rule on
  precision and recall (`pate`, `auc_pr`, `ts_auprc`). So a constant reaches it everywhere and nowhere gets more.

The page is printed by `python benchmarks/trial_pages.py metrics DATA/scores/NAB`. The figures are in
`docs/results/trial`, one file for each threshold rule.

## Beside what was published

Lyu (arXiv:2607.11969) reports how often metrics are gamed, on other series and with other detectors. The definitions of
the fakes are our own, so the order of the metrics can be compared and the figures cannot.
"""

TRIAL_TAIL = """\
What stands out, under both rules? Fakes that have never seen the labels game three kinds of metrics on at least half of
the series: the trapezoid on precision and recall (`pate`, `auc_pr`, `ts_auprc`), point adjustment without a further
condition (`point_adjusted_f1`, `pa_auc_roc`, `revised_point_adjusted_f1`), and what looks at single events without
false alarms. `pate_ap` and `average_precision` take the area in steps, and are
not among them.

One flagged step in every event knows where events are and nothing else of them. It is enough for metrics that adjust
points, count events, or measure how near alarms are (`affiliation_f1`).
"""

CHECK_HEAD = """\
# Data on trial

A benchmark can be worthless: its series can be so easy that one line of code solves them, or its labels can be wrong.
Wu and Keogh (arXiv:2009.13807) showed this for data that many papers use. `pateval check DATA...` looks for such faults
in your data, and this page shows what it finds in four public data sets.

What to look out for:

- A fault is a reason to look, not a proof.
- A series without the fault `one-liner` may still be easy. Rules of one line are tried on every column, and what may be
  luck among so many tries is left out.
- Labels look *shifted* where they fit one of these rules better elsewhere. Windows that were drawn wide on purpose, as
  in NAB, can be among them.

The page is printed by `PATEVAL_DATA=DATA python benchmarks/trial_pages.py data`. Of SMD, 19 of the 28 machines were
there; SMAP is without the channel P-2.

## What was found
"""


def trial_page(tables: dict[str, str], pages: dict[str, str]) -> str:
    """Put the page on metrics together from what the audit gives under each rule as CSV and as Markdown."""
    # Metrics whose papers report their own best are judged there, and their ids say so.
    by_rule = {
        name: {row["metric"].removesuffix("(threshold=best)"): row for row in csv.DictReader(io.StringIO(text))}
        for name, text in tables.items()
    }
    names = [f"{column}, {RULES[name]}" for name in tables for column in ("blind", "minimal")]
    rows = [
        [
            kind,
            published,
            metric,
            *(
                f"{100 * float(rows[metric][column]):.0f} %"
                for rows in by_rule.values()
                for column in ("blind_share", "minimal_share")
            ),
        ]
        for kind, (published, metrics) in PUBLISHED.items()
        for metric in metrics
    ]
    beside = render(["metrics of this kind", "Lyu", "ours", *names], rows, "markdown")
    parts = [TRIAL_HEAD, beside, "", TRIAL_TAIL]
    for name, page in pages.items():
        parts += [f"## Predictions by {RULES[name]}", "", page, ""]
    return "\n".join(parts).rstrip() + "\n"


def main() -> None:
    """Read the command line, compute, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", choices=["metrics", "data"])
    parser.add_argument("scores", nargs="?", help="folder of score files, for the page on metrics")
    given = parser.parse_args()
    if given.page == "data":
        found = pv.check(DATASETS)
        (DOCS / "check.md").write_text(f"{CHECK_HEAD}\n{found.markdown()}\n")
        return
    if given.scores is None:
        parser.error("name the folder of score files")
    tables, pages = {}, {}
    for name, rule in RULES.items():
        audit = pv.audit_scores(given.scores, threshold=rule, progress=True)
        tables[name] = render(*audit.records(), "csv") + "\n"
        pages[name] = (
            f"{audit.markdown()}\n\n"
            f"`pateval leaderboard FILE... --metrics {shlex.quote(','.join(audit.advised_metrics()))}`"
        )
    folder = DOCS / "results" / "trial"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    (DOCS / "trial.md").write_text(trial_page(tables, pages))


if __name__ == "__main__":
    main()
