"""A model's config.json in a few lines: sizes, attention, experts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...engine.store import Store

#: Fields with the same meaning: their names in different configs.
_NAMES = {
    "experts": ("num_experts", "n_routed_experts", "num_local_experts"),
    "experts per token": ("num_experts_per_tok", "experts_per_token", "moe_topk", "top_k_experts"),
    "shared experts": ("num_shared_experts", "n_shared_experts"),
    "expert size": ("routed_expert_intermediate_size", "moe_intermediate_size"),
    "shared expert size": ("shared_expert_intermediate_size",),
    "leading dense layers": ("first_k_dense_replace",),
}
#: Fields with the name of the whole model, regardless of its parts.
_NAMED = {"_name_or_path", "model_type"}


def architecture(config: str | None) -> list[tuple[str, str]]:
    """Return a config's facts as names and values; empty if it has none. A missing value is a `?`."""
    try:
        found = json.loads(config or "{}")
    except ValueError:
        return []
    if not isinstance(found, dict) or not found:
        return []
    nested = found.get("text_config")
    if not isinstance(nested, dict):
        return _lines(found)
    # The name is the whole model's; everything else comes from the language part first.
    named = found.keys() & _NAMED
    of_language = {name: value for name, value in nested.items() if value is not None and name not in named}
    return _lines({**found, **of_language})


def described(store: Store, trace_id: str) -> list[tuple[str, str]]:
    """Return the facts about a trace's model as names and values: from its config, else as published.

    Empty if neither exists: the trace has no model, or one with unknown dimensions.
    """
    [(config,)] = store.rows("SELECT config FROM traces WHERE trace_id = $1", [trace_id])
    if lines := architecture(config):
        return lines
    found = store.objects(
        "SELECT * FROM of_passes.architectures "
        "WHERE model = (SELECT model FROM _trace_models WHERE trace_id = $trace_id)",
        trace_id=trace_id,
    )
    if not found:
        return []
    names = store.rows("SELECT field, name FROM config_names WHERE priority = 1")
    dimensions = {name: found[0][field] for field, name in names if found[0].get(field) is not None}
    return [*_lines(dimensions | {"_name_or_path": found[0]["name"]}), ("Dimensions", f"as in {found[0]['source']}")]


def kinds(store: Store, trace_id: str) -> str:
    """Return how many layers of each kind a trace's model has by its dimensions; empty if these are unknown."""
    found = store.rows(
        """
        SELECT layer_kind, layers FROM of_passes._layer_counts
        WHERE model = (SELECT model FROM _trace_models WHERE trace_id = $1)
        ORDER BY layer_kind
        """,
        [trace_id],
    )
    return ", ".join(f"{kind} {layers}" for kind, layers in found)


def distribution(store: Store, trace_id: str, pass_id: int) -> str:
    """Return how many layers of each type a pass has, by name; empty without a config that has types."""
    found = store.rows(
        "SELECT layer_type, layers FROM _type_counts WHERE trace_id = $1 AND pass_id = $2 ORDER BY layer_type",
        [trace_id, pass_id],
    )
    return ", ".join(f"{kind} {layers}" for kind, layers in found)


def summary(store: Store, trace_id: str, pass_id: int) -> str:
    """Return the facts about a trace's model, a line each; empty if there are none."""
    lines = described(store, trace_id)
    if lines and (types := distribution(store, trace_id, pass_id)):
        lines.append(("Layer types", types))
    return "\n".join(f"{name}: {value}" for name, value in lines)


def _lines(config: dict[str, Any]) -> list[tuple[str, str]]:
    def get(*names: str) -> Any:
        return next((config[name] for name in names if config.get(name) not in (None, "", [], 0)), "?")

    def some(**fields: str) -> str:
        """Return the non-empty fields, each as its label and value."""
        return ", ".join(f"{label.replace('_', ' ')} {get(name)}" for label, name in fields.items() if get(name) != "?")

    heads = get("num_attention_heads")
    size = get("head_dim")
    hidden = get("hidden_size")
    if size == "?" and isinstance(hidden, int) and isinstance(heads, int) and get("kv_lora_rank") == "?":
        size = f"{hidden // heads} (hidden size / heads)"
    named = get("_name_or_path", "model_type")
    lines = [
        *([("Model", str(named))] if named != "?" else []),
        (
            "Layers",
            f"{get('num_hidden_layers')}"
            + (f", and draft {n}" if (n := get("num_nextn_predict_layers")) != "?" else ""),
        ),
        ("Hidden size, heads", f"{hidden}, {heads} query, {get('num_key_value_heads')} key/value, head size {size}"),
        ("Attention", _attention(get, some)),
    ]
    if get(*_NAMES["experts"]) != "?":
        words = [f"{label} {get(*names)}" for label, names in _NAMES.items() if get(*names) != "?"]
        lines.append(("MoE", ", ".join(words)))
    if get("intermediate_size") != "?":
        lines.append(("FFN", f"intermediate size {get('intermediate_size')}"))
    if mhc := some(bottleneck="mhc_bottleneck_dim", streams="hc_mult"):
        lines.append(("MHC", mhc))
    if index := some(
        heads="index_n_heads", head_size="index_head_dim", top_k="index_topk", rope_head_size="qk_rope_head_dim",
        sliding_window="sliding_window",
    ) if get("index_n_heads") != "?" else "":  # fmt: skip
        lines.append(("Sparse attention index", index))
    return lines


def _attention(get: Any, some: Any) -> str:
    kind = get("attention_type")
    if kind == "?":
        kind = (
            "latent (MLA)" if get("kv_lora_rank") != "?"
            else "compressed by layer" if get("compress_ratios") != "?"
            else "grouped-query" if get("num_key_value_heads") not in ("?", get("num_attention_heads"))
            else "multi-head" if get("num_attention_heads") != "?"
            else "?"
        )  # fmt: skip
    more = some(
        Q_LoRA="q_lora_rank", O_LoRA="o_lora_rank", KV_LoRA="kv_lora_rank", sliding_window="sliding_window"
    )  # fmt: skip
    return f"{kind}, {more}" if more else str(kind)
