"""The log of a Delta table in a folder, read without Delta's library: to import that takes as long as a small question.

A log is a file of JSON per change. Where all of them are still there, few, and of the protocol's first version, a table
has the files that were added and not removed. Of any other log the library tells.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: Changes from which on the library takes less: it begins at a checkpoint.
_MOST_CHANGES = 100


def rows(folder: Path, version: int) -> list[dict[str, Any]] | None:
    """Return the files of a table as Delta's library has them, the latest first; None where it is to be asked.

    Args:
        folder: the table's folder.
        version: the number of its last change.

    Returns:
        For each file its `path`, `size_bytes`, and of its statistics `min.COLUMN` and `max.COLUMN` that are text.
    """
    if version >= _MOST_CHANGES:
        return None
    added: dict[str, dict[str, Any]] = {}
    removed: set[str] = set()
    try:
        for number in range(version, -1, -1):
            for line in (folder / "_delta_log" / f"{number:020d}.json").read_bytes().splitlines():
                [(kind, action)] = json.loads(line).items()
                if kind == "protocol" and action["minReaderVersion"] != 1:
                    return None
                if kind == "remove":
                    removed.add(action["path"])
                elif kind == "add" and action["path"] not in removed:
                    added[action["path"]] = _row(action)
        # A path is written with escapes, ours without.
        return None if any("%" in path for path in added) else list(added.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _row(add: dict[str, Any]) -> dict[str, Any]:
    row = {"path": add["path"], "size_bytes": add["size"]}
    known = json.loads(add["stats"] or "{}")
    for of, values in (("min", "minValues"), ("max", "maxValues")):
        row |= {f"{of}.{column}": value for column, value in known.get(values, {}).items() if isinstance(value, str)}
    return row
