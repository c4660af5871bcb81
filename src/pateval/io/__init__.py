"""Score files and data frames, read into plain NumPy columns.

The way in has three steps, each usable alone: open the source, find out which column is which, read the series.

>>> from pateval.io import as_table, find_layout, scored_series
>>> table = as_table({"label": [0, 1, 1], "lstm": [0.1, 0.9, 0.8], "usad": [0.3, 0.2, 0.4]})
>>> layout = find_layout(table)
>>> layout.guessed
"label 'label', scores 'lstm', 'usad'"
>>> [(item.detector, item.series, item.scores.tolist()) for item in scored_series(table, layout)]
[('lstm', 'series', [0.1, 0.9, 0.8]), ('usad', 'series', [0.3, 0.2, 0.4])]

Nothing here imports pyarrow or narwhals before a file or a frame is really read.
"""

from pateval.io.content import NoRowsError, NoScoresError, TableError
from pateval.io.files import Source, as_table, expand, open_table, read_table
from pateval.io.layout import Layout, Reading, find_layout
from pateval.io.plan import saved_layout, saved_plan
from pateval.io.series import ScoredSeries
from pateval.io.source import ParquetFiles, Table
from pateval.io.units import Unit, interleaving_note, labelled_series, list_units, read_units, scored_series

__all__ = [
    "Layout",
    "NoRowsError",
    "NoScoresError",
    "ParquetFiles",
    "Reading",
    "ScoredSeries",
    "Source",
    "Table",
    "TableError",
    "Unit",
    "as_table",
    "expand",
    "find_layout",
    "interleaving_note",
    "labelled_series",
    "list_units",
    "open_table",
    "read_table",
    "read_units",
    "saved_layout",
    "saved_plan",
    "scored_series",
]
