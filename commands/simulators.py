"""Commands that feed simulators with measurements, and compare their results with measurements."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.storage.paths import Place
from .common import (
    FORMATS,
    ROWS,
    for_spreadsheets,
    open_at,
    open_lake,
    output_options,
    print_rows,
    render_parts,
    render_rows,
    say,
    spreadsheet_option,
)
from .which_pass import need_operations


@click.command()
@click.argument("trace")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Format of the answer.  [default: table]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="With --format, write to this file; without, write a profiling database into this folder.",
)
@click.option("--limit", type=ROWS, default=200, show_default=True, help="Rows shown of a table; 0 for all.")
@spreadsheet_option
@click.pass_obj
def shapes(lake: Place | None, trace: str, format_: str | None, output: Path | None, limit: int) -> None:
    """List the kernel times of a trace by shape.

    A row for each type of operation, shapes, types of elements, formats, kind of core and number of blocks; the
    counters of the chip are averaged likewise. With -o alone, tables are written that simulators look times up in:
    one for each type of operation, with the columns of a profiling database.

    \b
    Examples:
      tracelake shapes decode
      tracelake shapes decode --format csv -o shapes.csv
      tracelake shapes kernel_details.csv -o database
    """
    opened = open_at(lake, trace)
    if output is None or format_ is not None:
        need_operations(opened, trace)
        print_rows(opened, "shapes", opened.shapes(trace), format_ or "table", output, limit)
        return
    written = opened.write_shapes(trace, output, spreadsheet=for_spreadsheets() is not False)
    for path, rows in written:
        say(f"{path}: {rows} rows")
    if not written:
        say(f"{trace}: no kernel has shapes of its inputs and outputs: nothing to write.")
        raise SystemExit(1)


@click.command()
@click.argument("simulated")
@click.argument("measured")
@click.option(
    "--pass", "pass_", metavar="P", type=click.IntRange(0), help="Pass of the measured trace; default: the whole trace."
)
@click.option("--window", default="anchor", show_default=True, help="Which window of that pass; see `pass_windows`.")
@click.option(
    "--by",
    type=click.Choice(["type", "shape", "summary", "metrics"]),
    default="type",
    show_default=True,
    help="A row per type of operation, per shapes, one of sums, or how much of the simulation is measured.",
)
@click.option(
    "--dedup",
    metavar="tracelake|compat|none",
    default="tracelake",
    show_default=True,
    help="Which rows of a collective count: as in `kernels`, by the rule of published figures, or all.",
)
@output_options()
@click.pass_obj
def align(
    lake: Place | None,
    simulated: str,
    measured: str,
    pass_: int | None,
    window: str,
    by: str,
    dedup: str,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """Compare a simulated forward pass with a measured one: time and calls of each type of operation.

    SIMULATED is a simulator's Chrome trace, or its summary of operators. The line above the table is M6: the time
    that the simulator takes from measurements over the measured time, and what it is made of: the share of the
    measured time that it covers (coverage), the accuracy of that part (calibration), and its excess (surplus).

    \b
    Examples:
      tracelake align simulated.json decode --pass 0
      tracelake align simulated.json kernel_details.csv --by shape --format csv
    """
    from ..ingest.inputs import names_input

    opened = open_lake(lake, trace=measured if names_input(measured) else simulated)
    answer = opened.align(simulated, measured, by, pass_, window, dedup)
    if by == "metrics":
        render_rows(answer, format_, output, limit)
    elif by == "summary" or format_ not in ("table", "markdown"):
        print_rows(opened, f"align_{by}", answer, format_, output, limit)
    else:
        from ..reports.output.columns import for_people
        from ..reports.trace.alignment import m6_line

        summary = opened.align(simulated, measured, "summary", pass_, window, dedup)
        line = m6_line(*summary.select("m6, coverage, calibration, surplus, hit_us, measured_us").fetchall()[0])
        render_parts([line, for_people(opened.store, f"align_{by}", answer)], format_, output, limit)
