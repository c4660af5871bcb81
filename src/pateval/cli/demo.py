"""``pateval demo``: the main job on embedded data."""

from __future__ import annotations

import click

from pateval.cli import output


@click.command("demo", short_help="The main job on embedded data: no arguments, no network.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the made series.")
@output.format_option
def command(seed: int, style: str) -> None:
    """Evaluate simple detectors on made series: rhythm, drift, noise, and five kinds of events."""
    from pateval.demo import METRICS, run_demo, what_to_see

    click.echo("making 4 series of 3,000 steps with 5 events each; buffers 24 steps, VUS window 48", err=True)
    table = run_demo(seed)
    found = table.evaluations
    first = next(iter(found.values()))
    rows = [[first.label(metric), *(each[metric] for each in found.values())] for metric in METRICS]
    rows.append(["best point_adjusted_f1 (oracle)", *table.best_adjusted.values()])
    output.show(["metric", *found], rows, style)
    if style == "table":
        click.echo()
        for sentence in what_to_see(table):
            click.echo(sentence)
        click.echo(
            "(oracle): the threshold was chosen with the labels, for the best point F1 (last row: for that row)."
        )
