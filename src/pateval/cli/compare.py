"""``pateval compare``: two detectors, and whether one is better by more than luck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options
from pateval.validation.wording import listed

if TYPE_CHECKING:
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures


@click.command(
    "compare",
    short_help="Two detectors: who is better, and is it more than luck?",
    epilog=options.examples(
        "pateval compare mine.csv --score lstm,pca",
        "pateval compare lstm.parquet pca.parquet --metrics pate_ap,vus_pr",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@click.option("--only", metavar="NAME,NAME", help="These two detectors, where the files hold more.")
@options.measures(options.pooled, options.seed)
@click.option("--draws", type=click.IntRange(min=0), metavar="N", help="Resamples: 200 of pieces, 2000 of series.")
@result_options
def command(
    files: tuple[str, ...],
    columns: dict[str, Any],
    only: str | None,
    parameters: dict[str, Any],
    draws: int | None,
    result: Output,
) -> None:
    """Compare the detector in file A with the one in file B, or two detectors that all files hold.

    For each metric: both values, their difference, its 95 % limits, and on how much of the data the first detector is
    better. One series is cut midway between its events and the pieces are drawn again and again, for both detectors
    alike; with many series whole series are drawn. Fewer than five events, or series, give no limits. Steps that
    --ignore names in one file, or with --missing ignore have no score in one, are left out for both.
    """
    from pateval.evaluation.comparison import compare_runs
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading, TableError
    from pateval.io.plan import make_plan

    measures = Measures.of(**parameters, chance=0)
    plan = make_plan(files, Reading(**columns), needs_times=measures.needs_times)
    for note in plan.notes:
        tell(note)
    read = ScoredFiles.read(plan, measures).only(options.split(only))
    names = list(dict.fromkeys(job.detector for job, _, _ in read.parts))
    if len(names) != 2:
        remedy = "choose two with --only NAME,NAME or --score COLUMN,COLUMN"
        if len(names) < 2:
            remedy = "give the file of the second detector too, or both columns with --score COLUMN,COLUMN"
        raise TableError(
            f"two detectors are compared; {' and '.join(files)} hold{'s' if len(files) == 1 else ''} {len(names)} "
            f"({', '.join(map(repr, names))}); {remedy}"
        )
    same = _on_same_steps(read, (names[0], names[1]), measures)
    measures.require_detectors(names)
    found = same.detectors()
    comparison = compare_runs(found[names[0]], found[names[1]], measures, names=(names[0], names[1]), draws=draws)

    result.emit(comparison.rendered)


def _on_same_steps(read: ScoredFiles, names: tuple[str, str], measures: Measures) -> ScoredFiles:
    """Both detectors, with the same labels and times on the series that both have.

    Series that only one has are named on standard error; steps that one file ignores are ignored for both.
    """
    from dataclasses import replace

    import numpy as np

    from pateval.io import TableError

    one, other = names
    series = {
        name: list(dict.fromkeys(job.series for job, _, _ in read.parts if job.detector == name)) for name in names
    }
    common = [name for name in series[one] if name in series[other]]
    if not common and len(series[one]) == len(series[other]) == 1:
        raise TableError(
            f"{one!r} is on series {series[one][0]!r} and {other!r} on {series[other][0]!r}: nothing to compare"
        )
    if not common:
        raise TableError(f"{one!r} and {other!r} have no series in common")
    for mine, theirs in ((one, other), (other, one)):
        alone = [name for name in series[mine] if name not in series[theirs]]
        if alone:
            tell(f"not in the differences, since only {mine!r} has it: series {listed(alone, 1)}")
    ignored: dict[str, Any] = {}
    first: dict[str, tuple[Any, Any]] = {}
    for job, item, recording in read.parts:
        known, expected = first.setdefault(job.series, (item, recording))
        if len(recording.labels) != len(expected.labels):
            raise TableError(
                f"series {job.series!r} has {len(expected.labels):,} steps in {known.where} and "
                f"{len(recording.labels):,} in {item.where}; both detectors must be on the same steps"
            )
        differing = int((recording.labels != expected.labels).sum())
        if differing:
            raise TableError(
                f"series {job.series!r}: the labels in {known.where} and {item.where} differ on {differing:,} of "
                f"{len(expected.labels):,} steps; both detectors must be on the same labels"
            )
        own_times, known_times = (np.asarray(one.nanoseconds) for one in (recording, expected))
        if measures.needs_times and not np.array_equal(own_times, known_times):
            raise TableError(
                f"the times in {known.where} and {item.where} differ; {measures.needs_times} needs both detectors on "
                "the same clock"
            )
        if recording.ignore is not None:
            ignored[job.series] = recording.ignore | ignored.get(job.series, False)
    parts = [(job, item, replace(recording, ignore=ignored.get(job.series))) for job, item, recording in read.parts]
    return replace(read, parts=parts)
