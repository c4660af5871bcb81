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
from pathlib import Path

import pateval as pv
from pateval.io.text_table import render

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

`pateval audit FILE...` on score files asks every metric three questions: can detectors without skill game it, does it
recover the known order of detectors made from the labels, and does it decide alone? This page is what it answers on the
Numenta Anomaly Benchmark: 16 published detectors on 58 series, 52 of them with anomalies. It is printed by
`python benchmarks/trial_pages.py metrics DATA/scores/NAB`; the figures are in `docs/results/trial`, one file
for each threshold rule.

- *Gamed*: on a series, a fake reaches at least 90 % of the value of the best of the 16 detectors; it *wins* where it
  gets more. The value of a fake that depends on chance is the mean of 20 draws. Only metrics with values in [0, 1], of
  which higher is better, can be judged so.
- Predictions of the real detectors and of random scores are made by one threshold rule. The other fakes flag steps
  themselves, and their scores are 0 and 1.
- Two of the 16 published detectors are without skill themselves, `random` and `null`, a constant. They count as real
  ones here, which makes it harder for fakes to win: `null` is the best of the 16 under the trapezoid rule on precision
  and recall (`pate`, `auc_pr`, `ts_auprc`), so that a constant reaches it everywhere and nowhere gets more.

## Beside what was published

Lyu (arXiv:2607.11969) reports how often metrics are gamed, on other series and with other detectors. The definitions of
the fakes are our own, so the order of the metrics can be compared and the figures cannot.
"""

TRIAL_TAIL = """\
What stands out, under both rules: fakes that have never seen the labels game, on at least half of the series, the
trapezoid on precision and recall (`pate`, `auc_pr`, `ts_auprc`; `pate_ap` and `average_precision` have no such line),
nearly everything that adjusts points, and what looks at single events without false alarms. One flagged step in every
event knows where events are and nothing else of them: it is enough for metrics that adjust points, count events, or
measure how near alarms are (`affiliation_f1`).
"""

CHECK_HEAD = """\
# Data on trial

`pateval check DATA...` looks for what makes labels and series worthless as a benchmark, after Wu and Keogh
(arXiv:2009.13807). This page is what it finds in the data sets at hand, printed by
`PATEVAL_DATA=DATA python benchmarks/trial_pages.py data`. Of SMD, 19 of the 28 machines were there; SMAP is without the
channel P-2.

A fault is a reason to look, not a proof. The rules of one line are tried on every column, and what may be luck among so
many tries is left out, so a series without the fault `one-liner` may still be easy. Labels that look shifted are labels
that fit one of these rules better elsewhere: windows that were drawn wide on purpose, as in NAB, can be among them.
"""


def trial_page(tables: dict[str, str], pages: dict[str, str]) -> str:
    """Put the page on metrics together from what the audit gives under each rule as CSV and as Markdown."""
    by_rule = {name: {row["metric"]: row for row in csv.DictReader(io.StringIO(text))} for name, text in tables.items()}
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
            f"{audit.markdown()}\n\n`pateval leaderboard FILE... --metrics {','.join(audit.advised_metrics())}`"
        )
    folder = DOCS / "results" / "trial"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    (DOCS / "trial.md").write_text(trial_page(tables, pages))


if __name__ == "__main__":
    main()
