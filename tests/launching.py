"""Made-up traces of launches: what the host calls, and what a device runs for it, by then or much later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

GEMM, NCCL = "gemm", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


class Trace:
    """A made-up trace: annotations of the host, and operations with the calls that launched them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.calls = 0

    def mark(self, name: str, start: float, dur: float, tid: int = 1, pid: int = 1) -> Self:
        """Annotate a stretch of a thread."""
        return self.add("user_annotation", name, start, dur, pid, tid)

    def run(
        self, start: float, dur: float, launch: float | None = None, name: str = GEMM, *, device: int = 0,
        stream: int = 7, cat: str = "kernel", tid: int = 1, pid: int = 1,
    ) -> Self:  # fmt: skip
        """Run an operation that a call of a thread launches at a time; by None, one that the trace does not show."""
        self.calls += 1
        if launch is not None:
            self.add("cuda_runtime", "cudaLaunchKernel", launch, 1, pid, tid, correlation=self.calls)
        return self.add(cat, name, start, dur, device, stream, correlation=self.calls, device=device, stream=stream)

    def graph(self, launch: float, *runs: tuple[float, float]) -> Self:
        """Run operations, by start and duration, that one call launches."""
        self.calls += 1
        self.add("cuda_runtime", "cudaGraphLaunch", launch, 1, 1, 1, correlation=self.calls)
        for start, dur in runs:
            self.add("kernel", GEMM, start, dur, 0, 7, correlation=self.calls, device=0, stream=7)
        return self

    def add(self, cat: str, name: str, start: float, dur: float, pid: int, tid: int, **args: Any) -> Self:
        """Add an event."""
        event = {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": dur, "pid": pid, "tid": tid, "args": args}
        self.events.append(event)
        return self

    def write(self, path: Path) -> Path:
        """Write the trace as Chrome JSON."""
        path.write_text(json.dumps({"traceEvents": self.events}))
        return path
