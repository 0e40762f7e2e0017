"""The share of a chip's peak that is reached, as tables and documents."""
