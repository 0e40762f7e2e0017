"""A folder with a file for each table, as `nsys export --type parquetdir` and `arrowdir` write it, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tables import BATCH_ROWS, DamagedError, arrow_types, as_type

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

#: Magic bytes of the files in such a folder, and the formats by suffix.
MAGICS = (b"PAR1", b"ARROW1")
_FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
#: Tables that such a folder always has one of, whatever was traced.
_MARKS = frozenset({"META_DATA_EXPORT", "StringIds", "TARGET_INFO_SESSION_START_TIME"})


def table_files(folder: Path) -> list[Path]:
    """Return the files of the tables in an export's folder, by name; empty for other folders."""
    with suppress(OSError):
        found = sorted(path for path in folder.iterdir() if path.suffix.lower() in _FORMATS and path.is_file())
        if _MARKS & {path.stem for path in found}:
            return found
    return []


class FolderTables:
    """The tables of a folder; see `Tables`."""

    def __init__(self, folder: Path) -> None:
        """Open the tables of a folder; one whose file is damaged has no columns."""
        import pyarrow as pa
        import pyarrow.dataset

        self._tables: dict[str, pa.dataset.Dataset] = {}
        damaged = []
        for path in table_files(folder):
            try:
                self._tables[path.stem] = pa.dataset.dataset(path, format=_FORMATS[path.suffix.lower()])
            except (pa.ArrowException, OSError):
                damaged.append(path.name)
        self.columns = {name: list(table.schema.names) for name, table in self._tables.items()}
        self.truncated = f"damaged, or not written to their end: {', '.join(damaged)}" if damaged else None

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        import pyarrow as pa

        try:
            return int(self._tables[table].count_rows())
        except (KeyError, pa.ArrowException, OSError):
            return 0

    def rows(self, table: str, columns: Sequence[str], where: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return rows of a small table."""
        import pyarrow as pa
        import pyarrow.dataset

        there = self.columns.get(table, ())
        if not there or not all(name in there for name in where or {}):
            return []
        wanted = None
        for name, value in (where or {}).items():
            condition = pa.dataset.field(name) == value
            wanted = condition if wanted is None else wanted & condition
        try:
            found = self._tables[table].to_table([name for name in columns if name in there], filter=wanted)
        except (pa.ArrowException, OSError):
            return []
        return [tuple(row.get(name) for name in columns) for row in found.to_pylist()]

    def batches(self, table: str, columns: Mapping[str, str]) -> Iterator[pa.Table]:
        """Yield rows of a table in order."""
        import pyarrow as pa

        there = [name for name in columns if name in self.columns[table]]
        try:
            scanned = self._tables[table].to_batches(
                there, batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1
            )
            for batch in scanned:
                if batch.num_rows:
                    yield pa.table(
                        [
                            _as(batch.column(name), kind)
                            if name in there
                            else pa.nulls(batch.num_rows, arrow_types()[kind])
                            for name, kind in columns.items()
                        ],
                        names=list(columns),
                    )
        except (pa.ArrowException, OSError) as error:
            raise DamagedError(str(error).split("\n", 1)[0]) from error

    def texts(self, table: str, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of ids."""
        import pyarrow as pa
        import pyarrow.dataset

        if not {"id", "value"} <= set(self.columns.get(table, ())):
            return {}
        try:
            found = self._tables[table].to_table(["id", "value"], filter=pa.dataset.field("id").isin(list(ids)))
        except (pa.ArrowException, OSError):
            return {}
        return dict(zip(found.column("id").to_pylist(), found.column("value").to_pylist(), strict=True))

    def close(self) -> None:
        """Release the files."""
        self._tables.clear()


def _as(values: pa.Array, kind: str) -> pa.Array:
    """Return a column converted to a type; values of other types are NULL."""
    import pyarrow as pa

    try:
        return values.cast(arrow_types()[kind])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return as_type(values.to_pylist(), kind)
