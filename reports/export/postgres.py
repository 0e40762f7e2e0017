"""The star schema on a PostgreSQL server: tables of one schema, replaced in one transaction.

Readers see the previous rows until the commit. Tables whose columns are unchanged are truncated and refilled, so
that views on them and grants remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from ...engine.errors import InputError, UsageError
from ...engine.sql import comments, modules
from . import star

if TYPE_CHECKING:
    import duckdb
    import psycopg

    Connection = psycopg.Connection[tuple[object, ...]]

_TYPES = {"VARCHAR": "text", "DOUBLE": "double precision", "TIMESTAMP": "timestamp without time zone"}
#: How the comment of a table ends if an export may replace it.
_OURS = "Written by tracelake export --star; the next one replaces it."
#: Characters that COPY's text format escapes. PostgreSQL text cannot hold a zero byte; its symbol ␀ replaces it.
_ESCAPES = ((r"'\'", r"'\\'"), ("chr(9)", r"'\t'"), ("chr(10)", r"'\n'"), ("chr(13)", r"'\r'"), ("chr(0)", "'␀'"))
#: Rows per batch.
_BATCH = 50_000
#: PostgreSQL truncates longer names.
_LONGEST = 63


def is_postgres(target: object) -> bool:
    """Whether a target is the address of a PostgreSQL server."""
    return isinstance(target, str) and target.startswith(("postgresql://", "postgres://"))


def write(
    rows: duckdb.DuckDBPyConnection,
    address: str,
    schema: str,
    entries: Sequence[modules.Module],
    done: Callable[[int, int], None],
) -> list[tuple[str, int]]:
    """Replace the tables of the star in a schema, and return the row count of each.

    Args:
        rows: the connection that has the relations.
        address: of the server and the database, postgresql://…; no message shows its password.
        schema: created if missing; other tables in it are left alone.
        entries: the relations, each after those it refers to.
        done: called after each relation.

    Raises:
        UsageError: the address or the schema's name is invalid, psycopg is missing, or a table there is not ours.
        InputError: the server reports an error.
    """
    try:
        import psycopg
    except ImportError:
        raise UsageError("PostgreSQL needs an extra: pip install 'tracelake[postgres]'.") from None
    if not schema or "\0" in schema or len(schema.encode()) > _LONGEST:
        raise UsageError(f"{schema!r}: no name of a schema; it has 1 to {_LONGEST} bytes.")
    try:
        shown = _without_secrets(psycopg.conninfo.conninfo_to_dict(address))
    except psycopg.ProgrammingError:
        # Its message may quote the password.
        raise UsageError(
            "the address of the server cannot be read: expected postgresql://USER@HOST:PORT/DATABASE, with %, @, / and "
            "the like in a name or password percent-encoded."
        ) from None
    try:
        with psycopg.connect(address, fallback_application_name="tracelake") as server:
            return list(_replace(server, rows, _quoted(schema), entries, done))
    except psycopg.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{shown}: {reason}. Nothing was changed there.") from None


def _without_secrets(given: Mapping[str, object]) -> str:
    """Return an address without credentials: server, port and database."""
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{given.get('host') or ''}{port}/{quote(str(given.get('dbname') or ''))}"


def _replace(
    server: Connection,
    rows: duckdb.DuckDBPyConnection,
    schema: str,
    entries: Sequence[modules.Module],
    done: Callable[[int, int], None],
) -> Iterator[tuple[str, int]]:
    """Fill the tables in the transaction that the caller commits; yield the row count of each."""
    # The second of two concurrent exports waits.
    _run(server, "SELECT pg_advisory_xact_lock(hashtext('tracelake export'))")
    _run(server, f"CREATE SCHEMA IF NOT EXISTS {schema}")
    _empty(server, schema, entries)
    for nth, entry in enumerate(entries, 1):
        table = f"{schema}.{entry.name}"
        yield entry.name, _fill(server, rows, table, entry)
        done(nth, len(entries))
    for entry in entries:
        for column, other in star.references(entry).items():
            _run(
                server,
                f"ALTER TABLE {schema}.{entry.name} ADD CONSTRAINT {_foreign(entry, column)} "
                f"FOREIGN KEY ({column}) REFERENCES {schema}.{other.name}",
            )
        _run(server, f"ANALYZE {schema}.{entry.name}")
        _run(server, comments.statements(entry, f"{schema}.{entry.name}", "TABLE"))
        comment = modules.quoted(f"{entry.doc}\n\n{_OURS}")
        _run(server, f"COMMENT ON TABLE {schema}.{entry.name} IS {comment}")


def _empty(server: Connection, schema: str, entries: Sequence[modules.Module]) -> None:
    """Leave empty tables without foreign keys: truncate those with the same columns, else recreate all.

    Raises:
        UsageError: a table of that name is not ours.
    """
    there = {entry.name: _columns(server, f"{schema}.{entry.name}") for entry in entries}
    for entry in entries:
        [(comment,)] = _run(server, f"SELECT obj_description(to_regclass({modules.quoted(f'{schema}.{entry.name}')}))")
        if there[entry.name] and not str(comment).endswith(_OURS):
            raise UsageError(
                f"{schema}.{entry.name}: exists, and its comment does not say that tracelake wrote it. "
                "Give another --schema, or take it away."
            )
    if there == {entry.name: [(column.name, _type(column.type)) for column in entry.columns] for entry in entries}:
        for entry in entries:
            for column in star.references(entry):
                _run(server, f"ALTER TABLE {schema}.{entry.name} DROP CONSTRAINT IF EXISTS {_foreign(entry, column)}")
        _run(server, f"TRUNCATE {', '.join(f'{schema}.{entry.name}' for entry in entries)}")
        return
    if old := [f"{schema}.{name}" for name, columns in there.items() if columns]:
        _run(server, f"DROP TABLE {', '.join(old)}")
    for entry in entries:
        columns = ", ".join(star.columns(entry, _type))
        _run(server, f"CREATE TABLE {schema}.{entry.name} ({columns}, PRIMARY KEY ({star.key(entry)}))")


def _columns(server: Connection, table: str) -> list[tuple[object, ...]]:
    """Return the columns of a table and their types; empty if the table does not exist."""
    return _run(
        server,
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        f"WHERE attrelid = to_regclass({modules.quoted(table)}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
    )


def _fill(server: Connection, rows: duckdb.DuckDBPyConnection, table: str, entry: modules.Module) -> int:
    """Send a relation's rows in PostgreSQL's text format, in batches; return their number."""
    count = 0
    cells = ", chr(9), ".join(f"coalesce({_cell(column)}, '\\N')" for column in entry.columns)
    lines = rows.sql(f"SELECT concat({cells}, chr(10)) FROM {entry.name}").to_arrow_reader(_BATCH)
    with server.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for batch in lines:
            copy.write("".join(batch.column(0).to_pylist()))
            count += batch.num_rows
    return count


def _cell(column: modules.Column) -> str:
    """Return the SQL of a column as COPY text."""
    if column.type != "VARCHAR":
        return f'CAST("{column.name}" AS VARCHAR)'
    text = f'"{column.name}"'
    for plain, escaped in _ESCAPES:
        text = f"replace({text}, {plain}, {escaped})"
    return text


def _type(kind: str) -> str:
    return _TYPES.get(kind, kind.lower())


def _foreign(entry: modules.Module, column: str) -> str:
    return f"{entry.name}_{column}_fkey"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _run(server: Connection, statement: str) -> list[tuple[object, ...]]:
    """Run a trusted statement; return its rows."""
    cursor = server.execute(statement.encode())
    return cursor.fetchall() if cursor.description else []
