"""Folders that Ascend's profilers write: which files of them make one trace, and what the folders' names say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..walk import walk

#: The table of kernels, by preference: the framework's, else what CANN's exporter wrote.
_KERNELS = (re.compile(r"kernel_details\.csv"), re.compile(r"op_summary_[\d_]+\.csv"))
_TIMELINES = (re.compile(r"trace_view\.json"), re.compile(r"msprof_\d+\.json"))
_COMPANIONS = re.compile(
    r"(step_trace_time|communication|communication_matrix|op_statistic|operator_details|api_statistic"
    r"|communication_statistic)(_\d+)*\.(csv|json)"
)
_OUTPUT = "ASCEND_PROFILER_OUTPUT"
#: `<host>_<pid>_<time>_ascend_pt`, `dp0_pp0_tp0_dcp0_ep0_rank0_<time>_ascend_pt`, `..._ascend_ms`.
_WORKER = re.compile(r"(?P<name>.+)_ascend_(pt|ms)")
_DATABASE = re.compile(r"ascend_(?:pytorch|mindspore)_profiler_(\d+)\.db")
_INFO = re.compile(r"profiler_info(?:_(\d+))?\.json")
_DEVICE = re.compile(r"device_(\d+)")
_CAPTURE = re.compile(r"PROF_\w+")
#: Folders that every device, or every capture of CANN's profiler, has.
_SAME = ("summary", "mindstudio_profiler_output")
_AXIS = re.compile(r"(?:^|_)(dp|pp|tp|dcp|ep)(\d+)(?=_)")
_RANK = re.compile(r"(?:^|_)rank(\d+)(?=_|$)")
#: Files that say little in much text are not read.
_INFO_LIMIT = 16 << 20


@dataclass(frozen=True)
class AscendFolder:
    """The files of one rank.

    Attributes:
        path: the folder that holds them.
        files: in the order they are read: kernels, time line, companions.
        worker: the folder of the rank, which may lie above.
    """

    path: Path
    files: tuple[Path, ...]
    worker: Path

    @property
    def name(self) -> str:
        """What to call the trace: the rank's folder, else CANN's capture and the device in it."""
        names: list[str] = []
        for above in (self.worker, *self.worker.parents):
            if _DEVICE.fullmatch(above.name) or _CAPTURE.fullmatch(above.name):
                names.insert(0, above.name)
            elif names or above.name not in _SAME:
                break
        return "_".join(names) or worker_name(self.worker)

    @property
    def device(self) -> int:
        """The device of tables that name none."""
        return device_of(self.path, self.worker)

    def facts(self) -> dict[str, Any]:
        """Return columns of the catalog entry that the folders' names and the profiler's notes say."""
        return folder_facts(self.worker)

    def metadata(self) -> dict[str, Any]:
        """Return what the profiler notes of the chip (cores, and clocks in MHz), and the axis that has no column."""
        found = {f"{axis}_rank": int(place) for axis, place in _AXIS.findall(self.worker.name) if axis == "dcp"}
        for path in sorted(self.worker.glob("**/device_*/info.json*")):
            about = _json(path)
            devices = about.get("DeviceInfo") if isinstance(about, dict) else None
            first = devices[0] if isinstance(devices, list) and devices and isinstance(devices[0], dict) else {}
            known = {key: first[key] for key in _CHIP_KEYS if isinstance(first.get(key), int | float | str)}
            if known:
                return found | {"chip": known}
        return found


#: What is kept of a device's description.
_CHIP_KEYS = ("id", "ai_core_num", "aiv_num", "aic_frequency", "aiv_frequency", "ai_cpu_core_num", "ctrl_cpu_core_num")


def folder_facts(worker: Path) -> dict[str, Any]:
    """Return rank and place along the axes of parallelism of a rank's folder, as far as it says them.

    The rank is that of `profiler_info_<rank>.json`, else of the folder's name, else of the database's.
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
    """Return the device of tables in a folder that name none, `worker` being the rank's folder.

    It is that of the folder `device_N` around them, else the only one of their capture, or of all captures of the rank;
    where these have none or several, 0.
    """
    around = (folder.absolute(), *folder.absolute().parents)
    names = [above.name for above in around if _DEVICE.fullmatch(above.name)][:1]
    if not names:
        capture = next((above for above in around if _CAPTURE.fullmatch(above.name)), None)
        # A plain folder of many files is not looked through for each of them.
        ranks = worker.glob("PROF_*/device_*") if is_worker(worker) or worker != folder.absolute() else ()
        names = [path.name for path in (capture.glob("device_*") if capture else ranks)]
    found = {int(number) for name in names if (number := _number(_DEVICE.fullmatch(name)))}
    return found.pop() if len(found) == 1 else 0


def is_worker(folder: Path) -> bool:
    """Return whether a folder is named like those that a profiler makes for one rank."""
    return _WORKER.fullmatch(folder.name) is not None


def worker_name(folder: Path) -> str:
    """Return what the name of a rank's folder says besides who wrote it."""
    match = _WORKER.fullmatch(folder.name)
    return match["name"] if match else folder.name


def worker_of(path: Path) -> Path:
    """Return the folder of the rank that a file or an output folder belongs to, the nearest folder where none is."""
    folder = path if path.is_dir() else path.parent
    for above in (folder, *folder.parents):
        if is_worker(above):
            return above
    return folder.parent if folder.name == _OUTPUT else folder


def ascend_folders(path: Path) -> list[AscendFolder]:
    """Return the ranks' folders at and below `path`, each of which is one trace.

    What CANN wrote below a rank whose framework output is there as well repeats it, and is left out.
    """
    found: list[AscendFolder] = []
    for folder, _, names in walk(path):
        # A name says nothing of what is there: a pipe would be waited for.
        files = _files_of(folder, names)
        if not all(file.is_file() for file in files):
            files = _files_of(folder, [name for name in names if (folder / name).is_file()])
        if files:
            found.append(AscendFolder(folder, files, worker_of(folder.absolute())))
    framework = {one.worker for one in found if one.path.name == _OUTPUT}
    return [one for one in found if one.path.name == _OUTPUT or one.worker not in framework]


def _files_of(folder: Path, names: list[str]) -> tuple[Path, ...]:
    kernels = next((chosen for rule in _KERNELS if (chosen := [name for name in names if rule.fullmatch(name)])), [])
    timeline = next((chosen for rule in _TIMELINES if (chosen := [name for name in names if rule.fullmatch(name)])), [])
    if not kernels and folder.name != _OUTPUT:
        return ()
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
