"""Metrics put on trial: fakes that should not win, detectors of known order, what each metric rewards, and advice."""

from pateval.auditing.advice import QUESTIONS, Answer, advise
from pateval.auditing.fakes import BATTERY, CHOICES, DAMAGES, SKILL_FREE
from pateval.auditing.label_audit import Audit, AuditRow, audit
from pateval.auditing.probes import PAIRS, Findings, Pair, pair_values, probe
from pateval.auditing.score_audit import FAULTS, Gaming, MetricTrial, ScoreAudit
from pateval.auditing.scored_run import audit_scores, reference_audit

__all__ = [
    "BATTERY",
    "CHOICES",
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
    "reference_audit",
]
