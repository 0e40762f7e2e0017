"""The command that shows where the time of a trace goes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import OUTPUT, open_at, screen, screen_options, write_answer
from .endings import TEXT_ENDINGS


@click.command()
@click.argument("trace")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "md", "json"]),
    help="Default: by the file's suffix; else table on a terminal, md elsewhere.",
)
@click.option("-o", "--output", type=OUTPUT, help="File to write; default: stdout.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Rows of long tables; 0 for all.")
@screen_options
@click.pass_obj
def summary(lake: Place | None, trace: str, format_: str | None, output: Path | None, top: int) -> None:
    """Show where the time of a trace goes: steps, breakdown, regions, operations, collectives, gaps, and what to do.

    Five lines come first: what it is, how long a step takes, where the time goes, what to do first, what to trust.
    Every table states what its shares are of. JSON has all rows; its schema is published with the package.

    \b
    Examples:
      tracelake summary decode
      tracelake summary decode.json.gz --format json -o decode.json
    """
    chosen = summary_format(format_, output)
    opened = open_at(lake, trace)
    if chosen != "table":
        write_answer(opened.summary(trace, chosen, top=top), output)
        return
    if output is not None:
        raise UsageError("--format table is for a terminal: a file is Markdown (md) or JSON (json).")
    from ..reports.summary.document import write_summary

    write_summary(opened.store, trace, top, sys.stdout, screen())


def summary_format(format_: str | None, output: Path | None) -> str:
    """Return the format of a summary: the given one, else by the file name, else for a terminal or Markdown.

    Raises:
        UsageError: the file's name has the ending of another format.
    """
    if format_ is not None:
        return format_
    if output is None:
        return "table" if sys.stdout.isatty() else "md"
    ending = output.suffix.lower()
    if ending not in (".json", ".md", *TEXT_ENDINGS):
        raise UsageError(f"{output}: a summary is Markdown (.md) or JSON (.json); give one of these, or --format.")
    return "json" if ending == ".json" else "md"
