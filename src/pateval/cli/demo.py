"""``pateval demo``: the main job on embedded data."""

from __future__ import annotations

import click

from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options


@click.command("demo", short_help="See it work: simple detectors on made series, offline.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the made series.")
@click.option("--report", type=click.Path(), metavar="FILE", help="Write the report of the demo, an HTML page, here.")
@click.option(
    "--save",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write series and scores here, as CSV.",
)
@result_options
def command(seed: int, report: str | None, save: str | None, result: Output) -> None:
    """Evaluate simple detectors on made series: rhythm, drift, noise, and five kinds of events."""
    from pateval.demo import FEW_METRICS, METRICS, run_demo, what_to_see
    from pateval.output.text_table import folded, render

    tell("making 4 series of 3,000 steps with 5 events each; buffers 24 steps, VUS window 48")
    found = run_demo(seed)

    def text(style: str, width: int | None) -> str:
        table = render(*found.rows(METRICS if width is None or style != "table" else FEW_METRICS), style, width=width)
        sentences = [folded(sentence, width) for sentence in what_to_see(found)]
        return "\n".join([table, "", *sentences]) if style == "table" else table

    result.emit(text)
    if save is not None:
        from pateval.demo import save_files

        files = save_files(save, seed)
        try_this = f"pateval score {files[0].parent}/*.csv --metrics pate_ap,vus_pr --early 24 --delay 24"
        tell(f"wrote {len(files)} files; the same numbers from them: {try_this}")
    elif result.style == "table":
        tell("to try the other commands on these series: pateval demo --save demo")
    if report is not None:
        from pateval.demo import demo_board

        written = demo_board(seed).to_report(report, title="pateval demo")
        tell(f"report: {written.sentence()}")
