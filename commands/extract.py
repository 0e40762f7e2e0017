"""The command that cuts a pass out of a table of kernels."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import OUTPUT, for_spreadsheets, open_at, say, spreadsheet_option


@click.command()
@click.argument("trace")
@click.option(
    "--pass", "pass_", metavar="P", type=click.IntRange(0), help="Pass to cut out, from 0; default: the chosen one."
)
@click.option(
    "--window",
    type=click.Choice(["anchor", "extended", "monotonic", "whole"]),
    default="extended",
    show_default=True,
    help="From the first to the last attention, the whole pass, the run of ascending rows, or the whole file.",
)
@click.option("--device", type=click.IntRange(0), help="Device of the pass; default: the first one.")
@click.option("--without-duplicates", is_flag=True, help="Leave out rows that do not count.")
@spreadsheet_option
@click.option("-o", "--output", type=OUTPUT, required=True, help="The CSV file to write.")
@click.pass_obj
def extract(
    lake: Place | None,
    trace: str,
    pass_: int | None,
    window: str,
    device: int | None,
    without_duplicates: bool,
    output: Path,
) -> None:
    """Cut a forward pass out of an Ascend kernel_details.csv: its rows as they are in the file, under its header.

    A JSON file of the same name describes what was cut: the file and its checksum, the window and its bounds,
    attention kernels, tokens, sums of time, and the rows that do not count because another stands for the same work.

    \b
    Examples:
      tracelake extract kernel_details.csv --pass 2 -o pass.csv
      tracelake extract kernel_details.csv --window anchor --without-duplicates -o pass.csv
    """
    opened = open_at(lake, trace)
    if window == "whole" and pass_ is not None:
        raise UsageError("--window whole includes all passes; omit --pass.")
    about = opened.extract(
        trace, output, pass_id=pass_, window=window, device=device, duplicates=not without_duplicates,
        spreadsheet=for_spreadsheets() is not False,
    )  # fmt: skip
    what = "the whole file" if window == "whole" else f"pass {about['pass_id']}, window {window}"
    say(f"{output}: {about['rows_written']} rows of {what}; {output.with_suffix('.json').name} describes it.")
