"""The report: one page that opens anywhere and shows what is behind every number of a leaderboard.

Plain data first (`series_data`, `blocks`), then a page around them (`write`). The folder ``assets`` holds the template,
the style and the scripts (joined there), which are our own and use nothing from elsewhere; see README.md.
"""

from pateval.report.write import BUDGET, Written, report_of_board, report_of_folder

__all__ = ["BUDGET", "Written", "report_of_board", "report_of_folder"]
