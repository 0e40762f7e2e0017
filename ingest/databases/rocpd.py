"""Databases of rocprofiler-sdk (rocpd, what rocprofv3 writes): kernels, copies, calls of HIP and HSA, markers.

Made from the published schemas 3 (times in the rows) and 4 (times and places in tables of their own), without a real
database. The tables of a run have its id in their names, and views without the id cover them. A call and
what it launched share a stack id. Command line, environment and arguments of calls are never read, names of hosts only
compared.

`rocpd merge` makes one database of several runs, on one node or on several. Nodes number their GPUs, and containers
their processes, each from the same numbers: GPUs of several nodes are numbered node by node, and of processes
with one number in several runs, all but the first get a number that Linux gives to no process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..reader import Reading
from .nvtx import NVTX, with_words
from .parts import Part, arguments, events
from .sqlite import SqliteTables

if TYPE_CHECKING:
    import pyarrow as pa

_SPAN = {"start_ns": "start", "end_ns": '"end"'}
_CORRELATION = "(coalesce(pid, 0) << 32) | nullif(stack, 0)"
#: Linux numbers processes below this.
_MOST_PROCESSES = 1 << 22
#: The SQL of processes, each with a number of its own. A run's later processes have their own numbers anyway.
_PROCESSES = f"""(
    SELECT
        id, guid, CASE
            WHEN guid = min(guid) OVER (PARTITION BY pid) THEN pid
            ELSE {_MOST_PROCESSES} + row_number() OVER (ORDER BY guid, id)
        END AS pid
    FROM rocpd_info_process)"""
#: Tables that describe the rows of others, or are read.
_DESCRIPTIVE = frozenset(
    f"rocpd_{name}"
    for name in ("metadata", "string", "track", "timestamp", "event", "kernel_dispatch", "memory_copy", "region")
)
_PLACES = ("start", "end", "pid", "tid", "device", "stream", "queue", "stack")
_ON_DEVICE = {
    "lane": "'device'",
    "ph": "'X'",
    "pid": "coalesce(device, 0)",
    "tid": "stream",
    "device": "TRY_CAST(device AS INTEGER)",
    "stream": "stream",
    "correlation": _CORRELATION,
} | _SPAN
_KERNELS = Part(
    "kernels of rocpd",
    dict.fromkeys((*_PLACES, "gx", "gy", "gz", "wx", "wy", "wz", "lds", "scratch"), "int") | {"name": "text"},
    events(
        **_ON_DEVICE,
        category="'kernel'",
        name="coalesce(name, 'kernel without a name')",
        args=arguments(
            process="pid",
            queue="queue",
            # HIP counts the threads of a grid, CUDA and Kineto its blocks.
            grid="'[' || gx // nullif(wx, 0) || ', ' || gy // nullif(wy, 0) || ', ' || gz // nullif(wz, 0) || ']'",
            block="'[' || wx || ', ' || wy || ', ' || wz || ']'",
            shared_memory="lds",
            scratch_memory="nullif(scratch, 0)",
        ),
    ),
)
#: Names of copies, derived from MEMORY_COPY_HOST_TO_DEVICE and similar.
_DIRECTION = """
    replace(replace(regexp_extract(name, '(HOST|DEVICE)_TO_(HOST|DEVICE)'), 'HOST', 'H'), 'DEVICE', 'D')"""
_COPIES = Part(
    "copies of rocpd",
    dict.fromkeys((*_PLACES, "size", "source", "target"), "int") | {"name": "text"},
    events(
        **_ON_DEVICE,
        category="'gpu_memcpy'",
        name=f"'Memcpy ' || coalesce(replace(nullif({_DIRECTION}, ''), '_TO_', 'to'), name, 'Unknown')",
        args=arguments(process="pid", queue="queue", bytes="size", from_device="source", to_device="target"),
    ),
)
_CALLS = Part(
    "calls of rocpd",
    dict.fromkeys(("start", "end", "pid", "tid", "stack"), "int") | {"name": "text", "kind": "text"},
    events(
        lane="'host'",
        category="""CASE
            WHEN starts_with(kind, 'HIP') THEN 'cuda_runtime'
            WHEN starts_with(kind, 'HSA') THEN 'cuda_driver'
            WHEN starts_with(kind, 'RCCL') THEN 'nccl'
            ELSE lower(coalesce(kind, 'runtime'))
        END""",
        name="coalesce(name, '')",
        pid="pid",
        tid="tid",
        correlation=_CORRELATION,
        **_SPAN,
    ),
)
#: Ranges of roctx, which may have the labels of emit_nvtx.
_MARKERS = replace(NVTX, table="markers of rocpd", names=())


class Rocpd:
    """A database of rocprofiler-sdk; see `exports.Export`."""

    what = "a database of rocprofiler-sdk (rocpd)"
    advice = "trace kernels and calls: rocprofv3 --sys-trace -- PROGRAM"
    strings = "rocpd_string"

    def __init__(self, tables: SqliteTables) -> None:
        """Define the parts as joins of the run's tables."""
        self.tables = tables
        self.parts = [_KERNELS, _COPIES, _CALLS, _MARKERS]
        # ROCm Systems Profiler writes rocm_hip_api for HIP_RUNTIME_API and so on.
        kind = "upper(CASE WHEN c.name LIKE 'rocm!_%' ESCAPE '!' THEN substr(c.name, 6) ELSE coalesce(c.name, '') END)"
        marker = f"{kind} LIKE 'MARKER%'"
        self._nodes, self._agents = self._numbered_agents()
        self._define(
            _KERNELS, "rocpd_kernel_dispatch", """coalesce(k.display_name, k.kernel_name) AS name, a.device AS device,
            r.grid_size_x AS gx, r.grid_size_y AS gy, r.grid_size_z AS gz, r.workgroup_size_x AS wx,
            r.workgroup_size_y AS wy, r.workgroup_size_z AS wz, r.group_segment_size AS lds,
            r.private_segment_size AS scratch""",
            "LEFT JOIN rocpd_info_kernel_symbol AS k ON k.id = r.kernel_id AND k.guid = r.guid"
            f" LEFT JOIN {self._agents} AS a ON a.id = place.agent_id AND a.guid = r.guid",
        )  # fmt: skip
        self._define(
            _COPIES, "rocpd_memory_copy", f"""n.string AS name, r.size AS size, t.device AS target,
            s.device AS source, {self._device_of_copy()} AS device""",
            "LEFT JOIN rocpd_string AS n ON n.id = r.name_id AND n.guid = r.guid"
            f" LEFT JOIN {self._agents} AS t ON t.id = r.dst_agent_id AND t.guid = r.guid"
            f" LEFT JOIN {self._agents} AS s ON s.id = r.src_agent_id AND s.guid = r.guid",
        )  # fmt: skip
        named = "LEFT JOIN rocpd_string AS n ON n.id = r.name_id AND n.guid = r.guid"
        self._define(_CALLS, "rocpd_region", f"n.string AS name, {kind} AS kind", named, f"NOT coalesce({marker}, 0)")
        message = "CASE WHEN json_valid({0}.extdata) THEN json_extract({0}.extdata, '$.message') END"
        self._define(
            _MARKERS, "rocpd_region", f"""59 AS eventType,
            coalesce({message.format('e')}, {message.format('r')}, n.string) AS text,
            (p.pid << 24) | coalesce(h.tid, 0) AS globalTid""",
            named, marker,
        )  # fmt: skip

    @staticmethod
    def knows(names: set[str]) -> bool:
        """Whether tables with these names are such a database."""
        return {"rocpd_kernel_dispatch", "rocpd_string", "rocpd_event"} <= names

    def arranged(self, part: Part, batch: pa.Table) -> pa.Table:
        """Return a batch unchanged; for markers, with an empty payload."""
        import pyarrow as pa

        if part is _MARKERS:
            nothing = pa.nulls(batch.num_rows, pa.string())
            batch = batch.append_column("payload", nothing)
            place = batch.schema.get_field_index("textId")
            batch = with_words(batch.set_column(place, "textId", nothing))
        return batch

    def reading(self, first: int, events: int) -> Reading:
        """Return the facts about the database."""
        agents = self.tables.answers(
            f"SELECT DISTINCT device, product_name, model_name, name FROM {self._agents} WHERE type = 'GPU' ORDER BY 1"
        )
        keys: dict[str, Any] = {}
        if agents:
            keys["deviceProperties"] = [
                {"id": place, "name": str(product or model or name or "")} for place, product, model, name in agents
            ]
        about: dict[str, Any] = {"kind": "rocpd", "first_event": first, "rows": events - first}
        for (value,) in self.tables.rows("rocpd_metadata", ("value",), {"tag": "schema_version"}):
            about["schema_version"] = value
        if self._nodes > 1:
            about["nodes"] = self._nodes
        # Names that end in the id of a run are of one run's tables, which the others cover.
        runs = tuple(name[len(self.strings) :] for name in self.tables.columns if name.startswith(f"{self.strings}_"))
        not_read = {
            name: rows
            for name in sorted(self.tables.columns)
            if name.startswith("rocpd_") and not name.startswith("rocpd_info_") and not name.endswith(runs)
            if name not in _DESCRIPTIVE and (rows := self.tables.count(name))
        }
        if not_read:
            about["not_read"] = not_read
        return Reading(keys, metadata={"files": [about]}, facts={"format": "rocpd"})

    def _numbered_agents(self) -> tuple[int, str]:
        """Return the number of nodes, and the SQL of agents with the device's number, `device`, node by node."""
        index = "coalesce(type_index, logical_index, absolute_index)"
        there = self.tables.columns.get("rocpd_info_node", ())
        # The id of a node is a hash of its machine's, or counts the nodes of a run. Containers of one image have one
        # machine id, but names of their own.
        parts = [f"n.{name}" for name in ("hash", "machine_id", "hostname") if name in there]
        node = " || ' ' || ".join(f"coalesce({part}, '')" for part in [*parts, "p.nid"])
        nodes = f"""
            SELECT p.guid, min({node}) AS node
            FROM rocpd_info_process AS p LEFT JOIN rocpd_info_node AS n ON n.id = p.nid AND n.guid = p.guid
            GROUP BY p.guid"""
        counts = self.tables.answers(f"SELECT count(DISTINCT node) FROM ({nodes})")
        if not counts or counts[0][0] < 2:
            return 1, f"(SELECT *, {index} AS device FROM rocpd_info_agent)"
        numbered = f"""(
            SELECT
                a.*, dense_rank() OVER (PARTITION BY a.type ORDER BY o.first_guid, {index}) - 1 AS device
            FROM rocpd_info_agent AS a
            LEFT JOIN (SELECT guid, min(guid) OVER (PARTITION BY node) AS first_guid FROM ({nodes})) AS o
                ON o.guid = a.guid)"""
        return counts[0][0], numbered

    def _device_of_copy(self) -> str:
        """Return the SQL of the device of a copy: the GPU that takes part in it.

        If two do, that on which kernels of the copy's stream ran, else of its process, else the source: a process that
        writes to another's GPU issues the copy on a stream of its own. Kernels are read only if there is such a copy.
        """
        kernels = "rocpd_kernel_dispatch AS k"
        if "track_id" in self.tables.columns.get("rocpd_kernel_dispatch", ()):
            kernels = "rocpd_kernel_dispatch AS d JOIN rocpd_track AS k ON k.id = d.track_id AND k.guid = d.guid"
        ran = " ".join(
            f"WHEN (r.guid, place.{shared}, {end}.id) IN (SELECT k.guid, k.{shared}, k.agent_id FROM {kernels})"
            f" THEN {end}.device"
            for shared in ("stream_id", "pid")
            for end in "st"
        )
        return f"""CASE
            WHEN t.type = 'GPU' AND s.type = 'GPU' AND s.id != t.id THEN CASE {ran} ELSE s.device END
            WHEN t.type = 'GPU' THEN t.device
            ELSE s.device
        END"""

    def _define(self, part: Part, table: str, columns: str, joins: str, where: str = "1") -> None:
        """Define the rows of a part: a table joined with where and when its rows ran and the ids they share."""
        there = self.tables.columns.get(table, ())
        if not there:
            return
        if "track_id" not in there:
            place, times, placed = "r", 'r."start" AS "start", r."end" AS "end"', ""
        else:
            place, times = "tr", 'b.value AS "start", f.value AS "end"'
            placed = (
                " LEFT JOIN rocpd_track AS tr ON tr.id = r.track_id AND tr.guid = r.guid"
                " LEFT JOIN rocpd_timestamp AS b ON b.id = r.start_id AND b.guid = r.guid"
                " LEFT JOIN rocpd_timestamp AS f ON f.id = r.end_id AND f.guid = r.guid"
            )
        categories = "rocpd_info_category" if "rocpd_info_category" in self.tables.columns else "rocpd_string"
        name = "name" if categories == "rocpd_info_category" else "string"
        columns, joins = (text.replace("place.", f"{place}.") for text in (columns, joins))
        on_device = f", {place}.stream_id AS stream, {place}.queue_id AS queue" if part in (_KERNELS, _COPIES) else ""
        self.tables.define(
            part.table,
            f"""
            SELECT {times}, p.pid AS pid, h.tid AS tid, e.stack_id AS stack, {columns}{on_device}
            FROM {table} AS r{placed}
            LEFT JOIN rocpd_event AS e ON e.id = r.event_id AND e.guid = r.guid
            LEFT JOIN (SELECT id, guid, {name} AS name FROM {categories}) AS c
                ON c.id = e.category_id AND c.guid = r.guid
            LEFT JOIN {_PROCESSES} AS p ON p.id = {place}.pid AND p.guid = r.guid
            LEFT JOIN rocpd_info_thread AS h ON h.id = {place}.tid AND h.guid = r.guid
            {joins}
            WHERE {where}""",
        )
