"""Execution profiles from the efficiency of kernels in a lake's traces."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.errors import UsageError
from ..engine.storage.files import exclusive, publish_bytes
from ..engine.store import Store
from .model_traces import model_doubts
from .traces import locate, of_trace

if TYPE_CHECKING:
    import duckdb

#: The main columns of measured_vs_modelled.
MEASURED_COLUMNS = (
    "pass_id AS pass, layer_kind, part, state, kernel_count AS kernels, round(measured_ms, 3) AS measured_ms, "
    "round(modelled_ms, 3) AS modelled_ms, round(100 * efficiency, 1) AS efficiency_pct, round(gap_ms, 3) AS gap_ms, "
    "round(tflops, 1) AS tflops, round(gbps, 1) AS gbps, bound, over_100_causes"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
#: Why a share of a peak may exceed 100 %.
OVER_100 = (
    "a type with a higher peak was run; a dimension of the model is not that of the one measured; TP or EP is not the "
    "one measured; work was skipped or padded (masked, sparse); kernels of the group are missing; the chip ran above "
    "the clock that its peak is stated for"
)


@dataclass(frozen=True)
class Measured:
    """The parts of a trace's forward passes, measured and modelled.

    Attributes:
        store: the lake.
        trace: the trace, as given.
        rows: a row per part, longest first; empty if no pass is complete or the trace has no model.
    """

    store: Store
    trace: str
    rows: duckdb.DuckDBPyRelation

    @property
    def faults(self) -> list[str]:
        """Reasons to doubt the rows: work that the model lacks, truncated passes, parts above 100 %."""
        trace_id = locate(self.store, self.trace)
        found = model_doubts(self.store, trace_id)
        for layers, ranks, whole, name, passes in self.store.rows(
            "SELECT layer_count, pp, num_layers, model, passes FROM _cut_passes WHERE trace_id = $1 ORDER BY ALL",
            [trace_id],
        ):
            if layers > whole:
                found.append(f"{passes} passes run {layers} layers, and {name} has {whole}: is it the trace's model?")
                continue
            line = (
                f"{passes} passes run {layers} of {name}'s {whole} layers: the model's figures are of {layers} too,"
                " where that is the trace's model"
            )
            if ranks == 1 and whole % layers == 0:
                line += f"; if it is a pipeline stage, tracelake set {self.trace} pp={whole // layers}"
            found.append(f"{line}.")
        if parts := self.rows.filter("flag_over_100").select("part").distinct().order("part").fetchall():
            found.append(
                f"shares above 100 % are shown as they are, here of {', '.join(part for (part,) in parts)}. Causes: "
                f"{OVER_100}."
            )
        return found


def measured_vs_modelled(store: Store, trace: str) -> Measured:
    """Return the parts of a trace's forward passes, measured and modelled."""
    query = (
        f"SELECT * FROM measured_vs_modelled WHERE {of_trace(store, trace)} "
        "ORDER BY rank, device, pass_id, measured_ns DESC, part"
    )
    return Measured(store, trace, store.kept(query))


def calibrations(store: Store) -> duckdb.DuckDBPyRelation:
    """Return the share of their chip's peak and bandwidth that the lake's kernels reach, with any faults."""
    return store.sql("SELECT * FROM calibrations ORDER BY hardware, bound")


def calibrate(store: Store, name: str, hardware: str) -> list[str]:
    """Store the share of a chip's peaks that its kernels reach, as an execution profile for scenarios.

    The row is written to the lake's own `lookup/execution_profiles.csv`, replacing one of the same name.

    Args:
        store: the lake.
        name: the profile: lower-case letters, digits, points and dashes.
        hardware: a chip of the table hardware that traces of the lake ran on.

    Returns:
        What is not stored, and why: either compute or memory may have no fraction.

    Raises:
        UsageError: the name is invalid or shipped, or neither compute nor memory is within
            calibration_limits.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name}: invalid name of a profile: expected small letters, digits, points and dashes.")
    own = store.layout.lookup / "execution_profiles.csv"
    kept = list(csv.DictReader(io.StringIO(own.read_text("utf-8")))) if own.exists() else []
    known = {row[0] for row in store.rows("SELECT execution FROM execution_profiles")}
    if name in known - {row["execution"] for row in kept}:
        raise UsageError(f"{name}: a shipped profile has this name.")
    rows = store.rows(
        "SELECT bound, usable, fraction, residual_pct, kernel_count, trace_count, faults, beyond_count, beyond_pct "
        "FROM calibrations WHERE hardware = $1 ORDER BY bound",
        [hardware],
    )
    limits = dict(store.rows("SELECT calibration_limit, value FROM calibration_limits"))
    found = {bound: values for bound, usable, *values in rows if usable}
    lost = {bound: _faults(limits, *values) for bound, usable, *values in rows if not usable}
    lost |= {
        bound: f"no kernel of {limits['shortest']:g} µs or more has known work"
        for bound in ("compute", "memory")
        if bound not in found and bound not in lost
    }
    why = [f"{bound} is not stored: {fault}" for bound, fault in sorted(lost.items())]
    if not found:
        raise UsageError(f"{hardware}: nothing to store. {'; '.join(why)}: see the relation calibrations.")
    reached = "; ".join(
        [
            f"{bound}: {count} kernels of {traces} traces, residual {residual:.1f} %"
            for bound, (_, residual, count, traces, *_) in sorted(found.items())
        ]
        + [f"{line}; 1 instead" for line in why]
    )
    row = {
        "execution": name,
        "attention_bytes_model": "flash",
        "tensor_core_model": "false",
        "flop_fraction": repr(found["compute"][0]) if "compute" in found else "1",
        "hbm_fraction": repr(found["memory"][0]) if "memory" in found else "1",
        "comment": f"calibrated on {hardware}: {reached}",
    }
    others = [other for other in kept if other["execution"] != name]
    columns = list(dict.fromkeys(column for each in [*others, row] for column in each))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows([*others, row])
    with exclusive(store.layout.lock):
        store.layout.lookup.mkdir(exist_ok=True)
        publish_bytes(own, text.getvalue().encode())
    return [f"{line}: 1 stands for it, the peak itstore." for line in why]


def _faults(
    limits: dict[str, float],
    fraction: float | None,
    residual: float | None,
    kernels: int,
    traces: int,
    faults: str,
    beyond: int,
    beyond_pct: float,
) -> str:
    """Return the limits that a calibration exceeds, as text."""
    words = {
        "kernels": f"{kernels} kernels of {traces} traces, and it takes {limits['kernels']:g}",
        "residual": (
            f"the fraction {fraction or 0:.3f} misses a kernel's time by {residual or 0:.1f} % on the average, "
            f"more than {limits['residual']:g} %: the kernels have too little in common"
        ),
        "beyond": (
            f"{beyond} kernels with {beyond_pct:.1f} % of the time are quicker than the chip's figures allow, "
            f"more than {limits['beyond']:g} %"
        ),
    }
    return " and ".join(words[fault] for fault in faults.split(";"))
