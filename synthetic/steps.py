"""Synthetic training traces with given steps, so that the changes between two of them are known.

A rank of a training loop: in each step modules call operators, an operator launches a kernel, and the device runs one
after the other. Durations vary randomly from step to step.
"""

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}
#: From the call of one operator to that of the next, µs.
HOST_US = 10
#: Monday, 2 November 2026, 02:00 UTC: the moment 0 of the clock, ns since 1970; and a day later.
RECORDED_NS = 1_793_584_800_000_000_000
TUESDAY_NS = RECORDED_NS + 86_400 * 10**9


@dataclass(frozen=True)
class Work:
    """One kernel of a step.

    Attributes:
        module: the module that calls its operator.
        op: the operator.
        kernel: the kernel's name.
        dur: its duration, µs.
        dims: shapes of the operator's inputs.
        gap: idle time of the device before it, µs.
        copy: it is a memory copy.
    """

    module: str
    op: str
    kernel: str
    dur: float
    dims: tuple[tuple[int, ...], ...] = ((64, 64), (64, 64))
    gap: float = 0
    copy: bool = False


STEP = (
    Work("Attention_0", "aten::mm", GEMM, 100),
    Work("Attention_0", "aten::softmax", "softmax_warp_forward<float>", 40, ((64, 64), ())),
    Work("Mlp_0", "aten::mm", GEMM, 200, ((64, 64), (64, 256))),
    Work("Mlp_0", "aten::gelu", "void at::native::vectorized_elementwise_kernel<4, GeluCUDAKernel>", 30, ((64, 256),)),
    Work("Mlp_0", "c10d::allreduce_", NCCL, 60, ((64, 256),)),
    Work("Mlp_0", "aten::copy_", "Memcpy DtoD (Device -> Device)", 10, ((64,), (64,)), copy=True),
)


def slower(step: Sequence[Work], nth: int, factor: float) -> tuple[Work, ...]:
    """Return a step whose n-th kernel takes a multiple of its time."""
    return tuple(replace(work, dur=work.dur * factor) if at == nth else work for at, work in enumerate(step))


def write_steps(
    path: Path,
    step: Sequence[Work] = STEP,
    *,
    steps: int = 12,
    noise: float = 0,
    seed: int = 0,
    start_ns: int = RECORDED_NS,
) -> Path:
    """Write a trace and return its path.

    Args:
        path: the file to write; compressed if it ends in .gz.
        step: the kernels of a step.
        steps: how many.
        noise: standard deviation of durations, as a share of each.
        seed: of the noise: the same seed writes the same bytes.
        start_ns: the moment 0, ns since 1970.
    """
    chance = random.Random(seed)
    events: list[dict[str, Any]] = []
    host = device = 1000.0
    for nth in range(steps):
        begin = host
        device = max(device, host + 200)
        for work in step:
            number = len(events)
            dur = round(work.dur * max(0.2, chance.gauss(1, noise)), 3)
            device += work.gap
            events += _called(work, host, device, dur, number)
            host, device = host + HOST_US, device + dur
        host = max(host, device) + 50
        events.append(_event("user_annotation", f"ProfilerStep#{nth}", 1, begin, host - begin - 1, {}))
    text = json.dumps({"baseTimeNanoseconds": start_ns, "deviceProperties": [H100], "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def write_change(folder: Path) -> list[Path]:
    """Write the traces of two days and return their paths: on Tuesday a product takes 8 % longer, a call is new."""
    changed = slower(STEP, 2, 1.08)
    return [
        write_steps(folder / "monday.json.gz", noise=0.005, seed=1),
        write_steps(folder / "tuesday.json.gz", (*changed, changed[3]), noise=0.005, seed=2, start_ns=TUESDAY_NS),
    ]


def _called(work: Work, host: float, start: float, dur: float, number: int) -> list[dict[str, Any]]:
    """Return a call of a module, its operator, the launch and the kernel."""
    shared = {"correlation": number + 1, "External id": number + 1}
    inputs = {
        "Input Dims": [list(shape) for shape in work.dims],
        "Input type": ["c10::BFloat16" if shape else "Scalar" for shape in work.dims],
        "External id": number + 1,
    }
    device = {"device": 0, "stream": 7, **shared}
    return [
        _event("python_function", f"nn.Module: {work.module}", 1, host, 8, {}),
        _event("cpu_op", work.op, 1, host + 1, 6, inputs),
        _event("cuda_runtime", "cudaLaunchKernel", 1, host + 2, 1, shared),
        _event("gpu_memcpy" if work.copy else "kernel", work.kernel, 7, start, dur, device, pid=0),
    ]


def _event(
    category: str, name: str, tid: int, ts: float, dur: float, args: dict[str, Any], *, pid: int = 1
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(ts, 3), "dur": round(dur, 3),
        "args": args,
    }  # fmt: skip
