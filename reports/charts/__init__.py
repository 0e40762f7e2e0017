"""Charts and diagrams of the model report."""
