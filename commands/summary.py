"""Commands that show where the time of a trace goes, and what changed between two."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.paths import Place
from .common import (
    FORMATS,
    OUTPUT,
    open_at,
    open_lake,
    render_rows,
    say,
    say_losses,
    screen,
    screen_options,
    write_answer,
)


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
    opened = open_at(lake, trace)
    chosen = summary_format(format_, output)
    if chosen != "table":
        write_answer(opened.summary(trace, chosen, top=top), output)
        return
    if output is not None:
        raise UsageError("--format table is for a terminal: a file is Markdown (md) or JSON (json).")
    from ..reports.summary.document import write_summary

    write_summary(opened.store, trace, top, sys.stdout, screen())


def summary_format(format_: str | None, output: Path | None) -> str:
    """Return the format of a summary: the one given, else the file's, else that for a terminal or Markdown."""
    if format_ is not None:
        return format_
    if output is None:
        return "table" if sys.stdout.isatty() else "md"
    return "json" if output.suffix.lower() == ".json" else "md"


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--ops", is_flag=True, help="The operations that changed, instead of the measures.")
@click.option("--families", is_flag=True, help="The families of operations that changed.")
@click.option("--gate", is_flag=True, help="Whether the change passes its thresholds; exit status 1 where it fails.")
@click.option("--strict", is_flag=True, help="Refuse to compare a trace with itself.")
@click.option("--anyway", is_flag=True, help="Compare even different work, such as prefill and decode.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Format of the answer.",
)
@click.option("-o", "--output", type=OUTPUT, help="Write to a file.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(0), help="Rows of a table; 0 for all.")
@screen_options
@click.pass_obj
def compare(
    lake: Place | None,
    before: str,
    after: str,
    ops: bool,
    families: bool,
    gate: bool,
    strict: bool,
    anyway: bool,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """Compare two traces: each measure before and after, its change, and the noise between steps.

    Measures are of one device in one steady step, so that traces of different length compare; without steps, of one
    device in the whole trace. The time of a step is that of the device work launched from it. A change
    within the noise, three times the median absolute deviation of the steps, is called noise. Traces measured in
    different ways, such as prefill and decode, are refused, unless --anyway is given.

    A gate fails on steps that got slower by more than its threshold and the noise, and on parts of a step that did: an
    operation, a family of operations or the idle time, by name. It warns of shares; thresholds are in the table
    gate_rules. Where it cannot judge (one step, a step without work, different work) it gives the reason
    and exits with status 1, as where it fails.

    \b
    Examples:
      tracelake compare monday tuesday
      tracelake compare monday tuesday --ops --limit 10
      tracelake compare monday tuesday --gate --strict
      tracelake compare prefill decode --families --anyway
    """
    if ops + families + gate > 1:
        raise UsageError("--ops, --families and --gate exclude each other: give one.")
    opened = open_lake(lake, trace=before)
    say_losses(opened, after)
    # A gate that cannot judge reports that as its result.
    answer = opened.compare(before, after, strict=strict, anyway=anyway or gate)
    say(f"times in µs, for {answer.basis}.")
    for warning in answer.warnings:
        if not (gate and warning in answer.doubts):
            say(warning + ".")
    if (ops or families) and answer.missing:
        say(f"no operations: {answer.missing}.")
    rows = answer.operations if ops else answer.families if families else answer.gate if gate else answer.metrics
    render_rows(rows, format_, output, limit)
    if gate:
        for doubt in answer.doubts:
            say(f"{doubt}.")
        say("cannot judge, see above" if answer.status == "unknown" else answer.status)
        if answer.status in ("fail", "unknown"):
            raise SystemExit(1)
