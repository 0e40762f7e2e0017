"""What a lake is kept in: paths and object stores, files published whole, and Delta tables."""
