"""Materialised relations: computed once per trace, kept as Parquet. A cache: deleting it loses nothing.

A module with the tag `-- stored: per trace` is a view over the files that its query gave. The files are valid
for one fingerprint of its SQL and lookup tables; with another the folder is emptied and filled again. A file has the
time of the settings it was computed from: where that is not the settings' time, it is computed anew. Such modules also
keep questions quick to plan: DuckDB expands every view into the query, and what is read from files ends there.

Some rows of a trace rest on rows of others: the kernels of a replayed graph on the trace of its capture. The module
that reads them declares it, `-- others: RELATION`, whose rows are the pairs. The query for a trace
then sees the files of these as well, and its file has a time made of all their times: it is computed anew when one of
them comes, goes or changes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from . import modules
from .aside import Verdicts, compute_apart, put, set_aside, warn_unwritable
from .damage import DamagedError, find, may_be_damage
from .files import Staging, exclusive, publish_bytes, remove_folder
from .layout import Layout
from .paths import TRACE_ID, file_literal, is_plain_file, pattern
from .schema import column_list, empty_select

if TYPE_CHECKING:
    import duckdb

#: Traces whose rows are computed with one query: planning it costs as much as a small trace's rows.
_AT_ONCE = 16
#: Bytes of event files from which on a trace is computed for itself, straight into its file.
_BYTES_AT_ONCE = 64 << 20


@dataclass(frozen=True)
class Origins:
    """What the rows of a relation are computed from.

    Attributes:
        stamps: for each trace the time of what the catalog was loaded from, see `CatalogReader.stamps`.
        others: for a trace whose rows rest on other traces, these in order.
    """

    stamps: Mapping[str, int]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, stamps: Mapping[str, int], pairs: Iterable[tuple[str, str]]) -> Origins:
        """Return the origins where rows of the first trace of each pair rest on the second."""
        others: dict[str, set[str]] = {}
        for trace_id, other in pairs:
            if other != trace_id:
                others.setdefault(trace_id, set()).add(other)
        return cls(stamps, {trace_id: tuple(sorted(found)) for trace_id, found in others.items()})

    def version(self, trace_id: str) -> int:
        """Return the time, in ns, of the file with the rows of a trace: equal times, equal origins."""
        others = self.others.get(trace_id)
        if not others:
            return self.stamps[trace_id]
        origins = f"{self.stamps[trace_id]} " + " ".join(f"{other} {self.stamps.get(other)}" for other in others)
        # 60 bits of nanoseconds: a moment in the 36 years from 1970 on, which no trace of today has.
        return int(hashlib.sha256(origins.encode()).hexdigest()[:15], 16)


def is_fresh(connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, origins: Origins) -> bool:
    """Whether `refresh` would compute nothing."""
    traces = _of_format(connection, entry, origins)
    wanted = _fingerprint(layout, entry)
    return not traces or (
        _is_of(layout, entry, wanted)
        and all(_fresh(layout, entry, one, origins) or _verdict(layout, entry, one, origins) for one in traces)
    )


def refresh(connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, origins: Origins) -> bool:
    """Bring a materialised relation's files up to date and point it at them; return whether traces were set aside.

    The relations it is made from come first.

    Where the lake cannot be written to, or says something else by now, the rows are computed for this connection alone.

    Args:
        connection: a connection with all relations, its catalog loaded.
        layout: the lake.
        entry: the relation.
        origins: what its rows are computed from.

    Raises:
        DamagedError: files that the rows are in, or are made from, cannot be read.
    """
    import duckdb

    before = len(set_aside(connection, entry.name))
    source = _files(connection, layout, entry, origins)
    if source is None:
        source = _here(connection, layout, entry, origins)
    try:
        connection.execute(f"CREATE OR REPLACE VIEW {entry.name} AS {source}")
    except duckdb.Error as error:
        # DuckDB looks into the first of the files.
        suspected = may_be_damage(error) or isinstance(error, duckdb.BinderException)
        if suspected and (found := find(layout, (), [entry.name], error)):
            raise DamagedError(found) from error
        raise
    return len(set_aside(connection, entry.name)) > before


def forget(layout: Layout, trace_id: str) -> None:
    """Remove what was computed for one trace."""
    verdicts = [layout.verdict_file(relation, trace_id) for relation in layout.verdicts(trace_id)]
    for path in (*layout.mart_files(trace_id), *verdicts):
        path.unlink(missing_ok=True)


def _files(
    connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, origins: Origins
) -> str | None:
    """Compute what is missing and return the SELECT that reads the files; None where they are not to be written."""
    columns = {column.name: column.type for column in entry.columns}
    traces = _of_format(connection, entry, origins)
    if not traces:
        return empty_select(columns)
    renewed = not _is_of(layout, entry, _fingerprint(layout, entry))
    stale = [trace_id for trace_id in traces if renewed or not _fresh(layout, entry, trace_id, origins)]
    for trace_id in stale:
        if verdict := _verdict(layout, entry, trace_id, origins):
            put(connection, layout, trace_id, *verdict)
    aside = set_aside(connection, entry.name)
    stale = [trace_id for trace_id in stale if trace_id not in aside]
    if stale and not _bring(connection, layout, entry, origins, stale):
        return None
    # Of a trace that is set aside, rows of before may be there: what is answered would depend on what was asked then.
    aside = set_aside(connection, entry.name)
    computed = (layout.mart_file(entry.name, trace_id) for trace_id in traces if trace_id not in aside)
    files = [pattern(path) for path in computed if is_plain_file(path)]
    if not files:
        return empty_select(columns)
    connection.execute(f"SET VARIABLE mart_{entry.name} = $1", [files])
    # The trace by the file's name: a question about one trace then opens one file.
    trace_id = rf"regexp_extract(filename, 'trace_id=({TRACE_ID.pattern})\.parquet$', 1) AS trace_id"
    # The columns by name, so that a first file of another table is found out here.
    listed = ", ".join(trace_id if column == "trace_id" else f'"{column}"' for column in columns)
    return (
        f"SELECT {listed} "
        f"FROM read_parquet(getvariable('mart_{entry.name}'), hive_partitioning = false, filename = true)"
    )


def _bring(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entry: modules.Module,
    origins: Origins,
    stale: list[str],
) -> bool:
    """Write the files of those traces whose rows are not there; return false where it is not to be done, or cannot."""
    import duckdb

    if not os.access(layout.root, os.W_OK):
        return False
    try:
        return _write(connection, layout, entry, origins, stale)
    except (OSError, duckdb.IOException) as error:
        # A full disk, a folder of somebody else's: the question has its answer all the same.
        warn_unwritable(layout.root, error)
        return False


def _write(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entry: modules.Module,
    origins: Origins,
    stale: list[str],
) -> bool:
    wanted = _fingerprint(layout, entry)
    key = _fingerprint_file(layout, entry)
    if not _is_of(layout, entry, wanted):
        with exclusive(layout.lock):
            if not _is_of(layout, entry, wanted):
                remove_folder(key.parent)
                publish_bytes(key, wanted.encode())
    for batch in _batches(layout, stale):
        # The lock is that of publishing and removing: the traces' files stay while they are read.
        with exclusive(layout.lock):
            there = [trace_id for trace_id in batch if layout.catalog_file(trace_id).exists()]
            # Another process changed or removed something since the catalog was loaded: its files are the newer.
            if not all(_is_unchanged(layout, trace_id, origins) for trace_id in there):
                return False
            needed = [trace_id for trace_id in there if not _fresh(layout, entry, trace_id, origins)]
            with Staging(layout.staging) as folder:
                compute = functools.partial(_compute, connection, layout, entry, origins, folder=folder)
                remember = functools.partial(_remember, layout, entry, origins)
                compute_apart(connection, layout, entry.name, needed, compute, origins.others, remember)
    return True


def _here(connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module, origins: Origins) -> str:
    """Compute all rows for this connection alone and return the SELECT that reads them."""
    columns = {column.name: column.type for column in entry.columns}
    connection.execute(f"CREATE OR REPLACE TABLE {_table_of(entry)} ({column_list(columns)})")
    for batch in _batches(layout, _of_format(connection, entry, origins)):
        there = [trace_id for trace_id in batch if layout.catalog_file(trace_id).exists()]
        for trace_id in there:
            if verdict := _verdict(layout, entry, trace_id, origins):
                put(connection, layout, trace_id, *verdict)
        compute = functools.partial(_compute, connection, layout, entry, origins)
        compute_apart(connection, layout, entry.name, there, compute, origins.others)
    return f"SELECT * FROM {_table_of(entry)}"


def _table_of(entry: modules.Module) -> str:
    """Return the name of the table of rows that are in no file."""
    return f"_here_{entry.name}"


def _of_format(connection: duckdb.DuckDBPyConnection, entry: modules.Module, origins: Origins) -> list[str]:
    """Return the traces that the relation can have rows of."""
    if entry.only_format is None:
        return list(origins.stamps)
    found = connection.execute("SELECT trace_id FROM _catalog WHERE format = $1", [entry.only_format]).fetchall()
    return [trace_id for (trace_id,) in found if trace_id in origins.stamps]


def _fingerprint(layout: Layout, entry: modules.Module) -> str:
    """Return the digest of all that the rows depend on besides the traces."""
    used = modules.sources(entry.name)
    own_rows = [path for table, path in layout.lookup_files().items() if table in used]
    return modules.fingerprint(entry.name, b"".join(path.read_bytes() for path in own_rows))


def _fingerprint_file(layout: Layout, entry: modules.Module) -> Path:
    return layout.marts / entry.name / "fingerprint"


def _is_of(layout: Layout, entry: modules.Module, fingerprint: str) -> bool:
    """Whether the relation's folder holds rows of that fingerprint."""
    key = _fingerprint_file(layout, entry)
    return is_plain_file(key) and key.read_bytes() == fingerprint.encode()


def _verdict(layout: Layout, entry: modules.Module, trace_id: str, origins: Origins) -> tuple[str, str] | None:
    """Return the relation that cannot be computed of a trace, and why, where rows are made from it; None: try it."""
    # Where rows rest on other traces, these may have changed: it is tried again.
    if origins.others.get(trace_id):
        return None
    for name in layout.verdicts(trace_id):
        made = modules.module(name) if name in modules.sources(entry.name) else None
        if made is None or not made.materialised:
            continue
        if reason := Verdicts(layout).recall(name, trace_id, _fingerprint(layout, made)):
            return name, reason
    return None


def _remember(layout: Layout, entry: modules.Module, origins: Origins, trace_id: str, reason: str) -> None:
    """Store that the rows of a trace cannot be computed."""
    if not origins.others.get(trace_id):
        Verdicts(layout).store(entry.name, trace_id, reason, _fingerprint(layout, entry))


def _no_rows(connection: duckdb.DuckDBPyConnection, layout: Layout, entry: modules.Module) -> list[Path]:
    """Return a file to read for traces of another format, where the relation is read from files."""
    path = layout.marts / entry.name / "none.parquet"
    if path.parent.exists() and not path.exists():
        beside = path.with_name(f".{uuid.uuid4().hex}.parquet")
        columns = {column.name: column.type for column in entry.columns}
        connection.execute(f"COPY ({empty_select(columns)}) TO {file_literal(beside)} (FORMAT parquet)")
        beside.replace(path)
    return [path]


def _batches(layout: Layout, trace_ids: list[str]) -> Iterator[list[str]]:
    """Yield traces to be computed together: small ones to save the planning of queries, large ones for themselves."""
    batch: list[str] = []
    total = 0
    for trace_id in trace_ids:
        size = sum(file.stat().st_size for file in layout.event_files(trace_id))
        if batch and (len(batch) == _AT_ONCE or total + size > _BYTES_AT_ONCE):
            yield batch
            batch, total = [], 0
        batch.append(trace_id)
        total += size
    if batch:
        yield batch


def _fresh(layout: Layout, entry: modules.Module, trace_id: str, origins: Origins) -> bool:
    """Whether the rows of a trace are there, computed from what was in the lake when the catalog was loaded."""
    try:
        stat = layout.mart_file(entry.name, trace_id).lstat()
    except FileNotFoundError:
        return False
    # A machine that stopped may leave a file without its content.
    return stat.st_size > 0 and stat.st_mtime_ns == origins.version(trace_id)


def _is_unchanged(layout: Layout, trace_id: str, origins: Origins) -> bool:
    """Whether a trace and those that its rows rest on are as they were when the catalog was loaded."""
    try:
        return all(
            layout.stamp(one) == origins.stamps.get(one) for one in (trace_id, *origins.others.get(trace_id, ()))
        )
    except FileNotFoundError:
        return False


def _compute(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entry: modules.Module,
    origins: Origins,
    trace_ids: list[str],
    *,
    folder: Path | None = None,
) -> None:
    """Compute the rows of some traces with one query, and write a file for each.

    Args:
        connection: the lake's.
        layout: the lake.
        entry: the relation.
        origins: what its rows are computed from.
        trace_ids: the traces.
        folder: for files that are not whole yet; without it the rows go into a table.
    """
    used = modules.closure([entry.name], lambda one: one.materialised and one is not entry)
    read = _read_for(trace_ids, used, origins, set_aside(connection, entry.name))
    # A cursor has variables of its own: there the relations read the files of these traces alone.
    with contextlib.closing(connection.cursor()) as cursor:
        files = [pattern(file) for trace_id in read for file in layout.event_files(trace_id)]
        cursor.execute("SET VARIABLE event_files = $1", [files])
        for upstream in modules.modules():
            if upstream.materialised and upstream.name in used and upstream is not entry:
                there = [layout.mart_file(upstream.name, trace_id) for trace_id in read]
                if upstream.only_format is not None:
                    there = [path for path in there if is_plain_file(path)] or _no_rows(cursor, layout, upstream)
                cursor.execute(f"SET VARIABLE mart_{upstream.name} = $1", [[pattern(path) for path in there]])
        listed = ", ".join(map(modules.quoted, trace_ids))
        query = f"SELECT * FROM ({entry.query}) WHERE trace_id IN ({listed})"
        if folder is None:
            cursor.execute(f"INSERT INTO {_table_of(entry)} BY NAME {query}")
            return
        if len(trace_ids) > 1:
            cursor.execute(f"CREATE TEMP TABLE computed AS {query}")
            query = "SELECT * FROM computed"
        for trace_id in trace_ids:
            path = layout.mart_file(entry.name, trace_id)
            beside = folder / path.name
            cursor.execute(
                f"COPY (SELECT * FROM ({query}) WHERE trace_id = {modules.quoted(trace_id)}) "
                f"TO {file_literal(beside)} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
            )
            # The file's time says what it was computed from.
            version = origins.version(trace_id)
            os.utime(beside, ns=(version, version))
            beside.replace(path)


def _read_for(trace_ids: list[str], used: set[str], origins: Origins, aside: Container[str]) -> list[str]:
    """Return the traces whose files a query for some traces reads: these, and those that its relations declare."""
    if not any(entry.others for entry in modules.modules() if entry.name in used):
        return trace_ids
    others = (other for trace_id in trace_ids for other in origins.others.get(trace_id, ()) if other not in aside)
    return list(dict.fromkeys([*trace_ids, *others]))
