"""Restricts queries to reading the lake: by DuckDB's settings, and by checks on the parsed query.

DuckDB's settings keep a connection inside the lake: no other files, no network, no extensions, no changes of
settings. Writing inside the lake stays possible, since the connection stores materialised rows there: so a query must
be a SELECT to DuckDB's parser, and no part of it may write (in DuckDB a WITH may hold COPY, INSERT, UPDATE, DELETE).
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..storage.objects import ObjectPath
from ..storage.paths import Place, file_literal, pattern, readable
from ..storage.scratch import scratch_folder
from .modules import module

if TYPE_CHECKING:
    import duckdb

#: Query nodes that read. Others write: COPY_QUERY_NODE, INSERT_QUERY_NODE, ...
_READING = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
#: Functions that run a query given as text or JSON, which is not checked.
_RUNS_TEXT = frozenset({"query", "json_execute_serialized_sql"})
#: Words that may belong to a writing part, in a query that DuckDB splits into several statements without a parse tree.
_SUSPECT = _RUNS_TEXT | {"copy", "insert", "update", "delete", "merge", "create", "export", "execute"}
#: DuckDB's table functions that were reviewed: the settings made by `lock` keep each inside the lake.
#: Functions of later DuckDB versions are refused until listed here; `duckdb_…` only return metadata.
LOOKED_AT = frozenset(
    """
    add_grammar_extension arrow_scan arrow_scan_dumb checkpoint create_external_resource deregister_external_resource
    destroy_external_resource disable_logging disable_profiling enable_logging enable_profiling force_checkpoint
    generate_series glob icu_calendar_names json_each json_execute_serialized_sql json_tree pandas_scan
    parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata
    parquet_page_index parquet_scan parquet_schema pg_timezone_names pragma_collations pragma_database_size
    pragma_metadata_info pragma_platform pragma_show pragma_storage_info pragma_table_info pragma_user_agent
    pragma_version python_arrow_scan python_map_function query query_table range read_blob read_csv read_csv_auto
    read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto
    read_ndjson_objects read_ndjson_objects_auto read_parquet read_single_csv_file read_single_json_file
    read_single_parquet_file read_text register_external_resource register_external_resource_type
    remove_grammar_extension repeat repeat_row seq_scan sniff_csv summary test_all_types test_vector_types
    truncate_duckdb_logs unnest which_secret
    """.split()
)
_EXPLAIN = re.compile(
    r"\s*EXPLAIN(\s+ANALYZE\b)?(\s*\(\s*(ANALYZE|FORMAT\s+\w+)(\s*,\s*(ANALYZE|FORMAT\s+\w+))*\s*\))?", re.IGNORECASE
)
_ALL_OF_DUCKDB = "`--unsafe` allows all of DuckDB (in Python `lake.connection`)"


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: Path, options: str) -> None:
    """Write a query's rows to any file, even with a locked connection."""
    with scratch_folder() as folder:
        beside = folder / "rows"
        connection.execute(f"COPY ({query}) TO {file_literal(beside)} ({options})")
        shutil.copyfile(beside, path)


def lock(connection: duckdb.DuckDBPyConnection, folders: Iterable[Place]) -> None:
    """Restrict a connection to some folders and its temporary folder, permanently.

    DuckDB resolves symbolic links before it compares paths: a link that leads out of the folders is refused.
    """
    # DuckDB compares the given path, which may be a pattern that matches one file.
    allowed = {text for folder in folders for text in (pattern(folder), *_resolved(folder))}
    listed = ", ".join("'" + text.replace("'", "''") + "'" for text in sorted(allowed))
    connection.execute(
        f"SET allowed_directories = [{listed}];"
        # Tables of a report shadow relations of the same name through the search path. A query cannot SET it.
        "SET allowed_configs = ['search_path'];"
        "SET allow_persistent_secrets = false;"
        "SET python_enable_replacements = false;"
        "SET enable_external_access = false;"
        "SET lock_configuration = true"
    )


def _resolved(folder: Place) -> list[str]:
    if isinstance(folder, ObjectPath):
        return []
    return [readable(folder.resolve()), pattern(folder.resolve())]


def check(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Check that a query only reads. One that does not parse is left to DuckDB's error message.

    Raises:
        UsageError: it writes, changes a setting, or runs text as a query; or it has several statements, of which DuckDB
            would return only the last one's result.
    """
    import duckdb

    try:
        statements = connection.extract_statements(query)
    except duckdb.Error:
        return
    for statement in statements:
        _check_statement(connection, statement)
    if len(statements) > 1:
        raise UsageError(f"a query is one statement, and these are {len(statements)}: ask them one by one.")


def without_end(query: str) -> str:
    """Return a query without its last semicolon and comments after that, which no query around it can contain."""
    import duckdb

    text = query.encode()
    end = len(text)
    for start, kind in reversed(duckdb.tokenize(query)):
        if text[start : start + 1] == b";":
            end = start
        elif kind != duckdb.token_type.comment:
            break
    return text[:end].decode()


def _check_statement(connection: duckdb.DuckDBPyConnection, statement: Any) -> None:
    text = statement.query
    try:
        kind = statement.type.name
    except ValueError:  # a statement that DuckDB's Python package has no name for
        kind = ""
    if kind == "EXPLAIN" and (prefix := _EXPLAIN.match(text)):
        # EXPLAIN ANALYZE runs what it explains.
        [explained] = connection.extract_statements(text[prefix.end() :])
        _check_statement(connection, explained)
    elif kind == "MULTI":
        # PIVOT without a column list becomes two statements: one that finds the columns, and the query.
        if found := sorted(_SUSPECT.intersection(re.findall(r"\w+", text.lower()))):
            raise UsageError(
                f"{found[0]}: may write, in a PIVOT whose columns are not listed: ON column IN (…) lists them; "
                f"{_ALL_OF_DUCKDB}."
            )
        _check_functions(connection, re.findall(r"\w+", text))
    elif kind == "SELECT":
        with contextlib.closing(connection.cursor()) as cursor:
            [(tree,)] = cursor.execute("SELECT json_serialize_sql($1)", [text]).fetchall()
        _check_functions(connection, _check_tree(json.loads(tree)))
    else:
        word = re.search(r"\w+", text)
        raise _refused(word[0].upper() if word else kind)


def _check_tree(node: Any) -> Iterator[str]:
    """Check a part of a parsed query, and yield the names of the table functions that it calls."""
    if isinstance(node, list):
        for part in node:
            yield from _check_tree(part)
    elif isinstance(node, dict):
        kind = node.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _READING:
            raise _refused(kind.split("_")[0])
        if node.get("function_name") in _RUNS_TEXT:
            raise UsageError(f"{node['function_name']}(): runs text as a query unchecked; {_ALL_OF_DUCKDB}.")
        if kind == "TABLE_FUNCTION":
            yield str(node.get("function", {}).get("function_name"))
        for part in node.values():
            yield from _check_tree(part)


def _check_functions(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Check that any of these names that are DuckDB table functions, and not our macros, were reviewed."""
    unknown = {name.lower() for name in names} - LOOKED_AT
    unknown -= {name for name in unknown if (entry := module(name)) and entry.kind == "MACRO"}
    if not unknown:
        return
    query = (
        "SELECT function_name FROM duckdb_functions() WHERE function_type = 'table' "
        "AND NOT starts_with(function_name, 'duckdb_') AND list_contains($1, function_name) ORDER BY 1"
    )
    with contextlib.closing(connection.cursor()) as cursor:
        found = cursor.execute(query, [sorted(unknown)]).fetchone()
    if found:
        raise UsageError(
            f"{found[0]}(): new in this DuckDB, and not yet checked to read the lake only; {_ALL_OF_DUCKDB}."
        )


def _refused(word: str) -> UsageError:
    return UsageError(
        f"{word}: a query reads the lake and changes nothing; -o writes its result to a file, {_ALL_OF_DUCKDB}."
    )


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Add to errors about DuckDB's locked configuration how to allow the operation."""
    import duckdb

    try:
        yield
    except duckdb.PermissionException as error:
        reason = str(error).partition("\n")[0].removeprefix("Permission Error: ").partition(" - ")[0]
        raise UsageError(f"{reason}: a query reads the lake's own files only; {_ALL_OF_DUCKDB}.") from error
    except duckdb.InvalidInputException as error:
        if "configuration has been locked" not in str(error):
            raise
        reason = str(error).partition("\n")[0].removeprefix("Invalid Input Error: ").partition(" - ")[0]
        raise UsageError(f"{reason}: a query cannot change settings; {_ALL_OF_DUCKDB}.") from error
