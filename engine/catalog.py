"""The catalog: which traces are in the lake, and what the user said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

from .errors import InputError, UsageError
from .files import publish_file
from .layout import Layout
from .paths import TRACE_ID, file_literal, pattern, readable
from .schema import CATALOG_COLUMNS

#: Settings with a type of their own; any other key is a tag. The view `traces` gives each its column.
INTEGER_SETTINGS = ("rank", "num_layers", "blocks_per_layer", "tp", "ep", "dp", "pp")
TEXT_SETTINGS = ("trace", "run", "model", "profile", "anchor", "anchor_role", "hardware", "config", "dedup")
ANCHOR_ROLES = ("begin", "inside", "end")
#: Rules for rows of an Ascend trace that show one thing twice: ours, the one of published figures, or all rows count.
DEDUP_RULES = ("tracelake", "seed", "none")


def check_settings(settings: dict[str, Any]) -> dict[str, str | None]:
    """Return settings as text, checked.

    Raises:
        UsageError: a number is not one, a regular expression cannot be compiled, or a role is unknown.
    """
    checked: dict[str, str | None] = {}
    for key, value in settings.items():
        if not key.isidentifier():
            raise UsageError(f"{key}: not a setting's name: letters, digits and _ only.")
        if value is None or value == "":
            checked[key] = None
            continue
        text = str(value)
        if text != readable(text):
            raise UsageError(f"{key}: the value is not UTF-8.")
        if key in INTEGER_SETTINGS and not (text.isdecimal() and int(text) < 2**31):
            raise UsageError(f"{key}={text}: expected a whole number, as in {key}=8.")
        if key in INTEGER_SETTINGS and key != "rank" and int(text) == 0:
            raise UsageError(f"{key}=0: expected 1 or more.")
        if key == "anchor":
            _check_pattern(text)
        if key == "anchor_role" and text not in ANCHOR_ROLES:
            raise UsageError(f"anchor_role={text}: expected one of {', '.join(ANCHOR_ROLES)}.")
        if key == "dedup" and text not in DEDUP_RULES:
            raise UsageError(f"dedup={text}: expected one of {', '.join(DEDUP_RULES)}.")
        checked[key] = text
    return checked


def _check_pattern(pattern: str) -> None:
    try:
        duckdb.execute("SELECT regexp_matches('', $1)", [pattern])
    except duckdb.Error as error:
        reason = str(error).split("Error: ", 1)[-1]
        raise UsageError(f"anchor={pattern}: not a regular expression (RE2): {reason}") from error


def write_entry(layout: Layout, entry: dict[str, Any]) -> None:
    """Publish a trace's catalog row; from then on the trace is in the lake."""
    path = layout.catalog_file(entry["trace_id"])
    beside = path.with_name(f".{path.name}.beside")
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = ", ".join(f"${name}::{kind} AS {name}" for name, kind in CATALOG_COLUMNS.items())
    values = {name: entry.get(name) for name in CATALOG_COLUMNS}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY (SELECT {columns}) TO {file_literal(beside)} (FORMAT parquet)", values)
    publish_file(beside, path)


def read_settings(path: Path) -> dict[str, Any]:
    """Return what the user said of a trace.

    Raises:
        InputError: the file is damaged.
    """
    try:
        return dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: cannot be read as settings, a JSON object: {error}. Mend or remove it.") from error


class CatalogReader:
    """Loads catalog rows and settings into DuckDB, and only when they have changed."""

    def __init__(self, layout: Layout) -> None:
        """Remember nothing yet."""
        self._layout = layout
        self._seen: list[tuple[str, int]] | None = None

    @property
    def stamps(self) -> dict[str, int]:
        """For each trace loaded, when what is known of it last changed, in ns: its settings, or its catalog row."""
        times = dict(self._seen or [])
        stamps = {}
        for trace_id in self._layout.trace_ids():
            row = times.get(str(self._layout.catalog_file(trace_id)))
            if row is not None:
                stamps[trace_id] = times.get(str(self._layout.settings_file(trace_id)), row)
        return stamps

    def load(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Fill `_catalog` and `_settings`; return whether anything had changed.

        Raises:
            InputError: a file of the catalog or of settings is damaged.
        """
        rows = [self._layout.catalog_file(trace_id) for trace_id in self._layout.trace_ids()]
        settings = self._layout.settings_files()
        seen = [(str(path), path.stat().st_mtime_ns) for path in (*rows, *settings.values())]
        if seen == self._seen:
            return False
        connection.execute("DELETE FROM _catalog; DELETE FROM _settings")
        if rows:
            try:
                # The id by the file's name, as everywhere: what a row says of it may be a lie.
                connection.execute(
                    "INSERT INTO _catalog BY NAME "
                    "SELECT * EXCLUDE (filename) REPLACE (regexp_extract(filename, $2, 1) AS trace_id) FROM "
                    "read_parquet($1, union_by_name = true, hive_partitioning = false, filename = true)",
                    [[pattern(path) for path in rows], rf"trace_id=({TRACE_ID.pattern})\.parquet$"],
                )
            except duckdb.Error as error:
                raise InputError(f"{self._layout.traces}: a row of the catalog cannot be read: {error}") from error
        said = [
            (trace_id, key, str(value))
            for trace_id, path in settings.items()
            for key, value in read_settings(path).items()
        ]
        if said:
            connection.executemany("INSERT INTO _settings VALUES ($1, $2, $3)", said)
        self._seen = seen
        return True
