"""The document of a model's work and times as tables, in plain text or Markdown."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...engine.text import json_text, markdown_prose, printable
from ..output.render import plain, to_text
from ..output.screen import PLAIN, Screen
from ..output.table import Column, Table, cut, text

if TYPE_CHECKING:
    Part = Table | str

_MARKS = {"fp8": "⁸", "hif8": "⁸", "fp4": "⁴"}
_UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3))
_DASH = "—"


def as_json(found: dict[str, Any]) -> str:
    """Return the document as one JSON object."""
    return json_text(json.dumps(plain(found), ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def as_text(parts: list[Part], format: str, screen: Screen = PLAIN) -> str:
    """Return tables and lines as text or Markdown; lines that begin with # are titles."""
    pieces = []
    for part in parts:
        if isinstance(part, Table):
            pieces.append(to_text(part, format, screen) + ("\n" if format == "markdown" else ""))
        else:
            heads = part.startswith("# ")
            if format == "markdown":
                line = markdown_prose(part)
                pieces.append(f"\n## {line[2:]}\n\n" if heads else f"{line}\n\n" if line[:2] != "- " else f"{line}\n")
            else:
                line = printable(part)
                pieces.append(f"\n{line[2:]}\n" if heads else f"{_wrapped(line, screen)}\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip("\n") + "\n"


def _wrapped(text: str, screen: Screen) -> str:
    if screen.width is None:
        return text
    lines = (
        textwrap.fill(line, screen.width - 1, subsequent_indent="  " if line.startswith("- ") else "")
        for line in text.split("\n")
    )
    return "\n".join(lines)


def flop_text(flop: float | None) -> str:
    """Return FLOP in a readable unit."""
    return _DASH if flop is None else _scaled(flop, "FLOP", 3)


def bytes_text(count: float | None) -> str:
    """Return bytes in a readable unit."""
    return _DASH if count is None else _scaled(count, "B", 2)


def share(value: float | None, mark: str = "") -> str:
    """Return a share of a peak: N/A if unknown, unclamped if above 100 %."""
    return "N/A" if value is None else f"{value:.1f} %{mark}"


def reason_column(rows: Iterable[dict[str, Any]]) -> tuple[Column, ...]:
    """Return the column with possible reasons of shares above 100 %; empty if no row has such a share."""
    return (text("above 100 %: may be"),) if any(row.get("over_100_causes") for row in rows) else ()


def reason(row: dict[str, Any], rows: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return the cell of `reason_column` in a row of a table."""
    return ((row.get("over_100_causes") or "").replace(";", ", ").replace("_", " "),) if reason_column(rows) else ()


def physical(found: dict[str, Any]) -> list[Part]:
    """Return the report of a model by its own dimensions."""
    return [
        found["summary"], "# Model", _properties(_model(found["model"])), "# Serving", _properties(_serving(found)),
        *_layers(found), "# Forward pass", _properties(_pass(found)), *_times(found),
        "# Caveats", *(f"- {line}" for line in found["caveats"]),
    ]  # fmt: skip


def _scaled(value: float, unit: str, decimals: int) -> str:
    for letter, scale in _UNITS:
        if abs(value) >= scale:
            return f"{value / scale:.{decimals}f} {letter}{unit}"
    return f"{value:.0f} {unit}"


def _us(value: float | None) -> str:
    return _DASH if value is None else f"{value:.1f}" if value >= 0.05 or value == 0 else f"{value:.2g}"


def _properties(rows: Iterator[tuple[str, Any]]) -> Table:
    return Table((text("property"), text("value")), tuple(row for row in rows if row[1] is not None))


def _right(name: str) -> Column:
    """Return a column of numbers that are already text."""
    return Column(name, numeric=True)


def _model(model: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "model", f"{model['name']} ({model['model']})"
    yield "source", model["source"]
    yield "layers", model["num_layers"]
    yield "hidden size", model["hidden_size"]
    yield "attention", model["attention"]
    yield "heads", f"{model['num_heads']} (KV {model['num_kv_heads']})"
    if model["kv_lora_rank"] and model["v_head_dim"]:
        yield "head", f"{model['qk_nope_head_dim']} + {model['qk_rope_head_dim']} rotated, values {model['v_head_dim']}"
    else:
        yield "head", model["head_dim"]
    ranks = [(key, model[f"{key}_lora_rank"]) for key in ("q", "kv", "o")]
    yield "low ranks", ", ".join(f"{key} {rank}" for key, rank in ranks if rank) or None
    if model["index_heads"]:
        yield "indexer", f"{model['index_heads']} heads of {model['index_head_dim']}, top {model['index_top_k']}"
    if model["num_experts"]:
        shared = model["num_shared_experts"] or 0
        width = model["moe_intermediate_size"]
        yield "experts", f"{model['num_experts']} of width {width}, top {model['top_k']}, {shared} shared"
        yield "dense layers first", model["first_dense_layers"] or None
    else:
        yield "MLP width", model["intermediate_size"]
    yield "hyper-connections", f"{model['hc_mult']} streams" if model["hc_mult"] else None
    yield "vocabulary", model["vocab_size"]


def _serving(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    serving = found["serving"]
    yield "phase", serving["phase"]
    yield "batch per replica", serving["batch"]
    yield "new tokens per sequence", serving["new_tokens_per_sequence"]
    yield "cached tokens per sequence", serving["cached_tokens_per_sequence"]
    yield "parallelism", ", ".join(f"{key.upper()} {serving[key]}" for key in ("tp", "ep", "dp", "pp"))
    yield "GPUs", serving["gpus"]
    yield "hardware", serving["hardware_name"]
    for row in found["types"]:
        peak = "no peak known" if row["peak_tflops"] is None else f"peak {row['peak_tflops']:g} TFLOP/s"
        peak = peak if serving["hardware"] else "no hardware given"
        yield f"computes in {row['dtype']}", f"{flop_text(row['flop_rank'])} of a rank, {peak}"
    yield "memory bandwidth", f"{serving['hbm_gbps']:g} GB/s" if serving["hbm_gbps"] else None


def _pass(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    work = found["forward_pass"]
    outside = sum(row["flop"] for row in found["outside_the_layers"])
    layers = sum(kind["layers"] * sum(row["flop"] for row in kind["operators"]) for kind in found["layer_kinds"])
    yield "FLOP of a replica", f"{flop_text(layers + outside)} ({layers + outside})"
    yield "layers", f"{flop_text(layers)} ({layers})"
    yield "outside the layers", f"{flop_text(outside)} ({outside})"
    yield "FLOP of a rank", flop_text(work["flop_rank"])
    yield (
        "bytes of a rank",
        f"{bytes_text(work['bytes'])}, weights {bytes_text(work['weight_bytes'])}, KV cache "
        + (bytes_text(work["kv_bytes"])),
    )
    yield "FLOP per byte", f"{work['intensity']:.1f}"
    if found["serving"]["hardware"]:
        for title, us in (("peaks", "compute_us"), ("memory", "memory_us"), ("roofline", "roofline_us")):
            yield f"time by {title}", "unknown" if work[us] is None else f"{work[us] / 1000:.4g} ms"


def _layers(found: dict[str, Any]) -> Iterator[Part]:
    measured = found["measured_layer"] or {}
    for kind in found["layer_kinds"]:
        whole = kind["flop"] or 1
        many = "layer" if kind["layers"] == 1 else "layers"
        yield f"# Layer {kind['layer_kind']}: {kind['layers']} {many}"
        one = sum(row["flop"] for row in kind["operators"])
        yield (
            f"{flop_text(one)} of a replica each: attention {100 * kind['attention_flop'] / whole:.1f} %, "
            f"MLP and experts {100 * kind['mlp_flop'] / whole:.1f} %; {flop_text(kind['flop_rank'])} and "
            f"{bytes_text(kind['bytes'])} of a rank"
        )
        timed = kind["layer_kind"] == measured.get("layer_kind")
        yield _operators(kind["operators"], {group["group_id"]: group for group in found["groups"]} if timed else {})
    yield "# Outside the layers"
    yield _operators(found["outside_the_layers"], {})


def _operators(rows: list[dict[str, Any]], groups: dict[int, dict[str, Any]]) -> Table:
    columns = [
        text("op"), text("category"), text("shape"), _right("FLOP"), _right("of a rank"), _right("bytes"), text("type"),
        _right("by peak µs"), _right("by memory µs"), text("bound"), _right("layer %"),
    ]  # fmt: skip
    if groups:
        columns += [_right("measured µs"), _right("MFU"), _right("roofline"), *reason_column(groups.values())]
    cells = []
    for row in rows:
        multiplies = bool(row["flop"])
        line = [
            row["op"], row["category"], f"{row['input_shape']}→{row['output_shape']}",
            flop_text(row["flop"]) if multiplies else _DASH, flop_text(row["flop_rank"]) if multiplies else _DASH,
            bytes_text(row["bytes"]), row["dtype"] if multiplies else _DASH,
            _us(row["compute_us"]) if multiplies else _DASH, _us(row["memory_us"]), row["bound"] or _DASH,
            f"{row['layer_pct']:.2f}" if row["layer_pct"] is not None else _DASH,
        ]  # fmt: skip
        if groups:
            group = groups.get(row["group_id"])
            line += _measured(row, group)
            line += reason(group if group and row["op"] == group["operators"][0] else {}, groups.values())
        cells.append(tuple(line))
    return Table(tuple(columns), tuple(cells))


def _measured(row: dict[str, Any], group: dict[str, Any] | None) -> list[str]:
    """Return time and shares of an operator; those of a group are shown at its first."""
    if group is None:
        return [_DASH, "N/A", "N/A"]
    if row["op"] != group["operators"][0]:
        return [f"with {group['operators'][0]}", "", ""]
    return [_us(group["measured_us"]), _marked(group), share(group["roofline_pct"])]


def _marked(row: dict[str, Any]) -> str:
    mark = _MARKS.get(row["peak_dtype"] or "", "") + ("!" if (row["mfu_pct"] or 0) > 100 else "")
    return share(row["mfu_pct"], mark)


def _times(found: dict[str, Any]) -> Iterator[Part]:
    layer = found["measured_layer"]
    if layer is not None:
        which = "" if layer["layer_id"] is None else f", as of layer {layer['layer_id']}"
        yield f"# Kernels of a layer {layer['layer_kind']}{which} (determined by {layer['told_by']})"
        whole = f"{layer['total_us']:.3f} µs = {layer['total_us'] / 1000:.3f} ms"
        yield f"{layer['kernels']} rows, {whole}; shares are of it"
        yield _kernels(found["kernels"])
        yield (
            f"assigned {layer['assigned_us']:.3f} + overhead {layer['overhead_us']:.3f} + unmapped "
            f"{layer['unmapped_us']:.3f} = {layer['total_us']:.3f} µs; {layer['coverage_pct'] or 0:.1f} % assigned"
        )
        yield "# Operators that have measured time"
        yield _groups(found["groups"])
        yield "\n".join(f"- {line}" for line in _mapping(found))
    yield "# MFU"
    yield _mfu(found["mfu"]) if found["mfu"] else "No time of a pass or a layer is given."


def _kernels(rows: list[dict[str, Any]]) -> Table:
    columns = (
        _right("#"), text("half"), text("category"), text("name"), _right("µs"), _right("%"), text("operators"),
        _right("% of group"), _right("FLOP"), _right("by peak µs"), _right("MFU"), text("shape"), *reason_column(rows),
    )  # fmt: skip
    return Table(columns, tuple((*_kernel(row), *reason(row, rows)) for row in rows))


def _kernel(row: dict[str, Any]) -> tuple[str, ...]:
    if row["fate"] == "assigned":
        shown = "+".join(row["operators"])
        alone = row["flop_rank"] is not None
        of_group = f"{100 * row['group_share']:.1f}" if row["group_share"] is not None else _DASH
        mfu = _marked(row) if alone else "of group"
    else:
        shown, of_group, mfu = f"{row['fate']}: {row['reason']}", _DASH, _marked(row)
    flop = row["flop_rank"] or None
    return (
        str(row["position"]), row["half"] or "?", row["category"], cut(row["short_name"] or row["name"] or "", 42),
        f"{row['dur_us']:.3f}", f"{row['layer_pct'] or 0:.2f}", cut(shown, 48), of_group, flop_text(flop),
        _us(row["compute_us"]) if flop else _DASH, mfu, cut(row["shape"] or "", 40),
    )  # fmt: skip


def _groups(rows: list[dict[str, Any]]) -> Table:
    columns = (
        text("operators"), _right("kernels"), _right("measured µs"), _right("FLOP of a rank"), _right("bytes"),
        text("type"), _right("peak TFLOP/s"), _right("TFLOP/s"), _right("by peak µs"), _right("by memory µs"),
        _right("MFU"), _right("MBU"), _right("roofline"), *reason_column(rows),
    )  # fmt: skip
    cells = []
    for row in rows:
        multiplies = bool(row["flop_rank"])
        cells.append((
            "+".join(row["operators"]), str(row["kernels"]), _us(row["measured_us"]),
            flop_text(row["flop_rank"]) if multiplies else _DASH, bytes_text(row["bytes"]), row["peak_dtype"] or _DASH,
            f"{row['peak_tflops']:.1f}" if row["peak_tflops"] is not None else _DASH,
            f"{row['tflops']:.1f}" if multiplies and row["tflops"] is not None else _DASH,
            _us(row["compute_us"]) if multiplies else _DASH, _us(row["memory_us"]), _marked(row),
            share(row["mbu_pct"]), share(row["roofline_pct"]), *reason(row, rows),
        ))  # fmt: skip
    return Table(columns, tuple(cells))


def _mapping(found: dict[str, Any]) -> Iterator[str]:
    """Yield how kernels were mapped to operators."""
    rules: dict[str, list[str]] = {}
    for kernel in found["kernels"]:
        names = rules.setdefault(kernel["map_rule"] or f"{kernel['fate']}, {kernel['reason']}", [])
        if kernel["category"] not in names:
            names.append(kernel["category"])
    for rule, names in rules.items():
        yield f"by {rule}: {', '.join(names)}" if "," not in rule else f"{rule}: {', '.join(names)}"
    yield "Kernels of one group share its FLOP, which count once; no time is spread over operators by their FLOP."


def _mfu(rows: list[dict[str, Any]]) -> Table:
    columns = (
        text("of"), text("basis"), _right("ms"), _right("FLOP of a rank"), _right("TFLOP/s"), _right("peak TFLOP/s"),
        _right("MFU"), _right("MFU of all GPUs"), _right("MBU"), _right("roofline"), *reason_column(rows),
    )  # fmt: skip
    return Table(
        columns,
        tuple(
            (
                row["scope"] if row["layer_kind"] is None else f"layer, {row['layer_kind']}", row["basis"],
                f"{row['time_us'] / 1000:.4f}", flop_text(row["flop_rank"]),
                f"{row['tflops']:.2f}" if row["tflops"] is not None else _DASH,
                f"{row['peak_tflops']:.1f}" if row["peak_tflops"] is not None else _DASH,
                _two(row["mfu_pct"], row["flag_over_100"]), _two(row["cluster_mfu_pct"]), _two(row["mbu_pct"]),
                _two(row["roofline_pct"]), *reason(row, rows),
            )
            for row in rows
        ),
    )  # fmt: skip


def _two(value: float | None, flagged: bool = False) -> str:
    return "N/A" if value is None else f"{value:.2f} %" + ("!" if flagged and value > 100 else "")
