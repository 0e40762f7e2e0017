"""What share of a chip's peak a model reaches, from times that somebody measured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from ..engine import modules
from ..engine.errors import UsageError
from .models import Models
from .timings import Times, checked_time, insert_times, read_times

#: Relations that times are inserted into.
_TIMES = ["timing_metadata", "category_timings", "kernel_timings"]
#: Relations held in memory that rest on them.
_HELD = ("timing_template", "_timing_rows", "_timing_links", "_timing_groups")
FORMATS = ("table", "markdown", "json")


class Timings(Models):
    """A lake that holds measured times against the work they were spent on."""

    def mfu(
        self,
        model: str | os.PathLike[str],
        *,
        hardware: str | None = None,
        phase: Literal["prefill", "decode", "training"] | None = None,
        batch: int = 1,
        seq_len: int = 1,
        kv_len: int = 0,
        tp: int = 1,
        ep: int = 1,
        dp: int | None = None,
        pp: int = 1,
        dtype: str | None = None,
        mla_mode: str = "auto",
        measured_ms: float | None = None,
        per_layer_ms: float | None = None,
        kernel_ms: str | Mapping[str, Any] | None = None,
        kernel_detail: str | Mapping[str, Any] | None = None,
        kernel_flow: str | Mapping[str, Any] | None = None,
        format: str = "table",
    ) -> str:
        """Return what a model's forward pass should cost, and how near the measured times come to it.

        Args:
            model: a name, or the path of a config.json.
            hardware: the chip; without one there is no MFU.
            phase: decode for one new token, else prefill, when not given.
            batch: sequences of a replica.
            seq_len: new tokens of each.
            kv_len: cached tokens of each.
            tp: degree of tensor parallelism.
            ep: degree of expert parallelism.
            dp: replicas; as many as the experts need when not given, as of `ask`.
            pp: pipeline stages.
            dtype: type of weights and of their products; as the model is published when not given.
            mla_mode: absorbed, expanded or auto.
            measured_ms: time of a forward pass on a GPU, ms.
            per_layer_ms: time of a layer on a GPU, ms.
            kernel_ms: milliseconds of a layer by kernel category: an object, its JSON, or @ and a file.
            kernel_detail: kernels of a layer, or their sums per category, with metadata; the same.
            kernel_flow: kernels of a layer in order; the same. Only one of these three.
            format: table, markdown or json.

        Raises:
            UsageError: a name is unknown, or a time or a value is invalid.
            InputError: a file cannot be read.
        """
        from ..reports.mfu.facts import facts
        from ..reports.mfu.tables import as_json, as_text, physical

        check_format(format)
        times = times_of(kernel_ms, kernel_detail, kernel_flow)
        measured = {
            "measured_ms": checked_time("--measured-ms", measured_ms),
            "per_layer_ms": checked_time("--per-layer-ms", per_layer_ms),
        }
        if hardware is None and (times is not None or any(measured.values())):
            raise UsageError("--hardware: which chip were the times measured on? `tracelake hardware list` shows all.")
        if dtype is not None:
            self._check_dtype(dtype)
        request = self.ask(
            model, hardware, name="as asked", phase=phase, batch=batch, seq_len=seq_len, kv_len=kv_len, tp=tp, ep=ep,
            dp=dp, pp=pp, weight_dtype=dtype, gemm_dtype=dtype, mla_mode=mla_mode,
            # The bound that no kernel beats: every byte once, attention on the chip.
            execution="physical",
        )  # fmt: skip
        try:
            self.add_times(request, times, **measured)
            found = facts(self, request)
        finally:
            self._forget(request)
        return as_json(found) if format == "json" else as_text(physical(found), format)

    def add_times(
        self,
        scenario: str,
        times: Times | None = None,
        *,
        measured_ms: float | None = None,
        per_layer_ms: float | None = None,
    ) -> None:
        """Say how long a scenario took; `timing_mfu`, `timing_kernels` and their like answer from then on.

        Args:
            scenario: a row of the table scenarios.
            times: times of a layer's kernels, as `read_times` of this module's input gives them.
            measured_ms: time of a forward pass on a GPU, ms.
            per_layer_ms: time of a layer on a GPU, ms.
        """
        connection = self._ready([*_TIMES, "scenarios"])
        insert_times(connection, scenario, times, measured_ms=measured_ms, per_layer_ms=per_layer_ms)
        for entry in modules.modules():
            if entry.name in _HELD and entry.name in self._created:
                connection.execute(f"DELETE FROM {entry.name}; INSERT INTO {entry.name} {entry.query}")

    def _forget(self, scenario: str) -> None:
        """Take a scenario and its times back."""
        connection = self._ready([*_TIMES, "scenarios"])
        connection.execute("DELETE FROM scenarios WHERE scenario = $1", [scenario])
        for table in (*_TIMES, *(name for name in _HELD if name in self._created)):
            connection.execute(f"DELETE FROM {table} WHERE request = $1", [scenario])

    def trace_mfu(self, trace: str, pass_id: int | None = None, *, format: str = "table") -> str:
        """Return what share of its chip's peak a trace reaches, by its own kernels.

        Args:
            trace: the trace.
            pass_id: a pass; all of them when not given.
            format: table, markdown or json.

        Raises:
            UsageError: nothing is so named.
        """
        from ..reports.mfu.tables import as_json, as_text
        from ..reports.mfu.trace import facts, report

        check_format(format)
        found = facts(self, self.locate(trace), pass_id)
        return as_json(found) if format == "json" else as_text(report(found), format)

    def _check_dtype(self, dtype: str) -> None:
        known = [name for (name,) in self.rows("SELECT DISTINCT dtype FROM hardware_peaks ORDER BY dtype")]
        if dtype not in known:
            raise UsageError(f"--dtype {dtype}: unknown. Known: {', '.join(known)}.")


def check_format(format: str) -> None:
    """Check the format of an answer.

    Raises:
        UsageError: it is none.
    """
    if format not in FORMATS:
        raise UsageError(f"format={format}: unknown. Known: {', '.join(FORMATS)}.")


def times_of(
    kernel_ms: str | Mapping[str, Any] | None,
    kernel_detail: str | Mapping[str, Any] | None,
    kernel_flow: str | Mapping[str, Any] | None,
) -> Any:
    """Return the times of a layer, of the one form that is given; None without any.

    Raises:
        UsageError: more than one is given, or a time is invalid.
        InputError: a file cannot be read.
    """
    given = [
        (form, value)
        for form, value in (("kernel_ms", kernel_ms), ("kernel_detail", kernel_detail), ("kernel_flow", kernel_flow))
        if value is not None
    ]
    if len(given) > 1:
        raise UsageError("Give one of --kernel-ms, --kernel-detail and --kernel-flow: each holds the times of a layer.")
    return read_times(given[0][0], given[0][1]) if given else None  # type: ignore[arg-type]
