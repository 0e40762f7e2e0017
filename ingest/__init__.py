"""One reader per source format, one path from reader to Parquet."""
