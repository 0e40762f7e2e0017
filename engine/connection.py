"""The DuckDB connection of a lake: its settings, each with its reason, and the view of its event files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from .errors import UsageError
from .schema import EVENT_COLUMNS, empty_select, with_trace_ids
from .storage.objects import ObjectPath
from .storage.paths import TRACE_ID, Place, file_literal, pattern, readable
from .storage.scratch import scratch

_EVENT_ROW_COLUMNS = EVENT_COLUMNS | {"trace_id": "VARCHAR", "lane": "VARCHAR"}
#: The events, with trace and lane from the folder names. DuckDB's hive partitioning skips files that a join does not
#: need (it opened 4 files of 110; the other way opens all), but it takes any folder `key=value` for a key, also above
#: the lake, and the first of a name wins. So it is used only if the lake's own keys are the only ones in the path.
_BY_KEY = """
SELECT * FROM read_parquet(
    getvariable('event_files'), hive_partitioning = true, hive_types = {'trace_id': VARCHAR, 'lane': VARCHAR}
)
"""
_BY_FOLDER = rf"""
SELECT
    * EXCLUDE (filename),
    regexp_extract(filename, 'trace_id=({TRACE_ID.pattern})/lane=[a-z]+/[^/]+$', 1) AS trace_id,
    regexp_extract(filename, '/lane=([a-z]+)/[^/]+$', 1) AS lane
FROM read_parquet(getvariable('event_files'), hive_partitioning = false, filename = true)
"""
#: Up to this many events are held in memory instead of being read from files by each query: 15 MB.
_HELD = 50_000


def cores() -> int:
    """Return the number of CPU cores that this process may use: in a job of a cluster, often not all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def connect(memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database in memory.

    Raises:
        UsageError: TRACELAKE_THREADS is not a number of threads.
    """
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": True,
        # Where DuckDB spills; its default is the current folder.
        "temp_directory": readable(scratch()),
        # Two optimizers take up to a third and a sixth of the planning time of our deepest views and do not speed up
        # their plans.
        "disabled_optimizers": "projection_pullup,projection_placement",
    }
    if memory_limit:
        config["memory_limit"] = memory_limit
    if threads := os.environ.get("TRACELAKE_THREADS"):
        if not threads.isdecimal() or not 1 <= int(threads) <= 1024:
            raise UsageError(f"TRACELAKE_THREADS={threads}: expected a number of threads, 1 to 1024.")
        config["threads"] = int(threads)
    elif cores() < (os.cpu_count() or 1):  # DuckDB knows the limits of a container, but not which cores are a process's
        config["threads"] = cores()
    connection = duckdb.connect(config=config)
    # Global, so that cursors have the settings too.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # In Jupyter, DuckDB needs ipywidgets even to turn its progress bar off; without ipywidgets there is no bar.
    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    # Division by zero gives NULL for that row only instead of failing the query.
    connection.execute("SET GLOBAL error_on_division_by_zero = false")
    # DuckDB uses a nested loop where it estimates few rows; above deep views its estimates are far too low.
    connection.execute("SET GLOBAL asof_loop_join_threshold = 0")
    return connection


#: Idle in-memory databases without data, by their number of threads.
_idle: dict[int, duckdb.DuckDBPyConnection] = {}


@contextlib.contextmanager
def database(threads: int, spill: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Lend a connection to an in-memory database for temporary work.

    Opening a database takes 15 ms, as long as reading a small trace, so one that met no error is reused.

    Args:
        threads: its number of threads.
        spill: the folder it spills to.
    """
    whole = _idle.pop(threads, None) or _new(threads)
    try:
        if spill is not None:
            try:
                whole.execute(f"SET GLOBAL temp_directory = {file_literal(spill)}")
            except duckdb.NotImplementedException:  # it has spilled to the previous folder
                whole.close()
                whole = _new(threads)
                whole.execute(f"SET GLOBAL temp_directory = {file_literal(spill)}")
        with whole.cursor() as lent:
            yield lent
    except BaseException:
        whole.close()
        raise
    if _idle.setdefault(threads, whole) is not whole:
        whole.close()


def close_idle() -> None:
    """Close the idle databases: one that has read a large trace keeps 100 MB that DuckDB does not account for."""
    with contextlib.suppress(KeyError):
        while True:
            _idle.popitem()[1].close()


def _new(threads: int) -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect(config={"threads": threads, "preserve_insertion_order": False})
    opened.execute("SET GLOBAL TimeZone = 'UTC'")
    return opened


def have_read(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Let a connection read files of a place (registers the object store if needed); may be called again."""
    if isinstance(place, ObjectPath):
        from .storage.object_reads import register

        register(connection)


def set_event_files(connection: duckdb.DuckDBPyConnection, files: Sequence[Place], trace_ids: str = "VARCHAR") -> None:
    """Define the view of all events over a list of files, which may be empty.

    Args:
        connection: the connection.
        files: the files.
        trace_ids: the type of the trace ids.
    """
    source = empty_select(_EVENT_ROW_COLUMNS)
    if files:
        connection.execute("SET VARIABLE event_files = $1", [[pattern(file) for file in files]])
        # The lake's own folders are the last two `key=value` of a path.
        source = _BY_FOLDER if pattern(files[0]).count("=") > 2 else _BY_KEY
    # Deferred: binding opens files, and what is wrong with one is then an error of the query that reads it.
    connection.execute(
        f"CREATE OR REPLACE VIEW _event_rows WITH (DEFER_BINDING) AS {with_trace_ids(source, trace_ids)}"
    )


def hold_events(connection: duckdb.DuckDBPyConnection, count: int) -> None:
    """Load the events into a table if they are few; if a file cannot be read, leave the error to each query.

    For a query of few rows, opening the files takes longer than everything else.
    """
    if count <= _HELD:
        with contextlib.suppress(duckdb.Error):
            connection.execute("CREATE OR REPLACE TABLE _held_events AS FROM _event_rows")
            connection.execute("CREATE OR REPLACE VIEW _event_rows AS FROM _held_events")


def release_events(connection: duckdb.DuckDBPyConnection) -> None:
    """Read no files, and drop the events held in memory."""
    set_event_files(connection, [])
    connection.execute("DROP TABLE IF EXISTS _held_events")
