"""Exports of Nsight Systems (`nsys export`): the tables that become events, and facts about the capture.

Tables and columns differ between releases: any may be missing. A process is bits 24 to 47 of a serialized id, a thread
the 24 below. Correlations are per process, so those of events have the process above their 32 bits.
Environment, command line, host and user are never read; nor are texts that no event names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reader import Reading
from .nsys_parts import OPERATIONS, PARTS, PROCESS_NAMES, THREAD_NAMES
from .nvtx import with_words
from .parts import Part
from .payloads import decode, payload_schemas, to_json
from .tables import Tables

if TYPE_CHECKING:
    import pyarrow as pa

#: An export has at least one of these tables, or one with the prefix below.
MARKS = frozenset({"META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME", "NVTX_EVENTS"})
_MARK_PREFIX = "CUPTI_ACTIVITY_KIND_"
#: Columns that identify tables of events, among tables that are not read.
_TIMES = frozenset({"start", "timestamp", "rawTimestamp"})
_EXPORT = {"EXPORT_SCHEMA_VERSION": "schema_version", "EXPORT_PRODUCT_VERSION": "product_version"}
#: CUPTI's device and context of a graph whose first node is a function of the host.
_ON_HOST = 2**31 - 1
_GPU = ("id", "name", "totalMemory", "computeMajor", "computeMinor", "smCount")


class Nsys:
    """An export of Nsight Systems; see `exports.Export`."""

    what = "an export of Nsight Systems"
    strings = "StringIds"
    advice = "export the report again, with all its tables: nsys export --type sqlite FILE.nsys-rep"

    def __init__(self, tables: Tables) -> None:
        """Read the descriptive tables before any event."""
        self.tables = tables
        self.parts: list[Part] = [*PARTS, PROCESS_NAMES, THREAD_NAMES]
        self._schemas = payload_schemas(tables)
        #: The GPU of a process's device, by the machine's number; and the same if devices are numbered by it.
        self._gpus_of = self._devices_of_processes()
        self._gpus = self._gpus_of if _are_numbered_apart(self._gpus_of) else {}
        #: Pairs of process and device that operations have; the GPUs behind the devices.
        self._places: set[tuple[int, int]] = set()
        self._used: set[int] = set()
        #: Communicators: their ranks, and the rank of the process that created it.
        self._communicators: dict[int, set[tuple[int, int]]] = {}

    @staticmethod
    def knows(names: set[str]) -> bool:
        """Whether tables with these names are such an export."""
        return bool(MARKS & names) or (_has_activities(names) and not Nsys.is_nvprof(names))

    @staticmethod
    def is_nvprof(names: set[str]) -> bool:
        """Whether tables with these names are of nvprof, which named its tables of activities the same."""
        return _has_activities(names) and "StringTable" in names

    def arranged(self, part: Part, batch: pa.Table) -> pa.Table:
        """Return a batch with the additional columns that its SELECT needs."""
        if "deviceId" in part.columns:
            batch = self._with_devices(part, batch)
        if part.table == "NVTX_EVENTS":
            batch = with_words(batch).append_column("payload", self._payloads(batch.column("binaryData")))
            batch = batch.drop_columns(["binaryData"])
        return batch

    def reading(self, first: int, events: int) -> Reading:
        """Return the facts about the export."""
        tables, keys = self.tables, dict[str, Any]()
        for start, *_ in tables.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",)):
            keys["baseTimeNanoseconds"] = start
        gpus = sorted(tables.rows("TARGET_INFO_GPU", _GPU), key=lambda row: (row[0] is None, row[0]))
        gpus = [gpu for gpu in gpus if gpu[0] in self._used] or gpus
        if gpus:
            names = ("id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "numSms")
            keys["deviceProperties"] = [dict(zip(names, gpu, strict=True)) for gpu in gpus]
        for (value,) in tables.rows("TARGET_INFO_SYSTEM_ENV", ("value",), {"name": "CudaDriverVersion"}):
            keys["cuda_driver_version"] = value
        about: dict[str, Any] = {"kind": "nsys", "first_event": first, "rows": events - first}
        for name, key in _EXPORT.items():
            for (value,) in tables.rows("META_DATA_EXPORT", ("value",), {"name": name}):
                about[key] = value
        read = {part.table for part in self.parts}
        not_read = {
            table: rows
            for table, columns in sorted(tables.columns.items())
            if table not in read and _TIMES.intersection(columns) and (rows := tables.count(table))
        }
        if not_read:
            about["not_read"] = not_read
        return Reading(keys, metadata={"files": [about]}, facts={"format": "nsys"} | self._ranks())

    def _with_devices(self, part: Part, batch: pa.Table) -> pa.Table:
        """Record which process uses which device, and number devices as the machine does if processes differ in it."""
        import pyarrow as pa

        pairs = pa.table({"pid": batch.column("globalPid"), "device": batch.column("deviceId")})
        used = [row for row in pairs.group_by(["pid", "device"]).aggregate([]).to_pylist() if None not in row.values()]
        # Last what starts on the host: its device may be known by the others.
        for row in sorted(used, key=lambda row: row["device"]):
            pid = process_of(row["pid"])
            device = self._device_of(pid, row["device"])
            if part.table in OPERATIONS and device is not None:
                self._places.add((pid, device))
                self._used.add(self._gpus_of.get((pid, row["device"]), device))
        if self._gpus or any(row["device"] == _ON_HOST for row in used):
            devices = [
                self._device_of(process_of(pid or 0), device)
                for pid, device in zip(*(pairs.column(name).to_pylist() for name in ("pid", "device")), strict=True)
            ]
            place = batch.schema.get_field_index("deviceId")
            batch = batch.set_column(place, "deviceId", pa.array(devices, pa.int64()))
        return batch

    def _device_of(self, pid: int, device: int | None) -> int | None:
        """Return a process's device as the machine numbers it; for a graph that starts on the host, its only one."""
        if device is None:
            return None
        if device == _ON_HOST:
            used = {other for owner, other in self._places if owner == pid}
            seen = {self._device_of(pid, other) for owner, other in self._gpus_of if owner == pid}
            known = used or seen
            return known.pop() if len(known) == 1 else None
        return self._gpus.get((pid, device), device)

    def _devices_of_processes(self) -> dict[tuple[int, int], int]:
        """Return the GPU of each process's device; CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER decide about it."""
        rows = self.tables.rows("TARGET_INFO_CUDA_DEVICE", ("pid", "cudaId", "gpuId"))
        return {(pid, device): gpu for pid, device, gpu in rows if None not in (pid, device, gpu)}

    def _payloads(self, column: pa.ChunkedArray) -> pa.Array:
        """Return payloads as the members of a JSON object; most repeat, and each is decoded once."""
        import pyarrow as pa

        if column.null_count == len(column):
            return pa.nulls(len(column), pa.string())
        encoded = column.combine_chunks().dictionary_encode()
        found = [decode(data, self._schemas) if data else {} for data in encoded.dictionary.to_pylist()]
        for numbers in found:
            self._note_communicator(numbers)
        return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(map(to_json, found), pa.string()))

    def _note_communicator(self, numbers: dict[str, int | float]) -> None:
        communicator, ranks, rank = (
            numbers.get(name) for name in ("NCCL communicator ID", "No. of ranks", "Rank")
        )  # fmt: skip
        if isinstance(communicator, int) and isinstance(ranks, int) and isinstance(rank, int):
            self._communicators.setdefault(communicator, set()).add((ranks, rank))

    def _ranks(self) -> dict[str, Any]:
        """Return the ranks: for one process from NCCL, if known; for several with a device each, their devices."""
        processes = {pid for pid, _ in self._places}
        largest = max((made for made in self._communicators.values()), key=max, default=set())
        facts: dict[str, Any] = {}
        if largest:
            facts["world_size"] = max(largest)[0]
        if len(processes) > 1 and len({device for _, device in self._places}) == len(self._places) == len(processes):
            return facts | {"rank": None, "rank_source": "devices"}
        if len(processes) == 1 and len(largest) == 1:
            [(_, rank)] = largest
            return facts | {"rank": rank, "rank_source": "NCCL"}
        return facts


def _are_numbered_apart(gpus: dict[tuple[int, int], int]) -> bool:
    """Return whether one number of a device means several GPUs, in different processes."""
    return len({(device, gpu) for (_, device), gpu in gpus.items()}) > len({device for _, device in gpus})


def _has_activities(names: set[str]) -> bool:
    return any(name.startswith(_MARK_PREFIX) for name in names)


def process_of(serialized: int | None) -> int:
    """Return the process of a serialized id of a process or thread."""
    return (serialized or 0) >> 24 & 0xFFFFFF
