"""Which metrics can be fooled: detectors that should not win, on labels of one's own, and what each metric rewards."""

from pateval.auditing.battery import BATTERY
from pateval.auditing.probes import PAIRS, Findings, Pair, pair_values, probe
from pateval.auditing.result import Audit, AuditRow
from pateval.auditing.run import audit

__all__ = ["BATTERY", "PAIRS", "Audit", "AuditRow", "Findings", "Pair", "audit", "pair_values", "probe"]
