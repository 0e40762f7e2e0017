"""A layer in the schema that layer simulators read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..output.table import cut

if TYPE_CHECKING:
    from ...engine.store import Store


def layer_json(store: Store, trace_id: str, pass_id: int, layer: int) -> dict[str, Any]:
    """Return a layer and its kernels as one nested object, the schema that layer simulators read.

    Of several devices, the first is returned.
    """
    [(ratio, layers, wall_us, sum_us, count)] = store.rows(
        """
        SELECT coalesce(compress_ratio, -1), num_layers, wall_us, sum_us, kernel_count + memory_count
        FROM _layer_pages
        WHERE trace_id = $1 AND pass_id = $2 AND layer_id = $3
        ORDER BY rank, device LIMIT 1
        """,
        [trace_id, pass_id, layer],
    )
    kernels = store.rows(
        """
        SELECT position, name, display_name, dur_us, category, half, start_ns, input_dims
        FROM layer_kernels
        WHERE trace_id = $1 AND pass_id = $2 AND layer_id = $3
        QUALIFY dense_rank() OVER (ORDER BY rank, device) = 1
        ORDER BY hot_rank
        """,
        [trace_id, pass_id, layer],
    )
    summary: dict[str, dict[str, float]] = {}
    for _, _, _, dur_us, category, *_ in sorted(kernels):
        entry = summary.setdefault(category, {"dur_us": 0.0, "count": 0})
        entry["dur_us"] = round(entry["dur_us"] + dur_us, 3)
        entry["count"] += 1
    return {
        "metadata": {
            "layer_id": layer, "fwd_pass": pass_id, "compress_ratio": ratio, "num_layers": layers,
            "wall_us": wall_us, "total_dur_us": sum_us, "num_kernels": count,
        },
        "category_summary": summary,
        "kernels": [
            {
                "name": name, "simplified_name": cut(display_name, 80), "dur_us": dur_us, "category": category,
                "half": half, "ts": start_ns / 1000, "input_dims": _json(dims), "output_dims": None,
            }
            for _, name, display_name, dur_us, category, half, start_ns, dims in kernels
        ],
    }  # fmt: skip


def _json(dims: str | None) -> Any:
    try:
        return None if dims is None else json.loads(dims)
    except ValueError:
        return None
