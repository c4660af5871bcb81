"""Data put on trial: labels and series that make a benchmark worthless."""

from pateval.checking.faults import FAULT_KINDS, DataFault
from pateval.checking.one_liners import RULES
from pateval.checking.result import CheckedSeries, DataCheck
from pateval.checking.run import check

__all__ = ["FAULT_KINDS", "RULES", "CheckedSeries", "DataCheck", "DataFault", "check"]
