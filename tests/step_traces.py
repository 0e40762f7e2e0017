"""Made-up training traces with steps: what each step runs is given, so that what a comparison finds is known.

Times in microseconds.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .kernel_traces import GEMM, Trace

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"


@dataclass(frozen=True)
class Work:
    """One kernel of a step.

    Attributes:
        module: the module that calls its operator.
        op: the operator.
        kernel: the kernel's name.
        dur: its duration.
        dims: shapes of the operator's inputs.
        gap: idle time before it.
        copy: a copy of memory.
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


def slower(steps: Sequence[Work], nth: int, factor: float) -> tuple[Work, ...]:
    """Return a step whose n-th kernel takes a multiple of its time."""
    return tuple(replace(work, dur=work.dur * factor) if at == nth else work for at, work in enumerate(steps))


def write(
    path: Path,
    step: Sequence[Work] = STEP,
    *,
    steps: int = 12,
    noise: float = 0,
    seed: int = 0,
) -> Path:
    """Write a trace and return its path.

    Args:
        path: where to.
        step: the kernels of a step.
        steps: how many.
        noise: standard deviation of durations, as a share of each.
        seed: of the noise.
    """
    dice = random.Random(seed)
    trace = Trace()
    host = device = 1000.0
    for nth in range(steps):
        begin = host
        device = max(device, host + 200)
        for work in step:
            op = trace.op(work.op, host + 1, 6, [list(dims) for dims in work.dims])
            trace.module(work.module, host, 8)
            dur = round(work.dur * max(0.2, dice.gauss(1, noise)), 3)
            kind = "gpu_memcpy" if work.copy else "kernel"
            trace.kernel(work.kernel, host + 2, device + work.gap, dur, op, cat=kind)
            host, device = host + 10, device + work.gap + dur
        host = max(host, device) + 50
        trace.note(f"ProfilerStep#{nth}", begin, host - begin - 1)
    return trace.write(path)
