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

from pateval.io.content import NoRowsError as NoRowsError
from pateval.io.content import NoScoresError as NoScoresError
from pateval.io.content import TableError as TableError
from pateval.io.files import Source as Source
from pateval.io.files import as_table as as_table
from pateval.io.files import expand as expand
from pateval.io.files import open_table as open_table
from pateval.io.files import read_table as read_table
from pateval.io.layout import Layout as Layout
from pateval.io.layout import Reading as Reading
from pateval.io.layout import find_layout as find_layout
from pateval.io.plan import saved_layout as saved_layout
from pateval.io.plan import saved_plan as saved_plan
from pateval.io.series import ScoredSeries as ScoredSeries
from pateval.io.source import ParquetFiles as ParquetFiles
from pateval.io.source import Table as Table
from pateval.io.units import Unit as Unit
from pateval.io.units import interleaving_note as interleaving_note
from pateval.io.units import labelled_series as labelled_series
from pateval.io.units import list_units as list_units
from pateval.io.units import read_units as read_units
from pateval.io.units import scored_series as scored_series
