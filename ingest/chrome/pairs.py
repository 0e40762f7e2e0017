"""Joins begin and end events into events with a duration.

A begin event gets the time of its end; the end event stays a row of its own, so that every event of the file is one.
Events of one thread form a stack. If every end of a thread has a name, there is a stack for each name: this gives the
same pairs when events are nested, and still the right ones when they are not or when an end has no begin.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.schema import EVENT_COLUMNS
from ...engine.storage.paths import file_literal, parquet_rows
from ..lanes import PAIR_LANE, copy_options
from .parse import device_categories

if TYPE_CHECKING:
    import duckdb

# The depth in a stack is the running sum of +1 at each begin and -1 at each end, kept from falling below zero by
# subtracting the minimum so far. At one depth a begin is followed by its own end; an end that would lower the minimum
# has no begin.
_PAIRS = """
CREATE TEMP TABLE paired AS
WITH threads AS (
    SELECT pid, tid, bool_and(ph = 'B' OR name IS NOT NULL) AS named FROM waiting GROUP BY pid, tid
),
stacked AS (
    SELECT
        waiting.*,
        CASE WHEN named THEN name END AS stack,
        CASE WHEN ph = 'B' THEN 1 ELSE -1 END AS step
    FROM waiting JOIN threads ON waiting.pid IS NOT DISTINCT FROM threads.pid
        AND waiting.tid IS NOT DISTINCT FROM threads.tid
),
summed AS (
    SELECT *, sum(step) OVER stack_order AS total
    FROM stacked
    WINDOW stack_order AS (PARTITION BY pid, tid, stack ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING)
),
floored AS (
    SELECT *, least(0, min(total) OVER stack_order) AS lowest
    FROM summed
    WINDOW stack_order AS (PARTITION BY pid, tid, stack ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING)
),
levelled AS (
    SELECT
        *,
        total - lowest + CASE WHEN ph = 'E' THEN 1 ELSE 0 END AS level,
        ph = 'E' AND lowest < coalesce(lag(lowest) OVER stack_order, 0) AS orphan
    FROM floored
    WINDOW stack_order AS (PARTITION BY pid, tid, stack ORDER BY start_ns, event_id)
)
SELECT
    * EXCLUDE (stack, step, total, lowest, level),
    lead(ph) OVER same_level AS next_ph,
    lead(start_ns) OVER same_level AS partner_ns,
    lead(args) OVER same_level AS partner_args,
    lag(ph) OVER same_level AS previous_ph
FROM levelled
WINDOW same_level AS (PARTITION BY pid, tid, stack, orphan, level ORDER BY start_ns, event_id)
"""

_LANE = f"""
CASE
    WHEN category = 'python_function' OR (category IS NULL AND starts_with(name, '$')) THEN 'python'
    WHEN list_contains($device_pids, pid) THEN 'device'
    -- What ends it is no operation of its own.
    WHEN ph = 'B' AND category IN ({device_categories()}) THEN 'device'
    ELSE 'host'
END
"""


def join_pairs(connection: duckdb.DuckDBPyConnection, folder: Path, device_pids: set[str]) -> int:
    """Give begin events below `folder` their ends and move all to their lanes; return how many have no partner."""
    files = sorted((folder / f"lane={PAIR_LANE}").glob("*.parquet"))
    if not files:
        (folder / f"lane={PAIR_LANE}").rmdir()
        return 0
    connection.execute(f"CREATE TEMP VIEW waiting AS SELECT * FROM {parquet_rows(files)}")
    connection.execute(_PAIRS)
    matched = "(ph = 'B' AND next_ph = 'E')"
    columns = []
    for name in EVENT_COLUMNS:
        if name == "dur_ns":
            columns.append(f"CASE WHEN {matched} THEN partner_ns - start_ns END AS dur_ns")
        elif name == "end_ns":
            columns.append(f"CASE WHEN {matched} THEN partner_ns END AS end_ns")
        elif name == "args":
            # In this format the arguments of both ends are merged.
            columns.append(
                f"CASE WHEN {matched} AND partner_args IS NOT NULL AND json_type(partner_args) = 'OBJECT'"
                " THEN CAST(json_merge_patch(coalesce(args, '{}'), partner_args) AS VARCHAR) ELSE args END AS args"
            )
        else:
            columns.append(name)
    connection.execute(
        f"CREATE TEMP TABLE placed AS SELECT {', '.join(columns)}, {_LANE} AS lane FROM paired",
        {"device_pids": sorted(device_pids)},
    )
    for (lane,) in connection.execute("SELECT DISTINCT lane FROM placed").fetchall():
        path = folder / f"lane={lane}" / "part-pairs.parquet"
        connection.execute(
            f"COPY (SELECT * EXCLUDE (lane) FROM placed WHERE lane = '{lane}' ORDER BY start_ns, event_id) "
            f"TO {file_literal(path)} ({copy_options()})"
        )
    [(alone,)] = connection.execute(
        f"SELECT count(*) FILTER (ph = 'B' AND NOT coalesce({matched}, false)) + count(*) FILTER (orphan) FROM paired"
    ).fetchall()
    for file in files:
        file.unlink()
    (folder / f"lane={PAIR_LANE}").rmdir()
    return int(alone)
