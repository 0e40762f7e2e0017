"""Documentation of rows and columns in the files of an export: Parquet metadata, Arrow schemas."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from ...engine.sql import modules
from . import star

if TYPE_CHECKING:
    import pyarrow


def arrow_schema(entry: modules.Module, schema: pyarrow.Schema) -> pyarrow.Schema:
    """Return an Arrow schema with the comments of a relation's columns, where Delta and Arrow expect them."""
    import pyarrow

    texts = {column.name: column.text for column in entry.columns}
    return pyarrow.schema([field.with_metadata({"comment": texts[field.name]}) for field in schema])


def parquet_metadata(entry: modules.Module) -> str:
    """Return the metadata of a Parquet file as a DuckDB literal.

    `comment` says what a row is, `columns` (JSON) what each column means; star tables also have `primary_key` and
    `foreign_keys`. Arrow readers find column comments on the fields of the schema.
    """
    pairs = {"comment": entry.doc, "columns": json.dumps({column.name: column.text for column in entry.columns})}
    if entry.folder == star.STAR:
        pairs |= star.described(entry)
        # DuckDB writes no Arrow schema. This one must have the same types as the file.
        plain = arrow_schema(entry, _in_files(entry))
        pairs["ARROW:schema"] = base64.b64encode(plain.with_metadata(pairs).serialize()).decode()
    return "{" + ", ".join(f"{modules.quoted(name)}: {modules.quoted(text)}" for name, text in pairs.items()) + "}"


def _in_files(entry: modules.Module) -> pyarrow.Schema:
    """Return the schema of a relation's rows as DuckDB writes them: timestamps without a time zone."""
    import pyarrow

    kinds = {
        "VARCHAR": pyarrow.string(), "BIGINT": pyarrow.int64(), "INTEGER": pyarrow.int32(),
        "BOOLEAN": pyarrow.bool_(), "DOUBLE": pyarrow.float64(), "TIMESTAMP": pyarrow.timestamp("us"),
        "UBIGINT": pyarrow.decimal128(20, 0), "HUGEINT": pyarrow.decimal128(38, 0),
    }  # fmt: skip

    def arrow(kind: str) -> pyarrow.DataType:
        return pyarrow.list_(arrow(kind.removesuffix("[]"))) if kind.endswith("[]") else kinds[kind]

    return pyarrow.schema([(column.name, arrow(column.type)) for column in entry.columns])
