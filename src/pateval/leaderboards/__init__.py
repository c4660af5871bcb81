"""Many detectors on many series: tables in, work done by an executor, ranks and significance out."""

from pateval.leaderboards.given_results import leaderboard_from_results
from pateval.leaderboards.result import Leaderboard
from pateval.leaderboards.run import leaderboard
from pateval.leaderboards.significance import Significance
from pateval.leaderboards.verification import Verification, verify

__all__ = ["Leaderboard", "Significance", "Verification", "leaderboard", "leaderboard_from_results", "verify"]
