"""The SQL modules of `sql/`: parsing, dependencies, and the statements that create them."""
