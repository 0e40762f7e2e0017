"""Forward passes of a trace, their layers and kernels, and the most representative pass."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, SupportsIndex

from ..engine.errors import UsageError
from ..engine.sql import modules
from ..engine.store import Store
from .traces import locate

if TYPE_CHECKING:
    import duckdb

#: A pass: its number, of Python or NumPy; "all"; or None, the default of what is asked.
Pass = SupportsIndex | Literal["all"] | None


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
    condition = "true"
    if layer is not None:
        check_layers(store, trace, pass_id, [layer])
        condition = f"layer_id = {int(layer)}"
    order = "rank, device, pass_id, layer_id, hot_rank"
    return _of_pass(store, "layer_kernels", trace, pass_id, order=order, condition=condition)


def layer_types(store: Store, trace: str, pass_id: Pass = None) -> duckdb.DuckDBPyRelation:
    """Return the types of layers of one pass, or of every pass for "all", side by side."""
    return _of_pass(store, "layer_types", trace, pass_id, order="rank, device, pass_id, layer_ids")


def layer_diff(
    store: Store, trace: str, pass_id: Pass, layer: int, other_pass: Pass, other_layer: int
) -> duckdb.DuckDBPyRelation:
    """Return the kernels of two layers of a trace side by side, the largest difference first.

    Raises:
        UsageError: the trace has no such pass or layer.
    """
    pair = [
        (find_one_pass(store, trace, number), its_layer)
        for number, its_layer in ((pass_id, layer), (other_pass, other_layer))
    ]
    for number, its_layer in pair:
        check_layers(store, trace, number, [its_layer])
    sides = ", ".join(str(int(number)) for side in pair for number in side)
    return store.sql(
        f"SELECT * FROM layer_diff({modules.quoted(locate(store, trace))}, {sides}) "
        "ORDER BY rank, device, abs(diff_us) DESC, list_position(['a', 'b', 'both'], side), a_us DESC, name"
    )


def perfetto(store: Store, trace: str, pass_id: Pass = None, layers: Sequence[int] = ()) -> duckdb.DuckDBPyRelation:
    """Return where a pass and its layers, or some of them, are on Perfetto's timeline."""
    check_layers(store, trace, pass_id, layers)
    chosen = ", ".join(str(int(layer)) for layer in layers)
    condition = f"(range = 'pass' OR layer_id IN ({chosen}))" if chosen else "true"
    order = "rank, device, pass_id, range <> 'pass', start_ns"
    return _of_pass(store, "perfetto_ranges", trace, pass_id, order=order, condition=condition)


def anchor_candidates(store: Store, trace: str) -> duckdb.DuckDBPyRelation:
    """Return kernels that mark, or might mark, the layers of a trace, with the evidence; the best first."""
    order = "rank, device, score DESC, occurrences DESC, pattern"
    return _of_trace(store, "anchor_candidates", trace, order=order)


def chosen_pass(store: Store, trace: str) -> int | None:
    """Return the most representative pass of the model with most time, None if no pass was found."""
    [(chosen,)] = store.rows(
        "SELECT arg_min(pass_id, (NOT (chosen AND main_series), coalesce(direction, 'forward') <> 'forward', "
        "pass_id)) FROM passes WHERE trace_id = $1",
        [locate(store, trace)],
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


def as_number(pass_id: Pass) -> int | None:
    """Return the number that a pass is given by, None for None and "all".

    Raises:
        UsageError: it is neither a whole number nor one of these.
    """
    if pass_id is None or (isinstance(pass_id, str) and pass_id == "all"):
        return None
    try:
        return operator.index(pass_id)
    except TypeError:
        raise UsageError(f"pass_id={pass_id}: expected a whole number or all.") from None


def whole(name: str, value: SupportsIndex) -> int:
    """Return a number of Python's or NumPy's as Python's.

    Raises:
        UsageError: it is not a whole number.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name}={value!r}: expected a whole number.") from None


def find_pass(store: Store, trace: str, pass_id: Pass) -> int | None:
    """Return the number of a pass of a trace, by default of the chosen one; None for "all" or if no pass was found.

    Raises:
        UsageError: the trace has no such pass.
    """
    if pass_id is None:
        return chosen_pass(store, trace)
    number = as_number(pass_id)
    if number is not None and number not in (known := pass_ids(store, trace)):
        [(name,)] = store.rows("SELECT trace FROM traces WHERE trace_id = $1", [locate(store, trace)])
        raise UsageError(f"{name}: has no pass {number}; it has {in_words(known)}.")
    return number


def find_one_pass(store: Store, trace: str, pass_id: Pass) -> int:
    """Return the number of one pass of a trace, by default of the chosen one.

    Raises:
        UsageError: the trace has no such pass, or all passes are asked for.
    """
    number = find_pass(store, trace, pass_id)
    if number is None:
        raise UsageError("the trace has no passes." if pass_id is None else f"pass_id={pass_id}: this needs one pass.")
    return number


def pass_to_show(store: Store, trace: str, pass_id: SupportsIndex | None) -> int | None:
    """Return the number of the pass that is asked for, else of the chosen one, None if no pass was found.

    Raises:
        UsageError: the trace has no such pass, or all passes are asked for.
    """
    return chosen_pass(store, trace) if pass_id is None else find_one_pass(store, trace, pass_id)


def in_words(known: Sequence[int]) -> str:
    """Return the numbers of the passes that a trace has, as the end of a sentence."""
    if not known:
        return "none"
    return f"passes {known[0]} to {known[-1]}" if len(known) > 1 else f"pass {known[0]}"


def check_layers(store: Store, trace: str, pass_id: Pass, wanted: Sequence[int]) -> None:
    """Check that a pass has these layers.

    Raises:
        UsageError: the trace has no such pass, or the pass lacks a layer.
    """
    if not wanted:
        return
    found = _of_pass(store, "layers", trace, pass_id, order="layer_id").select("layer_id").distinct().fetchall()
    known = {number for (number,) in found}
    for layer in wanted:
        if whole("layer", layer) not in known:
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
    number = find_pass(store, trace_id, pass_id)
    of_pass = "true" if number is None else f"pass_id = {number}"
    answer = store.sql(
        f"SELECT * FROM {relation} WHERE trace_id = {modules.quoted(trace_id)} AND {of_pass} AND {condition} "
        f"ORDER BY {order}"
    )
    store.check_answerable(trace_id, relation)
    return answer
