"""Answers about several traces as pages: comparisons, histories, the ranks of a run."""
