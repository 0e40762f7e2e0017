"""Makers of traces whose every figure is known."""
