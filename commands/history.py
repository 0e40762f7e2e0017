"""The command that shows a metric over time."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import open_lake, output_options, page_file, print_rows, say

if TYPE_CHECKING:
    from ..analysis.sides import Side
    from ..lake import Lake


@click.command()
@click.argument("metric")
@click.option(
    "--by", default="run", show_default=True, metavar="TAG",
    help="Traces with one value of this attribute or tag are one point; trace for each alone.",
)  # fmt: skip
@click.option("--where", metavar="SQL", help="A condition on the columns of `traces`.")
@output_options(own=[".html"])
@click.pass_obj
def history(
    lake: Place | None, metric: str, by: str, where: str | None, format_: str, output: Path | None, limit: int
) -> None:
    """Show a metric over time, and the runs at which its level shifts.

    METRIC is step_ms, step_p90_ms, period_ms, compute_ms, exposed_communication_pct, idle_pct, pass_ms or tokens_per_s,
    or a column of a relation, as in time_breakdown.idle_pct: the median of a trace's rows. A point is the median of
    its traces. Time is when traces were recorded: as set (recorded_at=2026-11-21), by the clock in the file, by a date
    in its name, or by when it was last written.

    A trace without a run is a point of its own. Traces without another attribute of --by are left out: a line says
    how many.

    Below a shift is the waterfall of a step, of the runs of the level before against those after. With -o h.html both
    are a page that needs no network. Runs of different models, phases, chips or work have no history in common: a line
    says where that is so, and --where keeps those of one.

    One history in fifty without a shift is said to have one. It needs 8 points, and a level 3.

    \b
    Examples:
      tracelake history step_ms
      tracelake history exposed_communication_pct --by run --where "hardware = 'h100_sxm'"
      tracelake history time_breakdown.idle_pct --by trace --format csv
      tracelake history step_ms -o history.html
    """
    opened = open_lake(lake)
    answer = opened.history(metric, by, where)
    if answer.doubts:
        say(f"are these runs of one program? {'; '.join(answer.doubts)}. --where keeps those of one.")
    for sentence in answer.left_out:
        say(sentence + ".")
    for verdict in answer.verdicts:
        say(verdict)
    for sides in answer.sides:
        if all(sides):
            say(f"what changed: tracelake compare {shlex.join(sides)}")
    if page := page_file(format_, output):
        opened.write_page(answer, page)
        return
    print_rows(opened, "history", answer.rows, format_, output, limit)
    if answer.levels and format_ == "table" and output is None:
        _show_change(opened, answer.levels[-1])


def _show_change(opened: Lake, levels: tuple[Side, Side]) -> None:
    """Print how a step's time differs between the levels before and after a shift."""
    from ..analysis.sides import compare

    try:
        answer = compare(opened.store, levels)
    except UsageError as error:
        say(f"the levels before and after cannot be compared: {error}")
        return
    say(f"what changed in a step, {levels[1].name} beside {levels[0].name}:")
    terms = answer.terms.filter("level IN ('step', 'part', 'category')")
    print_rows(opened, "comparison_terms", terms, "table", None, 12)
