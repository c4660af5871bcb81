"""Which metrics can be fooled: detectors that should not win, on labels of one's own, and what each metric rewards."""

from pateval.auditing.battery import BATTERY
from pateval.auditing.probes import Findings, probe
from pateval.auditing.result import Audit, AuditRow
from pateval.auditing.run import audit

__all__ = ["BATTERY", "Audit", "AuditRow", "Findings", "audit", "probe"]
