"""The command that compares measured times with the work of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import CACHED_TOKENS, OUTPUT, RANKS, TOKENS, open_default, open_lake, screen, write_answer
from .which_pass import find_pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..lake import Lake

#: A model's config.json has at least one of these keys.
_CONFIG_KEYS = frozenset(("model_type", "architectures", "hidden_size", "num_hidden_layers", "text_config", "n_embd"))
_TIMES = ("measured_ms", "per_layer_ms", "kernel_ms", "kernel_detail", "kernel_flow")


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--phase", type=click.Choice(["prefill", "decode", "training"]), help="Default: by --seq-len."),
        click.option("--batch", type=TOKENS, help="Sequences of a replica.  [default: 1]"),
        click.option("--seq-len", type=TOKENS, help="New tokens of each sequence.  [default: 1]"),
        click.option("--kv-len", type=CACHED_TOKENS, help="Cached tokens of each.  [default: 0]"),
        click.option("--tp", type=RANKS, help="Degree of tensor parallelism.  [default: 1]"),
        click.option("--ep", type=RANKS, help="Degree of expert parallelism.  [default: 1]"),
        click.option("--dp", type=RANKS, help="Data-parallel replicas; default: EP / TP."),
        click.option("--pp", type=RANKS, help="Pipeline stages.  [default: 1]"),
        click.option("--hardware", help="Chip that was measured: see `tracelake hardware list`."),
        click.option("--dtype", help="Type of weights and their products, as bf16 or fp8; default: as published."),
        click.option("--mla-mode", type=click.Choice(["auto", "absorbed", "expanded"]), help="Form of MLA."),
        click.option("--measured-ms", type=float, help="Time of a forward pass on a GPU, ms."),
        click.option("--per-layer-ms", type=float, help="Time of a layer on a GPU, ms."),
        click.option("--kernel-ms", metavar="JSON", help="Milliseconds of a layer by kernel category."),
        click.option("--kernel-detail", metavar="JSON|@FILE", help="Times of a layer by category, or of its kernels."),
        click.option("--kernel-flow", metavar="JSON|@FILE", help="Times of a layer's kernels, in order."),
        click.option("--pass", "pass_", metavar="P|all", help="Pass of a trace; default: the chosen one."),
        click.option(
            "--format", "format_", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True,
            help="Format of the answer.",
        ),
        click.option("-o", "--output", type=OUTPUT, help="Write to a file."),
        click.option("--wide", is_flag=True, help="On a terminal, all columns, never cut."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("name", metavar="MODEL|CONFIG.JSON|TRACE")
@_options
@click.pass_obj
def mfu(
    lake: Place | None,
    /,
    name: str,
    pass_: str | None,
    format_: str,
    output: Path | None,
    wide: bool,
    **options: Any,
) -> None:
    """Compute the share of a chip's peak that a model reaches, from measured times or from a trace.

    For a model: its dimensions, the work of each operator and kind of layer on one rank, bounds by the chip's peak and
    memory, and the share reached by the times given. Times of kernels are those of one layer: an object of categories
    ({"attention": 0.31, "moe": 1.2}), or an object with "kernels", a list of {"name", "category", "dur_us"} with
    "input_dims" where known, and "metadata" with "layer_id" or "compress_ratio". A kernel's time goes to operators only
    if the mapping is certain; the rest is listed as overhead or unmapped. Shares above 100 % are shown.

    For a trace: the share that its passes and their operators reach, by its own kernels.

    \b
    Examples:
      tracelake model mfu qwen3-8b --batch 15 --seq-len 1024 --hardware mi300x --measured-ms 500
      tracelake model mfu deepseek-v3 --kv-len 4096 --tp 8 --ep 8 --hardware h20 --kernel-ms '{"mla": 0.1}'
      tracelake model mfu decode
    """
    from ..reports.mfu import report

    given = {key: value for key, value in options.items() if value is not None}
    if _is_trace(name):
        answer = _of_trace(open_lake(lake, trace=name), name, given, pass_, format_, output, wide)
    else:
        opened = open_default(lake)
        if _names_trace(opened, name):
            answer = _of_trace(opened, name, given, pass_, format_, output, wide)
        elif pass_ is not None:
            raise UsageError("--pass applies to a trace; this is a model.")
        else:
            answer = report.of_model(opened.store, name, format_, screen(format_, output, wide=wide), **given)
    write_answer(answer, output)


def _of_trace(
    opened: Lake, name: str, given: dict[str, Any], pass_: str | None, format_: str, output: Path | None, wide: bool
) -> str:
    from ..reports.mfu import report

    if given:
        option = "--" + next(iter(given)).replace("_", "-")
        times = any(key in _TIMES for key in given)
        more = " To use your own times, give a model." if times else ""
        raise UsageError(f"{option}: {name} is a trace, which has its own work and times.{more}")
    opened.store.focus(opened.locate(name))
    instead = f"Per operator, without passes: `tracelake model kernels {name}`."
    chosen = find_pass(opened, name, pass_, instead=instead)
    pass_id = None if chosen == "all" else chosen
    return report.of_trace(opened.store, opened.locate(name), pass_id, format_, screen(format_, output, wide=wide))


def _names_trace(opened: Lake, name: str) -> bool:
    """Return whether a name that is not a path is a trace's and not a model's."""
    try:
        opened.resolve_model(name)
    except UsageError:
        pass
    else:
        return False
    try:
        opened.resolve(name)
    except UsageError:
        return False
    return True


def _is_trace(name: str) -> bool:
    """Return whether a name is the path of a trace; a small JSON object with a model's keys is not one."""
    from ..ingest.inputs import names_input
    from ..ingest.model import LARGEST_CONFIG

    if not names_input(name):
        return False
    path = Path(name)
    if path.suffix != ".json" or path.stat().st_size > LARGEST_CONFIG:
        return True
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return path.name != "config.json"
    return not (isinstance(found, dict) and _CONFIG_KEYS & found.keys())
