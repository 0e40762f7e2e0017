"""Which stored rows count: those of the batch that a trace's entry names, computed by the rules of now."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping

from .schema import cast, empty_select
from .sql import modules
from .storage.layout import Layout
from .storage.table_types import stored_type


class Rules:
    """The fingerprint of all that answers depend on besides the traces: SQL, lookup tables, settings."""

    def __init__(self, layout: Layout) -> None:
        """Read the user's own rows of lookup tables."""
        used = _used()
        digest = hashlib.sha256(modules.fingerprint().encode())
        for table, path in sorted(layout.lookup_files().items()):
            if table in used:
                digest.update(f"{table}\0".encode() + path.read_bytes())
        self.digest = digest.hexdigest()[:16]

    def of(self, settings: Mapping[str, str]) -> str:
        """Return the fingerprint for a trace with settings that its answers depend on: of each setting one of its own.

        So one that answers were computed by shows later which settings have changed.
        """
        values = (f"{key}={hashlib.sha256(value.encode()).hexdigest()[:16]}" for key, value in sorted(settings.items()))
        return " ".join([self.digest, *values])


@functools.cache
def _used() -> frozenset[str]:
    """Return what stored rows are made from."""
    return frozenset(modules.closure(modules.stored()))


def changed_settings(before: str, now: str) -> frozenset[str] | None:
    """Return the settings in which two fingerprints differ; None where more than settings does."""
    (digest, *values), (other, *others) = before.split(" "), now.split(" ")
    if digest != other:
        return None
    return frozenset(one.partition("=")[0] for one in {*values} ^ {*others})


def current_rows(entry: modules.Module, source: str, *, mixed: bool = True, entries: str = "_entries") -> str:
    """Return the SELECT of a stored relation's rows that count.

    Args:
        entry: the relation.
        source: what reads the files of its table; empty where there are none.
        mixed: the files have other rows as well: the entries of the connection's catalog tell them apart.
        entries: the table of these.
    """
    batch = "linked_batch_id" if entry.name in modules.linked() else "batch_id"
    if source and mixed:
        source += f" AS r SEMI JOIN {entries} AS e ON e.trace_id = r.trace_id AND e.{batch} = r.batch_id"
    return _rows_of(entry, source)


def _rows_of(entry: modules.Module, source: str) -> str:
    """Return the SELECT of a stored relation's columns from rows of its table; of no rows without a source."""
    if not source:
        return empty_select({column.name: column.type for column in entry.columns})
    shown = ", ".join(
        f'"{column.name}"' if stored_type(column.type) == column.type else cast(column.name, column.type)
        for column in entry.columns
    )
    return f"SELECT {shown} FROM {source}"
