"""Sections of the page "Where libraries disagree" on inputs where there is no right answer, and on properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from golden_rows import Row, figure, mask, prose, read, table

import pateval as pv
from pateval.auditing import probe
from pateval.catalog import PROPERTIES, catalogue, initials


def constant() -> Iterator[str]:
    """Constant scores."""
    steps, share = 1000, 0.05
    labels = np.zeros(steps, dtype=int)
    labels[300:325] = labels[700:725] = 1
    scores = np.zeros(steps)
    assert labels.mean() == share
    yield "## A constant score"
    yield ""
    yield from prose(
        f"{steps:,} steps, {share:.0%} anomalous in two events, the same score everywhere. Areas by the",
        "trapezoid rule pay for",
        "the straight line from the corner at precision 1:",
    )
    yield ""
    values: list[tuple[str, float]] = [
        ("`auc_roc`", pv.auc_roc(labels, scores)),
        ("`average_precision`", pv.average_precision(labels, scores)),
        ("`auc_pr` (trapezoid)", pv.auc_pr(labels, scores)),
        ("`pate` (trapezoid), buffers 0", pv.pate(labels, scores, early=0, delay=0)),
        ("`pate_ap`, buffers 0", pv.pate_ap(labels, scores, early=0, delay=0)),
        ("`ts_auprc` (trapezoid)", pv.ts_auprc(labels, scores)),
        ("`ts_average_precision`", pv.ts_average_precision(labels, scores)),
        *(
            (f'`vus_pr`, window 20, `"{variant}"`', pv.vus_pr(labels, scores, window=20, variant=variant))
            for variant in ("tsb-ad", "original", "timeeval")
        ),
    ]
    yield from table(["metric", "constant score"], [[name, figure(value)] for name, value in values])
    row = next(each for each in read("vus") if each.kind == "const_half")
    yield (
        f"The references on a golden row of {row.size} steps ({row.labels.mean():.1%} anomalous), VUS-PR: TSB-AD "
        f"{figure(row.values['vus_pr'])}, PATE repository {figure(row.values['pate_vus_pr'])}, TimeEval "
        f"{figure(row.values['timeeval_vus_pr'])}."
    )
    yield ""
    yield from prose(
        "**We** compute each metric as it is defined, offer both areas, and warn where scores are so",
        "coarse that the line",
        "flatters them.",
    )
    yield ""


def no_anomaly() -> Iterator[str]:
    """No anomaly in the labels."""
    yield "## No anomaly in the labels"
    yield ""
    yield "No answer is right, but these are given:"
    yield ""
    body = []
    for file, fields in [
        ("ts_auprc", {"TimeSeAD, ts-AUPRC": "ts_auprc", "TimeSeAD, best F1": "best_ts_f1"}),
        ("vus", {"TSB-AD, VUS": "vus_roc", "PATE repository, VUS": "pate_vus_roc"}),
        ("event", {"dtaianomaly, event-wise recall": "eventwise_recall", "TSAD_eval, composite F1": "composite_f1"}),
        ("affiliation", {"affiliation, precision": "precision"}),
        ("range_pr", {"prts, recall": "recall[alpha=0,card=one,bias=flat]"}),
        ("tapr", {"eTaPR": "eTaP[theta_p=0.5,theta_r=0.1,delta=0.0]"}),
    ]:
        row = next(each for each in read(file) if each.kind == "no_anomaly")
        for name, field in fields.items():
            value = row.values.get(field)
            body.append([name, f"`{row.errors[field].strip()}`" if value is None else figure(value)])
    yield from table(["library and metric", "answer"], body)
    yield "**We** raise `UndefinedMetricError`; `evaluate` and `leaderboard` record NaN with the reason and go on."
    yield ""


def nothing_predicted() -> Iterator[str]:
    """Nothing predicted."""
    yield "## Nothing predicted"
    yield ""
    body = []
    cases: list[tuple[str, str, str, Callable[[Row], float]]] = [
        (
            "affiliation",
            "affiliation, precision",
            "precision",
            lambda row: pv.affiliation(row.labels, row.second).precision,
        ),
        ("affiliation", "affiliation, F1", "f1", lambda row: pv.affiliation(row.labels, row.second).f1),
        (
            "range_pr",
            "prts, precision",
            "precision[card=one,bias=flat]",
            lambda row: pv.range_based(row.labels, row.second).precision,
        ),
        (
            "tapr",
            "eTaPR, F1",
            "eTaF1[theta_p=0.5,theta_r=0.1,delta=0.0]",
            lambda row: pv.etapr(row.labels, row.second).f1,
        ),
        (
            "event",
            "TSAD_eval, time-tolerant F1",
            "time_tolerant_f1[d=5]",
            lambda row: pv.time_tolerant(row.labels, row.second).f1,
        ),
        ("event", "TSAD_eval, composite F1", "composite_f1", lambda row: pv.composite(row.labels, row.second).f1),
    ]
    for file, name, field, ours in cases:
        row = next(each for each in read(file) if each.kind == "no_pred")
        value = row.values.get(field)
        shown = "NaN" if value == "nan" else "an error" if value is None else figure(value)
        body.append([name, shown, figure(ours(row))])
    yield from table(["library and metric", "its answer", "`pateval`"], body)
    yield from prose(
        "**We** give 0: nothing found, nothing right. Only where there is nothing to measure (`mean_detection_delay`,",
        "`mean_detection_offset`, `timing_quality`) is the metric undefined.",
    )
    yield ""


def properties() -> Iterator[str]:
    """What the PATE paper says of the metrics, and what is measured."""
    yield "## What metrics reward: the PATE paper's first table, and a measurement"
    yield ""
    yield from prose(
        "The paper ticks six properties: sequential, early, delayed, onset, coverage, threshold-free.",
        "`pateval.auditing.probe` measures them by pairs of detections that differ in one respect only; its docstring",
        "says how. A property is found wherever it changes the value in the right direction, however little; the",
        "paper does not say by which test it ticks. Options are at their defaults; TaPR and eTaPR credit late alarms",
        "only with `delta` above 0.",
    )
    yield ""
    measured = probe()
    body = []
    for metric in catalogue().values():
        claimed, found = metric.paper_properties, measured[metric.id].properties
        if claimed is not None and metric.field in (None, "f1"):
            more, less = ([name for name in PROPERTIES if name in rest] for rest in (found - claimed, claimed - found))
            words = [f"also {', '.join(more)}"] if more else []
            words += [f"not {', '.join(less)}"] if less else []
            body.append(
                [f"`{metric.id}`", f"`{initials(claimed)}`", f"`{initials(found)}`", "; ".join(words) or "agree"]
            )
    yield from table(["metric", "paper", "measured", "difference"], body)
    delta = probe_with_delta()
    yield f"With `delta=20`, a late alarm shortly after a found event raises the precision of `tapr` from {delta}."


def probe_with_delta() -> str:
    """TaPR of an alarm far from and close after a found event, with a zone of doubt."""
    labels = mask([[480, 519]], 1000)
    far, close = (mask([[480, 519], run], 1000) for run in ([821, 824], [521, 524]))
    return " to ".join(figure(pv.tapr(labels, flagged, delta=20).precision) for flagged in (far, close))
