"""Rendering of query results: terminal tables, Markdown, CSV, JSON, Parquet, Chrome traces, whole reports."""
