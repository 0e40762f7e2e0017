"""A simulated forward pass beside a measured one."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from ..engine.errors import UsageError
from ..engine.sql.modules import quoted
from .passes import as_number, in_words
from .settings import dedup_rule
from .traces import locate

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

#: Sources of a simulated call's time that count as measurements.
SOURCES = ("MEASURED", "INTERPOLATED")
_ORDERS = {
    "type": "greatest(simulated_us, measured_us) DESC, kernel_type",
    "shape": "greatest(simulated_us, measured_us) DESC, kernel_type, shape_key",
}


def shapes(store: Store, trace: str) -> duckdb.DuckDBPyRelation:
    """Return the time of each distinct shape of a trace's kernels, largest total first."""
    trace_id = quoted(locate(store, trace))
    return store.sql(f"SELECT * FROM shape_stats({trace_id}) ORDER BY sum_us DESC, op_type, input_dims")


def align(
    store: Store, simulated: str, measured: str, by: str, pass_id: SupportsIndex | None, window: str, dedup: str
) -> duckdb.DuckDBPyRelation:
    """Return a simulated forward pass beside a measured one.

    Args:
        store: the lake.
        simulated: a simulator's trace or summary of operators.
        measured: a measured trace.
        by: type, shape, summary for one row of sums, or metrics for the simulation's only.
        pass_id: a pass of the measured trace; default: the whole trace.
        window: kind of window of that pass.
        dedup: tracelake, compat or none: which of duplicate rows of collectives count.

    Raises:
        UsageError: the first trace is not a simulator's, the second has no such pass or window, or a word is unknown.
    """
    simulated, measured = locate(store, simulated), locate(store, measured)
    if by not in (*_ORDERS, "summary", "metrics"):
        raise UsageError(f"by={by}: expected type, shape, summary or metrics.")
    dedup = dedup_rule(dedup)
    of_simulation = f"trace_id = {quoted(simulated)}"
    if not store.rows(f"SELECT 1 FROM simulated_ops WHERE {of_simulation} LIMIT 1"):
        [(name,)] = store.rows("SELECT trace FROM traces WHERE trace_id = $1", [simulated])
        raise UsageError(
            f"{name}: not written by a simulator: no event has a kernel_type and a source, "
            "and it is no summary of operators."
        )
    if by == "metrics":
        return store.sql(
            f"SELECT metric, value, hits, total FROM simulation_metrics WHERE {of_simulation} ORDER BY ALL"
        )
    number = as_number(pass_id)
    if number is not None:
        _check_window(store, measured, number, window)
    chosen = f"{'NULL' if number is None else number}, {quoted(window)}, {quoted(dedup)}"
    pair = f"{quoted(simulated)}, {quoted(measured)}, {chosen}"
    if by == "summary":
        sources = ", ".join(map(quoted, SOURCES))
        return store.sql(f"SELECT * FROM align_summary({pair}, [{sources}])")
    return store.sql(f"SELECT * FROM align_{by}s({pair}) ORDER BY {_ORDERS[by]}")


def _check_window(store: Store, trace_id: str, pass_id: int, window: str) -> None:
    known = store.rows(
        "SELECT DISTINCT pass_id, window_kind FROM pass_windows WHERE trace_id = $1 AND pass_id >= 0",
        [trace_id],
    )
    if (pass_id, window) in known:
        return
    passes = sorted({number for number, _ in known})
    windows = sorted({kind for number, kind in known if number == pass_id})
    if not passes:
        raise UsageError(f"{trace_id}: no passes found: it can be compared as a whole only.")
    if not windows:
        raise UsageError(f"pass {pass_id}: the trace has {in_words(passes)}.")
    raise UsageError(f"window {window}: the pass has {', '.join(windows)}.")
