"""The reader of Chrome traces: an array of events in pieces, each parsed by DuckDB."""
