"""Readers of databases that profilers export: Nsight Systems, rocprofiler-sdk, and Ascend's msprof."""
