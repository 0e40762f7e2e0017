"""What share of a chip's peak is reached, as tables and documents."""
