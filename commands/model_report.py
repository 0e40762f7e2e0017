"""Commands for the cost of a whole model: a report, the roofline of one workload, a sweep over many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..analysis.formulas import known
from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import (
    MOST_RANKS,
    MOST_TOKENS,
    OUTPUT,
    RANKS,
    TOKENS,
    format_options,
    listed,
    open_default,
    render_rows,
    say,
)
from .models import say_fault, say_faults, say_remarks, workload_options

if TYPE_CHECKING:
    import duckdb

_FOLDER = click.Path(file_okay=False, path_type=Path)


def _words(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:  # noqa: ARG001
    return listed(value)


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[int] | None:
    words = _words(ctx, parameter, value)
    least = 0 if parameter.name in ("kv_len", "zero_stage") else 1
    most = MOST_TOKENS if parameter.name in ("batch", "seq_len", "kv_len", "microbatches") else MOST_RANKS
    if not all(word.isdecimal() and least <= int(word) <= most for word in words):
        raise click.BadParameter(f"expected numbers separated by commas, as in 1,8,64, each from {least} to {most}.")
    return [int(word) for word in words] or None


def _need(hardware: list[str]) -> None:
    if not hardware:
        raise UsageError("--hardware is missing: times depend on the chip. tracelake hardware list shows all.")


_FORMULAS = click.option(
    "--formulas",
    metavar="|".join(known()),
    default="physical",
    show_default=True,
    help="; ".join(f"{one.name}: {one.about}" for one in known().values()) + ".",
)


@click.command()
@click.argument("name", metavar="MODEL")
@click.option("--hardware", metavar="H,H…", callback=_words, help="Chips; the report covers the first. Required.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="File, .md or .html; default: Markdown on stdout, without charts.",
)
@click.option("--batch", default=8, show_default=True, type=TOKENS, help="Sequences of a replica.")
@click.option("--seq-len", default=4096, show_default=True, type=TOKENS, help="Tokens of a prompt.")
@click.option("--kv-len", type=TOKENS, help="Cached tokens in decode; default: --seq-len.")
@click.option("--tp", default=1, show_default=True, type=RANKS, help="Degree of tensor parallelism.")
@click.option("--ep", default=1, show_default=True, type=RANKS, help="Degree of expert parallelism.")
@click.option("--dp", type=RANKS, help="Data-parallel replicas; default: EP / TP.")
@click.option("--pp", default=1, show_default=True, type=RANKS, help="Pipeline stages.")
@click.option("--weight-dtype", help="Type of weights, as bf16 or fp8; default: as published.")
@click.option("--activation-dtype", help="Type of activations; default: bf16.")
@click.option("--kv-dtype", help="Type of the KV cache; default: as published, else as activations.")
@_FORMULAS
@click.option(
    "--execution",
    "executions",
    metavar="BASE,MAIN",
    callback=_words,
    help="Execution profiles; figures are of the last, compared with the first.",
)
@click.option("--csv", type=_FOLDER, help="Write the relations behind the tables to this folder, as CSV.")
@click.option("--parquet", type=_FOLDER, help="The same as Parquet.")
@click.pass_obj
def report(lake: Place | None, /, name: str, hardware: list[str], output: Path | None, **work: Any) -> None:
    """Write a report on a model's cost on a chip: what limits training, prefill and decode, and what would help.

    Nothing is measured: figures follow from dimensions and data sheets. Charts of a Markdown report are SVG files
    next to it; an HTML report is one file that needs no network.

    \b
    Examples:
      tracelake model report qwen3-8b --hardware h200 -o qwen3.md
      tracelake model report deepseek-v3 --hardware h200,b200 --ep 64 -o v3.html --csv tables
    """
    _need(hardware)
    opened = open_default(lake)
    written = opened.model_report(name, output, hardware=hardware, **work)
    for fault in written.faults:
        say_fault(fault)
    say_remarks(written.remarks)
    if output is None:
        click.echo(written.text, nl=False)
    else:
        say(f"{output}: written.")


@click.command()
@click.argument("name", metavar="MODEL")
@workload_options
@click.option("--modules", is_flag=True, help="A row for each module instead of one for the pass.")
@format_options
@click.pass_obj
def roofline(
    lake: Place | None,
    /,
    name: str,
    hardware: str | None,
    modules: bool,
    format_: str,
    output: Path | None,
    limit: int,
    **work: Any,
) -> None:
    """Show what a pass should cost one chip: FLOP, bytes, times and what limits it; with --modules, per module.

    time_ms is the longest of compute_ms, hbm_ms and net_ms: a lower bound, with perfect overlap. serial_ms has no
    overlap between operators.

    \b
    Examples:
      tracelake model roofline qwen3-8b --batch 64 --kv-len 4096 --hardware h200
      tracelake model roofline deepseek-v3 --batch 32 --kv-len 4096 --dp 32 --ep 32 --hardware h200 --modules
    """
    _need([hardware] if hardware else [])
    opened = open_default(lake)
    scenario = opened.ask(name, hardware, **work)
    say_faults(opened, scenario)
    answer = opened.model_roofline(scenario, modules=modules)
    render_rows(_for_people(answer, format_, _MODULE if modules else _PHASE), format_, output, limit)


@click.command()
@click.argument("name", metavar="MODEL")
@click.option("--hardware", metavar="H,H…", callback=_words, help="Chips. Required.")
@click.option("--phase", metavar="P,P…", callback=_words, help="decode, prefill, training; default: decode.")
@click.option("--batch", metavar="N,N…", callback=_numbers, help="Sequences of a replica.")
@click.option("--seq-len", metavar="N,N…", callback=_numbers, help="New tokens of each sequence.")
@click.option("--kv-len", metavar="N,N…", callback=_numbers, help="Cached tokens of each sequence.")
@click.option("--tp", metavar="N,N…", callback=_numbers, help="Degrees of tensor parallelism.")
@click.option("--ep", metavar="N,N…", callback=_numbers, help="Degrees of expert parallelism.")
@click.option("--dp", metavar="N,N…", callback=_numbers, help="Data-parallel replicas; default: EP / (TP x CP).")
@click.option("--pp", metavar="N,N…", callback=_numbers, help="Pipeline stages.")
@click.option("--cp", metavar="N,N…", callback=_numbers, help="Context-parallel ranks.")
@click.option("--microbatches", metavar="N,N…", callback=_numbers, help="Microbatches of a training step.")
@click.option("--virtual-stages", metavar="N,N…", callback=_numbers, help="Parts of the layers that a stage holds.")
@click.option("--zero-stage", metavar="N,N…", callback=_numbers, help="Stages of ZeRO, 0 to 3.")
@click.option("--top-k", metavar="N,N…", callback=_numbers, help="Experts per token.")
@click.option("--weight-dtype", metavar="T,T…", callback=_words, help="Types of weights.")
@click.option("--activation-dtype", metavar="T,T…", callback=_words, help="Types of activations.")
@click.option("--kv-dtype", metavar="T,T…", callback=_words, help="Types of the KV cache.")
@click.option("--execution", metavar="E,E…", callback=_words, help="Execution profiles.")
@_FORMULAS
@click.option("--map", "knobs", metavar="X,Y", callback=_words, help="What limits the scenarios, over two knobs.")
@format_options
@click.pass_obj
def sweep(
    lake: Place | None,
    /,
    name: str,
    hardware: list[str],
    knobs: list[str],
    format_: str,
    output: Path | None,
    limit: int,
    **axes: Any,
) -> None:
    """List what a pass should cost for every combination of values: a row per scenario, with its faults.

    Values are separated by commas. Columns are those of the relation phase_roofline; with --map, those of regime_map,
    for two knobs from the table knobs; can_run: whether a pair's scenarios can run and fit the memory.

    \b
    Examples:
      tracelake model sweep qwen3-8b --batch 1,8,64 --kv-len 1024,8192 --hardware h200,b200
      tracelake model sweep deepseek-v3 --ep 8,64 --batch 16,128 --kv-len 4096 --hardware h200 --format csv
      tracelake model sweep qwen3-8b --batch 1,64,512 --kv-len 1024,8192,32768 --hardware h200 --map batch,kv_len
    """
    _need(hardware)
    from ..analysis.sweeps import AXES

    if knobs and len(knobs) != 2:
        raise UsageError("--map: expected two knobs separated by a comma, as in batch,kv_len.")
    chosen = {key: value for key, value in axes.items() if value}
    opened = open_default(lake)
    swept = opened.model_sweep(name, hardware=hardware, **chosen)
    say_remarks(swept.remarks)
    if knobs:
        answer = swept.map(*knobs)
        [(points, feasible, most)] = answer.aggregate("sum(points), sum(feasible_points), max(points)").fetchall()
        ms = "median_ms" if most and most > 1 else "ms"
        shown = (
            f"hardware, phase, execution, x AS {knobs[0]}, y AS {knobs[1]}, points, {_CAN_RUN}, bound, "
            f"round(median_ms, 3) AS {ms}"
        )
        render_rows(_for_people(answer, format_, shown), format_, output, limit)
        if points and feasible < points:
            infeasible = f"{points - feasible} of {points} scenarios"
            say(f"{infeasible} cannot run or do not fit the memory; without --map, see faults.")
        return
    given = ", ".join(axis for axis in AXES if axis in ("hardware", "phase") or axis in chosen)
    render_rows(_for_people(swept.rows, format_, f"{given}, {_STEP}, {_PASS}, faults"), format_, output, limit)


_CAN_RUN = (
    "CASE feasible_points WHEN points THEN 'yes' WHEN 0 THEN 'no' ELSE concat(feasible_points, ' of ', points) END "
    "AS can_run"
)
_TIMES = (
    "round(flop / 1e12, 3) AS tflop, round(hbm_bytes / 1e9, 3) AS hbm_gb, round(net_bytes / 1e9, 3) AS net_gb, "
    "round(intensity, 2) AS flop_per_byte, round(compute_ms, 3) AS compute_ms, round(hbm_ms, 3) AS hbm_ms, "
    "round(net_ms, 3) AS net_ms, round(time_ms, 3) AS time_ms, "
)
_PASS = _TIMES + "round(100 * mfu, 1) AS mfu_pct, round(tokens_per_s, 1) AS tokens_per_s, bound, fits, max_batch"
_PHASE = "phase, hardware, batch, seq_len, kv_len, tp, ep, dp, round(serial_ms, 3) AS serial_ms, " + _PASS
_STEP = "round(step_ms, 3) AS step_ms, round(chip_tokens_per_s, 1) AS chip_tokens_per_s"
_MODULE = "module, category, " + _TIMES + "bound"


def _for_people(answer: duckdb.DuckDBPyRelation, format_: str, columns: str) -> duckdb.DuckDBPyRelation:
    return answer.select(columns) if format_ in ("table", "markdown") else answer
