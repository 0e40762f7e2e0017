"""The columns of the event tables on disk: one schema for every lane, reader and trace."""

from __future__ import annotations

#: Lanes: events that are queried together are stored together. In a serving trace recorded with stacks 88 % of the
#: events are Python frames and 1 % are device operations, so a query about the device reads 1 % of the bytes.
LANES = ("device", "host", "python", "flow", "meta")

#: Columns of every event file, in order: name -> DuckDB type.
EVENT_COLUMNS: dict[str, str] = {
    "event_id": "BIGINT",
    "ph": "VARCHAR",
    "category": "VARCHAR",
    "name": "VARCHAR",
    "pid": "VARCHAR",
    "tid": "VARCHAR",
    "start_ns": "BIGINT",
    "dur_ns": "BIGINT",
    "end_ns": "BIGINT",
    "correlation": "BIGINT",
    "external_id": "BIGINT",
    "device": "INTEGER",
    "stream": "BIGINT",
    "input_dims": "VARCHAR",
    "input_types": "VARCHAR",
    "id": "VARCHAR",
    "args": "VARCHAR",
    "extra": "VARCHAR",
}

#: Columns of a catalog entry, in order: name -> DuckDB type. The settings of a trace are in a separate table; the
#: view `traces` joins the two.
CATALOG_COLUMNS: dict[str, str] = {
    "trace_id": "VARCHAR",
    "trace": "VARCHAR",
    "format": "VARCHAR",
    "source_path": "VARCHAR",
    "source_bytes": "BIGINT",
    "source_mtime_ns": "BIGINT",
    "source_sha256": "VARCHAR",
    "content_xxh3": "VARCHAR",
    "content_bytes": "BIGINT",
    "rank": "INTEGER",
    "rank_source": "VARCHAR",
    "world_size": "INTEGER",
    "tp": "INTEGER",
    "ep": "INTEGER",
    "dp": "INTEGER",
    "pp": "INTEGER",
    "tp_rank": "INTEGER",
    "ep_rank": "INTEGER",
    "dp_rank": "INTEGER",
    "pp_rank": "INTEGER",
    "device_name": "VARCHAR",
    "compute_major": "INTEGER",
    "compute_minor": "INTEGER",
    "num_sms": "INTEGER",
    "memory_bytes": "BIGINT",
    "origin_ns": "BIGINT",
    "start_ns": "BIGINT",
    "end_ns": "BIGINT",
    "base_time_ns": "BIGINT",
    "event_count": "BIGINT",
    "event_bytes": "BIGINT",
    "rejected_count": "BIGINT",
    "repaired_count": "BIGINT",
    "skipped_bytes": "BIGINT",
    "redacted_count": "BIGINT",
    "unmatched_count": "BIGINT",
    "array_count": "BIGINT",
    "truncated": "BOOLEAN",
    "samples": "VARCHAR",
    "metadata": "VARCHAR",
    "ingested_at": "TIMESTAMP",
    "ingested_by": "VARCHAR",
}


#: Columns of a catalog entry with the state of its answers, see `catalog.State`; a trace's latest row applies.
STATE_COLUMNS: dict[str, str] = {
    "row_id": "VARCHAR",
    "removed": "BOOLEAN",
    "batch_id": "VARCHAR",
    "linked_batch_id": "VARCHAR",
    "links": "VARCHAR",
    "rules": "VARCHAR",
    "relations": "VARCHAR",
    "faults": "VARCHAR",
    "event_files": "VARCHAR",
}

#: Columns of a setting.
SETTING_COLUMNS: dict[str, str] = {"trace_id": "VARCHAR", "key": "VARCHAR", "value": "VARCHAR"}


def column_list(columns: dict[str, str]) -> str:
    """Return `name TYPE, ...` for a CREATE TABLE."""
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())


def empty_select(columns: dict[str, str]) -> str:
    """Return a SELECT with these columns and no rows, for a relation without files."""
    return "SELECT " + ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in columns.items()) + " WHERE false"


def with_trace_ids(query: str, kind: str) -> str:
    """Return a SELECT of a query's columns with the trace ids cast to a type."""
    return f"SELECT * REPLACE (CAST(trace_id AS {kind}) AS trace_id) FROM ({query})"


def cast(column: str, kind: str) -> str:
    """Return a column cast to a type, under its own name."""
    return f'CAST("{column}" AS {kind}) AS "{column}"'
