"""Small databases of rocprofiler-sdk and of Ascend's msprof with known figures.

Made from the documented tables, not from a real run: they contain only what the documentation says.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

GUID = "0000-1111"
#: Planted where real databases have the command line, the environment and the host.
SECRETS = ("plantedcommand --token plantedtokenplanted", "plantedenvironment=plantedvalue", "plantedhost")
_COMMON = f"""
CREATE TABLE "rocpd_metadata_u" (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE "rocpd_string_u" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', string TEXT);
CREATE TABLE "rocpd_info_node_u" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', hostname TEXT);
CREATE TABLE "rocpd_info_process_u" (
    id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', nid INTEGER, pid INTEGER, command TEXT, environment JSONB);
CREATE TABLE "rocpd_info_thread_u" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', pid INTEGER, tid INTEGER);
CREATE TABLE "rocpd_info_agent_u" (
    id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', type TEXT, absolute_index INTEGER, logical_index INTEGER,
    type_index INTEGER, name TEXT, model_name TEXT, product_name TEXT);
CREATE TABLE "rocpd_info_kernel_symbol_u" (
    id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', kernel_name TEXT, display_name TEXT);
CREATE TABLE "rocpd_event_u" (
    id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', category_id INTEGER, stack_id INTEGER, correlation_id INTEGER,
    extdata JSONB DEFAULT '{{}}');
INSERT INTO rocpd_info_node_u (hostname) VALUES ('{SECRETS[2]}');
INSERT INTO rocpd_info_process_u (id, nid, pid, command, environment) VALUES (1, 1, 77, '{SECRETS[0]}', '{SECRETS[1]}');
INSERT INTO rocpd_info_thread_u (id, pid, tid) VALUES (1, 1, 78);
INSERT INTO rocpd_info_agent_u (id, type, absolute_index, logical_index, type_index, name, model_name, product_name)
VALUES (1, 'CPU', 0, 0, 0, 'cpu', 'EPYC', 'EPYC'), (2, 'GPU', 2, 1, 0, 'gfx942', '', 'AMD Instinct MI300X'),
    (3, 'GPU', 3, 2, 1, 'gfx942', '', 'AMD Instinct MI300X');
INSERT INTO rocpd_info_kernel_symbol_u (id, kernel_name, display_name)
VALUES (1, '_Z4gemmv.kd', 'Cijk_Ailk_Bljk_BBS_MT128x128'), (2, '_Z3actv.kd', NULL);
INSERT INTO rocpd_string_u (id, string) VALUES (1, 'HIP_RUNTIME_API_EXT'), (2, 'hipLaunchKernel'),
    (3, 'KERNEL_DISPATCH'), (4, 'MEMORY_COPY'), (5, 'MEMORY_COPY_HOST_TO_DEVICE'), (6, 'hipMemcpyAsync'),
    (7, 'MARKER_CORE_API'), (8, 'roctxRangePushA'), (9, '');
"""
#: Number, agent, symbol, start and end in ns, stack; for ranges number, category, name and so on. All are on one
#: thread; a call and what it launched share a stack. Kernels take 10, 10 and 4 µs on the first device, 6 on the other.
_KERNELS = ((1, 2, 1, 20_000, 30_000, 1), (2, 2, 1, 40_000, 50_000, 2), (3, 2, 2, 55_000, 59_000, 3),
            (4, 3, 2, 20_000, 26_000, 4))  # fmt: skip
_RANGES = ((1, 1, 2, 10_000, 12_000, 1), (2, 1, 2, 14_000, 16_000, 2), (3, 1, 2, 17_000, 18_000, 3),
           (4, 1, 2, 18_500, 19_000, 4), (5, 1, 6, 60_000, 61_000, 5), (6, 7, 8, 9_000, 62_000, 6),
           (7, 7, 8, 9_500, 12_500, 7))  # fmt: skip


def write_rocpd(path: Path, schema: int = 3) -> Path:
    """Write a database in rocpd's published schema 3 or 4; return its path."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(_COMMON)
    connection.execute("INSERT INTO rocpd_metadata_u (tag, value) VALUES ('schema_version', ?)", [str(schema)])
    grid = "workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z"
    if schema == 4:
        connection.executescript(f"""
            CREATE TABLE rocpd_info_category_u (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', name TEXT);
            INSERT INTO rocpd_info_category_u (id, name) SELECT id, string FROM rocpd_string_u;
            CREATE TABLE rocpd_timestamp_u (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', value BIGINT);
            CREATE TABLE rocpd_track_u (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', nid INTEGER, pid INTEGER,
                tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER);
            INSERT INTO rocpd_track_u (id, pid, tid, agent_id, queue_id, stream_id)
            VALUES (1, 1, 1, NULL, NULL, NULL), (2, 1, 1, 2, 8, 5), (3, 1, 1, 3, 8, 5)""")
    place = "track_id, start_id, end_id" if schema == 4 else 'pid, tid, "start", "end"'
    defined = ", ".join(f"{name} INTEGER" for name in place.split(", "))
    on_device = "" if schema == 4 else ", agent_id INTEGER, queue_id INTEGER, stream_id INTEGER"
    connection.executescript(f"""
        CREATE TABLE rocpd_kernel_dispatch_u (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', {defined}{on_device},
            kernel_id INTEGER, group_segment_size INTEGER, private_segment_size INTEGER,
            {", ".join(f"{name} INTEGER" for name in grid.split(", "))}, event_id INTEGER);
        CREATE TABLE rocpd_memory_copy_u (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', {defined}{on_device},
            name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, event_id INTEGER);
        CREATE TABLE rocpd_region_u (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', {defined}, name_id INTEGER,
            event_id INTEGER, extdata JSONB DEFAULT '{{}}')""")

    def add(table: str, track: int, start: int, end: int, **values: object) -> None:
        if schema == 4:
            times = [connection.execute("INSERT INTO rocpd_timestamp_u (value) VALUES (?)", [one]).lastrowid
                     for one in (start, end)]  # fmt: skip
            given = {"track_id": track, "start_id": times[0], "end_id": times[1], **values}
        else:
            given = {"pid": 1, "tid": 1, "start": start, "end": end, **values}
            given |= {"agent_id": track, "queue_id": 8, "stream_id": 5} if table != "rocpd_region_u" else {}
        names = ", ".join(f'"{name}"' for name in given)
        connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(given))})", list(given.values())
        )

    def event(category: int, stack: int, message: str | None = None) -> int | None:
        extdata = "{}" if message is None else f'{{"message": "{message}"}}'
        return connection.execute(
            "INSERT INTO rocpd_event_u (category_id, stack_id, extdata) VALUES (?, ?, ?)", [category, stack, extdata]
        ).lastrowid

    for number, agent, symbol, start, end, stack in _KERNELS:
        sizes = dict(zip(grid.split(", "), (64, 1, 1, 6400, 2, 1), strict=True))
        add("rocpd_kernel_dispatch_u", agent, start, end, id=number, kernel_id=symbol, group_segment_size=1024,
            private_segment_size=0, event_id=event(3, stack), **sizes)  # fmt: skip
    add("rocpd_memory_copy_u", 2, 70_000, 72_000, name_id=5, dst_agent_id=2, src_agent_id=1, size=4096,
        event_id=event(4, 5))  # fmt: skip
    messages = {6: "train_step 0", 7: "aten::mm, op_id = 9, sizes = [[8, 16], [16, 4]]"}
    for number, category, name, start, end, stack in _RANGES:
        add(
            "rocpd_region_u",
            1,
            start,
            end,
            id=number,
            name_id=name,
            event_id=event(category, stack, messages.get(number)),
        )
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%!_u' ESCAPE '!'").fetchall():
        connection.execute(f"CREATE VIEW {name.removesuffix('_u')} AS SELECT * FROM {name}")
    connection.commit()
    connection.close()
    return path


#: Start of the synthetic msprof capture, ns since 1970: 2026-05-26T08:00:00Z.
MSPROF_NS = 1_779_782_400_000_000_000
_STRINGS = (
    "MatMulV2_1", "MatMulV2", "AI_CORE", "ND;ND", "8,16;16,4", "FLOAT16;FLOAT16", "hcom_allReduce__935_0_1",
    "hcom_allReduce_", "group0", "EVENT_WAIT", "MEMCPY_ASYNC", "SDMA_SQE", "aten::mm", "train_step 0", "aclnnMatmul",
    "N/A",
)  # fmt: skip


def write_msprof(path: Path) -> Path:
    """Write a database with the documented tables of ascend_pytorch_profiler_{rank}.db; return its path.

    On device 4, the place of rank 12: two matrix products of 10 µs, an all-reduce of 20 µs with 1024 elements in FP16
    and a copy of 5 µs as a part of it, another copy of 3 µs, a wait for an event. An operator
    and a call launched the first product.
    """
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    number = {text: place for place, text in enumerate(_STRINGS)}
    connection.executescript(f"""
        CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
            globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
        CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER,
            mixBlockDim INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER,
            inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER,
            attrInfo INTEGER);
        CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER);
        CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,
            groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER,
            algType INTEGER, count NUMERIC, opType INTEGER);
        CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
            sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER,
            callchainId INTEGER, type INTEGER);
        CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
        INSERT INTO CONNECTION_IDS VALUES (1, 7), (1, 500);
        CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
            connectionId INTEGER PRIMARY KEY, name INTEGER);
        CREATE TABLE MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
            message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER);
        CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
        CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
        CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
        CREATE TABLE META_DATA (name TEXT, value TEXT);
        INSERT INTO RANK_DEVICE_MAP VALUES (12, 4);
        INSERT INTO NPU_INFO VALUES (4, 'Ascend910B3');
        INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (3, 'FP16');
        INSERT INTO HOST_INFO VALUES ('1', '{SECRETS[2]}');
        INSERT INTO META_DATA VALUES ('ENV_VARIABLES', '{SECRETS[1]}')""")
    connection.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", list(enumerate(_STRINGS)))
    for place, (start, end, kind, stream) in enumerate((
        (100, 110, "AI_CORE", 2), (120, 130, "AI_CORE", 2), (142, 147, "SDMA_SQE", 3), (170, 173, "MEMCPY_ASYNC", 2),
        (174, 175, "EVENT_WAIT", 2),
    )):  # fmt: skip
        connection.execute(
            "INSERT INTO TASK VALUES (?, ?, 4, ?, ?, 77, ?, 4294967295, ?, ?, 4294967295)",
            [MSPROF_NS + start * 1000, MSPROF_NS + end * 1000, 500 + place, place, number[kind], stream, place],
        )
    for place in (0, 1):
        values = [number[text] for text in ("AI_CORE", "MatMulV2", "ND;ND", "FLOAT16;FLOAT16", "8,16;16,4")]
        nothing = [number["N/A"]] * 4
        connection.execute(
            f"INSERT INTO COMPUTE_TASK_INFO VALUES (?, ?, 20, 0{', ?' * 9})",
            [number["MatMulV2_1"], place, *values, *nothing],
        )
    connection.execute("INSERT INTO COMMUNICATION_TASK_INFO VALUES (?, 2, ?)", [number["SDMA_SQE"]] * 2)
    connection.execute(
        "INSERT INTO COMMUNICATION_OP VALUES (?, ?, ?, 600, ?, 1, 0, 0, 3, 0, 1024, ?)",
        [number["hcom_allReduce__935_0_1"], MSPROF_NS + 140_000, MSPROF_NS + 160_000, number["group0"],
         number["hcom_allReduce_"]],
    )  # fmt: skip
    thread = 77 << 32 | 78
    connection.execute(
        "INSERT INTO PYTORCH_API VALUES (?, ?, ?, 1, ?, 3, 0, ?, ?, NULL, 50001)",
        [str(MSPROF_NS + 90_000), str(MSPROF_NS + 95_000), thread, number["aten::mm"], number["FLOAT16;FLOAT16"],
         number["8,16;16,4"]],
    )  # fmt: skip
    connection.execute(
        "INSERT INTO CANN_API VALUES (?, ?, 20000, ?, 500, ?)",
        [MSPROF_NS + 91_000, MSPROF_NS + 92_000, thread, number["aclnnMatmul"]],
    )
    connection.execute(
        "INSERT INTO MSTX_EVENTS VALUES (?, ?, 2, 1, 0, ?, ?, ?, 0, 0)",
        [MSPROF_NS + 80_000, MSPROF_NS + 180_000, number["train_step 0"], thread, thread],
    )
    connection.commit()
    connection.close()
    return path
