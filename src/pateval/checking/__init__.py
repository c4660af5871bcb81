"""Data put on trial: labels and series that make a benchmark worthless."""

from pateval.checking.one_liners import RULES
from pateval.checking.result import FAULT_KINDS, CheckedSeries, DataCheck, DataFault
from pateval.checking.run import check

__all__ = ["FAULT_KINDS", "RULES", "CheckedSeries", "DataCheck", "DataFault", "check"]
