"""Walks the folders below an ingested one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..engine.storage.layout import is_lake


def walk(
    folder: Path, unread: Callable[[OSError], object] = lambda error: None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield a folder and all below it, each with the sorted names of its folders and of everything else in it.

    A lake is skipped: it may lie beside its traces, and its content was already ingested.

    Args:
        folder: the folder.
        unread: called for each folder that cannot be read, with the error.
    """
    for here, inner, names in os.walk(folder, onerror=unread):
        if not os.access(here, os.X_OK):
            # Its names can be listed, and nothing in it opened.
            unread(PermissionError(errno.EACCES, os.strerror(errno.EACCES), here))
            inner.clear()
            continue
        if "lake.json" in names and is_lake(Path(here)):
            inner.clear()
            continue
        inner.sort()
        yield Path(here), inner, sorted(names)
