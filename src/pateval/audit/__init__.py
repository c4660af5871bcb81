"""Which metrics can be fooled: detectors that should not win, on labels of one's own, and what each metric rewards."""

from pateval.audit.battery import BATTERY
from pateval.audit.probes import Findings, probe
from pateval.audit.result import Audit, AuditRow
from pateval.audit.run import audit

__all__ = ["BATTERY", "Audit", "AuditRow", "Findings", "audit", "probe"]
