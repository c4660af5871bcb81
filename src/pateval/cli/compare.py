"""``pateval compare``: two detectors, and whether one is better by more than luck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options
from pateval.validation.wording import listed

if TYPE_CHECKING:
    import numpy as np

    from pateval.cli.detector_data import DetectorData
    from pateval.io import ColumnNames


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
@options.metrics
@options.on_clock
@options.window
@options.threshold
@click.option("--draws", type=click.IntRange(min=0), metavar="N", help="Resamples: 200 of pieces, 2000 of series.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of the resamples.")
@result_options
def command(
    files: tuple[str, ...],
    columns: ColumnNames,
    only: str | None,
    metrics: tuple[str, ...],
    early: tuple[Any, ...],
    delay: tuple[Any, ...],
    max_gap: str | None,
    missing: str,
    window: int | str,
    threshold: float | str,
    draws: int | None,
    seed: int,
    result: Output,
) -> None:
    """Compare the detector in file A with the one in file B, or two detectors that all files hold.

    For each metric: both values, their difference, its 95 % limits, and on how much of the data the first detector is
    better. One series is cut midway between its events and the pieces are drawn again and again, for both detectors
    alike; with many series whole series are drawn. Fewer than five events, or series, give no limits. Steps that
    --ignore names in one file, or with --missing ignore have no score in one, are left out for both.
    """
    from pateval.catalog import find_metrics
    from pateval.cli.detector_data import read_detectors
    from pateval.evaluation.circumstances import what_needs_times
    from pateval.evaluation.comparison import DEFAULT_METRICS, compare
    from pateval.evaluation.threshold_rules import check_threshold
    from pateval.io import TableError
    from pateval.output.text_table import render

    check_threshold(threshold)
    parameters = {"early": early, "delay": delay, "window": window}
    wanted = find_metrics(options.metric_names(metrics) or DEFAULT_METRICS, global_values=parameters)
    needs_times = what_needs_times(wanted, parameters, threshold=threshold, max_gap=max_gap)
    chosen = options.split(only)
    found = read_detectors(files, columns, only=chosen, missing=missing)
    if chosen is not None:
        found.sort(key=lambda data: chosen.index(data.name) if data.name in chosen else len(chosen))
    if len(found) != 2:
        names = ", ".join(repr(data.name) for data in found)
        remedy = "choose two with --only NAME,NAME or --score COLUMN,COLUMN"
        if len(found) < 2:
            remedy = "give the file of the second detector too, or both columns with --score COLUMN,COLUMN"
        raise TableError(
            f"two detectors are compared; {' and '.join(files)} hold{'s' if len(files) == 1 else ''} {len(found)} "
            f"({names}); {remedy}"
        )
    in_common = _same_series(*found)
    one, other = (data.on(in_common) for data in found)
    comparison = compare(
        one.labels,
        one.scores,
        other.scores,
        metrics=wanted,
        early=early,
        delay=delay,
        window=window,
        threshold=(one.rule(threshold), other.rule(threshold)),
        series=one.series_of_steps if len(in_common) > 1 else None,
        max_gap=max_gap,
        names=(one.name, other.name),
        draws=draws,
        seed=seed,
        **_steps_of_both(one, other, needs_times),
    )

    def text(style: str, width: int | None) -> str:
        if style == "json":
            return comparison.to_json()
        if style == "csv":
            return render(*comparison.records(), style)
        return comparison.text(width) if style == "table" else render(*comparison.table(), style)

    result.emit(text)


def _steps_of_both(one: DetectorData, other: DetectorData, needs_times: str) -> dict[str, Any]:
    """Say which steps count and when they were: those ignored in one file are for both, and times must be the same."""
    import numpy as np

    from pateval.io import TableError

    found, second = one.steps(needs_times), other.steps(needs_times)
    if needs_times and not np.array_equal(found["times"], second["times"]):
        raise TableError(
            f"the times in {one.path} and {other.path} differ; {needs_times} needs both detectors on the same clock"
        )
    masks = [steps["ignore"] for steps in (found, second) if "ignore" in steps]
    return found | ({"ignore": np.logical_or.reduce(masks)} if masks else {})


def _same_series(one: DetectorData, other: DetectorData) -> list[str]:
    """Series that both have, with the same labels; what only one has is named on standard error."""
    from pateval.io import TableError

    if len(one.series) == len(other.series) == 1 and one.series != other.series:
        raise TableError(
            f"{one.name!r} is on series {one.series[0]!r} and {other.name!r} on {other.series[0]!r}: nothing to compare"
        )
    names = [name for name in one.series if name in other.series]
    if not names:
        raise TableError(f"{one.name!r} and {other.name!r} have no series in common")
    for mine, theirs in ((one, other), (other, one)):
        alone = [name for name in mine.series if name not in theirs.series]
        if alone:
            tell(f"left out, since only {mine.name!r} has it: series {listed(alone, 1)}")
    for name in names:
        first, second = (_labels(data, name) for data in (one, other))
        if first.size != second.size:
            raise TableError(
                f"series {name!r} has {first.size:,} steps in {one.path} and {second.size:,} in {other.path}; both "
                f"detectors must be on the same steps"
            )
        differing = int((first != second).sum())
        if differing:
            raise TableError(
                f"series {name!r}: the labels in {one.path} and {other.path} differ on {differing:,} of {first.size:,} "
                f"steps; both detectors must be on the same labels"
            )
    return names


def _labels(data: DetectorData, series: str) -> np.ndarray:
    return data.checked[data.series.index(series)][0]
