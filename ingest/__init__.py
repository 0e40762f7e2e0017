"""Ingest: one reader per source format, and one path from any reader to Parquet."""
