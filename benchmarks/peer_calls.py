"""What people call in other packages and what they call here: the table behind the speed sheet and "Coming from".

Both sides see ``labels``, ``scores`` and ``predictions`` (0/1); ours also ``pv`` and ``compat``.
"""

from __future__ import annotations

from dataclasses import dataclass

PATE_EXACT, PATE_SAMPLED, VUS_PR = "PATE, all thresholds", "PATE, 250 thresholds", "VUS-PR"
AFFILIATION, RANGE_BASED, AVERAGE_PRECISION = "affiliation F1", "range-based F1", "average precision"


@dataclass(frozen=True)
class Call:
    """One metric in another package and here.

    Attributes
    ----------
    title : str
        What is computed.
    theirs, ours : str
        Expressions.
    note : str
        What made the numbers equal, or what to look out for; whole sentences.
    differs : str
        Why the numbers differ, if they do: a clause that follows "because".
    sheet : str
        Row of the speed sheet; empty if it is not there.
    """

    title: str
    theirs: str
    ours: str
    note: str = ""
    differs: str = ""
    sheet: str = ""


_TRAPEZOIDS = (
    "This is the area under straight lines between the points of the curve, which is a little optimistic;"
    " `pv.average_precision` is the step function that scikit-learn recommends."
)
_RECIPROCAL = "Their default cardinality is `reciprocal`, ours is `one` as in the authors' program, so name it."
_F_SCORE = (
    "Inside the F score their existence reward `r_alpha` is 0.5, although in their recall it is 0: the F score is not"
    " the F1 of their own precision and recall. With `alpha=0.5` ours is the same number."
)
_ORIGINAL = "They compute VUS as its paper defined it; our default is TSB-AD's newer definition, so name the variant."
_TIMEEVAL = "They have a definition of their own, neither the paper's nor TSB-AD's; name the variant."

CALLS: dict[str, tuple[Call, ...]] = {
    "PATE": (
        Call(
            "PATE with default arguments",
            "PATE(labels, scores)",
            "compat.PATE(labels, scores)",
            "`pateval.compat.PATE` takes all their arguments, and gives their numbers.",
            sheet=PATE_SAMPLED,
        ),
        Call(
            "PATE with every threshold",
            "PATE(labels, scores, Big_Data=False, drop_intermediate=False)",
            "pv.pate(labels, scores)",
            "Here this is the default: it is exact, and the cost of a few sorts.",
            sheet=PATE_EXACT,
        ),
        Call(
            "Their default beside ours",
            "PATE(labels, scores)",
            "pv.pate(labels, scores)",
            differs="they sample 250 thresholds and we use all of them",
        ),
        Call(
            "Shorter buffers",
            "PATE(labels, scores, 20, 20, Big_Data=False, drop_intermediate=False)",
            "pv.pate(labels, scores, early=(0, 20), delay=(0, 20))",
            "They average over buffers of length 0 and of the length you give. Here you name both; one number is that"
            " length alone.",
        ),
        Call(
            "PATE-F1 of predictions",
            "PATE(labels, predictions, binary_scores=True)",
            "pv.pate_f1(labels, predictions)",
        ),
    ),
    "scikit-learn": (
        Call(
            "Average precision",
            "metrics.average_precision_score(labels, scores)",
            "pv.average_precision(labels, scores)",
            sheet=AVERAGE_PRECISION,
        ),
        Call("Area under the ROC curve", "metrics.roc_auc_score(labels, scores)", "pv.auc_roc(labels, scores)"),
        Call("F1", "metrics.f1_score(labels, predictions)", "pv.point(labels, predictions).f1"),
        Call(
            "The same detector, with time",
            "metrics.average_precision_score(labels, scores)",
            "pv.pate_ap(labels, scores, early=20, delay=20)",
            differs="PATE gives part of the credit to alarms shortly before and after an event",
        ),
    ),
    "TSB-AD": (
        Call(
            "VUS-PR",
            "generate_curve(labels, scores, 100, 'opt', 250)[-1]",
            "pv.vus_pr(labels, scores, window=100)",
            "This is `VUS-PR` of `get_metrics`. TSB-AD's definition is our default.",
            sheet=VUS_PR,
        ),
        Call(
            "VUS-ROC",
            "generate_curve(labels, scores, 100, 'opt', 250)[-2]",
            "pv.vus_roc(labels, scores, window=100)",
        ),
        Call(
            "AUC-PR",
            "basic_metricor().metric_PR(labels, scores)",
            "pv.average_precision(labels, scores)",
            "What they call AUC-PR is average precision.",
            sheet=AVERAGE_PRECISION,
        ),
        Call(
            "Affiliation F",
            "basic_metricor().metric_Affiliation(labels, scores, preds=predictions)",
            "pv.affiliation(labels, predictions).f1",
            sheet=AFFILIATION,
        ),
        Call(
            "Range-based F1",
            "basic_metricor().metric_RF1(labels, scores, preds=predictions)",
            "pv.range_based(labels, predictions, alpha=0.2, cardinality='reciprocal').f1",
            "Their existence reward is 0.2 and their cardinality `reciprocal`; our defaults are the authors' 0 and"
            " `one`.",
            sheet=RANGE_BASED,
        ),
        Call(
            "Point-adjusted F1",
            "basic_metricor().metric_PointF1PA(labels, scores, preds=predictions)",
            "pv.point_adjusted(labels, predictions).f1",
            "Theirs leaves a hole at the first step of a series that begins with an event; elsewhere they are equal.",
        ),
        Call(
            "Event-based F1",
            "basic_metricor().metric_EventF1PA(labels, scores, preds=predictions)",
            "pv.composite(labels, predictions).f1",
            "Elsewhere this is called the composite F1: recall of events, precision of steps. Theirs drops the last"
            " step of an event that reaches the end of the series.",
        ),
        Call(
            "Standard F1 at the best threshold",
            "get_metrics(scores, labels)['Standard-F1']",
            "pv.best_threshold(labels, scores, metric='point_f1').value",
            differs="they add 0.00001 to the denominator",
        ),
        Call(
            "Point-adjusted F1 at the best threshold",
            "get_metrics(scores, labels)['PA-F1']",
            "pv.best_threshold(labels, scores, metric='point_adjusted_f1').value",
            "They try 100 thresholds between the lowest and the highest score, we try all scores; on short series that"
            " often is the same.",
        ),
    ),
    "vus": (
        Call(
            "VUS-PR",
            "get_metrics(scores, labels, metric='vus', slidingWindow=100)['VUS_PR']",
            "pv.vus_pr(labels, scores, window=100)",
            sheet=VUS_PR,
        ),
        Call(
            "VUS-ROC",
            "get_metrics(scores, labels, metric='vus', slidingWindow=100)['VUS_ROC']",
            "pv.vus_roc(labels, scores, window=100)",
        ),
        Call(
            "Range-AUC",
            "get_metrics(scores, labels, metric='range_auc', slidingWindow=100)['R_AUC_PR']",
            "pv.range_auc_pr(labels, scores, window=100)",
            differs="their function is not the one that their VUS is the mean of; ours is",
        ),
        Call(
            "AUC-PR",
            "get_metrics(scores, labels, metric='auc')['AUC_PR']",
            "pv.auc_pr(labels, scores)",
            _TRAPEZOIDS,
        ),
        Call(
            "Affiliation precision",
            "get_metrics(scores, labels, slidingWindow=100)['Affiliation_Precision']",
            "pv.affiliation(labels, scores > 0.5).precision",
            "They cut at 0.5, whatever the scores are. Here you choose the threshold, and it is on record.",
        ),
        Call(
            "F1",
            "get_metrics(scores, labels, slidingWindow=100)['F']",
            "pv.point(labels, scores > scores.mean() + 3 * scores.std()).f1",
            "They cut three standard deviations above the mean.",
        ),
        Call(
            "Range-based F1",
            "get_metrics(scores, labels, slidingWindow=100)['RF']",
            "pv.range_based(labels, scores > scores.mean() + 3 * scores.std(), alpha=0.2, cardinality='reciprocal').f1",
        ),
    ),
    "aeon": (
        Call(
            "VUS-PR",
            "m.range_pr_vus_score(labels, scores, max_buffer_size=100)",
            "pv.vus_pr(labels, scores, window=100, variant='original')",
            _ORIGINAL + " Their default window is 500, ours 100.",
            sheet=VUS_PR,
        ),
        Call(
            "VUS-ROC",
            "m.range_roc_vus_score(labels, scores, max_buffer_size=100)",
            "pv.vus_roc(labels, scores, window=100, variant='original')",
        ),
        Call(
            "Range-AUC",
            "m.range_pr_auc_score(labels, scores, buffer_size=100)",
            "pv.range_auc_pr(labels, scores, window=100, variant='original')",
        ),
        Call("AUC-PR", "m.pr_auc_score(labels, scores)", "pv.auc_pr(labels, scores)", _TRAPEZOIDS),
        Call("AUC-ROC", "m.roc_auc_score(labels, scores)", "pv.auc_roc(labels, scores)"),
        Call(
            "Range-based precision",
            "m.range_precision(labels, predictions)",
            "pv.range_based(labels, predictions, cardinality='reciprocal').precision",
            _RECIPROCAL,
        ),
        Call(
            "Range-based recall",
            "m.range_recall(labels, predictions)",
            "pv.range_based(labels, predictions, cardinality='reciprocal').recall",
        ),
        Call(
            "Range-based F1",
            "m.range_f_score(labels, predictions)",
            "pv.range_based(labels, predictions, alpha=0.5, cardinality='reciprocal').f1",
            _F_SCORE,
            sheet=RANGE_BASED,
        ),
        Call("F1 at k points", "m.f_score_at_k_points(labels, scores)", "pv.f1_at_k(labels, scores)"),
        Call("F1 at k ranges", "m.f_score_at_k_ranges(labels, scores)", "pv.f1_at_k_ranges(labels, scores)"),
    ),
    "TimeEval": (
        Call(
            "VUS-PR",
            "m.RangePrVUS(max_buffer_size=100)(labels, scores)",
            "pv.vus_pr(labels, scores, window=100, variant='timeeval')",
            _TIMEEVAL + " Their default window is 500, ours 100.",
            sheet=VUS_PR,
        ),
        Call(
            "VUS-PR in compatibility mode",
            "m.RangePrVUS(max_buffer_size=100, compatibility_mode=True)(labels, scores)",
            "pv.vus_pr(labels, scores, window=100, variant='original')",
            "Their compatibility mode is the definition of the paper.",
        ),
        Call(
            "VUS-ROC",
            "m.RangeRocVUS(max_buffer_size=100)(labels, scores)",
            "pv.vus_roc(labels, scores, window=100, variant='timeeval')",
        ),
        Call(
            "Range-AUC",
            "m.RangePrAUC(buffer_size=100)(labels, scores)",
            "pv.range_auc_pr(labels, scores, window=100, variant='timeeval')",
        ),
        Call(
            "Average precision",
            "m.AveragePrecision()(labels, scores)",
            "pv.average_precision(labels, scores)",
            sheet=AVERAGE_PRECISION,
        ),
        Call("AUC-PR", "m.PrAUC()(labels, scores)", "pv.auc_pr(labels, scores)", _TRAPEZOIDS),
        Call("AUC-ROC", "m.RocAUC()(labels, scores)", "pv.auc_roc(labels, scores)"),
        Call(
            "Range-based precision",
            "m.RangePrecision()(labels, predictions)",
            "pv.range_based(labels, predictions, cardinality='reciprocal').precision",
            _RECIPROCAL,
        ),
        Call(
            "Range-based recall",
            "m.RangeRecall()(labels, predictions)",
            "pv.range_based(labels, predictions, cardinality='reciprocal').recall",
        ),
        Call(
            "Range-based F1",
            "m.RangeFScore()(labels, predictions)",
            "pv.range_based(labels, predictions, alpha=0.5, cardinality='reciprocal').f1",
            _F_SCORE,
            sheet=RANGE_BASED,
        ),
        Call("Precision at k", "m.PrecisionAtK()(labels, scores)", "pv.precision_at_k_ranges(labels, scores)"),
        Call("F1 at k", "m.FScoreAtK()(labels, scores)", "pv.f1_at_k_ranges(labels, scores)"),
    ),
    "dtaianomaly": (
        Call(
            "VUS-PR",
            "m.VolumeUnderPR(max_buffer_size=100).compute(labels, scores)",
            "pv.vus_pr(labels, scores, window=100, variant='timeeval')",
            "Their code follows TimeEval, whose definition is neither the paper's nor TSB-AD's; name the variant. Their"
            " default window is 500, ours 100.",
            sheet=VUS_PR,
        ),
        Call(
            "VUS-ROC",
            "m.VolumeUnderROC(max_buffer_size=100).compute(labels, scores)",
            "pv.vus_roc(labels, scores, window=100, variant='timeeval')",
        ),
        Call("AUC-PR", "m.AreaUnderPR().compute(labels, scores)", "pv.auc_pr(labels, scores)", _TRAPEZOIDS),
        Call("AUC-ROC", "m.AreaUnderROC().compute(labels, scores)", "pv.auc_roc(labels, scores)"),
        Call(
            "Affiliation precision",
            "m.AffiliationPrecision().compute(labels, predictions)",
            "pv.affiliation(labels, predictions).precision",
        ),
        Call(
            "Affiliation recall",
            "m.AffiliationRecall().compute(labels, predictions)",
            "pv.affiliation(labels, predictions).recall",
        ),
        Call(
            "Affiliation F1",
            "m.AffiliationFBeta().compute(labels, predictions)",
            "pv.affiliation(labels, predictions).f1",
            sheet=AFFILIATION,
        ),
        Call(
            "Range-based F1",
            "m.RangeBasedFBeta().compute(labels, predictions)",
            "pv.range_based(labels, predictions, alpha=0.5, cardinality='reciprocal').f1",
            "Their defaults are an existence reward of 0.5 and cardinality `reciprocal`; ours are 0 and `one`.",
            sheet=RANGE_BASED,
        ),
        Call(
            "Point-adjusted F1",
            "m.PointAdjustedFBeta().compute(labels, predictions)",
            "pv.point_adjusted(labels, predictions).f1",
        ),
        Call(
            "Event-wise F1",
            "m.EventWiseFBeta().compute(labels, predictions)",
            "pv.event_wise(labels, predictions).f1",
        ),
        Call(
            "F1 at the best threshold",
            "m.BestThresholdMetric(m.FBeta()).compute(labels, scores)",
            "pv.best_threshold(labels, scores, metric='point_f1').value",
        ),
    ),
    "tsadmetrics": (
        Call(
            "PATE",
            "Registry.get_metric('pate', early=100, delay=100).compute(labels, scores)",
            "compat.PATE(labels, scores, 100, 100)",
            "Their code is the authors', so the drop-in replacement of the authors' call gives the same number. Their"
            " default buffers are 5, the authors' 100.",
            sheet=PATE_SAMPLED,
        ),
        Call(
            "PATE-F1",
            "Registry.get_metric('pate_f1', early=100, delay=100).compute(labels, predictions)",
            "pv.pate_f1(labels, predictions)",
        ),
        Call(
            "VUS-PR",
            "Registry.get_metric('vus_pr', window=100).compute(labels, scores)",
            "pv.vus_pr(labels, scores, window=100)",
            "Their default window is 4, ours 100.",
            sheet=VUS_PR,
        ),
        Call(
            "AUC-PR",
            "Registry.get_metric('pw_auc_pr').compute(labels, scores)",
            "pv.average_precision(labels, scores)",
            "What they call AUC-PR is average precision.",
            sheet=AVERAGE_PRECISION,
        ),
        Call(
            "Affiliation F1",
            "Registry.get_metric('aff_f').compute(labels, predictions)",
            "pv.affiliation(labels, predictions).f1",
            sheet=AFFILIATION,
        ),
        Call(
            "Range-based F1",
            "Registry.get_metric('rbf').compute(labels, predictions)",
            "pv.range_based(labels, predictions, alpha=0.5, precision_alpha=0.5).f1",
            "By default they give an existence reward of 0.5 in recall and, against the definition, in precision too.",
            sheet=RANGE_BASED,
        ),
        Call(
            "Point-adjusted F1",
            "Registry.get_metric('paf').compute(labels, predictions)",
            "pv.point_adjusted(labels, predictions).f1",
        ),
        Call(
            "Composite F1",
            "Registry.get_metric('cf').compute(labels, predictions)",
            "pv.composite(labels, predictions).f1",
        ),
        Call(
            "Segment-wise F1",
            "Registry.get_metric('swf').compute(labels, predictions)",
            "pv.segment(labels, predictions).f1",
        ),
    ),
}
