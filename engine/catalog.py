"""The catalog: which traces are in the lake, and their settings."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import duckdb

from .damage import DamagedError, Found, is_fatal, reason_of
from .errors import InputError, UsageError
from .files import publish_file
from .layout import Layout
from .paths import TRACE_ID, file_literal, pattern, readable
from .schema import CATALOG_COLUMNS, column_list

_log = logging.getLogger("tracelake")
#: Settings with a type of their own; any other key is a tag. The view `traces` gives each its column.
INTEGER_SETTINGS = ("rank", "num_layers", "blocks_per_layer", "tp", "ep", "dp", "pp")
TEXT_SETTINGS = ("trace", "run", "model", "profile", "anchor", "anchor_role", "hardware", "config", "dedup")
ANCHOR_ROLES = ("begin", "inside", "end")
#: Rules for rows of an Ascend trace that show one thing twice: ours, the one of published figures, or all rows count.
DEDUP_RULES = ("tracelake", "compat", "none")
#: Former names of them, which stored settings may have, too.
_FORMER_RULES = {"seed": "compat"}


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
        checked[key] = dedup_rule(text) if key == "dedup" else text
    return checked


def dedup_rule(name: str) -> str:
    """Return a rule for rows that show one thing twice, given its name or its former one.

    Raises:
        UsageError: there is no such rule.
    """
    rule = _FORMER_RULES.get(name, name)
    if rule not in DEDUP_RULES:
        raise UsageError(f"dedup={name}: expected one of {', '.join(DEDUP_RULES)}.")
    return rule


def _check_pattern(pattern: str) -> None:
    try:
        # Not on DuckDB's own connection of the process, which is the caller's.
        with duckdb.connect() as connection:
            connection.execute("SELECT regexp_matches('', $1)", [pattern]).fetchall()
    except duckdb.Error as error:
        reason = str(error).split("Error: ", 1)[-1]
        raise UsageError(f"anchor={pattern}: not a regular expression (RE2): {reason}") from error


def write_entry(layout: Layout, entry: dict[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    """Publish a trace's catalog row; from then on the trace is in the lake.

    Args:
        layout: the lake.
        entry: values of the row's columns; NULL where it is missing.
        connection: any; to make one takes 20 ms.
    """
    path = layout.catalog_file(entry["trace_id"])
    beside = path.with_name(f".{path.name}.beside")
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = ", ".join(f"${name}::{kind} AS {name}" for name, kind in CATALOG_COLUMNS.items())
    values = {name: entry.get(name) for name in CATALOG_COLUMNS}
    connection.execute(f"COPY (SELECT {columns}) TO {file_literal(beside)} (FORMAT parquet)", values)
    publish_file(beside, path)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a trace.

    Raises:
        InputError: the file is damaged.
    """
    try:
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise TypeError(f"it is {type(found).__name__}")
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: cannot be read as settings, a JSON object: {error}. Repair it, or remove it and set them again."
        ) from error
    return {readable(key): value if value is None else readable(str(value)) for key, value in found.items()}


class CatalogReader:
    """Loads catalog rows and settings into DuckDB, and only when they have changed."""

    def __init__(self, layout: Layout) -> None:
        """Remember nothing yet."""
        self._layout = layout
        self._seen: list[tuple[str, int]] | None = None
        #: Traces whose row cannot be read, and why.
        self.damaged: dict[str, str] = {}
        #: Those of them that end the connection which reads them.
        self._fatal: dict[str, tuple[Path, str]] = {}

    @property
    def stamps(self) -> dict[str, int]:
        """For each trace loaded, when what is known of it last changed, in ns: its settings, or its catalog row."""
        times = dict(self._seen or [])
        stamps = {}
        for trace_id in self._layout.trace_ids():
            row = times.get(str(self._layout.catalog_file(trace_id)))
            if row is not None and trace_id not in self.damaged:
                stamps[trace_id] = times.get(str(self._layout.settings_file(trace_id)), row)
        return stamps

    @property
    def loaded(self) -> bool:
        """Whether the catalog was loaded since it was last to be forgotten."""
        return self._seen is not None

    def is_current(self) -> bool:
        """Whether what is loaded is what the lake has by now."""
        return self._times() == self._seen

    def load(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Fill `_catalog` and `_settings` with what can be read; return whether anything had changed.

        Raises:
            DamagedError: a row was found that ended the connection; the next load leaves it alone.
        """
        seen = self._times()
        if seen == self._seen:
            return False
        connection.execute("DELETE FROM _catalog; DELETE FROM _settings")
        self.damaged = {
            trace_id: reason for trace_id, (path, reason) in self._fatal.items() if (str(path), _time(path)) in seen
        }
        self._load_rows(connection, [one for one in self._layout.trace_ids() if one not in self.damaged])
        settings = [
            (trace_id, key, str(value))
            for trace_id, path in self._layout.settings_files().items()
            for key, value in self._settings_of(path).items()
            if value is not None
        ]
        if settings:
            connection.executemany("INSERT INTO _settings VALUES ($1, $2, $3)", settings)
        self._seen = seen
        return True

    def forget(self) -> None:
        """Have the next load fill a new connection."""
        self._seen = None

    def _times(self) -> list[tuple[str, int]]:
        rows = [self._layout.catalog_file(trace_id) for trace_id in self._layout.trace_ids()]
        return [(str(path), _time(path)) for path in (*rows, *self._layout.settings_files().values())]

    def _load_rows(self, connection: duckdb.DuckDBPyConnection, trace_ids: list[str]) -> None:
        """Load the rows of traces together, and where one cannot be read, those that can."""
        paths = [self._layout.catalog_file(trace_id) for trace_id in trace_ids]
        connection.begin()
        try:
            _insert(connection, paths)
            connection.commit()
        except duckdb.Error as error:
            if isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException):
                raise
            if is_fatal(error):
                if not self._find_fatal(trace_ids):
                    raise
                raise DamagedError(Found(fatal=True)) from error
            connection.rollback()
            middle = len(trace_ids) // 2
            if middle:
                self._load_rows(connection, trace_ids[:middle])
                self._load_rows(connection, trace_ids[middle:])
            elif paths[0].exists():
                self.damaged[trace_ids[0]] = f"{paths[0]}: {reason_of(error)}"

    def _find_fatal(self, trace_ids: list[str]) -> bool:
        """Remember the rows that end a connection, each read with one of its own; return whether there is any."""
        known = len(self._fatal)
        for trace_id in trace_ids:
            path = self._layout.catalog_file(trace_id)
            with duckdb.connect(config={"threads": 1}) as connection:
                connection.execute(f"CREATE TABLE _catalog ({column_list(CATALOG_COLUMNS)})")
                try:
                    _insert(connection, [path])
                except duckdb.Error as error:
                    if is_fatal(error):
                        self._fatal[trace_id] = (path, f"{path}: {reason_of(error)}")
        return len(self._fatal) > known

    def _settings_of(self, path: Path) -> dict[str, Any]:
        try:
            return read_settings(path)
        except FileNotFoundError:  # another process took the trace away
            return {}
        except InputError as error:
            # Without its settings, a trace is as it was when it was read.
            _log.warning("%s\n  The trace is answered without its settings.", error)
            return {}


def _insert(connection: duckdb.DuckDBPyConnection, paths: list[Path]) -> None:
    """Load rows into `_catalog`, one of each file."""
    if not paths:
        return
    # The id by the file's name, as everywhere: what a row says of it may be a lie. Columns of a later version are left
    # alone.
    known = ", ".join(f"'{name}'" for name in CATALOG_COLUMNS)
    trace_id = rf"regexp_extract(filename, 'trace_id=({TRACE_ID.pattern})\.parquet$', 1)"
    connection.execute(
        f"INSERT INTO _catalog BY NAME SELECT {trace_id} AS trace_id, COLUMNS(lambda name: name IN ({known}) AND "
        "name <> 'trace_id') FROM read_parquet($1, union_by_name = true, hive_partitioning = false, filename = true)",
        [[pattern(path) for path in paths]],
    )
    listed = [path.stem.removeprefix("trace_id=") for path in paths]
    [(rows, traces)] = connection.execute(
        "SELECT count(*), count(DISTINCT trace_id) FILTER (trace IS NOT NULL AND event_count IS NOT NULL) "
        "FROM _catalog WHERE list_contains($1, trace_id)",
        [listed],
    ).fetchall()
    if (rows, traces) != (len(paths), len(paths)):
        raise duckdb.InvalidInputException("not one row of the catalog, which names a trace and its events")


def _time(path: Path) -> int:
    return path.stat().st_mtime_ns
