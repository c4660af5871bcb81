"""Sections of the page "Where libraries disagree" on one metric each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from golden_rows import Row, compare, counted, figure, mask, prose, read, table

import pateval as pv


def vus() -> Iterator[str]:
    """VUS: three definitions."""
    rows = read("vus")
    yield "## VUS: three definitions under one name"
    yield ""
    yield from prose(
        "TSB-AD (and the `vus` package) changed the definition that its own paper and the PATE paper",
        "used; TimeEval has a",
        "third, and a compatibility mode for the original, which is also what aeon computes.",
    )
    yield ""
    body = []
    for one, other, names in [
        ("vus_pr", "pate_vus_pr", "VUS-PR, TSB-AD against the original"),
        ("vus_pr", "timeeval_vus_pr", "VUS-PR, TSB-AD against TimeEval"),
        ("pate_vus_pr", "timeeval_vus_pr", "VUS-PR, the original against TimeEval"),
        ("pate_vus_pr", "timeeval_compat_vus_pr", "VUS-PR, the original against TimeEval's compatibility mode"),
        ("vus_roc", "pate_vus_roc", "VUS-ROC, TSB-AD against the original"),
        ("vus_roc", "timeeval_vus_roc", "VUS-ROC, TSB-AD against TimeEval"),
    ]:
        body.append([names, counted(compare(rows, one, other))])
    yield from table(["compared", "result"], body)
    labels = mask([[40, 59]], 500)
    yield "One input, 500 steps with an event at 40-59 and window 40, as `pateval` computes the three variants:"
    yield ""
    body = []
    for name, run in [("perfect: predicted 40-59", [40, 59]), ("late by half: predicted 50-69", [50, 69])]:
        scores = mask([run], 500)
        for metric in (pv.vus_pr, pv.vus_roc):
            values = [
                metric(labels, scores, window=40, variant=variant) for variant in ("tsb-ad", "original", "timeeval")
            ]
            body.append([f"{metric.__name__}, {name}", *map(figure, values)])
    yield from table(["metric and detection", '`"tsb-ad"`', '`"original"`', '`"timeeval"`'], body)
    for variant, field in [("tsb-ad", "vus_pr"), ("original", "pate_vus_pr"), ("timeeval", "timeeval_vus_pr")]:

        def ours(row: Row, variant: str = variant) -> float:
            thresholds = row.values["n_thresholds"] if variant == "tsb-ad" else 250
            window = row.values["slidingWindow"]
            return pv.vus_pr(row.labels, row.second, window=window, thresholds=thresholds, variant=variant)

        yield f'* `variant="{variant}"` and its reference: {counted(compare(rows, ours, field))}.'
    yield ""
    yield from prose(
        "**We follow** TSB-AD by default, because a perfect prediction should get 1 and because its numbers are what",
        'people compare with today; `variant="original"` reproduces the tables of the PATE paper. Name the variant.',
    )
    yield ""


def range_auc() -> Iterator[str]:
    """Range-AUC inside TSB-AD."""
    rows = read("vus")
    broken = sum("tsbad_RangeAUC_roc" in row.errors or "tsbad_RangeAUC_pr" in row.errors for row in rows)
    yield "## Range-AUC: not even equal to the VUS next to it"
    yield ""
    yield from prose(
        "VUS is the mean of range-AUC over the windows, so range-AUC is its value at one window. In",
        "TSB-AD the function of",
        f"that name is another one: it raises an error on {broken} of {len(rows)} rows, and elsewhere,",
        "compared with the value",
        f"inside its own VUS, it is {counted(compare(rows, 'tsbad_RangeAUC_pr', 'range_auc_pr_curve'))} (PR).",
        "The `vus` package's function, compared with TSB-AD's VUS at that window, is",
        f"{counted(compare(rows, 'vusrepo_RangeAUC_pr', 'range_auc_pr_curve'))} (PR).",
    )
    yield ""
    yield from prose(
        "**We follow** the definition: `range_auc_roc` and `range_auc_pr` are the last window of our",
        "VUS, in every variant.",
    )
    yield ""


def range_recall() -> Iterator[str]:
    """Range-based recall: defaults."""
    rows = read("range_pr")
    yield "## Range-based precision and recall: defaults"
    yield ""
    yield from prose(
        "The definition has three free choices, and every library takes others. The authors' program",
        "and prts start from",
        "cardinality `one`; aeon from `reciprocal`, with an existence reward of 0 in its recall and 0.5",
        "in its F score, which",
        "is thus not the F1 of its own precision and recall; TSB-AD takes `reciprocal` and 0.2; the",
        "PATE repository 0.2 in",
        "recall and, against the definition, in precision too.",
    )
    yield ""
    labels, predictions = mask([[10, 19], [30, 49]], 60), mask([[12, 13], [16, 16], [31, 35], [40, 44], [55, 57]], 60)
    body = []
    choices: list[tuple[str, dict[str, Any]]] = [
        ("prts, authors' program; our default", {}),
        ("aeon", {"cardinality": "reciprocal"}),
        ("aeon, inside its F score", {"cardinality": "reciprocal", "alpha": 0.5}),
        ("TSB-AD", {"cardinality": "reciprocal", "alpha": 0.2}),
        ("PATE repository", {"alpha": 0.2, "precision_alpha": 0.2}),
    ]
    for whose, options in choices:
        found = pv.range_based(labels, predictions, **options)
        chosen = ", ".join(f"{name}={value!r}" for name, value in options.items())
        body.append([whose, f"`{chosen}`" if chosen else "", *map(figure, found)])
    yield from prose(
        "60 steps, events 10-19 and 30-49, predicted 12-13, 16, 31-35, 40-44 and 55-57; `range_based`",
        "with the options of",
        "each:",
    )
    yield ""
    yield from table(["whose", "options", "precision", "recall", "F1"], body)
    one, reciprocal = (f"recall[alpha=0,card={name},bias=flat]" for name in ("one", "reciprocal"))
    yield f"* Recall with cardinality `one` and with `reciprocal` (prts): {counted(compare(rows, one, reciprocal))}."
    existence = "recall[alpha=0.5,card=one,bias=flat]"
    yield f"* Recall without an existence reward and with 0.5 (prts): {counted(compare(rows, one, existence))}."
    ours = compare(rows, lambda row: pv.range_based(row.labels, row.second).recall, one)
    yield f"* `pateval` and prts, default options: {counted(ours)}."
    yield ""
    yield from prose(
        "**We follow** the authors' defaults; existence belongs to recall only, and `precision_alpha`",
        "exists to reproduce the",
        "PATE paper's tables.",
    )
    yield ""


def adjusted() -> Iterator[str]:
    """Point adjustment and index 0."""
    found = compare(read("pa_pred"), "tsbad_pa_f1", "pa_f1")
    assert found.example is not None
    row = found.example
    yield "## Point adjustment: the first step"
    yield ""
    yield from prose(
        "TSB-AD and the PATE repository fill a detected event backwards with a loop that stops before",
        "index 0, so that an",
        "event at the very start keeps a hole there. dtaianomaly fills it.",
    )
    yield ""
    yield f"* F1 of TSB-AD and of the definition: {counted(found)}."
    yield (
        f"* Example: {row.size} steps, {row.inputs}. TSB-AD {figure(row.values['tsbad_pa_f1'])}, "
        f"dtaianomaly {figure(row.values['pa_f1'])}, "
        f"`point_adjusted` {figure(pv.point_adjusted(row.labels, row.second).f1)}."
    )
    yield ""
    yield "**We follow** the definition: an event that was hit is filled from its first step to its last."
    yield ""


def adjusted_k() -> Iterator[str]:
    """PA%K: more than, or at least."""
    rows = read("pak_pred")
    yield "## PA%K: more than K percent, or at least"
    yield ""
    yield "The authors' code asks for *more* than K percent of an event, TSAD_eval for *at least* K percent."
    yield ""
    body = [[str(k), counted(compare(rows, f"tsadeval_f1_K{k}", f"f1_K{k}"))] for k in (0, 20, 50, 80, 100)]
    yield from table(["K", "F1, TSAD_eval against the authors"], body)
    found = compare(rows, "tsadeval_f1_K50", "f1_K50")
    assert found.example is not None
    row = found.example
    yield (
        f"* Example, K = 50: {row.size} steps, {row.inputs}. TSAD_eval {figure(row.values['tsadeval_f1_K50'])}, "
        f"the authors {figure(row.values['f1_K50'])}, "
        f"`point_adjusted_k` {figure(pv.point_adjusted_k(row.labels, row.second, k=50).f1)}."
    )
    labels, predictions = mask([[0, 99]], 120), mask([[0, 28]], 120)
    yield (
        "* The authors compare in floating point, where 0.29 times 100 is a little less than 29: with "
        "29 of 100 steps found "
        "and K = 29 their test passes. We compare whole numbers: recall "
        f"{figure(pv.point_adjusted_k(labels, predictions, k=29).recall)}, not 1."
    )
    yield ""
    yield "**We follow** the authors: strictly more, in whole numbers."
    yield ""


def composite() -> Iterator[str]:
    """Composite F1 and the end of the series."""
    found = compare(read("event"), "garg_fc", "composite_f1")
    assert found.example is not None
    row = found.example
    yield "## Composite F1: the last step"
    yield ""
    yield from prose(
        "The authors' program drops the last step of an event that reaches the end of the series; an",
        "event of one step there",
        "does not exist for it. TSB-AD's event F inherits this.",
    )
    yield ""
    yield f"* The authors' program and the definition (TSAD_eval): {counted(found)}."
    yield (
        f"* Example: {row.size} steps, {row.inputs}. The authors {figure(row.values['garg_fc'])}, "
        f"TSAD_eval {figure(row.values['composite_f1'])}, "
        f"`composite` {figure(pv.composite(row.labels, row.second).f1)}."
    )
    yield ""
    yield "**We follow** the definition: every event counts to its end."
    yield ""


def segment() -> Iterator[str]:
    """Segment-wise counting: a run over several events."""
    found = compare(read("event"), "telemanom_tp", "segment_tp")
    assert found.example is not None
    row = found.example
    yield "## Segments: a run that touches several events"
    yield ""
    yield from prose(
        "telemanom credits a predicted run with the first event it touches only; by the wording of its",
        "paper every event",
        "that is touched is found.",
    )
    yield ""
    yield f"* True positives of telemanom and TSAD_eval: {counted(found)}."
    yield (
        f"* Example: {row.size} steps, {row.inputs}. telemanom finds {figure(row.values['telemanom_tp'])}, "
        f"TSAD_eval {figure(row.values['segment_tp'])}; recall of `segment` "
        f"{figure(pv.segment(row.labels, row.second).recall)}."
    )
    yield ""
    yield "**We follow** the paper. Either way, flagging everything is a perfect score: see `pateval audit`."
    yield ""


def ts_auprc() -> Iterator[str]:
    """ts-AUPRC: the denominator of precision."""
    rows = read("ts_auprc")
    found = compare(rows, "ts_auprc", "ts_auprc_full_denominator")
    assert found.example is not None
    row = found.example
    yield "## ts-AUPRC: false alarms after the last event"
    yield ""
    yield from prose(
        "TimeSeAD weighs predicted runs by length, but its loop ends once the last event is passed: of",
        "the false alarms after",
        "it only the first enters the denominator of precision, and all later ones are free.",
    )
    yield ""
    yield f"* TimeSeAD and the full denominator: {counted(found)}."
    yield (
        f"* Example: {row.size} steps, kind of scores `{row.kind}`: TimeSeAD "
        f"{figure(row.values['ts_auprc'])}, full denominator "
        f"{figure(row.values['ts_auprc_full_denominator'])}, `ts_auprc` {figure(pv.ts_auprc(row.labels, row.second))}."
    )
    labels, scores = mask([[2, 5]], 40), np.zeros(40)
    scores[2:6], scores[10:40:4] = 1.0, 1.0
    share = pv.ts_curve(labels, scores).precision[0]
    yield (
        f"* By hand: 40 steps, event 2-5 found, {int(scores[6:].sum())} false alarms of one step after "
        "it. The precision is "
        f"{figure(share)} with all of them; it would be {figure(4 / 5)} with the first alone."
    )
    unweighted = compare(rows, "ts_auprc_unweighted", lambda row: pv.ts_auprc(row.labels, row.second, weighted=False))
    yield f"* Without weights TimeSeAD and `pateval` are {counted(unweighted)}."
    yield ""
    yield "**We follow** the paper: all predicted steps are in the denominator."
    yield ""


def at_k() -> Iterator[str]:
    """Precision at k."""
    rows = read("score_misc")
    found = compare(rows, "tsbad_precision_at_k_bug", "precision_at_k")
    assert found.example is not None
    row = found.example
    yield "## Precision at k: comparing a prediction with a score"
    yield ""
    yield from prose(
        "TSB-AD and `vus` compare a 0/1 prediction (three standard deviations) with the score of rank",
        "k, which means nothing",
        "unless scores happen to lie between 0 and 1 and the two agree.",
    )
    yield ""
    yield f"* TSB-AD and TSAD_eval: {counted(found)}."
    yield (
        f"* Example: {row.size} steps, kind of scores `{row.kind}`: TSB-AD "
        f"{figure(row.values['tsbad_precision_at_k_bug'])}, "
        f"TSAD_eval {figure(row.values['precision_at_k'])}, `precision_at_k` "
        f"{figure(pv.precision_at_k(row.labels, row.second))}."
    )
    yield ""
    yield "**We follow** the definition, with all ties at rank k."
    yield ""


def search() -> Iterator[str]:
    """Best thresholds: a grid, or all of them."""
    rows = read("pa_best")
    found = compare(rows, "tsbad_pa_f1", "pa_f1_best_exact")
    assert found.example is not None
    row = found.example
    yield "## Best F1: which thresholds are tried"
    yield ""
    yield from prose(
        "TSB-AD tries 100 thresholds between the lowest and the highest score and flags what is",
        "strictly above; tadpak tries",
        "all scores, also strictly. Both never flag the lowest score, and a grid steps over the best",
        "place. dtaianomaly tries",
        "all midpoints, for scores between 0 and 1.",
    )
    yield ""
    yield f"* Best point-adjusted F1, TSB-AD against all thresholds: {counted(found)}."
    yield f"* The same of dtaianomaly: {counted(compare(rows, 'dtai_best_pa_f1', 'pa_f1_best_exact'))}."
    flat = next(each for each in rows if each.kind == "const_half")
    yield (
        f"* Constant scores, {flat.size} steps: TSB-AD {figure(flat.values['tsbad_pa_f1'])}, `best_threshold` "
        f"{figure(pv.best_threshold(flat.labels, flat.second, metric='point_adjusted_f1').value)} (flag everything)."
    )
    yield (
        f"* Example: {row.size} steps, kind of scores `{row.kind}`: TSB-AD "
        f"{figure(row.values['tsbad_pa_f1'])}, all thresholds "
        f"{figure(row.values['pa_f1_best_exact'])}, `best_threshold` "
        f"{figure(pv.best_threshold(row.labels, row.second, metric='point_adjusted_f1').value)}."
    )
    ours = compare(
        rows,
        lambda row: pv.best_threshold(row.labels, row.second, metric="point_adjusted_f1").value,
        "pa_f1_best_exact",
    )
    yield f"* `best_threshold` and all thresholds: {counted(ours)}."
    yield ""
    yield from prose(
        "**We follow** neither grid: all distinct scores, a step being flagged where its score is at",
        "least the threshold; of",
        "equally good ones the highest. Such values are marked as oracle in every table.",
    )
    yield ""


def delay() -> Iterator[str]:
    """Mean detection delay."""
    rows = read("event")
    found = compare(rows, "merlion_mttd_int", lambda row: pv.mean_detection_delay(row.labels, row.second))
    assert found.example is not None
    row = found.example
    silent = [
        each
        for each in rows
        if each.values.get("merlion_mean_delay_exact") is None and each.values.get("merlion_mttd_int") == 0
    ]
    yield "## Mean time to detect: whole seconds, and 0 for nothing"
    yield ""
    yield from prose(
        "Merlion cuts the mean delay to whole seconds, and returns 0, the best there is, where nothing is detected.",
    )
    yield ""
    yield f"* Merlion and the mean itself: {counted(found)}."
    yield (
        f"* Example: {row.size} steps, {row.inputs}. Merlion {figure(row.values['merlion_mttd_int'])}, "
        f"`mean_detection_delay` {figure(pv.mean_detection_delay(row.labels, row.second))}."
    )
    yield f"* Rows where nothing is detected and Merlion says 0: {len(silent)}."
    yield ""
    yield from prose(
        "**We follow** the mean, and raise `UndefinedMetricError` where nothing is detected;",
        "`censored_detection_delay` counts",
        "missed events in full.",
    )
    yield ""
