"""The keys of relations, as invariants: a key is unique, and none of its columns is NULL.

A relation declares its key in its header (`-- key: trace_id, device, pass_id`), a lookup table by its primary key. A
question mark after a column means that it may be NULL, which then counts as a value.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import modules


def keyed() -> Iterator[modules.Module]:
    """Yield the public relations; each has a key."""
    for entry in modules.modules():
        if entry.public and entry.kind != "MACRO" and entry.folder != "invariants":
            yield entry


def breaches(entry: modules.Module, condition: str = "true") -> str:
    """Return a query that counts the keys of a relation that are not unique, or that have a NULL column.

    Args:
        entry: the relation.
        condition: SQL condition for its rows; default: all.
    """
    columns = ", ".join(f'"{column}"' for column in entry.key)
    lacking = [f'OR "{column}" IS NULL' for column in entry.key if column not in entry.optional]
    return (
        f"SELECT count(*) FROM (SELECT {columns}, count(*) AS rows_ FROM {entry.name} WHERE {condition} GROUP BY ALL) "
        f"WHERE rows_ > 1 {' '.join(lacking)}"
    )
