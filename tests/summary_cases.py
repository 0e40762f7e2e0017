"""Small traces of JAX on TPU and GPU, in microseconds, for the relations of the profile summary.

A line (thread) is text: `name start+duration`, events apart by `;`, arguments as JSON after the duration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_EVENT = re.compile(r"(?P<name>.+?) (?P<ts>-?[\d.]+)\+(?P<dur>[\d.]+)(?: (?P<args>\{.*\}))?", re.DOTALL)

#: A process of a trace: its pid, its name, and the text of each of its lines.
Process = tuple[int, str, dict[str, str]]


def line_events(text: str) -> list[dict[str, Any]]:
    """Return the events that a line's text stands for."""
    found = []
    for part in filter(None, map(str.strip, text.split(";"))):
        match = _EVENT.fullmatch(part)
        assert match, part
        event = {"ph": "X", "name": match["name"], "ts": float(match["ts"]), "dur": float(match["dur"])}
        found.append(event | ({"args": json.loads(match["args"])} if match["args"] else {}))
    return found


def trace_events(processes: Iterable[Process]) -> list[dict[str, Any]]:
    """Return all events of a trace: names of processes and lines first, then line after line."""
    names: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for pid, process, lines in processes:
        names.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}})
        for tid, (thread, text) in enumerate(lines.items(), 1):
            names.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}})
            events += ({**event, "pid": pid, "tid": tid} for event in line_events(text))
    return names + events


def write_case(path: Path, processes: Iterable[Process]) -> Path:
    """Write a trace as Chrome JSON."""
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": trace_events(processes)}))
    return path


#: Nesting, categories, both breakdowns: 15 events.
CASE_A: list[Process] = [
    (1, "/device:TPU:0", {
        "Steps": "0 0+400; 1 400+120; 2 520+100; 3 620+110",
        "XLA Ops": "while.7 0+100; fusion.1 10+30; all-reduce.1 45+20; fusion.2 65+35; fusion.1 120+40; "
                   "barrier-wait.3 165+15; psum.9 200+20; fusion.2 230+70",
    }),
    (2, "/host:CPU", {"main": "python step 0+150; wait for device 60+60; dispatch 200+30"}),
]  # fmt: skip

#: Two devices, modules, a counter, asynchronous collectives: 21 events.
CASE_B: list[Process] = [
    (3, "/device:TPU:0", {
        "_counters_": "P state 900+0.000001",
        "Steps": "5 1000+100; 6 1100+100",
        "XLA Modules": 'jit_train_step(11) 1000+90 {"run_id": "70"}; jit_train_step(11) 1110+85 {"run_id": "71"}',
        "XLA Ops": "fusion.1 1000+40; all-reduce.5 1040+20; fusion.2 1065+25; fusion.1 1110+40; fusion.2 1150+45",
        "Async XLA Ops": "all-gather-start.1 1010+40",
    }),
    (4, "/device:TPU:1", {
        "Steps": "5 1000+104; 6 1104+96",
        "XLA Modules": 'jit_train_step(11) 1005+95 {"run_id": "70"}; jit_train_step(11) 1112+88 {"run_id": "71"}',
        "XLA Ops": "fusion.1 1005+40; all-reduce.5 1045+15; fusion.2 1060+40; fusion.1 1112+40; fusion.2 1155+45",
        "Async XLA Ops": "all-gather-start.1 1120+30",
    }),
]  # fmt: skip

_J = "jit(_train_step)/"
#: Regions: 12 events of one line.
CASE_C: list[Process] = [
    (1, "/device:TPU:0", {
        "XLA Ops": f"""
            fusion.10 0+40 {{"tf_op": "{_J}jvp(Transformer)/layer_0/attn/bsh,hm->bsm/dot_general:"}};
            fusion.11 40+30 {{"tf_op": "{_J}transpose(jvp(Transformer))/layer_0/attn/bsh,hm->bsm/dot_general:"}};
            custom-call.3 70+30 {{"tf_op":
              "{_J}jit(main)/shard_map/jit(_splash_attention)/vmap(splash_fwd_block=512)/pallas_call:"}};
            copy.564 120+10 {{"tf_op": "dynamic_donated[1][0][0].model.params.blocks[0].attn.w_k:"}};
            copy.1 130+4;
            fusion.12 134+6 {{"tf_op": "{_J}tpu_flash_attention/launch_kernel/mul"}};
            add.1 140+10 {{"tf_op": "{_J}add"}};
            fusion.10 160+20;
            copy-done.9 190+1;
            fusion.13 191+9 {{"tf_op": "{_J}checkpoint/rematted_computation/layer_0/mlp/mul"}};
            outer=>inner=>op.4 205+10;
            ns::kernel 215+5
        """,
    }),
]  # fmt: skip


def steps_case(*durations: float, first: int = 0) -> list[Process]:
    """Return a trace of one device with these steps, one right after the other, an operation in each."""
    starts = [sum(durations[:nth]) for nth in range(len(durations))]
    pairs = list(zip(starts, durations, strict=True))
    return [
        (1, "/device:TPU:0", {
            "Steps": "; ".join(f"{first + nth} {start}+{dur}" for nth, (start, dur) in enumerate(pairs)),
            "XLA Ops": "; ".join(f"fusion.1 {start}+{dur}" for start, dur in pairs),
        }),
    ]  # fmt: skip


#: Step statistics and classes: the durations of the steps.
CASES_D: dict[str, Sequence[float]] = {
    "D1": [500, 120, 101, 102, 230, 100, 104, 98, 210, 102, 101, 99, 220, 103, 100, 97, 215],
    "D2": [100] * 5 + [100, 101, 99, 100, 102, 98, 400],
    "D3": [100] * 5 + [100 + nth % 3 for nth in range(19)] + [300, 305],
    "D3b": [100] * 5 + [100 + nth % 3 for nth in range(18)] + [300, 305],
    "D4": [100] * 5 + [100, 124] * 3,
    "D5": [100] * 5 + [100, 140] * 3,
    "D6": [100] * 5 + [100, 150] * 3,
    "D7": [300, 100, 101, 102, 103, 104],
    "D8": [9] * 5 + [100, 110, 120, 130, 145],
}

#: Gaps, markers and payloads.
CASES_E: dict[str, list[Process]] = {
    "E1": [(1, "/device:TPU:0", {
        "XLA Ops": "fusion.0 0+10; iota.296 100+1; constant.2 101+1; dot.1 102+20; copy-start.1 150+1; "
                   "copy-done.1 151.0012+1; fusion.3 152.0012+10; copy-start.7 200+1; fusion.4 230+5",
    })],
    "E2": [(1, "/device:TPU:0", {
        "XLA Ops": "fusion.0 0+10; " + "; ".join(f"copy-done.{nth} {20 + nth}+1" for nth in range(9))
                   + "; fusion.5 29+4",
    })],
    "E3": [(1, "/device:TPU:0", {
        "XLA Ops": "fusion.0 0+10; " + "; ".join(f"copy-done.{nth} {20 + nth}+1" for nth in range(8))
                   + "; fusion.5 28+4",
    })],
}  # fmt: skip

#: Nesting at its edges.
CASES_F: dict[str, list[Process]] = {
    "F1": [(1, "/device:TPU:0", {"XLA Ops": "while.1 0+100; fusion.1 0+60; fusion.2 60+40.000001"})],
    "F2": [(1, "/device:TPU:0", {"XLA Ops": "a 0+10; b 5+10"})],
    "F3": [(1, "/device:TPU:0", {"XLA Ops": "x 0+10; y 0+10"})],
    "F4": [(1, "/device:TPU:0", {"XLA Ops": "p 0+12; a 0+10; b 5+10"})],
}

#: GPU streams, NCCL, steps on the host: 9 events.
CASE_G: list[Process] = [
    (1, "/device:GPU:0", {
        "Stream #0(compute)": 'fusion_1 10+100 {"tf_op": "XlaModule:"}; '
                              'gemm_fusion_dot_3 120+80 {"tf_op": "jit(train)/mlp/dot_general"}; MemcpyD2D 205+10',
        "Stream #1(nccl)": "ncclDevKernel_AllGather_RING_LL 150+50; ncclDevKernel_ReduceScatter_RING_LL 260+40",
    }),
    (2, "/host:CPU", {
        "python3": 'train 0+500 {"step_num": "100"}; train 500+400 {"step_num": "101"}; '
                   'train 900+350 {"step_num": "102"}; eval 1250+90 {"step_num": "102"}',
    }),
]  # fmt: skip


def comparison_case(steps: Sequence[float], fusion: float = 80, all_reduce: float = 20) -> list[Process]:
    """Return a trace of steps, one right after the other, and two operations."""
    marks = [f"{nth} {sum(steps[:nth])}+{dur}" for nth, dur in enumerate(steps)]
    return [
        (1, "/device:TPU:0", {
            "Steps": "; ".join(marks),
            "XLA Ops": f"fusion.1 0+{fusion}; all-reduce.1 {fusion}+{all_reduce}",
        }),
    ]  # fmt: skip


#: A baseline and what is compared with it.
CASES_I: dict[str, list[Process]] = {
    "baseline": comparison_case([100] * 5),
    "104": comparison_case([104] * 5),
    "105": comparison_case([105] * 5, 74, 26),
    "106": comparison_case([106] * 5),
    "140": comparison_case([100] * 4 + [140]),
}
