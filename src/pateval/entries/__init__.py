"""Entries to a board that others send in: each a folder of scores and of facts, checked, evaluated and shown.

A folder of entries holds one folder for each, whose name is the detector's on the board. In it lie ``entry.toml`` and
the scores: one table called like the folder, as `pateval detect` writes it, or a file for each series where labels lie
elsewhere. What is built from them is a site: a board, a page for each entry, and the history of both.
"""

from pateval.entries.entry import Entry, problems_of, read_entries
from pateval.entries.site import Built, build

__all__ = ["Built", "Entry", "build", "problems_of", "read_entries"]
