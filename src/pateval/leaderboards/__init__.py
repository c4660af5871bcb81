"""Many detectors on many series: tables in, work done by an executor, ranks and significance out."""

from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.run import leaderboard
from pateval.leaderboards.significance import Significance

__all__ = ["Leaderboard", "Significance", "leaderboard"]
