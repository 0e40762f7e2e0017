"""Commands for models and chips: their figures, and what their operators should cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.storage.paths import Place
from .common import (
    CACHED_TOKENS,
    FORMATS,
    OUTPUT,
    RANKS,
    TOKENS,
    device_column,
    format_options,
    open_at,
    open_default,
    open_lake,
    render_rows,
    say,
)
from .late import Commands
from .which_pass import find_one_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..lake import Lake


def workload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a scenario: its workload, chips and data types."""
    options = (
        click.option("--phase", type=click.Choice(["prefill", "decode", "training"]), help="Default: by --seq-len."),
        click.option("--batch", default=1, show_default=True, type=TOKENS, help="Sequences of a replica."),
        click.option("--seq-len", default=1, show_default=True, type=TOKENS, help="New tokens of each sequence."),
        click.option("--kv-len", default=0, show_default=True, type=CACHED_TOKENS, help="Cached tokens of each."),
        click.option("--tp", default=1, show_default=True, type=RANKS, help="Degree of tensor parallelism."),
        click.option("--ep", default=1, show_default=True, type=RANKS, help="Degree of expert parallelism."),
        click.option("--dp", type=RANKS, help="Data-parallel replicas; default: EP / (TP x CP)."),
        click.option("--pp", default=1, show_default=True, type=RANKS, help="Pipeline stages."),
        click.option("--cp", default=1, show_default=True, type=RANKS, help="Context-parallel ranks."),
        click.option("--hardware", help="Chip: a name or alias of `tracelake hardware list`."),
        click.option("--weight-dtype", help="Type of weights, as bf16 or fp8; default: as published."),
        click.option("--kv-dtype", help="Type of the KV cache; default: as published, else as activations."),
        click.option(
            "--mla-mode", type=click.Choice(["auto", "absorbed", "expanded"]), default="auto", show_default=True,
            help="Form of a latent attention; auto: absorbed in decode.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def say_fault(fault: str) -> None:
    """Print on stderr why a scenario cannot run; its figures are shown anyway."""
    say(f"This scenario cannot run: {fault}.")


def say_faults(opened: Lake, scenario: str) -> None:
    """Print on stderr why a scenario cannot run, and what its figures leave out of the model."""
    from ..analysis.models import remarks

    for fault in opened.faults(scenario):
        say_fault(fault)
    say_remarks(remarks(opened.store, scenario))


def say_remarks(remarks: Iterable[str]) -> None:
    """Print on stderr what figures leave out of a model, and oddities of a chip's figures."""
    for remark in remarks:
        say(f"{remark}.")


#: Subcommands of `model` in other modules.
_PARTS = {
    "roofline": "model_report.roofline", "sweep": "model_report.sweep", "report": "model_report.report",
    "mfu": "model_mfu.mfu", "validate": "model_traces.validate", "kernels": "model_traces.roofline_of",
}  # fmt: skip


@click.group(commands=Commands(_PARTS))
def model() -> None:
    """What a model should cost: its operators, FLOP, bytes and times, from its dimensions alone.

    \b
    Examples:
      tracelake model list
      tracelake model operators qwen3-8b --seq-len 1024 --hardware h100 --limit 5
    """


@model.command("list")
@format_options
@click.pass_obj
def list_(lake: Place | None, format_: str, output: Path | None, limit: int) -> None:
    """List the models known by name. For any other, give the path of its config.json.

    active_b are the parameters that a token is multiplied with, in billions, counted from the operators;
    active_with_embedding_b has the embedding table too, where that is not the head. Publishers count one or the other:
    `agrees`: whether the nearer of the two is within 5 % of published_active_b.

    \b
    Examples:
      tracelake model list
      tracelake model list --format json
    """
    render_rows(open_default(lake).models(), format_, output, limit)


@model.command()
@click.argument("name", metavar="MODEL")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True, help="Format.")
@click.option("-o", "--output", type=OUTPUT, help="Write to a file.")
@click.pass_obj
def show(lake: Place | None, name: str, format_: str, output: Path | None) -> None:
    """Show a model's dimensions, as published or from its config.json, and the kinds of its layers.

    Names that end in _b are billions of parameters, as in `model list`; difference_pct is that of the nearer of the
    two counts of active parameters from the published one.

    \b
    Examples:
      tracelake model show deepseek-v3
      tracelake model show deepseek-ai/DeepSeek-V3 --format json
    """
    from ..analysis.models import model_remarks

    opened = open_default(lake)
    say_remarks(f"Of the model: {remark}" for remark in model_remarks(opened.store, name))
    render_rows(opened.model(name, tall=format_ in ("table", "markdown")), format_, output, 0)


@model.command()
@click.argument("name", metavar="MODEL")
@workload_options
@format_options
@click.pass_obj
def operators(lake: Place | None, /, name: str, format_: str, output: Path | None, limit: int, **work: Any) -> None:
    """List what each operator of a model should cost, for each kind of layer, on one rank.

    FLOP count 2 for a multiplication with its addition. Times are bounds: by the dense peak of the type it computes in,
    by the memory's bandwidth with each byte moved once, by the links. Without --hardware there are no times.

    \b
    Examples:
      tracelake model operators qwen3-8b --batch 15 --seq-len 1024 --hardware mi300x
      tracelake model operators deepseek-v3 --batch 32 --kv-len 4096 --dp 32 --ep 32 --hardware h200 --format json
    """
    opened = open_default(lake)
    scenario = opened.ask(name, work.pop("hardware"), **work)
    say_faults(opened, scenario)
    answer = opened.operators(scenario)
    if format_ in ("table", "markdown"):
        answer = answer.select(
            "layer_kind, layers, op, m, n_rank AS n, k_rank AS k, instances, flop_rank AS flop, weight_bytes, "
            "activation_bytes, kv_bytes, net_bytes, round(flop_us, 3) AS flop_us, round(hbm_us, 3) AS hbm_us, "
            "round(net_us, 3) AS net_us, bound, dtype"
        )
    render_rows(answer, format_, output, limit)


@model.command()
@click.argument("trace")
@click.option("--pass", "pass_", metavar="P", help="One pass instead of all complete ones.")
@format_options
@click.pass_obj
def measured(lake: Place | None, trace: str, pass_: str | None, format_: str, output: Path | None, limit: int) -> None:
    """Compare the time of a trace's forward passes with the lower bound of its model, part by part.

    The trace needs a model: `tracelake set TRACE model=NAME`, or a config.json. The measured parts, overlap with a
    minus and idle time among them, sum to the time from the pass's first kernel to its last one's end, what runs
    before the first layer and after the last one included.

    \b
    Examples:
      tracelake model measured prefill
      tracelake model measured prefill --format json --limit 0
    """
    from ..analysis.calibration import MEASURED_COLUMNS

    opened = open_at(lake, trace)
    opened.check_modelled(trace)
    compared = opened.measured_vs_modelled(trace)
    answer = compared.rows
    if pass_ is not None:
        answer = answer.filter(f"pass_id = {find_one_pass(opened, trace, pass_)}")
        if not answer.limit(1).fetchall():
            say(f"{trace}: this pass is not complete: nothing to compare.")
            raise SystemExit(1)
    if format_ in ("table", "markdown"):
        answer = answer.select(device_column(answer) + MEASURED_COLUMNS)
    render_rows(answer, format_, output, limit)
    for line in compared.faults:
        say(f"{trace}: {line}")


@model.command()
@click.argument("name")
@click.option("--hardware", "chip", required=True, help="Chip whose kernels in the lake count.")
@click.pass_obj
def calibrate(lake: Place | None, name: str, chip: str) -> None:
    """Store the share of a chip's peaks that kernels of the lake's traces reach, as execution profile NAME.

    One fraction of the matrix peak and one of the memory's bandwidth: the least time of all kernels whose FLOP or bytes
    are known, over the time they took. The residual is in the profile's comment; if kernels differ too much for one
    fraction, none is stored, and the reason is printed. Scenarios then name the profile as their execution.

    \b
    Examples:
      tracelake model calibrate h100-ours --hardware h100
      tracelake model calibrate h100-ours --hardware "NVIDIA H100 80GB HBM3"
    """
    opened = open_lake(lake)
    for line in opened.calibrate(name, opened.resolve_hardware(chip)):
        say(f"{name}: {line}")
    render_rows(opened.calibrations(), "table", None, 0)


@click.group()
def hardware() -> None:
    """Accelerators and their data sheets.

    \b
    Examples:
      tracelake hardware list
      tracelake hardware list --format csv
    """


@hardware.command("list")
@format_options
@click.pass_obj
def list_hardware(lake: Place | None, format_: str, output: Path | None, limit: int) -> None:
    """List the accelerators known: dense peaks, memory, links, and where the figures are from.

    `trusted` is false if a figure is not from the vendor's own data sheet. Figures without a source, or of which one
    type's peak is not once or twice the next wider one's, are named on stderr.

    \b
    Examples:
      tracelake hardware list
      tracelake hardware list --format json
    """
    opened = open_default(lake)
    answer = opened.sql("SELECT * FROM hardware ORDER BY vendor, hardware")
    if format_ in ("table", "markdown"):
        answer = answer.select(
            "hardware, name, peak_bf16_tflops, peak_fp8_tflops, peak_fp4_tflops, vector_fp32_tflops, hbm_gbps, hbm_gb, "
            "link_gbps, tdp_w, trusted"
        )
    render_rows(answer, format_, output, limit)
    for (line,) in opened.sql("SELECT concat(hardware, ': ', remark) FROM hardware_remarks ORDER BY ALL").fetchall():
        say(f"{line}.")
