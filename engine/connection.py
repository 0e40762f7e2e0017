"""The DuckDB connection of a lake: its settings, each with its reason, and the files that are its events."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import duckdb

from .errors import UsageError
from .guard import scratch
from .objects import ObjectPath
from .paths import TRACE_ID, Place, pattern, readable
from .schema import EVENT_COLUMNS, empty_select

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
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    # A row that makes no sense has no answer, and others keep theirs.
    connection.execute("SET error_on_division_by_zero = false")
    # Where an estimate says a few rows, DuckDB would compare each with all: ours are far off below deep views.
    connection.execute("SET asof_loop_join_threshold = 0")
    return connection


def have_read(connection: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Have a connection read what lies in a place; it may do so already."""
    if isinstance(place, ObjectPath):
        from .object_reads import register

        register(connection)


def set_event_files(connection: duckdb.DuckDBPyConnection, files: Sequence[Place]) -> None:
    """Point the rows of all events at a list of files, or at nothing."""
    source = empty_select(_EVENT_ROW_COLUMNS)
    if files:
        connection.execute("SET VARIABLE event_files = $1", [[pattern(file) for file in files]])
        # The lake's own are the last two of a file.
        source = _BY_FOLDER if pattern(files[0]).count("=") > 2 else _BY_KEY
    connection.execute(f"CREATE OR REPLACE VIEW _event_rows AS {source}")
