"""Folders written by Ascend's profilers: which files form one trace, and the facts in folder names."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..walk import walk

#: The table of kernels, by preference: the framework's, else what CANN's exporter wrote, in slices if it is large.
_KERNELS = (re.compile(r"kernel_details\.csv"), re.compile(r"op_summary_(slice_)?[\d_]+\.csv"))
_TIMELINES = (re.compile(r"trace_view\.json"), re.compile(r"msprof_(slice_\d+_)?\d+\.json"))
_COMPANIONS = re.compile(
    r"(step_trace_time|communication|communication_matrix|op_statistic|operator_details|api_statistic"
    r"|communication_statistic)(_\d+)*\.(csv|json)"
)
#: Tables of the same profiler that say nothing about kernels that their own table and timeline do not.
_UNREAD = re.compile(r"(task_time|operator_memory|memory_record)(_slice)?(_\d+)*\.csv(\.gz|\.zst)?")
_OUTPUT = "ASCEND_PROFILER_OUTPUT"
#: `<host>_<pid>_<time>_ascend_pt`, `dp0_pp0_tp0_dcp0_ep0_rank0_<time>_ascend_pt`, `..._ascend_ms`.
_WORKER = re.compile(r"(?P<name>.+)_ascend_(pt|ms)")
#: The framework's database, beside its tables or instead of them. Only that of several ranks names the rank.
_DATABASE = re.compile(r"ascend_(?:pytorch|mindspore)_profiler(?:_(\d+))?\.db")
_INFO = re.compile(r"profiler_info(?:_(\d+))?\.json")
_DEVICE = re.compile(r"device_(\d+)")
_CAPTURE = re.compile(r"PROF_\w+")
#: Folder names that are the same for every device, or every capture of CANN's profiler.
_SAME = ("summary", "mindstudio_profiler_output")
_AXIS = re.compile(r"(?:^|_)(dp|pp|tp|dcp|ep)(\d+)(?=_)")
_RANK = re.compile(r"(?:^|_)rank(\d+)(?=_|$)")
#: Larger notes of the profiler are not read.
_INFO_LIMIT = 16 << 20


@dataclass(frozen=True)
class AscendFolder:
    """The files of one rank.

    Attributes:
        path: the folder with the files.
        files: in reading order: kernels, timeline, companions.
        worker: the folder of the rank, possibly a parent.
    """

    path: Path
    files: tuple[Path, ...]
    worker: Path

    @property
    def name(self) -> str:
        """The trace's default name: the rank's folder, else CANN's capture and its device."""
        names: list[str] = []
        for above in (self.worker, *self.worker.parents):
            if _DEVICE.fullmatch(above.name) or _CAPTURE.fullmatch(above.name):
                names.insert(0, above.name)
            elif names or above.name not in _SAME:
                break
        return "_".join(names) or worker_name(self.worker)

    @property
    def device(self) -> int:
        """The device of tables that do not name one."""
        return device_of(self.path, self.worker)

    @property
    def captures(self) -> set[Path]:
        """The folders whose files are all of this trace: the rank's, or CANN's raw ones beside the framework's output.

        A rank's folder that was renamed is not known as one, and may hold other traces.
        """
        if is_worker(self.worker):
            return {self.worker}
        return set(self.worker.glob("PROF_*")) if self.path.name == _OUTPUT else set()

    def facts(self) -> dict[str, Any]:
        """Return columns of the catalog entry from the folders' names and the profiler's notes."""
        return folder_facts(self.worker)

    def metadata(self) -> dict[str, Any]:
        """Return the profiler's notes on the chip (cores, and clocks in MHz), and the axis that has no column."""
        found = {f"{axis}_rank": int(place) for axis, place in _AXIS.findall(self.worker.name) if axis == "dcp"}
        for path in sorted(self.worker.glob("**/device_*/info.json*")):
            about = _json(path)
            devices = about.get("DeviceInfo") if isinstance(about, dict) else None
            first = devices[0] if isinstance(devices, list) and devices and isinstance(devices[0], dict) else {}
            known = {key: first[key] for key in _CHIP_KEYS if isinstance(first.get(key), int | float | str)}
            if known:
                return found | {"chip": known}
        return found


#: Fields of a device's description that are kept.
_CHIP_KEYS = ("id", "ai_core_num", "aiv_num", "aic_frequency", "aiv_frequency", "ai_cpu_core_num", "ctrl_cpu_core_num")


def folder_facts(worker: Path) -> dict[str, Any]:
    """Return the rank and the position along the axes of parallelism of a rank's folder, where known.

    The rank is from `profiler_info_<rank>.json`, else from the folder's name, else from the database's.
    """
    facts: dict[str, Any] = {}
    for axis, place in _AXIS.findall(worker.name):
        if axis != "dcp":
            facts[f"{axis}_rank"] = int(place)
    names = _names(worker)
    output = _names(worker / _OUTPUT)
    for source, found in (
        ("profiler info", [number for name in names if (number := _number(_INFO.fullmatch(name)))]),
        ("folder name", [match[1] for match in [_RANK.search(worker.name)] if match]),
        ("database name", [number for name in output if (number := _number(_DATABASE.fullmatch(name)))]),
    ):
        if len(found) == 1:
            return facts | {"rank": int(found[0]), "rank_source": source}
    return facts


def device_of(folder: Path, worker: Path) -> int:
    """Return the device of tables in a folder that do not name one; `worker` is the rank's folder.

    It is that of the enclosing folder `device_N`, else the only one of the capture, or of all captures of the rank; if
    there is none or more than one, 0.
    """
    around = (folder.absolute(), *folder.absolute().parents)
    names = [above.name for above in around if _DEVICE.fullmatch(above.name)][:1]
    if not names:
        capture = next((above for above in around if _CAPTURE.fullmatch(above.name)), None)
        # Do not search a plain folder with many files once per file.
        ranks = worker.glob("PROF_*/device_*") if is_worker(worker) or worker != folder.absolute() else ()
        names = [path.name for path in (capture.glob("device_*") if capture else ranks)]
    found = {int(number) for name in names if (number := _number(_DEVICE.fullmatch(name)))}
    return found.pop() if len(found) == 1 else 0


def is_worker(folder: Path) -> bool:
    """Return whether a folder is named like a profiler's folder of one rank."""
    return _WORKER.fullmatch(folder.name) is not None


def is_unread(name: str) -> bool:
    """Return whether a file beside a table of kernels is one that the trace does without."""
    return _UNREAD.fullmatch(name) is not None


def worker_name(folder: Path) -> str:
    """Return the name of a rank's folder without the suffix of its writer."""
    match = _WORKER.fullmatch(folder.name)
    return match["name"] if match else folder.name


def worker_of(path: Path) -> Path:
    """Return the rank's folder that contains a file or an output folder; else the nearest folder."""
    folder = path if path.is_dir() else path.parent
    for above in (folder, *folder.parents):
        if is_worker(above):
            return above
    return folder.parent if folder.name == _OUTPUT else folder


def ascend_folders(path: Path) -> list[AscendFolder]:
    """Return the ranks' folders at and below `path`, one for each trace.

    CANN output below a rank that also has the framework's output is a duplicate, and left out.
    """
    found: list[AscendFolder] = []
    for folder, _, names in walk(path):
        # A name does not show the type: opening a pipe would block.
        files = _files_of(folder, names)
        if not all(file.is_file() for file in files):
            files = _files_of(folder, [name for name in names if (folder / name).is_file()])
        if files:
            found.append(AscendFolder(folder, files, worker_of(folder.absolute())))
    framework = [one for one in found if one.path.name == _OUTPUT]
    places = {place for one in framework for place in (one.worker, *one.captures)}
    return [one for one in found if one in framework or places.isdisjoint((one.worker, *one.path.absolute().parents))]


def _files_of(folder: Path, names: list[str]) -> tuple[Path, ...]:
    kernels = next((chosen for rule in _KERNELS if (chosen := [name for name in names if rule.fullmatch(name)])), [])
    timeline = next((chosen for rule in _TIMELINES if (chosen := [name for name in names if rule.fullmatch(name)])), [])
    if not kernels and folder.name != _OUTPUT:
        return ()
    databases = [name for name in names if _DATABASE.fullmatch(name)]
    if not kernels and databases:
        # It has what the timeline has.
        kernels, timeline = databases, []
    companions = [name for name in names if _COMPANIONS.fullmatch(name)]
    return tuple(folder / name for name in (*kernels, *timeline, *companions))


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _number(match: re.Match[str] | None) -> str | None:
    return match[1] if match and match[1] else None


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > _INFO_LIMIT:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
