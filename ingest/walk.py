"""Walks the folders below an ingested one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..engine.storage.layout import is_lake


def walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield a folder and all below it, each with the sorted names of its folders and of everything else in it.

    A lake is skipped: it may lie beside its traces, and its content was already ingested.
    """
    for here, inner, names in os.walk(folder):
        if "lake.json" in names and is_lake(Path(here)):
            inner.clear()
            continue
        inner.sort()
        yield Path(here), inner, sorted(names)
