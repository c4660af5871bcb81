"""Metrics put on trial: fakes that should not win, detectors of known order, what each metric rewards, and advice."""

from pateval.auditing.advice import QUESTIONS, Answer, advise
from pateval.auditing.battery import BATTERY
from pateval.auditing.damage import DAMAGES
from pateval.auditing.fakes import SKILL_FREE
from pateval.auditing.probes import PAIRS, Findings, Pair, pair_values, probe
from pateval.auditing.result import Audit, AuditRow
from pateval.auditing.run import audit
from pateval.auditing.score_audit import FAULTS, Gaming, MetricTrial, ScoreAudit
from pateval.auditing.scored_run import audit_scores

__all__ = [
    "BATTERY",
    "DAMAGES",
    "FAULTS",
    "PAIRS",
    "QUESTIONS",
    "SKILL_FREE",
    "Answer",
    "Audit",
    "AuditRow",
    "Findings",
    "Gaming",
    "MetricTrial",
    "Pair",
    "ScoreAudit",
    "advise",
    "audit",
    "audit_scores",
    "pair_values",
    "probe",
]
