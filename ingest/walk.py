"""The folders below one that is ingested."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..engine.storage.layout import is_lake


def walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield a folder and all below it, each with the names of the folders and of all else in it, sorted.

    A lake is left out: it may lie beside its traces, and what is in it was ingested already.
    """
    for here, inner, names in os.walk(folder):
        if "lake.json" in names and is_lake(Path(here)):
            inner.clear()
            continue
        inner.sort()
        yield Path(here), inner, sorted(names)
