"""``pateval score``: metrics of the detectors in some files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures


@click.command(
    "score",
    short_help="Metrics of the detectors in a file.",
    epilog=options.examples(
        "pateval score mine.csv --metrics pate_ap,vus_pr,point_f1",
        "pateval score mine.csv --label y --score lstm,pca --threshold quantile:0.01",
        "pateval score mine.csv --time date --early 10min --delay 1h -o values.csv",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@options.measures(options.pooled, options.chance, options.seed)
@result_options
def command(files: tuple[str, ...], columns: dict[str, Any], parameters: dict[str, Any], result: Output) -> None:
    """Compute metrics of the detectors in FILE... (`-` for standard input).

    A file holds labels and one or many score columns, or a detector column. Files with one score column are a detector
    each, named by the file; files with the same several columns are series. With several series every value is the mean
    over those where it is defined, with thresholds chosen on each; runs of a detector are averaged on each series
    first. --pooled takes all steps for one sample instead.

    Beside the values stands what random scores reach on the same labels; a star marks a detector that is not above it.
    """
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.evaluation.run import evaluate_detectors
    from pateval.io import Reading
    from pateval.io.plan import make_plan

    # What cannot be computed is refused before a file is opened; without metrics, whatever the labels will be.
    Measures.of(**parameters | {"metrics": parameters["metrics"] or "point_f1"})
    plan = make_plan(files, Reading(**columns, allow_channels=True))
    for note in plan.notes:
        tell(note)
    measures = Measures.of(**parameters, channels=any(layout.channels for layout in plan.layouts))
    read = ScoredFiles.read(plan, measures)
    table = evaluate_detectors(read.detectors(), measures)
    result.emit(table.rendered)
    if result.style not in ("json", "csv"):
        for line in table.remarks():
            tell(line)
    for line in _warnings(read, measures):
        tell(line)


def _warnings(read: ScoredFiles, measures: Measures) -> Iterator[str]:
    """Yield warnings about the data: scores that look inverted, labels that differ, buffers that are too long."""
    from pateval.evaluation.measures import Measures
    from pateval.evaluation.notes import inverted_note
    from pateval.evaluation.values import values_of
    from pateval.leaderboards.diagnostics import label_differences, too_long_buffers

    if "auc_roc" not in measures.ids:
        area = Measures.of(metrics="auc_roc", missing=measures.missing)
        for name, runs in read.detectors().items():
            values = {metric: value.value for metric, value in values_of(runs[0], area).items()}
            yield from (f"{name}: {line}" for line in inverted_note(values))
    yield from (check.sentence for check in label_differences(read.plan, read.label_numbers()))
    if any("early" in metric.global_options for metric in measures.metrics):
        yield from (check.sentence for check in too_long_buffers(read.spacings(), measures))
