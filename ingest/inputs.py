"""The input of one trace: a file, a folder with a profiler's files of one rank, or an export."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..engine.errors import InputError
from ..engine.storage.paths import readable
from .ascend.folder import AscendFolder, ascend_folders, device_of, folder_facts, is_worker, worker_name, worker_of
from .databases.folder import table_files
from .describe import trace_name
from .places import Fact
from .siblings import facts_of
from .source import STDIN

#: The fault of a dangling link.
TO_NOTHING = "a symbolic link to nothing, or to itself."
#: Names that every rank's files have; the folder's name is more specific.
_COMMON_NAMES = re.compile(
    r"kernel_details|trace_view|op_summary_(slice_)?[\d_]+|msprof_(slice_\d+_)?\d+"
    r"|ascend_(pytorch|mindspore)_profiler(_\d+)?"
)


@dataclass(frozen=True)
class Input:
    """The files of one trace.

    Attributes:
        name: their name in messages.
        path: the file or folder; None for standard input.
        files: in reading order; events are numbered across all of them.
        trace: default name of the trace.
        device: the device of rows that do not name one.
        facts: columns of the catalog entry from the folders' names.
        metadata: other facts from there.
        places: facts from the location of the file or folder.
    """

    name: str
    path: Path | None
    files: tuple[str, ...]
    trace: str
    device: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Fact] = field(default_factory=dict)


def names_input(path: str | os.PathLike[str]) -> bool:
    """Return whether a word is the path of a single trace, and not the name of one."""
    here = Path(path)
    return here.is_file() or (here.is_dir() and (bool(table_files(here)) or len(ascend_folders(here)) == 1))


def input_of(path: str | os.PathLike[str]) -> Input:
    """Return the files that make up one trace.

    Raises:
        InputError: the path does not exist, or a folder is not an Ascend profiler's, or has several ranks.
    """
    if str(path) == STDIN:
        return Input("standard input", None, (STDIN,), "stdin")
    here = Path(path)
    if here.is_dir():
        if tables := table_files(here):
            name = readable(here.absolute().name)
            return Input(str(here), here, tuple(map(str, tables)), name, places=facts_of(here))
        found = ascend_folders(here)
        if len(found) != 1:
            raise InputError(f"{path}: is a folder; give the trace files in it.")
        return _of_folder(found[0])
    if not here.exists():
        if here.is_symlink():
            raise InputError(f"{path}: {TO_NOTHING}")
        raise InputError(f"{path}: no such file.")
    name = trace_name(readable(here.name))
    worker = worker_of(here.absolute())
    device = device_of(here.parent, worker)
    if not is_worker(worker):
        return Input(str(here), here, (str(here),), name, device, places=facts_of(here))
    if _COMMON_NAMES.fullmatch(name):
        name = readable(worker_name(worker))
    return Input(str(here), here, (str(here),), name, device, folder_facts(worker), places=facts_of(worker))


def _of_folder(folder: AscendFolder) -> Input:
    return Input(
        str(folder.path),
        folder.path,
        tuple(map(str, folder.files)),
        readable(folder.name),
        folder.device,
        folder.facts(),
        folder.metadata(),
        facts_of(folder.worker),
    )
