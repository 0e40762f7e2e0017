"""Pages: one HTML file each, with its charts, tables and definitions, which needs no network."""
