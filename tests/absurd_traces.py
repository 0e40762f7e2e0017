"""Small traces of three vendors with work of many kinds, and ways to make their figures absurd."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .summary_cases import trace_events

#: Microseconds that just lie within the 146 years around zero that events may be in.
EDGE_US = 2**62 // 1000 - 100
#: 126 years.
LONG_US = 4_000_000_000_000_000

Event = dict[str, Any]
Rows = list[dict[str, str]]


def kineto() -> dict[str, Any]:
    """Return a trace of two decodes with products, attention, a collective and a copy, launched from annotations."""
    kinds = [
        ("aten::mm", [[8, 64], [64, 64]], "sm90_xmma_gemm_bf16bf16_bf16f32_f32", "kernel", {}),
        ("aten::scaled_dot_product_attention", [[8, 4, 1, 16]] * 3, "flash_fwd_kernel", "kernel", {}),
        ("aten::convolution", [[2, 3, 8, 8], [4, 3, 3, 3], [4]], "implicit_convolve_sgemm", "kernel", {}),
        ("aten::copy_", [[8, 64], [8, 64]], "Memcpy DtoD", "gpu_memcpy", {"bytes": 1024, "memory bandwidth (GB/s)": 9}),
        ("record_param_comms", [[512]], "ncclDevKernel_AllReduce_Sum_bf16", "kernel", {
            "Collective name": "allreduce", "In msg nelems": 512, "Out msg nelems": 512, "Group size": 4, "Seq": 1,
            "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]",
        }),
    ]  # fmt: skip
    events: list[Event] = []
    number = 0
    for nth in range(6):
        begin = 1000 * nth
        load = "context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk800sqsq8sqsk800)"
        notes = (f"ProfilerStep#{nth}", f"execute_8_{load}", "step[DECODE bs=8 toks=8]")
        for depth, note in enumerate(notes):
            events.append(_on_host("user_annotation", note, begin + depth, 990 - 2 * depth, {}))
        for layer in range(4):
            module = {"Python id": 100 * nth + layer, "Python parent id": None, "Python module id": layer}
            at = begin + 10 + 100 * layer
            events.append(_on_host("python_function", f"nn.Module: DecoderLayer_{layer}", at - 1, 92, module))
            for place, (op, dims, kernel, category, more) in enumerate(kinds):
                number += 1
                ids = {"External id": number, "correlation": number}
                shown = {
                    "Input Dims": dims, "Input type": ["c10::BFloat16"] * len(dims), "Concrete Inputs": [""] * 9,
                    "Sequence number": number, "Fwd thread id": 0,
                }  # fmt: skip
                host = at + 12 * place
                events.append(_on_host("cpu_op", op, host, 8, ids | shown | more))
                events.append(_on_host("cuda_runtime", "cudaLaunchKernel", host + 2, 1, ids))
                of_kernel = {
                    "device": 0, "stream": 7, "grid": [8, 1, 1], "block": [128, 1, 1], "registers per thread": 32,
                    "shared memory": 1024, "warps per SM": 1.5,
                }  # fmt: skip
                events.append({
                    "ph": "X", "cat": category, "name": kernel, "pid": 0, "tid": 7, "ts": host + 5, "dur": 6 + place,
                    "args": of_kernel | ids | more,
                })  # fmt: skip
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    job = {"backend": "nccl", "rank": 0, "world_size": 4}
    return {"schemaVersion": 1, "deviceProperties": [device], "distributedInfo": job, "traceEvents": events}


def jax() -> dict[str, Any]:
    """Return a trace of two devices that run steps of one program: products, fusions, collectives in halves."""
    f32 = "f32[64,64]{1,0}"
    product = f"%dot.1 = {f32} dot({f32} %a, {f32} %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    fused = f"%fusion.2 = {f32} fusion({f32} %a, {f32} %b), kind=kOutput"
    reduced = f"%all-reduce.5 = {f32} all-reduce({f32} %c), replica_groups={{{{0,1}}}}, to_apply=%add"

    def said(instruction: str, category: str, place: int) -> str:
        return json.dumps({
            "long_name": instruction, "hlo_category": category, "shape_with_layout": f32, "model_flops": "524288",
            "bytes_accessed": "49152", "raw_bytes_accessed": "49152", "tf_op": f"jit(step)/layer_{place}/mlp/dot",
            "deduplicated_name": "", "source": "model.py:7", "hlo_module": "jit_step(11)",
        }).replace(";", "")  # fmt: skip

    processes = []
    for pid in (3, 4):
        steps, modules, operations, halves = [], [], [], []
        for nth in range(4):
            at = 1000 * nth
            steps.append(f"{nth} {at}+990")
            modules.append(f'jit_step(11) {at}+900 {{"run_id": "{nth}"}}')
            for layer in range(6):
                begin = at + 100 * layer
                operations += [
                    f"dot.1 {begin}+30 {said(product, 'convolution', layer)}",
                    f"fusion.2 {begin + 30}+20 {said(fused, 'output fusion', layer)}",
                    f"all-reduce.5 {begin + 55}+10 {said(reduced, 'all-reduce', layer)}",
                ]
            operations.append(f"copy.1 {at + 700}+5")
            halves.append(f"all-gather-start.1 {at + 10}+40")
        lines = {"Steps": steps, "XLA Modules": modules, "XLA Ops": operations, "Async XLA Ops": halves}
        processes.append((pid, f"/device:TPU:{pid - 3}", {name: "; ".join(texts) for name, texts in lines.items()}))
    processes.append((9, "/host:CPU", {"main": 'step 0+3900 {"step_num": "1"}; dispatch 5+30'}))
    return {"displayTimeUnit": "ns", "traceEvents": trace_events(processes)}


def _on_host(category: str, name: str, ts: float, dur: float, args: Event) -> Event:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}


def on_device(trace: dict[str, Any]) -> list[Event]:
    """Return the events of a Chrome trace that happen on a device."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    return [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy") or event["pid"] in (3, 4)]


def rows_of(table: str) -> Rows:
    """Return the rows of a table of kernels."""
    return list(csv.DictReader(io.StringIO(table)))


def table_of(rows: Rows) -> str:
    """Return the text of a table of kernels."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


#: What becomes of start and duration of an operation, in microseconds, by its number and how many there are; None for
#: those that stay as they are.
TIMES: dict[str, Callable[[int, int], tuple[int, int] | None]] = {
    "one of 126 years": lambda nth, count: (0, LONG_US) if nth == count // 2 else None,
    "ten of 126 years": lambda nth, count: (nth, LONG_US) if nth % (count // 10) == 0 else None,
    "at the edges": lambda nth, count: (
        (-EDGE_US, 10) if nth < 5 else (EDGE_US, 10) if nth >= count - 5
        else (-EDGE_US, 2 * EDGE_US) if nth % (count // 10) == 0 else None
    ),
}  # fmt: skip


def with_times(trace: dict[str, Any] | Rows, what: str) -> dict[str, Any] | Rows:
    """Return a trace whose device operations have other times."""
    changed = copy.deepcopy(trace)
    is_table = isinstance(changed, list)
    events = changed if isinstance(changed, list) else on_device(changed)
    keys = ("Start Time(us)", "Duration(us)") if is_table else ("ts", "dur")
    for nth, event in enumerate(events):
        if found := TIMES[what](nth, len(events)):
            event.update(zip(keys, map(str, found) if is_table else found, strict=True))
    return changed


def write(folder: Path, name: str, content: dict[str, Any] | Rows) -> Path:
    """Write a trace, or rows of a table, and return the file."""
    is_table = isinstance(content, list)
    path = folder / f"{name.replace(' ', '_')}.{'csv' if is_table else 'json'}"
    path.write_text(table_of(content) if isinstance(content, list) else json.dumps(content))
    return path


def places_of(trace: dict[str, Any] | Rows) -> list[tuple[dict[str, Any], str]]:
    """Return what a trace says of its events: arguments and names, or cells; each as its dictionary and its key."""
    if isinstance(trace, list):
        return [(row, column) for row in trace for column in row if column not in ("Start Time(us)", "Duration(us)")]
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    said = [(event["args"], key) for event in events for key in event.get("args", {})]
    return said + [(event, "name") for event in events]
