"""The lake itself: layout on disk, catalog, DuckDB connection, SQL modules, materialisation."""
