"""The command that compares traces, runs and fleets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import open_lake, output_options, page_file, print_rows, render_rows, say, say_losses

if TYPE_CHECKING:
    import duckdb

    from ..analysis.sides import Side
    from ..lake import Lake

#: Up to this many sides the waterfalls are shown one below the other; beyond, only the steps.
_SIDES_IN_FULL = 3


@click.command()
@click.argument("sides", nargs=-1, metavar="SIDE SIDE...")
@click.option("--baseline", metavar="SIDE", help="The side that the others are compared with; default: the first.")
@click.option(
    "--by", metavar="KEY", help="Split the traces of all sides, or of the lake: run, hardware, rank, any tag."
)
@click.option("--terms", is_flag=True, help="The whole waterfall: step, part, category, module, operator.")
@click.option("--work", is_flag=True, help="Each kind of work of both sides, how it was matched, and its change.")
@click.option("--ops", is_flag=True, help="Of two traces: the operations that changed.")
@click.option("--families", is_flag=True, help="Of two traces: the families of operations that changed.")
@click.option("--gate", is_flag=True, help="Of two traces: whether the change passes; exit status 1 where it fails.")
@click.option("--strict", is_flag=True, help="Refuse to compare a trace with itself: sides with a common trace.")
@click.option("--anyway", is_flag=True, help="Compare even different work, such as prefill and decode.")
@output_options(limit=20, own=[".html"])
@click.pass_obj
def compare(
    lake: Place | None,
    sides: tuple[str, ...],
    baseline: str | None,
    by: str | None,
    terms: bool,
    work: bool,
    ops: bool,
    families: bool,
    gate: bool,
    strict: bool,
    anyway: bool,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """Compare traces, runs or filters: what changed in a step, by how much, why, and whether it is real.

    A SIDE is a trace, a run, or a filter such as 'run=nightly-* hardware=h100_sxm'; --by splits what is named, or the
    whole lake, into a side per value. All are compared with the first, or with --baseline; of the whole lake, the first
    has the least value.

    The difference of the steps is a waterfall: its parts (compute, exposed communication, exposed memory, wait, idle),
    their categories, modules and operators sum exactly. Work is aligned by what it is: module, operator and shapes,
    then category. Each difference of work is split into more work and slower work. Noise is what differs between the
    runs of a side, or between the steps of its one run; verdicts allow for it.

    Of two traces, the measures of a step come first: each before and after, its change, and the noise between steps.
    With -o c.html the whole comparison is a page that needs no network: the waterfall, the terms, the work that changed
    most, what was matched.

    A trace is compared by the steady steps of the program that takes most of their time, such as those of decode; steps
    of others are counted, and comparison_programs has their times.

    A gate fails on steps that got slower by more than its threshold and the noise, those of each program, and on parts
    of a step that did: an operation, a family of operations or the idle time, by name. It warns of shares; thresholds
    are in the table gate_rules. Where it cannot judge (one or two steps, a step without work, much work outside steps,
    different work, another program with a tenth of the time that only one trace has) it gives the reason and exits with
    status 1, as where it fails.

    \b
    Examples:
      tracelake compare monday tuesday
      tracelake compare monday tuesday --terms --limit 0
      tracelake compare monday tuesday --ops --limit 10
      tracelake compare monday tuesday --gate --strict
      tracelake compare prefill decode --families --anyway
      tracelake compare run=nightly-21 --by rank
      tracelake compare monday tuesday -o comparison.html
    """
    flags = {"--terms": terms, "--work": work, "--ops": ops, "--families": families, "--gate": gate}
    wanted = [flag for flag, given in flags.items() if given]
    if len(wanted) > 1:
        raise UsageError(f"{', '.join(flags)} exclude each other: give one.")
    if not sides and by is None:
        raise UsageError("name two sides or more, or split the lake's traces with --by run.")
    from ..analysis.sides import resolve, unlabelled

    shown = _Shown(wanted[0] if wanted else "", format_, output, limit)
    if wanted and shown.page:
        raise UsageError(f"{output}: a page has the whole comparison: omit {wanted[0]}.")
    opened = open_lake(lake, trace=sides[0] if sides else None)
    for side in sides[1:]:
        say_losses(opened, side)
    for message in unlabelled(opened.store, sides, by):
        say(message + ".")
    found = resolve(opened.store, sides, by=by, baseline=baseline)
    pair = [side.traces[0] for side in found] if [len(side.traces) for side in found] == [1, 1] else []
    if shown.of_pair and not pair:
        raise UsageError("--ops, --families and --gate are about two traces.")
    opened.store.focus(*(trace for side in found for trace in side.traces))
    of_medians = None
    if pair and not terms and not work and not shown.page:
        of_medians = _measures(opened, found, shown, strict=strict, anyway=anyway)
        if shown.of_pair or not shown.is_screen:
            return
    _waterfall(opened, found, shown, strict=strict, anyway=anyway, with_steps=not pair, of_medians=of_medians)


#: The verdict on a mean step that is that on a median step.
_JUDGED = {"worse": "slower", "better": "faster"}


@dataclass(frozen=True)
class _Shown:
    """What is shown of a comparison, and how."""

    wanted: str
    format: str
    output: Path | None
    limit: int

    @property
    def of_pair(self) -> bool:
        return self.wanted in ("--ops", "--families", "--gate")

    @property
    def is_screen(self) -> bool:
        return self.format == "table" and self.output is None

    @property
    def page(self) -> Path | None:
        return page_file(self.format, self.output)

    def rows(self, rows: duckdb.DuckDBPyRelation) -> None:
        render_rows(rows, self.format, self.output, self.limit)

    def main_columns(self, opened: Lake, name: str, rows: duckdb.DuckDBPyRelation) -> None:
        print_rows(opened, name, rows, self.format, self.output, self.limit)


def _waterfall(
    opened: Lake, sides: list[Side], shown: _Shown, *, strict: bool, anyway: bool, with_steps: bool,
    of_medians: tuple[str, float | None] | None,
) -> None:  # fmt: skip
    """Print how sides differ, and how much of their work was matched."""
    from ..analysis.sides import compare as beside

    answer = beside(opened.store, sides, strict=strict, anyway=anyway)
    for message in answer.left_out:
        say(message + ".")
    if len(sides) <= _SIDES_IN_FULL + 1:
        columns = "side, baseline, basis, before_matched_pct, after_matched_pct, doubts"
        for row in answer.sides.select(columns).fetchall():
            say(_matched(*row))
    if of_medians and of_medians[0] != "unknown":
        [(of_means, moved)] = answer.sides.select("verdict, change_pct").fetchall()
        of_median, median_moved = of_medians
        if (of_means if of_means in _JUDGED.values() else None) != _JUDGED.get(of_median):
            long_steps = abs(median_moved or 0) < abs(moved or 0) / 2
            say(
                f"step, median is of the median step ({of_median}), the waterfall of the mean one ({of_means}): "
                + ("some long steps move a mean, and hardly a median." if long_steps else "each has noise of its own.")
            )
    if shown.page:
        opened.write_page(answer, shown.page)
    elif shown.wanted == "--work":
        shown.rows(answer.ops)
    elif shown.wanted == "--terms":
        shown.main_columns(opened, "comparison_terms", answer.terms)
    else:
        if with_steps:
            shown.main_columns(opened, "comparisons", answer.sides)
        if shown.is_screen and len(sides) <= _SIDES_IN_FULL + 1:
            terms = answer.terms.filter("level IN ('step', 'part', 'category')")
            shown.main_columns(opened, "comparison_terms", terms)


def _matched(side: str, baseline: str, basis: str, before: float, after: float, doubts: str | None) -> str:
    doubt = f"; {doubts}" if doubts else ""
    return (
        f"{side} beside {baseline}, ms per {basis}: matched is {before:.1f} % of the work's time before, "
        f"{after:.1f} % after{doubt}."
    )


def _measures(
    opened: Lake, sides: list[Side], shown: _Shown, *, strict: bool, anyway: bool
) -> tuple[str, float | None] | None:
    """Print the measures of two traces, or their operations, families or gate.

    Returns:
        Of the measures the verdict on the median step, and its change, %.
    """
    from ..analysis.comparison import compare as of_two

    gate = shown.wanted == "--gate"
    (before, first), (after, second) = ((side.name, side.traces[0]) for side in sides)
    # A gate that cannot judge reports that as its result.
    answer = of_two(opened.store, first, second, strict=strict, anyway=anyway or gate, names=(before, after))
    say(f"before: {before}, after: {after}; times in µs, for {answer.basis}.")
    # Printed below, with the status of the gate, or above the waterfall.
    later = answer.doubts if gate else answer.of_steps if shown.is_screen and not shown.of_pair else ()
    for warning in answer.warnings:
        if warning not in later:
            say(warning + ".")
    if shown.wanted in ("--ops", "--families") and answer.missing:
        say(f"no operations: {answer.missing}.")
    answers = {"--ops": answer.operations, "--families": answer.families, "--gate": answer.gate}
    shown.rows(answers.get(shown.wanted, answer.metrics))
    if gate:
        for doubt in answer.doubts:
            say(f"{doubt}.")
        say("cannot judge, see above" if answer.status == "unknown" else answer.status)
        if answer.status in ("fail", "unknown"):
            raise SystemExit(1)
    if shown.of_pair or not shown.is_screen:
        return None
    rows = answer.metrics.select("metric, verdict, change_pct").fetchall()
    return next(((verdict, moved) for metric, verdict, moved in rows if metric == "step, median"), None)
