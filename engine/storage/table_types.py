"""What a Delta table stores: column types, small files of rows, and file statistics."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .paths import file_literal

if TYPE_CHECKING:
    from deltalake import Schema

#: DuckDB types that Delta lacks, and the types that can hold all their values.
_STORED_AS = {"UBIGINT": "DECIMAL(20, 0)", "HUGEINT": "DECIMAL(38, 0)"}
#: Integers above 64 bits, and lists of them.
_WIDE = re.compile(r"U?HUGEINT((?:\[\d*\])*)")
#: DuckDB type -> Delta type.
_DELTA_TYPES = {
    "VARCHAR": "string", "BIGINT": "long", "INTEGER": "integer", "BOOLEAN": "boolean", "DOUBLE": "double",
    "TIMESTAMP": "timestamp", "UBIGINT": "decimal(20,0)", "HUGEINT": "decimal(38,0)",
}  # fmt: skip


def stored_type(kind: str) -> str:
    """Return the type in which a column of a DuckDB type is stored."""
    return _STORED_AS.get(kind, kind)


def for_parquet(columns: Iterable[tuple[str, str]]) -> str:
    """Return the SELECT list of a query's columns, by place, that writes all digits of integers to Parquet.

    Parquet has no integers above 64 bits, and DuckDB writes them as DOUBLE, rounded: every sum() of a BIGINT.

    Args:
        columns: unique names, with their DuckDB types.
    """
    listed = []
    for place, (name, kind) in enumerate(columns, 1):
        wide = _WIDE.fullmatch(kind)
        value = f"CAST(#{place} AS {_STORED_AS['HUGEINT']}{wide[1]})" if wide else f"#{place}"
        listed.append(value + ' AS "{}"'.format(name.replace('"', '""')))
    return ", ".join(listed)


def delta_schema(columns: Mapping[str, str]) -> Schema:
    """Return the Delta schema of columns given by DuckDB types."""
    from deltalake import Schema

    def delta(kind: str) -> Any:
        if kind.endswith("[]"):
            return {"type": "array", "elementType": delta(kind.removesuffix("[]")), "containsNull": True}
        return _DELTA_TYPES[kind]

    fields = [{"name": name, "type": delta(kind), "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Write a few rows, given as dicts, to a Parquet file; missing values are NULL.

    DuckDB writes them: importing Arrow takes longer than most commands.

    Args:
        path: the file.
        rows: the rows.
        columns: column name -> DuckDB type.

    Raises:
        OSError: the file cannot be written.
    """
    import duckdb

    from ..connection import database

    # Delta's timestamps are in UTC.
    kinds = {name: "TIMESTAMPTZ" if kind == "TIMESTAMP" else kind for name, kind in columns.items()}
    shown = ", ".join(f'unnest(CAST(? AS {kind}[])) AS "{name}"' for name, kind in kinds.items())
    values = [[row.get(name) for row in rows] for name in kinds]
    with database(1) as connection:
        connection.execute(f"CREATE TEMP TABLE rows AS SELECT {shown}", values)
        try:
            connection.execute(f"COPY rows TO {file_literal(path)} (FORMAT parquet, COMPRESSION zstd)")
        except duckdb.IOException as error:
            raise OSError(errno.EIO, str(error).partition("\n")[0].removeprefix("IO Error: "), str(path)) from error


def statistics(rows: int, traces: Sequence[str], batches: Sequence[str] = ()) -> dict[str, Any]:
    """Return a file's statistics for the log: its row count, and the range of its traces and batches."""
    ranges = {"trace_id": traces} | ({"batch_id": batches} if batches else {})
    return {
        "numRecords": rows,
        "minValues": {column: min(values) for column, values in ranges.items()},
        "maxValues": {column: max(values) for column, values in ranges.items()},
        "nullCount": dict.fromkeys(ranges, 0),
    }
