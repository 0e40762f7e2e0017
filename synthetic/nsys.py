"""A small export of Nsight Systems with known figures: two processes with a device each, three layers.

Each process runs one step. Under the range `model` three layers follow each other, each a range `attn` with a matrix
product and an attention, and a range `mlp` with an activation; then NCCL sums 4096 bytes in a group of 2 ranks, a copy
brings 1 MiB, a fill clears 64 bytes, and a graph is launched, whose kernels are not traced. All times are whole
microseconds. The second process begins 1 µs after the first. On each device, in µs: 3 x (10 + 7 + 5) of kernels, 20 of
communication, 8 of copy, 1 of fill, 30 of the graph, each 40 after the start of the one before.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

#: A table: its columns with their types in SQLite, and its rows.
Table = tuple[str, list[tuple[Any, ...]]]

LAYERS = 3
#: Start of the session, in ns since 1970: 2026-05-26T08:00:00Z.
SESSION_NS = 1_779_782_400_000_000_000
FIRST_PID = 100
COMMUNICATOR = 0xFEED
MESSAGE_BYTES = 4096
COPY_BYTES = 1 << 20
GEMM = "void cutlass::gemm_kernel<bf16>(Params)"
ACT = "void vllm::silu_and_mul_kernel<bf16>(bf16*)"
FLASH = "void flash::flash_fwd_kernel<bf16>(Params)"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#: Planted where a real export has the environment of the captured process; it must not get into a lake.
SECRETS = {
    "environment": "plantedenvsecret1=hunter2hunter2",
    "device": "plantedenvsecret2=swordfishswordfish",
    "host": "plantedhostname",
    "user": "planteduser",
    "command": "plantedcommand --token plantedtokenplanted",
    "output": "plantedstdout line",
}
#: Distance between ranges and operations of one kind, µs.
_APART = 40
_STRINGS = {
    1: GEMM, 2: "gemm_kernel", 3: ACT, 4: "silu_and_mul_kernel", 5: NCCL,
    6: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
    7: FLASH, 8: "flash_fwd_kernel", 10: "cudaLaunchKernel_v7000", 11: "cudaMemcpyAsync_v3020",
    12: "cudaMemsetAsync_v3020", 13: "cudaGraphLaunch_v10000",
    20: "ncclGroupStart",
    21: "ncclAllReduce", 22: "ncclGroupEnd", 23: "ncclCommInitRank", 30: "python3",
    99: SECRETS["output"],
}  # fmt: skip
#: The operators of each part of a layer: name, shapes of inputs, duration of the kernel in µs, id of its name.
_LAYER: dict[str, tuple[tuple[str, str, int, int], ...]] = {
    "attn": (
        ("aten::mm", "[[8, 16], [16, 4]]", 10, 1),
        ("flash_attn::_flash_attn_forward", "[[1, 8, 2, 64], [1, 8, 2, 64], [1, 8, 2, 64]]", 7, 7),
    ),
    "mlp": (("vllm::silu_and_mul", "[[8, 4]]", 5, 3),),
}
_SCHEMA, _INIT_SCHEMA = 16_777_220, 16_777_218


def nsys_tables(*, layers: int = LAYERS, payloads: bool = True) -> dict[str, Table]:
    """Return the tables of the export: name -> (columns, rows).

    Args:
        layers: layers of the model.
        payloads: whether NCCL attached the arguments of its calls.
    """
    made = [_process(place, layers, payloads=payloads) for place in range(2)]
    tables: dict[str, Table] = {
        "StringIds": ("id INTEGER PRIMARY KEY, value TEXT", list(_STRINGS.items())),
        "META_DATA_EXPORT": (
            "name TEXT, value TEXT",
            [("EXPORT_SCHEMA_VERSION", "3.25.0"), ("EXPORT_PRODUCT_VERSION", "2026.2.1"),
             ("EXPORT_USER", SECRETS["user"]), ("EXPORT_HOST", SECRETS["host"])],
        ),
        "META_DATA_CAPTURE": (
            "name TEXT, value TEXT",
            [("PROCESS_0:ENVIRONMENT", SECRETS["environment"]), ("PROCESS_0:COMMAND", SECRETS["command"])],
        ),
        "TARGET_INFO_SYSTEM_ENV": (
            "globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT",
            [(0, "Local", "DeviceEnvironment", 1, SECRETS["device"]), (0, "Local", "Hostname", 2, SECRETS["host"]),
             (0, "Local", "CudaDriverVersion", 3, "13000")],
        ),
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INTEGER, utcTime TEXT", [(SESSION_NS, "2026-05-26T08:00:00")]),
        "TARGET_INFO_GPU": (
            (
                "id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, "
                "computeMinor INTEGER, uuid TEXT"
            ),
            [(place, "NVIDIA H100 80GB HBM3", 85_520_809_984, 132, 9, 0, "GPU-1") for place in range(2)],
        ),
        "ProcessStreams": ("globalPid INTEGER, filenameId INTEGER, contentId INTEGER", [(_global(FIRST_PID), 99, 99)]),
        "PROCESSES": (
            "globalPid INTEGER, pid INTEGER, name TEXT",
            [(_global(FIRST_PID + place), FIRST_PID + place, "python3") for place in range(2)],
        ),
        "ThreadNames": (
            "nameId INTEGER, priority INTEGER, globalTid INTEGER",
            [(30, 20, _global(FIRST_PID + place, FIRST_PID + place)) for place in range(2)],
        ),
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
            "domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER, name TEXT, offset INTEGER",
            [(1, _SCHEMA, 0, None, 18, "NCCL communicator ID", None),
             (1, _SCHEMA, 1, None, 22, "Message size [bytes]", 8),
             (1, _INIT_SCHEMA, 0, None, 18, "NCCL communicator ID", None),
             (1, _INIT_SCHEMA, 1, None, 5, "No. of ranks", 8), (1, _INIT_SCHEMA, 2, None, 5, "Rank", 12)],
        ),
        "GPU_METRICS": ("rawTimestamp INTEGER, value INTEGER", [(5, 1), (6, 2)]),
    }  # fmt: skip
    for name, columns in _EVENTS.items():
        tables[name] = (columns, [row for process in made for row in process[name]])
    return tables


_PLACE = "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER"
_EVENTS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"start INTEGER, end INTEGER, {_PLACE}, demangledName INTEGER, shortName INTEGER, "
    "gridX INTEGER, gridY INTEGER, gridZ INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"start INTEGER, end INTEGER, {_PLACE}, bytes INTEGER, copyKind INTEGER, "
    "srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"start INTEGER, end INTEGER, {_PLACE}, bytes INTEGER, memKind INTEGER, "
    "value INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"start INTEGER, end INTEGER, {_PLACE}, graphId INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, "
    "nameId INTEGER, returnValue INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, "
    "textId INTEGER, domainId INTEGER, binaryData BLOB",
}


def _process(place: int, layers: int, *, payloads: bool) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of one process's events; correlation numbers are the same in each process."""
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _EVENTS}
    pid = FIRST_PID + place
    process, thread = _global(pid), _global(pid, pid)
    correlation, at = 0, 100 + place

    def ranged(start: int, end: int | None, text: str | int, kind: int = 59, data: bytes | None = None) -> None:
        named = (text, None) if isinstance(text, str) else (None, text)
        rows["NVTX_EVENTS"].append(
            (start * 1000, end and end * 1000, kind, named[0], thread, None, named[1], int(isinstance(text, int)), data)
        )  # fmt: skip

    def operation(table: str, call: int, duration: int, *rest: int) -> None:
        """Launch at the current time, run 10 µs later."""
        nonlocal correlation
        correlation += 1
        rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append((at * 1000, (at + 4) * 1000, thread, correlation, call, 0))
        start, end = (at + 10) * 1000, (at + 10 + duration) * 1000
        rows[f"CUPTI_ACTIVITY_KIND_{table}"].append((start, end, place, 1, 7, correlation, process, *rest))

    ranged(at - 60, at - 50, 23, data=_payload(_INIT_SCHEMA, "QII", COMMUNICATOR, 2, place) if payloads else None)
    begin = at
    for layer in range(layers):
        for part, operators in _LAYER.items():
            ranged(at - 2, at + _APART * (len(operators) - 1) + 6, part)
            for operator, sizes, duration, kernel in operators:
                ranged(at - 1, at + 5, f"{operator}, seq = {layer}, op_id = {10 * layer + kernel}, sizes = {sizes}")
                operation("KERNEL", 10, duration, kernel, kernel + 1, 8, 1, 1)
                at += _APART
    ranged(begin - 5, at - _APART + 20, "model")
    ranged(at - 3, at - 2, 20)
    ranged(at - 2, at - 1, 21, data=_payload(_SCHEMA, "QQ", COMMUNICATOR, MESSAGE_BYTES) if payloads else None)
    ranged(at - 1, at + 6, 22)
    operation("KERNEL", 10, 20, 5, 6, 4, 1, 1)
    at += _APART
    operation("MEMCPY", 11, 8, COPY_BYTES, 1, 1, 2)
    at += _APART
    operation("MEMSET", 12, 1, 64, 2, 0)
    at += _APART
    operation("GRAPH_TRACE", 13, 30, 12)
    ranged(begin - 10, at + 20, "train_step 0")
    ranged(at + 30, None, "checkpoint", 34)
    return rows


def _payload(schema: int, letters: str, *values: int) -> bytes:
    data = struct.pack(f"<{letters}", *values)
    return struct.pack("<IIIIQQ", 1, 0, schema, 0, len(data), 32 + len(data)) + data


def _global(pid: int, tid: int = 0) -> int:
    """Return a serialized id, with bits of a machine above those of the process."""
    return 1 << 48 | pid << 24 | tid


def write_nsys(path: Path, tables: Mapping[str, Table] | None = None, *, without: Iterable[str] = ()) -> Path:
    """Write tables as the SQLite file that `nsys export` makes, leaving some out; return its path."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        for name, (columns, rows) in (nsys_tables() if tables is None else tables).items():
            if name not in without:
                # One column is named like a keyword: end.
                defined = ", ".join('"{}" {}'.format(*column.split(" ", 1)) for column in columns.split(", "))
                connection.execute(f"CREATE TABLE {name} ({defined})")
                connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns.split(', ')))})", rows)
    connection.close()
    return path


def write_nsys_folder(folder: Path, kind: str, tables: Mapping[str, Table] | None = None) -> Path:
    """Write tables as `nsys export` does with `--type parquetdir` or `arrowdir`; return the folder."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    folder.mkdir()
    types = {"INTEGER": pa.int64(), "TEXT": pa.string(), "BLOB": pa.binary()}
    for name, (columns, rows) in (nsys_tables() if tables is None else tables).items():
        fields = [column.split()[:2] for column in columns.split(", ")]
        values = list(zip(*rows, strict=True)) or [()] * len(fields)
        table = pa.table(
            [pa.array(list(one), types[kind]) for one, (_, kind) in zip(values, fields, strict=True)],
            names=[field for field, _ in fields],
        )
        if kind == "parquetdir":
            pa.parquet.write_table(table, folder / f"{name}.parquet")
        else:
            pa.feather.write_feather(table, folder / f"{name}.arrow", compression="uncompressed")
    return folder
