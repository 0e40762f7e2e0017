"""Reader of Chrome traces: cuts the array of events into pieces, each parsed by DuckDB."""
