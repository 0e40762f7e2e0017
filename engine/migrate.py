"""Migrates a lake of format 1: its events stay, its catalog and settings move, its answers are recomputed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

from .catalog import Catalog
from .connection import database
from .errors import InputError, UsageError
from .schema import CATALOG_COLUMNS
from .storage.files import exclusive, remove_folder
from .storage.layout import FORMAT_VERSION, Layout, mark
from .storage.paths import TRACE_ID, parquet_rows, plain_files, readable
from .storage.tables import Tables

#: What format 1 stores besides the events.
_FORMER = ("traces", "settings", "marts", "aside")


def migrate(root: Path) -> int:
    """Migrate a lake of format 1; return the number of its traces, whose answers are not computed yet.

    An interrupted migration starts over, or finishes.

    Raises:
        UsageError: there is no lake of format 1.
        InputError: a catalog entry, or settings, cannot be read.
    """
    layout = Layout(root)
    try:
        version = json.loads(layout.marker.read_bytes())["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{root}: no lake that can be migrated: {error}") from error
    if version == FORMAT_VERSION:
        # A migration killed before its last step leaves these.
        for name in _FORMER:
            remove_folder(root / name)
        return 0
    if version != 1:
        raise UsageError(f"{root}: this lake has format {version}, and only format 1 can be migrated.")
    with exclusive(layout.lock):
        remove_folder(layout.tables)
        layout.tables.mkdir()
        entries = [_entry(path) for path in plain_files(root / "traces", ".parquet") if _trace_of(path)]
        catalog = Catalog(Tables(layout.tables))
        catalog.append([{**entry, "removed": False, "batch_id": "", "linked_batch_id": ""} for entry in entries])
        known = {entry["trace_id"] for entry in entries}
        settings = {_trace_of(path): _settings(path) for path in plain_files(root / "settings", ".json")}
        catalog.append_settings({one: given for one, given in settings.items() if one in known})
        mark(layout)
        for name in _FORMER:
            remove_folder(root / name)
    return len(entries)


def _trace_of(path: Path) -> str:
    """Return the trace id in a file's name; empty if there is none."""
    trace_id = path.stem.removeprefix("trace_id=")
    return trace_id if TRACE_ID.fullmatch(trace_id) else ""


def _entry(path: Path) -> dict[str, Any]:
    try:
        with database(1) as connection:
            found = connection.execute(f"SELECT * FROM {parquet_rows([path])}")
            names = [column[0] for column in found.description or ()]
            [row] = found.fetchall()
    except (duckdb.Error, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read as an entry of the catalog: {str(error).partition(chr(10))[0]}. "
            "Move it away, migrate, and ingest the trace's file again."
        ) from error
    entry = {name: value for name, value in zip(names, row, strict=True) if name in CATALOG_COLUMNS}
    return entry | {"trace_id": _trace_of(path)}


def _settings(path: Path) -> dict[str, str | None]:
    try:
        found = json.loads(path.read_bytes())
        return {readable(key): readable(str(value)) for key, value in found.items() if value is not None}
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read as settings, a JSON object: {error}. Repair or remove it.") from error
