"""All metrics of one detector, or several: `evaluate` and what it returns."""

from pateval.evaluation.explanation import explain as explain
from pateval.evaluation.result import Evaluation as Evaluation
from pateval.evaluation.result import EvaluationTable as EvaluationTable
from pateval.evaluation.run import evaluate as evaluate
