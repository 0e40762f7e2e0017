"""Commands that show where the time of a trace goes, and what changed between two."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.paths import Place
from .common import OUTPUT, open_at, write_answer


@click.command()
@click.argument("trace")
@click.option("--format", "format_", type=click.Choice(["md", "json"]), help="Default: by the file's suffix, else md.")
@click.option("-o", "--output", type=OUTPUT, help="File to write; default: stdout.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Rows of long tables; 0 for all.")
@click.pass_obj
def summary(lake: Place | None, trace: str, format_: str | None, output: Path | None, top: int) -> None:
    """Show where the time of a trace goes: steps, breakdown, regions, operations, collectives, gaps, and what to do.

    Every table states what its shares are of. JSON has all rows; its schema is published with the package.

    \b
    Examples:
      tracelake summary decode
      tracelake summary decode.json.gz --format json -o decode.json
    """
    opened = open_at(lake, trace)
    write_answer(opened.summary(trace, summary_format(format_, output), top=top), output)


def summary_format(format_: str | None, output: Path | None) -> str:
    """Return the format of a summary: the one given, else the file's, else Markdown."""
    return format_ or ("json" if output is not None and output.suffix.lower() == ".json" else "md")
