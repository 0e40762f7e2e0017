"""Relations for other tools: files of Parquet and CSV, Delta tables, a DuckDB database, PostgreSQL."""
