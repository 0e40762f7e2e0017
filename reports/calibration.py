"""Execution profiles from what kernels of a lake's traces reach."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from ..engine import modules
from ..engine.errors import UsageError
from ..engine.files import exclusive, publish_bytes
from ..engine.store import Store

if TYPE_CHECKING:
    import duckdb

#: What people look at first of measured_vs_modelled.
MEASURED_COLUMNS = (
    "pass_id AS pass, layer_kind, part, state, kernel_count AS kernels, round(measured_ms, 3) AS measured_ms, "
    "round(modelled_ms, 3) AS modelled_ms, round(100 * efficiency, 1) AS efficiency_pct, round(gap_ms, 3) AS gap_ms, "
    "round(tflops, 1) AS tflops, round(gbps, 1) AS gbps, bound"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class Calibrations(Store):
    """A lake that learns from its traces what chips reach."""

    def measured_vs_modelled(self, trace: str) -> duckdb.DuckDBPyRelation:
        """Return the parts of a trace's forward passes, measured and by its model; what takes longest first.

        Empty where no pass is complete or the trace does not say its model.
        """
        trace_id = modules.quoted(self.locate(trace))
        return self.sql(
            f"SELECT * FROM measured_vs_modelled WHERE trace_id = {trace_id} "
            "ORDER BY rank, device, pass_id, measured_ns DESC, part"
        )

    def calibrations(self) -> duckdb.DuckDBPyRelation:
        """Return which part of their chip's peak and bandwidth the kernels of the lake reach, with the residual."""
        return self.sql("SELECT * FROM calibrations ORDER BY hardware, bound")

    def calibrate(self, name: str, hardware: str) -> None:
        """Keep what the kernels of one chip reach as an execution profile, for scenarios to name.

        The row is written to the lake's own `reference/execution_profiles.csv`; one of that name is replaced.

        Args:
            name: the profile: small letters, digits, points and dashes.
            hardware: a chip of the table hardware that traces of the lake ran on.

        Raises:
            UsageError: the name is not one, or shipped, or the lake has too few kernels of the chip.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name}: no name of a profile: small letters, digits, points and dashes.")
        own = self.layout.reference / "execution_profiles.csv"
        kept = list(csv.DictReader(io.StringIO(own.read_text("utf-8")))) if own.exists() else []
        known = {row[0] for row in self.rows("SELECT execution FROM execution_profiles")}
        if name in known - {row["execution"] for row in kept}:
            raise UsageError(f"{name}: a shipped profile has this name.")
        rows = self.rows(
            "SELECT bound, fraction, residual_pct, kernel_count, trace_count FROM calibrations "
            "WHERE hardware = $1 AND usable",
            [hardware],
        )
        found = {bound: values for bound, *values in rows}
        if not found:
            raise UsageError(f"{hardware}: no ten kernels with known FLOP or bytes in the lake's traces.")
        said = "; ".join(
            f"{bound}: {count} kernels of {traces} traces, residual {residual:.1f} %"
            for bound, (_, residual, count, traces) in sorted(found.items())
        )
        row = {
            "execution": name,
            "attention_bytes_model": "flash",
            "tensor_core_model": "false",
            "flop_fraction": repr(found["compute"][0]) if "compute" in found else "1",
            "hbm_fraction": repr(found["memory"][0]) if "memory" in found else "1",
            "comment": f"calibrated on {hardware}: {said}",
        }
        others = [other for other in kept if other["execution"] != name]
        columns = list(dict.fromkeys(column for each in [*others, row] for column in each))
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows([*others, row])
        with exclusive(self.layout.lock):
            self.layout.reference.mkdir(exist_ok=True)
            publish_bytes(own, text.getvalue().encode())
        self._refill("execution_profiles")
