"""From scores to predictions: levels chosen by a rule, and the best level of a metric."""

from pateval.thresholds.alarm_rates import alarm_rate_level as alarm_rate_level
from pateval.thresholds.alarm_rates import alarm_rate_threshold as alarm_rate_threshold
from pateval.thresholds.alarm_rates import read_alarm_rate as read_alarm_rate
from pateval.thresholds.levels import apply_threshold as apply_threshold
from pateval.thresholds.levels import median_deviation_threshold as median_deviation_threshold
from pateval.thresholds.levels import peaks_over_threshold as peaks_over_threshold
from pateval.thresholds.levels import quantile_threshold as quantile_threshold
from pateval.thresholds.levels import standard_deviation_threshold as standard_deviation_threshold
