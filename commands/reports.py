"""Commands that export results: to Perfetto, to a report."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.paths import Place
from .common import OUTPUT, listed, open_at, open_lake, output_options, print_rows, say
from .which_pass import find_one_pass, find_pass


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:  # noqa: ARG001
    words = listed(value)
    if not all(word.isdecimal() for word in words):
        raise click.BadParameter("expected numbers separated by commas, as in 2,3.")
    return tuple(int(word) for word in words)


@click.command()
@click.argument("trace")
@click.option("--pass", "pass_", metavar="P", help="Pass to show, or all; default: the chosen one.")
@click.option("--layers", metavar="L,L…", callback=_numbers, help="These layers only, as in 2,3.")
@output_options(output="Write a small Chrome trace of the pass or layers to this file; gzipped when it ends in .gz.")
@click.pass_obj
def perfetto(
    lake: Place | None,
    trace: str,
    pass_: str | None,
    layers: tuple[int, ...],
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """List where passes and layers are on Perfetto's timeline; with -o, write a small trace that shows them.

    The small trace holds the kernels of one pass, or of some layers of it, below tracks that name pass and layer. Its
    times are those of the original. It opens in Perfetto and chrome://tracing, and tracelake reads it again.

    \b
    Examples:
      tracelake perfetto decode
      tracelake perfetto decode --layers 2,3 -o layers.json
    """
    opened = open_at(lake, trace)
    if output is None:
        chosen = find_pass(opened, trace, pass_)
        opened.check_layers(trace, chosen, layers)
        print_rows(opened, "perfetto_ranges", opened.perfetto(trace, chosen, layers), format_, None, limit)
        return
    if format_ != "table":
        raise UsageError(f"--format {format_}: -o writes a Chrome trace. For a table in a file, redirect stdout.")
    one = find_one_pass(opened, trace, pass_)
    events = opened.write_perfetto(trace, output, one, layers)
    say(f"{output}: {events} events of pass {one}.")


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
