"""The device work of host annotations by plain Python: interval arithmetic over the events of a Kineto trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .support import Number, content_of, nanoseconds

Interval = tuple[int, int]
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True)
class Launched:
    """What an annotation of the host launched on one device, in nanoseconds.

    Attributes:
        host: the annotation.
        work: the operations that calls of its process launched in that time.
        inside: the union of these operations within the annotation's own time.
    """

    host: Interval
    device: int
    work: tuple[Interval, ...]

    @property
    def span(self) -> int:
        return max(end for _, end in self.work) - min(start for start, _ in self.work)

    @property
    def busy(self) -> int:
        return union(self.work)

    @property
    def inside(self) -> int:
        start, end = self.host
        return union((max(a, start), min(b, end)) for a, b in self.work if a < end and b > start)


def union(intervals: Iterable[Interval]) -> int:
    """Return the time that intervals cover."""
    total, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


def interval(event: dict[str, Any]) -> Interval:
    return nanoseconds(event["ts"]), nanoseconds(event["ts"], event["dur"])


def launched(path: Path, wanted: Callable[[str], bool]) -> list[Launched]:
    """Return what the annotations with the names wanted launched, in order of time, without those that lie in another.

    An operation is launched by the first call in the file that has its correlation.
    """
    numbers: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), Number)
    read = json.loads(content_of(path), strict=False, **numbers)
    events = [event for event in read["traceEvents"] if event.get("ph") == "X" and "dur" in event]
    calls: dict[str, dict[str, Any]] = {}
    for event in events:
        key = (event.get("args") or {}).get("correlation")
        if key is not None and event.get("cat") in ("cuda_runtime", "cuda_driver", "hip_runtime"):
            calls.setdefault(key, event)
    marks = sorted(
        ((interval(event), str(event["pid"])) for event in events
         if event.get("cat") == "user_annotation" and wanted(event["name"])),
        key=lambda mark: (mark[0][0], -mark[0][1]),
    )  # fmt: skip
    outermost = [mark for nth, mark in enumerate(marks) if all(mark[0][1] > before[0][1] for before in marks[:nth])]
    operations = [
        (str(call["pid"]), nanoseconds(call["ts"]), int(event["args"]["device"]), interval(event))
        for event in events
        if event.get("cat") in DEVICE and (call := calls.get(event["args"].get("correlation"))) is not None
    ]
    found = []
    for host, pid in outermost:
        work: dict[int, list[Interval]] = {}
        for process, called, device, times in operations:
            if process == pid and host[0] <= called < host[1]:
                work.setdefault(device, []).append(times)
        found += [Launched(host, device, tuple(intervals)) for device, intervals in sorted(work.items())]
    return found
