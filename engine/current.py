"""Which stored rows are current: those of the batch that a trace's entry names, computed by the latest rules."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping

from .schema import cast, empty_select
from .sql import modules
from .storage.layout import Layout
from .storage.paths import parquet_rows
from .storage.table_types import stored_type
from .storage.tables import DataFile


class Rules:
    """The fingerprint of everything that answers depend on besides the traces: SQL, lookup tables, settings."""

    def __init__(self, layout: Layout) -> None:
        """Hash the SQL modules and the user's own lookup rows."""
        used = _used()
        digest = hashlib.sha256(modules.fingerprint().encode())
        for table, path in sorted(layout.lookup_files().items()):
            if table in used:
                digest.update(f"{table}\0".encode() + path.read_bytes())
        self.digest = digest.hexdigest()[:16]

    def of(self, settings: Mapping[str, str]) -> str:
        """Return the fingerprint for a trace's relevant settings; each setting contributes a hash of its own.

        So a stored fingerprint shows which settings have changed since.
        """
        values = (f"{key}={hashlib.sha256(value.encode()).hexdigest()[:16]}" for key, value in sorted(settings.items()))
        return " ".join([self.digest, *values])


@functools.cache
def _used() -> frozenset[str]:
    """Return the relations that stored rows are computed from."""
    return frozenset(modules.closure(modules.stored()))


def changed_settings(before: str, now: str) -> frozenset[str] | None:
    """Return the settings in which two fingerprints differ; None if more than settings differs."""
    (digest, *values), (other, *others) = before.split(" "), now.split(" ")
    if digest != other:
        return None
    return frozenset(one.partition("=")[0] for one in {*values} ^ {*others})


def rows_in(name: str, files: Iterable[DataFile]) -> str:
    """Return the SELECT of a stored relation's current rows in some of its files."""
    paths = [file.path for file in files]
    return current_rows(modules.known(name), parquet_rows(paths) if paths else "")


def current_rows(entry: modules.Module, source: str, *, mixed: bool = True, entries: str = "_entries") -> str:
    """Return the SELECT of a stored relation's current rows.

    Args:
        entry: the relation.
        source: the table function that reads its files; empty if there are none.
        mixed: the files have other rows as well, which a join with the connection's catalog entries filters out.
        entries: the table of these entries.
    """
    if not source:
        return empty_select({column.name: column.type for column in entry.columns})
    if mixed:
        batch = "linked_batch_id" if entry.name in modules.linked() else "batch_id"
        source += f" AS r SEMI JOIN {entries} AS e ON e.trace_id = r.trace_id AND e.{batch} = r.batch_id"
    shown = ", ".join(
        f'"{column.name}"' if stored_type(column.type) == column.type else cast(column.name, column.type)
        for column in entry.columns
    )
    return f"SELECT {shown} FROM {source}"
