"""Detectors on series: one Parquet file of scores per detector, resumable, one failure never stopping the rest.

Metrics are no concern of this package: they read the files, which `pateval.io.score_files` describes. A finished fit is
written at once to ``.parts`` beside them, so that a run that was interrupted goes on where it stopped; a network that
is being trained goes on from its checkpoint there. What failed is in ``failures.json``, the traces in ``.parts``.
"""

from __future__ import annotations

from pateval.runner.candidates import Candidate as Candidate
from pateval.runner.candidates import candidate as candidate
from pateval.runner.candidates import user_candidate as user_candidate
from pateval.runner.run import DetectionProgress as DetectionProgress
from pateval.runner.run import DetectionResult as DetectionResult
from pateval.runner.run import detect as detect
from pateval.runner.tasks import Protocol as Protocol
