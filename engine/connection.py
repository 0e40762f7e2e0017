"""The DuckDB connection of a lake: its settings, each with its reason, and the files that are its events."""

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
#: The events with trace and lane, which the folders say. DuckDB's own reading of `key=value` leaves files alone that a
#: join does not want (4 of 110 opened where the other way opens all), but it takes every folder's name for a key, those
#: above the lake among them, and the first of a name wins. So it reads only where the lake's own are the only ones.
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
#: Events that are held in memory at most, where queries would open their files: 15 MB.
_HELD = 50_000


def connect(memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database in memory.

    Raises:
        UsageError: TRACELAKE_THREADS is not a number of threads.
    """
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": True,
        # What does not fit memory goes there; by default DuckDB takes the folder one stands in.
        "temp_directory": readable(scratch()),
        # Takes a third of the time to plan our deepest views, and their plans are no faster with it.
        "disabled_optimizers": "projection_pullup",
    }
    if memory_limit:
        config["memory_limit"] = memory_limit
    if threads := os.environ.get("TRACELAKE_THREADS"):
        if not threads.isdecimal() or not 1 <= int(threads) <= 1024:
            raise UsageError(f"TRACELAKE_THREADS={threads}: expected a number of threads, 1 to 1024.")
        config["threads"] = int(threads)
    connection = duckdb.connect(config=config)
    # Global: cursors have them as well.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # In Jupyter DuckDB wants ipywidgets even to turn its bar off; without them there is none.
    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    # A row that makes no sense has no answer, and others keep theirs.
    connection.execute("SET GLOBAL error_on_division_by_zero = false")
    # Where an estimate says a few rows, DuckDB would compare each with all: ours are far off below deep views.
    connection.execute("SET GLOBAL asof_loop_join_threshold = 0")
    return connection


#: Databases in memory that hold nothing, by their threads.
_idle: dict[int, duckdb.DuckDBPyConnection] = {}


@contextlib.contextmanager
def database(threads: int, spill: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Lend a connection to a database in memory, for what is temporary.

    To open a database takes 15 ms, as long as to read a small trace: one that met no error serves again.

    Args:
        threads: how many it works with.
        spill: a folder for what does not fit memory.
    """
    whole = _idle.pop(threads, None) or _new(threads)
    try:
        if spill is not None:
            try:
                whole.execute(f"SET GLOBAL temp_directory = {file_literal(spill)}")
            except duckdb.NotImplementedException:  # it has written to the one of before
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
    """Close the databases that wait: one that has read a large trace keeps 100 MB, of which DuckDB knows nothing."""
    with contextlib.suppress(KeyError):
        while True:
            _idle.popitem()[1].close()


def _new(threads: int) -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect(config={"threads": threads, "preserve_insertion_order": False})
    opened.execute("SET GLOBAL TimeZone = 'UTC'")
    return opened


def have_read(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Have a connection read what lies in a place; it may do so already."""
    if isinstance(place, ObjectPath):
        from .storage.object_reads import register

        register(connection)


def set_event_files(connection: duckdb.DuckDBPyConnection, files: Sequence[Place], trace_ids: str = "VARCHAR") -> None:
    """Point the rows of all events at a list of files, or at nothing.

    Args:
        connection: the connection.
        files: the files.
        trace_ids: the type of the traces' ids.
    """
    source = empty_select(_EVENT_ROW_COLUMNS)
    if files:
        connection.execute("SET VARIABLE event_files = $1", [[pattern(file) for file in files]])
        # The lake's own are the last two of a file.
        source = _BY_FOLDER if pattern(files[0]).count("=") > 2 else _BY_KEY
    connection.execute(f"CREATE OR REPLACE VIEW _event_rows AS {with_trace_ids(source, trace_ids)}")


def hold_events(connection: duckdb.DuckDBPyConnection, count: int) -> None:
    """Read the files of few events once, for all queries; where they cannot be read, each query says so.

    To open them takes a query of few rows longer than all else.
    """
    if count <= _HELD:
        with contextlib.suppress(duckdb.Error):
            connection.execute("CREATE OR REPLACE TABLE _held_events AS FROM _event_rows")
            connection.execute("CREATE OR REPLACE VIEW _event_rows AS FROM _held_events")


def release_events(connection: duckdb.DuckDBPyConnection) -> None:
    """Read no files, and hold none of their events."""
    set_event_files(connection, [])
    connection.execute("DROP TABLE IF EXISTS _held_events")
