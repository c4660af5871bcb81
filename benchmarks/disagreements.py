"""Print the page "Where libraries disagree": the same metric, the same input, different numbers.

What other people's programs answered comes from the golden files, or, where it says so, from a comparison that was made
once; what pateval answers is computed here. Run

    python benchmarks/disagreements.py > docs/disagreements.md
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import disagreement_edges as edges
import disagreement_newer as newer
import disagreement_sections as sections

import pateval as pv


def page() -> Iterator[str]:
    """The page, line by line."""
    yield from HEAD.splitlines()
    yield ""
    for section in (
        sections.vus,
        sections.range_auc,
        sections.range_recall,
        sections.adjusted,
        sections.adjusted_k,
        sections.composite,
        sections.segment,
        sections.ts_auprc,
        sections.at_k,
        sections.search,
        sections.delay,
        newer.references,
        newer.fresh_cases,
        edges.constant,
        edges.no_anomaly,
        edges.nothing_predicted,
        edges.properties,
    ):
        yield from section()


HEAD = """\
# Where libraries disagree

The same metric on the same input gives different numbers in different libraries: by definition, by default, or by
mistake. This page shows where, with the size of the difference and an example, and says which reading `pateval`
follows and why. A value from one library must not be compared with a value from another wherever this page has an
entry.

The page is made by `python benchmarks/disagreements.py`. What other programs answered is taken from the golden files in
`tests/golden`, which name their versions; what `pateval` answers is computed. Two answers count as different if they
are more than 0.000001 apart. Indices in examples count from 0, and both ends of a run are included."""


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.CoarseScoresWarning)
        print("\n".join(page()))
