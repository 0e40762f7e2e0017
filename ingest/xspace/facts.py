"""Facts about an XSpace's devices and recording time, as columns of the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .planes import CUSTOM, METADATA, Plane

#: The stats of a plane that are stored: nothing else about a host enters the lake.
_DEVICE_STATS = frozenset({
    "device_type_string", "device_type", "device_vendor", "clock_rate", "core_count", "memory_bandwidth",
    "memory_size", "compute_cap_major", "compute_cap_minor", "peak_teraflops_per_second",
    "peak_hbm_bw_gigabytes_per_second", "peak_sram_rd_bw_gigabytes_per_second",
    "peak_sram_wr_bw_gigabytes_per_second", "peak_cmem_rd_bw_gigabytes_per_second",
    "peak_cmem_wr_bw_gigabytes_per_second", "peak_vmem_rd_bw_gigabytes_per_second",
    "peak_vmem_wr_bw_gigabytes_per_second", "has_megacore", "has_merged_vmem",
})  # fmt: skip
_VERSIONS = frozenset({"jax_version", "jaxlib_version", "libtpu_version", "tensorflow_version"})
_TASK = "Task Environment"
_TIMES = ("profile_start_time", "profile_stop_time")
_DEVICE_TYPES = ("device_type_string", "device_type")


def metadata_of(planes: Iterable[Plane]) -> dict[str, Any]:
    """Return the stored facts of the planes."""
    found: dict[str, Any] = {}
    devices = []
    for plane in planes:
        if plane.is_device:
            about: dict[str, Any] = {"plane": plane.name}
            devices.append(about | {key: value for key, value in plane.stats.items() if key in _DEVICE_STATS})
        elif plane.name == METADATA:
            found |= {key: value for key, value in plane.stats.items() if key in _VERSIONS}
        elif plane.name == _TASK:
            found |= {key: value for key, value in plane.stats.items() if key in _TIMES}
    return found | ({"planes": devices} if devices else {})


def facts_of(planes: list[Plane]) -> dict[str, Any]:
    """Return columns of the catalog entry."""
    facts: dict[str, Any] = {"format": "jax"}
    stats = next((plane.stats for plane in planes if plane.is_device and not plane.name.startswith(CUSTOM)), {})
    names = [stats[key] for key in _DEVICE_TYPES if isinstance(stats.get(key), str)]
    facts |= {"device_name": names[0]} if names else {}
    for key, column, largest in (
        ("compute_cap_major", "compute_major", 2**31),
        ("compute_cap_minor", "compute_minor", 2**31),
        ("core_count", "num_sms", 2**31),
        ("memory_size", "memory_bytes", 2**63),
    ):
        value = stats.get(key)
        if isinstance(value, int) and 0 <= value < largest:
            facts[column] = value
    began = next((plane.stats.get(_TIMES[0]) for plane in planes if plane.name == _TASK), None)
    if isinstance(began, int) and 0 < began < 2**63:
        facts["base_time_ns"] = began
    return facts
