"""Metrics from the literature, one file per idea."""

from pateval.metrics.affected_channels import affected_channels, affected_channels_f_beta
from pateval.metrics.affiliation import affiliation, affiliation_events
from pateval.metrics.affiliation_chance import normalised_affiliation, unbiased_affiliation
from pateval.metrics.balanced_point_adjusted import balanced_point_adjusted
from pateval.metrics.channel_ranking import ChannelRanking, channel_hit_rate, channel_ndcg, channel_ranking
from pateval.metrics.confidence_consistency import confidence_consistency
from pateval.metrics.delays import (
    censored_detection_delay,
    false_alarm_rate,
    mean_detection_delay,
    mean_detection_offset,
    onset_detection_rate,
)
from pateval.metrics.detection_quality import (
    DetectionQuality,
    detection_quality,
    detection_quality_parts,
    detection_quality_predictions,
)
from pateval.metrics.event_based import (
    alarming_precision,
    composite,
    event_wise,
    event_wise_f_beta,
    revised_point_adjusted,
    segment,
)
from pateval.metrics.event_weighted import (
    EventWeightedCurve,
    event_weighted,
    event_weighted_average_precision,
    event_weighted_best_f1,
    event_weighted_curve,
    pa_average_precision,
)
from pateval.metrics.latency import latency_sparsity_aware
from pateval.metrics.nab import nab
from pateval.metrics.operator_interest import operator_interest
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
from pateval.metrics.soft_event import soft_event
from pateval.metrics.szcore import szcore_event, szcore_false_alarm_rate
from pateval.metrics.tapr import etapr, tapr
from pateval.metrics.timing import timing_after_rate, timing_quality, timing_quality_events
from pateval.metrics.tolerant import temporal_distance, time_tolerant
from pateval.metrics.ts_auprc import TsCurve, ts_auprc, ts_average_precision, ts_curve
from pateval.metrics.vus import VusAreas, range_auc_pr, range_auc_roc, vus_areas, vus_pr, vus_predictions, vus_roc

__all__ = [
    "ChannelRanking",
    "DetectionQuality",
    "EventWeightedCurve",
    "TsCurve",
    "VusAreas",
    "affected_channels",
    "affected_channels_f_beta",
    "affiliation",
    "affiliation_events",
    "alarming_precision",
    "auc_pr",
    "auc_roc",
    "average_precision",
    "balanced_point_adjusted",
    "censored_detection_delay",
    "channel_hit_rate",
    "channel_ndcg",
    "channel_ranking",
    "composite",
    "confidence_consistency",
    "delay_adjusted",
    "detection_quality",
    "detection_quality_parts",
    "detection_quality_predictions",
    "etapr",
    "event_weighted",
    "event_weighted_average_precision",
    "event_weighted_best_f1",
    "event_weighted_curve",
    "event_wise",
    "event_wise_f_beta",
    "f1_at_k",
    "f1_at_k_ranges",
    "false_alarm_rate",
    "latency_sparsity_aware",
    "mean_detection_delay",
    "mean_detection_offset",
    "nab",
    "normalised_affiliation",
    "onset_detection_rate",
    "operator_interest",
    "pa_auc_roc",
    "pa_average_precision",
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
    "soft_event",
    "szcore_event",
    "szcore_false_alarm_rate",
    "tapr",
    "temporal_distance",
    "time_tolerant",
    "timing_after_rate",
    "timing_quality",
    "timing_quality_events",
    "ts_auprc",
    "ts_average_precision",
    "ts_curve",
    "ucr_score",
    "unbiased_affiliation",
    "vus_areas",
    "vus_pr",
    "vus_predictions",
    "vus_roc",
]
