"""The tables of an export, independent of storage: their names, and rows in batches as Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGER = re.compile(r"-?[0-9]{1,19}")
#: Rows of a batch: one row group of a Parquet file, 20 to 40 MB.
BATCH_ROWS = 122_880


class DamagedError(Exception):
    """A table cannot be read from some position on."""


class Tables(Protocol):
    """The tables of one export.

    Attributes:
        columns: names of the columns of each table.
        truncated: why the export ends too early, None if it does not.
    """

    columns: dict[str, list[str]]
    truncated: str | None

    def count(self, table: str) -> int:
        """Return about how many rows a table has; never fewer."""

    def rows(self, table: str, columns: Sequence[str], where: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return rows of a small table, those whose columns have the given values; missing columns are None.

        A missing table has no rows. The readable part of a damaged one is returned.
        """

    def batches(self, table: str, columns: Mapping[str, str]) -> Iterator[pa.Table]:
        """Yield rows of a table in order, with the requested columns: name -> `int`, `real`, `text` or `bytes`.

        Missing columns are NULL, and so are values of another type.

        Raises:
            DamagedError: the rows from here on cannot be read.
        """

    def texts(self, table: str, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of a table of `id, value`, by their ids; missing ids are left out."""

    def close(self) -> None:
        """Close the files."""


def arrow_types() -> dict[str, pa.DataType]:
    """Return the Arrow type of each type of column."""
    import pyarrow as pa

    return {"int": pa.int64(), "real": pa.float64(), "text": pa.string(), "bytes": pa.binary()}


def as_type(values: Sequence[Any], kind: str) -> pa.Array:
    """Return values as an Arrow array; those of another type are NULL."""
    import pyarrow as pa

    wanted = arrow_types()[kind]
    try:
        return pa.array(values, wanted)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):
        return pa.array([_fitting(value, kind) for value in values], wanted)


def _fitting(value: Any, kind: str) -> Any:
    """Return a value converted to a type, None if it is of another."""
    if kind == "text":
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else None if value is None else str(value)
    if kind == "bytes":
        # Some exports have bytes as hexadecimal text.
        try:
            return bytes.fromhex(value) if isinstance(value, str) else value if isinstance(value, bytes) else None
        except ValueError:
            return None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        # Some numeric columns are declared as text.
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if kind == "real":
        return float(value)
    return int(value) if -(2**63) <= value < 2**63 and value == int(value) else None
