"""Synthetic traces with known figures."""
