"""Query results rendered: terminal tables, Markdown, CSV, JSON, Parquet, Chrome traces, whole reports."""
