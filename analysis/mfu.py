"""Measured times, compared with the scenario they were measured for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, Unpack

from ..engine.errors import UsageError
from ..engine.store import Store
from .models import ask
from .scenarios import check_scenario
from .timings import Times, checked_time, insert_times, read_times

#: Relations that times are inserted into.
_TIMES = ("timing_metadata", "category_timings", "kernel_timings")
#: Relations in memory that depend on them.
_DERIVED = ("timing_template", "_timing_rows", "_timing_links", "_timing_groups")
_DEFAULTS = {"batch": 1, "seq_len": 1, "kv_len": 0, "tp": 1, "ep": 1, "pp": 1, "mla_mode": "auto"}


class Workload(TypedDict, total=False):
    """What was measured; all keys are optional.

    Attributes:
        hardware: the chip; without one there is no MFU.
        phase: default: decode for one new token, else prefill.
        batch: sequences of a replica; default: 1.
        seq_len: new tokens of each; default: 1.
        kv_len: cached tokens of each; default: 0.
        tp: degree of tensor parallelism; default: 1.
        ep: degree of expert parallelism; default: 1.
        dp: replicas; default: as many as the experts need, as in `ask`.
        pp: pipeline stages; default: 1.
        dtype: type of weights and of their products; default: as published for the model.
        mla_mode: absorbed, expanded or auto; default: auto.
        measured_ms: time of a forward pass on a GPU, ms.
        per_layer_ms: time of a layer on a GPU, ms.
        kernel_ms: milliseconds of a layer by kernel category: an object, its JSON, or @ and a file name.
        kernel_detail: kernels of a layer, or their sums per category, with metadata; likewise.
        kernel_flow: kernels of a layer in order; likewise. Only one of these three may be given.
    """

    hardware: str | None
    phase: Literal["prefill", "decode", "training"] | None
    batch: int
    seq_len: int
    kv_len: int
    tp: int
    ep: int
    dp: int | None
    pp: int
    dtype: str | None
    mla_mode: str
    measured_ms: float | None
    per_layer_ms: float | None
    kernel_ms: str | Mapping[str, Any] | None
    kernel_detail: str | Mapping[str, Any] | None
    kernel_flow: str | Mapping[str, Any] | None


@contextmanager
def measured(store: Store, model: str | os.PathLike[str], **given: Unpack[Workload]) -> Iterator[str]:
    """Add a scenario and its measured times to the lake while the context is open; yield its name.

    Raises:
        UsageError: a name is unknown, or a time or a value is invalid.
        InputError: a file cannot be read.
    """
    values: dict[str, Any] = _DEFAULTS | given
    times, totals = taken_times(values)
    hardware, dtype = values.pop("hardware", None), values.pop("dtype", None)
    if hardware is None and (times is not None or any(totals.values())):
        raise UsageError("--hardware: which chip were the times measured on? `tracelake hardware list` shows all.")
    if dtype is not None:
        _check_dtype(store, dtype)
    # Profile physical is the bound that no kernel beats: every byte moved once, attention on chip.
    scenario = ask(
        store, model, hardware, name="as asked", execution="physical", weight_dtype=dtype, gemm_dtype=dtype, **values
    )
    try:
        add_times(store, scenario, times, **totals)
        yield scenario
    finally:
        connection = store.prepare(" ".join([*_TIMES, "scenarios"]))
        connection.execute("DELETE FROM scenarios WHERE scenario = $1", [scenario])
        for table in _TIMES:
            connection.execute(f"DELETE FROM {table} WHERE request = $1", [scenario])
        store.relations.expire(_DERIVED)


def add_times(
    store: Store,
    scenario: str,
    times: Times | None = None,
    *,
    measured_ms: float | None = None,
    per_layer_ms: float | None = None,
) -> None:
    """Store measured times of a scenario; `timing_mfu`, `timing_kernels` and related relations then use them.

    Args:
        store: the lake.
        scenario: a row of the table scenarios.
        times: times of a layer's kernels, from `read_times`.
        measured_ms: time of a forward pass on a GPU, ms.
        per_layer_ms: time of a layer on a GPU, ms.

    Raises:
        UsageError: there is no such scenario.
    """
    check_scenario(store, scenario)
    connection = store.prepare(" ".join([*_TIMES, "scenarios"]))
    insert_times(connection, scenario, times, measured_ms=measured_ms, per_layer_ms=per_layer_ms)
    store.relations.expire(_DERIVED)


def taken_times(values: dict[str, Any]) -> tuple[Times | None, dict[str, float | None]]:
    """Remove the times from options; return those of kernels, and those of a pass and a layer in ms.

    Raises:
        UsageError: a time is invalid, or times of kernels are given in two ways.
        InputError: a file cannot be read.
    """
    forms: tuple[Literal["kernel_ms", "kernel_detail", "kernel_flow"], ...]
    forms = ("kernel_ms", "kernel_detail", "kernel_flow")
    given = [(form, value) for form in forms if (value := values.pop(form, None)) is not None]
    if len(given) > 1:
        raise UsageError("Give one of --kernel-ms, --kernel-detail and --kernel-flow: each holds the times of a layer.")
    times = read_times(*given[0]) if given else None
    return times, {
        "measured_ms": checked_time("--measured-ms", values.pop("measured_ms", None)),
        "per_layer_ms": checked_time("--per-layer-ms", values.pop("per_layer_ms", None)),
    }


def _check_dtype(store: Store, dtype: str) -> None:
    known = [name for (name,) in store.rows("SELECT DISTINCT dtype FROM hardware_peaks ORDER BY dtype")]
    if dtype not in known:
        raise UsageError(f"--dtype {dtype}: unknown. Known: {', '.join(known)}.")
