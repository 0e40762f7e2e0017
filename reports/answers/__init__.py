"""Pages about several traces: comparisons, histories, the ranks of a run."""
