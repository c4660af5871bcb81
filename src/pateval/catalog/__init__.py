"""The catalogue of metrics: what each is, how it is named and looked up, and the signatures of its values."""

from pateval.catalog.lookup import DEFAULT_METRICS as DEFAULT_METRICS
from pateval.catalog.lookup import GROUPS as GROUPS
from pateval.catalog.lookup import MetricLike as MetricLike
from pateval.catalog.lookup import canonical_id as canonical_id
from pateval.catalog.lookup import default_rank_by as default_rank_by
from pateval.catalog.lookup import find_metrics as find_metrics
from pateval.catalog.metric import Metric as Metric
from pateval.catalog.table import DEFINITION_HISTORY as DEFINITION_HISTORY
from pateval.catalog.table import PROPERTIES as PROPERTIES
from pateval.catalog.table import catalogue as catalogue
from pateval.catalog.table import initials as initials
