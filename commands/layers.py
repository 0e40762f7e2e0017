"""Commands for passes, layers and kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import FORMATS, format_options, open_at, output_options, print_rows, render_parts, say
from .which_pass import find_one_pass, find_pass, need_operations

if TYPE_CHECKING:
    from ..analysis.passes import Pass
    from ..lake import Lake
    from ..reports.output.render import Part


@click.command()
@click.argument("trace")
@format_options
@click.pass_obj
def passes(lake: Place | None, trace: str, format_: str, output: Path | None, limit: int) -> None:
    """List the forward passes of a trace.

    A pass is its layers: span_us is from the first layer's start to the last one's end. The wall time of `model mfu`
    is longer: the kernels before the first layer and after the last one are in it. The passes of each model of a
    trace are a series. coverage_pct is the share of the device's busy time in the layers of a series; if it is below
    half in all series, the answer begins with where the rest is.

    \b
    Examples:
      tracelake passes decode
      tracelake passes decode.json.gz --format json
    """
    opened = open_at(lake, trace)
    find_pass(opened, trace, "all")
    if format_ not in ("table", "markdown"):
        _say_coverage(opened, trace, "all")
        print_rows(opened, "passes", opened.passes(trace), format_, output, limit)
        return
    from ..reports.output.columns import for_people
    from ..reports.trace.coverage import framed

    shown = for_people(opened.store, "passes", opened.passes(trace))
    render_parts(framed(opened.store, opened.locate(trace), "all", [shown]), format_, output, limit)


@click.command()
@click.argument("trace")
@click.option("--pass", "pass_", metavar="P", help="Pass to show, or all; default: the chosen one.")
@format_options
@click.pass_obj
def layers(lake: Place | None, trace: str, pass_: str | None, format_: str, output: Path | None, limit: int) -> None:
    """List the layers of a pass, with their time; below them, as a table, a comparison of layer types.

    Without types from a config.json, layers that run the same kernels are one kind: A, B and so on. The pass
    shown is of the series of passes that takes most time. The answer states its coverage: the share of the device's
    busy time in the layers of that series, first where that is below half.

    \b
    Examples:
      tracelake layers decode
      tracelake layers decode.json.gz --pass all --format csv
    """
    opened = open_at(lake, trace)
    chosen = find_pass(opened, trace, pass_)
    answer = opened.layers(trace, chosen)
    if format_ not in ("table", "markdown"):
        _say_coverage(opened, trace, chosen)
        print_rows(opened, "layers", answer, format_, output, limit)
        return
    from ..reports.trace.layers import parts

    render_parts(parts(opened.store, answer, opened.locate(trace), chosen), format_, output, limit)


@click.command()
@click.argument("trace")
@click.option("--pass", "pass_", metavar="P", help="Pass to show, or all; with --layer, default: the chosen one.")
@click.option("--layer", type=click.IntRange(0), help="Layer to show.")
@click.option("--compare-layer", type=click.IntRange(0), help="Show how this layer differs from --layer.")
@click.option("--compare-pass", metavar="P", help="Pass of that layer; default: the same one.")
@output_options("compute-flow")
@click.pass_obj
def kernels(
    lake: Place | None,
    trace: str,
    pass_: str | None,
    layer: int | None,
    compare_layer: int | None,
    compare_pass: str | None,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """List the kernels of a layer, longest first; without --layer and --pass, all device operations in time order.

    With --compare-layer, list every kernel of two layers with its calls and time in both; names are compared in full.
    The format compute-flow is a table for reading a layer from its longest kernel down.

    \b
    Examples:
      tracelake kernels decode --layer 2
      tracelake kernels decode --layer 2 --compare-layer 3
      tracelake kernels decode --layer 2 --format compute-flow
      tracelake kernels decode --format parquet -o kernels.parquet
    """
    opened = open_at(lake, trace)
    compares = compare_layer is not None or compare_pass is not None
    if layer is None and (compares or format_ not in FORMATS):
        raise UsageError("a layer is missing: give --layer N.")
    if layer is None and pass_ is None:
        need_operations(opened, trace)
        print_rows(opened, "kernels", opened.kernels(trace), format_, output, limit)
        return
    if not compares and format_ in FORMATS:
        chosen = find_pass(opened, trace, pass_)
        print_rows(opened, "layer_kernels", opened.kernels(trace, chosen, layer), format_, output, limit)
        return
    sides = _sides(opened, trace, (pass_, layer or 0), (compare_pass, compare_layer) if compares else None)
    if format_ in FORMATS:
        print_rows(opened, "layer_diff", opened.layer_diff(trace, *sides[0], *sides[1]), format_, output, limit)
    else:
        _print_flow(opened, trace, sides, output)


def _say_coverage(opened: Lake, trace: str, pass_id: Pass) -> None:
    from ..reports.trace.coverage import coverage

    found = coverage(opened.store, opened.locate(trace), pass_id)
    if found is not None and found.is_low:
        say(str(found))


def _sides(
    opened: Lake, trace: str, one: tuple[str | None, int], other: tuple[str | None, int | None] | None
) -> list[tuple[int, int]]:
    """Return pass and layer of the layers to show; the second defaults to the first."""
    sides = [(find_one_pass(opened, trace, one[0]), one[1])]
    if other is not None:
        pass_, layer = other
        same = sides[0]
        sides.append((
            same[0] if pass_ is None else find_one_pass(opened, trace, pass_), same[1] if layer is None else layer
        ))  # fmt: skip
    for pass_id, layer_id in sides:
        opened.check_layers(trace, pass_id, (layer_id,))
    return sides


def _print_flow(opened: Lake, trace: str, sides: list[tuple[int, int]], output: Path | None) -> None:
    from ..reports.model.architecture import summary
    from ..reports.output.columns import for_people
    from ..reports.trace.layers import flow_table

    trace_id = opened.locate(trace)
    model = summary(opened.store, trace_id, sides[0][0])
    parts: list[Part] = [model] if model else []
    parts += [table for side in sides if (table := flow_table(opened.store, trace_id, *side))]
    if len(sides) > 1:
        parts.append(for_people(opened.store, "layer_diff", opened.layer_diff(trace, *sides[0], *sides[1])))
    render_parts(parts, "table", output, 0)
