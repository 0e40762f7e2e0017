"""Commands that compare a trace with the peaks of its chip and with its model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.storage.paths import Place
from .common import FORMATS, OUTPUT, RANKS, ROWS, device_column, format_options, open_at, render_rows, say
from .which_pass import find_one_pass

if TYPE_CHECKING:
    import duckdb

    from ..lake import Lake

#: Columns of tables and Markdown; the other formats have all columns.
_ROOFLINE = (
    "coalesce(unit, trace_op, kernel_category) AS operator, concat_ws('x', nullif(batch, 1), m, n, k) AS shape,"
    " dtype, calls, sum_us,"
    " round(time_pct, 2) AS time_pct, round(tflops, 1) AS tflops, round(100 * mfu, 1) AS mfu_pct,"
    " round(gbps, 0) AS gbps, round(100 * mbu, 1) AS mbu_pct, bound, round(gap_us, 1) AS gap_us,"
    " round(100 * roofline_eff, 1) AS roof_pct, flop_source, over_100_causes"
)
_PASS_ROOFLINE = (
    "kernel_id, layer_id, coalesce(unit, trace_op, category) AS operator,"
    " concat_ws('x', nullif(batch, 1), m, n, k) AS shape,"
    " dtype, dur_us, round(tflops, 1) AS tflops, round(100 * mfu, 1) AS mfu_pct, round(100 * mbu, 1) AS mbu_pct, bound,"
    " round(gap_us, 1) AS gap_us, round(100 * roofline_eff, 1) AS roof_pct, map_rule, flop_source, over_100_causes"
)
_VERDICTS = (
    "rank, device, pass_id, model, verdict, gemms, matched, close, differing, missing, unshaped, extra, template_flop,"
    " trace_flop, round(coverage_pct, 1) AS coverage_pct"
)
_UNITS = (
    "rank, device, pass_id, layer_kind, unit, status, count(*) AS layers, any_value(n) AS n, any_value(k) AS k,"
    " sum(template_flop) AS template_flop, sum(trace_flop) AS trace_flop, max(abs(diff_pct)) AS diff_pct,"
    " sum(sum_us) AS sum_us"
)


@click.command()
@click.argument("trace")
@click.option("--model", help="Model, or its config.json; stored for the trace, as by `tracelake set`.")
@click.option("--tp", type=RANKS, help="Degree of tensor parallelism; stored.")
@click.option("--ep", type=RANKS, help="Degree of expert parallelism; stored.")
@click.option("--pass", "pass_", help="One pass instead of all complete ones.")
@click.option("--operators", is_flag=True, help="A row per pass, layer and operator instead of the verdicts.")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True, help="Format of the answer."
)
@click.option("-o", "--output", type=OUTPUT, help="Write to a file.")
@click.option("--limit", default=200, show_default=True, type=ROWS, help="Rows of a table; 0 for all.")
@click.pass_obj
def validate(
    lake: Place | None,
    trace: str,
    model: str | None,
    tp: int | None,
    ep: int | None,
    pass_: str | None,
    operators: bool,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """Check that a trace computes what its model's template has: every product of every layer, and attention.

    Shapes of the trace are compared with the template divided by the degrees of parallelism. PASS: all products match
    within 0.5 %. WARN: some within 5 %, or without shapes. FAIL, with exit code 1: one differs or is missing.

    \b
    Examples:
      tracelake model validate prefill
      tracelake model validate prefill --operators --format json
    """
    opened = open_at(lake, trace)
    if model is not None:
        say(f"{trace}: model set to {opened.explain(trace, model)}.")
    if tp is not None or ep is not None:
        opened.set(trace, **{key: value for key, value in (("tp", tp), ("ep", ep)) if value is not None})
    pass_id = None if pass_ is None else find_one_pass(opened, trace, pass_)
    verdicts = opened.validate(trace, pass_id)
    found = verdicts.fetchall()
    place = verdicts.columns.index("verdict")
    people = format_ in ("table", "markdown")
    if operators:
        rows = opened.template_vs_trace(trace, pass_id)
        render_rows(_by_unit(rows) if people else rows, format_, output, limit)
    else:
        render_rows(verdicts.project(_VERDICTS) if people else verdicts, format_, output, limit)
    if not found:
        say(f"{trace}: this pass is not complete: nothing to compare.")
    for line in opened.model_doubts(trace):
        say(f"{trace}: {line}")
    if not found or any(row[place] == "FAIL" for row in found):
        raise SystemExit(1)


def _by_unit(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    keys = "rank, device, pass_id, layer_kind, unit, status"
    return rows.aggregate(_UNITS, keys).order("rank, device, pass_id, layer_kind, unit, status")


@click.command("kernels")
@click.argument("trace")
@click.option("--pass", "pass_", help="Kernels of one pass, a row each, instead of all kernels by operator and shape.")
@format_options
@click.pass_obj
def roofline_of(
    lake: Place | None, trace: str, pass_: str | None, format_: str, output: Path | None, limit: int
) -> None:
    """Compare what the operators of a trace compute and move with the chip's peaks, by operator and shape.

    FLOP come from shapes, else from annotations and from the trace's model; the peak is that of the type each kernel
    computes in. Shares above 100 % are shown as they are, with possible causes.

    \b
    Examples:
      tracelake model kernels prefill
      tracelake model kernels prefill --pass 0 --limit 20
    """
    opened = open_at(lake, trace)
    pass_id = None if pass_ is None else find_one_pass(opened, trace, pass_)
    answer = opened.roofline_of(trace, pass_id)
    _warn(opened, trace)
    if format_ in ("table", "markdown"):
        answer = answer.project(device_column(answer) + (_ROOFLINE if pass_id is None else _PASS_ROOFLINE))
    render_rows(answer, format_, output, limit)


def _warn(opened: Lake, trace: str) -> None:
    [(hardware, model)] = opened.rows("SELECT hardware, model FROM traces WHERE trace_id = $1", [opened.locate(trace)])
    if hardware is None:
        say(f"{trace}: unknown chip, so no peak: `tracelake set {trace} hardware=NAME`.")
    if model is None:
        say(f"{trace}: no model is set; with it, operators without shapes have FLOP too.")
