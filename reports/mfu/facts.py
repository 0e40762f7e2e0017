"""A model's work and measured times as one document of plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...analysis.calibration import OVER_100
from ...analysis.models import remarks
from ..output.render import plain

if TYPE_CHECKING:
    from ...engine.store import Store

Rows = list[dict[str, Any]]

_MODEL = (
    "model, name, model_type, attention, num_layers, hidden_size, num_heads, num_kv_heads, head_dim, qk_nope_head_dim, "
    "qk_rope_head_dim, v_head_dim, q_lora_rank, kv_lora_rank, o_lora_rank, o_groups, intermediate_size, num_experts, "
    "top_k, moe_intermediate_size, num_shared_experts, shared_intermediate_size, first_dense_layers, index_heads, "
    "index_head_dim, index_top_k, sliding_window, hc_mult, mtp_layers, vocab_size, weight_dtype, expert_dtype, source, "
    "source_revision, remark"
)
_OPERATORS = (
    "op_seq, op, category, split_rule, input_shape, output_shape, flop, flop_rank, layer_pct, vector_flop, "
    "weight_bytes, bytes, intensity, dtype, peak_tflops, compute_us, memory_us, bound, group_id, measured_us, mfu_pct, "
    "mbu_pct, roofline_pct, over_100_causes"
)
_KERNELS = (
    "position, half, category, name, short_name, shape, dur_us, layer_pct, fate, reason, map_rule, group_id, "
    "operators, group_share, dtype, dtype_source, flop_rank, peak_dtype, peak_tflops, compute_us, mfu_pct, "
    "roofline_pct, flag_over_100, over_100_causes"
)
_GROUPS = (
    "group_id, operators, kernel_count AS kernels, measured_us, flop_rank, bytes, peak_dtype, peak_tflops, "
    "compute_us, memory_us, tflops, mfu_pct, mbu_pct, roofline_pct, flag_over_100, over_100_causes"
)
_WORKS = (
    "layers, flop, flop_rank, attention_flop, mlp_flop, weight_bytes, kv_bytes, bytes, intensity, compute_us, "
    "memory_us, roofline_us"
)
_MFU = (
    "scope, layer_kind, basis, time_us, flop, flop_rank, bytes, peak_tflops, tflops, compute_us, memory_us, "
    "roofline_us, mfu_pct, cluster_mfu_pct, mbu_pct, roofline_pct, flag_over_100, over_100_causes"
)


def objects(store: Store, query: str, **parameters: Any) -> Rows:
    """Return the rows of a query as objects of JSON values."""
    return [{name: plain(value) for name, value in row.items()} for row in store.objects(query, **parameters)]


def facts(store: Store, request: str) -> dict[str, Any]:
    """Return all facts about a scenario of timing_metadata; names of numbers end with their unit."""
    [serving] = objects(
        store,
        "SELECT phase, batch, seq_len AS new_tokens_per_sequence, kv_len AS cached_tokens_per_sequence, tp, ep, dp, pp,"
        " gpus, hardware, hardware_name, trusted, hbm_gbps, weight_dtype, gemm_dtype, kv_dtype, mla_mode, model"
        " FROM _serving WHERE scenario = $request",
        request=request,
    )
    name = serving.pop("model")
    [model] = objects(
        store,
        f"SELECT {_MODEL}, active AS active_parameters, active_embedded AS active_parameters_with_embedding,"
        " published_active_b, difference_pct, agrees FROM _model_pages WHERE model = $model",
        model=name,
    )
    asked = {"request": request}
    kinds = objects(
        store,
        f"SELECT layer_kind, {_WORKS} FROM timing_works WHERE request = $request AND scope = 'layer'"
        " AND layer_kind <> 'mean of all layers' ORDER BY layers DESC, layer_kind",
        **asked,
    )
    operators = objects(
        store,
        f"SELECT layer_kind, {_OPERATORS} FROM timing_operators WHERE request = $request ORDER BY layer_kind, op_seq",
        **asked,
    )

    def of(kind: str) -> Rows:
        return [
            {key: value for key, value in row.items() if key != "layer_kind"}
            for row in operators
            if row["layer_kind"] == kind
        ]

    found: dict[str, Any] = {
        "formulas": "physical",
        "model": model,
        "serving": serving,
        "types": _types(store, request),
        "layer_kinds": [{**kind, "operators": of(kind["layer_kind"])} for kind in kinds],
        "outside_the_layers": [*of("ends"), *of("mtp")],
        "forward_pass": _one(
            objects(store, f"SELECT {_WORKS} FROM timing_works WHERE request = $request AND scope = 'pass'", **asked)
        ),
        "measured_layer": _one(
            objects(
                store,
                "SELECT * EXCLUDE (request) FROM _timed_layers WHERE request = $request",
                **asked,
            )
        ),
        "kernels": objects(
            store, f"SELECT {_KERNELS} FROM timing_kernels WHERE request = $request ORDER BY position", **asked
        ),
        "groups": objects(
            store, f"SELECT {_GROUPS} FROM timing_groups WHERE request = $request ORDER BY group_id", **asked
        ),
        "mfu": objects(
            store,
            f"SELECT {_MFU} FROM timing_mfu WHERE request = $request"
            " ORDER BY scope DESC, basis <> 'wall', basis, layer_kind",
            **asked,
        ),
    }
    rows = objects(store, "SELECT fault FROM scenario_faults WHERE scenario = $request ORDER BY fault", **asked)
    found["faults"] = [row["fault"] for row in rows]
    found["remarks"] = remarks(store, request)
    found["summary"] = _summary(found)
    found["caveats"] = list(_caveats(found))
    return found


def _one(rows: Rows) -> dict[str, Any] | None:
    return rows[0] if rows else None


def _types(store: Store, request: str) -> Rows:
    """Return the FLOP of a rank by the type they are computed in, and the peaks of these types."""
    return objects(
        store,
        "SELECT dtype, peak_tflops, flop_rank FROM _timed_types WHERE request = $request ORDER BY flop_rank DESC",
        request=request,
    )


def _summary(found: dict[str, Any]) -> str:
    """Return one line: the share of the peak, the largest part of the work, the bottleneck, and the chips."""
    serving, work, layer = found["serving"], found["forward_pass"], found["measured_layer"]
    parts = [_state(found["mfu"])]
    shares = [
        (work["attention_flop"] / work["flop"], "attention"),
        (work["mlp_flop"] / work["flop"], "MoE" if found["model"]["num_experts"] else "MLP"),
    ]
    share, name = max(shares)
    parts.append(f"{name}-dominant ({100 * share:.0f} % of FLOP)")
    if layer is not None and layer["total_us"]:
        sums: dict[str, float] = {}
        for kernel in found["kernels"]:
            sums[kernel["category"]] = sums.get(kernel["category"], 0.0) + kernel["dur_us"]
        longest = max(sums, key=lambda category: sums[category])
        parts.append(f"most time: {longest} ({100 * sums[longest] / layer['total_us']:.0f} % of the layer)")
    if work["memory_us"] is not None and work["compute_us"] is not None:
        bound = "memory" if work["memory_us"] > work["compute_us"] else "compute"
        parts.append(f"bound by {bound}, {work['roofline_us'] / 1000:.4g} ms at best")
    parts.append(serving["hardware"] or "no hardware")
    degrees = ("tp", "ep", "dp", *(("pp",) if serving["pp"] > 1 else ()))
    parts.append(" ".join(f"{key} {serving[key]}" for key in degrees))
    return " | ".join(parts)


def _state(rows: Rows) -> str:
    for row in rows:
        if row["mfu_pct"] is not None:
            of = "" if row["scope"] == "pass" else " of a layer"
            causes = (row["over_100_causes"] or "").replace(";", ", ").replace("_", " ")
            flag = f", above the peak (may be: {causes})" if row["flag_over_100"] else ""
            return f"MFU{of} {row['mfu_pct']:.2f} % by {row['basis']} time{flag}".replace("time time", "time")
    return "no MFU: no time of a pass or a layer is given" if not rows else "no MFU: a peak is unknown"


def _caveats(found: dict[str, Any]) -> Any:
    model, serving, layer = found["model"], found["serving"], found["measured_layer"]
    for fault in found["faults"]:
        yield f"This scenario cannot run: {fault}."
    revision = f" ({model['source_revision']})" if model["source_revision"] else ""
    yield f"Dimensions: {model['source']}{revision}. {_parameters(model)}"
    for remark in found["remarks"]:
        yield f"{remark}."
    if serving["trusted"] is False:
        yield f"Peaks of {serving['hardware']} are not from the vendor's own data sheet."
    unknown = [row["dtype"] for row in found["types"] if row["peak_tflops"] is None]
    if serving["hardware"] and unknown:
        yield f"No peak of {serving['hardware']} is known for {', '.join(unknown)}: no MFU where it is needed."
    if serving["phase"] == "decode" and not serving["cached_tokens_per_sequence"]:
        yield "Decode without cached tokens (--kv-len): attention sees the new token alone."
    if layer is not None:
        yield from _layer_caveats(found, layer)
    flagged = [row for row in (*found["groups"], *found["mfu"]) if row["flag_over_100"]]
    if flagged:
        yield f"More than 100 % is shown as it is. It may mean: {OVER_100}."


def _parameters(model: dict[str, Any]) -> str:
    if model["active_parameters"] is None:
        return "Active parameters could not be counted."
    counted = f"{model['active_parameters'] / 1e9:.2f} B, {model['active_parameters_with_embedding'] / 1e9:.2f} B with "
    counted += "the embedding table"
    if model["published_active_b"] is None:
        return f"Active parameters: {counted}; none are published to check against."
    verdict = "check passed" if model["agrees"] else "CHECK FAILED, a dimension may be wrong"
    return f"Active parameters: {counted}; published {model['published_active_b']:g} B: {verdict}."


def _layer_caveats(found: dict[str, Any], layer: dict[str, Any]) -> Any:
    if layer["told_by"] == "the commonest kind":
        yield f"The times name no layer: the most frequent kind is assumed, {layer['layer_kind']}."
    if layer["stated_layers"] not in (None, found["model"]["num_layers"]):
        yield f"The times are of a model of {layer['stated_layers']} layers, this has {found['model']['num_layers']}."
    if layer["unlisted_us"] is not None and abs(layer["unlisted_us"]) > 0.001 * layer["total_us"]:
        yield f"Kernels are stated to take {layer['stated_us']:g} µs, those listed take {layer['total_us']:g} µs."
    if layer["untimed_pct"] and not layer["unmapped_us"]:
        untimed = f"{layer['untimed_pct']:.1f} % of the layer's FLOP have no kernel among those given"
        yield f"{untimed}: their sum is not the layer's time, unless metadata has total_dur_us."
    if layer["unmapped_us"]:
        share = 100 * layer["unmapped_us"] / layer["total_us"]
        yield (
            f"{layer['unmapped_us']:g} µs ({share:.1f} %) match no operator: they count in the MFU "
            "of the layer only. With shapes of inputs, products can be matched."
        )
