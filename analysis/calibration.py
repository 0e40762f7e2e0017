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
from ..reports.mfu.facts import OVER_100, model_doubts

if TYPE_CHECKING:
    import duckdb

#: What people look at first of measured_vs_modelled.
MEASURED_COLUMNS = (
    "pass_id AS pass, layer_kind, part, state, kernel_count AS kernels, round(measured_ms, 3) AS measured_ms, "
    "round(modelled_ms, 3) AS modelled_ms, round(100 * efficiency, 1) AS efficiency_pct, round(gap_ms, 3) AS gap_ms, "
    "round(tflops, 1) AS tflops, round(gbps, 1) AS gbps, bound, over_100_causes"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class Calibrations(Store):
    """A lake that learns from its traces what chips reach."""

    def measured_vs_modelled(self, trace: str) -> duckdb.DuckDBPyRelation:
        """Return the parts of a trace's forward passes, measured and by its model; what takes longest first.

        Empty where no pass is complete or the trace does not say its model.
        """
        trace_id = modules.quoted(self.locate(trace))
        return self.kept(
            f"SELECT * FROM measured_vs_modelled WHERE trace_id = {trace_id} "
            "ORDER BY rank, device, pass_id, measured_ns DESC, part"
        )

    def model_doubts(self, trace: str) -> list[str]:
        """Return what the trace shows that its model does not have, and which published models fit; no line if none."""
        return model_doubts(self, self.locate(trace))

    def measured_caveats(self, trace: str, measured: duckdb.DuckDBPyRelation) -> list[str]:
        """Return what to know of an answer of `measured_vs_modelled`: passes of fewer layers, parts above 100 %."""
        trace_id = self.locate(trace)
        said = []
        for layers, ranks, whole, name, passes in self.rows(
            "SELECT layer_count, coalesce(t.pp, 1), a.num_layers, a.model, count(*) FROM _pass_scenarios AS s "
            "JOIN passes AS p ON p.trace_id = s.trace_id AND p.device = s.device "
            "AND p.pass_id = s.pass_id JOIN traces AS t ON t.trace_id = s.trace_id "
            "JOIN of_passes.architectures AS a ON a.model = s.model "
            "WHERE s.trace_id = $1 AND layer_count <> a.num_layers GROUP BY ALL ORDER BY ALL",
            [trace_id],
        ):
            if layers > whole:
                said.append(f"{passes} passes run {layers} layers, and {name} has {whole}: is it the trace's model?")
                continue
            line = (
                f"{passes} passes run {layers} of {name}'s {whole} layers: the model's figures are of {layers} too,"
                " where that is the trace's model"
            )
            if ranks == 1 and whole % layers == 0:
                line += f"; if it is a pipeline stage, tracelake set {trace} pp={whole // layers}"
            said.append(f"{line}.")
        if parts := measured.filter("over_100").select("part").distinct().order("part").fetchall():
            said.append(
                f"shares above 100 % are shown as they are, here of {', '.join(part for (part,) in parts)}. Causes: "
                f"{OVER_100}."
            )
        return said

    def calibrations(self) -> duckdb.DuckDBPyRelation:
        """Return which part of their chip's peak and bandwidth the kernels of the lake reach, and its faults."""
        return self.sql("SELECT * FROM calibrations ORDER BY hardware, bound")

    def calibrate(self, name: str, hardware: str) -> list[str]:
        """Store the share of its peaks that a chip's kernels reach, as an execution profile for scenarios.

        The row is written to the lake's own `lookup/execution_profiles.csv`; one of that name is replaced.

        Args:
            name: the profile: small letters, digits, points and dashes.
            hardware: a chip of the table hardware that traces of the lake ran on.

        Returns:
            What is not stored, and why: one of compute and memory may have no fraction.

        Raises:
            UsageError: the name is invalid or shipped, or the kernels of the chip meet no limit of
                calibration_limits.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name}: invalid name of a profile: expected small letters, digits, points and dashes.")
        own = self.layout.lookup / "execution_profiles.csv"
        kept = list(csv.DictReader(io.StringIO(own.read_text("utf-8")))) if own.exists() else []
        known = {row[0] for row in self.rows("SELECT execution FROM execution_profiles")}
        if name in known - {row["execution"] for row in kept}:
            raise UsageError(f"{name}: a shipped profile has this name.")
        rows = self.rows(
            "SELECT bound, usable, fraction, residual_pct, kernel_count, trace_count, faults, beyond_count, beyond_pct "
            "FROM calibrations WHERE hardware = $1 ORDER BY bound",
            [hardware],
        )
        limits = dict(self.rows("SELECT calibration_limit, value FROM calibration_limits"))
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
        said = "; ".join(
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
            "comment": f"calibrated on {hardware}: {said}",
        }
        others = [other for other in kept if other["execution"] != name]
        columns = list(dict.fromkeys(column for each in [*others, row] for column in each))
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows([*others, row])
        with exclusive(self.layout.lock):
            self.layout.lookup.mkdir(exist_ok=True)
            publish_bytes(own, text.getvalue().encode())
        return [f"{line}: 1 stands for it, the peak itself." for line in why]


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
    """Return the limits that a calibration exceeds, in words."""
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
