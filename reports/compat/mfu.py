"""The report of the reference's compute simulator, from the relations that replicate its formulas."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...analysis.mfu import taken_times
from ...analysis.models import resolve_hardware
from ...analysis.timings import Times, insert_times
from ...engine.errors import UsageError
from ..mfu.facts import objects
from ..mfu.report import check_format, rendered
from ..mfu.tables import share
from ..output.table import Column, Table, cut, text

if TYPE_CHECKING:
    from ...engine.store import Store
    from ..mfu.tables import Part

_NAME, _OPS, _SHAPE = 42, 24, 22
_CAVEAT = (
    "These are the reference's formulas and dimensions, its errors included: attention lacks a factor of the sequence "
    "length, its models are not the published ones, and time is spread over operators by their FLOP. Leave --formulas "
    "out for what should be true."
)


_DEFAULTS = {"batch": 1, "seq_len": 1, "tp": 8, "dp": 1, "ep": 8, "gpu": "h20", "dtype": "bf16"}


def of_model(store: Store, model: str, format: str, **given: Any) -> str:
    """Return the answer of the reference's compute simulator.

    Args:
        store: the lake.
        model: one of the simulator's own models.
        format: table, markdown or json.
        given: gpu, batch, seq_len, tp, dp, ep, dtype, and times as in `tracelake.analysis.mfu.Workload`.

    Raises:
        UsageError: it has no such model or option, or a time or a value is invalid.
        InputError: a file cannot be read.
    """
    check_format(format)
    times, totals = taken_times(given)
    if unknown := given.keys() - _DEFAULTS:
        raise UsageError(f"--{min(unknown).replace('_', '-')}: the reference has no such option.")
    found = facts(store, {"model": model, **_DEFAULTS, **given, **totals}, times)
    return rendered(found, report(found), format)


def facts(store: Store, asked: Mapping[str, Any], times: Times | None) -> dict[str, Any]:
    """Return the simulator's answer under its own keys.

    Raises:
        UsageError: it does not know the model, or refuses it.
    """
    request = f"reference {len(store.rows('SELECT request FROM compat_requests'))}"
    row = {"request": request, **asked}
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection = store.prepare("compat_requests timing_metadata category_timings kernel_timings")
    connection.execute(f"INSERT INTO compat_requests ({names}) VALUES ({marks})", list(row.values()))
    insert_times(connection, request, times)
    [total] = objects(
        store,
        "SELECT t.model, t.num_layers, total_flop, embed_flop, layer_flop, attention_flop, moe_ffn_flop, measured_ms,"
        " mfu_pct, per_layer_mfu_pct, peak_tflops, fault FROM compat_model_mfu AS t"
        " LEFT JOIN _compat_model_dims USING (model) WHERE request = $request",
        request=request,
    )
    if total["model"] is None:
        raise UsageError(_unknown(store, str(asked["model"])))
    if total["fault"]:
        raise UsageError(f"{asked['model']}: the reference refuses it: {total['fault']}.")
    if total["peak_tflops"] is None:
        # The reference does not check it; an unknown chip is more likely a typo.
        resolve_hardware(store, str(asked["gpu"]))
    [arch] = objects(
        store,
        "SELECT source, dims.num_layers AS num_hidden_layers, dims.hidden_size, num_heads AS num_attention_heads,"
        " symbols['nkv'] AS num_key_value_heads, symbols['d'] AS head_dim, dims.attention AS attention_type, dims.moe,"
        " symbols['E'] * symbols['moe'] AS num_experts, symbols['k'] * symbols['moe'] AS num_experts_per_tok,"
        " coalesce(num_shared_experts, 0) * symbols['moe'] AS num_shared_experts, symbols['mhc'] = 1 AS mhc,"
        " dims.vocab_size, dims.q_lora_rank, dims.o_lora_rank"
        " FROM _compat_model_dims AS dims JOIN compat_models USING (model) WHERE model = $model",
        model=total["model"],
    )
    return _document(store, request, asked, times, total, arch)


def _document(
    store: Store,
    request: str,
    asked: Mapping[str, Any],
    times: Times | None,
    total: dict[str, Any],
    arch: dict[str, Any],
) -> dict[str, Any]:
    def of(columns: str, relation: str, order: str, condition: str = "true") -> list[dict[str, Any]]:
        query = f"SELECT {columns} FROM {relation} WHERE request = $request AND {condition} ORDER BY {order}"
        return objects(store, query, request=request)

    listed = of(
        "op AS name, flop AS flops, flop_gpu AS flops_per_gpu, theo_us, layer_pct AS pct_of_layer, category,"
        " measured_us, mfu_pct, shape_in, shape_out",
        "compat_operator_mfu", "op_seq",
    )  # fmt: skip
    ratio = "flow_ratio" if times is not None and times.form == "kernel_flow" else "table_ratio"
    [shown] = of(
        "layer_id, compress_ratio, layer_type, has_ratios",
        "(SELECT request, layers.* FROM _compat_shown_layers JOIN compat_model_mfu USING (request)"
        f" JOIN compat_model_layers AS layers USING (model) WHERE compress_ratio = {ratio})",
        "layer_id LIMIT 1",
    )
    return {
        "formulas": "reference",
        "model": asked["model"],
        "config_source": arch.pop("source"),
        "batch_size": asked["batch"],
        "seq_len": asked["seq_len"],
        "tp": asked["tp"],
        "dp": asked["dp"],
        "ep": asked["ep"],
        "gpu": asked["gpu"],
        "dtype": asked["dtype"],
        "total_flops": total["total_flop"],
        "embed_flops": total["embed_flop"],
        "layer_flops": total["layer_flop"],
        "attention_flops": total["attention_flop"],
        "moe_ffn_flops": total["moe_ffn_flop"],
        "layer_template": of(
            "op AS name, flop AS flops, shape_in, shape_out, category",
            "compat_model_operators", "op_seq", "first_layer = 0",
        ),
        "num_layers": total["num_layers"],
        "measured_ms": total["measured_ms"],
        "mfu_pct": total["mfu_pct"],
        "per_layer_mfu_pct": total["per_layer_mfu_pct"],
        "per_op_mfu": listed if total["mfu_pct"] is not None else [],
        "shown_layer": {**shown, "operators": listed},
        "metadata": dict(times.metadata) if times is not None else None,
        "category_times": of(
            "category, fate, dur_us, assigned_us, overhead_us, lost_us", "compat_category_times", "position"
        ),
        "kernel_flow": of(
            "position, half, category, name, dur_us, layer_pct, mapped_op, flop AS flops, theo_us, mfu_pct, is_fp8,"
            " peak_tflops, shape",
            "compat_kernel_flow", "position",
        ),
        "model_arch": arch,
        "summary": _summary(asked, total),
        "caveats": [_CAVEAT],
    }  # fmt: skip


def report(found: dict[str, Any]) -> list[Part]:
    """Return the simulator's report: its sections in its order."""
    parts: list[Part] = ["# MODEL ARCHITECTURE", _table(_architecture(found)), "# SERVING CONFIGURATION"]
    parts.append(f"B={found['batch_size']} S={found['seq_len']} TP={found['tp']} DP={found['dp']} EP={found['ep']}")
    parts.append(f"GPU={found['gpu']} dtype={found['dtype']}")
    if found["embed_flops"]:
        parts.append(f"[Embedding]  FLOPs: {flops(found['embed_flops'])}")
    if not found["kernel_flow"]:
        parts += _layer(found)
    parts.append("# TOTAL MODEL FLOPs")
    parts.append(
        f"total {flops(found['total_flops'])}, embedding {flops(found['embed_flops'])}, "
        f"layers {flops(found['total_flops'] - found['embed_flops'])}"
    )
    if found["mfu_pct"] is not None:
        parts += _mfu(found)
    if found["kernel_flow"]:
        parts += _flow(found)
    return [*parts, "# SUMMARY", found["summary"], *(f"- {line}" for line in found["caveats"])]


def flops(value: float) -> str:
    """Return FLOP as printed by the simulator."""
    for unit, scale in (("TFLOPs", 1e12), ("GFLOPs", 1e9), ("MFLOPs", 1e6)):
        if value >= scale:
            return f"{value / scale:.3f} {unit}"
    return f"{value:.0f} FLOPs"


def short(value: float | None) -> str:
    """Return FLOP as printed by the simulator's table of kernels."""
    if value is None:
        return "—"
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if value >= scale:
            return f"{value / scale:.1f}{unit}"
    return f"{value:.0f}"


def _unknown(store: Store, model: str) -> str:
    rows = store.rows("SELECT model, aliases FROM compat_models ORDER BY model")
    known = sorted({model for model, _ in rows} | {alias for _, aliases in rows for alias in aliases or []})
    near = difflib.get_close_matches(model.strip().lower().replace(" ", "-"), known, n=4, cutoff=0.5)
    guess = f" Near: {', '.join(near)}." if near else ""
    return f"{model}: the reference has no such model.{guess} Known: {', '.join(name for name, _ in rows)}."


def _summary(asked: Mapping[str, Any], total: dict[str, Any]) -> str:
    dominant = "MoE" if total["moe_ffn_flop"] >= total["attention_flop"] else "Attn"
    mfu = f"MFU={total['mfu_pct']:.1f}%" if total["mfu_pct"] is not None else "MFU=N/A"
    return f"{mfu} | {dominant}-dominant | {asked['gpu']} | TP={asked['tp']} EP={asked['ep']}"


def _right(name: str) -> Column:
    return Column(name, numeric=True)


def _table(rows: Iterator[tuple[str, Any]]) -> Table:
    return Table((text("property"), text("value")), tuple(rows))


def _architecture(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    arch = found["model_arch"]
    yield "Model", found["model"]
    yield "Config source", found["config_source"]
    yield "Layers", arch["num_hidden_layers"]
    yield "Hidden size", arch["hidden_size"]
    yield "Attention heads", f"{arch['num_attention_heads']} (KV: {arch['num_key_value_heads']})"
    yield "Head dim", arch["head_dim"]
    yield "Attention type", arch["attention_type"]
    if arch["q_lora_rank"]:
        yield "Q/O LoRA rank", f"{arch['q_lora_rank']} / {arch['o_lora_rank']}"
    if arch["moe"]:
        shared = arch["num_shared_experts"]
        yield "MoE", f"{arch['num_experts']} experts, top-{arch['num_experts_per_tok']}, {shared} shared"
    if arch["mhc"]:
        yield "MHC", "enabled"
    yield "Vocab size", arch["vocab_size"]


def _layer(found: dict[str, Any]) -> Iterator[Part]:
    """Yield the operators of the representative layer."""
    shown, rows = found["shown_layer"], found["shown_layer"]["operators"]
    attention = sum(row["flops"] for row in rows if row["category"] == "attention")
    mlp = sum(row["flops"] for row in rows if row["category"] in ("moe", "ffn"))
    whole = attention + mlp
    ratio = f" (compress_ratio={shown['compress_ratio']})" if shown["has_ratios"] else ""
    kind = f" [{shown['layer_type']}]" if shown["has_ratios"] and shown["layer_type"] else ""
    yield f"# Layer {shown['layer_id']} (detail){kind}{ratio}"
    shares = (100 * attention / whole, 100 * mlp / whole)
    yield f"attention {flops(attention)} ({shares[0]:.1f}%), MoE/FFN {flops(mlp)} ({shares[1]:.1f}%)"
    cells = tuple(
        (row["name"], row["category"], flops(row["flops"]), f"{row['shape_in']} -> {row['shape_out']}") for row in rows
    )
    yield Table((text("Op"), text("Cat"), _right("FLOPs"), text("shape")), cells)
    yield f"{found['num_layers']} layers, this one {flops(sum(row['flops'] for row in rows))}"


def _mfu(found: dict[str, Any]) -> Iterator[Part]:
    yield "# MFU ANALYSIS"
    overall = f"overall {found['mfu_pct']:.2f}%, per layer {found['per_layer_mfu_pct']:.2f}%"
    yield f"measured {found['measured_ms']:.2f} ms, {overall}"
    mlp, attention = found["moe_ffn_flops"], found["attention_flops"]
    share_of = 100 * max(mlp, attention) / (mlp + attention)
    yield f"Dominant: {'MoE/FFN' if mlp >= attention else 'Attention'} ({share_of:.1f}%)"
    timed = any(row["measured_us"] is not None for row in found["per_op_mfu"])
    columns = [text("Op"), text("Cat"), _right("FLOPs"), _right("Per-GPU"), _right("Theo(μs)")]
    columns += [_right("Meas(μs)"), _right("MFU%")] if timed else []
    rows = []
    for row in found["per_op_mfu"]:
        line = [row["name"], row["category"], flops(row["flops"]), flops(row["flops_per_gpu"]), f"{row['theo_us']:.2f}"]
        if timed:
            measured = row["measured_us"]
            line += ["—" if measured is None else f"{measured:.1f}", share(row["mfu_pct"])]
        rows.append((*line, f"{row['pct_of_layer']:.1f}"))
    yield Table((*columns, _right("Layer%")), tuple(rows))
    if found["category_times"]:
        yield Table(
            (text("category"), text("fate"), _right("μs")),
            tuple((row["category"], row["fate"], f"{row['dur_us']:.1f}") for row in found["category_times"]),
        )


def _flow(found: dict[str, Any]) -> Iterator[Part]:
    layer, rows = found["shown_layer"], found["kernel_flow"]
    ratio = f", compress ratio {layer['compress_ratio']}" if layer["has_ratios"] else ""
    kind = f" [{layer['layer_type']}]" if layer["has_ratios"] and layer["layer_type"] else ""
    number = (found["metadata"] or {}).get("layer_id", layer["layer_id"])
    yield f"# Kernels of layer {number}{kind}{ratio}"
    total = (found["metadata"] or {}).get("total_dur_us") or sum(row["dur_us"] for row in rows)
    yield f"{total:.1f} μs = {total / 1000:.3f} ms, {len(rows)} kernels"
    columns = (
        _right("#"), text("Half"), text("Category"), text("Simplified Name"), _right("dur(us)"), _right("%"),
        text("Mapped Op"), _right("FLOPs"), _right("Theo(us)"), _right("MFU%"), text("shape_in→out"),
    )  # fmt: skip
    yield Table(
        columns,
        tuple(
            (
                str(row["position"]), row["half"], row["category"], cut(row["name"] or "", _NAME),
                f"{row['dur_us']:.1f}", f"{row['layer_pct']:.1f}", cut(row["mapped_op"] or "—", _OPS),
                short(row["flops"]), "—" if row["theo_us"] is None else f"{row['theo_us']:.1f}",
                "N/A" if row["mfu_pct"] is None else f"{row['mfu_pct']:.1f}%" + ("⁸" if row["is_fp8"] else ""),
                cut(row["shape"] or "—", _SHAPE),
            )
            for row in rows
        ),
    )  # fmt: skip
