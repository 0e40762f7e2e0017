"""The SQL modules, from their files to what a connection is given: `sql/` is their data."""
