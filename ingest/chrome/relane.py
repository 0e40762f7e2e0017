"""Moves events of device processes that were named only after their events to the device lane."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.sql.modules import quoted
from ...engine.storage.paths import file_literal, parquet_rows
from ..lanes import copy_options

if TYPE_CHECKING:
    import duckdb

#: Processes that represent a device, by the metadata event that names them (JAX, Ascend). XProf's streaming viewer puts
#: the name of the host before it.
DEVICE_PROCESSES = """
SELECT DISTINCT pid, regexp_replace(args->>'$.name', '^\\S+ /', '/') AS process FROM {source}
WHERE ph = 'M' AND name = 'process_name' AND regexp_matches(args->>'$.name', '^((\\S+ )?/device:|Ascend Hardware)')
ORDER BY ALL
"""


def relane(connection: duckdb.DuckDBPyConnection, folder: Path, known: set[str]) -> list[str]:
    """Move events of device processes that the reader did not recognise; return the names of all device processes."""
    meta = sorted((folder / "lane=meta").glob("*.parquet"))
    if not meta:
        return []
    found = connection.execute(DEVICE_PROCESSES.format(source=parquet_rows(meta))).fetchall()
    late = [str(pid) for pid, _ in found if pid not in known]
    host = sorted((folder / "lane=host").glob("*.parquet"))
    if late and host:
        there = f"pid IN ({', '.join(map(quoted, late))})"
        moved, kept = folder / "lane=device" / "part-late.parquet", folder / "lane=host" / "part-kept.parquet"
        for path, condition in ((moved, there), (kept, f"NOT coalesce({there}, false)")):
            connection.execute(
                f"COPY (SELECT * FROM {parquet_rows(host)} WHERE {condition} ORDER BY start_ns, event_id) "
                f"TO {file_literal(path)} ({copy_options()})"
            )
        for path in host:
            path.unlink()
    return [str(process) for _, process in found]
