"""Metrics from the literature, one file per idea."""

from pateval.metrics.affiliation import affiliation, affiliation_events
from pateval.metrics.delays import (
    censored_detection_delay,
    false_alarm_rate,
    mean_detection_delay,
    mean_detection_offset,
    onset_detection_rate,
    timing_quality,
)
from pateval.metrics.event_based import composite, event_wise, revised_point_adjusted, segment
from pateval.metrics.latency import latency_sparsity_aware
from pateval.metrics.nab import nab
from pateval.metrics.point import point
from pateval.metrics.point_adjusted import (
    delay_adjusted,
    pa_auc_roc,
    point_adjusted,
    point_adjusted_k,
    point_adjusted_k_area,
)
from pateval.metrics.range_based import range_based
from pateval.metrics.ranking import (
    auc_pr,
    auc_roc,
    average_precision,
    f1_at_k,
    f1_at_k_ranges,
    precision_at_k,
    precision_at_k_ranges,
    ucr_score,
)
from pateval.metrics.tapr import etapr, tapr
from pateval.metrics.tolerant import temporal_distance, time_tolerant
from pateval.metrics.ts_auprc import TsCurve, ts_auprc, ts_average_precision, ts_curve
from pateval.metrics.vus import VusAreas, range_auc_pr, range_auc_roc, vus_areas, vus_pr, vus_predictions, vus_roc

__all__ = [
    "TsCurve",
    "VusAreas",
    "affiliation",
    "affiliation_events",
    "auc_pr",
    "auc_roc",
    "average_precision",
    "censored_detection_delay",
    "composite",
    "delay_adjusted",
    "etapr",
    "event_wise",
    "f1_at_k",
    "f1_at_k_ranges",
    "false_alarm_rate",
    "latency_sparsity_aware",
    "mean_detection_delay",
    "mean_detection_offset",
    "nab",
    "onset_detection_rate",
    "pa_auc_roc",
    "point",
    "point_adjusted",
    "point_adjusted_k",
    "point_adjusted_k_area",
    "precision_at_k",
    "precision_at_k_ranges",
    "range_auc_pr",
    "range_auc_roc",
    "range_based",
    "revised_point_adjusted",
    "segment",
    "tapr",
    "temporal_distance",
    "time_tolerant",
    "timing_quality",
    "ts_auprc",
    "ts_average_precision",
    "ts_curve",
    "ucr_score",
    "vus_areas",
    "vus_pr",
    "vus_predictions",
    "vus_roc",
]
