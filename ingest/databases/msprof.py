"""Databases of Ascend's profilers (`msprof_*.db`, `ascend_pytorch_profiler_*.db`): tasks, collectives, calls, ranges.

Made from the documented tables; no database of a real run was available. Tasks become rows like those of the table of
kernels (kernel_details.csv), so that queries about those work. Texts are ids into STRING_IDS; times are ns since 1970.
Names of hosts and the captured environment are never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ascend.folder import device_of
from ..ascend.rows import dims, without_brackets
from ..reader import Reading
from .counters import TABLE as COUNTERS
from .counters import counters_of
from .parts import Part, arguments, events, json_text
from .sqlite import SqliteTables

if TYPE_CHECKING:
    import pyarrow as pa

_SPAN = {"start_ns": "startNs", "end_ns": "endNs"}
_TIMES = {"startNs": "int", "endNs": "int"}
_THREAD = {"pid": "globalTid >> 32", "tid": "globalTid & 4294967295"}
#: Types of elements by their names in ENUM_HCCL_DATA_TYPE.
_ELEMENTS = {
    "FP16": "float16", "FP32": "float32", "FP64": "float64", "BFP16": "bf16", "INT8": "int8", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
}  # fmt: skip
#: The texts in an operator's description: the lake's name -> column.
_DESCRIBED = {
    "op_type": "opType", "core": "core", "op_state": "opState", "input_shapes": "inputShapes",
    "input_dtypes": "inputDataTypes", "input_formats": "inputFormats", "output_shapes": "outputShapes",
    "output_dtypes": "outputDataTypes", "output_formats": "outputFormats",
}  # fmt: skip
#: Its numbers, with their names in all versions.
_NUMBERS = {"block_num": ("blockNum", "blockDim"), "mix_block_num": ("mixBlockNum", "mixBlockDim"), "wait": ("waitNs",)}
#: Tables that others are joined with, or that describe the capture.
_READ_BESIDE = {
    "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "COMMUNICATION_SCHEDULE_TASK_INFO", "PYTORCH_API",
    "CONNECTION_IDS", "STRING_IDS", "RANK_DEVICE_MAP", "NPU_INFO", "HOST_INFO", "META_DATA", "SESSION_TIME_INFO",
}  # fmt: skip
_TASK_NUMBERS = {"task_id": "taskId", "model_id": "modelId", "context_id": "contextId"}
_TASK_NAMES = ("name", "kind", *_DESCRIBED.values())


def _plain(column: str) -> str:
    """Return the SQL of a text cell without the quotes that some versions write around it."""
    return f"trim({column}, '\"')"


def _text(column: str) -> str:
    """Return the SQL of a text cell as JSON: as in the table of kernels, N/A if empty."""
    return json_text(f"coalesce({_plain(column)}, 'N/A')")


def _shapes(shapes: str, types: str) -> str:
    """Return the SQL of shapes as JSON, NULL if they cannot be read."""
    found = dims(without_brackets(_plain(shapes)), _plain(types))
    return f"CASE WHEN json_valid({found}) THEN {found} END"


def _members(**members: str) -> str:
    """Return the SQL of a JSON object whose names have underscores."""
    return arguments(**{name.replace("_", "__"): value for name, value in members.items()})


_TASKS = Part(
    "tasks of msprof",
    _TIMES
    | dict.fromkeys(("deviceId", "streamId", "connectionId", "of_collective"), "int")
    | dict.fromkeys((*_TASK_NUMBERS.values(), *_NUMBERS, *_TASK_NAMES), "int")
    | {"counters": "text"},
    events(
        lane="'device'",
        ph="'X'",
        # Parts of collectives are not additional operations.
        category="CASE WHEN of_collective = 1 THEN 'npu_task' ELSE 'kernel' END",
        name="coalesce(name, kind, 'task without a name')",
        pid="deviceId",
        tid="streamId",
        device="TRY_CAST(deviceId AS INTEGER)",
        stream="streamId",
        input_dims=_shapes("inputShapes", "inputDataTypes"),
        input_types=f"'[\"' || replace(nullif(nullif({_plain('inputDataTypes')}, 'N/A'), ''), ';', '\",\"') || '\"]'",
        args=_members(
            name=json_text("coalesce(name, kind)"),
            core=_text("coalesce(core, kind)"),
            **{name: _text(column) for name, column in _DESCRIBED.items() if name != "core"},
            **{name: f"'\"' || {name} || '\"'" for name in ("block_num", "mix_block_num")},
            wait="'\"' || CAST(wait / 1000 AS DECIMAL(18, 3)) || '\"'",
            **{name: f"'\"' || {column} || '\"'" for name, column in _TASK_NUMBERS.items()},
            connection_id="connectionId",
            counters=f"CASE WHEN counters IS NOT NULL THEN {json_text('counters')} END",
        ),
        **_SPAN,
    ),
    _TASK_NAMES,
    digits=("counters",),
)
_COLLECTIVES = Part(
    "COMMUNICATION_OP",
    _TIMES | dict.fromkeys(("opName", "opType", "groupName", "dataType", "count", "connectionId", "deviceId"), "int"),
    events(
        lane="'device'",
        ph="'X'",
        category="'kernel'",
        name="coalesce(opName, opType, 'collective without a name')",
        pid="coalesce(deviceId, the_device)",
        device="TRY_CAST(coalesce(deviceId, the_device) AS INTEGER)",
        args=arguments(
            name=json_text("opName"),
            op__type=_text("opType"),
            core="'\"COMMUNICATION\"'",
            connection__id="connectionId",
            Process_Group_Name=json_text("groupName"),
            dtype=json_text("element"),
            In_msg_nelems="CASE WHEN NOT regexp_matches(lower(opName), 'reduce_?scatter') THEN count END",
            Out_msg_nelems="CASE WHEN NOT regexp_matches(lower(opName), 'all_?gather') THEN count END",
        ),
        **_SPAN,
    ),
    ("opName", "opType", "groupName"),
)
_OPERATORS = Part(
    "calls of PyTorch",
    _TIMES
    | dict.fromkeys(
        ("globalTid", "connectionId", "name", "sequenceNumber", "fwdThreadId", "inputDtypes", "inputShapes", "type"),
        "int",
    )
    | {"connections": "text"},
    events(
        lane="CASE WHEN category = 'python_function' THEN 'python' ELSE 'host' END",
        # Types 50001 to 50004: operators, the queue to the device, Python frames, mstx.
        category="CASE type WHEN 50001 THEN 'cpu_op' WHEN 50003 THEN 'python_function' WHEN 50004 THEN"
        " 'user_annotation' ELSE 'npu_queue' END",
        name="coalesce(name, '')",
        input_dims=_shapes("inputShapes", "inputDtypes"),
        args=arguments(
            Sequence_number="sequenceNumber",
            Fwd_thread_id="fwdThreadId",
            Input_type=json_text("inputDtypes"),
            connection__id="connectionId",
            # Numbers of related calls and tasks; if CONNECTION_IDS has them, connectionId is its row.
            connections="connections",
        ),
        **_THREAD,
        **_SPAN,
    ),
    ("name", "inputDtypes", "inputShapes"),
)
_CALLS = Part(
    "CANN_API",
    _TIMES | dict.fromkeys(("globalTid", "connectionId", "name", "type"), "int"),
    events(
        lane="'host'", category="'cann'", name="coalesce(name, '')",
        args=arguments(connection__id="connectionId", type="type"), **_THREAD, **_SPAN,
    ),
    ("name",),
)  # fmt: skip
_RANGES = Part(
    "MSTX_EVENTS",
    _TIMES | dict.fromkeys(("globalTid", "message", "connectionId", "eventType"), "int"),
    events(
        lane="'host'", ph="CASE WHEN coalesce(end_ns, start_ns) = start_ns THEN 'i' ELSE 'X' END",
        category="'user_annotation'", name="coalesce(message, '')",
        args=arguments(connection__id="connectionId"), **_THREAD, **_SPAN,
    ),
    ("message",),
)  # fmt: skip
_STEPS = Part(
    "STEP_TIME",
    _TIMES | {"id": "int"},
    events(lane="'host'", category="'user_annotation'", name="'ProfilerStep#' || id", pid="0", tid="0", **_SPAN),
)


class Msprof:
    """A database of Ascend's profilers; see `exports.Export`."""

    what = "a database of Ascend's profiler (msprof)"
    advice = "give the folder with kernel_details.csv and trace_view.json instead"
    strings = "STRING_IDS"

    def __init__(self, tables: SqliteTables) -> None:
        """Define the tasks as joins with their descriptions."""
        self.tables = tables
        self.parts = [_TASKS, _COLLECTIVES, _OPERATORS, _CALLS, _RANGES, _STEPS]
        #: Heads of the counters.
        self._counters: list[str] = []
        if "TASK" in tables.columns:
            tables.define(_TASKS.table, self._task_query())
        listed, more = "p.connectionId", ""
        if "CONNECTION_IDS" in tables.columns:
            listed, more = (
                "c.listed",
                (
                    " LEFT JOIN (SELECT id, group_concat(connectionId) AS listed FROM CONNECTION_IDS GROUP BY id) AS c"
                    " ON c.id = p.connectionId"
                ),
            )
        if "PYTORCH_API" in tables.columns:
            tables.define(
                _OPERATORS.table, f"SELECT p.*, '[' || {listed} || ']' AS connections FROM PYTORCH_API AS p{more}"
            )
        if "deviceId" not in tables.columns.get(_COLLECTIVES.table, ("deviceId",)):
            self._add_devices()
        self._device = self._only_device()
        self._elements = {
            number: _ELEMENTS.get(str(name)) for number, name in tables.rows("ENUM_HCCL_DATA_TYPE", ("id", "name"))
        }

    def _task_query(self) -> str:
        """Return the SQL of tasks with their descriptions: of compute, or of the AI CPU's part of a collective."""
        columns = self.tables.columns
        described = set(columns.get("COMPUTE_TASK_INFO", ()))
        scheduled = set(columns.get("COMMUNICATION_SCHEDULE_TASK_INFO", ()))
        chosen, joined = [], ""
        for column, name in ({name: name for name in ("name", *_DESCRIBED.values())} | {"taskType": "core"}).items():
            found = [f"c.{column}"] * (column in described) + [f"s.{column}"] * (column in scheduled)
            if found:
                chosen.append(f"coalesce({', '.join((*found, 'NULL'))}) AS {name}")
        for name, written in _NUMBERS.items():
            chosen += [f"c.{column} AS {name}" for column in written if column in described][:1]
        for name, table in {"c": "COMPUTE_TASK_INFO", "s": "COMMUNICATION_SCHEDULE_TASK_INFO"}.items():
            if table in columns:
                joined += f" LEFT JOIN {table} AS {name} ON {name}.globalTaskId = t.globalTaskId"
        if "COMMUNICATION_TASK_INFO" in columns:
            chosen.append(
                "t.globalTaskId IN (SELECT globalTaskId FROM COMMUNICATION_TASK_INFO)"
                + (" AND c.globalTaskId IS NULL" if described else "")
                + (" AND s.globalTaskId IS NULL" if scheduled else "")
                + " AS of_collective"
            )
        tasks = "TASK"
        self._counters, counters = counters_of(self.tables)
        if counters:
            chosen.append("p.counters")
            joined += f" LEFT JOIN ({counters}) AS p ON p.globalTaskId = t.globalTaskId"
            if "timestampNs" in columns[COUNTERS]:
                joined += " AND p.nth = t.nth"
                tasks = "(SELECT *, row_number() OVER (PARTITION BY globalTaskId ORDER BY startNs) AS nth FROM TASK)"
        return f"SELECT t.*, t.taskType AS kind, {', '.join(chosen) or '1'} FROM {tasks} AS t{joined}"

    def _add_devices(self) -> None:
        """Give collectives the device of their tasks: older versions of CANN write none."""
        needed = {"COMMUNICATION_OP": "opId", "COMMUNICATION_TASK_INFO": "opId", "TASK": "deviceId"}
        if all(column in self.tables.columns.get(table, ()) for table, column in needed.items()):
            self.tables.define(
                _COLLECTIVES.table,
                "SELECT c.*, d.deviceId FROM COMMUNICATION_OP AS c LEFT JOIN ("
                "SELECT i.opId, max(t.deviceId) AS deviceId FROM COMMUNICATION_TASK_INFO AS i"
                " JOIN TASK AS t ON t.globalTaskId = i.globalTaskId GROUP BY i.opId) AS d ON d.opId = c.opId",
            )

    def _only_device(self) -> int:
        """Return the device of collectives that have none: the rank's, else that of all tasks, else the folder's."""
        for (device,) in self.tables.rows("RANK_DEVICE_MAP", ("deviceId",))[:1]:
            if isinstance(device, int):
                return device
        for least, most in self.tables.answers("SELECT min(deviceId), max(deviceId) FROM TASK"):
            if isinstance(least, int) and least == most:
                return least
        folder = self.tables.path.absolute().parent
        return device_of(folder, folder)

    @staticmethod
    def knows(names: set[str]) -> bool:
        """Whether tables with these names are such a database."""
        return "STRING_IDS" in names and bool({"TASK", "CANN_API", "PYTORCH_API", "COMMUNICATION_OP"} & names)

    def arranged(self, part: Part, batch: pa.Table) -> pa.Table:
        """Return a batch; for collectives, with the device, which they lack, and the names of element types."""
        import pyarrow as pa

        if part is _COLLECTIVES:
            names = [self._elements.get(one) for one in batch.column("dataType").to_pylist()]
            batch = batch.append_column("element", pa.array(names, pa.string()))
            batch = batch.append_column("the_device", pa.array([self._device] * batch.num_rows, pa.int64()))
        return batch

    def reading(self, first: int, events: int) -> Reading:
        """Return the facts about the database."""
        facts: dict[str, Any] = {"format": "ascend"}
        for (name,) in self.tables.rows("NPU_INFO", ("name",))[:1]:
            facts["device_name"] = str(name)
        ranks = {rank for (rank,) in self.tables.rows("RANK_DEVICE_MAP", ("rankId",)) if isinstance(rank, int)}
        if len(ranks) == 1 and min(ranks) >= 0:
            facts |= {"rank": min(ranks), "rank_source": "RANK_DEVICE_MAP"}
        about: dict[str, Any] = {"kind": "msprof", "first_event": first, "rows": events - first}
        read = {part.table for part in self.parts} | _READ_BESIDE
        if self._counters:
            read.add(COUNTERS)
            about["counters"] = self._counters
        not_read = {
            table: rows
            for table in sorted(self.tables.columns)
            if table not in read and not table.startswith(("ENUM_", "sqlite_"))
            and (rows := self.tables.count(table))
        }  # fmt: skip
        if not_read:
            about["not_read"] = not_read
        return Reading(metadata={"files": [about]}, facts=facts)
