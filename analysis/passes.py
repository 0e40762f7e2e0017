"""Forward passes of a trace, their layers and kernels, and the most representative pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..engine.errors import UsageError
from ..engine.sql import modules
from ..engine.store import Store
from .traces import locate

if TYPE_CHECKING:
    import duckdb

Pass = int | Literal["all"] | None


def passes(store: Store, trace: str) -> duckdb.DuckDBPyRelation:
    """Return the forward passes of a trace, in time order."""
    return _of_trace(store, "passes", trace, order="rank, device, pass_id")


def layers(store: Store, trace: str, pass_id: Pass = None) -> duckdb.DuckDBPyRelation:
    """Return the layers of one pass; default: the chosen one; "all": every pass.

    The last column is the coverage: the share of the device's busy time in the layers of the pass's series.
    """
    return _of_pass(store, "_covered_layers", trace, pass_id, order="rank, device, pass_id, layer_id")


def kernels(store: Store, trace: str, pass_id: Pass = None, layer: int | None = None) -> duckdb.DuckDBPyRelation:
    """Return device operations: of the whole trace, or of a layer, longest first."""
    if layer is None and pass_id is None:
        return _of_trace(store, "kernels", trace, order="start_ns, kernel_id")
    condition = "true" if layer is None else f"layer_id = {int(layer)}"
    order = "rank, device, pass_id, layer_id, hot_rank"
    return _of_pass(store, "layer_kernels", trace, pass_id, order=order, condition=condition)


def layer_types(store: Store, trace: str, pass_id: Pass = None) -> duckdb.DuckDBPyRelation:
    """Return the types of layers of one pass, or of every pass for "all", side by side."""
    return _of_pass(store, "layer_types", trace, pass_id, order="rank, device, pass_id, layer_ids")


def layer_diff(
    store: Store, trace: str, pass_id: int, layer: int, other_pass: int, other_layer: int
) -> duckdb.DuckDBPyRelation:
    """Return the kernels of two layers of a trace side by side, the largest difference first."""
    sides = ", ".join(str(int(number)) for number in (pass_id, layer, other_pass, other_layer))
    return store.sql(
        f"SELECT * FROM layer_diff({modules.quoted(locate(store, trace))}, {sides}) "
        "ORDER BY rank, device, abs(diff_us) DESC, list_position(['a', 'b', 'both'], side), a_us DESC, name"
    )


def perfetto(store: Store, trace: str, pass_id: Pass = None, layers: Sequence[int] = ()) -> duckdb.DuckDBPyRelation:
    """Return where a pass and its layers, or some of them, are on Perfetto's timeline."""
    chosen = ", ".join(str(int(layer)) for layer in layers)
    condition = f"(range = 'pass' OR layer_id IN ({chosen}))" if chosen else "true"
    order = "rank, device, pass_id, range <> 'pass', start_ns"
    return _of_pass(store, "perfetto_ranges", trace, pass_id, order=order, condition=condition)


def anchor_candidates(store: Store, trace: str) -> duckdb.DuckDBPyRelation:
    """Return kernels that mark, or might mark, the layers of a trace, with the evidence; the best first."""
    order = "rank, device, score DESC, occurrences DESC, pattern"
    return _of_trace(store, "anchor_candidates", trace, order=order)


def chosen_pass(store: Store, trace_id: str) -> int | None:
    """Return the most representative pass of the model with most time, None if no pass was found."""
    [(chosen,)] = store.rows(
        "SELECT arg_min(pass_id, (NOT (chosen AND main_series), coalesce(direction, 'forward') <> 'forward', "
        "pass_id)) FROM passes WHERE trace_id = $1",
        [trace_id],
    )
    return None if chosen is None else int(chosen)


def has_operations(store: Store, trace: str) -> bool:
    """Return whether a trace has device operations."""
    return bool(store.rows("SELECT 1 FROM kernels WHERE trace_id = $1 LIMIT 1", [locate(store, trace)]))


def pass_ids(store: Store, trace: str) -> list[int]:
    """Return the numbers of a trace's passes, empty if none was found."""
    trace_id = locate(store, trace)
    found = store.rows("SELECT DISTINCT pass_id FROM passes WHERE trace_id = $1 ORDER BY pass_id", [trace_id])
    store.check_answerable(trace_id, "passes")
    return [int(number) for (number,) in found]


def check_layers(store: Store, trace: str, pass_id: Pass, wanted: Sequence[int]) -> None:
    """Check that a pass has these layers.

    Raises:
        UsageError: a layer is missing.
    """
    known = {number for (number,) in layers(store, trace, pass_id).select("layer_id").distinct().fetchall()}
    for layer in wanted:
        if layer not in known:
            of = f"layers {min(known)} to {max(known)}" if known else "no layers"
            raise UsageError(f"layer {layer}: the pass has {of}.")


def _of_trace(store: Store, relation: str, trace: str, *, order: str) -> duckdb.DuckDBPyRelation:
    trace_id = locate(store, trace)
    answer = store.sql(f"SELECT * FROM {relation} WHERE trace_id = {modules.quoted(trace_id)} ORDER BY {order}")
    store.check_answerable(trace_id, relation)
    return answer


def _of_pass(
    store: Store, relation: str, trace: str, pass_id: Pass, *, order: str, condition: str = "true"
) -> duckdb.DuckDBPyRelation:
    trace_id = locate(store, trace)
    if pass_id is None:
        pass_id = chosen_pass(store, trace_id)
    of_pass = f"pass_id = {pass_id}" if isinstance(pass_id, int) else "true"
    answer = store.sql(
        f"SELECT * FROM {relation} WHERE trace_id = {modules.quoted(trace_id)} AND {of_pass} AND {condition} "
        f"ORDER BY {order}"
    )
    store.check_answerable(trace_id, relation)
    return answer
