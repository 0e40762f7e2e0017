"""The settings of a trace, and which of them its answers depend on."""

from __future__ import annotations

#: Settings with a type of their own; any other key is a tag. The view `traces` has a column for each.
INTEGER_SETTINGS = (
    "rank", "num_layers", "blocks_per_layer", "tp", "ep", "dp", "pp", "kv_len", "warm_up_steps",
)  # fmt: skip
#: Those of them that may be 0.
FROM_ZERO = frozenset({"rank", "warm_up_steps"})
TEXT_SETTINGS = ("trace", "run", "model", "profile", "anchor", "anchor_role", "hardware", "config", "dedup")


def changes_answers(key: str) -> bool:
    """Whether the answers of a trace depend on a setting: not on its name, nor on tags."""
    return key in (*INTEGER_SETTINGS, *TEXT_SETTINGS) and key != "trace"
