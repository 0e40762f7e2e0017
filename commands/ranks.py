"""The command that compares the ranks of a run."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.storage.paths import Place
from .common import open_lake, output_options, page_file, print_rows, say

#: Why there are no rows of a kind.
_NOTHING = {
    "rank": "no rank has device operations", "step": "no rank has steps", "call": "no rank waits in a collective",
}  # fmt: skip
_UNPAIRED = "no call of a collective could be matched with one of another rank"


@click.command()
@click.argument("run")
@click.option(
    "--by", type=click.Choice(["rank", "step", "call"]), default="rank", show_default=True,
    help="A row per rank, per rank and step, or per collective that others waited in.",
)  # fmt: skip
@output_options(own=[".html"])
@click.pass_obj
def ranks(lake: Place | None, run: str, by: str, format_: str, output: Path | None, limit: int) -> None:
    """Show which rank of a run the others wait for, in how many steps, and why.

    RUN is a run, or one of its traces. The time by which a rank comes late to a collective is that by which it started
    late, computed longer, or left the collective before later than the others (slow link). Clocks are aligned on the
    ends of collectives; below the residual lateness means nothing. Where collectives cannot be paired, the reason is
    in the answer.

    With -o r.html it is a page that needs no network: a map of ranks and steps, whom the others wait for, the clocks.

    \b
    Examples:
      tracelake ranks nightly-21
      tracelake ranks nightly-21 --by step --format csv
      tracelake ranks nightly-21 -o ranks.html
    """
    from ..analysis.ranks import find_run
    from ..ingest.inputs import names_input

    opened = open_lake(lake, trace=run if names_input(run) else None)
    opened.store.focus(find_run(opened.store, run)[1])
    answer = opened.ranks(run, by)
    for verdict in answer.verdicts:
        say(verdict)
    if page := page_file(format_, output):
        opened.write_page(answer, page)
        return
    if not answer.rows.limit(1).fetchall():
        why = _UNPAIRED if by == "call" and answer.is_unpaired else _NOTHING[by]
        say(f"{run}: {why}: nothing to compare. Details: `tracelake doctor`.")
        raise SystemExit(1)
    print_rows(opened, answer.relation, answer.rows, format_, output, limit)
