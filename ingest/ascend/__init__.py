"""Readers of what the Ascend profilers write: tables of kernels, their companions, and folders of both."""
