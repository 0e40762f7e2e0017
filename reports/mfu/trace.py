"""The share of its chip's peak that a trace reaches: its passes, and the operators of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...analysis.calibration import OVER_100
from ...analysis.model_traces import model_doubts
from ..output.table import Column, Table, text
from .facts import objects
from .tables import bytes_text, flop_text, reason, reason_column, share

if TYPE_CHECKING:
    from ...engine.store import Store
    from .tables import Part

_PASSES = (
    "rank, device, pass_id, phase, time_basis, time_us, kernel_count, sum_us, mapped_us, overhead_us, unmapped_us, "
    "mapped_pct, flop, recomputed_flop, flop_covered_pct, peak_tflops, tflops, 100 * mfu AS mfu_pct, "
    "100 * cluster_mfu AS cluster_mfu_pct, bytes, bytes_covered_pct, 100 * mbu AS mbu_pct, "
    "100 * roofline_eff AS roofline_pct, over_100_causes"
)
_UNITS = (
    "rank, device, pass_id, fate, unit, map_rules, kernel_count AS kernels, sum_us, pass_pct, flop, dtypes, tflops, "
    "mfu_pct, bytes, mbu_pct, flag_over_100, over_100_causes"
)

_BASES = (
    "- Wall is from the start of a pass's first kernel to the end of its last, with those before its first layer and "
    "after its last one; the span that `passes` gives is of the layers alone. Busy is the part of wall with a kernel "
    "running, sum adds kernels up."
)
#: Below this share of a pass's time in products with known FLOP, its MFU is a lower bound.
_KNOWN_PCT = 90
_CACHED = "of MBU: operands came from the chip's cache and not from its memory"


def facts(store: Store, trace_id: str, pass_id: int | None) -> dict[str, Any]:
    """Return passes of a trace, one or all, and the operators that their kernels run."""
    condition = "true" if pass_id is None else "pass_id = $pass_id"
    asked = {"trace": trace_id} | ({} if pass_id is None else {"pass_id": pass_id})
    [trace] = objects(
        store,
        "SELECT * FROM _trace_chips WHERE trace_id = $trace",
        trace=trace_id,
    )
    return {
        "trace": trace,
        "model_doubts": model_doubts(store, trace_id),
        "passes": objects(
            store,
            f"SELECT {_PASSES} FROM pass_mfu WHERE trace_id = $trace AND {condition}"
            " ORDER BY rank, device, pass_id, list_position(['wall', 'busy', 'sum'], time_basis)",
            **asked,
        ),
        "operators": objects(
            store,
            f"SELECT {_UNITS} FROM timing_units WHERE trace_id = $trace AND {condition}"
            " ORDER BY rank, device, pass_id, sum_us DESC, unit",
            **asked,
        ),
        "exchanging": objects(
            store,
            "SELECT DISTINCT coalesce(unit, category) AS unit FROM kernel_roofline WHERE trace_id = $trace"
            f" AND pass_id IS NOT NULL AND {condition} AND category = 'mc2' AND flop IS NOT NULL ORDER BY unit",
            **asked,
        ),
        "unsized": objects(
            store,
            "SELECT unit, bytes_note, kernels FROM _unsized_kernels WHERE trace_id = $trace"
            " AND pass_id IS NOT DISTINCT FROM $pass_id ORDER BY ALL",
            **(asked | {"pass_id": pass_id}),
        ),
    }


def report(found: dict[str, Any]) -> list[Part]:
    """Return the report of a trace."""
    trace = found["trace"]
    parts: list[Part] = [
        f"{trace['trace']}: {trace['model'] or 'model unknown'} on {trace['hardware_name'] or 'unknown hardware'}",
        "# Passes", _passes(found["passes"]), "# Operators", _operators(found["operators"]), "# Caveats",
        _BASES,
    ]  # fmt: skip
    if trace["hardware"] is None:
        parts.append("- Without hardware there is no peak: tracelake set TRACE hardware=NAME.")
    parts += [f"- {line} Shares rest on the model where shapes are missing." for line in found["model_doubts"]]
    what = "FLOP are known for {} of the time in kernels that multiply (FLOP known %)"
    parts += _least(found["passes"], {"mfu_pct": "MFU", "roofline_pct": "roofline"}, "flop_covered_pct", what)
    parts += _again(found["passes"])
    what = "bytes are known for {} of the time in kernels other than communication (bytes_covered_pct)"
    parts += _least(found["passes"], {"mbu_pct": "MBU", "roofline_pct": "roofline"}, "bytes_covered_pct", what)
    parts += _over(found) + _on_chip(found)
    if found["exchanging"]:
        units = ", ".join(row["unit"] for row in found["exchanging"])
        parts.append(
            f"- Kernels of {units} multiply and communicate: their time includes the exchange with other ranks, so that"
            " their MFU is a lower bound for the products."
        )
    if found["unsized"]:
        listed = ", ".join(f"{row['unit']} ({row['bytes_note']})" for row in found["unsized"])
        parts.append(f"- The tables of kernels lack some bytes: {listed}; see moved_note of ascend_operators.")
    if any(row["bytes_note"] == "lengths_unknown" for row in found["unsized"]):
        parts.append(
            f"- tracelake set {trace['trace']} kv_len=N sets how many keys a request's attention reads"
            " if no more than N of its tokens are new."
        )
    return parts


def _least(passes: list[dict[str, Any]], shares: dict[str, str], covered: str, what: str) -> list[Part]:
    """Return the caveat on passes whose shares of a peak lack the FLOP or bytes of some kernels."""
    lacking = [row for row in passes if row[covered] is not None and row[covered] < _KNOWN_PCT]
    names = [name for share, name in shares.items() if any(row[share] is not None for row in lacking)]
    known = [row[covered] for row in lacking if any(row[share] is not None for share in shares)]
    if not names:
        return []
    least, most = min(known), max(known)
    shown = f"{least:.1f} %" if least == most else f"{least:.1f} to {most:.1f} %"
    claim = " and ".join(names) + (" is a lower bound" if len(names) == 1 else " are lower bounds")
    return [f"- {claim[0].upper()}{claim[1:]}: {what.format(shown)}."]


def _again(passes: list[dict[str, Any]]) -> list[Part]:
    """Return the caveat on passes whose MFU counts activations that are computed again."""
    # Devices that run one program have the same.
    shown = dict.fromkeys(
        f"pass {row['pass_id']}: {flop_text(row['recomputed_flop'])},"
        f" {100 * row['recomputed_flop'] / row['flop']:.1f} %"
        for row in passes
        if row["mfu_pct"] is not None and row["recomputed_flop"] and row["flop"]
    )
    if not shown:
        return []
    some = "; ".join(list(shown)[:3]) + ("; …" if len(shown) > 3 else "")
    line = f"FLOP that compute activations again are counted ({some}): with them MFU is also called HFU."
    return [f"- {line} The MFU of the paper on PaLM is without them."]


def _over(found: dict[str, Any]) -> list[Part]:
    shares = [row[column] or 0 for row in (*found["passes"], *found["operators"]) for column in ("mfu_pct", "mbu_pct")]
    hidden = sorted(
        {
            row["unit"]
            for row in found["operators"]
            if row["flag_over_100"] and not _mark(row["mfu_pct"], row["mbu_pct"])
        }
    )
    parts: list[Part] = []
    if _mark(*shares):
        parts.append(f"- More than 100 %, marked !, is shown as it is. It may mean: {OVER_100}; {_CACHED}.")
    if hidden:
        parts.append(
            f"- Single kernels of {', '.join(hidden)} exceed 100 %: `tracelake model kernels` lists possible causes."
        )
    return parts


def _on_chip(found: dict[str, Any]) -> list[Part]:
    """Return the caveat on a TPU's bytes."""
    if found["trace"].get("vendor") != "google" or not any(row["bytes"] for row in found["passes"]):
        return []
    return ["- Bytes are those that XLA counts, also in memory on the chip (VMEM): MBU is an upper bound."]


def _mark(*shares: float | None) -> str:
    return "!" if any((value or 0) > 100 for value in shares) else ""


def _passes(rows: list[dict[str, Any]]) -> Table:
    columns = (
        Column("device"), Column("pass"), text("phase"), text("time"), Column("ms", 4), Column("kernels"),
        Column("mapped %", 1), Column("FLOP"), Column("FLOP known %", 1), Column("TFLOP/s", 1),
        Column("peak TFLOP/s", 1), Column("MFU"), Column("MFU of all GPUs"), Column("MBU"), Column("roofline"),
        *reason_column(rows),
    )  # fmt: skip
    cells = tuple(
        (
            row["device"], row["pass_id"], row["phase"], row["time_basis"], row["time_us"] / 1000, row["kernel_count"],
            row["mapped_pct"], flop_text(row["flop"]), row["flop_covered_pct"], row["tflops"], row["peak_tflops"],
            *(share(row[f"{of}_pct"], _mark(row[f"{of}_pct"])) for of in ("mfu", "cluster_mfu", "mbu", "roofline")),
            *reason(row, rows),
        )
        for row in rows
    )  # fmt: skip
    return Table(columns, cells)


def _operators(rows: list[dict[str, Any]]) -> Table:
    columns = (
        Column("device"), Column("pass"), text("operator"), text("fate"), text("known by"), Column("kernels"),
        Column("µs", 3), Column("%", 2), Column("FLOP"), text("type"), Column("TFLOP/s", 1), Column("MFU"),
        Column("bytes"), Column("MBU"), *reason_column(rows),
    )  # fmt: skip
    cells = tuple(
        (
            row["device"], row["pass_id"], row["unit"], row["fate"], row["map_rules"], row["kernels"], row["sum_us"],
            row["pass_pct"], flop_text(row["flop"]), row["dtypes"], row["tflops"],
            share(row["mfu_pct"], _mark(row["mfu_pct"])), bytes_text(row["bytes"]),
            share(row["mbu_pct"], _mark(row["mbu_pct"])), *reason(row, rows),
        )
        for row in rows
    )  # fmt: skip
    return Table(columns, cells)
