"""Traces for Perfetto: its own format, written and shown in the browser."""
