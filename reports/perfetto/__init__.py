"""Traces for Perfetto: written in its own format, and shown in the browser."""
