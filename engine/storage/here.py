"""Read-only tables, with what this process has computed on top of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .paths import Place
from .table_types import write_rows
from .tables import DataFile, Tables


class Here(Tables):
    """The tables of a read-only lake, plus rows of this process."""

    def __init__(self, root: Place, folder: Path) -> None:
        """Initialise without added files.

        Args:
            root: the folder of the tables.
            folder: where added files go.
        """
        super().__init__(root)
        self.folder = folder
        self._added: dict[str, list[DataFile]] = {}

    def version(self, name: str) -> int:
        """Return a number that changes with every change of a table."""
        return super().version(name) + len(self._added.get(name, ()))

    def files(self, name: str) -> list[DataFile]:
        """Return the files of a table, including those added here."""
        return [*super().files(name), *self._added.get(name, ())]

    def append(
        self,
        name: str,
        files: Iterable[tuple[Path, Mapping[str, Any]]],
        columns: Mapping[str, str],  # noqa: ARG002
    ) -> None:
        """Add files."""
        for file, found in files:
            moved = file.replace(self.folder / f"{uuid.uuid4().hex}.parquet")
            traces, batches = ((found["minValues"][key], found["maxValues"][key]) for key in ("trace_id", "batch_id"))
            self._added.setdefault(name, []).append(DataFile(moved, traces, batches))

    def insert(
        self,
        name: str,
        rows: Sequence[Mapping[str, Any]],
        columns: Mapping[str, str],
        after: int | None = None,  # noqa: ARG002
    ) -> None:
        """Add a few rows, given by column."""
        path = self.folder / f"{uuid.uuid4().hex}.parquet"
        write_rows(path, rows, columns)
        self._added.setdefault(name, []).append(DataFile(path))
