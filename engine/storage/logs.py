"""Reads the log of a local Delta table without Delta's library, whose import takes as long as a small query.

The log has a JSON file per change. If all of them still exist, are few, and use the first protocol version, the
table's files are those added and not removed. Any other log is left to the library.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: From this many changes on the library is faster: it starts at a checkpoint.
_MOST_CHANGES = 100


def rows(folder: Path, version: int) -> list[dict[str, Any]] | None:
    """Return the files of a table as Delta's library would, the latest first; None if the library is needed.

    Args:
        folder: the table's folder.
        version: the number of its latest change.

    Returns:
        For each file its `path`, `size_bytes`, and the text statistics `min.COLUMN` and `max.COLUMN`.
    """
    if version >= _MOST_CHANGES:
        return None
    added: dict[str, dict[str, Any]] = {}
    removed: set[str] = set()
    created = False
    try:
        for number in range(version, -1, -1):
            for line in (folder / "_delta_log" / f"{number:020d}.json").read_bytes().splitlines():
                [(kind, action)] = json.loads(line).items()
                if kind == "protocol" and action["minReaderVersion"] != 1:
                    return None
                created |= kind == "metaData"
                if kind == "remove":
                    removed.add(action["path"])
                elif kind == "add" and action["path"] not in removed:
                    added[action["path"]] = _row(action)
        # Delta escapes paths in its log; ours need no escapes. A log without the table's creation was emptied.
        return None if not created or any("%" in path for path in added) else list(added.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _row(add: dict[str, Any]) -> dict[str, Any]:
    row = {"path": add["path"], "size_bytes": add["size"]}
    known = json.loads(add["stats"] or "{}")
    for of, values in (("min", "minValues"), ("max", "maxValues")):
        row |= {f"{of}.{column}": value for column, value in known.get(values, {}).items() if isinstance(value, str)}
    return row
