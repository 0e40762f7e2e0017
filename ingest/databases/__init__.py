"""Databases that profilers export: those of Nsight Systems, rocprofiler-sdk, and Ascend's msprof."""
