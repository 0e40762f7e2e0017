"""Passes and layers as the reference analyser counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...engine.sql.modules import quoted
from ...engine.store import Store
from ..traces import locate

if TYPE_CHECKING:
    import duckdb

#: Anchor, layers of the model and anchors per layer; None: from the trace's settings.
Given = tuple[str | None, int | None, int | None]


def plan(store: Store, trace: str, given: Given) -> duckdb.DuckDBPyRelation:
    """Return how the reference analyser counts: its anchor, layers, anchors found, and passes."""
    return _counted(store, "_compat_plan", trace, given, columns="anchor, num_layers, anchor_count, pass_count")


def passes(store: Store, trace: str, given: Given) -> duckdb.DuckDBPyRelation:
    """Return the passes as the reference analyser counts them, to show its errors; `passes` is right."""
    return _counted(store, "compat_passes", trace, given, order="pass_id")


def layers(store: Store, trace: str, given: Given, pass_id: int | Literal["all"]) -> duckdb.DuckDBPyRelation:
    """Return the layers of a pass, or of every pass, as the reference analyser counts them."""
    condition = "true" if pass_id == "all" else f"pass_id = {int(pass_id)}"
    return _counted(store, "compat_layers", trace, given, condition=condition, order="pass_id, layer_id")


def _counted(
    store: Store, relation: str, trace: str, given: Given, *,
    columns: str = "*", condition: str = "true", order: str = "ALL",
) -> duckdb.DuckDBPyRelation:  # fmt: skip
    anchor, *counts = given
    values = ["NULL" if anchor is None else quoted(anchor)]
    values += ["NULL" if count is None else str(int(count)) for count in counts]
    call = f"{relation}({quoted(locate(store, trace))}, {', '.join(values)})"
    return store.sql(f"SELECT {columns} FROM {call} WHERE {condition} ORDER BY {order}")
