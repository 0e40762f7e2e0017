"""Readers of Ascend profiler output: tables of kernels, companion files, and folders of both."""
