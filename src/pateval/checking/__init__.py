"""Data put on trial: labels and series that make a benchmark worthless."""

from pateval.checking.causal import CausalCheck, check_causal
from pateval.checking.one_liners import RULES
from pateval.checking.result import FAULT_KINDS, CheckedSeries, DataCheck, DataFault
from pateval.checking.run import check

__all__ = ["FAULT_KINDS", "RULES", "CausalCheck", "CheckedSeries", "DataCheck", "DataFault", "check", "check_causal"]
