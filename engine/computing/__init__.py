"""Computes answers: which relations become tables, when, with how much memory, and how their rows are published."""
