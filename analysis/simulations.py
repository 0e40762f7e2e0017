"""What a lake answers about kernels by their shapes, and about a simulated pass beside a measured one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine import modules
from ..engine.store import Store

if TYPE_CHECKING:
    import duckdb


class Simulations(Store):
    """A lake that knows what simulators need and say."""

    def shapes(self, trace: str) -> duckdb.DuckDBPyRelation:
        """Return how long each distinct work of a trace's kernels takes, what takes most first."""
        return self.sql(
            f"SELECT * FROM shape_stats({modules.quoted(self.locate(trace))}) ORDER BY sum_us DESC, op_type, input_dims"
        )

    def write_shapes(
        self, trace: str, folder: str | os.PathLike[str], *, spreadsheet: bool = True
    ) -> list[tuple[Path, int]]:
        """Write a profiling database, a table per type of operation; return each file with its number of rows.

        Args:
            trace: the trace.
            folder: where to.
            spreadsheet: keep text of the tables from running as a formula.

        Raises:
            InputError: a file cannot be written.
        """
        from ..reports.ascend.shapes import write_database

        return write_database(self, self.locate(trace), Path(folder), spreadsheet=spreadsheet)

    def align(
        self,
        simulated: str,
        measured: str,
        by: str = "type",
        pass_id: int | None = None,
        window: str = "anchor",
        dedup: str = "tracelake",
    ) -> duckdb.DuckDBPyRelation:
        """Return a simulated forward pass beside a measured one.

        Args:
            simulated: a simulator's trace or summary of operators.
            measured: a measured trace.
            by: type, shape, summary or metrics.
            pass_id: a pass of the measured trace; all of the trace when not given.
            window: kind of window of that pass.
            dedup: tracelake, compat or none: which rows of collectives count.

        Raises:
            UsageError: the measured trace has no such pass or window.
        """
        from ..reports.trace.alignment import aligned

        return aligned(self, self.locate(simulated), self.locate(measured), by, pass_id, window, dedup)
