"""The folders of `sql/`: their order, their content, and their allowed dependencies."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "sql" / "folders.toml"


@dataclass(frozen=True)
class Folder:
    """A folder of `sql/`.

    Attributes:
        holds: what its relations are about.
        rests_on: the other folders whose public relations it may read.
        tables: whether it has tables: lookup rows, or tables filled by a connection.
    """

    holds: str
    rests_on: frozenset[str]
    tables: bool


@functools.cache
def folders() -> Mapping[str, Folder]:
    """Return the folders by name, lowest first."""
    found: dict[str, Folder] = {}
    unread: set[str] = set()
    for name, entry in tomllib.loads(_FILE.read_text(encoding="utf-8")).items():
        below = entry.get("rests_on", found.keys() - unread)
        found[name] = Folder(entry["holds"], frozenset(below), entry.get("tables", False))
        if entry.get("read_by") == []:
            unread.add(name)
    return found


def place(folder: str) -> int:
    """Return a folder's position in the documentation: lookup tables, which everything depends on, come last."""
    order = [*(name for name in folders() if name != "lookup"), "lookup"]
    return order.index(folder) if folder in order else len(order)
