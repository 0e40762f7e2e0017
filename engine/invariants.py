"""Checks a lake's rows against `sql/invariants` and the keys of the stored relations."""

from __future__ import annotations

from .sql import keys, modules
from .store import Store


def broken(store: Store, condition: str = "true") -> list[tuple[str, int]]:
    """Return the violated invariants, each with the number of violating rows. Empty if all hold.

    Args:
        store: the lake.
        condition: SQL condition for the rows, with `trace_id` alone; default: those of all traces.
    """
    laws = [
        (f"{entry.name} has one row for each {', '.join(entry.key)}.", keys.breaches(entry, condition))
        for entry in keys.keyed()
        if entry.materialised
    ]
    laws += [
        (entry.doc.splitlines()[0], f"SELECT count(*) FROM {entry.name} WHERE {condition}")
        for entry in modules.modules()
        if entry.folder == "invariants"
    ]
    counted = [(law, int(store.rows(query)[0][0])) for law, query in laws]
    return [(law, rows) for law, rows in counted if rows]
