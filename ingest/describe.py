"""Facts about a trace from the file itself: rank, parallelism, devices, clock. From its keys, then from its name."""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import Any

from .places import AXES, possible, said_by
from .reader import Reading

#: The only keys around the events that are stored. Others may hold the environment of the profiled
#: process, its arguments, tokens and paths, and do not enter the lake.
KEPT_KEYS = frozenset({
    "schemaVersion", "deviceProperties", "computeProperties", "distributedInfo", "displayTimeUnit",
    "baseTimeNanoseconds", "traceName",
    "trace_id", "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules",
    "cuda_runtime_version", "cuda_driver_version", "cupti_version", "roctracer_version", "rocprofiler_version",
    "hip_runtime_version", "hip_driver_version", "nccl_version", "pytorch_version", "torch_version",
})  # fmt: skip
_KEPT_DEVICE_KEYS = frozenset({
    "id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "numSms", "warpSize", "maxThreadsPerBlock",
    "maxThreadsPerMultiprocessor", "regsPerBlock", "regsPerMultiprocessor", "sharedMemPerBlock",
    "sharedMemPerBlockOptin", "sharedMemPerMultiprocessor", "maxSharedMemoryPerMultiProcessor",
})  # fmt: skip
#: Kineto's first traces have `computeProperties`, with other names of these.
_FORMER_DEVICE_KEYS = {
    "major": "computeMajor", "minor": "computeMinor", "multiProcessorCount": "numSms",
    "maxThreadsPerMultiProcessor": "maxThreadsPerMultiprocessor",
}  # fmt: skip
_KEPT_DISTRIBUTED_KEYS = frozenset({"backend", "rank", "world_size", "pg_count", "nccl_version"})
_KEPT_GROUP_KEYS = frozenset({"pg_name", "pg_desc", "backend_config", "pg_size", "ranks"})
_SCALARS = (str, int, float, bool)
_CUSTOM = "/device:CUSTOM:"

_AXIS_GROUP = re.compile(r"(?:^|[^a-z])(tp|ep|dp|pp|tensor|expert|data|pipeline)(?:[^a-z]|$)", re.IGNORECASE)
_AXIS_NAMES = {"tensor": "tp", "expert": "ep", "data": "dp", "pipeline": "pp"}
_ENDINGS = re.compile(r"(\.pt)?(\.trace)?(\.json|\.csv|\.xplane\.pb|\.sqlite3?|\.db)?(\.gz|\.zst)?$", re.IGNORECASE)

_PLACES = tuple(f"{axis}_rank" for axis in AXES)

_INT64 = 2**63


def trace_name(file_name: str) -> str:
    """Return a file's name without the suffixes of traces."""
    return _ENDINGS.sub("", file_name) or file_name


def describe(reading: Reading, file_name: str, devices: list[str]) -> dict[str, Any]:
    """Return the catalog columns that follow from a reading, a file's name, and its device processes' names."""
    keys = _renamed(reading.keys)
    kept = {key: _filtered(key, value) for key, value in keys.items() if key in KEPT_KEYS} | reading.metadata
    entry: dict[str, Any] = {
        "format": _format(keys, bare=reading.bare, devices=devices),
        "metadata": json.dumps(kept, ensure_ascii=False),
        "base_time_ns": _integer(keys.get("baseTimeNanoseconds"), _INT64),
    }
    entry |= _device(keys, devices)
    entry |= _ranks(keys.get("distributedInfo"), file_name)
    return entry | reading.facts


def _renamed(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the keys around the events, with the properties of devices under the names that Kineto now gives them."""
    former = keys.get("computeProperties")
    if "deviceProperties" in keys or not isinstance(former, list):
        return keys
    devices = [
        {_FORMER_DEVICE_KEYS.get(key, key): value for key, value in device.items()}
        for device in former
        if isinstance(device, dict)
    ]
    return {key: value for key, value in keys.items() if key != "computeProperties"} | {"deviceProperties": devices}


def _filtered(key: str, value: Any) -> Any:
    if key in ("deviceProperties", "computeProperties") and isinstance(value, list):
        return [_only(device, _KEPT_DEVICE_KEYS) for device in value]
    if key == "distributedInfo" and isinstance(value, dict):
        groups = value.get("pg_config")
        kept = [_only(group, _KEPT_GROUP_KEYS) for group in groups] if isinstance(groups, list) else []
        return _only(value, _KEPT_DISTRIBUTED_KEYS) | ({"pg_config": kept} if kept else {})
    return value if isinstance(value, _SCALARS) else None


def _only(value: Any, keys: frozenset[str]) -> dict[str, Any]:
    """Return the named members of an object that are plain values or lists of them."""
    found = {key: value[key] for key in value if key in keys} if isinstance(value, dict) else {}
    return {
        key: item
        for key, item in found.items()
        if all(isinstance(part, _SCALARS) for part in (item if isinstance(item, list) else [item]))
    }


def _format(metadata: dict[str, Any], *, bare: bool, devices: list[str]) -> str:
    if any(name.startswith("/device:") for name in devices):
        return "jax"
    if any(name.startswith("Ascend") for name in devices):
        return "ascend"
    if {"deviceProperties", "schemaVersion", "distributedInfo"} & metadata.keys() and not bare:
        return "kineto"
    return "chrome"


def _device(metadata: dict[str, Any], devices: list[str]) -> dict[str, Any]:
    properties = metadata.get("deviceProperties")
    first = (
        next((_only(device, _KEPT_DEVICE_KEYS) for device in properties), {}) if isinstance(properties, list) else {}
    )
    name = first.get("name") if isinstance(first.get("name"), str) else None
    if name is None and devices:
        # JAX has only "/device:TPU:0"; a custom device is a trace of the network between TPUs.
        named = next((device for device in devices if not device.startswith(_CUSTOM)), devices[0])
        name = named.removeprefix("/device:").rsplit(":", 1)[0]
    return {
        "device_name": name,
        "compute_major": _integer(first.get("computeMajor"), 2**31),
        "compute_minor": _integer(first.get("computeMinor"), 2**31),
        "num_sms": _integer(first.get("numSms"), 2**31),
        "memory_bytes": _integer(first.get("totalGlobalMem"), _INT64),
    }


def _ranks(distributed: Any, file_name: str) -> dict[str, Any]:
    info = distributed if isinstance(distributed, dict) else {}
    world = _integer(info.get("world_size"), 2**31)
    found: dict[str, Any] = {"world_size": world}
    if world == 1:
        found |= dict.fromkeys(("tp", "ep", "dp", "pp"), 1)
    found |= _group_sizes(info.get("pg_config"))
    named = possible(said_by(PurePath(file_name)), info)
    found |= {key: int(named[key].value) for key in _PLACES if key in named}
    rank = _integer(info.get("rank"), 2**31)
    if rank is not None:
        return found | {"rank": rank, "rank_source": "distributedInfo"}
    if "rank" in named:
        return found | {"rank": int(named["rank"].value), "rank_source": "file name"}
    axes = [name for name in _PLACES if name in found]
    if axes == ["tp_rank"] or (axes and all(found[name] == 0 for name in axes)):
        # The only axis, or the origin of all of them.
        return found | {"rank": found[axes[0]], "rank_source": "file name"}
    return found | {"rank": None, "rank_source": "unknown"}


def _group_sizes(groups: Any) -> dict[str, int]:
    """Return degrees of parallelism from process groups with a stated purpose."""
    sizes: dict[str, int] = {}
    for group in groups if isinstance(groups, list) else []:
        match = _AXIS_GROUP.search(str(group.get("pg_desc", ""))) if isinstance(group, dict) else None
        size = _integer(group.get("pg_size"), 2**31) if match else None
        if match and size:
            axis = match.group(1).lower()
            sizes.setdefault(_AXIS_NAMES.get(axis, axis), size)
    return sizes


def _integer(value: Any, limit: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        return None
    return value
