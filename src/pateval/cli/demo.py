"""``pateval demo``: the main job on embedded data."""

from __future__ import annotations

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.options import AT_LEAST_0, option
from pateval.cli.output import Output, result_options


@options.command("demo")
@option("--seed", "Seed of the made series.", type=AT_LEAST_0, default=0)
@option("--report", "Write the report of the demo, an HTML page, here.", type=click.Path(), metavar="FILE")
@option("--save", "Write series and scores here, as CSV.", type=click.Path(file_okay=False), metavar="DIR")
@result_options
def command(seed: int, report: str | None, save: str | None, result: Output) -> None:
    """Evaluate simple detectors on made series: rhythm, drift, noise, and five kinds of events."""
    from pateval import demo
    from pateval.output.text_table import folded, render

    tell(
        f"making {demo.SERIES} series of {demo.STEPS:,} steps with {demo.EVENTS} events each; buffers {demo.BUFFER} "
        f"steps, VUS window {demo.PERIOD}"
    )
    found = demo.run_demo(seed)

    def text(style: str, width: int | None) -> str:
        fits = width is None or style != "table"
        table = render(*(found.rows() if fits else found.rows(demo.FEW_METRICS)), style, width=width)
        sentences = [folded(sentence, width) for sentence in demo.what_to_see(found)]
        return "\n".join([table, "", *sentences]) if style == "table" else table

    result.emit(text)
    if save is not None:
        files = demo.save_files(save, seed)
        tell(f"wrote {len(files)} files; the same numbers from them: {demo.command_for(save)}")
    elif result.style == "table":
        tell("to try the other commands on these series: pateval demo --save demo")
    if report is not None:
        written = demo.demo_board(seed).to_report(report, title="pateval demo")
        tell(f"report: {written.sentence()}")
