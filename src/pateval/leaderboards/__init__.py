"""Many detectors on many series: tables in, work spread over an executor, ranks and significance out."""

from pateval.leaderboards.result import Leaderboard, Significance
from pateval.leaderboards.run import leaderboard

__all__ = ["Leaderboard", "Significance", "leaderboard"]
