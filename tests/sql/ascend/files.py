"""Ascend tables and timelines of a few rows, for the tests of the SQL."""

import csv
import json
from pathlib import Path
from typing import Any

#: What a row says that a test does not.
USUAL = {
    "Device_id": "0", "Model ID": "4294967295", "Task ID": "7", "Stream ID": "2", "Name": "Add", "Type": "Add",
    "OP State": "dynamic", "Accelerator Core": "AI_VECTOR_CORE", "Start Time(us)": "0", "Duration(us)": "1",
    "Wait Time(us)": "0", "Block Num": "8", "Mix Block Num": "0", "Input Shapes": "N/A", "Input Data Types": "N/A",
    "Input Formats": "N/A", "Output Shapes": "N/A", "Output Data Types": "N/A", "Output Formats": "N/A",
    "Context ID": "N/A",
}  # fmt: skip
#: Processes and threads of a made-up timeline.
PYTHON, CANN, HARDWARE, COLLECTIVES = 100, 101, 102, 103


def write_kernels(path: Path, *rows: dict[str, str], drop: tuple[str, ...] = ()) -> Path:
    """Write a table of kernels; each row says what differs from the usual one."""
    columns = [column for column in USUAL if column not in drop]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            assert row.keys() <= USUAL.keys()
            writer.writerow(USUAL | row)
    return path


def logical(kind: str, group: str, start: str, dur: str, **more: str) -> dict[str, str]:
    """Return the row of a whole collective: `logical("allReduce", "428_0_1", "100.000", "5.000")`."""
    return {
        "Name": f"hcom_{kind}__{group}", "Type": f"hcom_{kind}_", "Accelerator Core": "COMMUNICATION",
        "Start Time(us)": start, "Duration(us)": dur, "Stream ID": "N/A", "Task ID": "N/A", **more,
    }  # fmt: skip


def physical(kind: str, start: str, dur: str, **more: str) -> dict[str, str]:
    """Return the row of a collective that is one vector kernel."""
    return {
        "Name": f"hcom_{kind}_AivKernel", "Type": f"hcom_{kind}_", "Accelerator Core": "COMMUNICATION",
        "Start Time(us)": start, "Duration(us)": dur, "Stream ID": "47", **more,
    }  # fmt: skip


def service(kind: str, start: str, dur: str, **more: str) -> dict[str, str]:
    """Return the row of the AI CPU's part in a collective."""
    return {
        "Name": f"{kind}AicpuKernel", "Type": f"{kind}AicpuKernel", "Accelerator Core": "AI_CPU",
        "Start Time(us)": start, "Duration(us)": dur, "Stream ID": "51", **more,
    }  # fmt: skip


def timeline(*events: dict[str, Any], npu: str = "NPU 0") -> list[dict[str, Any]]:
    """Return a timeline with its processes and threads named."""
    processes = ((PYTHON, "Python", "CPU"), (CANN, "CANN", "CPU"), (HARDWARE, "Ascend Hardware", npu),
                 (COLLECTIVES, "Communication", npu))  # fmt: skip
    threads = ((PYTHON, 1, "Thread 1"), (PYTHON, 9, "Thread 9"), (CANN, 1, "Thread 1"), (CANN, 9, "Thread 9"),
               (HARDWARE, 2, "Stream 2"), (HARDWARE, 47, "Stream 47"), (COLLECTIVES, 0, "Group 0 Communication"),
               (COLLECTIVES, 1, "Plane 0"))  # fmt: skip
    named = [
        {"ph": "M", "name": name, "pid": pid, "tid": 0, "args": {key: value}}
        for pid, process, labels in processes
        for name, key, value in (("process_name", "name", process), ("process_labels", "labels", labels))
    ]
    named += [{"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
              for pid, tid, name in threads]  # fmt: skip
    return [*named, *events]


def task(name: str, ts: str, dur: float, *, stream: int = 2, number: int = 7, connection: int = -1,
         kind: str = "AI_VECTOR_CORE") -> dict[str, Any]:  # fmt: skip
    """Return a device row of a timeline."""
    return {"ph": "X", "name": name, "pid": HARDWARE, "tid": stream, "ts": ts, "dur": dur, "args": {
        "Model Id": 4294967295, "Task Type": kind, "Stream Id": stream, "Task Id": number, "Batch Id": 0,
        "Subtask Id": 4294967295, "connection_id": connection}}  # fmt: skip


def collective(name: str, ts: str, dur: float) -> dict[str, Any]:
    """Return a whole collective of a timeline."""
    return {"ph": "X", "name": name, "pid": COLLECTIVES, "tid": 0, "ts": ts, "dur": dur, "args": {"connection_id": 5}}


def part(name: str, ts: str, dur: float, *, stream: int, number: int) -> dict[str, Any]:
    """Return one of the copies and signals of a collective that a timeline draws on planes."""
    return {"ph": "X", "name": name, "pid": COLLECTIVES, "tid": 1, "ts": ts, "dur": dur,
            "args": {"stream id": stream, "task id": number, "task type": name}}  # fmt: skip


def call(name: str, ts: str, dur: float, *, tid: int = 1) -> dict[str, Any]:
    """Return a call of the runtime."""
    return {"ph": "X", "name": name, "pid": CANN, "tid": tid, "ts": ts, "dur": dur, "args": {"level": "acl"}}


def operator(name: str, ts: str, dur: float, *, dims: str | None = None, category: str = "cpu_op", tid: int = 1,
             number: int | None = None) -> dict[str, Any]:  # fmt: skip
    """Return an operator of the framework, or a step of its queue."""
    args: dict[str, Any] = {"Sequence number": -1, "Fwd thread id": 0}
    args |= {"Input Dims": dims, "Input type": "float"} if dims else {}
    args |= {"correlation_id": number} if number is not None else {}
    return {"ph": "X", "name": name, "pid": PYTHON, "tid": tid, "ts": ts, "dur": dur, "cat": category, "args": args}


def arrow(category: str, number: str, tail: tuple[int, int, str], head: tuple[int, int, str]) -> list[dict[str, Any]]:
    """Return both ends of an arrow, each a process, a thread and a time."""
    return [
        {"ph": ph, "name": category, "id": number, "cat": category, "pid": pid, "tid": tid, "ts": ts,
         **({"bp": "e"} if ph == "f" else {})}
        for ph, (pid, tid, ts) in (("s", tail), ("f", head))
    ]  # fmt: skip


def write_timeline(path: Path, events: list[dict[str, Any]]) -> Path:
    """Write a timeline."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(events))
    return path


def write_folder(
    root: Path,
    rows: list[dict[str, str]],
    events: list[dict[str, Any]],
    *,
    npu: str = "NPU 0",
    drop: tuple[str, ...] = (),
) -> Path:
    """Write a profiler's folder that holds a table of kernels and a timeline."""
    output = root / "host_1_20251120000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    write_kernels(output / "kernel_details.csv", *rows, drop=drop)
    write_timeline(output / "trace_view.json", timeline(*events, npu=npu))
    return output.parent
