"""Tables of events of Nsight Systems, and their mapping to Kineto's names and lanes, as far as possible.

So a query about a trace of PyTorch's profiler also works for an export: ranges of emit_nvtx are operators, other
ranges annotations, and runtime calls launch what shares their correlation.
"""

from __future__ import annotations

from .nvtx import NVTX
from .parts import TEXTS, Part, arguments, events, json_text, process, thread

_TIMES = {"start": "int", "end": "int"}
_PLACE = dict.fromkeys(("deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid"), "int")


def _correlation(column: str) -> str:
    # A correlation is unique within a process only, so the process is put above its 32 bits.
    return f"(coalesce({process(column)}, 0) << 32) | nullif(correlationId, 0)"


_SPAN = {"start_ns": "start", "end_ns": '"end"'}
_ON_DEVICE = {
    "lane": "'device'",
    "ph": "'X'",
    "pid": "deviceId",
    "tid": "streamId",
    "device": "TRY_CAST(deviceId AS INTEGER)",
    "stream": "streamId",
    "correlation": _correlation("globalPid"),
} | _SPAN
_DEVICE_ARGS = {
    "process": process("globalPid"), "context": "contextId", "green_context": "nullif(greenContextId, 0)",
}  # fmt: skip


def _triple(name: str) -> str:
    return f"'[' || {name}X || ', ' || {name}Y || ', ' || {name}Z || ']'"


_DIMENSIONS = dict.fromkeys([f"{name}{axis}" for name in ("grid", "block", "cluster") for axis in "XYZ"], "int")
_KERNEL_NUMBERS = dict.fromkeys(
    (
        "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "graphNodeId",
        "graphId", "launchType",
    ),
    "int",
)  # fmt: skip
_KERNELS = Part(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    _TIMES | _PLACE | {"demangledName": "int", "shortName": "int"} | _DIMENSIONS | _KERNEL_NUMBERS,
    events(
        **_ON_DEVICE,
        category="'kernel'",
        name="coalesce(demangledName, short, 'kernel without a name')",
        args=arguments(
            **_DEVICE_ARGS,
            short_name="short_name",
            registers_per_thread="registersPerThread",
            shared_memory="staticSharedMemory + dynamicSharedMemory",
            local_memory_per_thread="nullif(localMemoryPerThread, 0)",
            grid=_triple("grid"),
            block=_triple("block"),
            cluster=f"CASE WHEN clusterX * clusterY * clusterZ > 1 THEN {_triple('cluster')} END",
            graph_id="nullif(graphId, 0)",
            graph_node_id="nullif(graphNodeId, 0)",
        ),
    ),
    ("demangledName", "shortName"),
    {"shortName": f"SELECT nth, text AS short, {json_text('text')} AS short_name FROM {TEXTS}"},
    lane="device",
)

#: Directions of copies as in Kineto, by copyKind from 0, and kinds of memory by memKind.
_COPIES = (
    "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "HtoD (Unified)",
    "DtoH (Unified)", "DtoD (Unified)",
)  # fmt: skip
_MEMORY = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")


def _listed(names: tuple[str, ...], column: str) -> str:
    # SQL lists start at 1; a missing element is NULL.
    return f"{list(names)}[{column} + 1]"


_COPY_NAME = (
    f"'Memcpy ' || coalesce({_listed(_COPIES, 'copyKind')}, 'Unknown')"
    f" || coalesce(' (' || {_listed(_MEMORY, 'srcKind')} || ' -> ' || {_listed(_MEMORY, 'dstKind')} || ')', '')"
)
_COPIED = Part(
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    _TIMES
    | _PLACE
    | dict.fromkeys(
        ("bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId", "copyCount"), "int"
    ),
    events(
        **_ON_DEVICE,
        category="'gpu_memcpy'",
        name=_COPY_NAME,
        args=arguments(
            **_DEVICE_ARGS,
            bytes="bytes",
            copies="nullif(copyCount, 1)",
            from_device="srcDeviceId",
            to_device="dstDeviceId",
            graph_node_id="nullif(graphNodeId, 0)",
        ),
    ),
    lane="device",
)
_SET = Part(
    "CUPTI_ACTIVITY_KIND_MEMSET",
    _TIMES | _PLACE | dict.fromkeys(("bytes", "memKind", "value", "graphNodeId"), "int"),
    events(
        **_ON_DEVICE,
        category="'gpu_memset'",
        name=f"'Memset (' || coalesce({_listed(_MEMORY, 'memKind')}, 'Unknown') || ')'",
        args=arguments(**_DEVICE_ARGS, bytes="bytes", value="value", graph_node_id="nullif(graphNodeId, 0)"),
    ),
    lane="device",
)
_GRAPHS = Part(
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    _TIMES | _PLACE | {"graphId": "int", "graphExecId": "int"},
    events(
        **_ON_DEVICE,
        category="'cuda_graph'",
        name="'CUDA graph ' || coalesce(CAST(graphId AS VARCHAR), '')",
        args=arguments(**_DEVICE_ARGS, graph_id="graphId", graph_execution_id="graphExecId"),
    ),
    lane="device",
)

_CALL = _TIMES | dict.fromkeys(("globalTid", "correlationId", "nameId", "returnValue"), "int")
#: Nsight Systems appends the version of a call's interface to its name, as in cudaLaunchKernel_v7000.
_VERSION = r"'_v\d+$'"
_NAMED = f"""
SELECT
    nth, regexp_replace(text, {_VERSION}, '') AS called,
    nullif(regexp_extract(text, '_v([0-9]+)$', 1), '') AS api_version,
    CASE WHEN regexp_matches(text, '^cu[A-Z]') THEN 'cuda_driver' ELSE 'cuda_runtime' END AS kind
FROM {TEXTS}"""
_CALLS = Part(
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    _CALL,
    events(
        lane="'host'",
        category="coalesce(kind, 'cuda_runtime')",
        name="called",
        correlation=_correlation("globalTid"),
        args=arguments(api_version="api_version", return_value="nullif(returnValue, 0)"),
        **thread("globalTid"),
        **_SPAN,
    ),
    ("nameId",),
    {"nameId": _NAMED},
)


def _library(table: str, category: str) -> Part:
    """Return the part of a table of calls that launch nothing themselves."""
    return Part(
        table,
        _CALL,
        events(
            lane="'host'",
            category=f"'{category}'",
            name="called",
            args=arguments(return_value="nullif(returnValue, 0)"),
            **thread("globalTid"),
            **_SPAN,
        ),
        ("nameId",),
        {"nameId": _NAMED},
    )


#: Names of waits as in Kineto, by syncType from 0.
_WAITS = ("Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
_SYNCHRONIZATIONS = Part(
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    _TIMES | _PLACE | {"syncType": "int", "eventId": "int"},
    events(**_ON_DEVICE | {
        "lane": "'host'",
        "category": "'cuda_sync'",
        "name": f"coalesce({_listed(_WAITS, 'syncType')}, 'Unknown Sync')",
        "args": arguments(**_DEVICE_ARGS, event_id="eventId"),
    }),
)  # fmt: skip
_CUDA_EVENTS = Part(
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    {"timestamp": "int"} | _PLACE | {"eventId": "int"},
    events(**_ON_DEVICE | {
        "lane": "'host'",
        "ph": "'i'",
        "category": "'cuda_event'",
        "name": "'Event Record'",
        "args": arguments(**_DEVICE_ARGS, event_id="eventId"),
        "start_ns": "timestamp",
        "end_ns": "NULL",
    }),
)  # fmt: skip
_OVERHEADS = (
    "Undefined", "Unknown", "Driver Compiler", "Buffer Flush", "Instrumentation", "Resource",
    "Runtime Triggered Module Loading", "Lazy Function Loading", "Command Buffer Full",
)  # fmt: skip


def _overhead(table: str) -> Part:
    kind = f"coalesce({_listed(_OVERHEADS, 'overheadType')}, 'Unknown')"
    return Part(
        table,
        _TIMES | {"globalTid": "int", "nameId": "int", "overheadType": "int"},
        events(
            lane="'host'", category="'overhead'", name=f"coalesce(nullif(nameId, ''), {kind})",
            args=arguments(overhead=json_text(kind)), **thread("globalTid"), **_SPAN,
        ),
        ("nameId",),
    )  # fmt: skip


#: In reading order.
PARTS = (
    _KERNELS, _COPIED, _SET, _GRAPHS, _SYNCHRONIZATIONS, _CUDA_EVENTS, _CALLS, NVTX,
    _library("CUDNN_EVENTS", "cudnn"), _library("CUBLAS_EVENTS", "cublas"), _library("OSRT_API", "osrt"),
    _overhead("CUPTI_ACTIVITY_KIND_OVERHEAD"), _overhead("PROFILER_OVERHEAD"),
)  # fmt: skip
#: Tables of device operations; a wait on the host names a device too, but not always its own.
OPERATIONS = frozenset(part.table for part in (_KERNELS, _COPIED, _SET, _GRAPHS))
PROCESS_NAMES = Part(
    "PROCESSES",
    {"globalPid": "int", "pid": "int", "name": "text"},
    events(
        lane="'meta'", ph="'M'", name="'process_name'", pid=f"coalesce(pid, {process('globalPid')})",
        args=arguments(name=f"coalesce({json_text('name')}, '\"\"')"),
    ),
)  # fmt: skip
THREAD_NAMES = Part(
    "ThreadNames",
    {"nameId": "int", "globalTid": "int"},
    events(
        lane="'meta'", ph="'M'", name="'thread_name'", args=arguments(name=f"coalesce({json_text('nameId')}, '\"\"')"),
        **thread("globalTid"),
    ),
    ("nameId",),
)  # fmt: skip
