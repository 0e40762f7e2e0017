"""The command that writes reports."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import OUTPUT, open_at, open_lake


@click.command()
@click.argument("trace", required=False)
@click.option("--pass", "pass_", metavar="P", type=click.IntRange(0), help="Pass to detail; default: the chosen one.")
@click.option("--lake", "of_lake", is_flag=True, help="All traces of the lake instead of one, the newest first.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="File to write, .html, .md or .json; default: Markdown on stdout.",
)
@click.pass_obj
def report(lake: Place | None, trace: str | None, pass_: int | None, of_lake: bool, output: Path | None) -> None:
    """Write a report on a trace: device, model, passes, layers, kernels, and what to look at next.

    What a trace does not record is reported as unknown, with the reason. As HTML it is one file that needs no network:
    what matters in five lines, then time line, layers, roofline, idle time and findings as charts with their tables.
    The page of a lake leads to those pages of its traces that lie beside it.

    \b
    Examples:
      tracelake report decode -o decode.html
      tracelake report decode.json.gz -o decode.json
      tracelake report --lake -o index.html
    """
    if of_lake or trace is None:
        if trace is not None or pass_ is not None or output is None:
            raise UsageError("give a trace, or --lake -o index.html for all traces of the lake.")
        open_lake(lake).index(output)
        return
    opened = open_at(lake, trace)
    text = opened.report(trace, output, pass_)
    if output is None:
        click.echo(text, nl=False)
