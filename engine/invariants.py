"""Checks a lake's rows against `sql/invariants` and the keys of the stored relations."""

from __future__ import annotations

from .sql import keys, modules
from .store import Store


def broken(store: Store) -> list[tuple[str, int]]:
    """Return the invariants that a lake violates, each with the number of violating rows. Empty if all hold."""
    laws = [
        (f"{entry.name} has one row for each {', '.join(entry.key)}.", keys.breaches(entry))
        for entry in keys.keyed()
        if entry.materialised
    ]
    laws += [
        (entry.doc.splitlines()[0], f"SELECT count(*) FROM {entry.name}")
        for entry in modules.modules()
        if entry.folder == "invariants"
    ]
    counted = [(law, int(store.rows(query)[0][0])) for law, query in laws]
    return [(law, rows) for law, rows in counted if rows]
