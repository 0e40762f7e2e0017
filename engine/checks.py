"""Whether the files of a lake agree with its tables and catalog: what `doctor` checks besides the answers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from .catalog import reading
from .damage import fault
from .errors import InputError
from .sql import modules
from .storage.layout import Layout
from .storage.paths import parquet_rows, plain_folders
from .storage.tables import DataFile
from .stored import Stored

if TYPE_CHECKING:
    import duckdb

_CHANGED = "{}: {} bytes, where the catalog has {}: a file was replaced or changed."
_OF_OTHERS = "{}: rows of other batches than in the table's log. Another file was put in its place."


def faults(layout: Layout) -> list[str]:
    """Return the faults of a lake's files, a sentence each; every file of a table is read in full."""
    answers = Stored(layout)
    tables = answers.tables
    found = [
        f"{folder}: the table has files but no log, so none of its rows are read. Restore {folder}/_delta_log."
        for folder in plain_folders(layout.tables)
        if tables.has_lost_log(folder.name)
    ]
    for name in tables.names():
        try:
            files = tables.named(name)
        except InputError as error:
            found.append(str(error))
            continue
        reasons = (fault([file.path], whole=True, columns=("trace_id",)) or file.fault() for file in files)
        found += [reason for reason in reasons if reason]
    if found:
        # Unreadable tables cannot be compared.
        return found
    with reading(tables, layout.root) as (catalog, connection):
        answers.catalog = catalog
        sizes = connection.execute("SELECT trace_id, event_bytes, event_files FROM _entries").fetchall()
        stored = modules.in_order(modules.stored())
        for entry in stored:
            found += [
                _OF_OTHERS.format(file.path) for file in tables.files(entry.name) if _is_of_others(connection, file)
            ]
    for trace_id, size, listed in sizes:
        with contextlib.suppress(FileNotFoundError):  # another process is removing the trace
            there = sum(path.stat().st_size for path in layout.event_files(trace_id, listed))
            if size not in (None, there):
                found.append(_CHANGED.format(layout.event_dir(trace_id), there, size))
    for entry in stored:
        found += [
            f"{one}: rows of {entry.name} are missing. Compute them: tracelake compute {one}"
            for one in sorted(answers.without_rows(entry))
        ]
    of_traces = {layout.event_dir(one) for one in answers.catalog.states}
    found += [
        f"{folder}: events of no trace in the catalog, which nothing reads. `compact --vacuum` removes them."
        for folder in plain_folders(layout.events)
        if folder not in of_traces
    ]
    return found


def _is_of_others(connection: duckdb.DuckDBPyConnection, file: DataFile) -> bool:
    """Whether a file has rows of batches that its table's log does not name."""
    query = f"SELECT min(batch_id), max(batch_id) FROM {parquet_rows([file.path])}"
    first, last = connection.execute(query).fetchall()[0]
    return bool(first and file.batches[0]) and not file.batches[0] <= first <= last <= file.batches[1]
