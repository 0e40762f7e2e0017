"""Storage of a lake: paths and object stores, atomic file publication, and Delta tables."""
