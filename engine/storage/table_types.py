"""Column types in DuckDB, Delta and Arrow, and file statistics for a Delta log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

#: DuckDB types that Delta lacks, and the types that can hold all their values.
_STORED_AS = {"UBIGINT": "DECIMAL(20, 0)", "HUGEINT": "DECIMAL(38, 0)"}


def stored_type(kind: str) -> str:
    """Return the type in which a column of a DuckDB type is stored."""
    return _STORED_AS.get(kind, kind)


def arrow_schema(columns: Mapping[str, str]) -> pyarrow.Schema:
    """Return the Arrow schema of columns given by DuckDB types."""
    import pyarrow

    kinds = {
        "VARCHAR": pyarrow.string(), "BIGINT": pyarrow.int64(), "INTEGER": pyarrow.int32(),
        "BOOLEAN": pyarrow.bool_(), "DOUBLE": pyarrow.float64(), "TIMESTAMP": pyarrow.timestamp("us", "UTC"),
        "UBIGINT": pyarrow.decimal128(20, 0), "HUGEINT": pyarrow.decimal128(38, 0),
    }  # fmt: skip

    def arrow(kind: str) -> pyarrow.DataType:
        return pyarrow.list_(arrow(kind.removesuffix("[]"))) if kind.endswith("[]") else kinds[kind]

    return pyarrow.schema([(name, arrow(kind)) for name, kind in columns.items()])


def arrow_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pyarrow.Table:
    """Return rows, given as dicts, as an Arrow table; missing values are NULL."""
    import pyarrow

    schema = arrow_schema(columns)
    return pyarrow.Table.from_pylist([dict(row) for row in rows], schema)


def statistics(rows: int, traces: Sequence[str], batches: Sequence[str] = ()) -> dict[str, Any]:
    """Return a file's statistics for the log: its row count, and the range of its traces and batches."""
    ranges = {"trace_id": traces} | ({"batch_id": batches} if batches else {})
    return {
        "numRecords": rows,
        "minValues": {column: min(values) for column, values in ranges.items()},
        "maxValues": {column: max(values) for column, values in ranges.items()},
        "nullCount": dict.fromkeys(ranges, 0),
    }
